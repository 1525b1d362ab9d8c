/* Every op in src/ops/ from its spec: a new op is tested without a line here.
 *
 * A gradient check proves that backward is the derivative of forward; golden
 * numbers, worked out elsewhere, prove that forward is what it says. The
 * check differentiates numerically, which float is too coarse for: it is done
 * in the double build only. The cotangent (the gradient that comes from
 * above) is random: with ones, a softmax whose backward does nothing passes,
 * because the sum of its outputs is constant. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "kernels.h"
#include "spec.h"
#include "test.h"

enum { CASES = 24, MAX_IDS = 2048, COTANGENTS = 3, MAX_ONE_HOT = 64 };

/* Relative: rounding and differences together leave less than 1e-10. */
#define GRADIENT_BOUND 1e-9
#ifdef REAL_DOUBLE
#define GOLDEN_BOUND 1e-12
#else
#define GOLDEN_BOUND 1e-5
#endif

/* ------------------------------------------------------------------------
 * Shapes and cases */

/* One choice of the letters' values, with inputs drawn for it. */
typedef struct {
    const OpSpec *op;
    Call call;
    int ids[MAX_IDS];
    char text[80];              /* "N=7,C=17" */
    int n;                      /* number of inputs */
    Tensor *in[MAX_IN];
    real *before[MAX_IN];       /* copies of their data ... */
    real *prefill[MAX_IN];      /* ... and of what their gradients start at */
    Arena arena;
} Case;

/* "B,T,3HD" with the letters' values */
static Shape shape_of(const char *text, const Call *call)
{
    Shape s = {1, {1}};
    while (*text) {
        int *axis = &s.dim[s.ndim - 1];
        if (*text == ',') {
            CHECK(s.ndim < MAX_DIM, "spec: too many axes in %s", text);
            s.dim[s.ndim++] = 1;
            text++;
        } else if (*text >= 'A' && *text <= 'Z') {
            *axis *= call->dim[*text++ - 'A'];
        } else {
            char *end;
            *axis *= (int)strtol(text, &end, 10);
            CHECK(end > text, "spec: what is \"%s\" in a shape?", text);
            text = end;
        }
    }
    return s;
}

/* The letters that the spec uses, each once. */
static int letters(const OpSpec *op, char found[27])
{
    const char *texts[MAX_IN + 2] = {op->out, op->ids};
    int n = 0;
    for (int i = 0; i < MAX_IN; i++) texts[2 + i] = op->in[i];
    for (int i = 0; i < MAX_IN + 2; i++)
        for (const char *p = texts[i]; p && *p; p++)
            if (*p >= 'A' && *p <= 'Z' && !memchr(found, *p, (size_t)n))
                found[n++] = *p;
    found[n] = 0;
    return n;
}

/* Evaluations times outputs: what the numerical Jacobian costs. */
static long cost(const OpSpec *op, const Call *call)
{
    long in = 0;
    for (int i = 0; i < MAX_IN && op->in[i]; i++)
        in += shape_size(shape_of(op->in[i], call));
    return in * shape_size(shape_of(op->out, call));
}

/* Case number k. The first ones give each letter each of the values 1, 7, 17
 * and 33, with small values for the other letters; the rest is drawn from
 * all sizes, as far as a Jacobian of that size is cheap. */
static void choose(const OpSpec *op, int k, Call *call)
{
    static const int featured[] = {1, 7, 17, 33};
    static const int sizes[] = {1, 7, 17, 33, 2, 3, 5};
    char letter[27];
    int n = letters(op, letter);
    Rng r = rng_new(1, RNG_TEST, (uint32_t)k);
    do {
        for (int i = 0; i < n; i++)
            call->dim[letter[i] - 'A'] = k < 4 * n ?
                sizes[4 + rng_below(&r, 3)] : sizes[rng_below(&r, 7)];
        if (k < 4 * n) call->dim[letter[k / 4] - 'A'] = featured[k % 4];
    } while (cost(op, call) > 300000);
}

static void describe(const OpSpec *op, const Call *call, char *text, size_t n)
{
    char letter[27], *p = text;
    letters(op, letter);
    for (int i = 0; letter[i]; i++)
        p += snprintf(p, (size_t)(text + n - p), "%s%c=%d", i ? "," : "",
                      letter[i], call->dim[letter[i] - 'A']);
}

