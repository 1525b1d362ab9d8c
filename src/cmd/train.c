/* train: from a text to a model of it, and a verdict.
 *
 * The text becomes token ids, a batch of them logits and a loss (gpt_loss),
 * the loss a gradient (tape_backward), and the gradient an update
 * (optim_step): that is train_step, below main. The rest draws batches,
 * evaluates, and tells what is going on. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clock.h"
#include "config.h"
#include "die.h"
#include "generate.h"
#include "json.h"
#include "kernels.h"
#include "probe.h"
#include "profile.h"
#include "report.h"
#include "sha256.h"
#include "story.h"
#include "weights.h"

enum { SAMPLE = 80 };          /* characters, at every evaluation */

typedef struct {
    Text   text;
    GPT    model;
    Optim  optim;
    Tape   tape;
    Probe *probe;               /* NULL: --probe-interval=0 */
    Arena  arena;               /* the run: corpus, optimiser, batch */
    int   *ids, *targets;       /* (batch, context) */
    FILE  *metrics;
    Sha256 curve;               /* of the training losses, in order */
    long   step;
    double start, shown;        /* seconds: of the run, of the last progress */
    bool   live;                /* a terminal: one line, drawn over */
    real   val_loss;            /* of the last evaluation; 0 before it */
    real   whole_loss;          /* at the end, of the whole part; 0 before */
    char   sample[4 * SAMPLE];  /* UTF-8, of the last evaluation */
    size_t nsample;             /* bytes */
    const char *verdict;        /* NULL before the end */
    double report_due;          /* seconds: not written anew before */
} Run;

typedef struct {
    real   loss, rate, grad_norm;
    bool   evaluated, probed;
    double seconds;             /* that the step took */
} Report;

static void   begin(Run *r);
static Report train_step(Run *r);
static real   evaluate(Run *r, int batches);
static void   draw_sample(Run *r);
static void   save(Run *r);
static void   tell(Run *r, const Report *s);
static void   put_report(Run *r, bool running);
static void   conclude(Run *r, const Report *last, const char *verdict);
static void   finish(Run *r, const Report *last);

int main(int argc, char **argv)
{
    static Run run;
    thread_setup(argv);
    flags_parse(config_flags, "train a GPT on a text, character by character",
                NULL, argc, argv);
    config_resolve();
    Report s = {0};
    begin(&run);
    while (run.step < config.schedule.steps) {
        run.step++;
        s = train_step(&run);
        if (run.step % config.eval_interval == 0) {
            run.val_loss = evaluate(&run, config.eval_iters);
            draw_sample(&run);
            s.evaluated = true;
            save(&run);
        }
        tell(&run, &s);
    }
    finish(&run, &s);
    return 0;
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
    /* Weights of an earlier run do not go with the new configuration. */
    remove(path_in(config.out, "model.safetensors"));
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
    if ((long)config.batch * config.model.context > INT_MAX / r->text.vocab)
        die(EXIT_USAGE, "--batch=%d times --context=%d must not be above %d "
            "with the %d different characters of %s", config.batch,
            config.model.context, INT_MAX / r->text.vocab, r->text.vocab,
            config.data);
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
    if (config.probe_interval) r->probe = probe_new(&r->arena, &r->model);
    if (config.profile) r->tape.profile = profile_new(&r->arena);
    put_report(r, true);
    r->start = now();
}

/* One step of training. */

static void draw_batch(Run *r, Rng noise, long from, long to)
{
    text_batch(&r->text, noise, from, to, config.batch, config.model.context,
               r->ids, r->targets);
}

/* Mean loss of the first B sequences of the batch, in nats per character */
static Tensor *batch_loss(Run *r, int B)
{
    return gpt_loss(&r->tape, &r->model, r->ids, r->targets, B,
                    config.model.context);
}

_Noreturn static void diverged(Run *r, const Node *nd, const char *pass)
{
    Report nothing = {NAN, NAN, NAN, .seconds = NAN};
    static char verdict[200];
    char layer[32] = "outside the layers";
    if (nd && nd->layer) snprintf(layer, sizeof layer, "layer %d", nd->layer);
    if (nd)
        snprintf(verdict, sizeof verdict, "diverged at step %ld: the first "
                 "value that is not finite came from %s, op %s (%s)", r->step,
                 layer, nd->op, pass);
    else
        snprintf(verdict, sizeof verdict, "diverged at step %ld: every "
                 "gradient is finite, but their norm is not", r->step);
    conclude(r, &nothing, verdict);
    die(EXIT_DIVERGED, "%s", verdict);
}

