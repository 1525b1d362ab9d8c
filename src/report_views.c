/* The part of the report that goes along the residual path, as the probe saw
 * it: models/probe.h says what the columns are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "kernels.h"
#include "page.h"

/* A column of the probe: over layers and steps as a map, or over the layers
 * as a line for the first step looked at, a middle and the last. */
typedef struct {
    const char *column, *title, *unit;
    bool map, log;
    ChartLevel level;           /* to compare with; without a name: none */
    const char *about;
} View;

static const View views[] = {
    {"grad", "Gradient on the residual path", "norm", true, true, {0},
     "The gradient of the loss with respect to the stream that each sublayer "
     "finds. It enters at the bottom and goes up: a column that darkens "
     "upwards is a gradient that vanishes, one that brightens explodes."},
    {"gain", "What a sublayer does to the gradient", "gain", false, true,
     {"unchanged", 1},
     "Gradient of what enters a sublayer over gradient of what leaves it, "
     "|dx(i)| / |dx(i+1)|: gain_add of the sum x + F(x), times gain_norm if a "
     "norm comes after the sum. Over the depth they multiply: 0.8 at each of "
     "96 sublayers leaves 5e-10."},
    {"stream", "Size of the residual stream", "RMS", false, true, {0},
     "Of what each sublayer finds. Where a norm ends each sublayer (post, "
     "deepnorm) it is as large as that norm's gain and bias make it; where "
     "none does, it is the embedding and the sum of all branches so far."},
    {"cosine", "How alike the tokens are", "mean cosine", false, false,
     {"collapsed", 1},
     "Between two tokens of a sequence. Near 1 they are collapsed onto each "
     "other, and nothing that looks at them can tell them apart."},
    {"update", "Size of a step", "|dW| / |W|", true, true, {0},
     "How far a step moves the output projection of each sublayer, over how "
     "large that is. At more than a few percent every layer has changed "
     "before any could adapt to the others; a warmup makes the first steps "
     "smaller."},
    {"entropy", "Spread of the attention", "nats", true, false, {0},
     "Entropy of the attention's weights, mean over heads and tokens. 0: "
     "each token looks at one other. Uniform: at all that it sees alike, "
     "which is the mean of ln t over the positions t = 1 .. context."},
};
enum { VIEWS = sizeof views / sizeof *views };

static const char *text_at(Arena *a, const char *format, double x)
{
    char *text = arena_alloc(a, 48);
    snprintf(text, 48, format, x);
    return text;
}

/* -- values -------------------------------------------------------------- */

static double at(const Look *look, const char *column, int i)
{
    const LookColumn *c = look_column(look, column);
    return c && i < c->n ? c->value[i] : NAN;
}

/* Numbers of a column; 0: there is none. */
static int length(const RunLog *r, const char *column)
{
    const LookColumn *c = r->nlook ? look_column(r->look, column) : NULL;
    return c ? c->n : 0;
}

/* Where sublayers stand: attention at its layer, MLP half a layer on. */
static const double *layers(Arena *a, int n)
{
    double *x = arena_alloc(a, (size_t)n * sizeof *x + 1);
    for (int i = 0; i < n; i++) x[i] = 1 + i / 2.0;
    return x;
}

static ChartLine along(Page *p, const char *name, const Look *look,
                       const char *column)
{
    const LookColumn *c = look_column(look, column);
    if (!c) return (ChartLine){name, 0, NULL, NULL};
    return (ChartLine){name, c->n, layers(&p->arena, c->n), c->value};
}

/* Mean entropy of attention that sees all before it alike: of ln t. */
static double uniform_entropy(const RunLog *r)
{
    const char *context = runlog_flag(r, "context");
    long T = context ? strtol(context, NULL, 10) : 0;
    double total = 0;
    for (long t = 1; t <= T && T < 1000000; t++) total += (double)klog((real)t);
    return T > 0 ? total / (double)T : NAN;
}

/* -- one chart ----------------------------------------------------------- */

static const char *sublayer_name(Arena *a, int i, int n)
{
    if (i == n - 1 && n % 2) return "end";
    return text_at(a, i % 2 ? "MLP %.0f" : "attention %.0f", i / 2 + 1);
}

