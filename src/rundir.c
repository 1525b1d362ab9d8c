#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "die.h"
#include "os.h"
#include "rundir.h"

void step_name(char name[STEP_NAME], long step)
{
    snprintf(name, STEP_NAME, "step-%ld", step);
}

static const char damaged[] = ".damaged";

/* N of "step-N"; -1 of another name. */
static long step_of(const char *name)
{
    const char *digits = name + 5;
    size_t n = strncmp(name, "step-", 5) ? 0 : strspn(digits, "0123456789");
    if (n == 0 || n > 18 || digits[n] || (*digits == '0' && n > 1)) return -1;
    return strtol(digits, NULL, 10);
}

static int later_first(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x < y) - (x > y);
}

long *rundir_steps(Arena *a, const char *out, int *n)
{
    const char **name;
    int names_there = 0;
    *n = 0;
    if (!disk_names(a, out, &name, &names_there)) return NULL;
    long *step = arena_alloc(a, (size_t)names_there * sizeof *step + 1);
    for (int i = 0; i < names_there; i++)
        if (step_of(name[i]) >= 0) step[(*n)++] = step_of(name[i]);
    qsort(step, (size_t)*n, sizeof *step, later_first);
    return step;
}

long rundir_newest(const char *out)
{
    Arena a = {0};
    int n;
    const long *step = rundir_steps(&a, out, &n);
    long newest = n ? *step : -1;
    arena_free(&a);
    return newest;
}

void rundir_keep(const char *out, int keep, long best)
{
    Arena a = {0};
    char name[STEP_NAME];
    int n;
    const long *step = rundir_steps(&a, out, &n);
    for (int i = keep; i < n; i++)
        if (step[i] != best) {
            step_name(name, step[i]);
            disk_remove(out, name);
        }
    arena_free(&a);
}

bool rundir_has(const char *out, long step)
{
    Arena a = {0};
    int n, i = 0;
    const long *steps = rundir_steps(&a, out, &n);
    while (i < n && steps[i] != step) i++;
    arena_free(&a);
    return i < n;
}

void rundir_point_best(const char *out, long best)
{
    char name[STEP_NAME];
    step_name(name, best);
    if (rundir_has(out, best)) disk_point(out, "best", name);
}

bool rundir_is_model(const char *out)
{
    static const char *const sign[] = {"MANIFEST", "model.safetensors",
        "model.safetensors.index.json", "pytorch_model.bin"};
    Arena a = {0};
    const char **name;
    int n = 0;
    bool found = false;
    disk_names(&a, out, &name, &n);
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof sign / sizeof *sign; k++)
            found |= !strcmp(name[i], sign[k]);
    arena_free(&a);
    return found;
}

/* Ends the name before this, if it is its end. */
static bool cut(char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    if (n <= m || strcmp(name + n - m, end)) return false;
    return name[n - m] = 0, true;
}

/* What a run leaves in OUT. */
static bool is_own(const char *name)
{
    char stem[64];
    static const char *const own[] = {"best", "config.json", "metrics.jsonl",
                                      "metrics.jsonl.damaged", "report.html"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(name, own[i])) return true;
    if (strlen(name) >= sizeof stem) return false;
    cut(strcpy(stem, name), damaged);
    return step_of(stem) >= 0;
}

/* What disk.h may leave of it. */
static bool is_left_over(const char *name)
{
    char stem[64];
    if (strlen(name) >= sizeof stem) return false;
    bool temporary = cut(strcpy(stem, name), ".tmp");
    return temporary && (is_own(stem) || !strcmp(stem, "previous"));
}

void rundir_clean(const char *out)
{
    Arena a = {0};
    const char **name;
    int n = 0;
    if (disk_names(&a, out, &name, &n)) disk_sync(out);
    for (int i = 0; i < n; i++)
        if (is_left_over(name[i])) disk_remove(out, name[i]);
    arena_free(&a);
}

/* First all of the run moves to `moving`, then that takes the place of
 * previous/. A kill may come in between: then the next run goes on where this
 * one stopped. (If the run itself went on before that, what it made since
 * replaces what is in `moving`.) */
bool rundir_make_room(const char *out)
{
    static const char moving[] = "previous.moving";
    Arena a = {0};
    char path[DISK_PATH];
    const char **name;
    int n = 0;
    rundir_clean(out);
    disk_path(path, out, moving);
    bool begun = disk_names(&a, path, &name, &n);
    if (!begun && rundir_newest(out) < 0) return false;
    if (!disk_make(path)) die_errno(EXIT_IO, path, "cannot create");
    disk_names(&a, out, &name, &n);
    for (int i = 0; i < n; i++) {
        if (!is_own(name[i])) continue;
        disk_remove(path, name[i]);
        disk_move(out, name[i], path, name[i]);
    }
    disk_remove(out, "previous");
    disk_move(out, moving, out, "previous");
    arena_free(&a);
    return true;
}

void rundir_set_aside(const char *out, long step)
{
    char name[STEP_NAME], aside[2 * STEP_NAME];
    step_name(name, step);
    snprintf(aside, sizeof aside, "%s%s", name, damaged);
    disk_remove(out, aside);
    disk_move(out, name, out, aside);
}

bool rundir_of(const char *dir, char out[DISK_PATH])
{
    const char *slash = strrchr(dir, '/'), *last = slash ? slash + 1 : dir;
    disk_path(out, dir, "..");
    if (strcmp(last, "best") && step_of(last) < 0) return false;
    if (!slash) snprintf(out, DISK_PATH, ".");
    else if (slash == dir) snprintf(out, DISK_PATH, "/");
    else snprintf(out, DISK_PATH, "%.*s", (int)(slash - dir), dir);
    return true;
}

bool rundir_same(const char *a, const char *b)
{
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev
        && x.st_ino == y.st_ino;
}

/* The system takes the lock back when the process ends, however it does. A
 * file system without locks has to do without. */
void rundir_lock(const char *out)
{
    char path[DISK_PATH];
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    disk_path(path, out, ".lock");
    int fd = os->open(path, O_RDWR | O_CREAT);
    if (fd < 0) die_errno(EXIT_CANTCREATE, path, "cannot write");
    if (fcntl(fd, F_SETLK, &lock) && (errno == EACCES || errno == EAGAIN))
        die(EXIT_CANTCREATE, "%s: another train is writing here: "
            "--out=ELSEWHERE", out);
}
