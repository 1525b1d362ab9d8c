/* The probe: that looking changes nothing, and each number that it shows
 * against another way to the same number. */
#include <stddef.h>
#include <string.h>
#include "json.h"
#include "optim.h"
#include "probe.h"
#include "test.h"

/* How far two ways to one number may be apart, relative. */
#ifdef REAL_DOUBLE
static const double NEAR = 1e-11;
#else
static const double NEAR = 2e-4;
#endif

enum { MAX_TOKENS = 64, MAX_ROWS = 97 };
typedef struct {
    GPT m;
    const char *placement;
    int B, T, ids[MAX_TOKENS], targets[MAX_TOKENS];
} Run;

static const GPTConfig SMALL = {.layers = 2, .width = 8, .heads = 2,
                                .context = 6, .vocab = 7, .seed = 1};

static void run_new(Run *r, GPTConfig c)
{
    Rng draw = rng_new(5, RNG_TEST, 0);
    r->B = 2, r->T = c.context;
    for (int i = 0; i < r->B * r->T; i++) {
        r->ids[i] = (int)rng_below(&draw, (uint32_t)c.vocab);
        r->targets[i] = (int)rng_below(&draw, (uint32_t)c.vocab);
    }
    r->placement = placements[c.placement].name;
    gpt_new(&r->m, c);
}

static void run_free(Run *r) { gpt_free(&r->m); }

/* Gains away from 1, biases and gates away from 0. */
static void shake(GPT *m)
{
    Rng draw = rng_new(6, RNG_TEST, 0);
    for (int i = 0; i < m->nparam; i++)
        for (long k = 0; k < size(m->param[i].t); k++)
            m->param[i].t->data[k] += (real).1 * rng_normal(&draw);
}

static bool is(const Run *r, const char *placement)
{
    return !strcmp(r->placement, placement);
}

static int placement_named(const char *name)
{
    int p = 0;
    while (strcmp(placements[p].name, name)) p++;
    return p;
}

static Rng noise(void) { return rng_new(1, RNG_DROPOUT, 1); }

static Tensor *loss(Tape *tp, const Run *r)
{
    tp->noise = noise();
    return gpt_loss(tp, &r->m, r->ids, r->targets, r->B, r->T);
}

static double length(long n, const real *x)
{
    double square = 0;
    for (long k = 0; k < n; k++) square += (double)x[k] * (double)x[k];
    return sqrt(square);
}

static bool near(double got, double want)
{
    if (isnan(want)) return isnan(got);
    return got == want || fabs(got - want) <= NEAR * (fabs(want) + 1e-3);
}

/* ------------------------------------------------------------------------
 * Looking changes no bit */

/* FNV-1a over all gradients or all weights. */
static uint64_t hash(const GPT *m, bool gradients)
{
    uint64_t h = 14695981039346656037u;
    for (int i = 0; i < m->nparam; i++) {
        const Tensor *t = m->param[i].t;
        const unsigned char *p = (const void *)(gradients ? t->grad : t->data);
        for (size_t k = 0; k < (size_t)size(t) * sizeof(real); k++)
            h = (h ^ p[k]) * 1099511628211u;
    }
    return h;
}

static const OptimConfig ADAM = {.method = ADAMW, .beta1 = .9, .beta2 = .98,
                                 .eps = 1e-8, .weight_decay = .1};
enum { STEPS = 4 };
typedef struct { real loss; uint64_t gradients, weights; } Step;

