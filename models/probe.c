#include <stddef.h>
#include <string.h>
#include "kernels.h"
#include "probe.h"

/* -- measures ----------------------------------------------------------- */

static double mean_square(long n, const real *x)
{
    double total = 0;
    for (long k = 0; k < n; k++) total += (double)x[k] * (double)x[k];
    return total / (double)n;
}

double frobenius(long n, const real *x)
{
    return sqrt((double)n * mean_square(n, x));
}

static double norm_of(const Tensor *t) { return frobenius(size(t), t->data); }
static double grad_of(const Tensor *t) { return frobenius(size(t), t->grad); }

/* Of unit vectors u_t:  |sum_t u_t|^2 = T + sum of the T (T-1) cosines. */
double token_cosine(Arena *scratch, const Tensor *x)
{
    int B = x->shape.dim[0], T = x->shape.dim[1], d = cols(x);
    size_t bytes = (size_t)d * sizeof(double);
    double total = 0, *along = arena_alloc(scratch, bytes);
    for (int b = 0; b < B; b++) {
        double square = 0;
        memset(along, 0, bytes);
        for (int t = 0; t < T; t++) {
            const real *xt = x->data + (long)(b * T + t) * d;
            double length = frobenius(d, xt);
            for (int c = 0; c < d && length > 0; c++)
                along[c] += (double)xt[c] / length;
        }
        for (int c = 0; c < d; c++) square += along[c] * along[c];
        total += T > 1 ? (square - T) / ((double)T * (T - 1)) : NAN;
    }
    return total / B;
}

/* -- what is seen on the way back --------------------------------------- */

/* What enters the norm, token by token; and what the norm alone does to the
 * gradient: its backward function once more, on copies of its tensors. */
static void see_norm(Probe *p, ProbeRow *r, const Node *nd)
{
    Tensor x = *nd->in[0], g = *nd->in[1], b = {0};
    int N = rows(&x), C = cols(&x);
    size_t bytes = (size_t)N * (size_t)C * sizeof(real);
    Node alone = *nd;
    if (nd->in[2]) b = *nd->in[2], b.grad = NULL, alone.in[2] = &b;
    g.grad = NULL, x.fresh = false;
    if (!p->dx) p->dx = tape_alloc(p->tape, bytes);
    x.grad = memset(p->dx, 0, bytes);
    alone.in[0] = &x, alone.in[1] = &g;
    nd->backward(&alone);
    r->gain_norm = grad_of(&x) / grad_of(nd->out);

    r->sigma = r->scale = 0;
    for (int n = 0; n < N; n++) {
        const real *xn = x.data + (long)n * C;
        real mu = nd->in[2] ? sum(C, xn) / (real)C : 0;
        double var = (double)(sum_sq_dev(C, xn, mu) / (real)C);
        r->sigma += sqrt(var) / N;
        r->scale += 1 / sqrt(var + (double)norm_eps) / N;
    }
}

/* The rows of the attention's p, computed again. */
static void see_attention(Probe *p, ProbeRow *r, const Sublayer *f,
                          const Tensor *qkv)
{
    int T = qkv->shape.dim[1], C = cols(qkv) / 3, D = C / f->heads;
    real c = 1 / sqrt((real)D);
    real *s = tape_alloc(p->tape, (size_t)T * sizeof *s);
    r->entropy = 0, r->logit = -INFINITY;
    for (int h = 0; h < f->heads; h++)
        for (int t = 0; t < T; t++) {
            const real *q = qkv->data + (long)t * 3 * C + h * D;
            int J = f->unmasked ? T : t + 1;
            for (int j = 0; j < J; j++)
                s[j] = c * dot(D, q, qkv->data + (long)j * 3 * C + C + h * D);
            real m = row_max(J, s), z = exp_row(J, s, 1, m, s);
            if ((double)m > r->logit) r->logit = (double)m;
            for (int j = 0; j < J; j++)     /* -sum p ln p, p = s / z */
                if (s[j] > 0) r->entropy -= (double)(s[j] / z * klog(s[j] / z));
        }
    r->entropy /= f->heads * T;
}

static void see_stream(Probe *p, const Tensor *x)
{
    ProbeRow *r = &p->row[p->at];
    r->stream = sqrt(mean_square(size(x), x->data));
    r->cosine = token_cosine(&p->tape->arena, x);
    r->grad = grad_of(x);
    r->gain_add = r->grad / r->gain_add;    /* until now it held |d (x+F)| */
    if (p->at < p->n) r->gain = r->grad / r[1].grad;
    p->at--;
}