static real *copy(Arena *a, long n, const real *x)
{
    real *y = arena_alloc(a, (size_t)n * sizeof *y);
    return memcpy(y, x, (size_t)n * sizeof *y);
}

/* N(0,1), but no nearer to 0 than the gap. */
static real draw(Rng *r, double gap)
{
    real x;
    do x = rng_normal(r); while (fabs(x) < (real)gap);
    return x;
}

/* Inputs and integers for call->dim; gradients start at random numbers, so
 * that a backward that writes = for += is seen. */
static void fill(Case *c, Rng *r)
{
    describe(c->op, &c->call, c->text, sizeof c->text);
    for (c->n = 0; c->n < MAX_IN && c->op->in[c->n]; c->n++) {
        Shape s = shape_of(c->op->in[c->n], &c->call);
        Tensor *x = c->in[c->n] = tensor_param(&c->arena, s);
        for (long i = 0; i < size(x); i++) {
            x->data[i] = draw(r, c->op->gap);
            x->grad[i] = rng_normal(r);
        }
        c->before[c->n] = copy(&c->arena, size(x), x->data);
        c->prefill[c->n] = copy(&c->arena, size(x), x->grad);
    }
    if (!c->op->ids) return;
    long n = shape_size(shape_of(c->op->ids, &c->call));
    CHECK(n <= MAX_IDS, "%s: %ld integers", c->op->name, n);
    int below = c->call.dim[c->op->below - 'A'];
    for (long i = 0; i < n; i++) c->ids[i] = (int)rng_below(r, (uint32_t)below);
    c->call.ids = c->ids;
}

static void case_new(Case *c, const OpSpec *op, int k)
{
    Rng r = rng_new(2, RNG_TEST, (uint32_t)k);
    *c = (Case){.op = op};
    choose(op, k, &c->call);
    fill(c, &r);
}

static void case_free(Case *c) { arena_free(&c->arena); }

static Tensor *run(Tape *tp, Case *c)
{
    return c->op->run(tp, c->in, &c->call);
}

/* Gradients from 0: where two backward passes are compared, so that nothing
 * is rounded away in what they started at. */
static void start_at_zero(Case *c)
{
    for (int a = 0; a < c->n; a++)
        for (long i = 0; i < size(c->in[a]); i++) c->prefill[a][i] = 0;
}

/* Gradients as they were before any backward pass. */
static void refill(Case *c)
{
    for (int a = 0; a < c->n; a++)
        if (c->in[a]->grad)
            memcpy(c->in[a]->grad, c->prefill[a],
                   (size_t)size(c->in[a]) * sizeof(real));
}

static void random_cotangent(real *u, long n, uint32_t seed)
{
    Rng r = rng_new(3, RNG_TEST, seed);
    for (long i = 0; i < n; i++) u[i] = rng_normal(&r);
}

/* ------------------------------------------------------------------------
 * Comparing */

/* |got - want| / |want| in the L2 norm; |got| where want is all 0. */
static double relative(long n, const double *got, const double *want)
{
    double d2 = 0, w2 = 0;
    for (long i = 0; i < n; i++) {
        d2 += (got[i] - want[i]) * (got[i] - want[i]);
        w2 += want[i] * want[i];
    }
    return w2 > 0 ? sqrt(d2 / w2) : sqrt(d2);
}

/* Names op, case, argument and the element that is furthest off. */
static bool expect_close(const Case *c, const char *what, int a, long n,
                         const double *got, const double *want, double bound)
{
    double e = relative(n, got, want);
    long worst = 0;
    for (long i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= fabs(got[worst] - want[worst])))
            worst = i;
    return EXPECT(e <= bound,
                  "%s %s, %s, argument %d of shape %s: relative error %.1e; "
                  "worst at element %ld: got %.17g, expected %.17g",
                  c->op->name, c->text, what, a, c->op->in[a], e, worst,
                  got[worst], want[worst]);
}

