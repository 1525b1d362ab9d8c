/* rmsnorm over the last axis (Zhang & Sennrich 2019)   x, y: (..,C)  g: (C)
 *   r = 1 / sqrt(mean_c x^2 + eps)     xhat = x r
 *   y = g xhat
 *   dg += sum_n dy xhat     dxhat = g dy
 *   dx += r (dxhat - xhat mean_c(dxhat xhat))
 * Saves r of each row. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { real *r; } Saved;

static void backward_rows(const Node *nd)
{
    const real *x = nd->in[0]->data, *g = nd->in[1]->data, *dy = nd->out->grad;
    const Saved *s = nd->saved;
    real *dx = nd->in[0]->grad;
    int N = rows(nd->out), C = cols(nd->out);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        long i = (long)n * C;
        real r = s->r[n];
        real along = r * dot_dev(C, g, dy + i, x + i, 0) / (real)C;
        for (int c = 0; c < C; c++)
            dx[i + c] += r * (g[c] * dy[i + c] - x[i + c] * r * along);
    }
}

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0], *g = nd->in[1];
    const Saved *s = nd->saved;
    if (x->grad) backward_rows(nd);
    if (g->grad)
        add_columns_normed(rows(x), cols(x), nd->out->grad, x->data, NULL,
                           s->r, g->grad);
}

Tensor *op_rmsnorm(Tape *tp, Tensor *x, Tensor *g, real eps)
{
    int N = rows(x), C = cols(x);
    CHECK(shape_equal(g->shape, (Shape){1, {C}}),
          "rmsnorm: x %s needs g of shape (%d), got %s",
          shape_text(x->shape), C, shape_text(g->shape));
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    s->r = tape_alloc(tp, (size_t)N * sizeof(real));
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *xn = x->data + (long)n * C;
        real *yn = y->data + (long)n * C;
        real r = s->r[n] = 1 / sqrt(dot(C, xn, xn) / (real)C + eps);
        for (int c = 0; c < C; c++) yn[c] = g->data[c] * (xn[c] * r);
    }
    return tape_record(tp, (Node){"rmsnorm", backward, {x, g}, y, .saved = s});
}

/* eps is large here, so that its share of the gradient is well above the
 * rounding of the differences it is checked against. */
static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_rmsnorm(tp, in[0], in[1], (real)0.1);
}

const OpSpec op_rmsnorm_spec = {
    .name = "rmsnorm", .in = {"N,C", "C"}, .out = "N,C", .run = run,
    .golden = {"N=2,C=4",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.7, 1.78},
               {0.25, -1.28, 1.19, -0.33}},
        .out = {0.120983030704832, 1.3970193707261, 1.73989042795766,
                0.0373760341666843, -0.300689235911323, -0.779151815200462,
                -0.610912520766176, -0.430792334571491},
        .source = "PyTorch, double: tests/golden.py"},
    .refuse = {{"4,64", "32"}, {"4,64", "1,64"}},
};
