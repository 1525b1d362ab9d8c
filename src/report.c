#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "chart.h"
#include "die.h"
#include "report.h"
#include "runlog.h"

enum { POINTS = 300, SAMPLES = 4 };     /* at most: of a curve, on a page */

typedef struct {
    FILE *f;
    const char *file, *temporary;
    Arena arena;
    const RunLog *run;
    int n;              /* runs */
    bool running;
} Page;

static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--soft:#666;--paper:#f4f4f2;"
    "--card:#fff;--edge:#ddd}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--soft:#999;"
    "--paper:#121316;--card:#1b1d21;--edge:#33363c}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:72rem;padding:1rem;background:var(--paper);"
    "color:var(--ink);font:1rem/1.5 system-ui,sans-serif;"
    "overflow-wrap:anywhere}\n"
    "h1{margin:.5rem 0 0;font-size:1.7rem;line-height:1.2}\n"
    "h2{margin:2.2rem 0 .8rem;font-size:1.2rem}\n"
    ".soft,figcaption{color:var(--soft);margin:.2rem 0;font-size:.9rem}\n"
    ".verdict{margin:1rem 0;padding:.7rem 1rem;background:var(--card);"
    "border:1px solid var(--edge);border-left:.3rem solid #0072b2;"
    "border-radius:.4rem;font-size:1.1rem}\n"
    ".tiles,.grid{display:grid;gap:1rem;grid-template-columns:"
    "repeat(auto-fit,minmax(min(100%,26rem),1fr))}\n"
    ".tiles{grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));"
    "margin:1rem 0}\n"
    ".tiles div,figure,details,.card{margin:0;padding:.7rem;min-width:0;"
    "background:var(--card);border:1px solid var(--edge);"
    "border-radius:.4rem}\n"
    "dt{color:var(--soft);font-size:.85rem}dd{margin:0;font-size:1.4rem;"
    "font-weight:600;font-variant-numeric:tabular-nums}\n"
    "figcaption{padding:0 .6rem}summary{cursor:pointer}\n"
    /* Alone in the last row: as wide as the page. */
    ".samples:last-child:nth-child(odd){grid-column:1/-1}"
    ".samples{padding:.7rem 1.3rem}h3{margin:.4rem 0 .8rem;font-size:1.1rem}\n"
    "pre{margin:0 0 1rem;padding-left:.7rem;white-space:pre-wrap;"
    "border-left:2px solid var(--edge);"
    "font:.85rem/1.45 ui-monospace,monospace}\n"
    ".scroll{overflow-x:auto;margin:1rem 0;overflow-wrap:normal}"
    ".scroll th{white-space:nowrap}.scroll td{min-width:8rem}\n"
    "table{border-collapse:collapse;"
    "font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "@media(max-width:30rem){body{padding:.6rem}figure{padding:.3rem}}\n"
    "th,td{padding:.25rem .9rem .25rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--edge)}th{font-weight:500;"
    "color:var(--soft)}\n";

static void open_file(Page *p);
static void open_page(const Page *p);
static void put_heading(const Page *p);
static void put_tiles(const Page *p);
static void put_table(const Page *p);
static void put_curves(Page *p);
static void put_views(Page *p, const RunLog *r);
static void put_samples(const Page *p, const RunLog *r);
static void put_flags(const Page *p);
static void close_page(Page *p);

static const char *join(Arena *a, const char *x, const char *y)
{
    size_t n = strlen(x) + strlen(y) + 1;
    char *text = arena_alloc(a, n);
    snprintf(text, n, "%s%s", x, y);
    return text;
}

void report_write(const char *file, const char *const dirs[], int n,
                  bool running)
{
    Page p = {.n = n, .running = running};
    RunLog *run = arena_alloc(&p.arena, (size_t)n * sizeof *run);
    p.file = join(&p.arena, file, "");      /* it may be path_in's */
    for (int i = 0; i < n; i++) run[i] = runlog_read(&p.arena, dirs[i]);
    p.run = run;
    open_file(&p);
    open_page(&p);
    put_heading(&p);
    if (n == 1) put_tiles(&p);
    else put_table(&p);
    put_curves(&p);
    for (int i = 0; i < n; i++) put_views(&p, &run[i]);
    if (n == 1) put_flags(&p);
    close_page(&p);
    arena_free(&p.arena);
}

