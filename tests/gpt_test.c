/* The whole model, for every row of the table of placements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gpt.h"
#include "kernels.h"
#include "optim.h"
#include "test.h"

/* A batch and a model to put it through. */
enum { MAX_TOKENS = 512 };
typedef struct {
    GPT m;
    const char *placement;
    int B, T, ids[MAX_TOKENS], targets[MAX_TOKENS];
} Run;

/* Small enough to differentiate element by element. */
static const GPTConfig SMALL = {.layers = 2, .width = 8, .heads = 2,
                                .context = 6, .vocab = 7, .seed = 1};
/* Wide and long enough for the loops to be divided into blocks. */
static const GPTConfig MEDIUM = {.layers = 2, .width = 32, .heads = 4,
                                 .context = 40, .vocab = 35, .seed = 1};

/* The last of the vocabulary is never drawn: its embedding is not seen. */
static void run_new(Run *r, GPTConfig c, int B, int T)
{
    Rng draw = rng_new(1, RNG_TEST, 0);
    r->B = B, r->T = T;
    for (int i = 0; i < B * T; i++) {
        r->ids[i] = (int)rng_below(&draw, (uint32_t)c.vocab - 1);
        r->targets[i] = (int)rng_below(&draw, (uint32_t)c.vocab);
    }
    r->placement = placements[c.placement].name;
    gpt_new(&r->m, c);
}

static void run_free(Run *r) { gpt_free(&r->m); }

/* Gains away from 1 and biases away from 0: then a gradient that is 0 is no
 * accident of the initial values. */
static void shake(GPT *m)
{
    Rng draw = rng_new(2, RNG_TEST, 0);
    for (int i = 0; i < m->nparam; i++)
        for (long k = 0; k < size(m->param[i].t); k++)
            m->param[i].t->data[k] += (real).1 * rng_normal(&draw);
}

static Tensor *loss(Tape *tp, const Run *r)
{
    return gpt_loss(tp, &r->m, r->ids, r->targets, r->B, r->T);
}

static void zero_gradients(const GPT *m)
{
    for (int i = 0; i < m->nparam; i++)
        memset(m->param[i].t->grad, 0,
               (size_t)size(m->param[i].t) * sizeof(real));
}

/* The loss; gradients are left in the parameters. */
static real loss_and_gradients(const Run *r)
{
    Tape tape = {.recording = true};
    zero_gradients(&r->m);
    Tensor *y = loss(&tape, r);
    real value = y->data[0];
    tape_backward(&tape, y, NULL);
    arena_free(&tape.arena);
    return value;
}

static bool is(const char *name, const char *other)
{
    return !strcmp(name, other);
}

/* FNV-1a over all gradients or all weights: equal bits, equal hash. */
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

/* ------------------------------------------------------------------------
 * Gradients against central differences (double only) */
#ifdef REAL_DOUBLE

/* The stream as it enters sublayer `to`, from x at sublayer `from`. */
static Tensor *stream(Tape *tp, const Run *r, Tensor *x, int from, int to)
{
    const GPT *m = &r->m;
    for (int i = from; i < to; i++) {
        tp->layer = 1 + i / 2;
        x = placements[m->config.placement].put(tp, x, &m->branch[i]);
    }
    return x;
}

/* The loss with the sublayers before `from` taken as computed: what a change
 * in sublayer `from` needs. x is the stream there, NULL at 0. */
static double loss_from(Tape *tp, const Run *r, Tensor *x, int from)
{
    const GPT *m = &r->m;
    if (!x) x = op_embedding(tp, m->tok, m->pos, r->ids, r->B, r->T);
    x = stream(tp, r, x, from, 2 * m->config.layers);
    if (m->last.g) x = norm(tp, x, &m->last);
    x = op_unembed(tp, x, m->head);
    double y = op_cross_entropy(tp, x, r->targets)->data[0];
    tape_reset(tp);
    return y;
}

/* Which sublayer a parameter belongs to: "h.3.mlp.c_fc.bias" to number 7;
 * those of no sublayer to 0, and the loss is computed from the start. */
static int sublayer(const char *name)
{
    int layer = 0;
    if (sscanf(name, "h.%d.", &layer) != 1) return 0;
    return 2 * layer + (strstr(name, ".ln_2.") || strstr(name, ".mlp."));
}

typedef struct { const Run *r; Tape tape; Tensor *x; int from; } Point;

/* d loss / d h of w + h v at h = 0, by Richardson's extrapolation of central
 * differences with steps h and h/2, and h/4 if `levels` is 3. */
static double derivative(Point *at, Tensor *w, const real *v, double h,
                         int levels)
{
    static const double weight[4][3] = {{0}, {1}, {-1/3., 4/3.},
                                        {1/45., -20/45., 64/45.}};
    long n = size(w);
    double sum = 0;
    real *before = malloc((size_t)n * sizeof *before);
    memcpy(before, w->data, (size_t)n * sizeof *before);
    for (int k = 0; k < levels; k++, h /= 2)
        for (int sign = -1; sign <= 1; sign += 2) {
            for (long i = 0; i < n; i++)
                w->data[i] = before[i] + sign * h * v[i];
            sum += weight[levels][k] * sign / (2 * h) *
                   loss_from(&at->tape, at->r, at->x, at->from);
        }
    memcpy(w->data, before, (size_t)n * sizeof *before);
    free(before);
    return sum;
}

