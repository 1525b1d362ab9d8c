#include <math.h>
#include <string.h>
#include "config.h"
#include "die.h"
#include "disk.h"
#include "runlog.h"

static double real_of(const Json *object, const char *key)
{
    double x = NAN;
    json_real(json_get(object, key), &x);
    return x;
}

/* A copy that stays. A NUL would end it: another control character stands for
 * it, which no text of ours shows either. */
static const char *text_of(Arena *a, const Json *object, const char *key)
{
    const Json *j = json_get(object, key);
    if (!j || j->kind != JSON_STRING) return NULL;
    char *copy = arena_alloc(a, j->n + 1);
    for (size_t i = 0; i < j->n; i++) copy[i] = j->text[i] ? j->text[i] : 1;
    copy[j->n] = 0;
    return copy;
}

static LookColumn column_of(Arena *a, const Json *list)
{
    double *value = arena_alloc(a, list->n * sizeof *value + 1);
    char *name = arena_alloc(a, list->nkey + 1);
    LookColumn c = {name, 0, value};
    memcpy(name, list->key, list->nkey);
    name[list->nkey] = 0;
    for (const Json *x = list->child; x; x = x->next) {
        value[c.n] = NAN;
        json_real(x, &value[c.n++]);
    }
    return c;
}

static Look look_of(Arena *a, double step, const Json *probe)
{
    LookColumn *column = arena_alloc(a, probe->n * sizeof *column + 1);
    Look look = {step, 0, column};
    for (const Json *j = probe->child; j; j = j->next)
        if (j->kind == JSON_ARRAY) column[look.n++] = column_of(a, j);
    return look;
}

static void take(Arena *a, RunLog *r, const Json *j)
{
    long i = r->n++;
    const Json *probe = json_get(j, "probe");
    double whole = real_of(j, "val_loss_whole");
    r->step[i] = real_of(j, "step");
    r->loss[i] = real_of(j, "loss");
    r->rate[i] = real_of(j, "lr");
    r->grad_norm[i] = real_of(j, "grad_norm");
    r->speed[i] = real_of(j, "tokens_per_s");
    r->val_loss[i] = real_of(j, "val_loss");
    r->sample[i] = text_of(a, j, "sample");
    if (!isnan(whole)) r->whole = whole;
    if (json_get(j, "verdict")) r->verdict = text_of(a, j, "verdict");
    if (probe && probe->kind == JSON_OBJECT)
        r->look[r->nlook++] = look_of(a, r->step[i], probe);
}

static void new_columns(Arena *a, RunLog *r, size_t lines)
{
    double **column[] = {&r->step, &r->loss, &r->rate, &r->grad_norm,
                         &r->speed, &r->val_loss};
    for (size_t i = 0; i < sizeof column / sizeof *column; i++)
        *column[i] = arena_alloc(a, lines * sizeof(double));
    r->sample = arena_alloc(a, lines * sizeof *r->sample);
    r->look = arena_alloc(a, lines * sizeof *r->look);
}

/* Line by line: parsed, a number takes many times its bytes. */
static void read_metrics(Arena *a, RunLog *r)
{
    char path[DISK_PATH], error[JSON_ERROR];
    const char *end;
    Arena file = {0}, line = {0};
    size_t n, lines = 0;
    disk_path(path, r->dir, "metrics.jsonl");
    const char *s = disk_read(&file, path, &n), *stop = s + n;
    for (size_t i = 0; i < n; i++) lines += s[i] == '\n';
    new_columns(a, r, lines);
    for (; (end = memchr(s, '\n', (size_t)(stop - s))); s = end + 1) {
        const Json *j = json_parse(&line, s, (size_t)(end - s), error);
        if (!j) die(EXIT_DATA, "%s: line %ld: %s", path, r->n + 1, error);
        take(a, r, j);
        arena_reset(&line);
    }
    arena_free(&line);
    arena_free(&file);
}

RunLog runlog_read(Arena *a, const char *dir)
{
    char path[DISK_PATH], error[JSON_ERROR];
    size_t n;
    disk_path(path, dir, "config.json");
    const char *bytes = disk_read(a, path, &n);
    const Json *j = json_parse(a, bytes, n, error);
    if (!j) die(EXIT_DATA, "%s: %s", path, error);
    const Json *nats = json_get(j, "nats_per_character");
    RunLog r = {.dir = dir, .flags = json_get(j, "configuration"),
                .corpus = text_of(a, json_get(j, "corpus"), "sha256"),
                .uniform = real_of(nats, "uniform"),
                .unigram = real_of(nats, "unigram"),
                .bigram = real_of(nats, "bigram"),
                .entropy = real_of(nats, "entropy"), .whole = NAN};
    read_metrics(a, &r);
    return r;
}

const LookColumn *look_column(const Look *look, const char *name)
{
    for (int i = 0; i < look->n; i++)
        if (!strcmp(look->column[i].name, name)) return &look->column[i];
    return NULL;
}

const char *runlog_flag(const RunLog *run, const char *name)
{
    const Json *j = json_get(run->flags, name);
    if (j && j->kind == JSON_BOOL) return j->n ? "true" : "false";
    return j ? j->text : NULL;
}
