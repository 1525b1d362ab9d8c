#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "kernels.h"
#include "utf8.h"

/* Lengths are in units of the drawing, WIDTH of which are as wide as the
 * chart is shown: letters of 12 units can be read on a telephone, and are not
 * large where two charts stand side by side. */
enum { WIDTH = 400, EDGE = 10, LETTER = 7, LINE = 16, PLOT = 190,
       BAR = 12,                /* the colour bar */
       TICKS = 12, FEW = 40,    /* points */
       CELLS = 128,             /* in a row or column of a map */
       SHADES = 48, NUMBER = 32 };

/* -- the look ------------------------------------------------------------ */

static const char style[] =
    ".chart{display:block;width:100%;height:auto;"
    "font:12px system-ui,sans-serif;font-variant-numeric:tabular-nums}\n"
    ".chart text{fill:#444}"
    ".chart .title{fill:#111;font-size:14px;font-weight:600}\n"
    ".chart .on-dark{fill:#fff}.chart .on-light{fill:#000}"
    ".chart .paper{fill:#fff}.chart .hole{fill:#ddd}\n"
    ".chart .frame{stroke:#888}.chart .grid{stroke:#e3e3e3}"
    ".chart .level{stroke:#666;stroke-dasharray:1 3}\n"
    ".chart .over{stroke:#fff;stroke-width:3;stroke-linejoin:round;"
    "stroke-opacity:.7;paint-order:stroke}\n"
    ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".chart .dots{fill:none;stroke-width:5;stroke-linecap:round}\n"
    ".chart .c0{stroke:#0072b2}.chart .c1{stroke:#d55e00}"
    ".chart .c2{stroke:#009e73}.chart .c3{stroke:#cc79a7}\n"
    ".chart .c4{stroke:#e69f00}.chart .c5{stroke:#56b4e9}"
    ".chart .c6{stroke:#222}\n"
    ".chart .d1{stroke-dasharray:7 3}.chart .d2{stroke-dasharray:2 2}"
    ".chart .d3{stroke-dasharray:9 3 2 3}.chart .d4{stroke-dasharray:4 4}\n"
    "@media(prefers-color-scheme:dark){"
    ".chart text{fill:#bbb}.chart .title{fill:#eee}\n"
    ".chart .paper{fill:#1b1d21}.chart .hole{fill:#3a3d43}"
    ".chart .grid{stroke:#34373d}.chart .level{stroke:#999}"
    ".chart .over{stroke:#1b1d21}\n"
    /* Lighter, or they are lost on the dark paper. */
    ".chart .c0{stroke:#56b4e9}.chart .c1{stroke:#f08030}"
    ".chart .c2{stroke:#20c090}.chart .c5{stroke:#4090e0}"
    ".chart .c6{stroke:#eee}}\n";

enum { COLOURS = 7, DASHES = 5 };       /* c0 .., d0 .. (no dash) */

/* viridis at 0, 1/15, ..., 1 */
static const unsigned char viridis[][3] = {
    {68, 1, 84}, {72, 26, 108}, {71, 47, 125}, {65, 68, 135}, {57, 86, 140},
    {49, 104, 142}, {42, 120, 142}, {35, 136, 142}, {31, 152, 139},
    {34, 168, 132}, {53, 183, 121}, {84, 197, 104}, {122, 209, 81},
    {165, 219, 54}, {210, 226, 27}, {253, 231, 37}
};

/* Of 0 .. SHADES - 1; SHADES is a hole. */
static void put_fill(FILE *f, int shade)
{
    double at = (shade + 0.5) / SHADES * 15;
    int i = (int)at, c[3];
    if (shade == SHADES) {
        fputs("class=\"hole\"", f);
        return;
    }
    for (int k = 0; k < 3; k++)
        c[k] = viridis[i][k]
             + (int)((at - i) * (viridis[i + 1][k] - viridis[i][k]));
    fprintf(f, "fill=\"#%02x%02x%02x\"", (unsigned)c[0], (unsigned)c[1],
            (unsigned)c[2]);
}

/* -- text ---------------------------------------------------------------- */

void chart_text(FILE *f, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = (size_t)utf8_decode(s + i, n - i, &code);
        bool control = (code < 32 && code != '\n' && code != '\t')
                     || (code >= 127 && code < 160) || code == 0xFFFE
                     || code == 0xFFFF;
        if (length == 0 || control) fputs("\xef\xbf\xbd", f);
        else if (code == '&') fputs("&amp;", f);
        else if (code == '<') fputs("&lt;", f);
        else if (code == '>') fputs("&gt;", f);
        else if (code == '"') fputs("&quot;", f);
        else fwrite(s + i, 1, length, f);
        if (length == 0) length = 1;
    }
}

