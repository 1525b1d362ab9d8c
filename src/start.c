#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "rundir.h"
#include "start.h"

/* -- with what ----------------------------------------------------------- */

static char *kept(Arena *run, const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(arena_alloc(run, n), text, n);
}

/* With other steps the schedule is another. */
static void compare_steps(const Checkpoint *c)
{
    double steps = 0;
    json_real(json_get(json_get(c->config, "configuration"), "steps"), &steps);
    if (config.schedule.steps < c->progress.step)
        die(EXIT_USAGE, "--steps=%d: %s is at step %ld already",
            config.schedule.steps, c->dir, c->progress.step);
    if (config.schedule.steps != (int)steps
        && config.schedule.decay != DECAY_CONSTANT)
        warn("--steps=%d was %.0f: from here on the rate is that of the longer "
             "or shorter schedule", config.schedule.steps, steps);
}

/* The name may be one of another place. */
static void find_text(void)
{
    if (strncmp(config.data, "builtin", 7) && access(config.data, R_OK))
        die_errno(EXIT_NOINPUT, config.data, "the text of this run, which "
                  "--data=FILE may name anew: cannot read");
}

/* Its configuration; the directory, unless another is given. */
static void take_up(Start *s, Arena *run)
{
    char dir[DISK_PATH];
    Checkpoint *c = &s->from;
    checkpoint_resume(&s->files, config.resume, c);
    checkpoint_config(c, CONFIG_ALL);
    s->at = c->progress;
    if (!rundir_of(c->dir, dir) && !flags_given(&config.out))
        die(EXIT_USAGE, "--resume=%s: not named step-N, so it is not known of "
            "which directory's run it is: --out=DIR", config.resume);
    if (!flags_given(&config.out)) config.out = dir;
    config.out = kept(run, config.out);
    config.data = kept(run, config.data);
    config.init_from = kept(run, config.init_from);
    find_text();
    compare_steps(c);
    long newest = rundir_newest(dir);
    if (newest > s->at.step && !c->ndamaged && rundir_same(dir, config.out))
        die(EXIT_CANTCREATE, "--resume=%s: %s has checkpoints up to step %ld "
            "already: --out=ELSEWHERE, to go on from step %ld", config.resume,
            config.out, newest, s->at.step);
}

static void take_weights(Start *s)
{
    checkpoint_open(&s->files, config.init_from, &s->from);
    checkpoint_config(&s->from, CONFIG_SHAPE);
    if (!s->from.text.code)
        die(EXIT_DATA, "%s has no tokenizer.json: it is not known which "
            "characters its tokens are", config.init_from);
}

void start_open(Start *s, Arena *run)
{
    *s = (Start){.at.evaluated = true};
    sha256_init(&s->at.curve);
    config_begin();
    char *out = kept(run, config.out);
    disk_no_slash(out);
    config.out = out;
    s->goes_on = *config.resume;
    s->has_weights = s->goes_on || *config.init_from;
    if (s->goes_on) take_up(s, run);
    else if (s->has_weights) take_weights(s);
    config_check();
}

void start_text(const Start *s, Arena *run, Text *text)
{
    const char *hash = "";
    json_string(json_get(json_get(s->from.config, "corpus"), "sha256"), &hash);
    if (s->goes_on && strcmp(hash, text->sha256))
        die(EXIT_CONFIG, "--data=%s has SHA-256 %.16s..., the corpus of %s "
            "%.16s...: a run goes on with its own", config.data,
            text->sha256, s->from.dir, hash);
    if (s->has_weights)
        text_renumber(run, text, config.data, &s->from.text);
    config.model.vocab = text->vocab;
}

void start_weights(const Start *s, GPT *m, Optim *o)
{
    if (s->has_weights) checkpoint_weights(&s->from, m);
    if (s->goes_on) checkpoint_moments(&s->from, o, m);
}

/* -- where to ------------------------------------------------------------ */

/* OUT must be able to take a run, and not be or lose what it begins with. */
static void check_output(const Start *s)
{
    char path[DISK_PATH], dir[DISK_PATH];
    const char *out = config.out;
    disk_path(path, out, "step-1000000000.tmp/tokenizer_config.json");
    if (rundir_is_model(out))
        die(EXIT_CANTCREATE, "--out=%s is a checkpoint or a model itself: name "
            "a directory for the run", out);
    if (!s->has_weights) return;
    disk_path(path, out, "previous");
    rundir_of(s->from.dir, dir);
    if (rundir_same(path, dir) || rundir_same(path, s->from.dir))
        die(EXIT_CANTCREATE, "--out=%s: a new run there would take the place "
            "of %s, with which it begins: --out=ELSEWHERE", out, path);
}

void start_output(Start *s, Metrics *metrics, const Text *text)
{
    char dir[DISK_PATH] = "";
    const char *out = config.out;
    if (!disk_make(out))
        die(EXIT_CANTCREATE, "--out=%s: cannot create the directory: %s", out,
            strerror(errno));
    check_output(s);
    if (s->goes_on) rundir_of(s->from.dir, dir);
    rundir_lock(out);
    if (rundir_same(dir, out)) {
        rundir_clean(out);
        for (int i = 0; i < s->from.ndamaged; i++)
            rundir_set_aside(out, s->from.damaged[i]);
    } else if (rundir_make_room(out)) {
        printf("the run that was in %s is in %s/previous now\n\n", out, out);
    }
    if (s->goes_on)
        metrics_resume(metrics, dir, out, s->at.metrics, s->at.step);
    else
        metrics_open(metrics, out);
    config_save(out, text);
    arena_free(&s->files);
}
