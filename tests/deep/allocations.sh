# From the third step on, training asks the system for no memory: between the
# lines of progress of steps 3 and 29 there is no call that could (the last step
# saves a checkpoint).
cd "$(dirname "$0")/../.." || exit 70
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
for placement in pre post; do
    OMP_WAIT_POLICY=passive strace -f -o "$out/calls" \
        -e trace=mmap,munmap,mremap,brk,madvise,write \
        ./train --placement=$placement --layers=3 --dropout=0.1 --steps=30 \
        --log-interval=1 --eval-interval=100 --eval-iters=1 --threads=2 \
        --data=builtin:20000 --out="$out" > /dev/null || exit 1
    awk '/write\(1, "step     3\/30/ { on = 1 }
         /write\(1, "step    29\/30/ { on = 0; end = 1 }
         on && !/write\(/ { print; bad = 1 }
         END { exit bad || !end }' "$out/calls" || exit 1
done