/* anchor: start, middle or end, what of the text is at x */
static void label(FILE *f, double x, double y, const char *anchor,
                  const char *class, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">",
            x, y, anchor, class);
    chart_text(f, text);
    fputs("</text>\n", f);
}

static double wide(const char *s)       /* characters, not bytes */
{
    int n = 0;
    for (; *s; s++) n += (*s & 0xC0) != 0x80;
    return (double)n * LETTER;
}

static double widest(int n, const char *const *names)
{
    double w = 0;
    for (int i = 0; i < n; i++) w = fmax(w, wide(names[i]));
    return w;
}

/* 1e+06 and 1e-05 are 1e6 and 1e-5. */
static const char *number(double x, int digits, char out[NUMBER])
{
    snprintf(out, NUMBER, "%.*g", digits, x);
    char *e = strchr(out, 'e');
    if (!e) return out;
    char *from = e + 1 + (e[1] == '+'), *to = e + 1 + (e[1] == '-');
    from += *from == '-';
    while (*from == '0') from++;
    memmove(to, from, strlen(from) + 1);
    return out;
}

static void line(FILE *f, const char *class, double x1, double y1, double x2,
                 double y2)
{
    fprintf(f, "<path class=\"%s\" fill=\"none\" d=\"M%.1f %.1fL%.1f %.1f\"/>"
            "\n", class, x1, y1, x2, y2);
}

static void begin(FILE *f, const char *kind, const char *title, double height)
{
    fprintf(f, "<svg class=\"chart\" data-kind=\"%s\" role=\"img\" xmlns="
            "\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\">\n"
            "<title>", kind, WIDTH, height);
    chart_text(f, title);
    fprintf(f, "</title>\n<style>%s</style>\n<rect class=\"paper\" "
            "width=\"%d\" height=\"%.0f\"/>\n", style, WIDTH, height);
    label(f, EDGE, 20, "start", "title", title);
}

/* -- scales -------------------------------------------------------------- */

typedef struct {
    double low, high;
    bool log, whole;            /* whole: every value is, and so every tick */
} Scale;

/* The project's logarithm is the same on all machines, and libm's is not. */
static double ln(double x)
{
    int e;
    double m = frexp(x, &e);
    return (double)klog((real)m) + e * 0.69314718055994531;
}

static double ten_to(int e)
{
    double x = 1;
    for (int i = abs(e); i > 0; i--) x *= 10;
    return e < 0 ? 1 / x : x;
}

static int decade(double x) { return (int)floor(ln(x) / ln(10) + 1e-6); }

static bool drawn(const Scale *s, double v)
{
    return isfinite(v) && fabs(v) < 1e300 && (!s->log || v > 1e-300);
}

static void widen(Scale *s, double v)
{
    if (!drawn(s, v)) return;
    s->whole &= v == floor(v);
    s->low = fmin(s->low, v);
    s->high = fmax(s->high, v);
}

static Scale scale_new(bool log)
{
    return (Scale){INFINITY, -INFINITY, log, true};
}

/* A range that is empty, or a single number, becomes a proper one. */
static void settle(Scale *s)
{
    if (s->low > s->high) s->low = s->log ? 1 : 0, s->high = s->log ? 10 : 1;
    if (s->low < s->high) return;
    double d = s->low != 0 ? 0.1 * fabs(s->low) : 1;
    s->whole = false;
    if (s->log) s->low /= 1.5, s->high *= 1.5;
    else s->low -= d, s->high += d;
}

/* Some room above and below; values that come near 0 start at 0. */
static void leave_air(Scale *s)
{
    double air = (s->high - s->low) / 25, ratio = s->high / s->low;
    if (s->log) {
        for (int i = 0; i < 5; i++) ratio = sqrt(ratio);
        s->low /= ratio, s->high *= ratio;
        return;
    }
    if (s->low >= 0 && s->low < 6 * air) s->low = 0;
    else s->low -= air;
    s->high += air;
}

/* 0 at the low end, 1 at the high one */
static double place(const Scale *s, double v)
{
    return s->log ? (ln(v) - ln(s->low)) / (ln(s->high) - ln(s->low))
                  : (v - s->low) / (s->high - s->low);
}

