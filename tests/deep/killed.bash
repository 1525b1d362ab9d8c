# What kill.sh and inject.sh share: a small run, and what must hold after its
# process has ended at some moment.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/check
killed=0 unopened=0 told=0
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
flags="--layers=2 --width=32 --heads=2 --context=16 --batch=4
    --data=builtin:20000 --steps=60 --save-interval=5 --eval-interval=10
    --eval-iters=1 --lr=0.1 --warmup=5 --keep=2 --threads=1"

# What is the same in every run: weights, moments, metrics but for the speed,
# the best step, and the loss curve.
marks() {   # directory, log
    (cd "$1" && cksum step-60/model.safetensors step-60/optim.safetensors &&
        sed 's/,"tokens_per_s":[^,}]*//' metrics.jsonl | cksum &&
        readlink best && ls -d step-*)
    grep '^loss curve' "$2"
}

begin() {   # the run left alone, and how many milliseconds one takes at least
    local start ms k
    length=100000
    for k in 1 2 3; do
        rm -rf "$dir/whole"
        start=${EPOCHREALTIME/./}
        if ! ./train $flags --out="$dir/whole" > "$dir/log" 2>&1; then
            cat "$dir/log"
            echo "0 passed, 1 failed, 0 skipped"
            exit 1
        fi
        ms=$(((${EPOCHREALTIME/./} - start) / 1000))
        [ $ms -lt $length ] && length=$ms
    done
    whole=$(marks "$dir/whole" "$dir/log")
    echo "a run of $length ms"
}

newest() {  # the step of the newest checkpoint, by the program that opens it
    ./sample --info="$dir/run" 2> "$dir/error" |
        sed -n 's/^step *\([0-9]*\) .*/\1/p'
}

# A run begins, or goes on if there is something to go on from.
next_command() {
    if ls -d "$dir"/run/step-* 2> /dev/null | grep -q 'step-[0-9]*$'; then
        echo "train --resume=$dir/run"
    else
        echo "train $flags --out=$dir/run"
    fi
}

note_told() {   # the last step that the log says was saved, or that it began
    local step      # from: once a run has been told of a step, it stays
    step=$(sed -n -e 's/^step *\([0-9]*\)\/.* saved$/\1/p' \
        -e 's/^goes on from step //p' "$dir/log" | tail -n 1)
    [ "${step:-0}" -gt "$told" ] && told=$step
}

newest_opens() {    # what
    local n
    n=$(newest)
    [ -n "$n" ] || unopened=$((unopened + 1))
    [ "${n:-0}" -ge "${told:-0}" ]
    check "$1: the newest is \"$n\", told was $told; $(cat "$dir/error")" $?
    if [ -e "$dir/run/best" ] || [ -L "$dir/run/best" ]; then
        ./sample --info="$dir/run/best" > "$dir/info" 2>&1
        check "$1: best: $(head -n 1 "$dir/info")" $?
    fi
}

goes_on() {     # what: to its end, and with the same marks
    local command got
    command=$(next_command)
    ./$command > "$dir/log" 2>&1
    check "$1, then ./$command: $(tail -n 1 "$dir/log")" $?
    got=$(marks "$dir/run" "$dir/log")
    [ "$got" = "$whole" ]
    check "$1: the end is another: $(diff <(echo "$whole") <(echo "$got"))" $?
    got=$(find "$dir/run" -name '*.tmp*')
    [ -z "$got" ]
    check "$1: left behind: $got" $?
}
