/* cross_entropy of the softmax, in nats            x: (N,V)  ids: N  y: (1)
 *   p_nv = exp(x_nv - m_n) / z_n     m_n = max_v x_nv
 *   z_n = sum_v exp(x_nv - m_n)
 *   y = mean_n (log z_n + m_n - x_n,id(n))
 *   dx_nv += dy/N (p_nv - [v = id(n)])
 * Saves exp(x - m), 1/z of each row, and the ids. */
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { const int *ids; real *e, *rz; } Saved;

static void backward(const Node *nd)
{
    const Tensor *x = nd->in[0];
    const Saved *s = nd->saved;
    int N = rows(x), V = cols(x);
    real dy = nd->out->grad[0] / (real)N;
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *en = s->e + (long)n * V;
        real *dxn = x->grad + (long)n * V, c = dy * s->rz[n];
        for (int v = 0; v < V; v++) dxn[v] += c * en[v];
        dxn[s->ids[n]] -= dy;
    }
}

Tensor *op_cross_entropy(Tape *tp, Tensor *x, const int *ids)
{
    int N = rows(x), V = cols(x);
    size_t row = (size_t)N * sizeof(real);
    for (int n = 0; n < N; n++)
        CHECK(ids[n] >= 0 && ids[n] < V, "cross_entropy: x %s needs ids from "
              "0 to %d, got %d", shape_text(x->shape), V - 1, ids[n]);
    Tensor *y = tape_tensor(tp, (Shape){1, {1}});
    Saved *s = tape_alloc(tp, sizeof *s);
    *s = (Saved){ids, tape_alloc(tp, row * (size_t)V), tape_alloc(tp, row)};
    real *loss = tape_alloc(tp, row);
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *xn = x->data + (long)n * V, m = row_max(V, xn);
        real z = exp_row(V, xn, 1, m, s->e + (long)n * V);
        s->rz[n] = 1 / z;
        loss[n] = klog(z) + (m - xn[ids[n]]);
    }
    y->data[0] = sum(N, loss) / (real)N;
    return tape_record(tp, (Node){"cross_entropy", backward, {x}, y,
                                  .saved = s});
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    return op_cross_entropy(tp, in[0], call->ids);
}

const OpSpec op_cross_entropy_spec = {
    .name = "cross_entropy", .in = {"N,V"}, .out = "1", .run = run,
    .golden = {"N=3,V=4",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.70, 1.78,
                 0.25, -1.28, 1.19, -0.33}},
        .ids = {2, 0, 3},
        .out = {2.13253521553246},
        .source = "PyTorch, double: tests/golden.py"},
    .ids = "N", .below = 'V',
};
