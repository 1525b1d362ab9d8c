/* The part of the report that goes over the steps. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "page.h"

enum { POINTS = 300, SAMPLES = 4 };     /* at most: of a curve, on a page */

/* At most POINTS points, each the mean of as many steps; but of those with a
 * value above `most` the largest, which the chart then marks. */
static ChartLine curve(Page *p, const char *name, const RunLog *r,
                       const double *y, double most)
{
    long every = (r->n + POINTS - 1) / POINTS, n = 0;
    double *mx = arena_alloc(&p->arena, POINTS * sizeof *mx);
    double *my = arena_alloc(&p->arena, POINTS * sizeof *my);
    for (long i = 0; i < r->n; i += every, n++) {
        long some = r->n - i < every ? r->n - i : every, top = i;
        mx[n] = mean_of(some, r->step + i);
        my[n] = mean_of(some, y + i);
        for (long k = i; k < i + some; k++)
            if (!(y[k] <= y[top])) top = k;
        if (y[top] > most) mx[n] = r->step[top], my[n] = y[top];
    }
    return (ChartLine){name, n, mx, my};
}

/* The same without the steps at which there was none, and no mean. */
static ChartLine points(Page *p, const char *name, const RunLog *r,
                        const double *y)
{
    size_t bytes = (size_t)r->n * sizeof(double);
    double *x = arena_alloc(&p->arena, bytes);
    double *kept = arena_alloc(&p->arena, bytes);
    long n = 0;
    for (long i = 0; i < r->n; i++)
        if (isfinite(y[i])) x[n] = r->step[i], kept[n++] = y[i];
    return (ChartLine){name, n, x, kept};
}

/* The reference lines belong to a text: to that of all runs, or to none. */
static bool same_text(const Page *p)
{
    const char *first = p->run->corpus;
    for (int i = 1; i < p->n; i++) {
        const char *other = p->run[i].corpus;
        if (!first || !other || strcmp(first, other)) return false;
    }
    return true;
}

/* Where the axis of a loss ends: above, a jump on the way is cut off. */
static double loss_limit(const Page *p)
{
    double most = 0;
    for (int i = 0; i < p->n; i++) most = fmax(most, p->run[i].uniform);
    return 1.3 * most;
}

/* What ends far above ln V needs another axis: it has diverged. */
static void put_losses(const Page *p, const char *title, const ChartLine *line,
                       int n, const char *about)
{
    const RunLog *r = p->run;
    ChartLevel level[] = {{"ln V", r->uniform}, {"unigram", r->unigram},
                          {"bigram", r->bigram}, {"entropy", r->entropy}};
    Chart c = {title, "step", "nats per character", .y_most = loss_limit(p)};
    for (int i = 0; i < n; i++)
        c.y_log |= c.y_most > 0 && last_of(line[i].n, line[i].y) > c.y_most;
    if (c.y_log) c.y_most = 0;
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &c, line, n, level, same_text(p) ? 4 : 0);
    page_caption(p, about);
}

/* Training and validation: of one run in one chart, of several in two. */
static void put_loss(Page *p)
{
    int n = p->n;
    ChartLine *line = arena_alloc(&p->arena, 2 * (size_t)n * sizeof *line);
    const char *about = "Dotted: what a model reaches that knows nothing (ln "
        "V), how frequent characters are (unigram), or which follows which "
        "(bigram); and, where it is known, the entropy of the language, which "
        "none can be below.";
    if (!same_text(p))
        about = "The runs do not have the same text: there are no reference "
                "lines that hold for all.";
    for (int i = 0; i < n; i++) {
        const RunLog *r = &p->run[i];
        line[i] = curve(p, n > 1 ? r->dir : "training", r, r->loss,
                        loss_limit(p));
        line[n + i] = points(p, n > 1 ? r->dir : "validation", r, r->val_loss);
    }
    if (n == 1) {
        put_losses(p, "Loss", line, 2, about);
        page_samples(p, p->run);
        return;
    }
    put_losses(p, "Training loss", line, n, about);
    put_losses(p, "Validation loss", line + n, n, "On random batches of the "
               "validation part, the same at every evaluation.");
}