static bool same_bits(long n, const real *x, const real *y)
{
    return memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static void expect_inputs_unchanged(const Case *c, const char *when)
{
    for (int a = 0; a < c->n; a++)
        EXPECT(same_bits(size(c->in[a]), c->in[a]->data, c->before[a]),
               "%s %s: argument %d was changed by %s", c->op->name, c->text,
               a, when);
}

/* The gradients by backward of every input, under the cotangent of `seed`,
 * less what they started at. */
static void gradients(Case *c, uint32_t seed, double *grad[MAX_IN])
{
    Tape tape = {.recording = true};
    refill(c);
    Tensor *y = run(&tape, c);
    real *u = arena_alloc(&c->arena, (size_t)size(y) * sizeof *u);
    random_cotangent(u, size(y), seed);
    if (tape.last) tape_backward(&tape, y, u);
    for (int a = 0; a < c->n; a++) {
        long n = size(c->in[a]);
        grad[a] = arena_alloc(&c->arena, (size_t)n * sizeof(double));
        for (long i = 0; i < n; i++)
            grad[a][i] = c->in[a]->grad ?
                (double)(c->in[a]->grad[i] - c->prefill[a][i]) : 0;
    }
    arena_free(&tape.arena);
}

/* ------------------------------------------------------------------------
 * The gradient check */
#ifdef REAL_DOUBLE

/* Richardson's extrapolation of central differences. With step h they are
 * f' + a h^2 + b h^4 + O(h^6); from h, h/2 and h/4 both terms cancel. At this
 * h the O(h^6) and the rounding, 1e-16/h, are both below 1e-12. */
enum { LEVELS = 3 };
static const double H = 0x1p-7, WEIGHT[LEVELS] = {1/45., -20/45., 64/45.};

/* Column j of the Jacobian of argument a: J[i*n + j] = d y_i / d x_j. */
static void differences(Case *c, Tape *tp, int a, long j, double *J)
{
    long n = size(c->in[a]);
    double h = H, x = c->in[a]->data[j];
    for (int k = 0; k < LEVELS; k++, h /= 2) {
        for (int sign = -1; sign <= 1; sign += 2) {
            c->in[a]->data[j] = x + sign * h;
            Tensor *y = run(tp, c);
            for (long i = 0; i < size(y); i++)
                J[i * n + j] += WEIGHT[k] * sign * y->data[i] / (2 * h);
            tape_reset(tp);
        }
    }
    c->in[a]->data[j] = x;
}

static double *jacobian(Case *c, int a, long outputs)
{
    Tape tape = {.recording = true};    /* dropout is idle without */
    long n = size(c->in[a]);
    double *J = calloc((size_t)(outputs * n), sizeof *J);
    for (long j = 0; j < n; j++) differences(c, &tape, a, j, J);
    arena_free(&tape.arena);
    return J;
}

/* Backward under random cotangents u against u'J. */
static double check_random(Case *c, int a, long outputs, const double *J)
{
    long n = size(c->in[a]);
    real *u = malloc((size_t)outputs * sizeof *u);
    double worst = 0, *want = malloc((size_t)n * sizeof *want);
    for (uint32_t seed = 0; seed < COTANGENTS; seed++) {
        double *got[MAX_IN];
        random_cotangent(u, outputs, seed);
        gradients(c, seed, got);
        memset(want, 0, (size_t)n * sizeof *want);
        for (long i = 0; i < outputs; i++)
            for (long j = 0; j < n; j++) want[j] += u[i] * J[i * n + j];
        expect_close(c, "random cotangent", a, n, got[a], want,
                     GRADIENT_BOUND);
        worst = fmax(worst, relative(n, got[a], want));
    }
    free(u);
    free(want);
    return worst;
}

/* One output at a time: the whole Jacobian by backward against J. */
static double check_one_hot(Case *c, int a, long outputs, const double *J)
{
    Tape tape = {.recording = true};
    long n = size(c->in[a]);
    Tensor *y = run(&tape, c);
    real *u = calloc((size_t)outputs, sizeof *u);
    double *got = malloc((size_t)(outputs * n) * sizeof *got);
    for (long i = 0; i < outputs; i++) {
        refill(c);
        u[i] = 1;
        tape_backward(&tape, y, u);
        u[i] = 0;
        for (long j = 0; j < n; j++)
            got[i * n + j] = c->in[a]->grad[j] - c->prefill[a][j];
    }
    expect_close(c, "one-hot cotangents (element = output * size + input)", a,
                 outputs * n, got, J, GRADIENT_BOUND);
    double e = relative(outputs * n, got, J);
    free(u);
    free(got);
    arena_free(&tape.arena);
    return e;
}

static double check_argument(Case *c, int a)
{
    long outputs = shape_size(shape_of(c->op->out, &c->call));
    double *J = jacobian(c, a, outputs);
    double worst = check_random(c, a, outputs, J);
    if (outputs <= MAX_ONE_HOT)
        worst = fmax(worst, check_one_hot(c, a, outputs, J));
    expect_inputs_unchanged(c, "forward and backward");
    free(J);
    return worst;
}

static void gradient(const OpSpec *op)
{
    double worst = 0;
    EXPECT(op->gap == 0 || op->gap > H, "op_%s_spec: a gap of %g lets "
           "differences of step %g cross the kink", op->name, op->gap, H);
    for (int k = 0; k < CASES; k++) {
        Case c;
        case_new(&c, op, k);
        for (int a = 0; a < c.n; a++)
            worst = fmax(worst, check_argument(&c, a));
        case_free(&c);
    }
    test_say("%-16s worst relative error of a gradient %.1e in %d shapes",
             op->name, worst, CASES);
}

#endif

/* ------------------------------------------------------------------------
 * The other properties */

/* Rounding only: the same sum in another order. */
#ifdef REAL_DOUBLE
#define ROUNDING 1e-12
#else
#define ROUNDING 1e-4
#endif

static void output_shape(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        Tape tape = {.recording = true};
        Case c;
        case_new(&c, op, k);
        Shape want = shape_of(op->out, &c.call), got = run(&tape, &c)->shape;
        EXPECT(shape_equal(got, want), "%s %s: got an output of shape %s, "
               "expected %s", op->name, c.text, shape_text(got),
               shape_text(want));
        arena_free(&tape.arena);
        case_free(&c);
    }
}

