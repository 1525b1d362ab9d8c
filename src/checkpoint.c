#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "checkpoint.h"
#include "config.h"
#include "die.h"
#include "huggingface.h"
#include "manifest.h"
#include "os.h"
#include "rundir.h"

enum { MODEL, OPTIM, CONFIG, TOKENIZER, TOKENIZER_CONFIG };
static const char *const names[CHECKPOINT_FILES] = {
    "model.safetensors", "optim.safetensors", "config.json",
    "tokenizer.json", "tokenizer_config.json"
};

/* -- saving ------------------------------------------------------------- */

/* A file of tensors: in front the header, then each as it lies in memory. */
static DiskFile tensors_file(Arena *a, const char *name, const Param *p, int n)
{
    Piece *piece = arena_alloc(a, ((size_t)n + 1) * sizeof *piece);
    piece->data = safetensors_header(a, p, n, &piece->n);
    for (int i = 0; i < n; i++)
        piece[i + 1] = (Piece){p[i].t->data,
                               (size_t)size(p[i].t) * sizeof(real)};
    return (DiskFile){name, piece, n + 1};
}

/* The parameter under the name that it has outside, behind a prefix. */
static void put_name(Param *p, const char *prefix, const GPT *m, int i)
{
    char name[HF_NAME];
    hf_name(&m->config, m->param[i].name, name);
    snprintf(p->name, sizeof p->name, "%s%s", prefix, name);
}

static DiskFile weights_file(Arena *a, const GPT *m)
{
    size_t bytes = (size_t)m->nparam * sizeof(Param);
    Param *p = memcpy(arena_alloc(a, bytes), m->param, bytes);
    for (int i = 0; i < m->nparam; i++) put_name(&p[i], "", m, i);
    return tensors_file(a, names[MODEL], p, m->nparam);
}

/* The moments are named as PyTorch names them. */
static int moments(Arena *a, const GPT *m, const Optim *o, Param **out)
{
    bool adamw = o->config.method == ADAMW;
    int n = m->nparam;
    Param *p = arena_alloc(a, 2 * (size_t)n * sizeof *p);
    Tensor *t = arena_alloc(a, 2 * (size_t)n * sizeof *t);
    for (int i = 0; i < 2 * n; i++) {
        bool second = i >= n;
        t[i] = (Tensor){.shape = m->param[i % n].t->shape,
                        .data = (second ? o->v : o->m)[i % n]};
        p[i] = (Param){.t = &t[i]};
        put_name(&p[i], !adamw ? "momentum_buffer." : second ? "exp_avg_sq."
                               : "exp_avg.", m, i % n);
    }
    *out = p;
    return adamw ? 2 * n : n;
}

static DiskFile moments_file(Arena *a, const GPT *m, const Optim *o)
{
    Param *p;
    int n = moments(a, m, o, &p);
    return tensors_file(a, names[OPTIM], p, n);
}

static void put_hex(FILE *f, const unsigned char *x, int n)
{
    for (int i = 0; i < n; i++) fprintf(f, "%02x", x[i]);
}

static void put_progress(FILE *f, const Progress *p)
{
    fprintf(f, "\"progress\": {\"step\": %ld, \"evaluated\": %s, \"loss\": "
            "%.17g, \"val_loss\": %.17g, \"best\": %ld, \"best_loss\": %.17g, "
            "\"metrics_bytes\": %" PRIu64 ",\n\"loss_curve\": {\"words\": [",
            p->step, p->evaluated ? "true" : "false", p->loss, p->val_loss,
            p->best, p->best_loss, p->metrics);
    for (int i = 0; i < 8; i++)
        fprintf(f, "%s%" PRIu32, i ? ", " : "", p->curve.h[i]);
    fprintf(f, "], \"bytes\": %" PRIu64 ", \"block\": \"", p->curve.bytes);
    put_hex(f, p->curve.block, (int)(p->curve.bytes % 64));
    fputs("\"}}", f);
}

static DiskFile config_file(Arena *a, const Progress *p, const Text *text,
                            const GPT *m)
{
    Draft draft;
    FILE *f = draft_open(&draft);
    fputs("{", f);
    hf_config_write(f, &m->config);
    fputs(",\n", f);
    config_write(f, text);
    fputs(",\n", f);
    put_progress(f, p);
    fputs("}\n", f);
    return draft_close(&draft, a, names[CONFIG]);
}

