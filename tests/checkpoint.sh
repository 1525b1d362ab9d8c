# What becomes of a run that is stopped, damaged, contradicted or written over,
# and of weights that another run begins with.
cd "$(dirname "$0")/.." || exit 70
. tests/check
top=$PWD dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70
export OMP_NUM_THREADS=1

marks() {   # of a directory: every name and byte in it
    (cd "$1" && find . -type f -exec cksum {} + | sort && find . | sort)
}

# status, a text the message has, program, arguments ...: fails like that, with
# one line on stderr, and `run` stays as it is
refused() {
    wanted=$1 text=$2 program=$3
    shift 3
    before=$(marks run)
    "$top/$program" "$@" > out.log 2> err.log < /dev/null
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -e "$text" err.log &&
        [ "$(wc -l < err.log)" -eq 1 ] && [ "$before" = "$(marks run)" ]
    check "$program $*: wanted status $wanted and \"$text\", got $status and: \
$(cat err.log)" $?
}

tiny="--layers=1 --width=16 --heads=2 --context=8 --batch=2 --eval-iters=1"
base="$tiny --data=builtin:5000 --warmup=5 --eval-interval=5"
small="$base --steps=20"

# Which are kept: the last two and the best; and nothing half done.
"$top/train" $small --lr=0.05 --seed=4 --keep=2 --out=run > log 2>&1
check "train: $(tail -n 1 log)" $?
best=$(readlink run/best)
[ -f "run/$best/MANIFEST" ] && [ -d run/step-20 ] && [ -d run/step-15 ] &&
    [ "$(ls -d run/step-* "run/$best" | sort -u | wc -l)" -eq \
      "$(ls -d run/step-15 run/step-20 "run/$best" | sort -u | wc -l)" ] &&
    [ -z "$(find run -name '*.tmp')" ]
check "--keep=2: the last two and the best: $(ls run | tr '\n' ' ')" $?
lowest=$(sed -n 's/.*"step":\([0-9]*\),.*"val_loss":\([0-9.]*\),.*/\2 \1/p' \
    run/metrics.jsonl | sort -n | sed -n '1s/.* //p')
[ "$best" = "step-$lowest" ]
check "best is the step of the lowest validation loss: $best, $lowest" $?

# What a run depends on cannot change when it goes on; what it says, may.
refused 78 "--lr=0.01 contradicts run/step-20/config.json, where it is 0.05" \
    train --resume=run --lr=0.01
for flag in placement=post norm=rmsnorm qk-norm init=xavier zero-init layers=2 \
    width=32 heads=4 context=16 tie dropout=0.1 batch=3 optimizer=sgd \
    min-lr=0.001 warmup=6 schedule=linear beta1=0.8 beta2=0.9 \
    weight-decay=0.5 grad-clip=2 seed=5 newline=lf residual-scale; do
    refused 78 "--${flag%%=*}=" train --resume=run --$flag
done
refused 78 "SHA-256" train --resume=run --data=builtin:6000
refused 64 "step 20" train --resume=run --steps=10
refused 64 "--init-from" train --resume=run --init-from=run
refused 66 "nowhere" train --resume=nowhere
refused 73 "step 20" train --resume=run/step-15
refused 78 "--width=32" train --init-from=run --width=32 --out=none

# Damage: the newest is refused by name; to go on, the one before is taken.
cp -R run hurt && printf '\125' | dd of=hurt/step-20/model.safetensors bs=1 \
    seek=3000 conv=notrunc 2> /dev/null
"$top/train" --resume=hurt > log 2> err && [ -d hurt/step-20.damaged ] &&
    grep -q 'hurt/step-20/model.safetensors: damaged.*step 15' err &&
    cmp hurt/step-20/optim.safetensors run/step-20/optim.safetensors &&
    cmp hurt/step-20/model.safetensors run/step-20/model.safetensors
check "a damaged checkpoint: $(cat err)" $?
for f in hurt/step-*/MANIFEST; do echo > "$f"; done
"$top/train" --resume=hurt > log 2> err
[ $? -eq 65 ] && grep -q MANIFEST err
check "no checkpoint is whole: $(cat err)" $?

# Another directory takes the run up as it was; the older one stays.
before=$(marks run)
"$top/train" --resume=run/step-15 --out=fork > log 2>&1 &&
    cmp fork/step-20/optim.safetensors run/step-20/optim.safetensors &&
    [ "$(sed 's/,"tokens_per_s":[^,]*//' fork/metrics.jsonl)" = \
      "$(sed 's/,"tokens_per_s":[^,]*//' run/metrics.jsonl)" ] &&
    [ "$before" = "$(marks run)" ]
check "--resume with another --out: $(tail -n 1 log)" $?
"$top/train" $base --steps=7 --out=busy > log 2>&1 &&
    "$top/train" --resume=run/step-15 --out=./busy/ > log 2>&1 &&
    [ -d busy/previous/step-7 ] && [ ! -e busy/step-7 ] &&
    cmp busy/step-20/optim.safetensors run/step-20/optim.safetensors