/* looks: bit s is set if the probe watches step s. */
static void train(GPTConfig c, unsigned looks, Step *steps)
{
    Run r;
    Optim o;
    Tape tape = {.recording = true};
    run_new(&r, c);
    optim_new(&o, ADAM, r.m.param, r.m.nparam, &r.m.arena);
    Probe *p = probe_new(&r.m.arena, &r.m);
    for (int s = 0; s < STEPS; s++) {
        bool look = looks >> s & 1;
        Tensor *y = loss(&tape, &r);
        steps[s].loss = y->data[0];
        if (look) probe_watch(p, &tape);
        tape_backward(&tape, y, NULL);
        if (look) probe_weights(p);
        steps[s].gradients = hash(&r.m, true);
        optim_step(&o, (real)1e-2, clip_scale(1, grad_norm(&o)));
        if (look) probe_update(p);
        steps[s].weights = hash(&r.m, false);
        tape_reset(&tape);
    }
    arena_free(&tape.arena);
    run_free(&r);
}

static void same_training(GPTConfig c)
{
    Step blind[STEPS], seen[STEPS], now_and_then[STEPS];
    train(c, 0, blind);
    train(c, 15, seen);
    train(c, 5, now_and_then);
    for (int s = 0; s < STEPS; s++) {
        bool same = blind[s].loss == seen[s].loss
                 && blind[s].gradients == seen[s].gradients
                 && blind[s].weights == seen[s].weights
                 && blind[s].loss == now_and_then[s].loss
                 && blind[s].gradients == now_and_then[s].gradients
                 && blind[s].weights == now_and_then[s].weights;
        EXPECT(same, "%s, norm %d, qk_norm %d, %d layers: step %d is another "
               "when it is watched", placements[c.placement].name, c.norm,
               c.qk_norm, c.layers, s + 1);
    }
}

TEST(looking_changes_no_bit)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        for (int flags = 0; flags < 8; flags++) {
            c.norm = flags & 1 ? RMSNORM : LAYERNORM;
            c.qk_norm = c.tie = flags & 2;
            c.dropout = flags & 4 ? .1 : 0;
            same_training(c);
        }
    c = SMALL;
    c.layers = 48;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        same_training(c);
}

/* ------------------------------------------------------------------------
 * The path once more, written down part by part, so that any of its tensors
 * can be made a leaf: the gradient that it then gets is its own. */

enum Part { X, ENTERS, LEAVES, READS, BRANCH, SUM, PARTS };

typedef struct {
    const Run *r;
    Tape tape;
    int at, part;               /* which is a leaf; at < 0: none */
    Tensor *leaf, *loss;
    const Tensor *seen[MAX_ROWS][PARTS];
} Walk;

static Tensor *pass(Walk *w, int i, int part, Tensor *t)
{
    if (i == w->at && part == w->part) {
        w->leaf = tensor_param(&w->tape.arena, t->shape);
        memcpy(w->leaf->data, t->data, (size_t)size(t) * sizeof(real));
        t = w->leaf;
    }
    w->seen[i][part] = t;
    return t;
}

static Tensor *walk_norm(Walk *w, int i, Tensor *x)
{
    x = norm(&w->tape, pass(w, i, ENTERS, x), &w->r->m.branch[i].norm);
    return pass(w, i, LEAVES, x);
}

/* The equations at the top of models/placement.c. */
static Tensor *walk_sublayer(Walk *w, int i, Tensor *x)
{
    const Run *r = w->r;
    const Sublayer *f = &r->m.branch[i];
    Tape *tp = &w->tape;
    bool last = is(r, "post") || is(r, "deepnorm");
    int l = 1 + i / 2, L = r->m.config.layers;
    Tensor *base = x = pass(w, i, X, x), *F = x;
    if (is(r, "deepnorm"))
        base = op_scale(tp, x, sqrt(sqrt((real)(2 * L))));
    if (is(r, "pre") || is(r, "peri") || is(r, "lnscale"))
        F = walk_norm(w, i, x);
    if (is(r, "lnscale")) F = op_scale(tp, F, 1 / sqrt((real)l));
    F = apply(tp, f, pass(w, i, READS, F));
    if (is(r, "peri")) F = norm(tp, F, &f->out_norm);
    if (is(r, "rezero")) F = op_gate(tp, F, f->gate);
    Tensor *y = op_add(tp, base, pass(w, i, BRANCH, F));
    y = pass(w, i, SUM, y);
    return last ? walk_norm(w, i, y) : y;
}

