#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "faults.h"
#include "os.h"
#include "rundir.h"
#include "test.h"

TEST(only_whole_numbers_are_steps)
{
    static const char *const none[] = {
        "step-07", "step-", "step-1x", "step-99999999999999999999", "step--1",
        "step-+1", "step- 1", "step-00", "step-1.tmp", "step-1.damaged",
        "Step-1", "step1", "step_1", "xstep-1", "best", "step-1 "
    };
    Arena a = {0};
    char path[DISK_PATH];
    int n;
    faults_in_memory((Faults){0});
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        disk_path(path, "out", none[i]);
        os->mkdir(path);
        rundir_steps(&a, "out", &n);
        EXPECT(n == 0, "\"%s\" is taken for a step", none[i]);
        os->rmdir(path);
    }
    EXPECT(rundir_newest("out") == -1, "%ld", rundir_newest("out"));
    EXPECT(rundir_newest("nowhere") == -1, "%ld", rundir_newest("nowhere"));
    static const long steps[] = {9, 0, 999999999999999999, 10, 250};
    for (int i = 0; i < 5; i++) small_publish("out", steps[i]);
    const long *step = rundir_steps(&a, "out", &n);
    EXPECT(n == 5 && step[0] == 999999999999999999 && step[1] == 250
           && step[2] == 10 && step[3] == 9 && step[4] == 0,
           "%d steps, the first %ld", n, n ? step[0] : -1);
    arena_free(&a);
}

TEST(run_of_a_checkpoint)
{
    static const struct { const char *dir, *out; } cases[] = {
        {"out/step-250", "out"}, {"out/best", "out"}, {"step-3", "."},
        {"best", "."}, {".", "./.."}, {"/step-1", "/"}, {"/best", "/"},
        {"x/y", "x/y/.."}, {"a/b/step-0", "a/b"}, {"out/beste", "out/beste/.."},
        {"out/step-07", "out/step-07/.."}, {"step-1/x", "step-1/x/.."}
    };
    char out[DISK_PATH];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rundir_of(cases[i].dir, out);
        EXPECT(!strcmp(out, cases[i].out), "%s: %s, not %s", cases[i].dir, out,
               cases[i].out);
    }
}

/* -- killed before every call, then perhaps a power failure -------------- */

/* What is not the run's must stay as it is, whatever its name reminds of. */
static const char *const foreign[] = {
    "notes.tmp", "step-x", "step-07", "step-.tmp", "best.txt", "step-1x.tmp",
    "model.tmp"
};
enum { FOREIGN = sizeof foreign / sizeof *foreign };

/* Where there is time (PLUMB_TEST_FULL): more of what is tried at random. */
static bool full(void) { return getenv("PLUMB_TEST_FULL") != NULL; }

/* Under sanitizers (PLUMB_TEST_BRIEF) a process takes long to begin: every
 * seventh place to be killed at, where each is gone through elsewhere. */
static int stride(void) { return getenv("PLUMB_TEST_BRIEF") ? 7 : 1; }
static int random_states(void) { return full() ? 40 : 8; }

static void put_foreign(void)
{
    char path[DISK_PATH];
    for (int i = 0; i < FOREIGN; i++) {
        disk_path(path, "out", foreign[i]);
        fs_set(path, foreign[i], strlen(foreign[i]));
    }
}

static bool foreign_is_there(void)
{
    Arena a = {0};
    char path[DISK_PATH];
    size_t n;
    bool all = true;
    for (int i = 0; i < FOREIGN; i++) {
        disk_path(path, "out", foreign[i]);
        const char *bytes = disk_try_read(&a, path, &n);
        all = all && bytes && n == strlen(foreign[i])
           && !memcmp(bytes, foreign[i], n);
    }
    arena_free(&a);
    return all;
}

static bool is_there(const char *name)
{
    Arena a = {0};
    const char **names;
    int n = 0;
    bool found = false;
    disk_names(&a, "out", &names, &n);
    for (int i = 0; i < n; i++) found = found || !strcmp(names[i], name);
    arena_free(&a);
    return found;
}

static bool step_is_whole(const char *dir, long step)
{
    char name[STEP_NAME], path[DISK_PATH];
    step_name(name, step);
    disk_path(path, dir, name);
    return small_whole(path);
}

