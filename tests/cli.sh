# What a user can get wrong, and what the programs then say: one line that
# names it, a defined exit status, and nothing written.
cd "$(dirname "$0")/.." || exit 70
. tests/check
top=$PWD dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70

# status, a text the message has, program, arguments ...: fails like that,
# with one line on stderr, and leaves no file behind
refused() {
    wanted=$1 text=$2 program=$3
    shift 3
    before=$(find . | sort)
    "$top/$program" "$@" > "$dir.out" 2> "$dir.err" < /dev/null
    status=$?
    [ $status -eq "$wanted" ] && grep -qF -e "$text" "$dir.err" &&
        [ "$(wc -l < "$dir.err")" -eq 1 ] && [ "$before" = "$(find . | sort)" ]
    ok=$?
    check "$program $*: wanted status $wanted and \"$text\", got $status and: \
$(cat "$dir.err")" $ok
    rm -f "$dir.out" "$dir.err"
}

tiny="--layers=1 --width=16 --heads=2 --data=builtin:5000"
small="$tiny --context=16 --batch=2 --eval-iters=1"
export OMP_NUM_THREADS=1

# Flags: a name with a letter wrong, a value that is no number or only begins
# with one, out of range, given twice, or impossible beside another.
refused 64 "--warmup" train --warmpu=10
refused 64 "warmpu" train --warmpu=10
refused 64 "--layers" train --layers=4x
refused 64 "4x" train --layers=4x
refused 64 "4?5" train "--layers=4
5"
refused 64 "--warmup" train --warmup --layers=48
refused 64 "layers" train --layers=4 --n_layer=4
refused 64 "layers" train --layers=0
refused 64 "dropout" train --dropout=1
refused 64 "lr" train --lr=nan
refused 64 "lr" train --lr=-1
refused 64 "lr" train --lr=inf
refused 64 "post" train --placement=psot
refused 64 "zero-init" train --zero-init=maybe
refused 64 "extra" train extra
refused 64 "min-lr" train --lr=1e-4 --min-lr=1e-3
refused 64 "heads" train --width=10 --heads=4
refused 64 "batch" train --batch=65536 --context=65536
refused 64 "builtin" train --data=builtin:many
refused 64 "temperature" sample --temperature=-1
refused 64 "temperature" sample --temperature=nan
refused 64 "top-p" sample --top-p=0
refused 64 "top-p" sample --top-p=1.5
refused 64 "samples" sample --samples=0

# The lab: a claim that there is not, and a kind of claim that it is not of.
refused 64 "E1 E2" lab C1
refused 64 "C18" lab E1 c77
refused 64 "training" lab --quick C12
refused 66 "no-such" lab --train --data=no-such C12
refused 64 "seeds" lab --seeds=1001 e1
refused 64 "--quick" lab --quik
refused 66 "no-such" lab --data=no-such C12
refused 64 "name the directories" lab report
refused 66 "nowhere" lab report nowhere
refused 64 "more" lab map more

# Lists that are none.
refused 64 '"psot" is none' lab map --placements=pre,psot
refused 64 '"" is none' lab map --placements=pre,
refused 64 '"" is no whole number from 1' lab map --depths=6,,12
refused 64 '"" is no whole number from 1' lab map --depths=
refused 64 '"0" is no whole number from 1' lab map --depths=6,0
refused 64 '"6x" is no whole number from 1' lab map --depths=6x
refused 64 '"-1" is no whole number from 0' lab map --warmups=-1
refused 64 '"1000001" is no whole number' lab map --warmups=1000001
refused 64 "at most 8" lab map --depths=1,2,3,4,5,6,7,8,9
refused 73 "/proc/none" lab map --out=/proc/none/map

# The probe: what is no placement, and a run has a configuration of its own.
refused 64 '"psot" is no placement' probe --compare=pre,psot
refused 64 '"" is no placement' probe --compare=,pre
refused 64 '"" is no placement' probe --compare=pre,
refused 64 "--placement" probe --compare=pre,post --placement=peri
refused 64 "8 placements" probe \
    --compare=pre,pre,pre,pre,pre,pre,pre,pre,pre
