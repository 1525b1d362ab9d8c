/* gelu, the tanh form (Hendrycks & Gimpel 2016)    x, y: any shape
 *   u = sqrt(2/pi) (x + a x^3)     a = 0.044715
 *   y = x (1 + tanh u) / 2 = x s   s = sigmoid(2u) = 1 / (1 + exp(-2u))
 *   dx += dy (s + x s (1 - s) 2 du/dx)
 * The sigmoid needs one exp and does not cancel where tanh u is near -1.
 * Saves nothing: s costs less to compute again than to keep. */
#include "kernels.h"
#include "spec.h"

static const real A = (real)0.044715;
static const real K = (real)1.59576912160573071176;     /* 2 sqrt(2/pi) */

static inline real sigmoid_2u(real x)
{
    return 1 / (1 + kexp(-K * x * (1 + A * x * x)));
}

static inline real slope(real x)
{
    real s = sigmoid_2u(x), du2 = K * (1 + 3 * A * x * x);      /* 2 du/dx */
    return s + x * s * (1 - s) * du2;
}

static void backward(const Node *nd)
{
    const real *x = nd->in[0]->data, *dy = nd->out->grad;
    real *dx = nd->in[0]->grad;
    long n = size(nd->out);
    if (grad_so_far(nd->in[0])) {
        #pragma omp parallel for
        for (long k = 0; k < n; k++) dx[k] += dy[k] * slope(x[k]);
    } else {
        #pragma omp parallel for
        for (long k = 0; k < n; k++) dx[k] = dy[k] * slope(x[k]);
    }
}

Tensor *op_gelu(Tape *tp, Tensor *x)
{
    Tensor *y = tape_tensor(tp, x->shape);
    long n = size(y);
    #pragma omp parallel for
    for (long k = 0; k < n; k++)
        y->data[k] = x->data[k] * sigmoid_2u(x->data[k]);
    return tape_record(tp, (Node){"gelu", backward, {x}, y, .begins = 1});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_gelu(tp, in[0]);
}

const OpSpec op_gelu_spec = {
    .name = "gelu", .in = {"N,C"}, .out = "N,C", .run = run,
    .golden = {"N=2,C=4",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.70, 1.78}},
        .out = {0.31997283851137, -0.15342000295585,
                 1.30928749161811, -0.05018256340073,
                 -0.08298992260174, 0.66119278466315,
                 -0.16942986529488, 1.71310203440361},
        .source = "PyTorch, double: tests/golden.py"},
};