check "--resume into the directory of another run: $(tail -n 1 log)" $?
(cp -R run twin && cd twin && rm -rf step-20 &&
    "$top/train" --resume=step-15 --out=../twin/.) > log 2>&1 &&
    [ ! -e twin/previous ] &&
    cmp twin/step-20/optim.safetensors run/step-20/optim.safetensors
check "--resume in a directory by another name: $(tail -n 1 log)" $?
"$top/train" --resume=run --steps=25 --out=longer > log 2>&1 &&
    [ "$(wc -l < longer/metrics.jsonl)" -eq 25 ] &&
    [ "$(grep -c verdict longer/metrics.jsonl)" -eq 1 ]
check "--resume with more steps: $(tail -n 1 log)" $?
"$top/train" --n_layer=1 --init_from=resume --out_dir=fork > log 2>&1
check "--init_from=resume is --resume: $(tail -n 1 log)" $?

# A new run in the same directory puts the older one aside.
cp -R run again && echo mine > again/notes.tmp && "$top/train" $base \
    --steps=6 --out=again > log 2>&1
[ -d again/step-6 ] && [ ! -e again/step-20 ] && [ -f again/notes.tmp ] &&
    cmp again/previous/step-20/MANIFEST run/step-20/MANIFEST &&
    cmp again/previous/metrics.jsonl run/metrics.jsonl &&
    [ -f "again/previous/best/MANIFEST" ]
check "a new run moves the older one to OUT/previous" $?
mkdir again/step-3.tmp && echo > again/step-3.tmp/MANIFEST && ln -s x again/best.tmp
"$top/train" $base --steps=6 --out=again > log 2>&1
[ ! -e again/step-3.tmp ] && [ ! -L again/best.tmp ] &&
    [ -d again/previous/step-6 ] && [ ! -e again/previous/step-20 ]
check "what a kill left half done is removed" $?

# Another run may begin with these weights, in their vocabulary.
"$top/train" $tiny --init-from=run/best --data=builtin:4000 --steps=2 \
    --out=next --lr=1e-9 > log 2>&1
check "--init-from: $(tail -n 1 log)" $?
cmp run/best/tokenizer.json next/step-2/tokenizer.json
check "--init-from keeps the vocabulary" $?
a=$("$top/sample" --out=run/best --temperature=0 --tokens=60)
[ -n "$a" ] && [ "$a" = "$("$top/sample" --out=next --temperature=0 \
    --tokens=60)" ]
check "--init-from has the weights" $?
printf 'a\303\251b%.0s' $(seq 200) > accents.txt
refused 65 "é" train --init-from=run --data=accents.txt --out=none

refused 64 "--init-from" train --init-from=run --zero-init --out=none
"$top/train" --resume=next --steps=3 > log 2>&1 &&
    grep -q '"init-from": "run/best"' next/step-3/config.json
check "where the weights came from stays known: $(tail -n 1 log)" $?

# Weights of ours without their MANIFEST are not taken for another's.
cp -R run bare && rm bare/step-20/MANIFEST
refused 65 "bare/step-20/MANIFEST is missing" sample --out=bare/step-20
refused 65 "bare/step-20/MANIFEST is missing" sample --out=bare/step-20/