refused 64 "--layers" probe --from=run --layers=2
refused 64 "--compare" probe --from=run --compare=pre,post
refused 64 "batch" probe --batch=65536 --context=65536
refused 66 "nowhere" probe --from=nowhere

# The corpus: absent, a directory, empty, too short for one context, no UTF-8.
refused 66 "absent.txt" train --data=absent.txt --out=run
refused 66 "$dir" train --data="$dir" --out=run
: > empty.txt
refused 65 "empty.txt" train --data=empty.txt --out=run
printf a > one.txt
refused 65 "one.txt" train --data=one.txt --out=run
printf '%050d' 0 > fifty.txt
refused 65 "641" train --data=fifty.txt --out=run
printf 'abc\377def' > bad.txt
refused 65 "byte 3" train --data=bad.txt --out=run

# The output directory is tried before the first step: hours later is too
# late to learn that it cannot be written.
refused 73 "/proc/none" train $small --out=/proc/none/run
: > file
refused 73 "file" train $small --out=file

# No weights, a prompt with a character the corpus has not, weights cut short,
# with a bit flipped or of another model, and a stdout that is full.
refused 66 "nowhere" sample --out=nowhere
"$top/train" $small --steps=3 --out=run > log 2>&1
check "train runs: $(tail -n 1 log)" $?
refused 65 "é" sample --out=run --prompt=é
refused 64 "16" sample --out=run --slide=17
cp -r run short && dd if=/dev/null of=short/step-3/model.safetensors bs=1 \
    seek=900 2>/dev/null
refused 65 "short/step-3/model.safetensors" sample --out=short
cp -r run flipped && printf '\125' | dd of=flipped/step-3/optim.safetensors \
    bs=1 seek=9000 conv=notrunc 2>/dev/null
refused 65 "flipped/step-3/optim.safetensors" sample --out=flipped
cp -r run other && sed -i.old 's/"layers": 1/"layers": 2/' \
    other/step-3/config.json
refused 65 "other/step-3/config.json" sample --out=other
cp -r run broken && echo 'plumb 0.2' > broken/step-3/MANIFEST
refused 65 "broken/step-3/MANIFEST" sample --out=broken
cp -r run less && rm less/step-3/tokenizer.json
refused 65 "less/step-3/tokenizer.json" sample --out=less
mkdir old && echo '{"version": "0.1", "configuration": {}}' > old/config.json
: > old/model.safetensors
refused 65 "plumb 0.1" sample --out=old
if [ -c /dev/full ]; then
    "$top/sample" --out=run --tokens=20 > /dev/full 2> err
    [ $? -eq 74 ] && grep -q stdout err
    check "sample to a full device ends with 74" $?
    "$top/train" $small --steps=3 --out=run > /dev/full 2> err
    [ $? -eq 74 ] && grep -q stdout err
    check "train to a full device ends with 74" $?
    "$top/train" --help > /dev/full 2> err
    [ $? -eq 74 ]
    check "--help to a full device ends with 74" $?
else
    skipped=$((skipped + 3))
fi

# ./probe sees the first step that train takes; from a run, what it saved.
looked() {      # flags of both: the same loss and the same object
    "$top/train" $tiny --steps=1 --eval-iters=1 --out=looked "$@" > log 2>&1
    "$top/probe" $tiny --steps=1 --json "$@" > seen.json 2>> log
    said=$(sed 's/.*"loss":\([^,]*\),.*/\1/' seen.json)
    [ -n "$said" ] && grep -qF "{\"step\":1,\"loss\":$said,\"lr\"" \
        looked/metrics.jsonl
    check "probe $*: the loss of train's first step: $said" $?
    saw=$(sed 's/.*"probe":\({[^}]*}\).*/\1/' seen.json)
    [ -n "$saw" ] && grep -qF "\"probe\":$saw" looked/metrics.jsonl
    check "probe $*: what train saw at its first step" $?
}
looked
looked --placement=post --batch=3 --dropout=0.2 --norm=rmsnorm --warmup=5
looked --placement=rezero --qk-norm --grad-clip=0.01 --seed=4 --tie
looked --zero-init --placement=peri