/* From x at sublayer `from` to the loss; x NULL: from the ids. */
static void walk(Walk *w, Tensor *x, int from)
{
    const Run *r = w->r;
    Tape *tp = &w->tape;
    int n = 2 * r->m.config.layers;
    tp->noise = noise();
    if (!x) {
        x = op_embedding(tp, r->m.tok, r->m.pos, r->ids, r->B, r->T);
        x = op_dropout(tp, x, (real)r->m.config.dropout);
    }
    for (int i = from; i < n; i++) x = walk_sublayer(w, i, x);
    x = pass(w, n, X, x);
    if (r->m.last.g) x = norm(tp, x, &r->m.last);
    w->loss = op_cross_entropy(tp, op_unembed(tp, x, r->m.head), r->targets);
}

static void walk_free(Walk *w) { arena_free(&w->tape.arena); }

/* |d of this part|. Parameters get gradients too: theirs are not looked at
 * after this. */
static double gradient(const Run *r, int i, int part)
{
    Walk w = {.r = r, .tape.recording = true, .at = i, .part = part};
    walk(&w, NULL, 0);
    tape_backward(&w.tape, w.loss, NULL);
    double d = length(size(w.leaf), w.leaf->grad);
    walk_free(&w);
    return d;
}

static double mean_cosine(const Tensor *x)
{
    int B = x->shape.dim[0], T = x->shape.dim[1], d = cols(x);
    double total = 0;
    for (int b = 0; b < B; b++)
        for (int s = 0; s < T; s++)
            for (int t = 0; t < T; t++) {
                const real *u = x->data + (b * T + s) * d;
                const real *v = x->data + (b * T + t) * d;
                double along = 0;
                for (int c = 0; c < d; c++)
                    along += (double)u[c] * (double)v[c];
                if (s != t) total += along / length(d, u) / length(d, v);
            }
    return total / (B * T * (T - 1));
}

/* Of what enters N: standard deviation or RMS, and the factor. */
static void expect_norm(const Run *r, const Tensor *x, ProbeRow *want)
{
    int N = rows(x), d = cols(x);
    want->sigma = want->scale = 0;
    for (int n = 0; n < N; n++) {
        double mean = 0, square = 0;
        for (int c = 0; c < d; c++) {
            double v = (double)x->data[n * d + c];
            mean += v / d, square += v * v / d;
        }
        if (r->m.config.norm == RMSNORM) mean = 0;
        want->sigma += sqrt(square - mean * mean) / N;
        want->scale += 1 / sqrt(square - mean * mean + 1e-5) / N;
    }
}

/* Of the first sequence, from what the branch reads. */
static void expect_attention(const Run *r, const Sublayer *f, Tensor *x,
                             ProbeRow *want)
{
    Tape tape = {0};
    Tensor *qkv = op_linear(&tape, x, f->in.W, f->in.b);
    if (f->q.g) qkv = op_qk_norm(&tape, qkv, f->q.g, f->k.g, f->heads,
                                 norm_eps);
    int T = r->T, C = r->m.config.width, D = C / f->heads;
    want->entropy = 0, want->logit = -INFINITY;
    for (int h = 0; h < f->heads; h++)
        for (int t = 0; t < T; t++) {
            int J = r->m.config.unmasked ? T : t + 1;
            double s[MAX_TOKENS], z = 0;
            for (int j = 0; j < J; j++) {
                s[j] = 0;
                for (int c = h * D; c < h * D + D; c++)
                    s[j] += (double)qkv->data[t * 3 * C + c]
                          * (double)qkv->data[j * 3 * C + C + c];
                s[j] /= sqrt((double)D);
                z += exp(s[j]);
                want->logit = fmax(want->logit, s[j]);
            }
            for (int j = 0; j < J; j++)
                want->entropy -= exp(s[j]) / z * log(exp(s[j]) / z)
                               / (f->heads * T);
        }
    arena_free(&tape.arena);
}

