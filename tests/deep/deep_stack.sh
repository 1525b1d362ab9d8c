# A thousand layers train: after 30 steps the loss is well below the first.
cd "$(dirname "$0")/../.." || exit 70
out=$(mktemp -d)
./train --layers=1000 --width=32 --context=32 --batch=4 --steps=30 \
    --warmup=5 --init=gpt2 --eval-interval=1000 --log-interval=1 \
    --data=builtin:20000 --out="$out" > /dev/null &
train=$!
trap 'kill $train 2> /dev/null; rm -rf "$out"' EXIT
lines() { cat "$out/metrics.jsonl" 2> /dev/null | wc -l; }
while [ "$(lines)" -lt 30 ] && kill -0 $train; do sleep 0.2; done
sed 's/.*"loss":\([^,]*\),.*/\1/' "$out/metrics.jsonl" | awk '
    { loss[NR] = $1 }
    END { print loss[1], "to", loss[30]; exit !(loss[30] < loss[1] - 0.5) }'
