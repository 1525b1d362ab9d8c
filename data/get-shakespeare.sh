#!/bin/sh
# Gets tiny Shakespeare, 1,115,394 bytes, into data/tinyshakespeare.txt:
#   data/get-shakespeare.sh                 downloads it (curl or wget)
#   data/get-shakespeare.sh --from FILE     takes a copy
# Afterwards the right text is there, or nothing has changed.
# Exit status: 0; 64 usage; 65 not that text; 66 no such file, or no way to
# download or check it; 73 cannot create the file; 74 cannot write it.

url=https://raw.githubusercontent.com/karpathy/char-rnn/master/data\
/tinyshakespeare/input.txt
bytes=1115394
sha256=86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
target=$(dirname "$0")/tinyshakespeare.txt
part=$target.$$.part

fail() {
    status=$1
    shift
    echo "get-shakespeare: $*" >&2
    exit "$status"
}

has() { command -v "$1" >/dev/null; }

if has sha256sum; then hash="sha256sum"
elif has shasum; then hash="shasum -a 256"
else fail 66 "needs sha256sum or shasum to check the text; found neither"
fi

hash_of() { $hash <"$1" | cut -d ' ' -f 1; }

download() {
    if has curl; then curl -fsSL "$url"
    elif has wget; then wget -qO - "$url"
    else fail 66 "needs curl or wget; with a copy of the text: --from FILE"
    fi
}

case $#,$1 in
0,) from= ;;
2,--from) from=$2
    [ -f "$from" ] && [ -r "$from" ] ||
        fail 66 "$from: no such file, or it cannot be read" ;;
*)  fail 64 "usage: get-shakespeare.sh [--from FILE]" ;;
esac

trap 'rm -f "$part"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
[ ! -d "$target" ] && (: >"$part") 2>/dev/null ||
    fail 73 "$target: cannot create it"

if [ "$from" ]; then
    cat "$from" >"$part" 2>/dev/null || fail 74 "$part: cannot write it"
else
    message=$(download 2>&1 >"$part") || fail 66 "cannot download $url" \
        "(${message:-no answer}); with a copy of the text: --from FILE"
fi

got=$(hash_of "$part")
[ "$got" = $sha256 ] || fail 65 "${from:-$url}: $(($(wc -c <"$part")))" \
    "bytes with SHA-256 $got; should be $bytes with $sha256"
mv -f "$part" "$target" 2>/dev/null || fail 74 "$target: cannot write it"
echo "$target: $bytes bytes, SHA-256 as it should be" ||
    fail 74 "cannot write to stdout"