# From a checkpoint it is the step that train takes next: weights, moments,
# batch, dropout and rate.
"$top/train" $tiny --placement=post --steps=6 --eval-iters=1 --dropout=0.1 \
    --save-interval=3 --probe-interval=4 --warmup=5 --out=next > log 2>&1
"$top/probe" --from=next/step-3 --json > seen.json 2>> log
saw=$(sed 's/.*"probe":\({[^}]*}\).*/\1/' seen.json)
[ -n "$saw" ] && grep -qF "{\"step\":4," next/metrics.jsonl &&
    grep '^{"step":4,' next/metrics.jsonl | grep -qF "\"probe\":$saw"
check "probe --from: what train saw in the step after" $?
"$top/train" $(echo "$tiny" | sed s/layers=1/layers=2/) --steps=1 --eval-iters=1 --out=run2 > log 2>&1
# Of a model of transformers it is the first step, at a rate that is not 0.
mkdir theirs && "$top/train" --layers=1 --width=16 --heads=2 --steps=1 \
    --eval-iters=1 --out=full > log 2>&1 &&
    cp full/step-1/model.safetensors full/step-1/tokenizer.json theirs &&
    grep -o '"vocab_size": *[0-9]*' full/step-1/config.json > vocab &&
    echo "{\"model_type\":\"gpt2\",$(cat vocab),\"n_positions\":64,
        \"n_embd\":16,\"n_layer\":1,\"n_head\":2,
        \"tie_word_embeddings\":false}" > theirs/config.json &&
    "$top/probe" --from=theirs --json > seen.json 2>> log &&
    grep -q '"update":\[0\.[0-9]*[1-9]' seen.json
check "probe --from: a model of transformers: $(tail -n 1 log)" $?
"$top/probe" --from=next/step-3,next > log 2>&1 &&
    grep -q '^layer  *next/step-3  *next *$' log
check "probe --from=A,B: side by side" $?
refused 64 "as many layers" probe --from=next,run2
"$top/probe" $tiny --json --jacobian --dropout=0.2 > both.json 2> err
"$top/probe" $tiny --json --dropout=0.2 > seen.json
head -n 1 both.json | cmp -s - seen.json
check "probe --jacobian changes nothing else: $(cat err)" $?
"$top/probe" $tiny --compare=post,pre --json > two.json &&
    "$top/probe" --from=run --json > from.json &&
    "$top/probe" $tiny --context=1 --json > one.json
check "probe --json" $?
if command -v python3 > /dev/null; then
    python3 -c 'import json, sys
for name in sys.argv[1:]:
    lines = [json.loads(line) for line in open(name)]
    assert lines, name
two = [json.loads(line) for line in open("two.json")]
assert [look["placement"] for look in two] == ["post", "pre"]
for look in two:
    assert len(look["probe"]["grad"]) == 3, look
    assert len(look["probe"]["branch"]) == 2, look' \
        both.json two.json from.json one.json 2> err
    check "probe --json is JSON: $(tail -n 1 err)" $?
else
    skipped=$((skipped + 1))
fi
refused 73 "none/x.svg" probe $tiny --svg=none/x.svg
"$top/probe" $tiny --svg=x.svg > log && grep -q '</svg>' x.svg
check "probe --svg" $?
[ -z "$(awk 'length > 80' log)" ] && [ "$(grep -c '^1.att ' log)" -eq 2 ] &&
    grep -q '^gradient before the first sublayer.*: [0-9]' log
check "probe: two blocks of 80 columns, and in words" $?

# A report of two runs names both.
"$top/train" $small --steps=2 --placement=post --out=second > log 2>&1
"$top/lab" report run second -o two.html > log 2>&1 &&
    grep -q 'run' two.html && grep -q 'second' two.html &&
    grep -qF 'wrote two.html' log
