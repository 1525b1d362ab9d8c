#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include "die.h"
#include "disk.h"
#include "json.h"
#include "metrics.h"
#include "os.h"

static const char name[] = "metrics.jsonl", end[] = "}\n";

static void open_file(Metrics *m, const char *out, const char *mode)
{
    static char path[DISK_PATH];
    disk_path(m->path = path, out, name);
    m->f = fopen(path, mode);
    if (!m->f) die_errno(EXIT_CANTCREATE, path, "cannot write");
}

_Noreturn static void failed(const Metrics *m)
{
    die_errno(EXIT_IO, m->path, "cannot write");
}

void metrics_open(Metrics *m, const char *out) { open_file(m, out, "w"); }

/* The step that a line is of; -1 if it is no line of a run. */
static long step_of(Arena *a, const char *line, size_t n)
{
    char error[JSON_ERROR];
    uint64_t step;
    const Json *j = json_parse(a, line, n, error);
    bool ok = json_u64(json_get(j, "step"), &step) && step < LONG_MAX;
    arena_reset(a);
    return ok ? (long)step : -1;
}

/* Of n bytes the lines of steps that rise up to `last`, into kept, with room
 * for n; returns how many bytes they are. */
static size_t keep_lines(const char *old, size_t n, long last, char *kept)
{
    Arena a = {0};
    const char *stop = old + n, *line_end;
    size_t length = 0;
    long before = -1;
    for (; (line_end = memchr(old, '\n', (size_t)(stop - old)));
         old = line_end + 1) {
        size_t m = (size_t)(line_end + 1 - old);
        long step = step_of(&a, old, m - 1);
        if (step <= before || step > last) continue;
        memcpy(kept + length, old, m);
        length += m, before = step;
    }
    arena_free(&a);
    return length;
}

/* At `bytes` a line ended; since then it may have been opened again. Where the
 * lines are not those that the checkpoint counted, what there is of them is
 * kept, and the file as it was. */
void metrics_resume(Metrics *m, const char *from, const char *out,
                    uint64_t bytes, long last)
{
    Arena a = {0};
    char path[DISK_PATH];
    size_t n = 0, length = 0, ending = strlen(end);
    disk_path(path, from, name);
    char *old = disk_try_read(&a, path, &n);
    if (!old && errno != ENOENT) die_errno(EXIT_IO, path, "cannot read");
    char *kept = arena_alloc(&a, n + 1);
    if (old && bytes >= ending && bytes <= n) {
        char *whole = memcpy(arena_alloc(&a, bytes), old, bytes);
        memcpy(whole + bytes - ending, end, ending);
        length = keep_lines(whole, bytes, last, kept);
    }
    if (length != bytes) {
        Piece copy = {old, n};
        if (old) length = keep_lines(old, n, last, kept);
        if (old) disk_replace(out, &(DiskFile){"metrics.jsonl.damaged", &copy,
                                               1});
        warn("%s: not as the checkpoint counts it: %zu of %llu bytes are kept"
             "%s", path, length, (unsigned long long)bytes,
             old ? ", the file as it was is metrics.jsonl.damaged" : "");
    }
    disk_replace(out, &(DiskFile){name, &(Piece){kept, length}, 1});
    arena_free(&a);
    open_file(m, out, "r+");
    if (fseek(m->f, 0, SEEK_END)) failed(m);
}

void metrics_line(Metrics *m, long step)
{
    fprintf(m->f, "{\"step\":%ld", step);
}

void metrics_again(Metrics *m, long step)
{
    if (ftell(m->f) == 0) metrics_line(m, step);
    else if (fseek(m->f, -(long)strlen(end), SEEK_END)) failed(m);
}

void metrics_real(Metrics *m, const char *key, double x)
{
    if (isfinite(x)) fprintf(m->f, ",\"%s\":%.9g", key, x);
    else fprintf(m->f, ",\"%s\":null", key);
}

void metrics_text(Metrics *m, const char *key, const char *s, size_t n)
{
    fprintf(m->f, ",\"%s\":", key);
    json_write_string(m->f, s, n);
}

void metrics_end(Metrics *m) { fputs(end, m->f); }

void metrics_flush(Metrics *m)
{
    if (fflush(m->f) || ferror(m->f)) failed(m);
}

uint64_t metrics_settle(Metrics *m)
{
    metrics_flush(m);
    long bytes = ftell(m->f);
    if (bytes < 0 || os->fsync(fileno(m->f))) failed(m);
    return (uint64_t)bytes;
}

void metrics_close(Metrics *m)
{
    if (fclose(m->f)) failed(m);
}
