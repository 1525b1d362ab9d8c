#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "die.h"
#include "kernels.h"
#include "profile.h"

enum { MAX_ROWS = 64 };

/* Totals, by pass */
typedef struct {
    const char *name;
    long calls;
    double seconds[2], flops[2], bytes[2];
} Row;

struct Profile {
    double last;            /* when the clock was last read, seconds */
    Gflops cores;           /* before the first step */
    int nrow;
    Row row[MAX_ROWS];
};

Profile *profile_new(Arena *a)
{
    Profile *p = arena_alloc(a, sizeof *p);
    *p = (Profile){.cores = peak_gflops(0.1)};
    return p;
}

void profile_start(Profile *p)
{
    if (p) p->last = now();
}

static Row *row_of(Profile *p, const char *name)
{
    for (int i = 0; i < p->nrow; i++)
        if (!strcmp(p->row[i].name, name)) return &p->row[i];
    CHECK(p->nrow < MAX_ROWS, "profile: room for %d ops", MAX_ROWS);
    p->row[p->nrow] = (Row){.name = name};
    return &p->row[p->nrow++];
}

static void add_time(Profile *p, Row *r, int pass)
{
    double t = now();
    r->seconds[pass] += t - p->last;
    p->last = t;
}

void profile_rest(Profile *p, const char *name)
{
    if (!p) return;
    Row *r = row_of(p, name);
    r->calls++;
    add_time(p, r, FORWARD);
}

/* Forward reads the inputs and writes the output. Backward reads the inputs
 * and the output's gradient, and reads and writes those of the inputs. */
static double bytes_of(const Node *nd, int pass)
{
    double n = (double)size(nd->out);
    for (int i = 0; i < MAX_IN && nd->in[i]; i++)
        n += (double)size(nd->in[i]) * (pass && nd->in[i]->grad ? 3 : 1);
    return n * sizeof(real);
}

void profile_op(Profile *p, const Node *nd, int pass)
{
    if (!p) return;
    Row *r = row_of(p, nd->op);
    r->calls += pass == FORWARD;
    r->flops[pass] += nd->flops * (pass ? 2 : 1);
    r->bytes[pass] += bytes_of(nd, pass);
    add_time(p, r, pass);
}

static int slower(const void *a, const void *b)
{
    const Row *x = a, *y = b;
    double s = x->seconds[0] + x->seconds[1], t = y->seconds[0] + y->seconds[1];
    return (s < t) - (s > t);
}

static void print_row(FILE *f, const Row *r, long steps, double peak)
{
    double s = r->seconds[0] + r->seconds[1], n = (double)steps;
    double gflops = 1e-9 * (r->flops[0] + r->flops[1]) / s;
    fprintf(f, "%-14s %6.0f %9.3f %9.3f", r->name, (double)r->calls / n,
            1e3 * r->seconds[0] / n, 1e3 * r->seconds[1] / n);
    if (gflops > 0)
        fprintf(f, " %8.1f %8.1f %6.0f %%\n", gflops,
                1e-9 * (r->bytes[0] + r->bytes[1]) / s,
                100 * gflops / peak);
    else if (r->bytes[0] > 0)
        fprintf(f, " %8s %8.1f\n", "", 1e-9 * (r->bytes[0] + r->bytes[1]) / s);
    else
        fprintf(f, "\n");
}

void profile_print(FILE *f, const Profile *p, long steps)
{
    const Gflops then = p->cores, now = peak_gflops(0.1);
    double peak = then.best > now.best ? then.best : now.best;
    Profile sorted = *p;
    Row all = {.name = "a step", .calls = steps};
    qsort(sorted.row, (size_t)p->nrow, sizeof *sorted.row, slower);
    fprintf(f, "%-14s %6s %9s %9s %8s %8s %8s\n", "op", "calls", "forward",
            "backward", "GF/s", "GB/s", "of peak");
    fprintf(f, "%-14s %6s %9s %9s\n", "", "", "ms", "ms");
    for (int i = 0; i < p->nrow; i++) {
        const Row *r = &sorted.row[i];
        print_row(f, r, steps, peak);
        for (int pass = 0; pass < 2; pass++) {
            all.seconds[pass] += r->seconds[pass];
            all.flops[pass] += r->flops[pass];
            all.bytes[pass] += r->bytes[pass];
        }
    }
    print_row(f, &all, steps, peak);
    fprintf(f, "peak of %d thread%s, measured: %.0f GF/s, of which were there "
            "before and after: %.0f %%, %.0f %%\n", thread_count(),
            thread_count() == 1 ? "" : "s", peak, 100 * then.mean / peak,
            100 * now.mean / peak);
}