/* The point from which a change in parameter p is seen. */
static Point point_new(const Run *r, Arena *kept, const Param *p)
{
    Point at = {.r = r, .from = sublayer(p->name)};
    if (at.from == 0) return at;
    Tape tape = {.recording = false};
    const GPT *m = &r->m;
    Tensor *x = op_embedding(&tape, m->tok, m->pos, r->ids, r->B, r->T);
    x = stream(&tape, r, x, 0, at.from);
    at.x = tensor_new(kept, x->shape);
    memcpy(at.x->data, x->data, (size_t)size(x) * sizeof(real));
    arena_free(&tape.arena);
    return at;
}

static void expect_same_loss(const Run *r)
{
    Tape tape = {.recording = false};
    double want = loss(&tape, r)->data[0];
    tape_reset(&tape);
    double got = loss_from(&tape, r, NULL, 0);
    EXPECT(got == want, "%s: this test computes another loss, %.17g, than the "
           "model, %.17g", r->placement, got, want);
    arena_free(&tape.arena);
}

/* Every element of one parameter. Where the loss does not depend on it at
 * all, the differences are exactly 0, and so must the gradient be. */
static double check_elements(const Run *r, const Param *p)
{
    Arena kept = {0};
    Point at = point_new(r, &kept, p);
    long n = size(p->t), worst = 0;
    double d2 = 0, w2 = 0, furthest = -1, expected = 0;
    real *v = calloc((size_t)n, sizeof *v);
    for (long i = 0; i < n; i++) {
        v[i] = 1;
        double want = derivative(&at, p->t, v, 0x1p-6, 3);
        v[i] = 0;
        double d = fabs(p->t->grad[i] - want);
        d2 += d * d;
        w2 += want * want;
        if (!(d <= furthest)) furthest = d, worst = i, expected = want;
    }
    double e = d2 == 0 ? 0 : w2 > 0 ? sqrt(d2 / w2) : sqrt(d2);
    EXPECT(e <= 1e-8, "%s, %s: relative error %.1e; worst at element %ld: got "
           "%.17g, expected %.17g", r->placement, p->name, e, worst,
           p->t->grad[worst], expected);
    free(v);
    arena_free(&at.tape.arena);
    arena_free(&kept);
    return e;
}

static void check_small_model(GPTConfig c)
{
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        double worst = 0;
        run_new(&r, c, 2, 5);
        EXPECT(gpt_size(&r.m) <= 5000, "%ld parameters", gpt_size(&r.m));
        if (!c.zero_init) shake(&r.m);
        expect_same_loss(&r);
        loss_and_gradients(&r);
        for (int i = 0; i < r.m.nparam; i++)
            worst = fmax(worst, check_elements(&r, &r.m.param[i]));
        test_say("%-9s%s%s %ld parameters, worst relative error of a tensor "
                 "%.1e", r.placement, c.zero_init ? " zero-init" : "",
                 c.tie ? " tied" : "", gpt_size(&r.m), worst);
        run_free(&r);
    }
}

TEST(every_element)
{
    check_small_model(SMALL);
}

TEST(every_element_tied)
{
    GPTConfig c = SMALL;
    c.tie = true;
    check_small_model(c);
}

TEST(every_element_zero_init)
{
    GPTConfig c = SMALL;
    c.zero_init = true;
    check_small_model(c);
}

/* Random directions of length 1 in one parameter. */
static double check_directions(const Run *r, const Param *p, int directions)
{
    Arena kept = {0};
    Point at = point_new(r, &kept, p);
    Rng draw = rng_new(3, RNG_TEST, 0);
    long n = size(p->t);
    double d2 = 0, w2 = 0;
    /* A norm after the branch divides by the branch's small standard
     * deviation: steps must be small beside that. */
    double h = placements[r->m.config.placement].norms == 2 ? 0x1p-10 : 0x1p-7;
    real *v = malloc((size_t)n * sizeof *v);
    for (int k = 0; k < directions; k++) {
        double length2 = 0, got = 0;
        for (long i = 0; i < n; i++) {
            v[i] = rng_normal(&draw);
            length2 += v[i] * v[i];
        }
        for (long i = 0; i < n; i++) v[i] /= sqrt(length2);
        for (long i = 0; i < n; i++) got += p->t->grad[i] * v[i];
        double want = derivative(&at, p->t, v, h, 2);
        d2 += (got - want) * (got - want);
        w2 += want * want;
    }
    double e = w2 > 0 ? sqrt(d2 / w2) : sqrt(d2);
    EXPECT(e <= 1e-7, "%s, 48 layers, %s: relative error of %d directional "
           "derivatives %.1e, their norm %.1e", r->placement, p->name,
           directions, e, sqrt(w2));
    free(v);
    arena_free(&at.tape.arena);
    arena_free(&kept);
    return e;
}