/* Of a deep stack only layers at an even stride have a name, the number. */
static const char *row_name(Arena *a, int i, int n, int rows)
{
    enum { ALL = 14, SOME = 10 };
    int stride = 1, L = n / 2, l = i / 2 + 1;
    for (int k = 0; L / stride > SOME; k++)     /* 1, 2, 5, 10, ... */
        stride = k % 3 == 1 ? stride * 5 / 2 : stride * 2;
    if (rows <= ALL || i == 2 * L) return sublayer_name(a, i, n);
    return i % 2 == 0 && l % stride == 0 ? text_at(a, "%.0f", l) : NULL;
}

/* Does row i hold anything? The MLPs have no entropy. */
static bool any_in_row(const RunLog *r, const char *column, int i)
{
    for (long k = 0; k < r->nlook; k++)
        if (isfinite(at(&r->look[k], column, i))) return true;
    return false;
}

/* Maps of several runs have one range of colours. */
static void range(const Page *p, const View *v, ChartMap *m)
{
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; p->n > 1 && i < p->n; i++)
        for (long k = 0; k < p->run[i].nlook; k++)
            for (int row = 0; row < length(&p->run[i], v->column); row++) {
                double x = at(&p->run[i].look[k], v->column, row);
                if (!isfinite(x) || (v->log && x <= 0)) continue;
                low = fmin(low, x), high = fmax(high, x);
            }
    if (low < high) m->low = low, m->high = high;
}

static void put_map(Page *p, const RunLog *r, const View *v, int n)
{
    Arena *a = &p->arena;
    int columns = (int)r->nlook, rows = 0, kept = 0;
    size_t cells = (size_t)n * (size_t)columns;
    double *value = arena_alloc(a, cells * sizeof *value);
    const char **row = arena_alloc(a, (size_t)n * sizeof *row);
    const char **column = arena_alloc(a, (size_t)columns * sizeof *column);
    for (int k = 0; k < columns; k++)
        column[k] = text_at(a, "%.0f", r->look[k].step);
    for (int i = 0; i < n; i++) rows += any_in_row(r, v->column, i);
    for (int i = 0; i < n; i++) {
        if (!any_in_row(r, v->column, i)) continue;
        row[kept] = row_name(a, i, n, rows);
        for (int k = 0; k < columns; k++)
            value[(long)kept * columns + k] = at(&r->look[k], v->column, i);
        kept++;
    }
    ChartMap m = {v->title, "layer", "step", v->unit, rows, columns, row,
                  column, value, .log = v->log};
    range(p, v, &m);
    if (!strcmp(v->column, "entropy") && isfinite(uniform_entropy(r)))
        m.level = (ChartLevel){"uniform", uniform_entropy(r)};
    chart_map(p->f, &m);
}

static const char x_label[] = "layer; MLP: + 1/2";

static void put_depth(Page *p, const View *v, const ChartLine *line, int n)
{
    Chart c = {v->title, x_label, v->unit, .y_log = v->log, .y_ratio = 2};
    chart_lines(p->f, &c, line, n, &v->level, v->level.name != NULL);
}

static void put_looks(Page *p, const RunLog *r, const View *v)
{
    ChartLine line[3];
    long which[] = {0, (r->nlook - 1) / 2, r->nlook - 1};
    int lines = 0;
    for (int k = 0; k < 3; k++) {
        const Look *look = &r->look[which[k]];
        if (k && which[k] == which[k - 1]) continue;
        line[lines++] = along(p, text_at(&p->arena, "step %.0f", look->step),
                              look, v->column);
    }
    put_depth(p, v, line, lines);
}

/* -- the factors of the gain --------------------------------------------- */

/* Is gain = gain_add gain_norm at every sublayer? It is where the norm comes
 * after the sum. */
static bool has_factors(const Look *look)
{
    int n = 0;
    const LookColumn *c = look_column(look, "gain");
    for (int i = 0; c && i < c->n; i++) {
        double product = at(look, "gain_add", i) * at(look, "gain_norm", i);
        if (!isfinite(product) || !isfinite(c->value[i])) continue;
        if (fabs(product - c->value[i]) > 1e-6 * c->value[i]) return false;
        n++;
    }
    return n > 0;
}

static void put_factors(Page *p, const RunLog *r)
{
    const Look *look = &r->look[r->nlook - 1];
    if (!has_factors(look)) return;
    ChartLine line[] = {along(p, "gain", look, "gain"),
                        along(p, "gain_add", look, "gain_add"),
                        along(p, "gain_norm", look, "gain_norm")};
    View v = {.title = text_at(&p->arena, "Its two factors at step %.0f",
                               look->step),
              .unit = "gain", .log = true, .level = {"unchanged", 1}};
    fputs("<figure data-view=\"factors\">\n", p->f);
    put_depth(p, &v, line, 3);
    page_caption(p, "gain = gain_add gain_norm. The first is from the sum x + "
        "F(x) back to x, past the branch; the second through the norm that "
        "stands after the sum.");
}

