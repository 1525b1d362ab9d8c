"""make bench: milliseconds a training step takes, beside PyTorch if it is
installed, and the share of what the cores can do.

Every contender takes its turn in every round, so that what the machine does
besides falls on all of them; the table shows medians of all rounds. Writes
OUT.json and, where matplotlib is installed, OUT.svg.

    tests/bench/bench.py [--shapes=dbcea] [--threads=1,2] [--rounds=5]
                         [--seconds=2] [--compile] [--out=build/bench]"""
import argparse
import datetime
import importlib.util
import json
import math
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SHAPES = {  # L, d, H, T, B
    "d": (6, 64, 4, 64, 8), "b": (4, 128, 4, 64, 12), "c": (48, 64, 4, 64, 8),
    "e": (12, 128, 4, 128, 16), "a": (6, 384, 6, 256, 4)}
DELIVERED = 0.95    # of the peak, before the turns, or there is no verdict
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def arguments():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--shapes", default="dbcea")
    p.add_argument("--threads", default=f"1,{min(2, os.cpu_count())}")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--compile", action="store_true",
                   help="torch.compile as well (needs a C++ compiler)")
    p.add_argument("--out", default=os.path.join(ROOT, "build", "bench"))
    return p.parse_args()


def cores(threads):
    """What `threads` cores can do, and what they are doing now, GF/s."""
    out = subprocess.run([os.path.join(ROOT, "build", "cores"), str(threads)],
                         capture_output=True, text=True, check=True).stdout
    return tuple(map(float, out.split()))


def flops(shape, vocab):
    """A step's multiply-adds times two; attention as if it were full."""
    L, d, _, T, B = shape
    return 3 * B * T * (L * (24 * d * d + 4 * T * d) + 2 * d * vocab)


class Plumb:
    """`./train` itself; it says in metrics.jsonl how long each step took."""
    name = "plumb"

    def __init__(self, shape, threads):
        self.shape, self.threads = shape, threads
        self.memory = self.first = 0
        self.version = subprocess.run(
            [os.path.join(ROOT, "train"), "--version"], capture_output=True,
            text=True, check=True).stdout.strip()

    @staticmethod
    def steps(metrics):
        with open(metrics) as f:
            return sum(1 for _ in f)

    def turn(self, seconds):
        L, d, H, T, B = self.shape
        out = tempfile.mkdtemp()
        metrics = os.path.join(out, "metrics.jsonl")
        begin = time.perf_counter()
        run = subprocess.Popen(
            [os.path.join(ROOT, "train"), f"--layers={L}", f"--width={d}",
             f"--heads={H}", f"--context={T}", f"--batch={B}", f"--out={out}",
             f"--threads={self.threads}", "--steps=1000000",
             "--eval-interval=1000000", "--log-interval=1"],
            stdout=subprocess.DEVNULL)
        while not (os.path.exists(metrics) and os.path.getsize(metrics)):
            if run.poll() is not None:
                sys.exit(f"train ended with status {run.returncode}")
            time.sleep(0.0005)
        self.first = 1e3 * (time.perf_counter() - begin)
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or self.steps(metrics) < 5:
            time.sleep(0.05)
        with open(f"/proc/{run.pid}/status") as f:
            self.memory = next(int(l.split()[1]) // 1024 for l in f
                               if l.startswith("VmHWM"))
        run.send_signal(signal.SIGKILL)
        run.wait()
        with open(metrics) as f:
            speed = [json.loads(l)["tokens_per_s"] for l in f
                     if l.endswith("}\n")]
        with open(os.path.join(out, "config.json")) as f:
            self.vocab = round(math.exp(
                json.load(f)["nats_per_character"]["uniform"]))
        shutil.rmtree(out)
        return [1e3 * B * T / s for s in speed[2:]]

    def end(self):
        pass


