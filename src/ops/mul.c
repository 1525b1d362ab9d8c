/* mul                                              x, z, y: equal shapes
 *   y = x z   (elementwise)
 *   dx += z dy     dz += x dy
 * Saves nothing. */
#include "die.h"
#include "spec.h"

static void backward(const Node *nd)
{
    const real *dy = nd->out->grad;
    long n = size(nd->out);
    for (int i = 0; i < 2; i++) {
        const real *other = nd->in[1 - i]->data;
        real *dx = nd->in[i]->grad;
        if (!dx) continue;
        #pragma omp parallel for
        for (long k = 0; k < n; k++) dx[k] += other[k] * dy[k];
    }
}

Tensor *op_mul(Tape *tp, Tensor *x, Tensor *z)
{
    CHECK(shape_equal(x->shape, z->shape),
          "mul: x and z need equal shapes, got %s and %s",
          shape_text(x->shape), shape_text(z->shape));
    Tensor *y = tape_tensor(tp, x->shape);
    long n = size(y);
    #pragma omp parallel for
    for (long k = 0; k < n; k++) y->data[k] = x->data[k] * z->data[k];
    return tape_record(tp, (Node){"mul", backward, {x, z}, y, .saved = NULL});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_mul(tp, in[0], in[1]);
}

const OpSpec op_mul_spec = {
    .name = "mul", .in = {"N,C", "N,C"}, .out = "N,C", .run = run,
    .golden = {"N=1,C=3", {{1, 2, 3}, {10, -20, .5}}, .out = {10, -40, 1.5},
               .source = "by hand"},
    .refuse = {{"4,64", "4,32"}, {"4,64", "64"}},
};