static int even_ticks(const Scale *s, double tick[TICKS])
{
    double rough = (s->high - s->low) / 5, unit = ten_to(decade(rough));
    double m = rough / unit;
    double step = unit * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
    if (s->whole && step < 1) step = 1;
    double first = ceil(s->low / step - 1e-9);
    int n = 0;
    for (; n < TICKS && (first + n) * step <= s->high + 1e-9 * step; n++)
        tick[n] = (first + n) * step + 0.0;
    return n;
}

/* Powers of ten, or 1, 2, 5, 10 where there are few of them. */
static int ticks(const Scale *s, double tick[TICKS])
{
    static const int mantissa[] = {1, 2, 5};
    if (!s->log) return even_ticks(s, tick);
    int low = decade(s->low), high = decade(s->high), n = 0;
    int between = high - low < 3 ? 3 : 1, every = (high - low) / 6 + 1;
    for (int e = low; e <= high; e += every)
        for (int i = 0; i < between; i++) {
            double v = mantissa[i] * ten_to(e);
            if (n < TICKS && v >= s->low * (1 - 1e-6)
                && v <= s->high * (1 + 1e-6))
                tick[n++] = v;
        }
    return n < 3 ? even_ticks(s, tick) : n;
}

/* -- lines over an axis -------------------------------------------------- */

typedef struct {
    FILE *f;
    Scale x, y;
    double left, top, width, height;    /* of the part where lines are */
} Frame;

static double at_x(const Frame *p, double v)
{
    return p->left + p->width * place(&p->x, v);
}

static double at_y(const Frame *p, double v)
{
    return p->top + p->height * (1 - place(&p->y, v));
}

/* Names in rows from y on, each behind a piece of its line. Without a file it
 * only counts: returns the height. */
static double legend(FILE *f, double y, const ChartLine *s, int n)
{
    double x = EDGE, rows = 0;
    for (int i = 0; i < n; i++) {
        if (!s[i].name) continue;
        double w = 26 + wide(s[i].name) + 14;
        if (rows == 0 || x + w > WIDTH) x = EDGE, rows++;
        if (f) {
            double middle = y + LINE * rows - 4;
            fprintf(f, "<path class=\"line c%d d%d\" d=\"M%.0f %.0fh20\"/>\n",
                    i % COLOURS, i % DASHES, x, middle);
            label(f, x + 26, middle + 4, "start", "", s[i].name);
        }
        x += w;
    }
    return LINE * rows;
}

static void fit(Frame *p, const Chart *c, const ChartLine *s, int n,
                const ChartLevel *level, int nlevel)
{
    p->x = scale_new(c->x_log), p->y = scale_new(c->y_log);
    for (int i = 0; i < n; i++)
        for (long k = 0; k < s[i].n; k++)
            if (drawn(&p->x, s[i].x[k]) && drawn(&p->y, s[i].y[k]))
                widen(&p->x, s[i].x[k]), widen(&p->y, s[i].y[k]);
    for (int i = 0; i < nlevel; i++) widen(&p->y, level[i].y);
    if (c->y_most > 0) p->y.high = fmin(p->y.high, c->y_most);
    settle(&p->x), settle(&p->y);
    leave_air(&p->y);
}

static void axes(const Frame *p, const Chart *c)
{
    char text[NUMBER];
    double tick[TICKS], bottom = p->top + p->height;
    int n = ticks(&p->y, tick);
    for (int i = 0; i < n; i++) {
        double y = at_y(p, tick[i]);
        line(p->f, "grid", p->left, y, p->left + p->width, y);
        label(p->f, p->left - 6, y + 4, "end", "", number(tick[i], 6, text));
    }
    n = ticks(&p->x, tick);
    for (int i = 0; i < n; i++) {
        double x = at_x(p, tick[i]);
        line(p->f, "frame", x, bottom, x, bottom + 4);
        label(p->f, x, bottom + 17, "middle", "", number(tick[i], 6, text));
    }
    line(p->f, "frame", p->left, bottom, p->left + p->width, bottom);
    label(p->f, EDGE, p->top - 9, "start", "", c->y_label);
    label(p->f, p->left + p->width / 2, bottom + 34, "middle", "", c->x_label);
}