/* What row i must hold, but for what comes from the parameters. */
static ProbeRow expected_row(const Run *r, const Walk *w, int i)
{
    ProbeRow want = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
                     NAN, NAN, NAN};
    const Tensor *x = w->seen[i][X], *F = w->seen[i][BRANCH];
    long n = size(x);
    int L = r->m.config.layers;
    want.stream = length(n, x->data) / sqrt((double)n);
    want.cosine = mean_cosine(x);
    want.grad = gradient(r, i, X);
    if (i == 2 * L) return want;
    double a = is(r, "deepnorm") ? pow(2. * L, .25) : 1;
    want.branch = length(n, F->data) / (a * length(n, x->data));
    want.gain = want.grad / gradient(r, i + 1, X);
    want.gain_add = want.grad / gradient(r, i, SUM);
    if (!is(r, "rezero")) {
        expect_norm(r, w->seen[i][ENTERS], &want);
        want.gain_norm = gradient(r, i, ENTERS) / gradient(r, i, LEAVES);
    }
    Tensor reads = *w->seen[i][READS];
    if (i % 2 == 0) expect_attention(r, &r->m.branch[i], &reads, &want);
    return want;
}

static void compare_row(const Run *r, int i, const ProbeRow *got,
                        const ProbeRow *want)
{
    for (const ProbeColumn *c = probe_columns; c->name; c++) {
        if (c->offset == offsetof(ProbeRow, grad_out)) continue;
        if (c->offset == offsetof(ProbeRow, grad_in)) continue;
        double a = probe_value(got, c), b = probe_value(want, c);
        EXPECT(near(a, b), "%s, %d layers, norm %d, row %d: %s is %.12g, "
               "expected %.12g", r->placement, r->m.config.layers,
               r->m.config.norm, i, c->name, a, b);
    }
}

/* The equation of models/probe.h. */
static void compare_factors(const Run *r, int i, const ProbeRow *got)
{
    bool last = is(r, "post") || is(r, "deepnorm");
    double product = got->gain_add * (last ? got->gain_norm : 1);
    EXPECT(near(got->gain, product), "%s, row %d: gain is %.12g, the product "
           "of its factors %.12g", r->placement, i, got->gain, product);
}

static void compare_weights(const Run *r, int i, const ProbeRow *got)
{
    const Tensor *out = r->m.branch[i].out.W, *in = r->m.branch[i].in.W;
    double a = length(size(out), out->grad), b = length(size(in), in->grad);
    EXPECT(near(got->grad_out, a), "%s, row %d: grad_out is %.12g, that of "
           "the parameter %.12g", r->placement, i, got->grad_out, a);
    EXPECT(near(got->grad_in, b), "%s, row %d: grad_in is %.12g, that of the "
           "parameter %.12g", r->placement, i, got->grad_in, b);
}

/* Every row, or each `stride`th and the last two. */
static void check_columns(GPTConfig c, bool shaken, int stride)
{
    Run r;
    Tape tape = {.recording = true};
    run_new(&r, c);
    if (shaken) shake(&r.m);
    Probe *p = probe_new(&r.m.arena, &r.m);
    Walk w = {.r = &r, .tape.recording = true, .at = -1};
    Tensor *y = loss(&tape, &r);
    walk(&w, NULL, 0);
    EXPECT(near((double)w.loss->data[0], (double)y->data[0]), "%s: this test "
           "computes another loss, %.9g, than the model, %.9g", r.placement,
           (double)w.loss->data[0], (double)y->data[0]);
    probe_watch(p, &tape);
    tape_backward(&tape, y, NULL);
    probe_weights(p);
    EXPECT(!tape.watch, "%s: the probe still watches", r.placement);
    for (int i = 0; i < p->n; i++) compare_weights(&r, i, &p->row[i]);
    for (int i = 0; i < p->n; i++) compare_factors(&r, i, &p->row[i]);
    for (int i = 0; i <= p->n; i++) {
        if (i % stride && i < p->n - 1) continue;
        ProbeRow want = expected_row(&r, &w, i);
        compare_row(&r, i, &p->row[i], &want);
    }
    walk_free(&w);
    arena_free(&tape.arena);
    run_free(&r);
}

