/* dropout (Srivastava et al. 2014), inverted       x, y: any shape
 *   y = x m / (1 - p)     m = 0 with probability p, else 1
 *   dx += dy m / (1 - p)
 * Saves where its noise begins, not the mask: element k takes word k % 4 of
 * Philox block k / 4, so any thread can draw any element, and draw it again.
 * The n-th dropout of a step takes counter[1] = n. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { Rng noise; real p; } Saved;

/* out = [out +] x m / (1 - p) */
static void mask(const Saved *s, long n, const real *x, real *out, bool add)
{
    real scale = 1 / (1 - s->p);
    double limit = (double)s->p * 4294967296.0;     /* p in units of 2^-32 */
    #pragma omp parallel for
    for (long block = 0; block < (n + 3) / 4; block++) {
        uint32_t word[4], counter[4];
        for (int i = 0; i < 4; i++) counter[i] = s->noise.counter[i];
        counter[0] = (uint32_t)block;
        philox(s->noise.key, counter, word);
        for (int i = 0; i < 4 && 4 * block + i < n; i++) {
            long k = 4 * block + i;
            real y = word[i] < limit ? 0 : x[k] * scale;
            out[k] = add ? out[k] + y : y;
        }
    }
}

static void backward(const Node *nd)
{
    mask(nd->saved, size(nd->out), nd->out->grad, nd->in[0]->grad,
         grad_so_far(nd->in[0]));
}

Tensor *op_dropout(Tape *tp, Tensor *x, real p)
{
    CHECK(p >= 0 && p < 1, "dropout: p from 0 to below 1, got %g", (double)p);
    if (!tp->recording || p == 0) return x;
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    *s = (Saved){tp->noise, p};
    tp->noise.counter[1]++;
    mask(s, size(x), x->data, y->data, false);
    return tape_record(tp, (Node){"dropout", backward, {x}, y, .saved = s,
                                  .begins = 1});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    tp->noise = rng_new(7, RNG_DROPOUT, 0);
    return op_dropout(tp, in[0], (real)0.25);
}

const OpSpec op_dropout_spec = {
    .name = "dropout", .in = {"N,C"}, .out = "N,C", .run = run,
    .training_only = true,
    .golden = {"N=3,C=8",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.7, 1.78,
                 0.25, -1.28, 1.19, -0.33, -1.86, 0.61, -0.92, 1.55,
                 0.03, -1.5, 0.97, -0.56, 1.91, 0.39, -1.14, 1.33}},
        .out = {0.626666666666667, -1.41333333333333, 1.89333333333333,
                -0.146666666666667, -2.18666666666667, 1.10666666666667,
                -0.933333333333333, 2.37333333333333, 0.333333333333333,
                -1.70666666666667, 1.58666666666667, -0.44, -2.48,
                0.813333333333333, 0, 2.06666666666667, 0.04, 0, 0,
                -0.746666666666667, 2.54666666666667, 0.52, -1.52, 0},
        .source = "PyTorch, double: tests/golden.py"},
};
