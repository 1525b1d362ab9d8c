/* attention, H heads of D channels                 qkv: (B,T,3HD)
 *   s_tj = q_t . k_j / sqrt(D)     j <= t when causal, else all j
 *   p_t = softmax_j s_t     y_t = sum_j p_tj v_j           y: (B,T,HD)
 *   dv_j += sum_t p_tj dy_t     dp_tj = dy_t . v_j
 *   ds_tj = p_tj (dp_tj - sum_i p_ti dp_ti) / sqrt(D)
 *   dq_t += sum_j ds_tj k_j     dk_j += sum_t ds_tj q_t
 * Saves p (B,H,T,P), P being T rounded up to whole lanes: loops over its rows
 * have no remainder, and what is masked or too much is p = exp(-inf) = 0.
 * ROWS tokens t are taken at a time, and need keys only up to the last of
 * them: of the half above the diagonal little is computed.
 * With a past, token t is the one after n others, whose keys and values are
 * kept: s, p have n + T columns. The bits are those of a call with all n + T
 * tokens: what is masked there and left out here adds exactly 0. */
#include <string.h>
#include "die.h"
#include "kernels.h"
#include "spec.h"

enum { ROWS = 32 };

/* n: tokens before the T, of which there is only the past.
 * ds: scratch of the backward pass, ROWS rows for each of `threads` */
typedef struct {
    int T, n, P, H, D, threads;
    bool causal;
    real scale, *p, *ds;
} Saved;

/* Where keys are: k_0 of the first head of the first sequence. They are ld
 * apart, sequences `next`; the values are H D behind the keys. */
typedef struct { const real *k; int ld; long next; } Keys;

static int keys(const Saved *s, int t)
{
    return s->n + (s->causal ? t + 1 : s->T);
}

/* Rows t0 .. t0+R-1 of one head; q, y at token 0, p (T,P) of this head */
static void forward_rows(const Saved *s, const real *q, Keys x, real *p,
                         real *y, int t0)
{
    int T = s->T, D = s->D, C = s->H * D, R = least(ROWS, T - t0);
    int J = keys(s, t0 + R - 1), W = whole_lanes(J);
    Matrix Q = {q + (long)t0 * 3 * C, 3 * C, false};
    Matrix K = {x.k, x.ld, true}, V = {x.k + C, x.ld, false};
    p += (long)t0 * s->P;
    gemm(R, J, D, Q, K, NULL, 0, p, s->P);
    real m[ROWS], z[ROWS];
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * s->P;
        for (int j = keys(s, t0 + t); j < W; j++) pt[j] = -INFINITY;
        m[t] = row_max(W, pt);
    }
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * s->P;
        z[t] = exp_row(W, pt, s->scale, m[t], pt);
    }
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * s->P, r = 1 / z[t];
        for (int j = 0; j < W; j++) pt[j] *= r;
    }
    gemm(R, D, J, (Matrix){p, s->P, false}, V, NULL, 0, y + (long)t0 * C, C);
}

/* s with p and y filled in: the attention of T tokens to n + T keys */
static Saved *forward(Tape *tp, const Tensor *qkv, Saved shape, Keys x,
                      real *y)
{
    Saved *s = tape_alloc(tp, sizeof *s);
    int B = qkv->shape.dim[0], T = shape.T, H = shape.H, C = H * shape.D;
    *s = shape;
    s->P = whole_lanes(s->n + T);
    s->scale = 1 / sqrt((real)s->D);
    s->p = tape_alloc(tp, sizeof(real) * (size_t)s->P * (size_t)(B * H * T));
    #pragma omp parallel for
    for (int bh = 0; bh < B * H; bh++) {
        int b = bh / H, c = bh % H * s->D;
        Keys head = {x.k + b * x.next + c, x.ld, 0};
        for (int t0 = 0; t0 < T; t0 += ROWS)
            forward_rows(s, qkv->data + (long)b * T * 3 * C + c, head,
                         s->p + (long)bh * T * s->P,
                         y + (long)b * T * C + c, t0);
    }
    return s;
}

static void backward_rows(const Saved *s, const real *q, const real *p,
                          const real *dy, real *dq, int t0)
{
    int T = s->T, D = s->D, C = s->H * D, R = least(ROWS, T - t0), ld = 3 * C;
    int J = keys(s, t0 + R - 1), W = whole_lanes(J), P = s->P;
    real *ds = s->ds + (long)thread_index() * ROWS * P;
    real *dk = dq + C, *dv = dk + C;
    Matrix Q = {q + (long)t0 * ld, ld, false};
    Matrix dY = {dy + (long)t0 * C, C, false};
    Matrix K = {q + C, ld, false}, V = {q + 2 * C, ld, true};
    p += (long)t0 * P, dq += (long)t0 * ld;
    gemm(J, D, R, (Matrix){p, P, true}, dY, dv, ld, dv, ld);
    gemm(R, J, D, dY, V, NULL, 0, ds, P);
    for (int t = 0; t < R; t++) {
        const real *pt = p + (long)t * P;
        real *dst = ds + (long)t * P;
        for (int j = J; j < W; j++) dst[j] = 0;
        real mean = dot(W, pt, dst);
        for (int j = 0; j < W; j++)
            dst[j] = pt[j] * (dst[j] - mean) * s->scale;
    }
    gemm(R, D, J, (Matrix){ds, P, false}, K, dq, ld, dq, ld);
    gemm(J, D, R, (Matrix){ds, P, true}, Q, dk, ld, dk, ld);
}