check "lab report run second: $(tail -n 1 log)" $?

# Of too few seeds there is no verdict, and no failure.
"$top/lab" --seeds=1 C3 C11 E1 > log 2>&1 &&
    grep -q '1 hold, 0 differ, 0 fail, 2 skipped' log
check "lab --seeds=1: $(tail -n 1 log)" $?
"$top/lab" --list C3 | grep -q 'seeds=200' && ! "$top/lab" --list E1 |
    grep -q seeds
check "lab --list says which claims take --seeds" $?

# A map that was killed: what is done is not done again, what was being
# written is not taken, and in the end the lines are those of a quiet run.
map="--data=builtin:5000 --placements=pre,post --depths=1,2 --warmups=0,5"
"$top/lab" map $map --steps=20 --out=quiet > log 2>&1 &&
    [ "$(grep -c . quiet/map.jsonl)" -eq 16 ] &&
    grep -q '</svg>' quiet/map.svg && grep -q 'pre, zero' quiet/map.txt
check "lab map: $(tail -n 1 log)" $?
sort quiet/map.jsonl > quiet.txt
for threads in 1 2; do
    rm -rf killed
    "$top/lab" map $map --steps=20 --threads=$threads --out=killed \
        > log 2>&1 &
    victim=$!
    i=0
    while [ $((i += 1)) -le 500 ]; do
        lines=$(cat killed/map.jsonl 2> err | grep -c .)
        [ "$lines" -ge 2 ] && break
        sleep 0.02
    done
    kill -9 $victim
    wait $victim 2> err
    done=$(($(wc -l < killed/map.jsonl)))
    printf '%.100s' "$(tail -n 1 quiet/map.jsonl)" >> killed/map.jsonl
    "$top/lab" map $map --steps=20 --out=killed > log 2>&1
    [ "$done" -ge 2 ] &&
        grep -q "^16 models, of which $done are in" log &&
        sort killed/map.jsonl | cmp -s - quiet.txt &&
        cmp -s killed/map.svg quiet/map.svg
    check "lab map, killed after $done of 16, on $threads threads" $?
done
"$top/lab" map $map --steps=20 --out=killed > log 2>&1
grep -q '^16 models, of which 16 are in' log &&
    sort killed/map.jsonl | cmp -s - quiet.txt
check "lab map has nothing left to do: $(head -n 1 log)" $?
# Killed while it wrote a loss, and then first asked for other models.
line=$(head -n 1 quiet/map.jsonl)
case $line in
    *'"width":32,'*'"init":"xavier","seed":1,'*'"steps":20,"lr":0.003,'*) ;;
    *) false;;
esac
check "a cell's line has all that it depends on: $line" $?
printf '%s' "${line%???\}}" > killed/map.jsonl
"$top/lab" map --data=builtin:5000 --placements=post --depths=1 --warmups=0 \
    --steps=20 --out=killed > log 2>&1
"$top/lab" map $map --steps=20 --out=killed > log 2>&1
grep -q '^16 models, of which 2 are in' log &&
    sort killed/map.jsonl | cmp -s - quiet.txt
check "lab map: half a loss is none: $(head -n 1 log)" $?

# A run that diverges does not go on with NaN in its weights: it stops where
# the value arises, names the place, and leaves the weights of the last
# evaluation as they were.
"$top/train" --placement=post --layers=48 --lr=1e3 --warmup=0 --threads=2 \
    --grad-clip=0 --batch=2 --steps=60 --eval-interval=1 --eval-iters=1 \
    --out=wild > log 2> err
[ $? -eq 1 ] && grep -qE 'diverged at step [0-9]+: .*(layer [0-9]+, )?op' err
check "lr=1e3 diverges and says where: $(cat err)" $?
tail -n 1 wild/metrics.jsonl | grep -q '"verdict":"diverged at step' &&
    grep -q 'id="verdict">diverged at step' wild/report.html &&
    ! grep -q http-equiv wild/report.html
check "its metrics and its report end in that verdict" $?
"$top/sample" --out=wild --tokens=5 > log 2>&1
check "the weights before lr=1e3 diverged can be used: $(tail -n 1 log)" $?

