# A bit flipped or an end cut off, at random places in every file of a
# checkpoint: refused with 65 and the name of the file, whatever asks for it.
# damage.sh [PLACES]: so many bits and half as many lengths in each file (40).
cd "$(dirname "$0")/../.." || exit 70
top=$PWD dir=$(mktemp -d) failed=0 tried=0 places=${1:-40}
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 70
"$top/train" --layers=1 --width=16 --heads=2 --context=8 --batch=2 --steps=2 \
    --eval-iters=1 --data=builtin:5000 --out=run > log 2>&1 || exit 1

refused() {     # the file, what was done
    "$top/sample" --info=hurt > log 2> err
    status=$?
    tried=$((tried + 1))
    [ $status -eq 65 ] && grep -q "hurt/$1" err && [ "$(wc -l < err)" -eq 1 ] &&
        return
    echo "FAILED $1, $2: status $status: $(cat err)"
    failed=$((failed + 1))
}

for path in run/step-2/*; do
    file=$(basename "$path") size=$(wc -c < "$path")
    for place in $(awk -v n="$size" -v k="$places" -v seed="$size" 'BEGIN {
            srand(seed); for (i = 0; i < k; i++) print int(rand() * n) }'); do
        rm -rf hurt && cp -R run/step-2 hurt
        byte=$(od -An -tu1 -j "$place" -N 1 "$path")
        printf "$(printf '\\%03o' $((byte ^ (1 << place % 8))))" |
            dd of="hurt/$file" bs=1 seek="$place" conv=notrunc 2> /dev/null
        refused "$file" "bit $((place % 8)) of byte $place"
        [ $((place % 2)) -eq 0 ] || continue
        rm -rf hurt && cp -R run/step-2 hurt
        dd of="hurt/$file" if=/dev/null bs=1 seek="$place" 2> /dev/null
        refused "$file" "cut to $place bytes"
    done
done
echo "$tried damaged checkpoints"
[ $failed -eq 0 ]