/* NULL, or what is wrong with OUT. */
static const char *wrong_run(void)
{
    Arena a = {0};
    int n;
    const char *wrong = NULL;
    const long *step = rundir_steps(&a, "out", &n);
    long newest = -1;
    for (int i = 0; i < n; i++) {
        if (!step_is_whole("out", step[i])) wrong = "a step is not whole";
        else if (step[i] > newest) newest = step[i];
    }
    if (newest < 0) wrong = "no whole checkpoint";
    else if (newest < faults->told) wrong = "what was told is not there";
    if (is_there("best") && !small_whole("out/best")) wrong = "best is broken";
    if (!foreign_is_there()) wrong = "another's file is gone";
    arena_free(&a);
    return wrong;
}

typedef struct {
    const char *name;
    void (*prepare)(void);
    void (*run)(void *);                /* again after a kill as well */
    const char *(*wrong)(void);
} Scenario;

static void two_checkpoints(void)
{
    small_publish("out", 1);
    small_publish("out", 2);
    disk_point("out", "best", "step-1");
    disk_replace("out", &(DiskFile){"metrics.jsonl",
                                    &(Piece){"{\"step\":2}\n", 11}, 1});
    put_foreign();
}

static void save(int keep, long best)
{
    char name[STEP_NAME];
    rundir_clean("out");
    if (rundir_newest("out") < 3) {
        small_publish("out", 3);
        faults->told = 3;
    }
    step_name(name, best);
    if (best == 3) disk_point("out", "best", name);
    rundir_keep("out", keep, best);
}

static void save_keep_1(void *arg) { (void)arg; save(1, 3); }
static void save_keep_2(void *arg) { (void)arg; save(2, 3); }
static void save_not_best(void *arg) { (void)arg; save(1, 1); }

/* A kill has left all that it can leave. */
static void litter(void)
{
    two_checkpoints();
    os->mkdir("out/step-9.tmp");
    fs_set("out/step-9.tmp/model.bin", "half", 4);
    os->symlink("step-9", "out/best.tmp");
    fs_set("out/metrics.jsonl.tmp", "half", 4);
    fs_set("out/report.html.tmp", "half", 4);
    fs_set("out/config.json.tmp", "half", 4);
}

static void clean(void *arg) { (void)arg; rundir_clean("out"); }

static void replace(void *arg)
{
    (void)arg;
    rundir_clean("out");
    disk_replace("out", &(DiskFile){"metrics.jsonl", (Piece[]){
                 {"{\"step\":2}\n", 11}, {"{\"step\":3}\n", 11}}, 2});
}

static const char *wrong_replaced(void)
{
    Arena a = {0};
    size_t n;
    const char *bytes = disk_try_read(&a, "out/metrics.jsonl", &n);
    const char *wrong = wrong_run();
    if (!bytes || (n != 11 && n != 22)
        || memcmp(bytes, "{\"step\":2}\n{\"step\":3}\n", n))
        wrong = "neither the old file nor the new one";
    arena_free(&a);
    return wrong;
}

static void set_aside(void *arg)
{
    (void)arg;
    rundir_clean("out");
    if (rundir_newest("out") == 2) rundir_set_aside("out", 2);
}

static void set_aside_before(void)
{
    two_checkpoints();
    os->mkdir("out/step-2.damaged");
    fs_set("out/step-2.damaged/model.bin", "old", 3);
}

static void older_run(void)
{
    two_checkpoints();
    small_publish("out", 4);
    os->symlink("x", "out/best.tmp");
}

static void older_two_runs(void)
{
    older_run();
    os->mkdir("out/previous");
    small_publish("out/previous", 7);
    small_publish("out/previous", 8);
    fs_set("out/previous/metrics.jsonl", "older", 5);
}

static void make_room(void *arg) { (void)arg; rundir_make_room("out"); }

static bool moved_to(const char *dir)
{
    return step_is_whole(dir, 1) && step_is_whole(dir, 2)
        && step_is_whole(dir, 4);
}

/* Nothing of the run is lost; the run before it stays until all of this one
 * is in its place. */
