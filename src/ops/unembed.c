/* unembed: scores against every row of an embedding   x: (..,C)  E: (V,C)
 *   y_nv = sum_c x_nc E_vc                            y: (..,V)
 *   dx += dy E     dE += dy' x
 * The head of the model; E may be the token embedding itself (tied).
 * Saves nothing. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0], *E = nd->in[1];
    const real *dy = nd->out->grad;
    int N = rows(x), C = cols(x), V = rows(E);
    if (x->grad)
        gemm(N, C, V, (Matrix){dy, V, false}, (Matrix){E->data, C, false},
             grad_so_far(x), C, x->grad, C);
    if (E->grad)
        gemm(V, C, N, (Matrix){dy, V, true}, (Matrix){x->data, C, false},
             E->grad, C, E->grad, C);
}

Tensor *op_unembed(Tape *tp, Tensor *x, Tensor *E)
{
    int N = rows(x), C = cols(x), V = rows(E);
    CHECK(E->shape.ndim == 2 && cols(E) == C,
          "unembed: x %s needs E of shape (V,%d), got %s",
          shape_text(x->shape), C, shape_text(E->shape));
    Tensor *y = tape_tensor(tp, shape_with_last(x->shape, V));
    gemm(N, V, C, (Matrix){x->data, C, false}, (Matrix){E->data, C, true},
         NULL, 0, y->data, V);
    return tape_record(tp, (Node){"unembed", backward, {x, E}, y,
                                  .flops = 2.0 * N * C * V, .begins = 1});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_unembed(tp, in[0], in[1]);
}

const OpSpec op_unembed_spec = {
    .name = "unembed", .in = {"N,C", "V,C"}, .out = "N,V", .run = run,
    .golden = {"N=1,C=2,V=3", {{2, -1}, {1, 0, .5, 3, -4, 1}},
               .out = {2, -2, -9}, .source = "by hand"},
    .refuse = {{"4,64", "65,32"}, {"4,64", "64"}},
};
