#include <string.h>
#include "die.h"
#include "kernels.h"
#include "optim.h"
#include "setting.h"

/* -- X and R ------------------------------------------------------------ */

static GPTConfig setting(const char *placement, int layers, int seed)
{
    int p = 0;
    while (placements[p].name && strcmp(placements[p].name, placement)) p++;
    CHECK(placements[p].name, "lab: no placement is called %s", placement);
    return (GPTConfig){.layers = layers, .placement = p, .width = 64,
                       .heads = 4, .context = 32, .vocab = 64,
                       .init = INIT_XAVIER, .seed = (uint64_t)seed};
}

GPTConfig setting_x(const char *placement, int layers, int seed)
{
    GPTConfig c = setting(placement, layers, seed);
    c.heads = 1, c.inner = c.width, c.relu = c.unmasked = true;
    return c;
}

GPTConfig setting_r(const char *placement, int layers, int seed)
{
    GPTConfig c = setting(placement, layers, seed);
    c.relu = true;
    return c;
}

GPTConfig setting_s(const char *placement, int layers, int seed)
{
    GPTConfig c = setting(placement, layers, seed);
    c.context = 64, c.vocab = 65;
    return c;
}

void trial_new(Trial *t, GPTConfig c, int B)
{
    enum { INPUT, TARGETS };
    Rng rng = rng_new(c.seed, RNG_LAB, TARGETS);
    *t = (Trial){.L = c.layers, .d = c.width, .T = c.context, .B = B};
    gpt_new(&t->model, c);
    t->x0 = tensor_param(&t->arena, (Shape){3, {B, t->T, t->d}});
    t->targets = arena_alloc(&t->arena, sizeof(int) * (size_t)(B * t->T));
    for (int i = 0; i < B * t->T; i++)
        t->targets[i] = (int)rng_below(&rng, (uint32_t)c.vocab);
    rng = rng_new(c.seed, RNG_LAB, INPUT);
    rng_normals(&rng, 0, (int)size(t->x0), t->x0->data);
    t->probe = probe_new(&t->arena, &t->model);
    t->tape.recording = true;
}

/* W_Q and W_K are the first 2d columns of the attention's input matrix. The
 * model's own head starts with a quarter of the std. */
void trial_x(Trial *t, const char *placement, int layers, int seed)
{
    trial_new(t, setting_x(placement, layers, seed), 4);
    for (long k = 0; k < size(t->model.head); k++) t->model.head->data[k] *= 4;
    for (int i = 0; i < 2 * layers; i += 2)
        for (int row = 0; row < t->d; row++)
            memset(t->model.branch[i].in.W->data + row * 3 * t->d, 0,
                   2 * (size_t)t->d * sizeof(real));
}

void trial_r(Trial *t, const char *placement, int layers, int seed)
{
    trial_new(t, setting_r(placement, layers, seed), 4);
}

void joint_qkv(Trial *t)
{
    for (int i = 0; i < 2 * t->L; i += 2) {
        Tensor *W = t->model.branch[i].in.W;
        for (long k = 0; k < size(W); k++) W->data[k] *= sqrt((real)0.5);
    }
}

void trial_free(Trial *t)
{
    arena_free(&t->tape.arena);
    arena_free(&t->arena);
    gpt_free(&t->model);
}

Tensor *trial_stream(Trial *t)
{
    tape_reset(&t->tape);
    return gpt_layers(&t->tape, &t->model, t->x0);
}

Tensor *trial_output(Trial *t)
{
    Tensor *x = trial_stream(t);
    return t->model.last.g ? norm(&t->tape, x, &t->model.last) : x;
}

Tensor *trial_loss(Trial *t)
{
    Tensor *logits = op_unembed(&t->tape, trial_output(t), t->model.head);
    return op_cross_entropy(&t->tape, logits, t->targets);
}

