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
#include <unistd.h>
#include "clock.h"
#include "config.h"
#include "die.h"
#include "generate.h"
#include "huggingface.h"
#include "kernels.h"
#include "outcome.h"
#include "probe.h"
#include "profile.h"
#include "report.h"
#include "rundir.h"
#include "start.h"
#include "stop.h"
#include "story.h"

enum { SAMPLE = 80 };          /* characters, at every evaluation */

typedef struct {
    Text   text;
    GPT    model;
    Optim  optim;
    Tape   tape;
    Probe *probe;               /* NULL: --probe-interval=0 */
    Arena  arena;               /* the run: corpus, optimiser, batch */
    int   *ids, *targets;       /* (batch, context) */
    Metrics  metrics;
    Progress at;
    long   begun, saved;        /* steps: where this process began, and of
                                   the last checkpoint */
    double start, shown;        /* seconds: of the run, of the last progress */
    bool   live;                /* a terminal: one line, drawn over */
    char   sample[4 * SAMPLE];  /* UTF-8, of the last evaluation */
    size_t nsample;             /* bytes */
    double report_due;          /* seconds: not written anew before */
} Run;

typedef struct {
    real   loss, rate, grad_norm;
    bool   evaluated, saved, probed;
    double seconds;             /* that the step took */
} Report;

static void   begin(Run *r);
static Report train_step(Run *r);
static void   record(Run *r, const Report *s);
static void   look_back(Run *r);
static bool   due_to_save(const Run *r);
static void   hint_at_saved(const Run *r);
static void   save(Run *r);
static void   tell(Run *r, const Report *s);
static void   put_report(Run *r, bool running);
static void   finish(Run *r);
_Noreturn static void interrupted(Run *r);

int main(int argc, char **argv)
{
    static Run run;
    thread_setup(argv);
    flags_parse(config_flags, "train a GPT on a text, character by character",
                NULL, argc, argv);
    begin(&run);
    while (run.at.step < config.schedule.steps && !stop_asked()) {
        run.at.step++;
        Report s = train_step(&run);
        record(&run, &s);
        s.evaluated = run.at.step % config.eval_interval == 0;
        if (s.evaluated) look_back(&run);
        s.saved = due_to_save(&run);
        if (s.saved) save(&run);
        tell(&run, &s);
    }
    if (stop_asked()) interrupted(&run);
    finish(&run);
    return 0;
}

/* Before the first step. */

static void allocate(Run *r)
{
    size_t n = sizeof(int) * (size_t)config.batch
             * (size_t)config.model.context;
    if ((long)config.batch * config.model.context > INT_MAX / r->text.vocab)
        die(EXIT_USAGE, "--batch=%d times --context=%d must not be above %d "
            "with the %d different characters of %s", config.batch,
            config.model.context, INT_MAX / r->text.vocab, r->text.vocab,
            config.data);
    if (r->text.vocab > INT_MAX / config.model.width)
        die(EXIT_USAGE, "--width=%d must not be above %d with the %d different "
            "characters of %s", config.model.width, INT_MAX / r->text.vocab,
            r->text.vocab, config.data);
    gpt_new(&r->model, config.model);
    optim_new(&r->optim, config.optim, r->model.param, r->model.nparam,
              &r->arena);
    r->ids = arena_alloc(&r->arena, n);
    r->targets = arena_alloc(&r->arena, n);
}

static void announce_run(const Run *r)
{
    flags_print(stdout, config_flags);
    printf("\n%ld parameters; %ld characters to train on, %ld to validate, "
           "%d different; %d thread%s\n", gpt_size(&r->model),
           r->text.ntrain, r->text.n - r->text.ntrain, r->text.vocab,
           thread_count(), thread_count() == 1 ? "" : "s");
    if (r->begun) printf("goes on from step %ld\n", r->begun);
    putchar('\n');
}

