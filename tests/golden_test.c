/* The whole model against PyTorch in double: loss, gradients, and 100 steps
 * of AdamW. tests/golden/PLACEMENT.txt is what tests/golden.py recorded; the
 * weights are not in it, both sides compute them by the same formula. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpt.h"
#include "optim.h"
#include "test.h"

#ifdef REAL_DOUBLE
static const double LOSS = 1e-12, GRADIENT = 1e-10, TRACE = 1e-8;
#else
static const double LOSS = 1e-5, GRADIENT = 1e-5, TRACE = 1e-4;
#endif
enum { B = 2, T = 5, V = 7 };

/* Element number i of all weights together: murmur3's finaliser. */
static real noise(uint32_t i)
{
    uint32_t h = i * 2654435761u;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return (real)((h ^ h >> 16) / 2147483648. - 1);
}

static Tensor *find(const GPT *m, const char *name)
{
    for (int i = 0; i < m->nparam; i++)
        if (!strcmp(m->param[i].name, name)) return m->param[i].t;
    return NULL;
}

/* Sets the weights, and reads loss and gradients as PyTorch has them: want[i]
 * as long as m->param[i]. The file lists each parameter of the model once. */
static double read_golden(GPT *m, FILE *f, double **want)
{
    double loss = 0;
    char name[48];
    long n;
    uint32_t number = 0;
    int read = 0;
    EXPECT(fscanf(f, "loss %lf", &loss) == 1, "a loss");
    while (fscanf(f, " gradient %47s %ld", name, &n) == 2) {
        Tensor *t = find(m, name);
        int i = 0;
        if (!EXPECT(t && size(t) == n, "the model has no %s of %ld elements",
                    name, n)) return loss;
        while (m->param[i].t != t) i++;
        want[i] = malloc((size_t)n * sizeof **want);
        bool gain = strstr(name, "ln_") && strstr(name, "weight");
        for (long k = 0; k < n; k++) {
            t->data[k] = (real)gain + (real).4 * noise(number++);
            EXPECT(fscanf(f, "%lf", &want[i][k]) == 1, "%s is cut off", name);
        }
        read++;
    }
    EXPECT(read == m->nparam, "%d parameters in the file, %d in the model",
           read, m->nparam);
    return loss;
}

static void expect_gradients(const GPT *m, const char *placement,
                             double **want)
{
    for (int i = 0; i < m->nparam; i++) {
        const Param *p = &m->param[i];
        for (long k = 0; want[i] && k < size(p->t); k++)
            EXPECT(fabs((double)p->t->grad[k] - want[i][k]) <= GRADIENT,
                   "%s, gradient of %s, element %ld: got %.17g, PyTorch has "
                   "%.17g", placement, p->name, k, (double)p->t->grad[k],
                   want[i][k]);
    }
}

static double step_loss(Tape *tape, const GPT *m)
{
    int ids[B * T], targets[B * T];
    for (int k = 0; k < B * T; k++) {
        ids[k] = (k * k + 3 * k) % V;
        targets[k] = (5 * k + 2) % V;
    }
    Tensor *y = gpt_loss(tape, m, ids, targets, B, T);
    tape_backward(tape, y, NULL);
    double value = (double)y->data[0];
    tape_reset(tape);
    return value;
}

/* The first backward pass has been done. */
static double expect_trace(GPT *m, const char *placement, FILE *f, Tape *tape,
                           double value)
{
    Optim o;
    OptimConfig adamw = {.method = ADAMW, .beta1 = .9, .beta2 = .98,
                         .eps = 1e-8, .weight_decay = .1};
    int steps = 0;
    double worst = 0;
    EXPECT(fscanf(f, " trace %d", &steps) == 1 && steps == 100, "a trace");
    optim_new(&o, adamw, m->param, m->nparam, &m->arena);
    for (int step = 0; step < steps; step++) {
        double want = 0;
        EXPECT(fscanf(f, "%lf", &want) == 1, "the trace is cut off");
        EXPECT(fabs(value - want) <= TRACE, "%s, step %d: the loss is %.17g, "
               "PyTorch has %.17g", placement, step, value, want);
        worst = fmax(worst, fabs(value - want));
        optim_step(&o, (real)1e-3, 1);
        value = step_loss(tape, m);
    }
    return worst;
}

static void compare(const char *name, GPTConfig c)
{
    GPT m;
    Tape tape = {.recording = true};
    char path[80];
    snprintf(path, sizeof path, "tests/golden/%s.txt", name);
    FILE *f = fopen(path, "r");
    if (!EXPECT(f, "%s is not here: add %s to tests/golden.py and run it",
                path, name)) return;
    c.layers = 2, c.width = 6, c.heads = 2, c.context = T, c.vocab = V;
    gpt_new(&m, c);
    double **want = calloc((size_t)m.nparam, sizeof *want);
    double loss = read_golden(&m, f, want), value = step_loss(&tape, &m);
    EXPECT(fabs(value - loss) <= LOSS, "%s: the loss is %.17g, PyTorch has "
           "%.17g", name, value, loss);
    expect_gradients(&m, name, want);
    double worst = expect_trace(&m, name, f, &tape, value);
    test_say("%-18s loss off PyTorch's by %.1e, over 100 steps by %.1e at most",
             name, fabs(value - loss), worst);
    for (int i = 0; i < m.nparam; i++) free(want[i]);
    free(want);
    fclose(f);
    arena_free(&tape.arena);
    gpt_free(&m);
}

TEST(as_pytorch_computes_it)
{
    for (int i = 0; placements[i].name; i++)
        compare(placements[i].name, (GPTConfig){.placement = i});
    compare("pre-rmsnorm-qknorm",
            (GPTConfig){.norm = RMSNORM, .qk_norm = true});
}
