#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "die.h"
#include "disk.h"
#include "json.h"
#include "story.h"

Config config = {
    .model = {.layers = 6, .width = 64, .heads = 4, .context = 64,
              .init = INIT_GPT2},
    .optim = {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .weight_decay = 0},
    .schedule = {.rate = 3e-3, .warmup = 100},
    .grad_clip = 1, .batch = 8,
    .eval_interval = 250, .eval_iters = 20, .log_interval = 100,
    .probe_interval = 50, .keep = 2,
    .data = "builtin", .out = "out", .resume = "", .init_from = "",
};

static const char *const inits[] = {"xavier", "fanin", "gpt2", NULL};
static const char *const norms[] = {"layernorm", "rmsnorm", NULL};
static const char *const methods[] = {"adamw", "sgd", NULL};
static const char *const newlines[] = {"keep", "lf", NULL};
static const char *const decays[] = {"cosine", "linear", "constant", NULL};

#define MODEL config.model
#define SCHED config.schedule
#define OPTIM config.optim
const Flag config_flags[] = {
    FLAG_GROUP("The residual path"),
    FLAG_CHOICE("placement", NULL, &MODEL.placement, placements,
        "where the norm stands"),
    FLAG_CHOICE("norm", NULL, &MODEL.norm, norms,
        "rmsnorm: no mean, no bias"),
    FLAG_BOOL("qk-norm", NULL, &MODEL.qk_norm,
        "queries and keys to an RMS of 1, head by head"),
    FLAG_CHOICE("init", NULL, &MODEL.init, inits,
        "std of the branches' matrices: sqrt(2/(in+out)), sqrt(1/in), 0.02"),
    FLAG_BOOL("zero-init", NULL, &MODEL.zero_init,
        "output projections of the branches start at 0"),
    FLAG_BOOL("residual-scale", NULL, &MODEL.residual_scale,
        "output projections start scaled by 1/sqrt(2 layers)"),

    FLAG_GROUP("The model"),
    FLAG_INT("layers", "n_layer", &MODEL.layers, "[1,10000]", "blocks"),
    FLAG_INT("width", "n_embd", &MODEL.width, "[1,16384]",
        "channels, a multiple of heads"),
    FLAG_INT("heads", "n_head", &MODEL.heads, "[1,1024]", "attention heads"),
    FLAG_INT("context", "block_size", &MODEL.context, "[1,65536]",
        "tokens the model sees"),
    FLAG_BOOL("tie", NULL, &MODEL.tie,
        "the head is the token embedding, transposed"),
    FLAG_REAL("dropout", NULL, &MODEL.dropout, "[0,1)",
        "share dropped, after the embeddings and each branch"),

    FLAG_GROUP("Training"),
    FLAG_INT("steps", "max_iters", &SCHED.steps, "[0,1000000000]",
        "0: the larger of 3000 and twice the warmup"),
    FLAG_INT("batch", "batch_size", &config.batch, "[1,65536]",
        "sequences in a step"),
    FLAG_CHOICE("optimizer", NULL, &OPTIM.method, methods,
        "sgd: with momentum beta1"),
    FLAG_REAL("lr", "learning_rate", &SCHED.rate, "[1e-30,1e6]",
        "learning rate after the warmup"),
    FLAG_REAL("min-lr", NULL, &SCHED.min_rate, "[0,1e6]",
        "what it decays to; not given: a tenth of lr"),
    FLAG_INT("warmup", "warmup_iters", &SCHED.warmup, "[0,1000000000]",
        "steps in which the rate rises from 0"),
    FLAG_CHOICE("schedule", NULL, &SCHED.decay, decays,
        "the rate after the warmup"),
    FLAG_REAL("beta1", NULL, &OPTIM.beta1, "[0,1)", "decay of the mean"),
    FLAG_REAL("beta2", NULL, &OPTIM.beta2, "[0,1)", "decay of the square"),
    FLAG_REAL("weight-decay", NULL, &OPTIM.weight_decay, "[0,inf)",
        "of matrices; gains and biases never decay"),
    FLAG_REAL("grad-clip", NULL, &config.grad_clip, "[0,inf)",
        "largest norm of the gradient; 0: no clipping"),
    FLAG_SEED("seed", NULL, &MODEL.seed,
        "of initialisation, data order, dropout and samples"),

    FLAG_GROUP("Data and output"),
    FLAG_STRING("data", NULL, &config.data,
        "a UTF-8 text file, or builtin, or builtin:BYTES"),
    FLAG_CHOICE("newline", NULL, &config.newline, newlines,
        "lf: CR LF becomes LF"),
    FLAG_STRING("out", "out_dir", &config.out,
        "directory for metrics, report and checkpoints"),
    FLAG_STRING("resume", NULL, &config.resume,
        "a run's directory, or a checkpoint in it: goes on from there"),
    FLAG_STRING("init-from", NULL, &config.init_from,
        "a new run, with the weights of a checkpoint or of transformers; "
        "scratch: drawn; resume: as --resume with the directory of --out"),
    FLAG_INT("save-interval", NULL, &config.save_interval, "[0,1000000000]",
        "steps between checkpoints; 0: at each evaluation; and at each lowest "
        "validation loss, and the end"),
    FLAG_INT("keep", NULL, &config.keep, "[1,1000000]",
        "how many of the last checkpoints stay, beside the best"),
    FLAG_INT("eval-interval", NULL, &config.eval_interval, "[1,1000000000]",
        "steps between evaluations"),
    FLAG_INT("eval-iters", NULL, &config.eval_iters, "[0,1000000]",
        "validation batches in one; 0: the whole validation part"),
    FLAG_INT("log-interval", NULL, &config.log_interval, "[1,1000000000]",
        "steps between lines of progress"),
    FLAG_INT("probe-interval", NULL, &config.probe_interval,
        "[0,1000000000]", "steps between looks at the residual path; 0: none"),
    FLAG_INT("threads", NULL, &config.threads, "[0,1024]",
        "0: as many as there are cores; the results are the same"),
    FLAG_BOOL("profile", NULL, &config.profile,
        "print what each op costs at the end"),
    FLAG_END
};