/* As deep as the flagship, and narrow. Small random weights, gains and biases:
 * from Xavier's, post collapses the tokens onto each other in 48 layers, and
 * the first layers' derivatives, 1e-6 of the loss, drown in the rounding of
 * the differences. */
static const GPTConfig DEEP = {.layers = 48, .width = 8, .heads = 2,
                               .context = 2, .vocab = 5, .seed = 1,
                               .init = INIT_GPT2};

/* 32 directions in the first two layers, one in the middle, the last two and
 * what is outside the layers; 4 in the others, unless PLUMB_TEST_FULL is set
 * (15 s a placement). */
static int directions(int layer)
{
    bool all = layer < 2 || layer == 24 || layer > 45;
    if (getenv("PLUMB_TEST_BRIEF")) return all ? 4 : 0;     /* sanitizers */
    return all || getenv("PLUMB_TEST_FULL") ? 32 : 4;
}

/* All placements, but on a share of the layers: shares run as tests of their
 * own, side by side. */
static void check_deep_model(int share, int shares)
{
    GPTConfig c = DEEP;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        double worst = 0;
        run_new(&r, c, 1, 2);
        shake(&r.m);
        expect_same_loss(&r);
        loss_and_gradients(&r);
        for (int i = 0; i < r.m.nparam; i++) {
            int layer = sublayer(r.m.param[i].name) / 2;
            if (layer % shares == share)
                worst = fmax(worst, check_directions(&r, &r.m.param[i],
                                                     directions(layer)));
        }
        test_say("%-9s 48 layers, worst relative error of a tensor %.1e",
                 r.placement, worst);
        run_free(&r);
    }
}

TEST(deep_random_directions_1) { check_deep_model(0, 2); }
TEST(deep_random_directions_2) { check_deep_model(1, 2); }

#endif

/* ------------------------------------------------------------------------
 * A tensor used twice */

TEST(both_uses_of_a_tensor_add_up)
{
    Tape tape = {.recording = true};
    Arena arena = {0};
    Tensor *x = tensor_param(&arena, (Shape){1, {3}}), *y = x;
    for (int i = 0; i < 3; i++) x->data[i] = (real)i - 1;
    tape_backward(&tape, op_add(&tape, x, x), (real[]){1, 10, -3});
    EXPECT(x->grad[0] == 2 && x->grad[1] == 20 && x->grad[2] == -6,
           "x + x: got %g %g %g", (double)x->grad[0], (double)x->grad[1],
           (double)x->grad[2]);

    memset(x->grad, 0, 3 * sizeof(real));       /* x + relu(x) */
    tape_backward(&tape, op_add(&tape, x, op_relu(&tape, x)),
                  (real[]){1, 1, 1});
    EXPECT(x->grad[0] == 1 && x->grad[1] == 1 && x->grad[2] == 2,
           "x + relu(x): got %g %g %g", (double)x->grad[0],
           (double)x->grad[1], (double)x->grad[2]);

    memset(x->grad, 0, 3 * sizeof(real));       /* 48 doublings: exact */
    for (int i = 0; i < 48; i++) y = op_add(&tape, y, y);
    tape_backward(&tape, y, (real[]){1, 0, -1});
    EXPECT(x->grad[0] == (real)0x1p48 && x->grad[1] == 0 &&
           x->grad[2] == (real)-0x1p48, "48 times x + x: got %g %g %g",
           (double)x->grad[0], (double)x->grad[1], (double)x->grad[2]);
    arena_free(&tape.arena);
    arena_free(&arena);
}

/* ------------------------------------------------------------------------
 * What moves in one step, and what may not (double: in float a small step
 * may vanish beside a gain of 1) */
#ifdef REAL_DOUBLE

/* Why element i of this parameter has a gradient of exactly 0, or NULL. */
static const char *reason_not_to_move(const Run *r, const Param *p, long i)
{
    const GPTConfig *c = &r->m.config;
    const Placement *put = &placements[c->placement];
    bool norm_in_branch = r->m.last.g != NULL;
    bool branch = strstr(p->name, ".c_") != NULL;
    bool inner = strstr(p->name, ".c_attn.") || strstr(p->name, ".c_fc.");
    bool before_branch = strstr(p->name, ".ln_") && !strstr(p->name, ".out.");
    int d = c->width, row = (int)(i / d), seen = 0;
    for (int k = 0; k < r->B * r->T; k++) seen |= r->ids[k] == row;
    if (is(p->name, "wte.weight") && !seen && !c->tie)
        return "this token does not occur";
    if (is(p->name, "wpe.weight") && row >= r->T)
        return "no sequence is that long";
    if (put->gated && branch)
        return "the gate that it goes through is 0";
    if (c->zero_init && put->norms == 2 && (branch || before_branch))
        return "the gain that it goes through is 0";
    if (c->zero_init && inner)
        return "inner weight: the output projection it goes through is 0";
    if (c->zero_init && norm_in_branch && before_branch)
        return "norm inside a branch: the output projection is 0";
    if (strstr(p->name, ".c_attn.bias") && i >= d && i < 2 * d)
        return "key bias: adds q.b to all scores of a row, softmax ignores it";
    return NULL;
}