TEST(every_column_by_another_way)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        for (int flags = 0; flags < 8; flags++) {
            c.norm = flags & 1 ? RMSNORM : LAYERNORM;
            c.qk_norm = c.relu = flags & 2;
            c.unmasked = c.tie = flags & 4;
            c.dropout = flags % 3 == 1 ? .2 : 0;
            check_columns(c, true, 1);
        }
}

TEST(forty_eight_layers)
{
    GPTConfig c = SMALL;
    c.layers = 48;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        check_columns(c, false, 19);
}

/* ------------------------------------------------------------------------
 * The gradient of the stream: that of a leaf, and central differences */

static double leaf_gradient(const Run *r, const Tensor *x0, Probe *p)
{
    Tape tape = {.recording = true};
    Tensor *leaf = tensor_param(&tape.arena, x0->shape);
    memcpy(leaf->data, x0->data, (size_t)size(x0) * sizeof(real));
    Tensor *x = gpt_layers(&tape, &r->m, leaf);
    if (r->m.last.g) x = norm(&tape, x, &r->m.last);
    x = op_cross_entropy(&tape, op_unembed(&tape, x, r->m.head), r->targets);
    probe_watch(p, &tape);
    tape_backward(&tape, x, NULL);
    probe_weights(p);
    double d = length(size(leaf), leaf->grad);
    arena_free(&tape.arena);
    return d;
}

/* A stream that begins as a leaf is seen as well as one that an op made. */
TEST(gradient_of_the_first_row_is_that_of_a_leaf)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        run_new(&r, c);
        shake(&r.m);
        Probe *p = probe_new(&r.m.arena, &r.m);
        Probe *q = probe_new(&r.m.arena, &r.m);
        Tensor *y = loss(&tape, &r);
        probe_watch(p, &tape);
        tape_backward(&tape, y, NULL);
        probe_weights(p);
        double want = leaf_gradient(&r, r.m.stream[0], q);
        EXPECT(near(p->row[0].grad, want), "%s: %.12g, that of a leaf %.12g",
               r.placement, p->row[0].grad, want);
        q->row[0].update = p->row[0].update;
        for (int i = 0; i <= p->n; i++) compare_row(&r, i, &q->row[i],
                                                    &p->row[i]);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

#ifdef REAL_DOUBLE
static double loss_at(const Run *r, const Tensor *x, int from)
{
    static Walk w;
    Tensor copy = *x;
    tape_reset(&w.tape);
    w.r = r, w.at = -1;
    walk(&w, &copy, from);
    return w.loss->data[0];
}

/* |d loss / d x_i|, Richardson's extrapolation of central differences. */
static double differences(const Run *r, Tensor *x, int i)
{
    double square = 0, h = 0x1p-9;
    for (long k = 0; k < size(x); k++) {
        double d[2], at = x->data[k];
        for (int half = 0; half < 2; half++) {
            double step = half ? h / 2 : h;
            x->data[k] = at + step;
            d[half] = loss_at(r, x, i);
            x->data[k] = at - step;
            d[half] = (d[half] - loss_at(r, x, i)) / (2 * step);
        }
        x->data[k] = at;
        double best = (4 * d[1] - d[0]) / 3;
        square += best * best;
    }
    return sqrt(square);
}