static void put_line(const Frame *p, const ChartLine *s, const char *class,
                     int i, const char *dot)
{
    const char *with = "M";
    fprintf(p->f, "<path class=\"%s c%d d%d\" d=\"", class, i % COLOURS,
            *dot ? 0 : i % DASHES);
    for (long k = 0; k < s->n; k++) {
        if (!drawn(&p->x, s->x[k]) || !drawn(&p->y, s->y[k])) continue;
        /* Far outside is far enough; the frame cuts it off. */
        double y = fmin(fmax(at_y(p, s->y[k]), -1e4), 1e4);
        fprintf(p->f, "%s%.1f %.1f%s", with, at_x(p, s->x[k]) - p->left,
                y - p->top, dot);
        if (!*dot) with = "L";
    }
    fputs("\"/>\n", p->f);
}

/* Levels that are near each other move their names apart, downwards. */
static void put_levels(const Frame *p, const ChartLevel *level, int n)
{
    double right = p->left + p->width, last = -INFINITY;
    for (int i = 0; i < n; i++) {
        if (!drawn(&p->y, level[i].y) || level[i].y > p->y.high) continue;
        double y = at_y(p, level[i].y);
        line(p->f, "level", p->left, y, right, y);
        last = fmax(y - 4, last + 12);
        label(p->f, right - 2, last, "end", "over", level[i].name);
    }
}

void chart_lines(FILE *f, const Chart *c, const ChartLine *s, int n,
                 const ChartLevel *level, int nlevel)
{
    Frame p = {.f = f, .left = 52, .width = WIDTH - 52 - 2 * EDGE,
               .top = 54 + legend(NULL, 0, s, n), .height = PLOT};
    fit(&p, c, s, n, level, nlevel);
    begin(f, "lines", c->title, p.top + p.height + 44);
    legend(f, 24, s, n);
    axes(&p, c);
    /* An svg in the svg cuts off what is outside. */
    fprintf(f, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">\n",
            p.left, p.top, p.width, p.height);
    for (int i = 0; i < n; i++) {
        fputs("<g data-series=\"", f);
        chart_text(f, s[i].name ? s[i].name : "");
        fprintf(f, "\" data-points=\"%ld\">\n", s[i].n);
        put_line(&p, &s[i], "line", i, "");
        if (s[i].n <= FEW) put_line(&p, &s[i], "dots", i, "h0");
        fputs("</g>\n", f);
    }
    fputs("</svg>\n", f);
    put_levels(&p, level, nlevel);
    fputs("</svg>\n", f);
}

/* -- maps ---------------------------------------------------------------- */

typedef struct {
    FILE *f;
    const ChartMap *m;
    Scale scale;
    int rows, columns;                  /* that are drawn */
    double left, top, w, h;             /* w, h: of a cell */
} Map;

static int source(int i, int drawn_cells, int cells)
{
    return (int)((long)i * cells / drawn_cells);
}

static double cell(const Map *p, int i, int k)
{
    return p->m->value[(long)source(i, p->rows, p->m->rows) * p->m->columns
                       + source(k, p->columns, p->m->columns)];
}

static int shade(const Map *p, int i, int k)
{
    double v = cell(p, i, k);
    if (!drawn(&p->scale, v)) return SHADES;
    int n = (int)(fmin(fmax(place(&p->scale, v), 0), 1) * SHADES);
    return n < SHADES ? n : SHADES - 1;
}

/* The cells of a shade are one path: a tenth of what a rectangle for each
 * would be. */
static void put_shade_cells(const Map *p, int s)
{
    bool any = false;
    for (int i = 0; i < p->rows; i++)
        for (int k = 0; k < p->columns; k++) {
            if (shade(p, i, k) != s) continue;
            if (!any) {
                fputs("<path shape-rendering=\"crispEdges\" ", p->f);
                put_fill(p->f, s);
                fputs(" d=\"", p->f);
            }
            any = true;
            /* A little over the next one, or rounding opens a seam. */
            double w = p->w + (k < p->columns - 1 ? 0.5 : 0);
            double h = p->h + (i < p->rows - 1 ? 0.5 : 0);
            fprintf(p->f, "M%.2f %.2fh%.2fv%.2fh-%.2fz", p->left + k * p->w,
                    p->top + i * p->h, w, h, w);
        }
    if (any) fputs("\"/>\n", p->f);
}

/* In the cells, if all of them have room. */
static void put_numbers(const Map *p)
{
    char text[NUMBER];
    bool room = p->h >= LINE;
    for (int i = 0; room && i < p->rows; i++)
        for (int k = 0; k < p->columns; k++)
            room &= wide(number(cell(p, i, k), 3, text)) <= p->w;
    for (int i = 0; room && i < p->rows; i++)
        for (int k = 0; k < p->columns; k++) {
            int s = shade(p, i, k);
            if (s == SHADES) continue;
            label(p->f, p->left + (k + 0.5) * p->w,
                  p->top + (i + 0.5) * p->h + 4, "middle",
                  s < SHADES * 2 / 3 ? "on-dark" : "on-light",
                  number(cell(p, i, k), 3, text));
        }
}