static void check_moves(const Run *r, const Param *p, const real *before)
{
    const char *said = NULL;
    for (long i = 0; i < size(p->t); i++) {
        const char *reason = reason_not_to_move(r, p, i);
        double step = fabs((double)(p->t->data[i] - before[i]));
        if (!reason)
            EXPECT(step > 0, "%s, %s, element %ld did not move",
                   r->placement, p->name, i);
        else
            EXPECT(step <= 1e-15, "%s, %s, element %ld moved by %g, although: "
                   "%s", r->placement, p->name, i, step, reason);
        if (reason && reason != said)
            test_say("%s, %s stays: %s", r->placement, p->name,
                     said = reason);
    }
}

static void one_step(GPTConfig c)
{
    bool zero_init = c.zero_init;
    c.layers = 1;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        c.zero_init = zero_init && !placements[c.placement].gated;
        Optim o;
        Arena copies = {0};
        run_new(&r, c, 2, 5);
        OptimConfig plain = {.method = SGD};
        real **before = malloc((size_t)r.m.nparam * sizeof *before);
        for (int i = 0; i < r.m.nparam; i++) {
            size_t bytes = (size_t)size(r.m.param[i].t) * sizeof(real);
            before[i] = arena_alloc(&copies, bytes);
            memcpy(before[i], r.m.param[i].t->data, bytes);
        }
        optim_new(&o, plain, r.m.param, r.m.nparam, &copies);
        loss_and_gradients(&r);
        optim_step(&o, 1, 1);
        for (int i = 0; i < r.m.nparam; i++)
            check_moves(&r, &r.m.param[i], before[i]);
        free(before);
        arena_free(&copies);
        run_free(&r);
    }
}

TEST(everything_moves_that_should)
{
    GPTConfig c = SMALL, zero = SMALL, tied = SMALL;
    zero.zero_init = true;
    tied.tie = true;
    one_step(c);
    one_step(zero);
    one_step(tied);
}
#endif

/* ------------------------------------------------------------------------
 * The wiring, read back from the tape */

static bool is_parameter(const GPT *m, const Tensor *t)
{
    int times = 0;
    for (int i = 0; i < m->nparam; i++) times += m->param[i].t == t;
    return times == 1;
}

static bool is_output(const Tape *tp, const Tensor *t)
{
    for (const Node *nd = tp->last; nd; nd = nd->prev)
        if (nd->out == t) return true;
    return false;
}

static bool is_used(const Tape *tp, const Tensor *t)
{
    for (const Node *nd = tp->last; nd; nd = nd->prev)
        for (int i = 0; i < MAX_IN && nd->in[i]; i++)
            if (nd->in[i] == t) return true;
    return false;
}

/* What the tape reads and no op has made is a parameter, in the list once;
 * and every parameter of the list is read. */
TEST(parameters_are_those_that_the_tape_reads)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        c.tie = !c.tie;
        run_new(&r, c, 2, 5);
        loss(&tape, &r);
        for (const Node *nd = tape.last; nd; nd = nd->prev)
            for (int i = 0; i < MAX_IN && nd->in[i]; i++)
                EXPECT(is_parameter(&r.m, nd->in[i]) ||
                       is_output(&tape, nd->in[i]),
                       "%s, layer %d: operand %d of %s is neither an op's "
                       "output nor once in the list of parameters",
                       r.placement, nd->layer, i, nd->op);
        for (int i = 0; i < r.m.nparam; i++)
            EXPECT(is_used(&tape, r.m.param[i].t),
                   "%s: nothing reads %s", r.placement, r.m.param[i].name);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

/* Norms in a model of L layers: per sublayer, and at the end. */
static const struct { const char *name; int each, final; } norms[] = {
    {"pre", 1, 1}, {"post", 1, 0}, {"peri", 2, 1}, {"deepnorm", 1, 0},
    {"lnscale", 1, 1}, {"rezero", 0, 0},
};

static int expected_norms(const char *name, int layers)
{
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        if (is(norms[i].name, name))
            return 2 * layers * norms[i].each + norms[i].final;
    return -1;
}

TEST(number_of_norms)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        for (c.layers = 1; c.layers <= 3; c.layers++) {
            Run r;
            Tape tape = {.recording = true};
            int count = 0;
            run_new(&r, c, 2, 5);
            loss(&tape, &r);
            for (const Node *nd = tape.last; nd; nd = nd->prev)
                count += strstr(nd->op, "norm") != NULL;
            int want = expected_norms(r.placement, c.layers);
            EXPECT(want >= 0, "add %s to the table above", r.placement);
            EXPECT(count == want, "%s, %d layers: %d norms on the tape, "
                   "expected %d", r.placement, c.layers, count, want);
            arena_free(&tape.arena);
            run_free(&r);
        }
}

static const Node *maker(const Tape *tp, const Tensor *t)
{
    const Node *nd = tp->last;
    while (nd && nd->out != t) nd = nd->prev;
    return nd;
}

/* t must be the output of this op; returns its node. */
static const Node *expect_op(const Tape *tp, const Tensor *t, const char *op)
{
    static const Node none = {.op = "nothing"};
    const Node *nd = maker(tp, t);
    EXPECT(nd && is(nd->op, op), "expected the output of %s, got that of %s",
           op, nd ? nd->op : "no op");
    return nd && is(nd->op, op) ? nd : &none;
}