class Torch:
    """torch_step.py, a process that waits between its turns."""

    def __init__(self, shape, threads, mode, vocab):
        L, d, H, T, B = shape
        self.name = f"PyTorch {mode}"
        self.run = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "torch_step.py"), mode,
             *map(str, (threads, L, d, H, T, B, vocab, 0))],
            env={**os.environ, "OMP_NUM_THREADS": str(threads)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        _, self.version, first = self.run.stdout.readline().split()
        self.first = float(first)

    def turn(self, seconds):
        print(seconds, file=self.run.stdin, flush=True)
        return list(map(float, self.run.stdout.readline().split()))

    def end(self):
        self.run.stdin.close()
        self.memory = int(self.run.stdout.readline())
        self.run.wait()


def contenders(shape, threads, args):
    plumb = Plumb(shape, threads)
    plumb.turn(0.1)
    found = [plumb]
    if importlib.util.find_spec("torch"):
        found += [Torch(shape, threads, mode, plumb.vocab)
                  for mode in ["eager"] + ["compile"] * args.compile]
    return found


def measure(key, threads, args):
    """The results of one shape and thread count, by contender."""
    shape, times, seen = SHAPES[key], {}, []
    people = contenders(shape, threads, args)
    for _ in range(args.rounds):
        for one in people:
            seen.append(cores(threads))
            times.setdefault(one.name, []).append(one.turn(args.seconds))
    peak = max(best for best, _ in seen)
    result = {"peak_gflops": peak, "delivered": statistics.median(
        mean for _, mean in seen) / peak}
    for one in people:
        one.end()
        ms = [statistics.median(t) for t in times[one.name]]
        every = sorted(t for turn in times[one.name] for t in turn)
        mid = statistics.median(ms)
        work = flops(shape, people[0].vocab)
        result[one.name] = {
            "version": one.version, "ms": mid, "rounds_ms": ms,
            "ms_p10": every[len(every) // 10],
            "ms_p90": every[len(every) * 9 // 10],
            "tokens_per_s": 1e3 * shape[3] * shape[4] / mid,
            "share_of_peak": 1e-6 * work / mid / peak,
            "peak_memory_mib": one.memory, "first_step_ms": one.first}
    return result


def show(key, threads, result):
    for name, r in result.items():
        if not isinstance(r, dict):
            continue
        ratio = r["ms"] / result["plumb"]["ms"]
        print(f"{key} {threads}  {name:15} {r['ms']:9.2f} ms"
              f"  ({r['ms_p10']:.1f} to {r['ms_p90']:.1f})  {ratio:5.2f} x"
              f"  {r['tokens_per_s']:8.0f} tok/s"
              f"  {100 * r['share_of_peak']:3.0f} % of peak"
              f"  {r['peak_memory_mib']:5} MiB"
              f"  first step {r['first_step_ms']:5.0f} ms")
    if result["delivered"] < DELIVERED:
        print(f"{key} {threads}  no verdict: only"
              f" {100 * result['delivered']:.0f} % of the cores was delivered")
    sys.stdout.flush()


def processor():
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.machine()


def chart(report, path):
    try:
        import matplotlib
    except ImportError:
        print("no chart: matplotlib is not installed")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot
    runs = report["results"]
    names = [n for n, r in runs[0]["result"].items() if isinstance(r, dict)]
    base = names[min(1, len(names) - 1)]    # PyTorch eager, or plumb alone
    labels = [f"{r['shape']}, {r['threads']} thread{'s' * (r['threads'] > 1)}"
              f"\n{100 * r['result']['delivered']:.0f} % of the cores"
              for r in runs]
    figure, axes = pyplot.subplots(figsize=(7, 0.6 * len(runs) + 1.6))
    colours = ["#0072b2", "#e69f00", "#999999"]     # Okabe & Ito
    high = 0.8 / len(names)
    for i, name in enumerate(names):
        ms = [r["result"][name]["ms"] for r in runs]
        x = [r["result"][base]["ms"] / m for r, m in zip(runs, ms)]
        y = [k + i * high for k in range(len(runs))]
        version = runs[0]["result"][name]["version"].replace("plumb ", "")
        bars = axes.barh(y, x, high, color=colours[i],
                         label=f"{name} {version}")
        axes.bar_label(bars, [f"{m:.{int(m < 100)}f} ms" for m in ms], padding=2,
                       fontsize=7)
    axes.set_yticks([k + 0.4 - high / 2 for k in range(len(runs))], labels,
                    fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.axvline(1, color="black", linewidth=0.5)
    axes.set_xlabel(f"training speed, {base} = 1 (longer is faster), and "
                    "milliseconds a step")
    axes.set_title(f"{report['processor']}, {report['date']}", fontsize=9)
    axes.legend(fontsize=8, loc="lower right")
    figure.tight_layout()
    figure.savefig(path)


def main():
    args = arguments()
    if not importlib.util.find_spec("torch"):
        print("PyTorch is not installed for this Python: plumb alone")
    report = {"date": datetime.date.today().isoformat(),
              "processor": processor(), "results": []}
    for key in args.shapes:
        for threads in map(int, args.threads.split(",")):
            result = measure(key, threads, args)
            show(key, threads, result)
            report["results"].append({
                "shape": key, "L_d_H_T_B": SHAPES[key], "threads": threads,
                "result": result})
    os.makedirs(os.path.dirname(os.path.abspath(args.out)), exist_ok=True)
    with open(args.out + ".json", "w") as f:
        json.dump(report, f, indent=1)
    chart(report, args.out + ".svg")
    print(f"wrote {args.out}.json")


if __name__ == "__main__":
    main()
