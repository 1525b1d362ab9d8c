# The report of a short run, in a browser: what it shows is what was measured.
cd "$(dirname "$0")/../.." || exit 70
if ! command -v chromium > /dev/null; then
    echo "skipped: chromium is not installed"
    exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# Deep and narrow, and as the trainer does it; a name that HTML must escape.
for flags in "--layers=2" "--placement=post --layers=24 --width=16 --heads=2 \
--context=16 --batch=2"; do
    mkdir -p "$out/<b>&amp;"
    ./train --steps=60 --eval-interval=10 --eval-iters=2 --probe-interval=10 \
        --data=builtin:20000 $flags --out="$out/<b>&amp;" > /dev/null &&
        python3 tests/deep/report.py "$out/<b>&amp;/report.html" \
            "$out/<b>&amp;/metrics.jsonl" $1 || exit 1
done