/* y is F(x) of this branch: returns x. */
static Tensor *through_branch(const Tape *tp, const Tensor *y,
                              const Sublayer *f)
{
    const Node *out = expect_op(tp, y, "linear");
    const char *middle = f->heads ? "attention" : "gelu";
    const Node *mid = expect_op(tp, out->in[0], middle);
    const Node *in = expect_op(tp, mid->in[0], "linear");
    EXPECT(out->in[1] == f->out.W && out->in[2] == f->out.b &&
           in->in[1] == f->in.W && in->in[2] == f->in.b,
           "the branch reads other weights than its own");
    return in->in[0];
}

/* y is N(x) of this norm: returns x. */
static Tensor *through_norm(const Tape *tp, const Tensor *y, const Norm *n)
{
    const Node *nd = expect_op(tp, y, "layernorm");
    EXPECT(nd->in[1] == n->g && nd->in[2] == n->b,
           "the norm reads another gain or bias than its own");
    return nd->in[0];
}

/* y is c x: returns x. */
static Tensor *through_scale(const Tape *tp, const Tensor *y, double c)
{
    const Node *nd = expect_op(tp, y, "scale");
    for (long i = 0; nd->out && i < size(y); i++)
        EXPECT(fabs((double)y->data[i] - c * (double)nd->in[0]->data[i])
               <= 1e-6 * fabs((double)y->data[i]), "the factor is not %g", c);
    return nd->in[0];
}

/* y is x + z: returns z. */
static Tensor *through_add(const Tape *tp, const Tensor *y, const Tensor *x)
{
    const Node *sum = expect_op(tp, y, "add");
    EXPECT(sum->in[0] == x, "the residual edge does not come from x");
    return sum->in[1];
}

/* What stands on the tape, taken apart from y back to x. */

static void is_pre(const Tape *tp, const Tensor *x, const Tensor *y,
                   const Sublayer *f)
{
    const Tensor *N = through_branch(tp, through_add(tp, y, x), f);
    EXPECT(through_norm(tp, N, &f->norm) == x, "the norm does not read x");
}

static void is_post(const Tape *tp, const Tensor *x, const Tensor *y,
                    const Sublayer *f)
{
    const Tensor *sum = through_norm(tp, y, &f->norm);
    EXPECT(through_branch(tp, through_add(tp, sum, x), f) == x,
           "the branch does not read x");
}

static void is_peri(const Tape *tp, const Tensor *x, const Tensor *y,
                    const Sublayer *f)
{
    const Tensor *F = through_norm(tp, through_add(tp, y, x), &f->out_norm);
    EXPECT(through_norm(tp, through_branch(tp, F, f), &f->norm) == x,
           "the norm does not read x");
}

static void is_deepnorm(const Tape *tp, const Tensor *x, const Tensor *y,
                        const Sublayer *f)
{
    const Node *sum = expect_op(tp, through_norm(tp, y, &f->norm), "add");
    double a = pow(2. * SMALL.layers, .25);
    EXPECT(through_scale(tp, sum->in[0], a) == x, "the residual is not a x");
    EXPECT(through_branch(tp, sum->in[1], f) == x,
           "the branch does not read x");
}

static void is_lnscale(const Tape *tp, const Tensor *x, const Tensor *y,
                       const Sublayer *f)
{
    const Tensor *N = through_branch(tp, through_add(tp, y, x), f);
    N = through_scale(tp, N, 1 / sqrt((real)tp->layer));
    EXPECT(through_norm(tp, N, &f->norm) == x, "the norm does not read x");
}

static void is_rezero(const Tape *tp, const Tensor *x, const Tensor *y,
                      const Sublayer *f)
{
    const Node *gate = expect_op(tp, through_add(tp, y, x), "gate");
    EXPECT(gate->in[1] == f->gate && f->gate, "the gate is not the layer's");
    EXPECT(through_branch(tp, gate->in[0], f) == x,
           "the branch does not read x");
}

static const struct {
    const char *name;
    void (*check)(const Tape *, const Tensor *, const Tensor *,
                  const Sublayer *);
} equations[] = {{"pre", is_pre}, {"post", is_post}, {"peri", is_peri},
                 {"deepnorm", is_deepnorm}, {"lnscale", is_lnscale},
                 {"rezero", is_rezero}};

static void check_wiring(Run *r)
{
    const GPT *m = &r->m;
    Tape tape = {.recording = true};
    Tensor *x = tensor_param(&r->m.arena, (Shape){3, {1, 3, m->config.width}});
    bool known = false;
    for (long i = 0; i < size(x); i++) x->data[i] = (real)(i % 5);
    gpt_layers(&tape, m, x);
    for (size_t e = 0; e < sizeof equations / sizeof *equations; e++) {
        if (!is(equations[e].name, r->placement)) continue;
        known = true;
        for (int i = 0; i < 2 * m->config.layers; i++) {
            tape.layer = 1 + i / 2;
            equations[e].check(&tape, m->stream[i], m->stream[i+1],
                               &m->branch[i]);
        }
    }
    EXPECT(known, "add the equation of %s to the table above", r->placement);
    arena_free(&tape.arena);
}