/* y + y, or op(x) + op(x) from two calls: twice the gradient. */
static void twice(Case *c, int calls)
{
    Tape tape = {.recording = true};
    double *want[MAX_IN], *got;
    start_at_zero(c);
    gradients(c, 0, want);
    refill(c);
    Tensor *y = run(&tape, c), *z = calls == 1 ? y : run(&tape, c);
    real *u = arena_alloc(&c->arena, (size_t)size(y) * sizeof *u);
    random_cotangent(u, size(y), 0);
    tape_backward(&tape, op_add(&tape, y, z), u);
    for (int a = 0; a < c->n; a++) {
        long n = size(c->in[a]);
        got = arena_alloc(&c->arena, (size_t)n * sizeof *got);
        for (long i = 0; i < n; i++) {
            want[a][i] *= 2;
            got[i] = (double)c->in[a]->grad[i];
        }
        expect_close(c, calls == 1 ? "y + y" : "op(x) + op(x)", a, n, got,
                     want[a], ROUNDING);
    }
    arena_free(&tape.arena);
}

static void used_twice(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        Case c;
        case_new(&c, op, k);
        twice(&c, 1);
        twice(&c, 2);
        case_free(&c);
    }
}

/* op(x, x): the one gradient is the sum of both arguments'. */
static void same_argument(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        double *two[MAX_IN], *one[MAX_IN];
        Case c;
        case_new(&c, op, k);
        if (c.n == 2 && shape_equal(c.in[0]->shape, c.in[1]->shape)) {
            long n = size(c.in[0]);
            memcpy(c.in[1]->data, c.in[0]->data, (size_t)n * sizeof(real));
            start_at_zero(&c);
            gradients(&c, 0, two);
            for (long i = 0; i < n; i++) two[0][i] += two[1][i];
            c.in[1] = c.in[0];
            c.prefill[1] = c.prefill[0];
            gradients(&c, 0, one);
            expect_close(&c, "op(x, x)", 0, n, one[0], two[0], ROUNDING);
        }
        case_free(&c);
    }
}