TEST(gradient_of_every_row_by_differences)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        run_new(&r, c);
        shake(&r.m);
        Probe *p = probe_new(&r.m.arena, &r.m);
        Tensor *y = loss(&tape, &r);
        probe_watch(p, &tape);
        tape_backward(&tape, y, NULL);
        for (int i = 0; i <= p->n; i++) {
            double want = differences(&r, r.m.stream[i], i);
            if (i == 0) probe_weights(p);
            EXPECT(fabs(p->row[i].grad - want) <= 1e-7 * want,
                   "%s, row %d: %.12g, differences %.12g", r.placement, i,
                   p->row[i].grad, want);
        }
        arena_free(&tape.arena);
        run_free(&r);
    }
}
#endif

/* ------------------------------------------------------------------------
 * Numbers that are known beforehand */

TEST(cosine_between_tokens)
{
    enum { T = 3, D = 4 };
    Arena arena = {0};
    Tensor *x = tensor_new(&arena, (Shape){3, {2, T, D}});
    for (int k = 0; k < 2 * T * D; k++)     /* one direction, any length */
        x->data[k] = (real)(1 + k / D) * (real)(k % D - 2);
    EXPECT(fabs(token_cosine(&arena, x) - 1) < 1e-6, "collapsed: %.9g",
           token_cosine(&arena, x));
    for (int k = 0; k < 2 * T * D; k++)     /* each token its own axis */
        x->data[k] = k % D == k / D % T ? (real)(k - 9) : 0;
    EXPECT(fabs(token_cosine(&arena, x)) < 1e-12, "orthogonal: %.9g",
           token_cosine(&arena, x));
    for (int k = 0; k < T * D; k++)         /* the other sequence: 1, -1, 1 */
        x->data[k] = k / D == 1 ? -1 : 1;
    double want = -1 / 3. / 2;              /* the mean of -1/3 and 0 */
    EXPECT(fabs(token_cosine(&arena, x) - want) < 1e-12, "%.9g",
           token_cosine(&arena, x));
    EXPECT(fabs(frobenius(4, (real[]){1, -1, 3, 5}) - 6) < 1e-12, "sum of "
           "squares 36: %.9g", frobenius(4, (real[]){1, -1, 3, 5}));
    arena_free(&arena);
}

/* A token alone has none to be compared with. */
TEST(cosine_of_one_token_is_not_there)
{
    Arena arena = {0};
    Rng draw = rng_new(7, RNG_TEST, 0);
    Tensor *x = tensor_new(&arena, (Shape){3, {1, 1, 5}});
    for (int i = 0; i < 20; i++) {
        for (int c = 0; c < 5; c++) x->data[c] = rng_normal(&draw);
        double got = token_cosine(&arena, x);
        EXPECT(isnan(got), "%g", got);
    }
    arena_free(&arena);
}

/* post with branches of 0 is N after N. Tokens are a (1,-1,1,-1) and its
 * negative: a gradient orthogonal to both that and (1,1,1,1) is multiplied by
 * 1/sqrt(a^2 + eps), along (1,1,1,1) it vanishes, and along the token it is
 * multiplied by eps/(a^2 + eps)^(3/2). */
static double gain(double a, const real *dy, int row, double *scale)
{
    GPTConfig c = {.layers = 1, .width = 4, .heads = 1, .context = 2,
                   .vocab = 3, .seed = 1, .zero_init = true,
                   .placement = placement_named("post")};
    Run r;
    Tape tape = {.recording = true};
    real two[8] = {dy[0], dy[1], dy[2], dy[3], dy[0], dy[1], dy[2], dy[3]};
    run_new(&r, c);
    Probe *p = probe_new(&r.m.arena, &r.m);
    Tensor *x = tensor_param(&r.m.arena, (Shape){3, {1, 2, 4}});
    for (int k = 0; k < 8; k++) x->data[k] = (real)((k + k / 4) % 2 ? -a : a);
    Tensor *y = gpt_layers(&tape, &r.m, x);
    probe_watch(p, &tape);
    tape_backward(&tape, y, two);
    probe_weights(p);
    double g = p->row[row].gain_norm;
    EXPECT(near(p->row[0].sigma, a), "sigma %.9g, not %g", p->row[0].sigma, a);
    EXPECT(near(p->row[0].stream, a), "RMS %.9g, not %g", p->row[0].stream, a);
    double add = p->row[0].gain_add;            /* NaN: 0/0 */
    EXPECT(p->row[0].branch == 0 && (add == 1 || isnan(add)),
           "a branch of 0: ratio %g, gain %g", p->row[0].branch, add);
    EXPECT(fabs(p->row[0].cosine + 1) < 1e-6, "opposite tokens: %.9g",
           p->row[0].cosine);
    *scale = p->row[row].scale;
    arena_free(&tape.arena);
    run_free(&r);
    return g;
}