TEST(wiring_is_the_equation)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        run_new(&r, c, 1, 3);
        check_wiring(&r);
        run_free(&r);
    }
}

/* What a sublayer returns whose branch says 0: x to the bit, or N(x). */
static const Tensor *of_zero_branch(Tape *tp, const char *placement, Tensor *x,
                                    const Sublayer *f)
{
    if (is(placement, "post")) return norm(tp, x, &f->norm);
    if (is(placement, "deepnorm"))
        return norm(tp, op_scale(tp, x, f->factor), &f->norm);
    return x;
}

TEST(branch_of_zero)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true};
        c.zero_init = !placements[c.placement].gated;
        run_new(&r, c, 1, 3);
        Tensor *x = tensor_param(&r.m.arena, (Shape){3, {1, 3, c.width}});
        size_t bytes = (size_t)size(x) * sizeof(real);
        Rng draw = rng_new(4, RNG_TEST, 0);
        for (long i = 0; i < size(x); i++) x->data[i] = rng_normal(&draw);
        for (int i = 0; i < 2 * c.layers; i++) {
            const Sublayer *f = &r.m.branch[i];
            const Tensor *y = placements[c.placement].put(&tape, x, f);
            const Tensor *want = of_zero_branch(&tape, r.placement, x, f);
            EXPECT(!memcmp(y->data, want->data, bytes),
                   "%s, sublayer %d: a branch of 0 does something",
                   r.placement, i);
        }
        arena_free(&tape.arena);
        run_free(&r);
    }
}

/* ------------------------------------------------------------------------
 * Causality, bit for bit. 40 tokens: attention takes them in blocks. */

static void same_logits(const Run *r, const Tensor *a, const Tensor *b,
                        int tokens, const char *what)
{
    int V = cols(a), T2 = rows(b) / r->B;
    for (int s = 0; s < r->B; s++)
        for (int t = 0; t < tokens; t++)
            EXPECT(!memcmp(a->data + (long)(s * r->T + t) * V,
                           b->data + (long)(s * T2 + t) * V,
                           (size_t)V * sizeof(real)),
                   "%s, sequence %d: %s changes the logits of token %d",
                   r->placement, s, what, t);
}

TEST(causality)
{
    GPTConfig c = MEDIUM;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = false};
        int ids[MAX_TOKENS];
        run_new(&r, c, 2, 40);
        shake(&r.m);
        const Tensor *y = gpt_logits(&tape, &r.m, r.ids, 2, 40), *z;
        for (int s = 0; s < 40; s += s < 5 ? 1 : 6) {
            char what[40];
            memcpy(ids, r.ids, sizeof ids);
            for (int b = 0; b < 2; b++) ids[b * 40 + s] = c.vocab - 1;
            snprintf(what, sizeof what, "changing token %d", s);
            z = gpt_logits(&tape, &r.m, ids, 2, 40);
            same_logits(&r, y, z, s, what);
            EXPECT(memcmp(y->data + (long)s * c.vocab,
                          z->data + (long)s * c.vocab,
                          (size_t)c.vocab * sizeof(real)),
                   "%s: %s changes nothing", r.placement, what);
        }
        for (int T = 1; T < 40; T += T < 5 ? 1 : 6) {
            char what[40];
            for (int k = 0; k < 2 * T; k++)
                ids[k] = r.ids[k / T * 40 + k % T];
            snprintf(what, sizeof what, "what comes after token %d", T - 1);
            z = gpt_logits(&tape, &r.m, ids, 2, T);
            same_logits(&r, y, z, T, what);
        }
        arena_free(&tape.arena);
        run_free(&r);
    }
}

/* ------------------------------------------------------------------------
 * The start */

static void check_start(GPTConfig c)
{
    Run r;
    Tape tape = {.recording = false};
    double mean = 0, square = 0, want = log((double)c.vocab);
    run_new(&r, c, 2, 32);
    double first = (double)loss(&tape, &r)->data[0];
    EXPECT(fabs(first / want - 1) <= .05,
           "%s, init %d%s%s: the first loss is %.4f, ln V is %.4f",
           r.placement, c.init, c.tie ? ", tied" : "",
           c.zero_init ? ", zero-init" : "", first, want);
    Tensor *x = op_embedding(&tape, r.m.tok, r.m.pos, r.ids, r.B, r.T);
    for (long i = 0; i < size(x); i++) {
        mean += (double)x->data[i] / (double)size(x);
        square += (double)(x->data[i] * x->data[i]) / (double)size(x);
    }
    EXPECT(fabs(square - mean * mean - 1) <= .1,
           "%s%s: the stream starts with variance %.3f", r.placement,
           c.tie ? ", tied" : "", square - mean * mean);
    arena_free(&tape.arena);
    run_free(&r);
}