# Fast mathematics changes results: no build with it.
mkdir fast && cp -R "$top/Makefile" "$top/include" "$top/src" \
    "$top/models" "$top/data" fast
for fast in OPT=-Ofast EXTRA=-ffast-math EXTRA=-ffinite-math-only; do
    ! make -s -C fast $fast build/f32/src/tensor.o > log 2>&1 &&
        grep -q 'error.*IEEE' log
    check "make $fast is refused: $(tail -n 1 log)" $?
done
make -s -C fast build/f32/src/tensor.o > log 2>&1
check "and without it is not: $(tail -n 1 log)" $?

# What is accepted. The rate of no step is 0, whatever the warmup: none, as
# long as the run, or longer.
accepted() {
    "$top/train" $small --steps=2 --out=run "$@" > log 2>&1
    check "train $*: $(tail -n 1 log)" $?
    [ "$(grep -cE '"lr":(0\.0*)?[1-9]' run/metrics.jsonl)" = 2 ]
    check "train $*: the rate is positive at both steps" $?
}
accepted --dropout=0
accepted --dropout 0.5
accepted --zero-init --warmup=0
accepted --zero_init=no --warmup 2
accepted --warmup=3
accepted --warmup=1 --min-lr=0
accepted --warmup=1 --schedule=linear --min-lr=0
accepted --optimizer=sgd --grad-clip=0 --weight-decay=0.1
accepted --learning_rate=1e-3 --min_lr=1e-4 --warmup_iters=1 --seed=7
accepted --placement=post --tie --init=gpt2 --residual-scale

# Each placement, norm and kind of attention trains: the losses are finite,
# and fall; and what was saved can be used.
learns() {
    rm -rf learnt
    "$top/train" $tiny --context=16 --eval-iters=1 --steps=30 --lr=1e-2 \
        --warmup=3 --out=learnt "$@" > log 2>&1 &&
        "$top/sample" --out=learnt --tokens=5 >> log 2>&1
    check "train and sample $*: $(tail -n 1 log)" $?
    awk -F '"loss":' '{ x = $2 + 0; if ($2 !~ /^[0-9]/ || x <= 0) bad = 1
        if (NR <= 5) first += x; if (NR > 25) last += x }
        END { exit bad || NR != 30 || last > first - 1 }' learnt/metrics.jsonl
    check "train $*: finite losses that fall" $?
}
for placement in pre post peri deepnorm lnscale rezero; do
    learns --placement=$placement
done
learns --norm=rmsnorm
learns --qk-norm
learns --norm=rmsnorm --qk-norm --placement=peri --zero-init

# No flag is read and then forgotten: each, changed alone, changes a number,
# or (the second list) what is written and when, but not the losses.
curve() {   # the small run with these flags in the place of its own
    flags=
    for f in $small --steps=12; do
        case " $*" in *" ${f%%=*}="*) ;; *) flags="$flags $f" ;; esac
    done
    "$top/train" $flags "$@" 2>&1 | tail -n 1 | grep '^loss curve'
}
base=$(curve)
for flag in placement=post init=xavier zero-init residual-scale layers=2 \
    width=32 heads=4 context=8 tie norm=rmsnorm qk-norm dropout=0.1 steps=11 \
    batch=3 optimizer=sgd lr=2e-3 min-lr=0 warmup=3 schedule=linear beta1=0.8 \
    beta2=0.9 weight-decay=0.5 grad-clip=0.1 seed=2 data=builtin:6000; do
    case $flag in   # these need steps after the warmup to be seen
    min-lr*|schedule*) got=$(curve --warmup=2 --$flag)
                       was=$(curve --warmup=2) ;;
    *) got=$(curve --$flag) was=$base ;;
    esac
    [ -n "$got" ] && [ -n "$was" ] && [ "$got" != "$was" ]
    check "--$flag changes the loss curve" $?
