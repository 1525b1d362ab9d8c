#include <math.h>
#include <stdio.h>
#include <string.h>
#include "chart.h"
#include "die.h"
#include "page.h"
#include "report.h"

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
    /* A colour, and a sign for who cannot tell colours apart. */
    ".trained{border-left-color:#009e73}.stuck{border-left-color:#e69f00}"
    ".diverged{border-left-color:#d55e00}"
    ".trained::before{content:\"\\2713  \"}.stuck::before{content:\"\\25a0  \"}"
    ".diverged::before{content:\"\\2715  \"}\n"
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
    p.file = file;
    for (int i = 0; i < n; i++) run[i] = runlog_read(&p.arena, dirs[i]);
    p.run = run;
    open_file(&p);
    open_page(&p);
    put_heading(&p);
    if (n == 1) put_tiles(&p);
    else put_table(&p);
    page_curves(&p);
    page_overlays(&p);
    for (int i = 0; i < n; i++) page_views(&p, &run[i]);
    if (n == 1) put_flags(&p);
    close_page(&p);
    arena_free(&p.arena);
}

/* -- the page ------------------------------------------------------------ */

void page_name(const Page *p, const RunLog *r)
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
    if (p->n == 1) page_name(p, p->run);
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
        die_errno(EXIT_IO, p->file, "cannot write");
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

void page_caption(const Page *p, const char *text)
{
    fputs("<figcaption>", p->f);
    chart_text(p->f, text);
    fputs("</figcaption>\n</figure>\n", p->f);
}

/* -- what came out ------------------------------------------------------- */

double last_of(long n, const double *x)
{
    while (n > 0 && !isfinite(x[n - 1])) n--;
    return n ? x[n - 1] : NAN;
}

double mean_of(long n, const double *x)
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

/* A class of the style: the word that the verdict begins with. */
static const char *kind_of(const RunLog *r)
{
    static const char *const kinds[] = {"trained", "stuck", "diverged"};
    for (int i = 0; r->verdict && i < 3; i++)
        if (!strncmp(r->verdict, kinds[i], strlen(kinds[i]))) return kinds[i];
    return "open";
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
    fprintf(p->f, "<p class=\"verdict %s\">", kind_of(p->run));
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

bool page_differs(const Page *p, const char *flag)
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
        if (strcmp(j->key, "out") && page_differs(p, j->key))
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
        fprintf(p->f, "<td class=\"%s\">", kind_of(&p->run[i]));
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