static void backward(const Node *nd)
{
    const Saved *s = nd->saved;
    const Tensor *x = nd->in[0];
    int B = x->shape.dim[0], T = s->T, C = s->H * s->D;
    CHECK(thread_count() <= s->threads, "attention: %d threads backward must "
          "not be more than forward, %d", thread_count(), s->threads);
    #pragma omp parallel for
    for (int bh = 0; bh < B * s->H; bh++) {
        int b = bh / s->H, c = bh % s->H * s->D;
        long i = (long)b * T * 3 * C + c;
        for (int t0 = 0; t0 < T; t0 += ROWS)
            backward_rows(s, x->data + i, s->p + (long)bh * T * s->P,
                          nd->out->grad + (long)b * T * C + c, x->grad + i,
                          t0);
    }
}

static void check(const Tensor *qkv, int H)
{
    CHECK(qkv->shape.ndim == 3 && H >= 1 && cols(qkv) % (3 * H) == 0,
          "attention: %d heads need qkv of shape (B,T,%d*D), got %s",
          H, 3 * H, shape_text(qkv->shape));
}

Tensor *op_attention(Tape *tp, Tensor *qkv, int H, bool causal)
{
    check(qkv, H);
    int C = cols(qkv) / 3, B = qkv->shape.dim[0], T = qkv->shape.dim[1];
    Tensor *y = tape_tensor(tp, (Shape){3, {B, T, C}});
    Saved *s = forward(tp, qkv, (Saved){.T = T, .H = H, .D = C / H,
                                        .causal = causal},
                       (Keys){qkv->data + C, 3 * C, (long)T * 3 * C}, y->data);
    s->threads = thread_count();
    s->ds = tape_alloc(tp, sizeof(real) * (size_t)s->P
                           * (size_t)(s->threads * ROWS));
    double pairs = causal ? 0.5 * T * (T + 1) : (double)T * T;
    return tape_record(tp, (Node){"attention", backward, {qkv}, y, .saved = s,
                                  .flops = 4.0 * B * C * pairs});
}

Tensor *op_attention_past(Tape *tp, Tensor *qkv, int H, bool causal,
                          Past past)
{
    check(qkv, H);
    int C = cols(qkv) / 3, B = qkv->shape.dim[0], T = qkv->shape.dim[1];
    int n = past.n, room = past.kv->shape.dim[1];
    Shape want = {3, {B, room, 2 * C}};
    CHECK(shape_equal(past.kv->shape, want) && n >= 0 && n + T <= room,
          "attention: qkv %s after %d tokens needs a past of shape "
          "(%d,%d or more,%d), got %s", shape_text(qkv->shape), n, B, n + T,
          2 * C, shape_text(past.kv->shape));
    CHECK(!tp->recording && (causal || n == 0), "attention: with a past the "
          "tape does not record, and no token sees what comes after it");
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            memcpy(past.kv->data + ((long)b * room + n + t) * 2 * C,
                   qkv->data + ((long)b * T + t) * 3 * C + C,
                   sizeof(real) * (size_t)(2 * C));
    Tensor *y = tape_tensor(tp, (Shape){3, {B, T, C}});
    forward(tp, qkv, (Saved){.T = T, .n = n, .H = H, .D = C / H,
                             .causal = causal},
            (Keys){past.kv->data, 2 * C, (long)room * 2 * C}, y->data);
    return y;
}

static Tensor *run(Tape *tp, Tensor **in, const Call *call)
{
    return op_attention(tp, in[0], call->dim['H' - 'A'], true);
}

const OpSpec op_attention_spec = {
    .name = "attention", .in = {"B,T,3HD"}, .out = "B,T,HD", .run = run,
    .golden = {"B=1,T=2,H=2,D=2",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.70, 1.78,
                 0.25, -1.28, 1.19, -0.33, -1.86, 0.61, -0.92, 1.55,
                 0.03, -1.50, 0.97, -0.56, 1.91, 0.39, -1.14, 1.33}},
        .out = {0.25, -1.28, 1.19, -0.33,
                 0.31492608094589, -1.21468279808456,
                 1.13103662345904, -0.28799175748584},
        .source = "PyTorch, double: tests/golden.py"},
    .refuse = {{"4,64"}, {"2,4,64"}},
};