done
for flag in threads=3 log-interval=1 out=elsewhere; do
    [ -n "$base" ] && [ "$(curve --$flag)" = "$base" ]
    check "--$flag does not change the loss curve" $?
done
[ -f elsewhere/step-12/model.safetensors ]
check "--out says where" $?
grep -c . out/metrics.jsonl | grep -q '^12$'
check "one line of metrics for each step" $?
printf 'ab\r\ncd\r\n%.0s' $(seq 60) > crlf.txt
crlf="--data=crlf.txt --context=8 --steps=1 --eval-iters=1"
"$top/train" $crlf --out=crlf > log 2>&1 &&
    "$top/train" $crlf --newline=lf --out=lf >> log 2>&1
grep -q '\\r' crlf/step-1/tokenizer.json &&
    ! grep -q '\\r' lf/step-1/tokenizer.json
check "--newline=lf folds CR LF" $?

# The report stands beside the metrics, and is over when the run is.
tail -n 1 out/metrics.jsonl | grep -q '"sample":".*"verdict":"' &&
    grep -q 'id="verdict">[a-z]' out/report.html &&
    ! grep -q http-equiv out/report.html && [ ! -e out/report.html.tmp ]
check "a report at the end" $?
mkdir -p stuck/report.html
"$top/train" $small --steps=1 --out=stuck > log 2> err
[ $? -eq 74 ] && grep -q 'stuck/report.html: cannot write' err
check "a report that cannot be written ends with 74: $(cat err)" $?

# Evaluating more often changes no step of the training.
losses() { sed 's/.*"loss":\([^,]*\),.*/\1/' out/metrics.jsonl; }
curve --eval-interval=1 > /dev/null; often=$(losses)
curve > /dev/null
[ -n "$often" ] && [ "$often" = "$(losses)" ]
check "evaluation does not change training" $?

# Samples: the same seed the same text; another, another; 0 is the likeliest.
s() { "$top/sample" --out=run --tokens=60 "$@"; }
[ -n "$(s)" ] && [ "$(s)" = "$(s)" ] &&
    [ "$(s --seed=1)" != "$(s --seed=2)" ]
check "sample --seed" $?
likeliest=$(s --temperature=0 --seed=1)
[ -n "$likeliest" ] && [ "$likeliest" = "$(s --temperature=0 --seed=2)" ] &&
    [ "$likeliest" = "$(s --top-k=1 --seed=1)" ]
check "sample --temperature=0 is argmax, and so is --top-k=1" $?
s --prompt=The | grep -q '^The'
check "sample goes on from the prompt" $?
[ "$(s --samples=3 | sed '/^--- sample 2$/,$d')" = "$(s)" ] &&
    [ "$(s --samples=3 | sed '1,/^--- sample 2$/d;/^--- sample 3$/,$d')" = \
      "$(s --samples=2 | sed '1,/^--- sample 2$/d')" ] &&
    [ "$(s --samples=2 | sed '1,/^--- sample 2$/d')" != "$(s)" ]
check "sample --samples: the first is that of one alone, others differ" $?
[ "$(s --top-p=1)" = "$(s)" ] && [ "$(s --top-p=1e-9)" = "$likeliest" ]
check "sample --top-p" $?
[ "$(s --slide=1)" = "$(s)" ] && [ "$(s --slide=16)" != "$(s)" ]
check "sample --slide" $?
"$top/train" --version | grep -qE '^plumb [0-9.]+$'
check "--version" $?
# The profile counts the ops of a step, and changes no bit.
"$top/train" $small --steps=3 --profile > profiled
awk '$1 == "linear" && $2 == 4 { n++ } $1 == "attention" && $2 == 1 { n++ }
     $1 == "add" && $2 == 2 { n++ } $1 $2 $3 == "astep1" { n++ }
     END { exit n != 4 }' profiled
check "--profile: the calls of a step of one layer" $?
tail -n 1 profiled > last
"$top/train" $small --steps=3 | tail -n 1 | cmp -s - last
check "--profile changes no bit" $?

"$top/train" --help | grep -q -e --placement
check "--help" $?

conclude