static const char *flag(const Page *p, const char *name)
{
    const char *value = runlog_flag(p->run, name);
    return value ? value : "?";
}

/* Captions that are made of flags hold for all runs or are not made. */
static const char *about_norm(Page *p)
{
    enum { ROOM = 200 };
    char *text = arena_alloc(&p->arena, ROOM);
    const char *clip = flag(p, "grad-clip");
    if (page_differs(p, "grad-clip") || !isdigit((unsigned char)*clip))
        return "Of all parameters.";
    if (atof(clip) > 0)
        snprintf(text, ROOM, "Where it is above --grad-clip=%.20s, the "
                 "gradient is scaled down to that before the step.", clip);
    else snprintf(text, ROOM, "Every step takes it as it is: --grad-clip=0.");
    return text;
}

static const char *about_rate(Page *p)
{
    enum { ROOM = 200 };
    char *text = arena_alloc(&p->arena, ROOM);
    const char *warmup = flag(p, "warmup"), *schedule = flag(p, "schedule");
    if (page_differs(p, "warmup") || page_differs(p, "schedule"))
        return "The runs differ in --warmup or --schedule: see the table.";
    if (*warmup == '?' || *schedule == '?') return "Of every step.";
    if (!strcmp(warmup, "0"))
        snprintf(text, ROOM, "No warmup; schedule %.20s.", schedule);
    else
        snprintf(text, ROOM, "Up in a straight line over a warmup of %.20s "
                 "steps; from there on schedule %.20s.", warmup, schedule);
    return text;
}

void page_curves(Page *p)
{
    size_t n = (size_t)p->n;
    ChartLine *rate = arena_alloc(&p->arena, n * sizeof *rate);
    ChartLine *norm = arena_alloc(&p->arena, n * sizeof *norm);
    for (int i = 0; i < p->n; i++) {
        const RunLog *r = &p->run[i];
        const char *name = p->n > 1 ? r->dir : NULL;
        rate[i] = curve(p, name, r, r->rate, INFINITY);
        norm[i] = curve(p, name, r, r->grad_norm, INFINITY);
    }
    fputs("<h2>Training</h2>\n<div class=\"grid\">\n", p->f);
    put_loss(p);
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &(Chart){"Norm of the gradient", "step",
                "of all parameters, before clipping", .y_log = true,
                .y_ratio = 2}, norm, p->n, NULL, 0);
    page_caption(p, about_norm(p));
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &(Chart){"Learning rate", "step", .y_label = "rate"},
                rate, p->n, NULL, 0);
    page_caption(p, about_rate(p));
    fputs("</div>\n", p->f);
}

/* -- samples ------------------------------------------------------------- */

static void put_sample(const Page *p, const RunLog *r, long i)
{
    fprintf(p->f, "<div class=\"sample\" data-step=\"%.0f\"><p class="
            "\"soft\">step %.0f", r->step[i], r->step[i]);
    if (isfinite(r->val_loss[i]))
        fprintf(p->f, ", validation loss %.4f", r->val_loss[i]);
    fputs("</p><pre>", p->f);
    if (*r->sample[i] == '\n') fputc('\n', p->f);   /* HTML drops the first */
    chart_text(p->f, r->sample[i]);
    fputs("</pre></div>\n", p->f);
}

void page_samples(const Page *p, const RunLog *r)
{
    long n = 0, k = 0, shown = 0;
    for (long i = 0; i < r->n; i++) n += r->sample[i] != NULL;
    if (n == 0) return;
    fputs("<figure class=\"samples\">\n<h3>What it writes</h3>\n", p->f);
    for (long i = 0; i < r->n; i++) {
        if (!r->sample[i]) continue;
        /* Of many, the first, the last and some evenly between. */
        if (n <= SAMPLES || k == shown * (n - 1) / (SAMPLES - 1))
            put_sample(p, r, i), shown++;
        k++;
    }
    fputs("</figure>\n", p->f);
}
