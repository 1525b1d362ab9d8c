/* qk_norm, H heads of D channels (Henry et al. 2020)   x, y: (..,3HD)
 * Every head's query and key to an RMS of 1, times a gain   gq, gk: (D)
 *   r = 1 / sqrt(mean_d q^2 + eps)     qhat = q r
 *   y = gq qhat     likewise k with gk;  v stays as it is
 *   dgq += sum dy qhat     dqhat = gq dy
 *   dq += r (dqhat - qhat mean_d(dqhat qhat))
 * Saves r (N,2,H). So no logit of the attention exceeds sqrt(D) |gq| |gk|. */
#include <string.h>
#include "die.h"
#include "kernels.h"
#include "spec.h"

typedef struct { int H, D; real *r; } Saved;

/* Head j of the 2H of a row: H queries, then H keys. */
static void backward_heads(const Node *nd, const Saved *s, long n)
{
    int D = s->D, W = cols(nd->out), QK = 2 * s->H * D;
    const real *x = nd->in[0]->data + n * W, *dy = nd->out->grad + n * W;
    real *dx = nd->in[0]->grad + n * W;
    for (int j = 0; j < 2 * s->H; j++) {
        const real *g = nd->in[j < s->H ? 1 : 2]->data;
        real r = s->r[n * 2 * s->H + j];
        int at = j * D;
        real along = r * dot_dev(D, g, dy + at, x + at, 0) / (real)D;
        for (int d = 0; d < D; d++)
            dx[at + d] += r * (g[d] * dy[at + d] - x[at + d] * r * along);
    }
    for (int c = QK; c < W; c++) dx[c] += dy[c];
}

/* Each gain a chain over rows and heads. */
static void backward_gain(const Node *nd, const Saved *s, int which, real *dg)
{
    int W = cols(nd->out), N = rows(nd->out), H = s->H;
    #pragma omp parallel for
    for (int d = 0; d < s->D; d++)
        for (long n = 0; n < N; n++)
            for (int h = which * H; h < (which + 1) * H; h++) {
                long i = n * W + h * s->D + d;
                dg[d] += nd->out->grad[i] * nd->in[0]->data[i]
                       * s->r[n * 2 * H + h];
            }
}

static void backward(const Node *nd)
{
    const Saved *s = nd->saved;
    int N = rows(nd->out);
    #pragma omp parallel for
    for (int n = 0; n < N; n++)
        if (nd->in[0]->grad) backward_heads(nd, s, n);
    for (int i = 0; i < 2; i++)
        if (nd->in[1 + i]->grad) backward_gain(nd, s, i, nd->in[1 + i]->grad);
}

Tensor *op_qk_norm(Tape *tp, Tensor *x, Tensor *gq, Tensor *gk, int H,
                   real eps)
{
    int W = cols(x), D = H >= 1 ? W / (3 * H) : 0, N = rows(x);
    Shape head = {1, {D}};
    CHECK(D >= 1 && W == 3 * H * D && shape_equal(gq->shape, head)
          && shape_equal(gk->shape, head), "qk_norm: %d heads of x %s need "
          "3 %d D channels and gains of shape (D), got %s and %s", H,
          shape_text(x->shape), H, shape_text(gq->shape),
          shape_text(gk->shape));
    Tensor *y = tape_tensor(tp, x->shape);
    Saved *s = tape_alloc(tp, sizeof *s);
    *s = (Saved){H, D, tape_alloc(tp, sizeof(real) * (size_t)(2 * N * H))};
    #pragma omp parallel for
    for (int n = 0; n < N; n++) {
        const real *xn = x->data + (long)n * W;
        real *yn = y->data + (long)n * W;
        memcpy(yn, xn, (size_t)W * sizeof *yn);
        for (int j = 0; j < 2 * H; j++) {
            const real *g = j < H ? gq->data : gk->data, *q = xn + j * D;
            real r = 1 / sqrt(dot(D, q, q) / (real)D + eps);
            s->r[(long)n * 2 * H + j] = r;
            for (int d = 0; d < D; d++) yn[j * D + d] = g[d] * (q[d] * r);
        }
    }
    return tape_record(tp, (Node){"qk_norm", backward, {x, gq, gk}, y,
                                  .saved = s});
}

/* eps is large here, as in layernorm. */
static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    return op_qk_norm(tp, in[0], in[1], in[2], call->dim['H' - 'A'],
                      (real)0.1);
}

const OpSpec op_qk_norm_spec = {
    .name = "qk_norm", .in = {"N,3HD", "D", "D"}, .out = "N,3HD", .run = run,
    .golden = {"N=1,H=2,D=2",
        .in = {{3, 4, 0, 0, 1, 1, 0, 2, 7, -8, 9, 1}, {1, 2}, {1, -1}},
        .out = {0.8451542547285166, 2.2537446792760443, 0, 0,
                0.9534625892455922, -0.9534625892455922, 0,
                -1.3801311186847085, 7, -8, 9, 1},
        .source = "by hand: 3/sqrt(12.6), 8/sqrt(12.6), 1/sqrt(1.1), "
                  "2/sqrt(2.1)"},
    .refuse = {{"4,64", "4", "4"}, {"4,96", "8", "8"}},
};
