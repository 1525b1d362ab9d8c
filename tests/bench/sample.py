"""Tokens a second: plumb and PyTorch, each with a key/value cache, and plumb
without one, by turns in one run; medians.

    make build/sample_speed
    python3 tests/bench/sample.py [TURNS [SECONDS]]

with a python3 that has torch. Stops nothing else that runs: what other
processes take of the cores is taken from all of them alike."""
import statistics
import subprocess
import sys

TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1
# name, layers, width, heads, context, streams, vocabulary, threads
CASES = [("b", 4, 128, 4, 64, 1, 65, 1), ("b", 4, 128, 4, 64, 1, 65, 2),
         ("b", 4, 128, 4, 64, 8, 65, 1), ("d", 6, 64, 4, 64, 1, 65, 1)]


def start(program, shape, threads):
    p = subprocess.Popen(program + [str(threads)] + [str(n) for n in shape],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True)
    assert p.stdout.readline().startswith("ready")
    return p


def turn(p):
    p.stdin.write(f"{SECONDS}\n")
    p.stdin.flush()
    return [float(x) for x in p.stdout.readline().split()]


print("shape streams threads | cache  again  ratio | slide  again  ratio "
      "| torch  cache / torch")
for name, *shape, threads in CASES:
    both = [start(["build/sample_speed"], shape, threads),
            start([sys.executable, "tests/bench/torch_sample.py"], shape,
                  threads)]
    seen = [[x for p in both for x in turn(p)] for _ in range(TURNS)]
    for p in both:
        p.stdin.close()
        p.wait()
    fast, slow, fast_on, slow_on, torch = map(statistics.median, zip(*seen))
    print(f"{name:5} {shape[4]:7} {threads:7} | {fast:5.0f} {slow:6.0f} "
          f"{fast / slow:6.1f} | {fast_on:5.0f} {slow_on:6.0f} "
          f"{fast_on / slow_on:6.1f} | {torch:5.0f} {fast / torch:6.1f}",
          flush=True)