/* Argument a wants no gradient: the others' gradients are what they were. */
static void without_one(Case *c, int a, double *want[MAX_IN])
{
    double *got[MAX_IN];
    real *grad = c->in[a]->grad;
    c->in[a]->wants_grad = false;
    c->in[a]->grad = NULL;
    gradients(c, 0, got);
    for (int other = 0; other < c->n; other++)
        if (other != a)
            expect_close(c, "when another argument wants no gradient", other,
                         size(c->in[other]), got[other], want[other],
                         ROUNDING);
    EXPECT(!c->in[a]->grad && !c->in[a]->wants_grad,
           "%s %s: argument %d was given a gradient it does not want",
           c->op->name, c->text, a);
    c->in[a]->wants_grad = true;
    c->in[a]->grad = grad;
}

static void without_gradient(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        Tape tape = {.recording = true};
        double *want[MAX_IN];
        Case c;
        case_new(&c, op, k);
        start_at_zero(&c);
        gradients(&c, 0, want);
        for (int a = 0; a < c.n; a++) without_one(&c, a, want);
        for (int a = 0; a < c.n; a++) c.in[a]->wants_grad = false;
        Tensor *y = run(&tape, &c);
        EXPECT(!tape.last && !y->wants_grad,
               "%s %s: recorded although no argument wants a gradient",
               op->name, c.text);
        arena_free(&tape.arena);
        case_free(&c);
    }
}

/* A tape that does not record: the same numbers, nothing left behind. What
 * is only for training (dropout) returns its argument itself. */
static void evaluation(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        Tape on = {.recording = true}, off = {.recording = false};
        Case c;
        case_new(&c, op, k);
        Tensor *y = run(&on, &c), *z = run(&off, &c);
        EXPECT(!off.last, "%s %s: recorded on a tape that does not record",
               op->name, c.text);
        if (op->training_only)
            EXPECT(z == c.in[0], "%s %s: does something in evaluation",
                   op->name, c.text);
        else
            EXPECT(same_bits(size(y), y->data, z->data) && !z->wants_grad,
                   "%s %s: evaluation gives other bits than training, or "
                   "wants a gradient", op->name, c.text);
        expect_inputs_unchanged(&c, "forward");
        arena_free(&on.arena);
        arena_free(&off.arena);
        case_free(&c);
    }
}

/* ------------------------------------------------------------------------
 * Golden numbers */

/* "N=2,C=3" */
static void read_dims(const char *text, Call *call)
{
    for (const char *p = text; *p; p++)
        if (*p >= 'A' && *p <= 'Z' && p[1] == '=')
            call->dim[*p - 'A'] = (int)strtol(p + 2, NULL, 10);
}

static void golden(const OpSpec *op)
{
    Tape tape = {.recording = true};
    Case c = {.op = op};
    Rng r = rng_new(4, RNG_TEST, 0);
    if (!EXPECT(op->golden.dims && op->golden.source,
                "op_%s_spec has no golden numbers: without numbers worked "
                "out elsewhere nothing says that its forward is right",
                op->name)) return;
    read_dims(op->golden.dims, &c.call);
    fill(&c, &r);
    for (int a = 0; a < c.n; a++) {
        CHECK(size(c.in[a]) <= MAX_GOLDEN, "op_%s_spec: golden shape %s",
              op->name, shape_text(c.in[a]->shape));
        for (long i = 0; i < size(c.in[a]); i++)
            c.in[a]->data[i] = (real)op->golden.in[a][i];
    }
    if (op->ids) c.call.ids = op->golden.ids;
    Tensor *y = run(&tape, &c);
    CHECK(size(y) <= MAX_GOLDEN, "op_%s_spec: golden output", op->name);
    for (long i = 0; i < size(y); i++) {
        double got = (double)y->data[i], want = op->golden.out[i];
        EXPECT(fabs(got - want) <= GOLDEN_BOUND * fmax(1, fabs(want)),
               "%s %s, output element %ld: got %.17g, expected %.17g (%s)",
               op->name, op->golden.dims, i, got, want, op->golden.source);
    }
}

/* ------------------------------------------------------------------------
 * Shapes that must be refused */

