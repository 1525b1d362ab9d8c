/* embedding       tok: (V,C)  pos: (P,C), P >= T  ids: B*T     y: (B,T,C)
 *   y[b,t] = tok[ids[b,t]] + pos[t]
 *   dtok[v] += sum of dy[b,t] over ids[b,t] = v     dpos[t] += sum_b dy[b,t]
 * Saves the ids. Rows of tok meet in the sum, so threads divide columns. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { const int *ids; } Saved;

static void backward(const Node *nd)
{
    const int *ids = ((Saved *)nd->saved)->ids;
    const real *dy = nd->out->grad;
    real *dtok = nd->in[0]->grad, *dpos = nd->in[1]->grad;
    int T = nd->out->shape.dim[1], C = cols(nd->out), N = rows(nd->out);
    #pragma omp parallel for
    for (int from = 0; from < C; from += COLUMNS)
        for (int n = 0, to = least(from + COLUMNS, C); n < N; n++)
            for (int c = from; c < to; c++) {
                real d = dy[(long)n * C + c];
                if (dtok) dtok[(long)ids[n] * C + c] += d;
                if (dpos) dpos[(long)(n % T) * C + c] += d;
            }
}

Tensor *op_embedding(Tape *tp, Tensor *tok, Tensor *pos, const int *ids,
                     int B, int T)
{
    int C = cols(tok), V = rows(tok);
    CHECK(cols(pos) == C && rows(pos) >= T,
          "embedding: tok %s and T = %d need pos of shape (%d or more,%d), "
          "got %s", shape_text(tok->shape), T, T, C, shape_text(pos->shape));
    for (int n = 0; n < B * T; n++)
        CHECK(ids[n] >= 0 && ids[n] < V, "embedding: tok %s needs ids from 0 "
              "to %d, got %d", shape_text(tok->shape), V - 1, ids[n]);
    Tensor *y = tape_tensor(tp, (Shape){3, {B, T, C}});
    Saved *s = tape_alloc(tp, sizeof *s);
    s->ids = ids;
    #pragma omp parallel for
    for (int n = 0; n < B * T; n++) {
        const real *a = tok->data + (long)ids[n] * C;
        const real *p = pos->data + (long)(n % T) * C;
        for (int c = 0; c < C; c++) y->data[(long)n * C + c] = a[c] + p[c];
    }
    return tape_record(tp, (Node){"embedding", backward, {tok, pos}, y,
                                  .saved = s});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    int B = call->dim['B' - 'A'], T = call->dim['T' - 'A'];
    return op_embedding(tp, in[0], in[1], call->ids, B, T);
}

const OpSpec op_embedding_spec = {
    .name = "embedding", .in = {"V,C", "T,C"}, .out = "B,T,C", .run = run,
    .golden = {"B=2,T=2,V=3,C=2",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83},
               {-0.70, 1.78, 0.25, -1.28}},
        .ids = {2, 0, 1, 2},
        .out = {-2.34, 2.61,
                 0.72, -2.34,
                 0.72, 1.67,
                 -1.39, -0.45},
        .source = "PyTorch, double: tests/golden.py"},
    .ids = "B,T", .below = 'V',
    .refuse = {{"65,64", "8,32"}},
};
