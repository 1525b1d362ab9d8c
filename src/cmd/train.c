/* train: from a text to a model of it, and a verdict.
 *
 * The text becomes token ids, a batch of them logits and a loss (gpt_loss),
 * the loss a gradient (tape_backward), and the gradient an update
 * (optim_step): that is train_step, below main. The rest draws batches,
 * evaluates, and tells what is going on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "config.h"
#include "die.h"
#include "generate.h"
#include "kernels.h"
#include "sha256.h"
#include "story.h"
#include "weights.h"

typedef struct {
    Text   text;
    GPT    model;
    Optim  optim;
    Tape   tape;
    Arena  arena;               /* the run: corpus, optimiser, batch */
    int   *ids, *targets;       /* (batch, context) */
    FILE  *metrics;
    Sha256 curve;               /* of the training losses, in order */
    double start;               /* seconds */
    bool   live;                /* a terminal: one line, drawn over */
} Run;

typedef struct {
    long   step;
    real   loss, rate, grad_norm, val_loss;
    bool   evaluated;
    double seconds;             /* that the step took */
} Report;

static void   begin(Run *r);
static void   train_step(Run *r, Report *s);
static real   evaluate(Run *r, int batches);
static void   tell(Run *r, const Report *s);
static void   finish(Run *r);
static void   save(Run *r);