static const Call ANY = {{1,1,1,1,1,1,1,1,1,1,1,1,1, 1,1,1,1,1,1,1,1,1,1,1,1,1},
                         (const int[MAX_IDS]){0}};

typedef struct { const OpSpec *op; const char *const *shapes; } Refusal;

static void run_refused(void *arg)
{
    const Refusal *r = arg;
    Tape tape = {.recording = true};
    Tensor *in[MAX_IN] = {NULL};
    for (int a = 0; a < MAX_IN && r->shapes[a]; a++) {
        Shape s = shape_of(r->shapes[a], &ANY);
        in[a] = tensor_param(&tape.arena, s);
        memset(in[a]->data, 0, (size_t)size(in[a]) * sizeof(real));
    }
    r->op->run(&tape, in, &ANY);
}

/* The line names the op and the shape it was given that does not fit: that of
 * the second argument, or of the only one. */
static void refuses(const OpSpec *op)
{
    int n = 0;
    for (int i = 1; i < MAX_IN; i++) n += op->in[i] != NULL;
    EXPECT(n == 0 || op->refuse[0][0],
           "op_%s_spec names no shapes that must be refused", op->name);
    for (int k = 0; k < 4 && op->refuse[k][0]; k++) {
        Refusal refusal = {op, op->refuse[k]};
        const char *wrong = op->refuse[k][op->refuse[k][1] != NULL];
        char given[40];
        snprintf(given, sizeof given, "%s", shape_text(shape_of(wrong, &ANY)));
        EXPECT_DIES(EXIT_INTERNAL, run_refused, &refusal, op->name, given);
    }
}

/* ------------------------------------------------------------------------
 * Threads divide the work and never a sum */

#ifdef _OPENMP
static void thread_case(Case *c)
{
    static const int counts[] = {1, 2, 3, 8};
    real *y1 = NULL, *g1[MAX_IN] = {NULL};
    for (int i = 0; i < 4; i++) {
        Tape tape = {.recording = true};
        refill(c);
        thread_limit(counts[i]);
        Tensor *y = run(&tape, c);
        real *u = arena_alloc(&c->arena, (size_t)size(y) * sizeof *u);
        random_cotangent(u, size(y), 0);
        tape_backward(&tape, y, u);
        if (i == 0) y1 = copy(&c->arena, size(y), y->data);
        EXPECT(same_bits(size(y), y->data, y1), "%s %s: %d threads give "
               "another output than 1", c->op->name, c->text, counts[i]);
        for (int a = 0; a < c->n; a++) {
            long n = size(c->in[a]);
            if (i == 0) g1[a] = copy(&c->arena, n, c->in[a]->grad);
            EXPECT(same_bits(n, c->in[a]->grad, g1[a]), "%s %s: %d threads "
                   "give another gradient of argument %d than 1",
                   c->op->name, c->text, counts[i], a);
        }
        arena_free(&tape.arena);
    }
}

static void any_threads(const OpSpec *op)
{
    for (int k = 0; k < CASES; k++) {
        Case c;
        case_new(&c, op, k);
        thread_case(&c);
        case_free(&c);
    }
}
#endif

/* ------------------------------------------------------------------------
 * The list: the ops of the folder, and variants that their adapters leave
 * out */

static Tensor *run_attention_all(Tape *tp, Tensor **in, const Call *call)
{
    return op_attention(tp, in[0], call->dim['H' - 'A'], false);
}

static const OpSpec op_attention_all_spec = {
    .name = "attention_all", .in = {"B,T,3HD"}, .out = "B,T,HD",
    .run = run_attention_all,
    .golden = {"B=1,T=2,H=2,D=2",
        .in = {{0.47, -1.06, 1.42, -0.11, -1.64, 0.83, -0.70, 1.78,
                0.25, -1.28, 1.19, -0.33, -1.86, 0.61, -0.92, 1.55,
                0.03, -1.50, 0.97, -0.56, 1.91, 0.39, -1.14, 1.33}},
        .out = {1.7589310542056824, 0.23802100031535525,
                -0.82582734899586008, 1.1061688409155055,
                0.31492608094589009, -1.2146827980845563,
                1.1310366234590405, -0.28799175748584022},
        .source = "PyTorch, double: tests/golden.py"},
};

