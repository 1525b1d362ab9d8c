/* attention, H heads of D channels                 qkv: (B,T,3HD)
 *   s_tj = q_t . k_j / sqrt(D)     j <= t when causal, else all j
 *   p_t = softmax_j s_t     y_t = sum_j p_tj v_j           y: (B,T,HD)
 *   dv_j += sum_t p_tj dy_t     dp_tj = dy_t . v_j
 *   ds_tj = p_tj (dp_tj - sum_i p_ti dp_ti) / sqrt(D)
 *   dq_t += sum_j ds_tj k_j     dk_j += sum_t ds_tj q_t
 * Saves p (B,H,T,P), P being T rounded up to whole lanes. attend.h is one
 * head. With a past, token t is the one after n others, whose keys and values
 * are kept: s, p have n + T columns. */
#include <string.h>
#include "attend.h"
#include "die.h"
#include "spec.h"

/* head: number 0, of sequence 0; ds: scratch of the backward pass, for each of
 * `threads` */
typedef struct { Head head; int H, threads; real *ds; } Saved;

/* Head i of B*H. stride: reals between the keys of one sequence and those of
 * the next. */
static Head head_of(const Saved *s, int i, long stride)
{
    Head h = s->head;
    long b = i / s->H, c = i % s->H * h.D;
    h.q += b * h.T * h.ldq + c;
    h.k += b * stride + c;
    h.v += b * stride + c;
    h.y += b * h.T * h.ldy + c;
    h.p += (long)i * h.T * h.P;
    return h;
}

static void backward(const Node *nd)
{
    const Saved *s = nd->saved;
    const Tensor *x = nd->in[0];
    int B = x->shape.dim[0], C = cols(nd->out);
    CHECK(thread_count() <= s->threads, "attention: %d threads backward must "
          "not be more than forward, %d", thread_count(), s->threads);
    #pragma omp parallel for
    for (int i = 0; i < B * s->H; i++) {
        Head h = head_of(s, i, (long)s->head.T * 3 * C);
        real *dq = x->grad + (h.q - x->data);   /* it lies as the data does */
        attend_backward(&h, nd->out->grad + (h.y - nd->out->data), dq, dq + C,
                        dq + 2 * C, s->ds + (long)thread_index() * ATTEND_ROWS
                                            * h.P);
    }
}

static Saved *forward(Tape *tp, const Tensor *qkv, int H, Head head,
                      long stride)
{
    int B = qkv->shape.dim[0];
    Saved *s = tape_alloc(tp, sizeof *s);
    head.P = whole_lanes(head.n + head.T);
    head.scale = 1 / sqrt((real)head.D);
    head.p = tape_alloc(tp, sizeof(real) * (size_t)head.P
                            * (size_t)(B * H * head.T));
    *s = (Saved){head, H, thread_count(), NULL};
    #pragma omp parallel for
    for (int i = 0; i < B * H; i++) {
        Head h = head_of(s, i, stride);
        attend(&h);
    }
    return s;
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
    Head h = {.T = T, .D = C / H, .causal = causal, .y = y->data, .ldy = C,
              .q = qkv->data, .k = qkv->data + C, .v = qkv->data + 2 * C,
              .ldq = 3 * C, .ldk = 3 * C};
    Saved *s = forward(tp, qkv, H, h, (long)T * 3 * C);
    s->ds = tape_alloc(tp, sizeof(real) * (size_t)s->head.P
                           * (size_t)(s->threads * ATTEND_ROWS));
    double pairs = causal ? 0.5 * T * (T + 1) : (double)T * T;
    return tape_record(tp, (Node){"attention", backward, {qkv}, y, .saved = s,
                                  .flops = 4.0 * B * C * pairs});
}

/* k and v of each new token behind those that are kept: a row of kv is both,
 * as they stand in qkv. */
static void keep(const Tensor *qkv, Past past)
{
    int B = qkv->shape.dim[0], T = qkv->shape.dim[1], W = cols(past.kv);
    int room = past.kv->shape.dim[1];
    for (int b = 0; b < B; b++)
        for (int t = 0; t < T; t++)
            memcpy(past.kv->data + ((long)b * room + past.n + t) * W,
                   qkv->data + ((long)b * T + t) * cols(qkv) + W / 2,
                   sizeof(real) * (size_t)W);
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
    keep(qkv, past);
    Tensor *y = tape_tensor(tp, (Shape){3, {B, T, C}});
    Head h = {.T = T, .n = n, .D = C / H, .causal = causal, .y = y->data,
              .ldy = C, .q = qkv->data, .k = past.kv->data,
              .v = past.kv->data + C, .ldq = 3 * C, .ldk = 2 * C};
    forward(tp, qkv, H, h, (long)room * 2 * C);
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