int main(int argc, char **argv)
{
    static Run run;
    flags_parse(config_flags, "train a GPT on a text, character by character",
                NULL, argc, argv);
    config_resolve();
    begin(&run);
    for (long step = 1; step <= config.schedule.steps; step++) {
        Report s = {.step = step};
        train_step(&run, &s);
        if (step % config.eval_interval == 0) {
            s.val_loss = evaluate(&run, config.eval_iters);
            s.evaluated = true;
            save(&run);
        }
        tell(&run, &s);
    }
    finish(&run);
    return 0;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One step of training. */

/* Copies the windows of B sequences that begin at the offsets. */
static void load_batch(Run *r, int B, const long *offset)
{
    int T = config.model.context;
    size_t bytes = sizeof(int) * (size_t)T;
    for (int b = 0; b < B; b++) {
        memcpy(r->ids + b * T, r->text.ids + offset[b], bytes);
        memcpy(r->targets + b * T, r->text.ids + offset[b] + 1, bytes);
    }
}

/* Random windows, with replacement, of the characters from .. to - 1. */
static void draw_batch(Run *r, Rng noise, long from, long to)
{
    long *offset = tape_alloc(&r->tape, sizeof(long) * (size_t)config.batch);
    for (int b = 0; b < config.batch; b++)
        offset[b] = from + (long)rng_below(&noise, (uint32_t)
                                           (to - from - config.model.context));
    load_batch(r, config.batch, offset);
}

_Noreturn static void diverged(long step, const Node *nd, const char *pass)
{
    if (!nd)
        die(EXIT_DIVERGED, "diverged at step %ld: every gradient is finite, "
            "but their norm is not", step);
    if (nd->layer)
        die(EXIT_DIVERGED, "diverged at step %ld: the first value that is not "
            "finite came from layer %d, op %s (%s)", step, nd->layer, nd->op,
            pass);
    die(EXIT_DIVERGED, "diverged at step %ld: the first value that is not "
        "finite came from outside the layers, op %s (%s)", step, nd->op, pass);
}

/* The backward pass once more, stopping where the first bad value is made. */
_Noreturn static void diverged_backward(Run *r, Tensor *loss, long step)
{
    for (int i = 0; i < r->model.nparam; i++) {
        Tensor *t = r->model.param[i].t;
        memset(t->grad, 0, sizeof(real) * (size_t)size(t));
    }
    r->tape.find_nonfinite = true;
    diverged(step, tape_backward(&r->tape, loss, NULL), "backward");
}

static void train_step(Run *r, Report *s)
{
    uint64_t seed = config.model.seed;
    uint32_t step = (uint32_t)s->step;
    Tape *tp = &r->tape;
    double start = now();

    tape_reset(tp);
    tp->recording = true;
    tp->noise = rng_new(seed, RNG_DROPOUT, step);
    draw_batch(r, rng_new(seed, RNG_DATA, step), 0, r->text.ntrain);

    Tensor *loss = gpt_loss(tp, &r->model, r->ids, r->targets, config.batch,
                            config.model.context);
    s->loss = loss->data[0];
    if (!isfinite(s->loss)) diverged(s->step, tape_nonfinite(tp), "forward");

    tape_backward(tp, loss, NULL);
    s->grad_norm = grad_norm(&r->optim);
    if (!isfinite(s->grad_norm)) diverged_backward(r, loss, s->step);

    real clip = (real)config.grad_clip, scale = 1;
    if (clip > 0 && s->grad_norm > clip) scale = clip / s->grad_norm;
    s->rate = schedule_rate(&config.schedule, s->step);
    optim_step(&r->optim, s->rate, scale);
    s->seconds = now() - start;
}

/* Mean loss in nats per character: over random windows of the validation
 * part, the same at every evaluation, or over the whole part cut into
 * windows of the context's length. */

static real evaluate_whole(Run *r)
{
    int T = config.model.context, B = config.batch;
    long n = (r->text.n - r->text.ntrain - 1) / T;
    double total = 0;
    for (long w = 0; w < n; w += B) {
        tape_reset(&r->tape);
        if (n - w < B) B = (int)(n - w);
        long *offset = tape_alloc(&r->tape, sizeof(long) * (size_t)B);
        for (int b = 0; b < B; b++)
            offset[b] = r->text.ntrain + (w + b) * T;
        load_batch(r, B, offset);
        total += B * (double)gpt_loss(&r->tape, &r->model, r->ids, r->targets,
                                      B, T)->data[0];
    }
    return (real)(total / (double)n);
}

static real evaluate(Run *r, int batches)
{
    double total = 0;
    r->tape.recording = false;
    if (batches == 0) return evaluate_whole(r);
    for (int i = 0; i < batches; i++) {
        Rng noise = rng_new(config.model.seed, RNG_EVAL, (uint32_t)i);
        tape_reset(&r->tape);
        draw_batch(r, noise, r->text.ntrain, r->text.n);
        total += (double)gpt_loss(&r->tape, &r->model, r->ids, r->targets,
                                  config.batch, config.model.context)->data[0];
    }
    return (real)(total / batches);
}

/* Before the first step: what can be refused is refused now. */

static void open_output(Run *r)
{
    const char *path = path_in(config.out, "metrics.jsonl");
    if (mkdir(config.out, 0777) && errno != EEXIST)
        die(EXIT_CANTCREATE, "--out=%s: cannot create the directory: %s",
            config.out, strerror(errno));
    r->metrics = fopen(path, "w");
    if (!r->metrics)
        die(EXIT_CANTCREATE, "%s: cannot write: %s", path, strerror(errno));
    config_save(config.out, &r->text);
    r->live = isatty(STDOUT_FILENO);
}

static void begin(Run *r)
{
    size_t n = sizeof(int) * (size_t)config.batch
             * (size_t)config.model.context;
    if (config.threads) thread_limit(config.threads);
    r->text = config_text(&r->arena);
    config.model.vocab = r->text.vocab;
    gpt_new(&r->model, config.model);
    optim_new(&r->optim, config.optim, r->model.param, r->model.nparam,
              &r->arena);
    r->ids = arena_alloc(&r->arena, n);
    r->targets = arena_alloc(&r->arena, n);
    sha256_init(&r->curve);
    open_output(r);
    flags_print(stdout, config_flags);
    printf("\n%ld parameters; %ld characters to train on, %ld to validate, "
           "%d different; %d thread%s\n\n", gpt_size(&r->model),
           r->text.ntrain, r->text.n - r->text.ntrain, r->text.vocab,
           thread_count(), thread_count() == 1 ? "" : "s");
    r->start = now();
}

/* During training: a line in metrics.jsonl for every step, and progress. */

static void put_real(FILE *f, const char *key, double x)
{
    if (isfinite(x)) fprintf(f, ",\"%s\":%.9g", key, x);
    else fprintf(f, ",\"%s\":null", key);
}

static void put_metrics(Run *r, const Report *s, double tokens_per_s)
{
    fprintf(r->metrics, "{\"step\":%ld", s->step);
    put_real(r->metrics, "loss", (double)s->loss);
    put_real(r->metrics, "lr", (double)s->rate);
    put_real(r->metrics, "grad_norm", (double)s->grad_norm);
    put_real(r->metrics, "tokens_per_s", tokens_per_s);
    if (s->evaluated)
        put_real(r->metrics, "val_loss", (double)s->val_loss);
    fputs("}\n", r->metrics);
}

/* On a terminal the line is drawn over ten times a second, and stays where
 * there was an evaluation; elsewhere it is printed now and then. */
static void put_progress(Run *r, const Report *s, double tokens_per_s)
{
    static double shown;
    static real val;
    bool last = s->step == config.schedule.steps;
    bool stays = s->evaluated || last
              || (!r->live && s->step % config.log_interval == 0);
    double t = now(), left = (t - r->start) / (double)s->step
                           * (double)(config.schedule.steps - s->step);
    if (s->evaluated) val = s->val_loss;
    if (!stays && !(r->live && t - shown > 0.1)) return;
    shown = t;
    printf("%sstep %*ld/%d  loss %.4f", r->live ? "\r" : "", 5, s->step,
           config.schedule.steps, (double)s->loss);
    if (val > 0) printf("  val %.4f", (double)val);
    printf("  lr %.2e  %6.0f tok/s  %ld:%02ld left ", (double)s->rate,
           tokens_per_s, (long)left / 60, (long)left % 60);
    if (stays) putchar('\n');
    fflush(stdout);
}

static void tell(Run *r, const Report *s)
{
    double tokens = (double)config.batch * config.model.context;
    sha256_update(&r->curve, &s->loss, sizeof s->loss);
    put_metrics(r, s, tokens / s->seconds);
    put_progress(r, s, tokens / s->seconds);
    bool write = s->evaluated || s->step % config.log_interval == 0;
    if ((write && fflush(r->metrics)) || ferror(r->metrics))
        die(EXIT_IO, "%s: cannot write: %s",
            path_in(config.out, "metrics.jsonl"), strerror(errno));
    if (ferror(stdout)) die(EXIT_IO, "stdout: cannot write");
}

static void save(Run *r)
{
    weights_save(path_in(config.out, "model.safetensors"), r->model.param,
                 r->model.nparam);
}

/* After the last step: what was reached, beside what could be. */

static void put_bar(const char *name, double nats, double longest)
{
    enum { WIDTH = 40 };
    int n = (int)(nats / longest * WIDTH + 0.5);
    printf("  %-24s %7.4f  ", name, nats);
    for (int i = 0; i < n && i < WIDTH; i++) putchar('#');
    putchar('\n');
}

static void put_references(const Run *r, double loss)
{
    const Text *t = &r->text;
    double longest = t->uniform > loss ? t->uniform : loss;
    printf("\nnats per character, on the whole validation part\n");
    put_bar("every character alike", t->uniform, longest);
    put_bar("single characters", t->unigram, longest);
    put_bar("pairs of characters", t->bigram, longest);
    put_bar("this model", loss, longest);
    if (t->entropy > 0)
        put_bar("entropy of the language", t->entropy, longest);
}

static const char *verdict(const Text *t, double loss)
{
    double nearly = t->unigram - 0.1 * (t->unigram - t->bigram);
    if (loss < t->bigram)
        return "trained: it knows more than pairs of characters";
    if (loss < nearly)
        return "on its way: between single characters and pairs of them";
    if (loss < 1.1 * t->unigram)
        return "stuck at the unigram level: it knows how frequent characters "
               "are and nothing\nof what precedes them, the sign of tokens "
               "collapsed onto each other";
    return "hardly begun: it does not know yet how frequent characters are";
}

/* Eight samples side by side: prints the first, and, where the language has
 * a grammar, what share of all their sentences it allows. */
static void put_sample(Run *r)
{
    enum { STREAMS = 8, LENGTH = 600, SHOWN = 400 };
    static int ids[STREAMS * LENGTH];
    static char out[4 * LENGTH];
    long sentences = 0, right = 0;
    for (int b = 0; b < STREAMS; b++)
        ids[b * LENGTH] = text_start(&r->text);
    generate(&r->tape, &r->model, (Sampling){.temperature = 1},
             config.model.seed, ids, STREAMS, 1, LENGTH);
    for (int b = 0; b < STREAMS; b++) {
        long n = 0;
        for (int i = 0; i < LENGTH; i++) {
            n += text_decode(&r->text, ids[b * LENGTH + i], out + n);
            if (b == 0 && i == SHOWN)
                printf("\na sample\n%.*s\n", (int)n, out);
        }
        StoryScore score = story_judge(out, n);
        sentences += score.sentences;
        right += score.correct;
    }
    if (r->text.entropy > 0 && sentences)
        printf("\n%.0f %% of %ld sampled sentences are in the language\n",
               100.0 * (double)right / (double)sentences, sentences);
}

static void finish(Run *r)
{
    char hex[SHA256_HEX];
    double loss = (double)evaluate(r, 0);
    save(r);
    put_references(r, loss);
    printf("\n%s\n", verdict(&r->text, loss));
    put_sample(r);
    sha256_final(&r->curve, hex);
    printf("\nwrote %s, metrics.jsonl and config.json\n"
           "loss curve %.16s\n", path_in(config.out, "model.safetensors"),
           hex);
    if (fclose(r->metrics) || fflush(stdout) || ferror(stdout))
        die(EXIT_IO, "%s: cannot write: %s",
            path_in(config.out, "metrics.jsonl"), strerror(errno));
}