/* The backward pass once more, up to where the first bad value is made. */
_Noreturn static void diverged_backward(Run *r, Tensor *loss)
{
    for (int i = 0; i < r->model.nparam; i++) {
        Tensor *t = r->model.param[i].t;
        memset(t->grad, 0, sizeof(real) * (size_t)size(t));
    }
    r->tape.find_nonfinite = true;
    diverged(r, tape_backward(&r->tape, loss, NULL), "backward");
}

static Report train_step(Run *r)
{
    uint64_t seed = config.model.seed;
    uint32_t step = (uint32_t)r->step;
    Tape *tp = &r->tape;
    Report s = {.seconds = -now()};
    profile_start(tp->profile);
    s.probed = r->probe && (r->step == 1
                            || r->step % config.probe_interval == 0);

    tape_reset(tp);
    tp->recording = true;
    tp->noise = rng_new(seed, RNG_DROPOUT, step);
    draw_batch(r, rng_new(seed, RNG_DATA, step), 0, r->text.ntrain);
    profile_rest(tp->profile, "batch");

    Tensor *loss = batch_loss(r, config.batch);
    s.loss = loss->data[0];
    if (!isfinite(s.loss)) diverged(r, tape_nonfinite(tp), "forward");

    if (s.probed) probe_watch(r->probe, tp);
    tape_backward(tp, loss, NULL);
    if (s.probed) probe_weights(r->probe);
    s.grad_norm = grad_norm(&r->optim);
    if (!isfinite(s.grad_norm)) diverged_backward(r, loss);

    s.rate = schedule_rate(&config.schedule, r->step);
    optim_step(&r->optim, s.rate, clip_scale(config.grad_clip, s.grad_norm));
    if (s.probed) probe_update(r->probe);
    profile_rest(tp->profile, "update");
    s.seconds += now();
    return s;
}

/* Mean loss in nats per character, without dropout: over random windows of
 * the validation part, the same at every evaluation, or over the whole part
 * cut into windows of the context's length. */

static double evaluate_batch(Run *r, int B)
{
    tape_reset(&r->tape);
    r->tape.recording = false;
    double loss = (double)batch_loss(r, B)->data[0];
    if (isfinite(loss)) return loss;
    r->tape.recording = true;       /* once more, to see where it comes from */
    batch_loss(r, B);
    diverged(r, tape_nonfinite(&r->tape), "evaluation after the update");
}

static real evaluate_whole(Run *r)
{
    int T = config.model.context, B = config.batch;
    long n = (r->text.n - r->text.ntrain - 1) / T;
    double total = 0;
    for (long w = 0; w < n; w += B) {
        if (n - w < B) B = (int)(n - w);
        for (int b = 0; b < B; b++)
            text_window(&r->text, r->text.ntrain + (w + b) * T, T,
                        r->ids + b * T, r->targets + b * T);
        total += B * evaluate_batch(r, B);
    }
    return (real)(total / (double)n);
}

static real evaluate(Run *r, int batches)
{
    double total = 0;
    if (batches == 0) return evaluate_whole(r);
    for (int i = 0; i < batches; i++) {
        draw_batch(r, rng_new(config.model.seed, RNG_EVAL, (uint32_t)i),
                   r->text.ntrain, r->text.n);
        total += evaluate_batch(r, config.batch);
    }
    return (real)(total / batches);
}

/* What the model writes by now. The same draws at every evaluation, so that
 * only the model differs; training has draws of its own. */
static void draw_sample(Run *r)
{
    int ids[SAMPLE + 1] = {text_start(&r->text)};
    generate(&r->tape, &r->model, (Sampling){.temperature = 1},
             config.model.seed, ids, 1, 1, SAMPLE + 1);
    r->nsample = 0;
    for (int i = 1; i <= SAMPLE; i++)
        r->nsample += (size_t)text_decode(&r->text, ids[i],
                                          r->sample + r->nsample);
}

/* During training: a line in metrics.jsonl for every step, and progress. */

static void put_real(FILE *f, const char *key, double x)
{
    if (isfinite(x)) fprintf(f, ",\"%s\":%.9g", key, x);
    else fprintf(f, ",\"%s\":null", key);
}

static void put_string(FILE *f, const char *key, const char *s, size_t n)
{
    fprintf(f, ",\"%s\":", key);
    json_write_string(f, s, n);
}

static double tokens_per_s(const Report *s)
{
    return (double)config.batch * config.model.context / s->seconds;
}