TEST(gain_of_the_norm_by_its_formula)
{
    static const real across[] = {1, 1, -1, -1}, one[] = {1, 1, 1, 1},
                      along[] = {1, -1, 1, -1};
    static const double size[] = {.01, .25, 2, 100};
    for (int i = 0; i < 4; i++) {
        double a = size[i], v = a * a + 1e-5, scale;
        double got = gain(a, across, 0, &scale);
        EXPECT(near(got, 1 / sqrt(v)), "across, a = %g: %.9g, not %.9g", a,
               got, 1 / sqrt(v));
        EXPECT(near(scale, 1 / sqrt(v)), "scale, a = %g: %.9g", a, scale);
        got = gain(a, across, 1, &scale);
        double w = a * a / v + 1e-5;            /* the variance of N's y */
        EXPECT(near(got, 1 / sqrt(w)), "across, second norm, a = %g: %.9g, "
               "not %.9g", a, got, 1 / sqrt(w));
        got = gain(a, one, 1, &scale);
        EXPECT(fabs(got) < 1e-6, "one, a = %g: %.9g, not 0", a, got);
        got = gain(a, along, 1, &scale);
        EXPECT(fabs(got - 1e-5 / (w * sqrt(w))) < 1e-6 / w, "along, a = %g: "
               "%.9g, not %.9g", a, got, 1e-5 / (w * sqrt(w)));
    }
}

/* With W_Q = W_K = 0 token t attends to its t + 1 keys alike. */
TEST(attention_that_sees_no_difference)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        double want = 0;
        run_new(&r, c);
        for (int i = 0; i < 2 * c.layers; i += 2)
            for (int k = 0; k < 3 * c.width * c.width; k++)
                if (k % (3 * c.width) < 2 * c.width)
                    r.m.branch[i].in.W->data[k] = 0;
        for (int t = 0; t < r.T; t++) want += log(t + 1.) / r.T;
        Probe *p = probe_new(&r.m.arena, &r.m);
        Tensor *y = loss(&tape, &r);
        probe_watch(p, &tape);
        tape_backward(&tape, y, NULL);
        probe_weights(p);
        for (int i = 0; i < p->n; i += 2)
            EXPECT(fabs(p->row[i].entropy - want) < 1e-6
                   && p->row[i].logit == 0, "%s, row %d: entropy %.9g, "
                   "expected %.9g; largest logit %g", r.placement, i,
                   p->row[i].entropy, want, p->row[i].logit);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

/* By whom the weights are changed, and how, is no matter of the probe's. */
TEST(update_is_the_change_of_the_weights)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        run_new(&r, c);
        Probe *p = probe_new(&r.m.arena, &r.m);
        Tensor *y = loss(&tape, &r);
        probe_watch(p, &tape);
        tape_backward(&tape, y, NULL);
        probe_weights(p);
        for (int i = 0; i < p->n; i++) {        /* W_i := (1 + 2^-i) W_i */
            Tensor *W = r.m.branch[i].out.W;
            real by = 1 + 1 / (real)(1 << i);
            for (long k = 0; k < size(W); k++) W->data[k] *= by;
        }
        probe_update(p);
        for (int i = 0; i < p->n; i++)
            EXPECT(near(p->row[i].update, 1. / (1 << i)), "%s, row %d: %.9g",
                   r.placement, i, p->row[i].update);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

