/* scale                                            x, y: any shape
 *   y = c x   (c a constant)
 *   dx += c dy
 * Saves c. */
#include "spec.h"

typedef struct { real c; } Saved;

static void backward(const Node *nd)
{
    const real *dy = nd->out->grad, c = ((Saved *)nd->saved)->c;
    real *dx = nd->in[0]->grad;
    long n = size(nd->out);
    #pragma omp parallel for
    for (long k = 0; k < n; k++) dx[k] += c * dy[k];
}

Tensor *op_scale(Tape *tp, Tensor *x, real c)
{
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    s->c = c;
    long n = size(y);
    #pragma omp parallel for
    for (long k = 0; k < n; k++) y->data[k] = c * x->data[k];
    return tape_record(tp, (Node){"scale", backward, {x}, y, .saved = s});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_scale(tp, in[0], (real)-1.5);
}

const OpSpec op_scale_spec = {
    .name = "scale", .in = {"N,C"}, .out = "N,C", .run = run,
    .golden = {"N=1,C=3", {{1, -2, 0}}, .out = {-1.5, 3, 0},
               .source = "by hand"},
};