static void put_metrics(Run *r, const Report *s)
{
    fprintf(r->metrics, "{\"step\":%ld", r->step);
    put_real(r->metrics, "loss", (double)s->loss);
    put_real(r->metrics, "lr", (double)s->rate);
    put_real(r->metrics, "grad_norm", (double)s->grad_norm);
    put_real(r->metrics, "tokens_per_s", tokens_per_s(s));
    if (s->evaluated)
        put_real(r->metrics, "val_loss", (double)r->val_loss);
    if (s->evaluated || r->whole_loss > 0)
        put_string(r->metrics, "sample", r->sample, r->nsample);
    if (r->whole_loss > 0)
        put_real(r->metrics, "val_loss_whole", (double)r->whole_loss);
    if (r->verdict)
        put_string(r->metrics, "verdict", r->verdict, strlen(r->verdict));
    if (s->probed) {
        fputs(",\"probe\":", r->metrics);
        probe_json(r->metrics, r->probe);
    }
    fputs("}\n", r->metrics);
}

/* On a terminal the line is drawn over ten times a second, and stays where
 * there was an evaluation; elsewhere it is printed now and then. */
static void put_progress(Run *r, const Report *s)
{
    int steps = config.schedule.steps;
    bool stays = s->evaluated || r->step == steps
              || (!r->live && r->step % config.log_interval == 0);
    double t = now();
    double left = (t - r->start) * (double)(steps - r->step) / (double)r->step;
    if (!stays && !(r->live && t - r->shown > 0.1)) return;
    r->shown = t;
    printf("%sstep %5ld/%d  loss %.4f", r->live ? "\r" : "", r->step, steps,
           (double)s->loss);
    if (r->val_loss > 0) printf("  val %.4f", (double)r->val_loss);
    printf("  lr %.2e  %6.0f tok/s  %ld:%02ld left ", (double)s->rate,
           tokens_per_s(s), (long)left / 60, (long)left % 60);
    if (stays) putchar('\n');
    fflush(stdout);
}

/* Ends the program if what was written so far did not arrive. */
static void check_written(Run *r)
{
    if (fflush(r->metrics) || ferror(r->metrics))
        die(EXIT_IO, "%s: cannot write: %s",
            path_in(config.out, "metrics.jsonl"), strerror(errno));
    if (fflush(stdout) || ferror(stdout))
        die(EXIT_IO, "stdout: cannot write: %s", strerror(errno));
}

/* OUT/report.html. As the run grows longer it takes longer to write; while
 * training it may take a twentieth of the time. */
static void put_report(Run *r, bool running)
{
    double t = now();
    if (running && t < r->report_due) return;
    report_write(path_in(config.out, "report.html"), &config.out, 1, running);
    r->report_due = now() + 20 * (now() - t);
}

static void tell(Run *r, const Report *s)
{
    sha256_update(&r->curve, &s->loss, sizeof s->loss);
    if (r->step < config.schedule.steps)        /* the last: in finish */
        put_metrics(r, s);
    put_progress(r, s);
    if (s->evaluated || r->step % config.log_interval == 0) check_written(r);
    if (s->evaluated && r->step < config.schedule.steps) put_report(r, true);
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
    int n = longest > 0 ? (int)(nats / longest * WIDTH + 0.5) : 0;
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
    enum { STREAMS = 8, LENGTH = 400, SHOWN = 399 };
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

/* What takes long after the last step says so. */
static void announce(const char *what)
{
    printf("%s ...\n", what);
    fflush(stdout);
}

/* The last line of the metrics, and the report as it stays. */
static void conclude(Run *r, const Report *last, const char *what)
{
    r->verdict = what;
    put_metrics(r, last);
    check_written(r);
    put_report(r, false);
}

static void finish(Run *r, const Report *last)
{
    char hex[SHA256_HEX];
    save(r);
    announce("\nevaluating on the whole validation part");
    r->whole_loss = evaluate(r, 0);
    double loss = (double)r->whole_loss;
    draw_sample(r);
    conclude(r, last, verdict(&r->text, loss));
    if (config.profile) {
        putchar('\n');
        profile_print(stdout, r->tape.profile, r->step);
    }
    put_references(r, loss);
    printf("\n%s\n", r->verdict);
    announce("\nsampling");
    put_sample(r);
    sha256_final(&r->curve, hex);
    printf("\nwrote %s, report.html, metrics.jsonl and config.json\n"
           "loss curve %.16s\n", path_in(config.out, "model.safetensors"),
           hex);
    check_written(r);
    fclose(r->metrics);
}