/* What must hold between flags; `from` is whose they are, for the message. */
static void check(int status, const char *from)
{
    const Schedule *s = &config.schedule;
    const GPTConfig *m = &config.model;
    if (s->min_rate > s->rate)
        die(status, "%s--min-lr=%g must not be above --lr=%g", from,
            s->min_rate, s->rate);
    if (m->zero_init && placements[m->placement].gated)
        die(status, "%s--zero-init is not for --placement=%s, whose gates "
            "start at 0 already: with both at 0 neither is ever trained",
            from, placements[m->placement].name);
    if (m->width % m->heads)
        die(status, "%s--width=%d must be a multiple of --heads=%d, as %d is",
            from, m->width, m->heads, (m->width / m->heads + 1) * m->heads);
    if ((long)config.batch * m->context > INT_MAX / (4 * m->width))
        die(status, "%s--batch=%d times --context=%d must not be above %d at "
            "--width=%d", from, config.batch, m->context,
            INT_MAX / (4 * m->width), m->width);
}

/* nanoGPT's init_from has two values that are no directory. */
static void resolve_start(void)
{
    if (!strcmp(config.init_from, "scratch")) config.init_from = "";
    if (!strcmp(config.init_from, "resume")) {
        config.init_from = "";
        if (!*config.resume) config.resume = config.out;
    }
    if (*config.init_from && *config.resume)
        die(EXIT_USAGE, "--init-from=%s begins a new run, --resume=%s goes on "
            "with one: give one of them", config.init_from, config.resume);
    const void *drawn[] = {&MODEL.init, &MODEL.zero_init,
                           &MODEL.residual_scale};
    for (int i = 0; i < 3 && *config.init_from; i++)
        if (flags_given(drawn[i]))
            die(EXIT_USAGE, "--init, --zero-init and --residual-scale say how "
                "weights are drawn: they do not go with --init-from=%s",
                config.init_from);
}

void config_begin(void)
{
    resolve_start();
    if (*config.resume) return;
    Schedule *s = &config.schedule;
    if (s->steps == 0) s->steps = s->warmup > 1500 ? 2 * s->warmup : 3000;
    if (!flags_given(&s->min_rate)) {   /* 3e-4 for 3e-3, as it is written */
        char tenth[FLAG_TEXT];
        snprintf(tenth, sizeof tenth, "%.15g", s->rate / 10);
        s->min_rate = strtod(tenth, NULL);
    }
}

void config_check(void) { check(EXIT_USAGE, ""); }

/* builtin, or builtin:BYTES. 0 if it is neither. */
static long builtin_bytes(const char *data)
{
    char *end;
    if (!strcmp(data, "builtin")) return STORY_BYTES;
    if (strncmp(data, "builtin:", 8)) return 0;
    long n = strtol(data + 8, &end, 10);
    if (*end || data[8] < '1' || data[8] > '9' || n > INT_MAX)
        die(EXIT_USAGE, "--data=%s: builtin:BYTES takes a whole number from "
            "1 to %d", data, INT_MAX);
    return n;
}