static const char *wrong_room(void)
{
    static const char *const dirs[] = {"out", "out/previous.moving",
                                       "out/previous"};
    static const long steps[] = {1, 2, 4};
    for (int s = 0; s < 3; s++) {
        int n = 0;
        for (int d = 0; d < 3; d++) n += step_is_whole(dirs[d], steps[s]);
        if (n == 0) return "a checkpoint is lost";
    }
    if (!foreign_is_there()) return "another's file is gone";
    return NULL;
}

static const char *wrong_two_rooms(void)
{
    if (!moved_to("out/previous.moving") && !moved_to("out/previous")
        && !(step_is_whole("out/previous", 7)
             && step_is_whole("out/previous", 8)))
        return "the run before is gone too early";
    return wrong_room();
}

static const Scenario scenarios[] = {
    {"save, keep 1", two_checkpoints, save_keep_1, wrong_run},
    {"save, keep 2", two_checkpoints, save_keep_2, wrong_run},
    {"save, the best is older", two_checkpoints, save_not_best, wrong_run},
    {"save among litter", litter, save_keep_2, wrong_run},
    {"clean", litter, clean, wrong_run},
    {"replace", two_checkpoints, replace, wrong_replaced},
    {"set aside", set_aside_before, set_aside, wrong_run},
    {"make room", older_run, make_room, wrong_room},
    {"make room again", older_two_runs, make_room, wrong_two_rooms}
};

/* After a kill (state -1) and, in the other states, a power failure. */
typedef struct {
    const Scenario *scenario;
    const Fs *died;             /* as it was when the process ended */
    const char *end;            /* the tree when all has been done */
    int killed, again, told, states;
} Death;

/* What is wrong then, or after it has run once more to its end, or after a
 * power failure that comes when it has returned. */
static const char *wrong_state(const Death *d, int state, Arena *a,
                               const char **before, const char **after)
{
    const Scenario *s = d->scenario;
    fs_put(d->died);
    fs_crash(state);
    *faults = (Faults){.told = d->told};
    const char *wrong = s->wrong();
    *before = tree_text(a, "out");
    *after = " -";
    if (wrong) return wrong;
    s->run(NULL);
    *after = tree_text(a, "out");
    if ((wrong = s->wrong())) return wrong;
    if (strcmp(*after, d->end)) return "not the same in the end";
    fs_crash(1);
    return s->wrong();
}

static void states_are_right(void *arg)
{
    const Death *d = arg;
    for (int i = -1; i < d->states - 1; i++) {
        const char *before, *after;
        Arena a = {0};
        const char *wrong = wrong_state(d, i, &a, &before, &after);
        EXPECT(!wrong, "%s: killed before call %d, then %d, state %d: %s\n"
               "    after that:%s\n    after one more run:%s",
               d->scenario->name, d->killed, d->again, i, wrong, before,
               after);
        arena_free(&a);
        if (!wrong) continue;
        fflush(stdout);
        _exit(1);
    }
}

/* The tree when it has run to its end; *calls: how many it made. */
static char *run_to_end(const Scenario *s, Arena *a, int *calls)
{
    *faults = (Faults){0};
    s->run(NULL);
    *calls = faults->calls;
    return tree_text(a, "out");
}

/* KILL: the process ends. POWER: perhaps the machine as well. TWICE: the
 * process that goes on is killed, too, then perhaps the machine. */
typedef enum { KILL, POWER, TWICE } How;
typedef struct { int kills, states; } Count;

static bool killed_at(Death *d, How how, int k, Count *count)
{
    *faults = (Faults){.kill = k, .told = faults->told};
    int status = in_child(d->scenario->run, NULL, false);
    if (status != KILLED && status != 0)
        return EXPECT(false, "%s: killed before call %d, then %d: status %d",
                      d->scenario->name, d->killed, k, status);
    d->died = fs_take();
    d->told = faults->told;
    d->states = how == KILL ? 1 : 3 + fs_pending() + random_states();
    status = in_child(states_are_right, d, false);
    bool right = EXPECT(status == 0, "%s: killed before call %d, then %d: "
                        "status %d", d->scenario->name, d->killed, d->again,
                        status);
    count->kills++, count->states += d->states;
    free((void *)d->died);
    return right;
}

