# Every allocation fails in turn, once and from then on: the program ends with
# 71 and one line, or needed it not and ends as usual; and the checkpoint that
# was there is whole, and the run goes on from it to the same bytes.
# nomem.sh DIR: where train and sample were built without OpenMP, whose library
# has ways of its own to end.
cd "$(dirname "$0")/../.." || exit 70
built=$(cd "$1" && pwd) dir=$(mktemp -d) failed=0 tried=0 refused=0
trap 'rm -rf "$dir"' EXIT
${CC:-gcc} -shared -fPIC -o "$dir/nomem.so" tests/deep/nomem.c || exit 1
cd "$dir" || exit 70
small="--layers=1 --width=16 --heads=2 --context=8 --batch=2 --eval-iters=1
    --data=builtin:5000 --steps=6 --warmup=2 --eval-interval=2 --keep=2"

bad() {
    echo "FAILED $*: $(cat err)"
    failed=$((failed + 1))
}

# program, arguments: with allocation $at failing
starved() {
    env LD_PRELOAD="$dir/nomem.so" NOMEM_AT=$at $on "$built/$@" > out 2> err
    status=$?
    tried=$((tried + 1))
    case $status in
    0) ;;
    71) refused=$((refused + 1))
        [ "$(wc -l < err)" -eq 1 ] || bad "$at $on $*: not one line" ;;
    *) bad "$at $on $*: status $status" ;;
    esac
}

opens() { "$built/sample" --info="$1" > out 2> err; }

every() {   # prepare's name, program, arguments
    prepare=$1
    shift
    $prepare
    env LD_PRELOAD="$dir/nomem.so" NOMEM_COUNT="$dir/count" "$built/$@" > out \
        2> err || bad "$*"
    for on in "" NOMEM_ON=1; do
        at=1
        while [ $at -le "$(cat count)" ]; do
            $prepare
            starved "$@"
            opens run || opens run/previous || opens run/previous.moving ||
                bad "$at $on $*: the checkpoint"
            at=$((at + 1))
        done
    done
}

nothing() { :; }
half() {
    rm -rf run
    cp -R half run
}

"$built/train" $small --out=whole > out 2> err || bad whole
cp -R whole run
mkdir half && cp -R whole/step-4 whole/metrics.jsonl half
every half train --resume=run
every nothing sample --out=run --tokens=5
every nothing sample --info=run
every half train $small --out=run
echo "$tried programs with an allocation that fails, $refused ended with 71"
half
"$built/train" --resume=run > out 2> err &&
    cmp run/step-6/optim.safetensors whole/step-6/optim.safetensors ||
    bad "to go on"
[ $failed -eq 0 ]
