#!/usr/bin/env bash
# Every call to the system that a save makes is the last one (SIGKILL), or
# fails with EIO or ENOSPC, with the real program on the real file system:
# strace does it. Then the same must hold as in kill.sh; and a call that
# failed was told, by status 74 and one line.
# inject.sh [FAULT ...]: signal=SIGKILL, error=EIO, error=ENOSPC.
cd "$(dirname "$0")/../.." || exit 70
. tests/deep/killed.bash

calls=openat,open,write,writev,fsync,close,rename,renameat,renameat2,mkdir
calls=$calls,mkdirat,symlink,symlinkat,unlink,unlinkat,rmdir,getdents64

if ! strace -f -qq -o /dev/null true 2> /dev/null; then
    echo "strace is absent, or may not trace here"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

# Those of the third save that name the run's directory, or a file in it:
# lines "CALL N", the Nth of its kind in the process.
places() {
    strace -f -y -e trace=$calls -o "$dir/trace" \
        ./train $flags --out="$dir/run" > "$dir/log" 2>&1
    awk -v run="$dir/run" '
        { sub(/^[0-9]+ +/, ""); call = $0; sub(/\(.*/, "", call); n[call]++ }
        /step +10\// { saving = 1 }      # the line of the save before
        /step-20\.tmp/ { exit }
        saving && index($0, run) { print call, n[call] }' "$dir/trace"
}

# call, its number, what happens to it
inject() {
    local what="$3 at $1 $2" status hit
    rm -rf "$dir/run"
    told=0
    { strace -f -y -e trace=$calls -e inject="$1:$3:when=$2" \
        -o "$dir/trace" ./train $flags --out="$dir/run" > "$dir/log" \
        2> "$dir/said"; } 2> /dev/null
    status=$?
    hit=$(grep -E 'INJECTED|killed by SIGKILL' "$dir/trace" | head -n 1)
    what="$what ($(echo "$hit" | sed 's/^[0-9]* *//' | cut -c 1-120))"
    note_told
    if [ "$3" = signal=SIGKILL ]; then
        [ $status -eq 137 ]
        check "$what: status $status" $?
        killed=$((killed + 1))
    else
        [ $status -eq 74 ] && [ "$(wc -l < "$dir/said")" -eq 1 ] &&
            grep -q "^$dir/run" "$dir/said"
        check "$what: status $status: $(cat "$dir/said")" $?
        failing=$((failing + 1))
    fi
    newest_opens "$what"
    goes_on "$what"
}

begin
failing=0
places > "$dir/places"
[ "$(wc -l < "$dir/places")" -gt 30 ]
check "a save makes more than 30 calls: $(wc -l < "$dir/places")" $?
for fault in ${*:-signal=SIGKILL error=EIO error=ENOSPC}; do
    while read -r call n; do
        inject "$call" "$n" "$fault"
    done < "$dir/places"
done
echo "$killed kills, $failing calls that failed"
conclude
