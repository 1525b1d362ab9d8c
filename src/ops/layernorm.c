/* layernorm over the last axis (Ba et al. 2016)    x, y: (..,C)  g, b: (C)
 *   mu = mean_c x     var = mean_c (x - mu)^2     r = 1 / sqrt(var + eps)
 *   xhat = (x - mu) r
 *   y = g xhat + b
 *   db += sum_n dy     dg += sum_n dy xhat     dxhat = g dy
 *   dx += r (dxhat - mean_c dxhat - xhat mean_c(dxhat xhat))
 * Saves mu and r of each row; xhat costs less to compute again than to keep.
 * The variance takes a second pass over the row: mean x^2 - mu^2 in one pass
 * cancels (13 % wrong in float at mu = 1000). */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { real *mu, *r; } Saved;

static void backward_rows(const Node *nd)
{
    const real *x = nd->in[0]->data, *g = nd->in[1]->data, *dy = nd->out->grad;
    const Saved *s = nd->saved;
    real *dx = nd->in[0]->grad;
    int N = rows(nd->out), C = cols(nd->out);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        long i = (long)n * C;
        real mu = s->mu[n], r = s->r[n];
        real mean = dot(C, g, dy + i) / (real)C;
        real along = r * dot_dev(C, g, dy + i, x + i, mu) / (real)C;
        for (int c = 0; c < C; c++) {
            real xhat = (x[i + c] - mu) * r;
            dx[i + c] += r * (g[c] * dy[i + c] - mean - xhat * along);
        }
    }
}

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0], *g = nd->in[1], *b = nd->in[2];
    const real *dy = nd->out->grad;
    const Saved *s = nd->saved;
    int N = rows(x), C = cols(x);
    if (x->grad) backward_rows(nd);
    if (g->grad) add_columns_normed(N, C, dy, x->data, s->mu, s->r, g->grad);
    if (b->grad) add_columns(N, C, dy, b->grad);
}

Tensor *op_layernorm(Tape *tp, Tensor *x, Tensor *g, Tensor *b, real eps)
{
    int N = rows(x), C = cols(x);
    Shape channels = {1, {C}};
    CHECK(shape_equal(g->shape, channels) && shape_equal(b->shape, channels),
          "layernorm: x %s needs g and b of shape (%d), got %s and %s",
          shape_text(x->shape), C, shape_text(g->shape), shape_text(b->shape));
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    s->mu = tape_alloc(tp, (size_t)N * sizeof(real));
    s->r = tape_alloc(tp, (size_t)N * sizeof(real));
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *xn = x->data + (long)n * C;
        real *yn = y->data + (long)n * C;
        real mu = s->mu[n] = sum(C, xn) / (real)C;
        real var = sum_sq_dev(C, xn, mu) / (real)C;
        real r = s->r[n] = 1 / sqrt(var + eps);
        for (int c = 0; c < C; c++)
            yn[c] = fma(g->data[c], (xn[c] - mu) * r, b->data[c]);
    }
    return tape_record(tp, (Node){"layernorm", backward, {x, g, b}, y,
                                  .saved = s});
}

/* eps is large here, so that its share of the gradient is well above the
 * rounding of the differences it is checked against. */
static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_layernorm(tp, in[0], in[1], in[2], (real)0.1);
}

const OpSpec op_layernorm_spec = {
    .name = "layernorm", .in = {"N,C", "C", "C"}, .out = "N,C", .run = run,
    .golden = {"N=2,C=4",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.7, 1.78},
               {0.25, -1.28, 1.19, -0.33},
               {-1.86, 0.61, -0.92, 1.55}},
        .out = {-1.78403481930051, 2.27306116974119, 0.626127181243761,
                1.65027403852333, -2.17344947285984, -0.1066657347261,
                -1.59064419279581, 1.13503511953167},
        .source = "PyTorch, double: tests/golden.py"},
    .refuse = {{"4,64", "32", "32"}, {"4,64", "64", "1,64"}},
};
