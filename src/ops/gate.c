/* gate                                  x, y: any shape   g: (1), trained
 *   y = g x
 *   dx += g dy     dg += sum dy x
 * What opens a branch: it starts at 0, and the branch is not there. dg is a
 * sum by rows, of row sums. Saves room for those. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { real *row; } Saved;

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0], *g = nd->in[1];
    const real *dy = nd->out->grad;
    real *row = ((Saved *)nd->saved)->row;
    int N = rows(x), C = cols(x);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        long i = (long)n * C;
        row[n] = dot(C, dy + i, x->data + i);
        for (int c = 0; c < C && x->grad; c++)
            x->grad[i + c] += g->data[0] * dy[i + c];
    }
    if (g->grad) g->grad[0] += sum(N, row);
}

Tensor *op_gate(Tape *tp, Tensor *x, Tensor *g)
{
    CHECK(shape_equal(g->shape, (Shape){1, {1}}),
          "gate: g needs shape (1), got %s", shape_text(g->shape));
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    long n = size(x);
    s->row = tape_alloc(tp, (size_t)rows(x) * sizeof *s->row);
    #pragma omp parallel for
    for (long k = 0; k < n; k++) y->data[k] = g->data[0] * x->data[k];
    return tape_record(tp, (Node){"gate", backward, {x, g}, y, .saved = s});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_gate(tp, in[0], in[1]);
}

const OpSpec op_gate_spec = {
    .name = "gate", .in = {"N,C", "1"}, .out = "N,C", .run = run,
    .golden = {"N=1,C=3", {{1, -2, 0}, {.5}}, .out = {.5, -1, 0},
               .source = "by hand"},
    .refuse = {{"4,64", "64"}, {"4,64", "1,1"}},
};