void trial_step(Trial *t)
{
    Tensor *loss = trial_loss(t);
    probe_watch(t->probe, &t->tape);
    tape_backward(&t->tape, loss, NULL);
    probe_weights(t->probe);
}

double w2_gradient(const Trial *t, int l)
{
    return t->probe->row[2 * l - 1].grad_out;
}

double mean_square(const Tensor *x)
{
    double length = frobenius(size(x), x->data);
    return length * length / (double)size(x);
}

double exponent(int n, const double *x, const double *y)
{
    double u = 0, v = 0, uu = 0, uv = 0;
    for (int i = 0; i < n; i++) {
        double a = (double)klog((real)x[i]), b = (double)klog((real)y[i]);
        u += a / n, v += b / n, uu += a * a / n, uv += a * b / n;
    }
    return (uv - u * v) / (uu - u * u);
}

/* -- S ------------------------------------------------------------------ */

typedef struct {
    GPT   model;
    Optim optim;
    Tape  tape;
    Arena arena;
    const Text *text;
    int  *ids, *targets;    /* (BATCH, context) */
} Run;
enum { BATCH = 8, EVALUATED = 64 };     /* sequences, batches */

static Tensor *loss_of(Run *r, bool recording)
{
    tape_reset(&r->tape);
    r->tape.recording = recording;
    return gpt_loss(&r->tape, &r->model, r->ids, r->targets, BATCH,
                    r->model.config.context);
}

static real train_step(Run *r, const Training *how, int step)
{
    const GPTConfig *c = &r->model.config;
    Schedule constant = {DECAY_CONSTANT, how->warmup, how->steps, how->rate,
                         how->rate};
    text_batch(r->text, rng_new(c->seed, RNG_DATA, (uint32_t)step), 0,
               r->text->ntrain, BATCH, c->context, r->ids, r->targets);
    Tensor *loss = loss_of(r, true);
    tape_backward(&r->tape, loss, NULL);
    optim_step(&r->optim, schedule_rate(&constant, step),
               clip_scale(how->clip, grad_norm(&r->optim)));
    return loss->data[0];
}

/* On windows at equal distances over the whole validation part. */
static double validate(Run *r)
{
    const Text *t = r->text;
    int T = r->model.config.context;
    long last = t->n - t->ntrain - T - 1;
    double total = 0;
    for (int i = 0; i < EVALUATED; i++) {
        for (int b = 0; b < BATCH; b++)
            text_window(t, t->ntrain + last * (i * BATCH + b)
                                       / (EVALUATED * BATCH - 1), T,
                        r->ids + b * T, r->targets + b * T);
        total += (double)loss_of(r, false)->data[0];
    }
    return total / EVALUATED;
}

double train_on(Lab *lab, const Text *text, GPTConfig c, Training how)
{
    Run r = {.text = text};
    OptimConfig adam = {.beta1 = .9, .beta2 = .98, .eps = 1e-8};
    size_t bytes = sizeof(int) * BATCH * (size_t)c.context;
    double loss = 0;
    c.vocab = text->vocab;
    gpt_new(&r.model, c);
    optim_new(&r.optim, adam, r.model.param, r.model.nparam, &r.arena);
    r.ids = arena_alloc(&r.arena, bytes);
    r.targets = arena_alloc(&r.arena, bytes);
    for (int step = 1; step <= how.steps && isfinite(loss); step++) {
        loss = (double)train_step(&r, &how, step);
        if (step % 20 == 0)
            lab_progress(lab, "%s, %d layers, seed %d: step %d/%d, loss %.2f",
                         placements[c.placement].name, c.layers, (int)c.seed,
                         step, how.steps, loss);
    }
    loss = isfinite(loss) ? validate(&r) : NAN;
    arena_free(&r.tape.arena);
    arena_free(&r.arena);
    gpt_free(&r.model);
    return loss;
}

double train_s(Lab *lab, GPTConfig c, Training how)
{
    const Text *text = lab_text(lab, c.context);
    return text ? train_on(lab, text, c, how) : NAN;
}
