/* linear                          x: (..,K)  W: (K,M)  b: (M) or none
 *   y_nm = b_m + sum_k x_nk W_km                            y: (..,M)
 *   dx += dy W'     dW += x' dy     db_m += sum_n dy_nm
 * Saves nothing. gemm starts each sum of y at the bias, and each sum of dx
 * and dW at what is there already: no second pass over memory adds them. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0], *W = nd->in[1], *b = nd->in[2];
    const real *dy = nd->out->grad;
    int N = rows(x), K = cols(x), M = cols(W);
    if (x->grad)
        gemm(N, K, M, (Matrix){dy, M, false}, (Matrix){W->data, M, true},
             grad_so_far(x), K, x->grad, K);
    if (W->grad)
        gemm(K, M, N, (Matrix){x->data, K, true}, (Matrix){dy, M, false},
             W->grad, M, W->grad, M);
    if (b && b->grad) add_columns(N, M, dy, b->grad);
}

Tensor *op_linear(Tape *tp, Tensor *x, Tensor *W, Tensor *b)
{
    int N = rows(x), K = cols(x), M = cols(W);
    CHECK(W->shape.ndim == 2 && W->shape.dim[0] == K,
          "linear: x %s needs W of shape (%d,M), got %s",
          shape_text(x->shape), K, shape_text(W->shape));
    CHECK(!b || (b->shape.ndim == 1 && cols(b) == M),
          "linear: W %s needs b of shape (%d), got %s",
          shape_text(W->shape), M, shape_text(b->shape));
    Tensor *y = tape_tensor(tp, shape_with_last(x->shape, M));
    gemm(N, M, K, (Matrix){x->data, K, false}, (Matrix){W->data, M, false},
         b ? b->data : NULL, 0, y->data, M);
    return tape_record(tp, (Node){"linear", backward, {x, W, b}, y,
                                  .flops = 2.0 * N * K * M, .begins = 1});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_linear(tp, in[0], in[1], in[2]);
}

const OpSpec op_linear_spec = {
    .name = "linear", .in = {"N,K", "K,M", "M"}, .out = "N,M", .run = run,
    .golden = {"N=2,K=3,M=2",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83},
               {-0.70, 1.78, 0.25, -1.28, 1.19, -0.33},
               {-1.86, 0.61}},
        .out = {-0.7642, 2.3348, -1.2053,
                 2.2395},
        .source = "PyTorch, double: tests/golden.py"},
    .refuse = {{"4,64", "32,64", "64"}, {"4,64", "64,32", "64"},
               {"4,64", "64", "64"}},
};