# Metrics that are not what the checkpoint counts: steps stand there once, what
# can be read is kept, and the file as it was.
for damage in 's/"loss"/"lo@/' '1,10d' '1i{"step":0}' '5p'; do
    rm -rf marred && cp -R run marred && rm -rf marred/step-20
    sed -i.old "$damage" marred/metrics.jsonl
    "$top/train" --resume=marred > log 2> err &&
        grep -q "not as the checkpoint counts it" err &&
        [ -f marred/metrics.jsonl.damaged ] &&
        cmp marred/step-20/model.safetensors run/step-20/model.safetensors &&
        [ "$(sed 's/,"loss.*//' marred/metrics.jsonl | sort | uniq -d)" = "" ] &&
        [ "$(tail -n 5 marred/metrics.jsonl | grep -c loss)" -eq 5 ]
    check "metrics with $damage: $(cat err)" $?
done

# A run must not take the place of what it begins with, nor of a model.
"$top/train" $base --steps=6 --out=twice > log 2>&1 &&
    "$top/train" $base --steps=7 --out=twice > log 2>&1
was=$(marks twice)
"$top/train" --resume=twice/previous --out=twice > log 2> err
[ $? -eq 73 ] && grep -q "twice/previous" err && [ "$was" = "$(marks twice)" ]
check "--resume=OUT/previous --out=OUT: $(cat err)" $?
"$top/train" --init-from=twice/previous $tiny --data=builtin:5000 \
    --out=twice > log 2> err
[ $? -eq 73 ] && [ "$was" = "$(marks twice)" ]
check "--init-from=OUT/previous --out=OUT: $(cat err)" $?
refused 73 "is a checkpoint or a model" train $base --out=run/step-20
cp -R "$top/tests/golden/gpt2-tiny" tiny && was=$(marks tiny)
"$top/train" --init-from=tiny $base --out=tiny > log 2> err
[ $? -ne 0 ] && [ "$was" = "$(marks tiny)" ]
check "--out is a model of transformers: $(cat err)" $?
cp -R run/step-20 mine && was=$(marks .)
"$top/train" --resume=mine > err 2>&1
[ $? -eq 64 ] && grep -q -e "--out=DIR" err
check "--resume of a checkpoint by another name: $(cat err)" $?
cp -RL run followed && "$top/train" --resume=followed --steps=25 > log 2>&1 &&
    [ -L followed/best ]
check "a copy that followed links goes on: $(tail -n 1 log)" $?
for odd in "touch odd/step-99" "ln -s step-99 odd/step-99" "mkdir odd/step-99"
do
    rm -rf odd && cp -R run odd && $odd
    "$top/train" --resume=odd > log 2> err && grep -q "step 20" err &&
        [ ! -e odd/step-99 ] && [ ! -L odd/step-99 ]
    check "the newest is none ($odd): $(cat err)" $?
done
cp -R run sly && echo > sly/step-20/model.safetensors
"$top/train" --resume=sly --layers=3 > log 2> err
[ $? -eq 78 ] && [ -d sly/step-20 ]
check "a conflict changes nothing: $(cat err)" $?
if mkfifo pipe 2> /dev/null; then
    cp -R run piped && rm piped/metrics.jsonl piped/step-20/config.json &&
        mkfifo piped/metrics.jsonl piped/step-20/config.json
    timeout 20 "$top/train" --resume=piped > log 2> err
    [ $? -ne 124 ]
    check "a FIFO is no file: $(cat err)" $?
fi

"$top/train" $base --steps=5 --out=marred > log 2>&1 &&
    [ -f marred/previous/metrics.jsonl.damaged ] &&
    [ ! -e marred/metrics.jsonl.damaged ]
check "damaged metrics go with their run: $(tail -n 1 log)" $?
mkdir young && cp run/config.json young
refused 66 "no checkpoint yet" sample --out=young

# One process writes in a directory.
long="$tiny --data=builtin:20000 --eval-interval=1000"
"$top/train" $long --steps=40000 --out=shared > log 2>&1 &
pid=$!
while [ ! -s shared/metrics.jsonl ]; do sleep 0.02; done
"$top/train" $long --steps=2 --out=shared > log 2> err
[ $? -eq 73 ] && grep -q "another train" err
check "a second trainer in one directory: $(cat err)" $?
kill $pid
wait $pid 2> /dev/null

# A signal: saved, then ended by it; and the same bits as if left alone.
long="$long --steps=4000"
"$top/train" $long --out=alone > alone.log 2>&1
stopped_by() {  # signal: its status; not if the run was at its end before
    for try in 1 2 3 4 5; do
        rm -rf stopped
        "$top/train" $long --out=stopped > log 2>&1 &
        pid=$!
        while [ ! -s stopped/metrics.jsonl ]; do sleep 0.02; done
        sleep 0.05
        kill -$1 $pid 2> /dev/null
        wait $pid 2> /dev/null
        status=$?
        [ $status -eq 0 ] || return
    done
}

for signal in TERM HUP; do
    stopped_by $signal
    [ $status -gt 128 ] && [ "$(kill -l $((status - 128)))" = $signal ] &&
        grep -q "saved; to go on: ./train --resume=stopped" log
    check "SIG$signal saves, then ends the run by it: status $status, \
$(tail -n 1 log)" $?
    "$top/train" --resume=stopped > log 2>&1 &&
        [ "$(tail -n 1 log)" = "$(tail -n 1 alone.log)" ] &&
        cmp stopped/step-4000/optim.safetensors \
            alone/step-4000/optim.safetensors
    check "goes on after SIG$signal: $(tail -n 1 log)" $?
done

# The directory vanishes, or cannot be written: 74, and no word of success.
"$top/train" $long --out=gone > log 2> err &
pid=$!
while [ ! -s gone/metrics.jsonl ]; do sleep 0.02; done
rm -rf gone
wait $pid
[ $? -eq 74 ] && grep -q "gone/step-1000.tmp: cannot write" err
check "the output directory vanishes: $(cat err)" $?

"$top/sample" --info run > log && grep -q '^step       20 of 20$' log &&
    grep -q '^loss  *[0-9.]*; validation [0-9.]*, the lowest' log &&
    grep -q 'h.N.attn.c_attn.weight *(16,48)' log
check "sample --info" $?
conclude
