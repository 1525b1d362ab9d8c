# The same bits everywhere: the hash of a run of 100 steps, in both placements
# (and in one with what these do not use) and with dropout on, is recorded here,
# and every compiler, level, instruction set and thread count must give it.
# Where the mathematics itself is changed, the constants change in the commit
# that says so.
cd "$(dirname "$0")/.." || exit 70
out=$(mktemp -d) passed=0 failed=0
trap 'rm -rf "$out"' EXIT

check() {   # placement, threads, hash, other flags
    got=$(./train --placement="$1" --threads="$2" --layers=2 --width=32 \
        --batch=4 --dropout=0.1 --lr=1e-3 --steps=100 --eval-iters=1 $4 \
        --init=xavier --data=builtin:100000 --out="$out" | tail -n 1)
    if [ "$got" = "loss curve $3" ]; then passed=$((passed + 1)); else
        echo "  FAILED $1, $2 threads: wanted $3, got: $got"
        failed=$((failed + 1))
    fi
}

for threads in 1 2 3; do
    check pre  $threads e2d70821e00e368e
    check post $threads 8c686f1d1a354339
    check peri $threads a68f681d4f52a89d "--norm=rmsnorm --qk-norm"
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
