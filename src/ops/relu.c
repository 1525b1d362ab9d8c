/* relu                                             x, y: any shape
 *   y = max(x, 0)
 *   dx += dy where x > 0   (0 at the kink)
 * Saves nothing. A NaN goes through: it must be seen, not cut off. */
#include "spec.h"

static void backward(const Node *nd)
{
    const real *x = nd->in[0]->data, *dy = nd->out->grad;
    real *dx = nd->in[0]->grad;
    long n = size(nd->out);
    #pragma omp parallel for
    for (long k = 0; k < n; k++) dx[k] += x[k] > 0 ? dy[k] : 0;
}

Tensor *op_relu(Tape *tp, Tensor *x)
{
    Tensor *y = tape_tensor(tp, x->shape);
    long n = size(y);
    #pragma omp parallel for
    for (long k = 0; k < n; k++)
        y->data[k] = x->data[k] <= 0 ? 0 : x->data[k];
    return tape_record(tp, (Node){"relu", backward, {x}, y, .saved = NULL});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_relu(tp, in[0]);
}

const OpSpec op_relu_spec = {
    .name = "relu", .in = {"N,C"}, .out = "N,C", .gap = .05, .run = run,
    .golden = {"N=1,C=4", {{-2, -.5, 0, 3}}, .out = {0, 0, 0, 3},
               .source = "by hand"},
};