/* ------------------------------------------------------------------------
 * What is not there, and the file */

static void probe_step(Run *r, Tape *tape, Probe *p)
{
    Optim o;
    Tensor *y = loss(tape, r);
    optim_new(&o, ADAM, r->m.param, r->m.nparam, &r->m.arena);
    probe_watch(p, tape);
    tape_backward(tape, y, NULL);
    probe_weights(p);
    optim_step(&o, (real)1e-3, 1);
    probe_update(p);
}

/* Is there a number of this column in row i? */
static bool there(const Run *r, const char *column, int i)
{
    bool gone = i == 2 * r->m.config.layers, mlp = i % 2;
    bool of_norm = !strcmp(column, "sigma") || !strcmp(column, "scale")
                || !strcmp(column, "gain_norm");
    if (!strcmp(column, "stream") || !strcmp(column, "cosine")
        || !strcmp(column, "grad")) return true;
    if (gone) return false;
    if (of_norm) return !is(r, "rezero");
    if (!strcmp(column, "entropy") || !strcmp(column, "logit")) return !mlp;
    return true;
}

TEST(nan_where_there_is_nothing)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        run_new(&r, c);
        shake(&r.m);
        Probe *p = probe_new(&r.m.arena, &r.m);
        probe_step(&r, &tape, p);
        for (int i = 0; i <= p->n; i++)
            for (const ProbeColumn *k = probe_columns; k->name; k++) {
                double x = probe_value(&p->row[i], k);
                EXPECT(there(&r, k->name, i) ? isfinite(x) : isnan(x),
                       "%s, row %d: %s is %g", r.placement, i, k->name, x);
            }
        arena_free(&tape.arena);
        run_free(&r);
    }
}

static void compare_list(const Run *r, const Probe *p, const ProbeColumn *k,
                         const Json *list)
{
    size_t want = (size_t)(p->n + there(r, k->name, p->n));
    if (!EXPECT(list && list->kind == JSON_ARRAY && list->n == want,
                "%s: %s has %zu numbers, not %zu", r->placement, k->name,
                list ? list->n : 0, want)) return;
    const Json *x = list->child;
    for (int i = 0; x; x = x->next, i++) {
        double got = NAN, value = probe_value(&p->row[i], k);
        bool number = json_real(x, &got);
        EXPECT(number == isfinite(value) && (number || x->kind == JSON_NULL),
               "%s, row %d: %s is %g, in the file a %s", r->placement, i,
               k->name, value, number ? "number" : "null or no number");
        EXPECT(!number || fabs(got - value) <= 1e-8 * fabs(value),
               "%s, row %d: %s is %.9g, in the file %.9g", r->placement, i,
               k->name, value, got);
    }
}

TEST(the_file_holds_the_rows)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        static char bytes[1 << 16];
        char error[JSON_ERROR] = "";
        size_t columns = 0;
        FILE *f = tmpfile();
        c.zero_init = !c.zero_init;             /* some: 0/0 and x/0 */
        run_new(&r, c);
        Probe *p = probe_new(&r.m.arena, &r.m);
        probe_step(&r, &tape, p);
        probe_json(f, p);
        rewind(f);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        const Json *j = json_parse(&r.m.arena, bytes, n, error);
        EXPECT(j, "%s: %s", r.placement, error);
        for (const ProbeColumn *k = probe_columns; k->name; k++, columns++)
            compare_list(&r, p, k, json_get(j, k->name));
        EXPECT(j && j->n == columns && columns == sizeof(ProbeRow)
               / sizeof(double), "%zu columns, %zu in the file", columns,
               j ? j->n : 0);
        fclose(f);
        arena_free(&tape.arena);
        run_free(&r);
    }
}