TEST(first_loss_is_ln_V_and_the_stream_has_variance_1)
{
    GPTConfig c = {.layers = 6, .width = 64, .heads = 4, .context = 64,
                   .vocab = 65, .seed = 1};
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        for (c.init = INIT_XAVIER; c.init <= INIT_GPT2; c.init++)
            for (int flags = 0; flags < 4; flags++) {
                c.tie = flags & 1;
                c.zero_init = flags & 2;
                check_start(c);
            }
}

static const Tensor *parameter(const GPT *m, const char *name)
{
    for (int i = 0; i < m->nparam; i++)
        if (is(m->param[i].name, name)) return m->param[i].t;
    return NULL;
}

/* Layers that two models have in common start with the same draws. (deepnorm
 * scales some by a factor that depends on the depth: signs are the same.) */
TEST(initial_weights_do_not_depend_on_placement_or_depth)
{
    GPTConfig c = SMALL;
    Run r;
    run_new(&r, c, 1, 1);
    c.layers = 5;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run s;
        run_new(&s, c, 1, 1);
        bool scaled = is(s.placement, "deepnorm");
        int common = 0;
        for (int i = 0; i < r.m.nparam; i++) {
            const Tensor *a = r.m.param[i].t;
            const Tensor *b = parameter(&s.m, r.m.param[i].name);
            bool same = b != NULL;
            for (long k = 0; b && k < size(a); k++)
                same &= scaled ? signbit(a->data[k]) == signbit(b->data[k])
                               : a->data[k] == b->data[k];
            common += same;
            EXPECT(same || !b, "%s of %s starts otherwise than that of %s",
                   r.m.param[i].name, s.placement, r.placement);
        }
        EXPECT(common >= 2 + 4 * 4, "%s: only %d parameters in common",
               s.placement, common);
        run_free(&s);
    }
    run_free(&r);
}

/* ------------------------------------------------------------------------
 * Depth, memory, threads */

TEST(thousand_layers_are_finite)
{
    GPTConfig c = {.layers = 1000, .width = 32, .heads = 4, .context = 16,
                   .vocab = 65, .seed = 1};
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Tape tape = {.recording = true, .find_nonfinite = true};
        run_new(&r, c, 1, 16);
        Tensor *y = loss(&tape, &r);
        const Node *bad = tape_nonfinite(&tape);
        EXPECT(!bad, "%s: %s of layer %d is not finite", r.placement,
               bad ? bad->op : "", bad ? bad->layer : 0);
        bad = tape_backward(&tape, y, NULL);
        EXPECT(!bad, "%s: a gradient by %s of layer %d is not finite",
               r.placement, bad ? bad->op : "", bad ? bad->layer : 0);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

static void train_steps(Run *r, Tape *tape, Optim *o, int from, int to)
{
    for (int step = from; step < to; step++) {
        tape->noise = rng_new(1, RNG_DROPOUT, (uint32_t)step);
        tape_backward(tape, loss(tape, r), NULL);
        optim_step(o, (real)1e-3, 1);
        tape_reset(tape);
    }
}

static const OptimConfig ADAM = {.method = ADAMW, .beta1 = .9, .beta2 = .98,
                                 .eps = 1e-8, .weight_decay = .1};

TEST(memory_is_flat)
{
    GPTConfig c = MEDIUM;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        Run r;
        Optim o;
        Tape tape = {.recording = true};
        run_new(&r, c, 4, 40);
        optim_new(&o, ADAM, r.m.param, r.m.nparam, &r.m.arena);
        train_steps(&r, &tape, &o, 0, 2);
        size_t step = arena_size(&tape.arena), all = arena_size(&r.m.arena);
        train_steps(&r, &tape, &o, 2, 20);
        EXPECT(arena_size(&tape.arena) == step,
               "%s: %zu bytes after 2 steps, %zu after 20", r.placement, step,
               arena_size(&tape.arena));
        EXPECT(arena_size(&r.m.arena) == all, "%s: the parameters' arena grew",
               r.placement);
        arena_free(&tape.arena);
        run_free(&r);
    }
}

TEST(two_runs_give_equal_bits)
{
    GPTConfig c = MEDIUM;
    c.dropout = .1;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        uint64_t h[2], start = 0;
        for (int i = 0; i < 2; i++) {
            Run r;
            Optim o;
            Tape tape = {.recording = true};
            run_new(&r, c, 2, 40);
            start = hash(&r.m, false);
            optim_new(&o, ADAM, r.m.param, r.m.nparam, &r.m.arena);
            train_steps(&r, &tape, &o, 0, 5);
            h[i] = hash(&r.m, false);
            arena_free(&tape.arena);
            run_free(&r);
        }
        EXPECT(h[0] == h[1] && h[0] != start,
               "%s: weights after 5 steps hash to %016llx, then to %016llx",
               placements[c.placement].name, (unsigned long long)h[0],
               (unsigned long long)h[1]);
    }
}