static Tensor *run_linear_no_bias(Tape *tp, Tensor **in, const Call *call)
{
    (void)call;
    return op_linear(tp, in[0], in[1], NULL);
}

static const OpSpec op_linear_no_bias_spec = {
    .name = "linear_no_bias", .in = {"B,T,K", "K,M"}, .out = "B,T,M",
    .run = run_linear_no_bias,
    .golden = {"B=1,T=2,K=2,M=1", {{1, 2, 3, 4}, {10, -1}}, .out = {8, 26},
               .source = "by hand"},
};

/* More positions than tokens: the rest has no gradient. */
static Tensor *run_embedding_long(Tape *tp, Tensor **in, const Call *call)
{
    int B = call->dim['B' - 'A'], T = call->dim['T' - 'A'];
    return op_embedding(tp, in[0], in[1], call->ids, B, T);
}

static const OpSpec op_embedding_long_spec = {
    .name = "embedding_long", .in = {"V,C", "2T,C"}, .out = "B,T,C",
    .run = run_embedding_long, .ids = "B,T", .below = 'V',
    .golden = {"B=1,T=1,V=2,C=2", {{1, 2, 3, 4}, {.5, .25, 9, 9}},
               .ids = {1}, .out = {3.5, 4.25}, .source = "by hand"},
};