static void see(void *probe, const Node *nd)
{
    Probe *p = probe;
    if (p->at >= 0 && nd->out == p->m->stream[p->at]) see_stream(p, nd->out);
    if (p->at < 0 || p->at == p->n) return;
    const Sublayer *f = &p->m->branch[p->at];
    ProbeRow *r = &p->row[p->at];
    if (f->norm.g && nd->in[1] == f->norm.g) see_norm(p, r, nd);
    if (!strcmp(nd->op, "attention")) see_attention(p, r, f, nd->in[0]);
    if (!strcmp(nd->op, "add")) {
        r->branch = norm_of(nd->in[1]) / norm_of(nd->in[0]);
        r->gain_add = grad_of(nd->out);
    }
}

/* -- one step ----------------------------------------------------------- */

Probe *probe_new(Arena *a, const GPT *m)
{
    Probe *p = arena_alloc(a, sizeof *p);
    long weights = 0;
    *p = (Probe){.m = m, .n = 2 * m->config.layers};
    for (int i = 0; i < p->n; i++) weights += size(m->branch[i].out.W);
    p->row = arena_alloc(a, (size_t)(p->n + 1) * sizeof *p->row);
    p->before = arena_alloc(a, (size_t)weights * sizeof *p->before);
    return p;
}

void probe_watch(Probe *p, Tape *tp)
{
    for (int i = 0; i <= p->n; i++)
        for (const ProbeColumn *c = probe_columns; c->name; c++)
            memcpy((char *)&p->row[i] + c->offset, &(double){NAN},
                   sizeof(double));
    p->at = p->n;
    p->tape = tp;
    p->dx = NULL;
    tp->watch = see, tp->watcher = p;
}

void probe_weights(Probe *p)
{
    real *before = p->before;
    if (p->at == 0) see_stream(p, p->m->stream[0]);     /* of no op */
    for (int i = 0; i < p->n; i++) {
        const Sublayer *f = &p->m->branch[i];
        long n = size(f->out.W);
        p->row[i].grad_out = grad_of(f->out.W);
        p->row[i].grad_in = grad_of(f->in.W);
        memcpy(before, f->out.W->data, (size_t)n * sizeof *before);
        before += n;
    }
    p->tape->watch = NULL;
}

void probe_update(Probe *p)
{
    real *before = p->before;
    for (int i = 0; i < p->n; i++) {
        const Tensor *W = p->m->branch[i].out.W;
        long n = size(W);
        double size_before = frobenius(n, before);
        for (long k = 0; k < n; k++) before[k] = W->data[k] - before[k];
        p->row[i].update = frobenius(n, before) / size_before;
        before += n;
    }
}

/* -- out ---------------------------------------------------------------- */

#define COLUMN(name, about) {#name, about, offsetof(ProbeRow, name)}
const ProbeColumn probe_columns[] = {
    COLUMN(stream, "RMS of the stream x that a sublayer finds"),
    COLUMN(branch, "size of the branch over what it is added to"),
    COLUMN(cosine, "between tokens of a sequence in x; 1: collapsed"),
    COLUMN(grad, "norm of the gradient with respect to x"),
    COLUMN(gain, "gradient at x over gradient at the next sublayer's x"),
    COLUMN(gain_add, "gradient at x over gradient at x + F"),
    COLUMN(gain_norm, "gradient below the norm over gradient above it"),
    COLUMN(sigma, "mean standard deviation of what enters the norm"),
    COLUMN(scale, "mean 1/sqrt(sigma^2 + eps), the norm's factor"),
    COLUMN(grad_out, "gradient of the output projection, W_O or W_2"),
    COLUMN(grad_in, "gradient of the first matrix, W_QKV or W_1"),
    COLUMN(entropy, "of the attention, nats"),
    COLUMN(logit, "the attention's largest"),
    COLUMN(update, "of W_O or W_2, over its size"),
    {0}
};

double probe_value(const ProbeRow *row, const ProbeColumn *column)
{
    double x;
    memcpy(&x, (const char *)row + column->offset, sizeof x);
    return x;
}

void probe_json(FILE *f, const Probe *p)
{
    for (const ProbeColumn *c = probe_columns; c->name; c++) {
        fprintf(f, "%s\"%s\":[", c == probe_columns ? "{" : "],", c->name);
        bool end = !isnan(probe_value(&p->row[p->n], c));
        for (int i = 0; i < p->n + end; i++) {
            double x = probe_value(&p->row[i], c);
            if (i) fputc(',', f);
            if (isfinite(x)) fprintf(f, "%.9g", x);
            else fputs("null", f);
        }
    }
    fputs("]}", f);
}