TEST(any_threads_give_equal_bits)
{
#ifdef _OPENMP
    static const int counts[] = {1, 2, 3, 8};
    GPTConfig c = MEDIUM;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        uint64_t h1 = 0;
        real loss1 = 0;
        for (int i = 0; i < 4; i++) {
            Run r;
            run_new(&r, c, 3, 40);
            thread_limit(counts[i]);
            real y = loss_and_gradients(&r);
            uint64_t h = hash(&r.m, true);
            if (i == 0) loss1 = y, h1 = h;
            EXPECT(y == loss1 && h == h1, "%s: %d threads give the loss %.9g "
                   "and gradients %016llx; 1 gives %.9g and %016llx",
                   r.placement, counts[i], (double)y, (unsigned long long)h,
                   (double)loss1, (unsigned long long)h1);
            run_free(&r);
        }
    }
#else
    SKIP("built without OpenMP: one thread only");
#endif
}

/* ------------------------------------------------------------------------
 * float against double. The double build runs the float build beside it
 * (build/test32), which writes its weights and its gradients to a file;
 * takes the weights, which are exact in double, and compares gradients. */

#define FLOAT_FILE "PLUMB_FLOAT_GRADIENTS"      /* environment: where to */

static GPTConfig compared(int layers, int placement)
{
    return (GPTConfig){.layers = layers, .width = 32, .heads = 4,
                       .context = 16, .vocab = 65, .seed = 1,
                       .placement = placement};
}

#ifdef REAL_DOUBLE
static bool read_doubles(FILE *f, double *x, long n)
{
    return fread(x, sizeof *x, (size_t)n, f) == (size_t)n;
}

/* The gradient of one parameter in the file against the one in memory. */
static double compare_gradient(const Run *r, const Param *p, FILE *f)
{
    long n = size(p->t);
    double d2 = 0, w2 = 0, bound = r->m.config.layers <= 4 ? 1e-5 : 1e-4;
    double *got = malloc((size_t)n * sizeof *got);
    EXPECT(read_doubles(f, got, n), "the file of test32 is too short");
    for (long k = 0; k < n; k++) {
        d2 += (got[k] - p->t->grad[k]) * (got[k] - p->t->grad[k]);
        w2 += p->t->grad[k] * p->t->grad[k];
    }
    free(got);
    EXPECT(d2 <= bound * bound * w2, "%s, %d layers, %s: gradients in float "
           "and double differ by %.1e", r->placement, r->m.config.layers,
           p->name, sqrt(d2 / w2));
    return w2 > 0 ? sqrt(d2 / w2) : 0;
}

static void compare_model(int layers, int placement, FILE *f)
{
    Run r;
    double worst = 0;
    run_new(&r, compared(layers, placement), 2, 16);
    for (int i = 0; i < r.m.nparam; i++)
        EXPECT(read_doubles(f, r.m.param[i].t->data, size(r.m.param[i].t)),
               "the file of test32 is too short");
    loss_and_gradients(&r);
    for (int i = 0; i < r.m.nparam; i++)
        worst = fmax(worst, compare_gradient(&r, &r.m.param[i], f));
    test_say("%-9s %2d layers: gradients in float and double differ by at "
             "most %.1e (one parameter's, relative)", r.placement, layers,
             worst);
    run_free(&r);
}

/* build/test32 where this is build/test64. */
static void beside(char *path, size_t n)
{
    ssize_t length = readlink("/proc/self/exe", path, n - 1);
    if (length < 2) length = snprintf(path, n, "build/test64");
    path[length] = 0;
    memcpy(path + length - 2, "32", 2);
}

TEST(float_against_double)
{
    char program[1000], command[1200], file[] = "/tmp/plumb-XXXXXX";
    beside(program, sizeof program);
    if (access(program, X_OK)) SKIP("%s is not there", program);
    int fd = mkstemp(file);
    if (fd < 0) SKIP("no temporary file can be made");
    close(fd);
    setenv(FLOAT_FILE, file, 1);
    snprintf(command, sizeof command, "'%s' float_gradients >/dev/null",
             program);
    EXPECT(system(command) == 0, "%s failed", command);
    FILE *f = fopen(file, "rb");
    for (int layers = 4; f && layers <= 48; layers += 44)
        for (int p = 0; placements[p].name; p++) compare_model(layers, p, f);
    if (f) fclose(f);
    remove(file);
}
#else

/* Weights, then gradients, as doubles. */
static void write_model(const GPT *m, FILE *f)
{
    for (int gradients = 0; gradients < 2; gradients++)
        for (int i = 0; i < m->nparam; i++) {
            const Tensor *t = m->param[i].t;
            for (long k = 0; k < size(t); k++) {
                double x = (double)(gradients ? t->grad[k] : t->data[k]);
                fwrite(&x, sizeof x, 1, f);
            }
        }
}

static void write_all(const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!EXPECT(f, "cannot write %s", path)) return;
    for (int layers = 4; layers <= 48; layers += 44)
        for (int p = 0; placements[p].name; p++) {
            Run r;
            run_new(&r, compared(layers, p), 2, 16);
            loss_and_gradients(&r);
            write_model(&r.m, f);
            run_free(&r);
        }
    fclose(f);
}

/* No test of its own: it is there only when the double build asks. */
static void float_gradients(void) { write_all(getenv(FLOAT_FILE)); }

__attribute__((constructor)) static void float_gradients_register(void)
{
    if (getenv(FLOAT_FILE))
        test_register("float_gradients", __FILE__, float_gradients);
}
#endif