static DiskFile tokenizer_file(Arena *a, const Text *text)
{
    Draft draft;
    hf_tokenizer_write(draft_open(&draft), text);
    return draft_close(&draft, a, names[TOKENIZER]);
}

static DiskFile tokenizer_config_file(Arena *a, const GPT *m)
{
    Draft draft;
    hf_tokenizer_config_write(draft_open(&draft), &m->config);
    return draft_close(&draft, a, names[TOKENIZER_CONFIG]);
}

static Sum sum_of(const DiskFile *f)
{
    Sum sum = {.name = f->name};
    Sha256 s;
    sha256_init(&s);
    for (int i = 0; i < f->pieces; i++) {
        sha256_update(&s, f->piece[i].data, f->piece[i].n);
        sum.n += f->piece[i].n;
    }
    sha256_final(&s, sum.hash);
    return sum;
}

void checkpoint_save(const char *out, int keep, const Progress *p,
                     const Text *text, const GPT *m, const Optim *o)
{
    Arena a = {0};
    Sum sum[CHECKPOINT_FILES];
    char list[MANIFEST_TEXT], name[STEP_NAME];
    DiskFile file[CHECKPOINT_FILES + 1] = {
        [MODEL] = weights_file(&a, m), [OPTIM] = moments_file(&a, m, o),
        [CONFIG] = config_file(&a, p, text, m),
        [TOKENIZER] = tokenizer_file(&a, text),
        [TOKENIZER_CONFIG] = tokenizer_config_file(&a, m)
    };
    for (int i = 0; i < CHECKPOINT_FILES; i++) sum[i] = sum_of(&file[i]);
    Piece piece = {list, manifest_text(sum, CHECKPOINT_FILES, list)};
    file[CHECKPOINT_FILES] = (DiskFile){"MANIFEST", &piece, 1};
    step_name(name, p->step);
    disk_publish(out, name, file, CHECKPOINT_FILES + 1);
    if (p->best == p->step) disk_point(out, "best", name);
    rundir_keep(out, keep, p->best);
    arena_free(&a);
}

/* -- opening ------------------------------------------------------------ */

enum { OPEN_ERROR = DISK_PATH + MANIFEST_ERROR };

/* A file of the checkpoint; false, and why, if it is not there. */
static bool read_file(Arena *a, const char *dir, const char *name, Bytes *f,
                      char error[OPEN_ERROR])
{
    char path[DISK_PATH];
    disk_path(path, dir, name);
    f->bytes = disk_try_read(a, path, &f->n);
    if (f->bytes) return true;
    if (errno != ENOENT && errno != ENOTDIR && errno != EISDIR
        && errno != ELOOP && errno != ENAMETOOLONG)
        die_errno(errno == EACCES ? EXIT_NOINPUT : EXIT_IO, path,
                  "cannot read");
    snprintf(error, OPEN_ERROR, "%s is missing", path);
    return false;
}

/* All files, each as the MANIFEST says; else false, and why. */
static bool read_ours(Arena *a, Checkpoint *c, char error[OPEN_ERROR])
{
    Sum sum[CHECKPOINT_FILES];
    char why[MANIFEST_ERROR];
    Bytes list;
    for (int i = 0; i < CHECKPOINT_FILES; i++) {
        Bytes *f = &c->file[i];
        if (!read_file(a, c->dir, names[i], f, error)) return false;
        sum[i] = (Sum){.name = names[i], .n = f->n};
        sha256(f->bytes, f->n, sum[i].hash);
    }
    if (!read_file(a, c->dir, "MANIFEST", &list, error)) return false;
    switch (manifest_check(list.bytes, list.n, sum, CHECKPOINT_FILES, why)) {
    case MANIFEST_RIGHT:
        return true;
    case MANIFEST_OF_ANOTHER_VERSION:
        die(EXIT_DATA, "%s/%s", c->dir, why);
    default:
        snprintf(error, OPEN_ERROR, "%s/%s", c->dir, why);
        return false;
    }
}

_Noreturn static void bad(const Checkpoint *c, int file, const char *error)
{
    die(EXIT_DATA, "%s/%s: %s", c->dir, names[file], error);
}

static const Json *parse(Arena *a, const Checkpoint *c, int file)
{
    char error[JSON_ERROR];
    const Json *j = json_parse(a, c->file[file].bytes, c->file[file].n,
                               error);
    if (!j) bad(c, file, error);
    return j;
}

