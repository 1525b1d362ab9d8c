/* softmax over the last axis                       x, y: (..,C)
 *   y_c = exp(x_c - m) / sum_j exp(x_j - m)     m = max_c x_c
 *   dx += y (dy - sum_c dy y)
 * Saves nothing: the output is all that the gradient needs. */
#include "kernels.h"
#include "spec.h"

static void backward(const Node *nd)
{
    const real *y = nd->out->data, *dy = nd->out->grad;
    real *dx = nd->in[0]->grad;
    int N = rows(nd->out), C = cols(nd->out);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        long i = (long)n * C;
        real s = dot(C, dy + i, y + i);
        for (int c = 0; c < C; c++) dx[i + c] += y[i + c] * (dy[i + c] - s);
    }
}

Tensor *op_softmax(Tape *tp, Tensor *x)
{
    Tensor *y = tape_tensor(tp, x->shape);
    int N = rows(x), C = cols(x);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *xn = x->data + (long)n * C, m = row_max(C, xn);
        real *yn = y->data + (long)n * C;
        real s = 1 / exp_row(C, xn, 1, m, yn);
        for (int c = 0; c < C; c++) yn[c] *= s;
    }
    return tape_record(tp, (Node){"softmax", backward, {x}, y,
                                  .saved = NULL});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_softmax(tp, in[0]);
}

const OpSpec op_softmax_spec = {
    .name = "softmax", .in = {"N,C"}, .out = "N,C", .run = run,
    .golden = {"N=2,C=4",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.70, 1.78}},
        .out = {0.22924508460359, 0.04963973737355,
                 0.59276122961017, 0.12835394841269,
                 0.02176191265423, 0.25727905574476,
                 0.05571009202212, 0.66524893957889},
        .source = "PyTorch, double: tests/golden.py"},
};