/* -- the page ------------------------------------------------------------ */

/* "pre, 6 layers" */
static void put_name(const Page *p, const RunLog *r)
{
    const char *placement = runlog_flag(r, "placement");
    const char *layers = runlog_flag(r, "layers");
    chart_text(p->f, placement ? placement : r->dir);
    if (!layers) return;
    fputs(", ", p->f);
    chart_text(p->f, layers);
    fputs(" layers", p->f);
}

/* Of several runs, the directories: their names were given to tell them
 * apart. */
static void put_names(const Page *p)
{
    if (p->n == 1) put_name(p, p->run);
    for (int i = 0; p->n > 1 && i < p->n; i++) {
        if (i) fputs(" \xc2\xb7 ", p->f);
        chart_text(p->f, p->run[i].dir);
    }
}

static void open_file(Page *p)
{
    p->temporary = join(&p->arena, p->file, ".tmp");
    p->f = fopen(p->temporary, "w");
    if (!p->f) die_errno(EXIT_CANTCREATE, p->temporary, "cannot write");
}

static void open_page(const Page *p)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
          "content=\"width=device-width, initial-scale=1\">\n"
          /* No request for an icon either. */
          "<link rel=\"icon\" href=\"data:,\">\n", p->f);
    if (p->running)
        fputs("<meta http-equiv=\"refresh\" content=\"10\">\n", p->f);
    fputs("<title>", p->f);
    put_names(p);
    fprintf(p->f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

static void close_page(Page *p)
{
    fputs("</body>\n</html>\n", p->f);
    bool bad = fflush(p->f) || ferror(p->f);
    if ((fclose(p->f) || bad) || rename(p->temporary, p->file))
        die(EXIT_IO, "%s: cannot write: %s", p->file, strerror(errno));
}

static void put_heading(const Page *p)
{
    static const char *const flags[] = {"width", "heads", "context", "batch",
        "optimizer", "lr", "warmup", "schedule", "init", "seed", "data"};
    fputs("<h1>", p->f);
    put_names(p);
    fputs("</h1>\n<p class=\"soft\" id=\"configuration\">", p->f);
    for (size_t i = 0; p->n == 1 && i < sizeof flags / sizeof *flags; i++) {
        const char *value = runlog_flag(p->run, flags[i]);
        if (!value) continue;
        fprintf(p->f, "%s%s ", i ? " \xc2\xb7 " : "", flags[i]);
        chart_text(p->f, value);
    }
    fputs("</p>\n", p->f);
}

/* -- what came out ------------------------------------------------------- */

static double last_of(long n, const double *x)
{
    while (n > 0 && !isfinite(x[n - 1])) n--;
    return n ? x[n - 1] : NAN;
}

static double mean_of(long n, const double *x)
{
    double total = 0;
    long count = 0;
    for (long i = 0; i < n; i++)
        if (isfinite(x[i])) total += x[i], count++;
    return count ? total / (double)count : NAN;
}

static void put_id(const Page *p, const RunLog *r, const char *name)
{
    fprintf(p->f, "id=\"%s", name);
    if (r > p->run) fprintf(p->f, "-%d", (int)(r - p->run) + 1);
    fputc('"', p->f);
}

static void put_verdict(const Page *p, const RunLog *r)
{
    const char *steps = runlog_flag(r, "steps");
    double step = last_of(r->n, r->step);
    fputs("<span ", p->f);
    put_id(p, r, "verdict");
    fputc('>', p->f);
    if (r->verdict) chart_text(p->f, r->verdict);
    else {
        fprintf(p->f, p->running ? "training: step %.0f of "
                                 : "stopped before its end: step %.0f of ",
                step > 0 ? step : 0);
        chart_text(p->f, steps ? steps : "?");
    }
    fputs("</span>", p->f);
}

/* The numbers of a run: id, what it is, how many decimals, the value. */
typedef struct { const char *id, *name; int decimals; double value; } Number;
enum { NUMBERS = 5 };

static void get_numbers(const RunLog *r, Number out[NUMBERS])
{
    out[0] = (Number){"step", "step", 0, last_of(r->n, r->step)};
    out[1] = (Number){"train-loss", "training loss, last step", 4,
                      last_of(r->n, r->loss)};
    out[2] = (Number){"val-loss", "validation loss", 4,
                      last_of(r->n, r->val_loss)};
    out[3] = (Number){"val-loss-whole", "validation, whole part", 4,
                      r->whole};
    out[4] = (Number){"speed", "tokens/s", 0, mean_of(r->n, r->speed)};
}

static void put_number(const Page *p, const RunLog *r, const Number *x)
{
    fputs("<span ", p->f);
    put_id(p, r, x->id);
    if (isfinite(x->value))
        fprintf(p->f, " data-value=\"%.9g\">%.*f</span>", x->value,
                x->decimals, x->value);
    else fputs(">\xe2\x80\x93</span>", p->f);       /* a dash */
}

static void put_tiles(const Page *p)
{
    Number x[NUMBERS];
    get_numbers(p->run, x);
    fputs("<p class=\"verdict\">", p->f);
    put_verdict(p, p->run);
    fputs("</p>\n<dl class=\"tiles\">\n", p->f);
    for (int i = 0; i < NUMBERS; i++) {
        fprintf(p->f, "<div><dt>%s</dt><dd>", x[i].name);
        put_number(p, p->run, &x[i]);
        fputs("</dd></div>\n", p->f);
    }
    fputs("</dl>\n", p->f);
}

/* -- several runs: a column each ----------------------------------------- */

static bool differs(const Page *p, const char *flag)
{
    const char *first = runlog_flag(p->run, flag);
    for (int i = 1; i < p->n; i++) {
        const char *other = runlog_flag(&p->run[i], flag);
        if (!first != !other || (first && strcmp(first, other))) return true;
    }
    return false;
}

static void put_flag_row(const Page *p, const char *flag)
{
    fputs("<tr><th>", p->f);
    chart_text(p->f, flag);
    fputs("</th>", p->f);
    for (int i = 0; i < p->n; i++) {
        const char *value = runlog_flag(&p->run[i], flag);
        fputs("<td data-flag=\"", p->f);
        chart_text(p->f, flag);
        fputs("\">", p->f);
        chart_text(p->f, value ? value : "");
        fputs("</td>", p->f);
    }
    fputs("</tr>\n", p->f);
}

static void put_table(const Page *p)
{
    Number x[NUMBERS];
    const Json *first = p->run->flags ? p->run->flags->child : NULL;
    fputs("<div class=\"card scroll\"><table id=\"runs\">\n<tr><th></th>",
          p->f);
    for (int i = 0; i < p->n; i++) {
        fputs("<th>", p->f);
        chart_text(p->f, p->run[i].dir);
        fputs("</th>", p->f);
    }
    fputs("</tr>\n", p->f);
    for (const Json *j = first; j; j = j->next)
        if (strcmp(j->key, "out") && differs(p, j->key))
            put_flag_row(p, j->key);
    for (int k = 0; k < NUMBERS; k++) {
        get_numbers(p->run, x);
        fprintf(p->f, "<tr><th>%s</th>", x[k].name);
        for (int i = 0; i < p->n; i++) {
            get_numbers(&p->run[i], x);
            fputs("<td>", p->f);
            put_number(p, &p->run[i], &x[k]);
            fputs("</td>", p->f);
        }
        fputs("</tr>\n", p->f);
    }
    fputs("<tr><th>verdict</th>", p->f);
    for (int i = 0; i < p->n; i++) {
        fputs("<td>", p->f);
        put_verdict(p, &p->run[i]);
        fputs("</td>", p->f);
    }
    fputs("</tr>\n</table></div>\n", p->f);
}

/* The configuration of a single run, all of it. */
static void put_flags(const Page *p)
{
    if (!p->run->flags) return;
    fputs("<h2>Configuration</h2>\n<details><summary>all flags of this run"
          "</summary>\n<table id=\"flags\">\n", p->f);
    for (const Json *j = p->run->flags->child; j; j = j->next)
        put_flag_row(p, j->key);
    fputs("</table></details>\n", p->f);
}

/* -- curves over the steps ----------------------------------------------- */

/* At most POINTS points, each the mean of as many steps. */
static ChartLine curve(Page *p, const char *name, const RunLog *r,
                       const double *y)
{
    long every = (r->n + POINTS - 1) / POINTS, n = 0;
    double *mx = arena_alloc(&p->arena, POINTS * sizeof *mx);
    double *my = arena_alloc(&p->arena, POINTS * sizeof *my);
    for (long i = 0; i < r->n; i += every, n++) {
        long some = r->n - i < every ? r->n - i : every;
        mx[n] = mean_of(some, r->step + i);
        my[n] = mean_of(some, y + i);
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

static void put_caption(const Page *p, const char *text)
{
    fprintf(p->f, "<figcaption>%s</figcaption>\n</figure>\n", text);
}

/* What ends far above ln V needs another axis: it has diverged. Otherwise a
 * jump on the way is cut off. */
static void put_losses(const Page *p, const char *title, const ChartLine *line,
                       int n, const char *about)
{
    const RunLog *r = p->run;
    ChartLevel level[] = {{"ln V", r->uniform}, {"unigram", r->unigram},
                          {"bigram", r->bigram},
                          {"entropy of the language", r->entropy}};
    Chart c = {title, "step", "nats per character", .y_most = 0};
    if (r->uniform > 0) c.y_most = 1.3 * r->uniform;
    for (int i = 0; i < n; i++)
        c.y_log |= c.y_most > 0 && last_of(line[i].n, line[i].y) > c.y_most;
    if (c.y_log) c.y_most = 0;
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &c, line, n, level, 4);
    put_caption(p, about);
}

/* Training and validation: of one run in one chart, of several in two. */
static void put_loss(Page *p)
{
    int n = p->n;
    ChartLine *line = arena_alloc(&p->arena, 2 * (size_t)n * sizeof *line);
    const char *about = "Dotted: what a model reaches that knows nothing (ln "
        "V), how frequent characters are, or which follows which; and, where "
        "it is known, what none can be below.";
    for (int i = 0; i < n; i++) {
        const RunLog *r = &p->run[i];
        line[i] = curve(p, n > 1 ? r->dir : "training", r, r->loss);
        line[n + i] = points(p, n > 1 ? r->dir : "validation", r, r->val_loss);
    }
    if (n == 1) {
        put_losses(p, "Loss", line, 2, about);
        put_samples(p, p->run);
        return;
    }
    put_losses(p, "Training loss", line, n, about);
    put_losses(p, "Validation loss", line + n, n, "On random batches of the "
               "validation part, the same at every evaluation.");
}

static void put_curves(Page *p)
{
    size_t n = (size_t)p->n;
    ChartLine *rate = arena_alloc(&p->arena, n * sizeof *rate);
    ChartLine *norm = arena_alloc(&p->arena, n * sizeof *norm);
    for (int i = 0; i < p->n; i++) {
        const RunLog *r = &p->run[i];
        const char *name = p->n > 1 ? r->dir : NULL;
        rate[i] = curve(p, name, r, r->rate);
        norm[i] = curve(p, name, r, r->grad_norm);
    }
    fputs("<h2>Training</h2>\n<div class=\"grid\">\n", p->f);
    put_loss(p);
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &(Chart){"Norm of the gradient", "step",
                "of all parameters, before clipping", .y_log = true}, norm,
                p->n, NULL, 0);
    put_caption(p, "A jump here comes before one of the loss.");
    fputs("<figure>\n", p->f);
    chart_lines(p->f, &(Chart){"Learning rate", "step", .y_label = "rate"},
                rate, p->n, NULL, 0);
    put_caption(p, "It rises in the warmup and then falls.");
    fputs("</div>\n", p->f);
}

/* -- the residual path, as the probe saw it ------------------------------ */

/* A column of the probe: over sublayers and steps as a map, or over the
 * sublayers as a line for the first step looked at, a middle and the last. */
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
    {"gain_add", "What a sublayer does to the gradient", "gain", false, true,
     {"unchanged", 1},
     "Gradient where the stream enters the sublayer over gradient where its "
     "branch is added."},
    {"stream", "Size of the residual stream", "RMS", false, false, {0},
     "Of what each sublayer finds. Without a norm on the path it grows from "
     "sublayer to sublayer."},
    {"cosine", "How alike the tokens are", "mean cosine", false, false,
     {"collapsed", 1},
     "Between two tokens of a sequence. Near 1 they are collapsed onto each "
     "other, and nothing that looks at them can tell them apart."},
    {"update", "Size of a step", "|dW| / |W|", true, true, {0},
     "How far a step moves the output projection of each sublayer, over how "
     "large that is."},
    {"entropy", "Spread of the attention", "nats", true, false, {0},
     "Entropy of the attention's weights, mean over heads and tokens. 0: "
     "each token looks at one other; the MLPs have none."},
};

