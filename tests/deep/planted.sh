#!/bin/sh
# The checkers are checked: each line at the end plants one error in a scratch
# copy of the sources, and the tests named there must fail. Needs `make
# build/test64`; recompiles one file an error, two errors at a time.
cd "$(dirname "$0")/../.." || exit 70

# Replaces the one place in the file where the text stands.
replace() {     # file, text, text instead
    FROM=$2 TO=$3 awk '
        { at = index($0, ENVIRON["FROM"])
          if (at) { places++
              $0 = substr($0, 1, at - 1) ENVIRON["TO"] \
                   substr($0, at + length(ENVIRON["FROM"])) }
          print }
        END { exit places != 1 }' "$1" > "$1.new" || return 1
    mv "$1.new" "$1"
}

# The Makefile's way to make build/test64, for one changed file. -w: what is
# planted may leave something unused.
rebuild() {     # file
    command="$(cat build/flags) -DREAL_DOUBLE -w"
    $command $(sed -n 's/^INCLUDE *= *//p' Makefile) -c "$1" \
        -o "build/f64/${1%.c}.o" || return 1
    objects=
    for f in tests/*.c src/*.c src/*/*.c models/*.c data/*.c; do
        [ -f "build/f64/${f%.c}.o" ] && objects="$objects build/f64/${f%.c}.o"
    done
    $command $objects -o build/test64 -lm
}

judge() {       # what, file, text, text instead, tests ...
    what=$1 file=$2 from=$3 to=$4
    shift 4
    cp "$file" whole
    cp "build/f64/${file%.c}.o" whole.o
    if ! replace "$file" "$from" "$to"; then
        echo "NOT PLANTED: $what: $file has this text never or twice: $from"
    elif ! rebuild "$file" > log 2>&1; then
        echo "NOT PLANTED: $what: it does not compile:"
        cat log
    elif build/test64 "$@" > log 2>&1; then
        echo "NOT CAUGHT: $what"
    else
        echo "caught: $what: $(awk '/^FAILED/ {print $3}' log | sort |
            awk '{line = line (NR > 1 ? ", " : "") $0} END {print line}')"
    fi
    mv whole "$file"
    mv whole.o "build/f64/${file%.c}.o"
}

# Every second planted error is this process's.
plant() {
    turn=$(((turn + 1) % 2))
    [ "$turn" -eq "$share" ] && judge "$@"
}

all() {
    plant "flipped sign" src/ops/add.c \
        'dx[k] + dy[k] : dy[k]' 'dx[k] - dy[k] : -dy[k]' \
        add_gradient
    plant "= for +=" src/ops/gelu.c \
        'dx[k] += dy[k] *' 'dx[k] = dy[k] *' \
        gelu_gradient
    plant "gradient that never begins anew" src/ops/add.c \
        'more ? dx[k] + dy[k] : dy[k]' 'dy[k]' \
        add_gradient
    plant "softmax whose backward does nothing" src/ops/softmax.c \
        'dx[i + c] += y[i + c] * (dy[i + c] - s);' 'dx[i + c] += 0 * s;' \
        softmax_gradient
    plant "d-1 for d in the variance" src/ops/layernorm.c \
        'sum_sq_dev(C, xn, mu) / (real)C' \
        'sum_sq_dev(C, xn, mu) / (real)(C - 1 + !(C - 1))' \
        layernorm_golden
    plant "eps left out of the backward pass" src/ops/layernorm.c \
        'real mu = s->mu[n], r = s->r[n];' \
        'real mu = s->mu[n], r = 1 / sqrt(sum_sq_dev(C, x + i, mu)/(real)C);' \
        layernorm_gradient
    plant "gain of a norm without a gradient" src/ops/layernorm.c \
        'if (g->grad) add_columns_normed(' 'if (0) add_columns_normed(' \
        layernorm_gradient
    plant "residual edge dropped" models/placement.c \
        'return op_add(tp, x, apply(tp, f, norm(tp, x, &f->norm)));' \
        'return apply(tp, f, norm(tp, x, &f->norm));' \
        wiring_is_the_equation
    plant "residual taken from the normalised tensor" models/placement.c \
        'return op_add(tp, x, apply(tp, f, norm(tp, x, &f->norm)));' \
        'x = norm(tp, x, &f->norm); return op_add(tp, x, apply(tp, f, x));' \
        branch_of_zero
    plant "post normalises the branch only" models/placement.c \
        'return norm(tp, op_add(tp, x, apply(tp, f, x)), &f->norm);' \
        'return op_add(tp, x, norm(tp, apply(tp, f, x), &f->norm));' \
        branch_of_zero
    plant "final norm dropped" models/gpt.c \
        'if (m->last.g) x = norm(tp, x, &m->last);' '' \
        number_of_norms
    plant "gain of the norms never trained" models/gpt.c \
        'return (Norm){g, m->config.norm == RMSNORM ? NULL' \
        'm->nparam--;
         return (Norm){g, m->config.norm == RMSNORM ? NULL' \
        parameters_are_those_that_the_tape_reads
    plant "attention sees one token ahead" src/kernels/attend.c \
        'return h->n + (h->causal ? t + 1 : h->T);' \
        'return h->n + (h->causal && t + 2 < h->T ? t + 2 : h->T);' \
        causality
    plant "1/sqrt(D) missing" src/ops/attention.c \
        '1 / sqrt((real)head.D)' '1' \
        attention_golden
    plant "the past is one token short" src/kernels/attend.c \
        'return h->n + (h->causal ? t + 1 : h->T);' \
        'return h->n - (h->n > 0) + (h->causal ? t + 1 : h->T);' \
        cache_keeps_the_bits
    plant "keys and values put a token too early" src/ops/attention.c \
        'room + past.n + t) * W' 'room + past.n - (past.n > 0) + t) * W' \
        cache_keeps_the_bits
    plant "positions begin at 0 with a past, too" models/cache.c \
        '.data = m->pos->data + (long)n * d' '.data = m->pos->data' \
        cache_keeps_the_bits
    plant "keys and values stay where the window has slid" models/generate.c \
        'c->model.config.unmasked) c->n = 0;' \
        'c->model.config.unmasked) c->n -= least(c->n, first - w->first);' \
        text_with_the_cache_is_that_without
    plant "the nucleus stops before p" models/generate.c \
        'sum < how.top_p * total' \
        'sum + weight(sorted[kept].logit, m, how) < how.top_p * total' \
        top_p_by_hand
    plant "1/(1-p) missing" src/ops/dropout.c \
        'real scale = 1 / (1 - s->p);' 'real scale = 1;' \
        dropout_golden
    plant "mean forgotten in the forward pass" src/ops/cross_entropy.c \
        'y->data[0] = sum(N, loss) / (real)N;' 'y->data[0] = sum(N, loss);' \
        cross_entropy_golden
    plant "gradient of a bias forgotten" src/ops/linear.c \
        'if (b && b->grad) add_columns(N, M, dy, b->grad);' '' \
        linear_gradient
    plant "gradient of a matrix overwritten" src/ops/unembed.c \
        'E->grad, C, E->grad, C);' 'NULL, 0, E->grad, C);' \
        unembed_gradient
    plant "one token's gradient for each position" src/ops/embedding.c \
        'dpos[(long)(n % T) * C + c] += d;' \
        'dpos[(long)(n % T) * C + c] = d;' \
        embedding_gradient
    plant "the factor itself for the other one" src/ops/mul.c \
        'nd->in[1 - i]->data' 'nd->in[i]->data' \
        mul_gradient
    plant "constant left out of the backward pass" src/ops/scale.c \
        'dx[k] += c * dy[k];' 'dx[k] += dy[k];' \
        scale_gradient
    plant "r once too few" src/ops/rmsnorm.c \
        'x[i + c] * r * along' 'x[i + c] * along' \
        rmsnorm_gradient
    plant "gradient below the kink" src/ops/relu.c \
        'dx[k] += x[k] > 0 ? dy[k] : 0;' 'dx[k] += dy[k];' \
        relu_gradient
    plant "a digit of the cubic term wrong" src/ops/gelu.c \
        'A = (real)0.044715;' 'A = (real)0.044175;' \
        gelu_golden
    plant "mean forgotten in the backward pass" src/ops/cross_entropy.c \
        'real dy = nd->out->grad[0] / (real)N;' \
        'real dy = nd->out->grad[0];' \
        cross_entropy_gradient
    plant "gradient buffers not cleared" src/tape.c \
        'if (!x->fresh) memset(' 'if (0) memset(' \
        every_element
    plant "a gradient begun twice" src/tape.c \
        'nd->in[i]->fresh = false;' ';' \
        every_element
    plant "AdamW without bias correction" src/optim.c \
        'const real r1 = (real)(1 / (1 - power(c->beta1, t)));' \
        'const real r1 = 1;' \
        as_pytorch
    plant "gains decay" models/gpt.c \
        '.decay = shape.ndim > 1' '.decay = true' \
        as_pytorch
    plant "looking adds to the gradient of a gain" models/probe.c \
        'g.grad = NULL, x.fresh = false;' 'x.fresh = false;' \
        looking_changes_no_bit
    plant "eps left out of the norm's factor" models/probe.c \
        '1 / sqrt(var + (double)norm_eps)' '1 / sqrt(var)' \
        gain_of_the_norm_by_its_formula
    plant "entropy of keys that are masked" models/probe.c \
        'int J = f->unmasked ? T : t + 1;' 'int J = T;' \
        attention_that_sees_no_difference
    plant "rows for columns" models/jacobian.c \
        'dy[k] : x0->grad[k]' 'dy[k] : x0->grad[k % n * n + k / n]' \
        jacobian_by_differences
    plant "a Jacobian that trains" models/jacobian.c \
        'm->param[i].t->grad = NULL;' '' \
        leaves_gradients_alone
    plant "a claim without its upper threshold" src/lab/verdict.c \
        'x >= low && x <= high' 'x >= low' \
        a_claim_holds
    plant "a known difference that excuses any" src/lab/verdict.c \
        'm->differs && within' 'm->differs || within' \
        a_claim_holds
    plant "a verdict of too few seeds" src/lab/verdict.c \
        'lab->seeds < claim->fewest' 'lab->seeds < 0' \
        too_few_seeds
    plant "the error of one seed for that of the mean" src/lab/estimate.c \
        'square * (n - 1) / n' 'square * (n - 1)' \
        the_error_of
    plant "columns turned the wrong way" src/svd.c \
        'z < 0 ? -1 : 1' 'z < 0 ? 1 : -1' \
        singular_values
}

if [ $# -eq 1 ]; then       # share 0 or 1, in a copy made below
    share=$1 turn=0
    all
    exit
fi

make -s build/test64 || exit 70
scratch=$(mktemp -d) || exit 70
trap 'rm -rf "$scratch"' EXIT INT TERM
for share in 0 1; do
    mkdir -p "$scratch/$share/build"
    cp -Rp Makefile include src models data tests "$scratch/$share"
    cp -Rp build/flags build/op_list.h build/f64 "$scratch/$share/build"
    (cd "$scratch/$share" && sh tests/deep/planted.sh $share) \
        > "$scratch/report$share" 2>&1 &
done
wait
cat "$scratch/report0" "$scratch/report1"
count() { grep -c "$1" "$scratch/report0" "$scratch/report1" |
          awk -F: '{n += $NF} END {print n}'; }
caught=$(count '^caught') missed=$(count '^NOT')
planted=$(grep -c '^    plant "' tests/deep/planted.sh)
if [ $((caught + missed)) -ne "$planted" ]; then
    echo "$planted errors are listed, $((caught + missed)) were judged"
    missed=$((planted - caught))
fi
echo "$caught passed, $missed failed, 0 skipped"
[ "$missed" -eq 0 ]
