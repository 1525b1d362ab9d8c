# Who may include whom (the layout's one rule): kernels know no Tensor, tensor
# knows no Tape, tape knows no op, ops know no model, models know no command
# line. And the sizes that keep the engine readable in one sitting.
cd "$(dirname "$0")/.." || exit 70
. tests/check

# Files, then headers (a pattern) that neither they nor what they include,
# directly or not, may reach. A compiler that cannot say fails the rule.
never() {
    what=$1 files=$2 pattern=$3
    reached=$(for f in $files; do
        if list=$($(cat build/flags) -MM -Iinclude -Imodels -Idata "$f" 2>&1)
        then
            echo "$list" | tr ' \\' '\n\n' | grep -E "$pattern" |
                sed "s|^|    $f reaches |"
        else
            echo "    what $f includes is not known: $list"
        fi
    done)
    [ -n "$reached" ] && echo "$reached"
    [ -z "$reached" ]
    check "$what" $?
}

model='models/|config\.h|flags\.h'
op='include/(ops|spec)\.h'
never "kernels know no Tensor" "src/kernels/*.c" \
      "include/(tensor|tape)\.h|$op|$model"
never "tensor knows no Tape" "src/tensor.c src/arena.c" \
      "include/tape\.h|$op|$model"
never "tape knows no op" "src/tape.c" "$op|kernels\.h|$model"
never "the optimiser knows no tape and no model" "src/optim.c src/safetensors.c src/disk.c \
src/safetensors.c" \
      "include/tape\.h|$op|$model"
never "ops know no model" "src/ops/*.c" "$model"
never "models know no command line" "models/*.c" "include/(config|flags)\.h"
never "models know no text, but for its vocabulary in tokenizer.json" \
      "$(ls models/*.c | grep -v huggingface)" "include/text\.h"

never "the lab knows no command line" "src/lab/*.c" "config\.h|flags\.h"

# No libm but sqrt and fma in what is computed: machines differ there.
libm="exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|erf|sincos|sin|cos|\
tan|sinh|cosh|tanh|asin|acos|atan|atan2"
if command -v nm > /dev/null; then
    objects=$(for f in src/*.c src/*/*.c models/*.c data/*.c; do
                  echo "build/f32/${f%.c}.o"
              done)
    undefined=$(nm -u $objects 2>&1)
    [ $? -eq 0 ] && ! echo "$undefined" | grep -E "[ _]($libm)f?\$"
    check "no libm function but sqrt and fma" $?
else
    echo "skipped  libm: no nm here"
    skipped=1
fi

# Parallel loops write disjoint elements: no other construct of OpenMP.
! grep -nE '#pragma omp' -r src models data |
    grep -vE 'omp parallel for( schedule\(dynamic\))?$'
check "only '#pragma omp parallel for', and no reduction" $?

missing=$(for f in src/ops/*.c; do
    op=$(basename "$f" .c)
    sed '/^#ifndef/q' include/ops.h | grep -qE "^ \*   $op  +y" ||
        echo "    $op"
done)
[ -z "$missing" ] || echo "$missing"
[ -z "$missing" ]
check "every op stands in the table of include/ops.h" $?

longest=$(awk 'length > 80 { print FILENAME ":" FNR }' include/*.h src/*.c \
    src/*/*.[ch] models/*.[ch] data/*.[ch] tests/*.[ch])
[ -z "$longest" ] || echo "    over 80 columns: $longest"
[ -z "$longest" ]
check "80 columns" $?
conclude