static const char *text_at(Arena *a, const char *format, double x)
{
    char *text = arena_alloc(a, 48);
    snprintf(text, 48, format, x);
    return text;
}

static const char *sublayer_name(Arena *a, int i, int n)
{
    if (i == n - 1 && n % 2) return "end";
    return text_at(a, i % 2 ? "MLP %.0f" : "attention %.0f", i / 2 + 1);
}

static double at(const Look *look, const char *column, int i)
{
    const LookColumn *c = look_column(look, column);
    return c && i < c->n ? c->value[i] : NAN;
}

/* Does row i hold anything? The MLPs have no entropy. */
static bool any_in_row(const RunLog *r, const char *column, int i)
{
    for (long k = 0; k < r->nlook; k++)
        if (isfinite(at(&r->look[k], column, i))) return true;
    return false;
}

static void put_map(Page *p, const RunLog *r, const View *v, int n)
{
    Arena *a = &p->arena;
    int columns = (int)r->nlook, rows = 0;
    size_t cells = (size_t)n * (size_t)columns;
    double *value = arena_alloc(a, cells * sizeof *value);
    const char **row = arena_alloc(a, (size_t)n * sizeof *row);
    const char **column = arena_alloc(a, (size_t)columns * sizeof *column);
    for (int k = 0; k < columns; k++)
        column[k] = text_at(a, "%.0f", r->look[k].step);
    for (int i = 0; i < n; i++) {
        if (!any_in_row(r, v->column, i)) continue;
        row[rows] = sublayer_name(a, i, n);
        for (int k = 0; k < columns; k++)
            value[(long)rows * columns + k] = at(&r->look[k], v->column, i);
        rows++;
    }
    chart_map(p->f, &(ChartMap){v->title, "sublayer", "step", v->unit, rows,
              columns, row, column, value, v->log});
}