static bool get_hex(const char *hex, unsigned char *x, uint64_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(hex) != 2 * n) return false;
    for (uint64_t i = 0; i < 2 * n; i++) {
        const char *d = strchr(digits, hex[i]);
        if (!d) return false;
        x[i / 2] = (unsigned char)(x[i / 2] << 4 | (d - digits));
    }
    return true;
}

static bool get_curve(const Json *j, Sha256 *s)
{
    const Json *word = json_get(j, "words");
    const char *block;
    uint64_t u;
    *s = (Sha256){.bytes = 0};
    if (!word || word->kind != JSON_ARRAY || word->n != 8) return false;
    word = word->child;
    for (int i = 0; i < 8; i++, word = word->next) {
        if (!json_u64(word, &u) || u > UINT32_MAX) return false;
        s->h[i] = (uint32_t)u;
    }
    return json_u64(json_get(j, "bytes"), &s->bytes)
        && json_string(json_get(j, "block"), &block)
        && get_hex(block, s->block, s->bytes % 64);
}

static bool get_long(const Json *j, const char *key, long *out)
{
    uint64_t u;
    if (!json_u64(json_get(j, key), &u) || u > INT32_MAX) return false;
    return *out = (long)u, true;
}

static bool get_progress(const Json *j, Progress *p)
{
    return get_long(j, "step", &p->step) && get_long(j, "best", &p->best)
        && json_bool(json_get(j, "evaluated"), &p->evaluated)
        && json_real(json_get(j, "loss"), &p->loss)
        && json_real(json_get(j, "val_loss"), &p->val_loss)
        && json_real(json_get(j, "best_loss"), &p->best_loss)
        && json_u64(json_get(j, "metrics_bytes"), &p->metrics)
        && get_curve(json_get(j, "loss_curve"), &p->curve)
        && p->best <= p->step;
}

/* What is ours and has no MANIFEST. (A run of version 0.1 had its weights
 * beside its configuration.) */
static void refuse_ours(const Checkpoint *c)
{
    const char *version;
    if (json_get(c->config, "progress"))
        die(EXIT_DATA, "%s/MANIFEST is missing", c->dir);
    if (json_get(c->config, "plumb_version"))
        die(EXIT_NOINPUT, "%s: a run that has no checkpoint yet", c->dir);
    if (json_string(json_get(c->config, "version"), &version)
        && json_get(c->config, "configuration"))
        die(EXIT_DATA, "%s: written by plumb %s; this is plumb %s, which "
            "opens only its own", c->dir, version, PLUMB_VERSION);
}

static void read_foreign(Arena *a, Checkpoint *c)
{
    char error[OPEN_ERROR];
    bool ok = read_file(a, c->dir, names[CONFIG], &c->file[CONFIG], error);
    if (ok) {
        c->config = parse(a, c, CONFIG);
        refuse_ours(c);
        ok = read_file(a, c->dir, names[MODEL], &c->file[MODEL], error);
    }
    if (!ok) die(EXIT_NOINPUT, "%s", error);
    read_file(a, c->dir, names[TOKENIZER], &c->file[TOKENIZER], error);
}

/* Before there is room made for it: can the file hold such a model? */
static void check_size(const Checkpoint *c)
{
    const GPTConfig *m = &config.model;
    double d = m->width, least = 12 * m->layers * d * d + m->vocab * d;
    if (m->width % m->heads)
        bad(c, CONFIG, "the width is no multiple of the heads");
    if (4 * least > (double)c->file[MODEL].n)
        die(EXIT_DATA, "%s/%s: describes %.0f parameters or more, and %s has "
            "%zu bytes", c->dir, names[CONFIG], least, names[MODEL],
            c->file[MODEL].n);
}

/* The configuration, and the vocabulary: of characters, or of ids alone. */
void checkpoint_config(const Checkpoint *c, ConfigPart part)
{
    char path[DISK_PATH], error[HF_ERROR];
    GPTConfig m = config.model;
    disk_path(path, c->dir, names[CONFIG]);
    if (!c->foreign) {
        config_take(path, c->config, part);
        config.model.vocab = c->text.vocab;
        check_size(c);
        return;
    }
    if (!hf_config_read(c->config, &m, error)) bad(c, CONFIG, error);
    config_take_model(path, &m);
    if (c->text.code && c->text.vocab != m.vocab)
        die(EXIT_DATA, "%s/%s: %d tokens, but the model has %d", c->dir,
            names[TOKENIZER], c->text.vocab, m.vocab);
    check_size(c);
}

