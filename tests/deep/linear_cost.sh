# A step's cost is linear in layers and in sequences: three models in equal
# steps of one of them take equally many instructions more each time, to 2 %.
# $1: the program, a build without AVX-512, which valgrind does not know.
step=${1:-build/step}

count() {   # L D H T B: the instructions of four steps less those of two
    for steps in 4 2; do
        OMP_WAIT_POLICY=passive valgrind --tool=callgrind \
            --callgrind-out-file=/dev/null "$step" "$@" $steps 2>&1 |
            sed -n 's/.*Collected : //p'
    done | paste -s -d - | bc
}

same() {    # what, the three counts
    awk -v a="$2" -v b="$3" -v c="$4" -v what="$1" 'BEGIN {
        r = (c - b) / (b - a)
        printf "%s: %d, %d, %d instructions; second difference over first " \
               "%.3f\n", what, a, b, c, r
        exit !(r > 0.98 && r < 1.02) }' || exit 1
}

same layers "$(count 2 32 4 32 4)" "$(count 4 32 4 32 4)" \
    "$(count 6 32 4 32 4)"
same sequences "$(count 2 32 4 32 8)" "$(count 2 32 4 32 16)" \
    "$(count 2 32 4 32 24)"