/* As TEST does, but under this file's name and not the list's. */
static const char this_file[] = __FILE__;
#define PROPERTY(op, what)                                                  \
    static void op##_##what(void) { what(&op_##op##_spec); }                \
    __attribute__((constructor)) static void op##_##what##_register(void)   \
    { test_register(#op "_" #what, this_file, op##_##what); }

#ifdef REAL_DOUBLE
#define GRADIENT(op) PROPERTY(op, gradient)
#else
#define GRADIENT(op)
#endif
#ifdef _OPENMP
#define THREADS(op) PROPERTY(op, any_threads)
#else
#define THREADS(op)
#endif
#define VARIANT(op)                                                         \
    GRADIENT(op)                                                            \
    PROPERTY(op, output_shape)                                              \
    PROPERTY(op, used_twice)                                                \
    PROPERTY(op, same_argument)                                             \
    PROPERTY(op, without_gradient)                                          \
    PROPERTY(op, evaluation)                                                \
    PROPERTY(op, golden)                                                    \
    THREADS(op)

#define OP(op)                                                              \
    extern const OpSpec op_##op##_spec;                                     \
    VARIANT(op)                                                             \
    PROPERTY(op, refuses)
#include "op_list.h"
#undef OP

VARIANT(attention_all)
VARIANT(linear_no_bias)
VARIANT(embedding_long)

/* ------------------------------------------------------------------------
 * Identities of layernorm, with z = (x - mu) r, r = 1/sqrt(var + eps) and
 * h = g dy:
 *   sum_c dx = 0                shifting x changes nothing
 *   dx.z = (h.z) r eps / (var + eps)    stretching it does, if eps > 0
 *   LN(x + a) = LN(x) */

enum { WIDE = 64 };

static void layernorm_row(double eps, Rng *r)
{
    Tape tape = {.recording = true};
    Tensor *x = tensor_param(&tape.arena, (Shape){2, {1, WIDE}});
    Tensor *g = tensor_new(&tape.arena, (Shape){1, {WIDE}});
    Tensor *b = tensor_new(&tape.arena, (Shape){1, {WIDE}});
    real dy[WIDE];
    double sum = 0, mu = 0, var = 0, hz = 0, dxz = 0;
    for (int c = 0; c < WIDE; c++) {
        x->data[c] = rng_normal(r), g->data[c] = rng_normal(r);
        b->data[c] = 0, dy[c] = rng_normal(r);
        mu += (double)x->data[c] / WIDE;
    }
    for (int c = 0; c < WIDE; c++)
        var += ((double)x->data[c] - mu) * ((double)x->data[c] - mu) / WIDE;
    Tensor *y = op_layernorm(&tape, x, g, b, (real)eps);
    tape_backward(&tape, y, dy);
    for (int c = 0; c < WIDE; c++) {
        double z = ((double)x->data[c] - mu) / sqrt(var + eps);
        sum += (double)x->grad[c];
        hz += (double)(g->data[c] * dy[c]) * z;
        dxz += (double)x->grad[c] * z;
        x->data[c] += 1;
    }
    double want = hz * eps / ((var + eps) * sqrt(var + eps));
    EXPECT(fabs(sum) <= ROUNDING, "sum of dx: got %g, expected 0", sum);
    EXPECT(fabs(dxz - want) <= ROUNDING, "dx.z: got %.17g, expected %.17g",
           dxz, want);
    Tensor *shifted = op_layernorm(&tape, x, g, b, (real)eps);
    for (int c = 0; c < WIDE; c++)
        EXPECT(fabs((double)(shifted->data[c] - y->data[c])) <= ROUNDING,
               "LN(x + 1), element %d: got %.17g, expected %.17g", c,
               (double)shifted->data[c], (double)y->data[c]);
    arena_free(&tape.arena);
}

TEST(layernorm_identities)
{
    Rng r = rng_new(5, RNG_TEST, 0);
    for (int k = 0; k < 10; k++) {
        layernorm_row(1e-5, &r);
        layernorm_row(.5, &r);
        layernorm_row(0, &r);
    }
}

/* mean x^2 - mu^2 in one pass is 13 % off in float where mu is 1000; what is
 * left here is the rounding of mu itself, 1000 * 2^-24. */
TEST(layernorm_far_from_zero)
{
    Tape tape = {.recording = false};
    Rng r = rng_new(6, RNG_TEST, 0);
    Tensor *x = tensor_new(&tape.arena, (Shape){2, {1, WIDE}});
    Tensor *g = tensor_new(&tape.arena, (Shape){1, {WIDE}});
    Tensor *b = tensor_new(&tape.arena, (Shape){1, {WIDE}});
    double mu = 0, var = 0;
    for (int c = 0; c < WIDE; c++) {
        x->data[c] = 1000 + rng_normal(&r), g->data[c] = 1, b->data[c] = 0;
        mu += (double)x->data[c] / WIDE;
    }
    for (int c = 0; c < WIDE; c++)
        var += ((double)x->data[c] - mu) * ((double)x->data[c] - mu) / WIDE;
    Tensor *y = op_layernorm(&tape, x, g, b, (real)1e-5);
    for (int c = 0; c < WIDE; c++) {
        double z = ((double)x->data[c] - mu) / sqrt(var + 1e-5);
        EXPECT(fabs((double)y->data[c] - z) <= 2e-4,
               "element %d: got %.9g, expected %.9g", c, (double)y->data[c],
               z);
    }
    arena_free(&tape.arena);
}

/* A row of zeros: mean x^2 is 0 and r = 1/sqrt(eps), so y = 0 and dx = r g dy,
 * both finite. */
TEST(rmsnorm_of_zeros)
{
    Tape tape = {.recording = true};
    Tensor *x = tensor_param(&tape.arena, (Shape){2, {2, WIDE}});
    Tensor *g = tensor_param(&tape.arena, (Shape){1, {WIDE}});
    real dy[2 * WIDE], r = 1 / sqrt((real)1e-5);
    for (int i = 0; i < 2 * WIDE; i++) {
        x->data[i] = i < WIDE ? 0 : (real)i;
        dy[i] = (real)(i % 7) - 3;
        g->data[i % WIDE] = (real)(i % 5) + 1;
    }
    Tensor *y = op_rmsnorm(&tape, x, g, (real)1e-5);
    tape.find_nonfinite = true;
    EXPECT(!tape_nonfinite(&tape) && !tape_backward(&tape, y, dy),
           "not finite");
    for (int c = 0; c < WIDE; c++) {
        real want = r * g->data[c] * dy[c];
        EXPECT(y->data[c] == 0, "y of element %d: %g", c, (double)y->data[c]);
        EXPECT(fabs((double)(x->grad[c] - want)) <= 1e-6 * fabs((double)want),
               "dx of element %d: got %.9g, expected %.9g", c,
               (double)x->grad[c], (double)want);
    }
    arena_free(&tape.arena);
}