static void begin(Run *r)
{
    Start start;
    start_open(&start, &r->arena);
    if (config.threads) thread_limit(config.threads);
    r->text = config_text(&r->arena);
    start_text(&start, &r->arena, &r->text);
    allocate(r);
    start_weights(&start, &r->model, &r->optim);
    start_output(&start, &r->metrics, &r->text);
    r->at = start.at;
    r->begun = r->saved = r->at.step;
    r->live = isatty(STDOUT_FILENO);
    announce_run(r);
    if (config.probe_interval) r->probe = probe_new(&r->arena, &r->model);
    if (config.profile) r->tape.profile = profile_new(&r->arena);
    stop_listen();
    if (!r->at.evaluated) look_back(r);
    if (r->begun) {                 /* a kill may have come before these */
        hint_at_saved(r);
        rundir_point_best(config.out, r->at.best);
        rundir_keep(config.out, config.keep, r->at.best);
    }
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

/* The verdict ends the last line of the metrics, which is open. */
static void conclude(Run *r, const char *verdict)
{
    metrics_text(&r->metrics, "verdict", verdict, strlen(verdict));
    metrics_end(&r->metrics);
    metrics_flush(&r->metrics);
    put_report(r, false);
}

_Noreturn static void diverged(Run *r, const Node *nd, const char *pass,
                               bool has_line)
{
    static char verdict[200];
    char layer[32] = "outside the layers";
    if (nd && nd->layer) snprintf(layer, sizeof layer, "layer %d", nd->layer);
    if (nd)
        snprintf(verdict, sizeof verdict, "diverged at step %ld: the first "
                 "value that is not finite came from %s, op %s (%s)",
                 r->at.step, layer, nd->op, pass);
    else
        snprintf(verdict, sizeof verdict, "diverged at step %ld: every "
                 "gradient is finite, but their norm is not", r->at.step);
    if (has_line) {
        metrics_again(&r->metrics, r->at.step);
    } else {
        metrics_line(&r->metrics, r->at.step);
        metrics_real(&r->metrics, "loss", NAN);
    }
    conclude(r, verdict);
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
    diverged(r, tape_backward(&r->tape, loss, NULL), "backward", false);
}

static Report train_step(Run *r)
{
    uint64_t seed = config.model.seed;
    uint32_t step = (uint32_t)r->at.step;
    Tape *tp = &r->tape;
    Report s = {.seconds = -now()};
    profile_start(tp->profile);
    s.probed = r->probe && (r->at.step == 1
                            || r->at.step % config.probe_interval == 0);

    tape_reset(tp);
    tp->recording = true;
    tp->noise = rng_new(seed, RNG_DROPOUT, step);
    draw_batch(r, rng_new(seed, RNG_DATA, step), 0, r->text.ntrain);
    profile_rest(tp->profile, "batch");

    Tensor *loss = batch_loss(r, config.batch);
    s.loss = loss->data[0];
    if (!isfinite(s.loss)) diverged(r, tape_nonfinite(tp), "forward", false);

    if (s.probed) probe_watch(r->probe, tp);
    tape_backward(tp, loss, NULL);
    if (s.probed) probe_weights(r->probe);
    s.grad_norm = grad_norm(&r->optim);
    if (!isfinite(s.grad_norm)) diverged_backward(r, loss);

    s.rate = schedule_rate(&config.schedule, r->at.step);
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
    diverged(r, tape_nonfinite(&r->tape), "evaluation after the update", true);
}

static double evaluate_whole(Run *r)
{
    int T = config.model.context, B = config.batch;
    long n = (r->text.n - r->text.ntrain - 1) / T;
    double total = 0;
    for (long w = 0; w < n && !stop_asked(); w += B) {
        if (n - w < B) B = (int)(n - w);
        for (int b = 0; b < B; b++)
            text_window(&r->text, r->text.ntrain + (w + b) * T, T,
                        r->ids + b * T, r->targets + b * T);
        total += B * evaluate_batch(r, B);
    }
    return (double)(real)(total / (double)n);
}

static double evaluate(Run *r, int batches)
{
    double total = 0;
    if (batches == 0) return evaluate_whole(r);
    for (int i = 0; i < batches && !stop_asked(); i++) {
        draw_batch(r, rng_new(config.model.seed, RNG_EVAL, (uint32_t)i),
                   r->text.ntrain, r->text.n);
        total += evaluate_batch(r, config.batch);
    }
    return (double)(real)(total / batches);
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

/* An evaluation that a signal cut short is done again when the run goes on. */
static void look_back(Run *r)
{
    Progress *at = &r->at;
    at->evaluated = false;
    double loss = evaluate(r, config.eval_iters);
    if (stop_asked()) return;
    draw_sample(r);
    at->evaluated = true;
    at->val_loss = loss;
    if (at->best == 0 || loss < at->best_loss)
        at->best = at->step, at->best_loss = loss;
    metrics_again(&r->metrics, r->at.step);
    metrics_real(&r->metrics, "val_loss", loss);
    metrics_text(&r->metrics, "sample", r->sample, r->nsample);
    metrics_end(&r->metrics);
}

/* During training: a line in metrics.jsonl for every step, and progress. */

static double tokens_per_s(const Report *s)
{
    return (double)config.batch * config.model.context / s->seconds;
}

static void record(Run *r, const Report *s)
{
    Metrics *m = &r->metrics;
    sha256_update(&r->at.curve, &s->loss, sizeof s->loss);
    r->at.loss = (double)s->loss;
    metrics_line(m, r->at.step);
    metrics_real(m, "loss", (double)s->loss);
    metrics_real(m, "lr", (double)s->rate);
    metrics_real(m, "grad_norm", (double)s->grad_norm);
    metrics_real(m, "tokens_per_s", tokens_per_s(s));
    if (s->probed) {
        fputs(",\"probe\":", m->f);
        probe_json(m->f, r->probe);
    }
    metrics_end(m);
}

static bool due_to_save(const Run *r)
{
    int every = config.save_interval ? config.save_interval
                                     : config.eval_interval;
    return r->at.step % every == 0 || r->at.step == config.schedule.steps
        || r->at.step == r->at.best;
}

static void hint_at_saved(const Run *r)
{
    static char hint[DISK_PATH + 64];
    snprintf(hint, sizeof hint, "the last checkpoint is %s/step-%ld",
             config.out, r->saved);
    die_hint = hint;
}

/* What the checkpoint says of the metrics must be on the disk before it. */
static void save(Run *r)
{
    r->at.metrics = metrics_settle(&r->metrics);
    checkpoint_save(config.out, config.keep, &r->at, &r->text, &r->model,
                    &r->optim);
    r->saved = r->at.step;
    hint_at_saved(r);
}

/* On a terminal the line is drawn over ten times a second, and stays where
 * there was an evaluation; elsewhere it is printed now and then. */
static void put_progress(Run *r, const Report *s)
{
    int steps = config.schedule.steps;
    bool stays = s->evaluated || s->saved
              || (!r->live && r->at.step % config.log_interval == 0);
    double t = now();
    double left = (t - r->start) * (double)(steps - r->at.step)
                / (double)(r->at.step - r->begun);
    if (!stays && !(r->live && t - r->shown > 0.1)) return;
    r->shown = t;
    printf("%sstep %5ld/%d  loss %.4f", r->live ? "\r" : "", r->at.step, steps,
           (double)s->loss);
    if (s->evaluated) printf("  val %.4f", r->at.val_loss);
    printf("  lr %.2e  %6.0f tok/s  %ld:%02ld left ", (double)s->rate,
           tokens_per_s(s), (long)left / 60, (long)left % 60);
    if (stays) puts(s->saved ? " saved" : "");
    fflush(stdout);
}

/* Ends the program if what was written so far did not arrive. */
static void check_written(Run *r)
{
    metrics_flush(&r->metrics);
    flush_stdout();
}

/* OUT/report.html. As the run grows longer it takes longer to write; while
 * training it may take a twentieth of the time. */
static void put_report(Run *r, bool running)
{
    char path[DISK_PATH];
    double t = now();
    if (running && t < r->report_due) return;
    disk_path(path, config.out, "report.html");
    report_write(path, &config.out, 1, running);
    r->report_due = now() + 20 * (now() - t);
}

static void tell(Run *r, const Report *s)
{
    put_progress(r, s);
    if (s->evaluated || r->at.step % config.log_interval == 0)
        check_written(r);
    if (s->evaluated && r->at.step < config.schedule.steps)
        put_report(r, true);
}

/* Saves what there is and ends by the signal. */
_Noreturn static void interrupted(Run *r)
{
    if (r->live) putchar('\n');
    if (r->at.step > r->saved) save(r);
    if (r->saved)
        printf("stopped after step %ld, saved; to go on: ./train --resume=%s\n",
               r->at.step, config.out);
    else
        printf("stopped before the first step: nothing to save\n");
    put_report(r, true);
    check_written(r);
    stop_now();
}

/* After the last step. */

/* What the residual path has become, on the batch that evaluations begin
 * with. Nothing follows that the gradients could disturb. */
static Path look_at_path(Run *r)
{
    Tape *tp = &r->tape;
    struct Profile *profile = tp->profile;
    if (!r->probe) r->probe = probe_new(&r->arena, &r->model);
    tp->profile = NULL;
    tape_reset(tp);
    tp->recording = true;
    draw_batch(r, rng_new(config.model.seed, RNG_EVAL, 0), r->text.ntrain,
               r->text.n);
    Tensor *loss = batch_loss(r, config.batch);
    probe_watch(r->probe, tp);
    tape_backward(tp, loss, NULL);
    const ProbeRow *first = r->probe->row, *end = first + r->probe->n;
    tp->watch = NULL, tp->recording = false, tp->profile = profile;
    return (Path){end->cosine, first->grad / end->grad};
}

/* Eight samples side by side: prints the first, and, where the language has
 * a grammar, what share of all their sentences it allows. */
static void put_sample(Run *r)
{
    enum { STREAMS = 8, LENGTH = 400, SHOWN = 399 };
    static int ids[STREAMS * LENGTH];
    static char out[4 * LENGTH];
    long sentences = 0, right = 0;
    const GPTConfig *m = &config.model;     /* one, if eight are too large */
    int streams = m->context > INT_MAX / (4 * m->width) / STREAMS ? 1 : STREAMS;
    for (int b = 0; b < streams; b++)
        ids[b * LENGTH] = text_start(&r->text);
    generate(&r->tape, &r->model, (Sampling){.temperature = 1},
             config.model.seed, ids, streams, 1, LENGTH);
    for (int b = 0; b < streams; b++) {
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

static void put_files(const Run *r)
{
    const char *why, *class = hf_class(&config.model, &why);
    printf("\nwrote %s/step-%ld", config.out, r->saved);
    if (rundir_has(config.out, r->at.best))
        printf("; %s/best is step %ld, with validation loss %.4f", config.out,
               r->at.best, r->at.best_loss);
    if (class) printf("\ntransformers opens them as %s\n", class);
    else printf("\ntransformers cannot open them: %s\n", why);
    printf("report.html, metrics.jsonl and config.json are in %s\n",
           config.out);
}

static void finish(Run *r)
{
    char hex[SHA256_HEX];
    announce("\nevaluating on the whole validation part");
    double loss = evaluate(r, 0);
    if (stop_asked()) interrupted(r);
    const char *verdict = outcome_verdict(&r->text, loss, look_at_path(r));
    metrics_again(&r->metrics, r->at.step);
    if (r->at.step % config.eval_interval) {
        draw_sample(r);
        metrics_text(&r->metrics, "sample", r->sample, r->nsample);
    }
    metrics_real(&r->metrics, "val_loss_whole", loss);
    conclude(r, verdict);
    stop_listen_no_more();
    if (stop_asked()) interrupted(r);
    if (config.profile) {
        putchar('\n');
        profile_print(stdout, r->tape.profile, r->at.step - r->begun);
    }
    outcome_print(stdout, &r->text, loss);
    printf("\n%s\n", verdict);
    announce("\nsampling");
    put_sample(r);
    put_files(r);
    sha256_final(&r->at.curve, hex);
    printf("loss curve %.16s\n", hex);
    check_written(r);
    metrics_close(&r->metrics);
}
