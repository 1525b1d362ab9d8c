# A run that stops and goes on is the run that never stopped, byte for byte:
# weights, optimiser, and metrics but for the time that a step took. After
# every step of 50 where PLUMB_TEST_FULL is set, else after some; with other
# numbers of threads; when a signal ends it; and from another directory.
cd "$(dirname "$0")/.." || exit 70
. tests/check
top=$PWD dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70
export OMP_NUM_THREADS=1

timeless() { sed 's/,"tokens_per_s":[^,}]*//' "$1/metrics.jsonl"; }

same() {    # two runs, the last step: the same bytes
    cmp "$1/step-$3/model.safetensors" "$2/step-$3/model.safetensors" &&
        cmp "$1/step-$3/optim.safetensors" "$2/step-$3/optim.safetensors" &&
        [ "$(timeless "$1")" = "$(timeless "$2")" ] &&
        [ "$(readlink "$1/best")" = "$(readlink "$2/best")" ]
}

# Everything is used: dropout, decay, evaluations, looks of the probe, and a
# best step that is not the last.
for how in "pre adamw" "post sgd"; do
    set -- $how
    run="--placement=$1 --optimizer=$2 --layers=2 --width=16 --heads=2
        --context=8 --batch=4 --data=builtin:5000 --dropout=0.1
        --weight-decay=0.1 --steps=50 --warmup=10 --lr=0.03
        --eval-interval=4 --eval-iters=2 --probe-interval=7"
    "$top/train" $run --save-interval=1 --keep=100 --out=whole > whole.log 2>&1
    check "a run left alone ($how): $(tail -n 1 whole.log)" $?
    if [ -n "$PLUMB_TEST_FULL" ]; then places=$(seq 1 50); else
        places="1 7 8 25 49 50"
    fi
    for k in $places; do
        rm -rf part && mkdir part
        cp -R "whole/step-$k" whole/metrics.jsonl part
        best=$(sed 's/.*"best": \([0-9]*\).*/\1/;/^[0-9]*$/!d' \
            "whole/step-$k/config.json")
        [ -d "part/step-$best" ] || cp -R "whole/step-$best" part 2>/dev/null
        "$top/train" --resume=part --save-interval=50 \
            --threads=$((k % 3 + 1)) > part.log 2>&1 &&
            same part whole 50 &&
            [ "$(tail -n 1 part.log)" = "$(tail -n 1 whole.log)" ]
        check "$how: goes on after step $k: $(tail -n 2 part.log)" $?
    done
    rm -rf whole
done
conclude
