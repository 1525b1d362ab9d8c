#!/bin/sh
# data/get-shakespeare.sh: takes the right text, refuses all else, and leaves
# nothing wrong behind. Works on a copy of the script in a temporary folder.
# Needs a copy of the text: $SHAKESPEARE, or what the script has brought, or
# the one beside the repository.

here=$(cd "$(dirname "$0")/.." && pwd)
text=${SHAKESPEARE:-$here/data/tinyshakespeare.txt}
[ -f "$text" ] || text=$here/../shared/data/tinyshakespeare.txt
if [ ! -f "$text" ]; then
    echo "skipped: no copy of the text in $text"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi

box=$(mktemp -d) || exit 1
trap 'rm -rf "$box"' EXIT
mkdir "$box/bin" "$box/data"
cp "$here/data/get-shakespeare.sh" "$box/data"
target=$box/data/tinyshakespeare.txt
sed '1s/First/Fist!/' "$text" >"$box/wrong"
head -c 1000000 "$text" >"$box/short"
passed=0 failed=0

# A curl that answers with a file, or fails as without a network.
answer_with() {
    printf '#!/bin/sh\ncat "%s"\n' "$1" >"$box/bin/curl"
    [ "$1" ] || printf '#!/bin/sh\necho no network >&2; exit 6\n' \
        >"$box/bin/curl"
    chmod +x "$box/bin/curl"
}

get() { PATH=$box/bin:$PATH sh "$box/data/get-shakespeare.sh" "$@"; }

# check NAME STATUS WORD ARGUMENTS: the status, and on failure one line that
# has the word; the text is there, or what was there before, and no part of it.
check() {
    name=$1 status=$2 word=$3 before=$(cat "$target" 2>/dev/null | cksum)
    shift 3
    get "$@" >"$box/out" 2>"$box/err"
    got=$?
    after=$(cat "$target" 2>/dev/null | cksum)
    [ "$status" = 0 ] && before=$(cksum <"$text")
    if [ $got = "$status" ] && [ "$before" = "$after" ] &&
        ! ls "$box/data" | grep -q part &&
        if [ "$status" = 0 ]; then [ ! -s "$box/err" ]
        else [ "$(grep -c '' "$box/err")" = 1 ] && grep -q "$word" "$box/err"
        fi
    then passed=$((passed + 1))
    else
        echo "  FAILED $name: status $got, not $status"
        cat "$box/err"
        ls "$box/data"
        failed=$((failed + 1))
    fi
}

all_refusals() {
    answer_with "$box/wrong"
    check "$1, other text"          65 86c4e6aa --from "$box/wrong"
    check "$1, short text"          65 1115394 --from "$box/short"
    check "$1, no such file"        66 /nonexistent --from /nonexistent
    check "$1, a folder"            66 "$box" --from "$box"
    check "$1, no file named"       64 usage --from
    check "$1, unknown option"      64 usage --form "$text"
    check "$1, an argument"         64 usage "$text"
    check "$1, wrong download"      65 86c4e6aa
    answer_with ""
    check "$1, no download"         66 "no network"
}

all_refusals "nothing there"
check "from a copy"                 0 "" --from "$text"
all_refusals "the text there"
rm "$target"
answer_with "$text"
check "download"                    0 ""
check "download again"              0 ""
before_full=$failed
(
    trap '' XFSZ
    ulimit -f 100
    check "no space"                74 write --from "$text"
    exit "$failed"
)
if [ $? -eq "$before_full" ]; then passed=$((passed + 1))
else failed=$((failed + 1)); fi
rm "$target"
mkdir "$target"
check "a folder in its place"       73 create --from "$text"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