static bool killed_again(Death *d, int k, int calls, Count *count)
{
    static unsigned random = 1;
    bool right = true;
    Fs *died;
    faults->kill = k;
    in_child(d->scenario->run, NULL, false);
    fs_crash(-1);
    died = fs_take();
    int told = faults->told;
    for (int i = 0; right && i < (full() ? calls : 1); i++) {
        random = random * 1103515245 + 12345;
        d->again = 1 + (full() ? i : (int)(random >> 16) % calls);
        fs_put(died);
        faults->told = told;
        right = killed_at(d, TWICE, d->again, count);
    }
    free(died);
    return right;
}

static void kill_everywhere(const Scenario *s, How how, Count *count)
{
    Arena a = {0};
    int calls;
    bool right = true;
    faults_in_memory((Faults){0});
    s->prepare();
    fs_sync();
    Fs *before = fs_take();
    const char *end = run_to_end(s, &a, &calls);
    for (int k = 1; k <= calls + 1 && right; k += stride()) {
        Death d = {.scenario = s, .end = end, .killed = k};
        fs_put(before);
        *faults = (Faults){0};
        right = how == TWICE ? killed_again(&d, k, calls, count)
                             : killed_at(&d, how, k, count);
    }
    free(before);
    arena_free(&a);
}

static void all_scenarios(How how)
{
    Count count = {0};
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        kill_everywhere(&scenarios[i], how, &count);
    test_say("%d kill points, %d states after them", count.kills,
             count.states);
}

TEST(killed_before_every_call_loses_nothing) { all_scenarios(KILL); }
TEST(power_failure_before_every_call_loses_nothing) { all_scenarios(POWER); }
TEST(killed_twice_loses_nothing) { all_scenarios(TWICE); }

/* -- calls that fail ----------------------------------------------------- */

/* A call fails, once or from then on: the program ends and says so, or does
 * without the call, and all is done. Then the disk is mended. */
static void fail_here(const Scenario *s, int k, Faults f, const char *end)
{
    Arena a = {0};
    *faults = f;
    faults->fail = k;
    int status = in_child(s->run, NULL, true);
    Call call = faults->failed;
    *faults = (Faults){.told = faults->told};
    const char *wrong = s->wrong(), *tree = tree_text(&a, "out");
    if (status != EXIT_IO && (status != 0 || strcmp(tree, end)))
        wrong = "neither done nor told";
    EXPECT(!wrong, "%s: call %d (kind %d) failed with %s: status %d, %s:%s",
           s->name, k, call, strerror(f.error), status, wrong, tree);
    EXPECT(fs_synced_again() == 0, "%s: call %d: a fsync that had failed was "
           "tried again", s->name, k);
    if (!wrong) s->run(NULL);
    tree = tree_text(&a, "out");
    EXPECT(wrong || !strcmp(tree, end), "%s: call %d failed with %s, and not "
           "the same in the end:%s", s->name, k, strerror(f.error), tree);
    arena_free(&a);
}

static int fail_everywhere(const Scenario *s)
{
    static const int errors[] = {EIO, ENOSPC};
    Arena a = {0};
    int calls;
    faults_in_memory((Faults){0});
    s->prepare();
    fs_sync();
    Fs *before = fs_take();
    const char *end = run_to_end(s, &a, &calls);
    for (int k = 1; k <= calls; k += stride())
        for (int e = 0; e < 4; e++) {
            fs_put(before);
            fail_here(s, k, (Faults){.error = errors[e & 1],
                                     .onwards = e & 2}, end);
        }
    free(before);
    arena_free(&a);
    return 4 * calls;
}

TEST(every_call_that_fails_in_a_run_loses_nothing)
{
    int tried = 0;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        tried += fail_everywhere(&scenarios[i]);
    test_say("%d calls failed", tried);
}

TEST(interruptions_change_nothing_in_a_run)
{
    Arena a = {0};
    int calls;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        const Scenario *s = &scenarios[i];
        faults_in_memory((Faults){0});
        s->prepare();
        Fs *before = fs_take();
        const char *end = run_to_end(s, &a, &calls);
        fs_put(before);
        *faults = (Faults){.interrupt = true, .one_byte = true};
        s->run(NULL);
        *faults = (Faults){0};
        EXPECT(!strcmp(tree_text(&a, "out"), end), "%s", s->name);
        EXPECT(fs_open_files() == 0, "%s: %d files left open", s->name,
               fs_open_files());
        free(before);
    }
    arena_free(&a);
}