static void put_depth(Page *p, const RunLog *r, const View *v, int n)
{
    ChartLine line[3];
    long which[] = {0, (r->nlook - 1) / 2, r->nlook - 1};
    int lines = 0;
    double *x = arena_alloc(&p->arena, (size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = i + 1;
    for (int k = 0; k < 3; k++) {
        const Look *look = &r->look[which[k]];
        const LookColumn *c = look_column(look, v->column);
        if (!c || (k && which[k] == which[k - 1])) continue;
        line[lines++] = (ChartLine){
            text_at(&p->arena, "step %.0f", look->step),
            c->n < n ? c->n : n, x, c->value};
    }
    chart_lines(p->f, &(Chart){v->title, "sublayer", v->unit, .y_log = v->log},
                line, lines, &v->level, v->level.name != NULL);
}

static void put_views(Page *p, const RunLog *r)
{
    if (r->nlook == 0 && p->n == 1) return;
    fputs("<h2>The residual path", p->f);
    if (p->n > 1) {
        fputs(" of ", p->f);
        chart_text(p->f, r->dir);
        fputs(" (", p->f);
        put_name(p, r);
        fputs(")", p->f);
    }
    fputs("</h2>\n<div class=\"grid\">\n", p->f);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        const LookColumn *c = NULL;
        if (r->nlook) c = look_column(r->look, views[i].column);
        if (!c || c->n == 0) continue;
        fprintf(p->f, "<figure data-view=\"%s\">\n", views[i].column);
        if (views[i].map) put_map(p, r, &views[i], c->n);
        else put_depth(p, r, &views[i], c->n);
        put_caption(p, views[i].about);
    }
    if (p->n > 1) put_samples(p, r);
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

static void put_samples(const Page *p, const RunLog *r)
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
