# Adding an op, as the README has it: in a scratch copy, its command, its
# change, and the suite's checks of the new op.
cd "$(dirname "$0")/.." || exit 70
dir=$(mktemp -d) passed=0 failed=0
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/copy"
cp -Rp Makefile README.md include src models data tests "$dir/copy"
mkdir -p build && cp -Rp build "$dir/copy"
cd "$dir/copy" || exit 70
# A reader may have followed the README already.
rm -f src/ops/silu.c
sed -i '/op_silu/d; /^ \*   silu /d' include/ops.h

check() {   # what, whether it held (0: yes)
    if [ "$2" -eq 0 ]; then passed=$((passed + 1)); else
        echo "  FAILED $1"
        cat "$dir/log"
        failed=$((failed + 1))
    fi
}

command=$(sed -n 's/^ *\(make newop NAME=.*\)$/\1/p' README.md)
$command > "$dir/log" 2>&1
check "$command" $?
make -s -j2 build/test64 > "$dir/log" 2>&1 && ! build/test64 silu > "$dir/log"
check "as it was written, without golden numbers, it does not pass" $?
sed -n '/^```diff/,/^```/p' README.md | sed '1d;$d' > "$dir/silu.diff"
if command -v patch > "$dir/log" 2>&1; then
    patch -p1 < "$dir/silu.diff" > "$dir/log" 2>&1
else
    git apply -p1 "$dir/silu.diff" > "$dir/log" 2>&1
fi
check "the change shown in the README applies" $?
make -s -j2 build/test64 > "$dir/log" 2>&1
check "it compiles" $?
! grep -q warning "$dir/log"
check "it compiles without a warning" $?
build/test64 -v silu > "$dir/log" 2>&1
check "the new op passes" $?
grep -q "silu_gradient" "$dir/log"
check "the suite has checked the new op" $?
! $command > "$dir/log" 2>&1
check "a second newop of the same name is refused" $?
! make newop NAME=Bad-name > "$dir/log" 2>&1
check "a name that is no C name is refused" $?
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