static void put_holes(const Map *p)
{
    for (int i = 0; p->m->hole && i < p->rows; i++)
        for (int k = 0; k < p->columns; k++)
            if (shade(p, i, k) == SHADES)
                label(p->f, p->left + (k + 0.5) * p->w,
                      p->top + (i + 0.5) * p->h + 4, "middle", "",
                      p->m->hole);
}

/* Names of rows and columns, as many as there is room for. */
static void put_names(const Map *p)
{
    const ChartMap *m = p->m;
    double bottom = p->top + p->rows * p->h, right = p->left
                  + p->columns * p->w, room = widest(m->columns, m->column);
    int every = (int)ceil((LINE - 3) / p->h);
    for (int i = 0; i < p->rows; i += every)
        label(p->f, p->left - 6, p->top + (i + 0.5) * p->h + 4, "end", "",
              m->row[source(i, p->rows, m->rows)]);
    every = (int)ceil((room + 8) / p->w);
    for (int k = 0; k < p->columns; k += every)
        label(p->f, p->left + (k + 0.5) * p->w, bottom + 15, "middle", "",
              m->column[source(k, p->columns, m->columns)]);
    label(p->f, EDGE, p->top - 10, "start", "", m->row_label);
    label(p->f, (p->left + right) / 2, bottom + 32, "middle", "",
          m->column_label);
}

static void put_bar(const Map *p)
{
    char text[NUMBER];
    double tick[TICKS], height = p->rows * p->h, last = INFINITY;
    double x = p->left + p->columns * p->w + EDGE;
    for (int s = 0; s < SHADES; s++) {
        fputs("<rect shape-rendering=\"crispEdges\" ", p->f);
        put_fill(p->f, s);
        fprintf(p->f, " x=\"%.1f\" y=\"%.2f\" width=\"%d\" height=\"%.2f\"/>"
                "\n", x, p->top + height * (SHADES - 1 - s) / SHADES, BAR,
                height / SHADES + 0.5);
    }
    int n = p->m->mark ? p->m->nmark : ticks(&p->scale, tick);
    for (int i = 0; i < n; i++) {
        double at = p->m->mark ? p->m->mark[i].y : tick[i];
        double y = p->top + height * (1 - place(&p->scale, at));
        if (y > last - LINE) continue;          /* no room */
        last = y;
        line(p->f, "frame", x + BAR, y, x + BAR + 3, y);
        label(p->f, x + BAR + 6, y + 4, "start", "",
              p->m->mark ? p->m->mark[i].name : number(at, 6, text));
    }
    label(p->f, WIDTH - EDGE, p->top - 10, "end", "", p->m->unit);
}

void chart_map(FILE *f, const ChartMap *m)
{
    enum { NUMBERS = 46 };      /* beside the colour bar */
    Map p = {f, m, scale_new(m->log), least(m->rows, CELLS),
             least(m->columns, CELLS), .top = 54};
    p.left = EDGE + fmin(widest(m->rows, m->row), WIDTH / 3.0) + 8;
    p.w = (WIDTH - p.left - 2 * EDGE - BAR - NUMBERS) / fmax(p.columns, 1);
    p.h = fmin((double)PLOT / fmax(p.rows, 1), 26);
    for (int i = 0; i < p.rows; i++)
        for (int k = 0; k < p.columns; k++)
            if (!(m->low < m->high)) widen(&p.scale, cell(&p, i, k));
    if (m->low < m->high) p.scale.low = m->low, p.scale.high = m->high;
    settle(&p.scale);
    begin(f, "map", m->title, p.top + p.rows * p.h + 42);
    fprintf(f, "<g data-rows=\"%d\" data-columns=\"%d\" data-low=\"%.6g\" "
            "data-high=\"%.6g\">\n", m->rows, m->columns, p.scale.low,
            p.scale.high);
    for (int s = 0; s <= SHADES; s++) put_shade_cells(&p, s);
    fputs("</g>\n", f);
    put_numbers(&p);
    put_holes(&p);
    put_names(&p);
    put_bar(&p);
    fputs("</svg>\n", f);
}