/* What the files say, into c. */
static void understand(Arena *a, Checkpoint *c)
{
    char error[HF_ERROR];
    if (!c->foreign) {
        c->config = parse(a, c, CONFIG);
        if (!get_progress(json_get(c->config, "progress"), &c->progress))
            bad(c, CONFIG, "does not say how far the run is");
    }
    if (c->file[TOKENIZER].bytes
        && !hf_tokenizer_read(a, parse(a, c, TOKENIZER), &c->text, error))
        bad(c, TOKENIZER, error);
}

static bool is_there(const char *dir, const char *name)
{
    char path[DISK_PATH];
    disk_path(path, dir, name);
    int fd = os->open(path, O_RDONLY | O_NONBLOCK);
    if (fd >= 0) os->close(fd);
    else if (errno != ENOENT && errno != ENOTDIR)
        die_errno(EXIT_NOINPUT, path, "cannot read");
    return fd >= 0;
}

static bool try_step(Arena *a, const char *dir, long step, Checkpoint *c,
                     char error[OPEN_ERROR])
{
    char name[STEP_NAME];
    step_name(name, step);
    disk_path(c->dir, dir, name);
    return read_ours(a, c, error);
}

/* The newest checkpoint of the run; with fall_back, the newest whole one. */
static void open_run(Arena *a, const char *run, Checkpoint *c, bool fall_back)
{
    char error[OPEN_ERROR];
    int n, i = 0;
    const long *step = rundir_steps(a, run, &n);
    while (!try_step(a, run, step[i], c, error)) {
        if (!fall_back || ++i == n) die(EXIT_DATA, "%s", error);
        warn("%s; going on from step %ld", error, step[i]);
    }
    c->damaged = step, c->ndamaged = i;
}

static void open_any(Arena *a, const char *dir, Checkpoint *c, bool fall_back)
{
    char error[OPEN_ERROR], run[DISK_PATH];
    *c = (Checkpoint){.foreign = false};
    disk_path(run, dir, "");
    disk_no_slash(run);
    memcpy(c->dir, run, sizeof run);
    if (is_there(run, "MANIFEST")) {
        if (!read_ours(a, c, error))
            die(EXIT_DATA, "%s", error);
    } else if (rundir_newest(run) >= 0) {
        open_run(a, run, c, fall_back);
    } else if (is_there(run, names[CONFIG])) {
        c->foreign = true;
        read_foreign(a, c);
    } else {
        die(EXIT_NOINPUT, "%s: neither a checkpoint, nor a run that has one, "
            "nor a model of transformers", run);
    }
    understand(a, c);
}

void checkpoint_open(Arena *a, const char *dir, Checkpoint *c)
{
    open_any(a, dir, c, false);
}

void checkpoint_resume(Arena *a, const char *dir, Checkpoint *c)
{
    open_any(a, dir, c, true);
    if (c->foreign)
        die(EXIT_DATA, "%s: no checkpoint of a run; to train on with weights "
            "of transformers: --init-from=%s", dir, dir);
}

static Safetensors tensors_of(Arena *a, const Checkpoint *c, int file)
{
    char error[SAFETENSORS_ERROR];
    Safetensors s;
    if (!safetensors_read(a, c->file[file].bytes, c->file[file].n, &s, error))
        bad(c, file, error);
    return s;
}

void checkpoint_weights(const Checkpoint *c, GPT *m)
{
    Arena a = {0};
    char error[HF_ERROR];
    Safetensors s = tensors_of(&a, c, MODEL);
    if (!hf_weights_read(&s, m, error)) bad(c, MODEL, error);
    arena_free(&a);
}

void checkpoint_moments(const Checkpoint *c, Optim *o, const GPT *m)
{
    Arena a = {0};
    char error[SAFETENSORS_ERROR];
    Param *p;
    Safetensors s = tensors_of(&a, c, OPTIM);
    int n = moments(&a, m, o, &p);
    for (int i = 0; i < n; i++) {
        const StoredTensor *t = safetensors_find(&s, p[i].name);
        if (!t) snprintf(error, sizeof error, "%s is missing", p[i].name);
        if (!t || !safetensors_fill(t, &p[i], error)) bad(c, OPTIM, error);
    }
    if (s.n != n) bad(c, OPTIM, "more tensors than the optimiser has");
    o->step = c->progress.step;
    arena_free(&a);
}