/* -- the largest step of all sublayers ----------------------------------- */

static ChartLine largest(Page *p, const char *name, const RunLog *r)
{
    size_t bytes = (size_t)r->nlook * sizeof(double) + 1;
    double *x = arena_alloc(&p->arena, bytes);
    double *y = arena_alloc(&p->arena, bytes);
    for (long k = 0; k < r->nlook; k++) {
        x[k] = r->look[k].step, y[k] = NAN;
        for (int i = 0; i < length(r, "update"); i++)
            y[k] = fmax(y[k], at(&r->look[k], "update", i));
    }
    return (ChartLine){name, r->nlook, x, y};
}

static void put_largest(Page *p, const ChartLine *line, int n)
{
    fputs("<figure data-view=\"largest\">\n", p->f);
    chart_lines(p->f, &(Chart){"Largest step of any sublayer", "step",
                "|dW| / |W|", .y_log = true, .y_ratio = 2}, line, n,
                (ChartLevel[]){{"3 %", 0.03}}, 1);
    page_caption(p, "Of the output projections, at the steps that were "
                 "looked at. Dotted: a few percent.");
}

/* -- one run, and all of them -------------------------------------------- */

static void put_heading(const Page *p, const RunLog *r)
{
    fputs("<h2>The residual path", p->f);
    if (p->n > 1) {
        fputs(" of ", p->f);
        chart_text(p->f, r->dir);
        fputs(" (", p->f);
        page_name(p, r);
        fputs(")", p->f);
    }
    fputs("</h2>\n<div class=\"grid\">\n", p->f);
}

void page_views(Page *p, const RunLog *r)
{
    if (r->nlook == 0 && p->n == 1) return;
    put_heading(p, r);
    for (const View *v = views; v < views + VIEWS; v++) {
        int n = length(r, v->column);
        if (n == 0) continue;
        fprintf(p->f, "<figure data-view=\"%s\">\n", v->column);
        if (v->map) put_map(p, r, v, n);
        else put_looks(p, r, v);
        page_caption(p, v->about);
        if (!strcmp(v->column, "gain")) put_factors(p, r);
        if (!strcmp(v->column, "update") && p->n == 1)
            put_largest(p, (ChartLine[]){largest(p, NULL, r)}, 1);
    }
    if (p->n > 1) page_samples(p, r);
    fputs("</div>\n", p->f);
}

/* A column of every run as it was last looked at. */
static void put_overlay(Page *p, const View *v)
{
    ChartLine *line = arena_alloc(&p->arena, (size_t)p->n * sizeof *line);
    bool any = false;
    for (int i = 0; i < p->n; i++) {
        const RunLog *r = &p->run[i];
        any |= length(r, v->column) > 0;
        line[i] = (ChartLine){r->dir, 0, NULL, NULL};
        if (r->nlook)
            line[i] = along(p, r->dir, &r->look[r->nlook - 1], v->column);
    }
    if (!any) return;
    fprintf(p->f, "<figure data-overlay=\"%s\">\n", v->column);
    put_depth(p, v, line, p->n);
    page_caption(p, v->about);
}

void page_overlays(Page *p)
{
    bool any = false;
    ChartLine *line = arena_alloc(&p->arena, (size_t)p->n * sizeof *line);
    for (int i = 0; i < p->n; i++) any |= p->run[i].nlook > 0;
    if (p->n == 1 || !any) return;
    fputs("<h2>The residual path of all runs, each at its last look</h2>\n"
          "<div class=\"grid\">\n", p->f);
    for (const View *v = views; v < views + VIEWS; v++) {
        View all = *v;
        /* Its own speaks of a map. */
        if (v->map) all.about = "With respect to the stream that each "
            "sublayer finds. It enters at the end: what falls towards layer "
            "1 vanishes, what rises explodes.";
        if (!strcmp(v->column, "grad") || !v->map) put_overlay(p, &all);
    }
    for (int i = 0; i < p->n; i++)
        line[i] = largest(p, p->run[i].dir, &p->run[i]);
    put_largest(p, line, p->n);
    fputs("</div>\n", p->f);
}
