#include <errno.h>
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

/* The last of these bytes were a line's end; since then the line may have
 * been opened again. */
void metrics_resume(Metrics *m, const char *from, const char *out,
                    uint64_t bytes)
{
    Arena a = {0};
    char path[DISK_PATH];
    size_t n = 0;
    disk_path(path, from, name);
    const char *old = disk_try_read(&a, path, &n);
    if (!old || n < bytes) {
        fprintf(stderr, "%s: %zu of the %llu bytes that the checkpoint "
                "counts: earlier steps are missing\n", path, old ? n : 0,
                (unsigned long long)bytes);
        while (n && old[n - 1] != '\n') n--;
        bytes = old ? n : 0;
    }
    Piece piece[] = {{old, bytes ? bytes - strlen(end) : 0},
                     {end, bytes ? strlen(end) : 0}};
    disk_replace(out, &(DiskFile){name, piece, 2});
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