Text config_text(Arena *a)
{
    int context = config.model.context;
    long n = builtin_bytes(config.data);
    if (n == 0)
        return text_load(a, config.data, config.newline == 1, context);
    char *bytes = arena_alloc(a, (size_t)n);
    story_write(bytes, n, STORY_SEED);
    Text text = text_from_bytes(a, config.data, bytes, (size_t)n, false,
                                context);
    text.entropy = story_entropy();
    return text;
}

void config_write(FILE *f, const Text *text)
{
    fprintf(f, "\"plumb_version\": \"%s\",\n\"configuration\": {\n",
            PLUMB_VERSION);
    flags_json(f, config_flags);
    fprintf(f, "},\n\"corpus\": {\"sha256\": \"%s\", \"characters\": %ld, "
            "\"training\": %ld},\n\"nats_per_character\": {\"uniform\": %.9g, "
            "\"unigram\": %.9g, \"bigram\": %.9g", text->sha256, text->n,
            text->ntrain, text->uniform, text->unigram, text->bigram);
    if (text->entropy > 0) fprintf(f, ", \"entropy\": %.9g", text->entropy);
    fputs("}", f);
}

void config_save(const char *dir, const Text *text)
{
    Arena a = {0};
    Draft draft;
    FILE *f = draft_open(&draft);
    fputs("{", f);
    config_write(f, text);
    fputs("}\n", f);
    DiskFile file = draft_close(&draft, &a, "config.json");
    disk_replace(dir, &file);
    arena_free(&a);
}

/* -- read back ---------------------------------------------------------- */

/* What weights depend on; what may change when a run goes on; and of that,
 * what is not taken from the run but from here. */
static const char *const shape[] = {"placement", "norm", "qk-norm", "layers",
    "width", "heads", "context", "tie", NULL};
static const char *const free_to_change[] = {"steps", "data", "init-from",
    "save-interval", "keep", "eval-interval", "eval-iters", "log-interval",
    "probe-interval", NULL};
static const char *const here[] = {"out", "resume", "threads", "profile", NULL};

static bool is_in(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name)) list++;
    return *list;
}

/* Where a flag was given, it must not say anything else. */
static void agree(const char *path, const Flag *f, const char *value,
                  ConfigPart part)
{
    char given[FLAG_TEXT];
    const char *text = flags_text(f, given);
    if (strcmp(text, value))
        die(EXIT_CONFIG, "--%s=%s contradicts %s, where it is %s: leave it "
            "out%s", f->name, text, path, value,
            part == CONFIG_ALL ? ", or begin another run" : "");
}

/* Every flag must be there: a default of this version may be another. */
static void take_flag(const char *path, const Json *flags, const Flag *f,
                      ConfigPart part)
{
    const Json *j = json_get(flags, f->name);
    if (!j) die(EXIT_DATA, "%s: \"%s\" is missing", path, f->name);
    const char *value = j->text;
    if (j->kind == JSON_BOOL) value = j->n ? "true" : "false";
    if (value && flags_given(f->value.any)) {
        if (!is_in(free_to_change, f->name)) agree(path, f, value, part);
    } else if (!value || !flags_set(f, value)) {
        die(EXIT_DATA, "%s: byte %u: no value for \"%s\"; ./train --help "
            "has the range", path, j->at, f->name);
    }
}

void config_take(const char *path, const Json *j, ConfigPart part)
{
    const char *version = "";
    char from[DISK_PATH + 2];
    const Json *flags = json_get(j, "configuration");
    if (!json_string(json_get(j, "plumb_version"), &version)
        || strcmp(version, PLUMB_VERSION))
        die(EXIT_DATA, "%s: written by plumb %s; this is plumb %s, which opens "
            "only its own", path, *version ? version : "of no version",
            PLUMB_VERSION);
    if (!flags || flags->kind != JSON_OBJECT)
        die(EXIT_DATA, "%s: no configuration that train has written", path);
    for (const Flag *f = config_flags; f->kind != KIND_END; f++)
        if (f->kind != KIND_GROUP && !is_in(here, f->name)
            && (part == CONFIG_ALL || is_in(shape, f->name)))
            take_flag(path, flags, f, part);
    snprintf(from, sizeof from, "%s: ", path);
    if (part == CONFIG_ALL) check(EXIT_DATA, from);
}

void config_take_model(const char *path, const GPTConfig *m)
{
    GPTConfig given = config.model;
    char value[FLAG_TEXT], text[FLAG_TEXT];
    for (const Flag *f = config_flags; f->kind != KIND_END; f++) {
        if (f->kind == KIND_GROUP || !is_in(shape, f->name)) continue;
        config.model = *m;
        snprintf(value, sizeof value, "%s", flags_text(f, text));
        config.model = given;
        if (flags_given(f->value.any))
            agree(path, f, value, CONFIG_SHAPE);
    }
    config.model = *m;
}
