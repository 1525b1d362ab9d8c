/* Maps: a table in colours. */
#include <math.h>
#include <string.h>
#include "chart.h"
#include "draw.h"
#include "kernels.h"

enum { BAR = 12,                /* the colour bar */
       GAP = 8,                 /* between groups */
       NEXT = 13,               /* from one name to that under it, at least */
       CELLS = 128,             /* in a row or column */
       LEVEL = 64 };

typedef struct {
    FILE *f;
    const ChartMap *m;
    Scale scale;
    int rows, columns;                  /* that are drawn */
    double left, top, w, h;             /* w, h: of a cell */
    double right;                       /* where the cells end */
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

/* Does another group begin at drawn column k? */
static bool new_group(const Map *p, int k)
{
    const ChartMap *m = p->m;
    return m->group && k > 0
        && strcmp(m->group[source(k - 1, p->columns, m->columns)],
                  m->group[source(k, p->columns, m->columns)]);
}

/* The left edge of drawn column k. */
static double column_x(const Map *p, int k)
{
    double x = p->left + k * p->w;
    for (int i = 1; i <= k; i++) x += new_group(p, i) ? GAP : 0;
    return x;
}

static int shade(const Map *p, int i, int k)
{
    double v = cell(p, i, k);
    if (!scale_takes(&p->scale, v)) return SHADES;
    int n = (int)(fmin(fmax(scale_place(&p->scale, v), 0), 1) * SHADES);
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
                draw_fill(p->f, s);
                fputs(" d=\"", p->f);
            }
            any = true;
            /* A little over the next one, or rounding opens a seam. */
            bool last = k == p->columns - 1 || new_group(p, k + 1);
            double w = p->w + (last ? 0 : 0.5);
            double h = p->h + (i < p->rows - 1 ? 0.5 : 0);
            fprintf(p->f, "M%.2f %.2fh%.2fv%.2fh-%.2fz", column_x(p, k),
                    p->top + i * p->h, w, h, w);
        }
    if (any) fputs("\"/>\n", p->f);
}

/* Three digits; where the colours are even, all with the same decimals. */
static const char *cell_text(const Map *p, int i, int k, char out[NUMBER])
{
    double v = cell(p, i, k), most = fabs(p->scale.high);
    if (p->m->hole && !scale_takes(&p->scale, v)) return p->m->hole;
    if (p->m->log || !(most >= 0.1 && most < 1000) || fabs(v) >= 1000)
        return draw_number(v, 3, false, out);
    snprintf(out, NUMBER, "%.*f", most < 1 ? 3 : most < 10 ? 2 : most < 100, v);
    return out;
}

static double widest_number(const Map *p)
{
    char text[NUMBER];
    double w = 0;
    for (int i = 0; i < p->rows; i++)
        for (int k = 0; k < p->columns; k++)
            w = fmax(w, draw_wide(cell_text(p, i, k, text)));
    return w;
}

/* In the cells, if all of them have room. */
static void put_numbers(const Map *p)
{
    char text[NUMBER];
    if (p->h < LINE || widest_number(p) > p->w) return;
    for (int i = 0; i < p->rows; i++)
        for (int k = 0; k < p->columns; k++) {
            int s = shade(p, i, k);
            if (s == SHADES && !p->m->hole) continue;
            draw_text(p->f, column_x(p, k) + p->w / 2,
                      p->top + (i + 0.5) * p->h + 4, "middle",
                      s == SHADES ? "" : s < SHADES * 2 / 3 ? "on-dark"
                                                            : "on-light",
                      cell_text(p, i, k, text));
        }
}

/* As many as there is room for, and the last in any case. */
static void put_row_names(const Map *p)
{
    const ChartMap *m = p->m;
    double height = p->rows * p->h, last = -INFINITY;
    double end = p->top + height * (m->rows - 0.5) / m->rows;
    bool ends = m->rows > 0 && m->row[m->rows - 1];
    for (int i = 0; i < m->rows; i++) {
        double y = p->top + height * (i + 0.5) / m->rows;
        if (!m->row[i] || y < last + NEXT) continue;
        if (ends && i < m->rows - 1 && y > end - NEXT) continue;
        draw_text(p->f, p->left - 6, y + 4, "end", "", m->row[i]);
        last = y;
    }
    draw_text(p->f, EDGE, p->top - 10, "start", "", m->row_label);
}

static void put_column_names(const Map *p)
{
    const ChartMap *m = p->m;
    double bottom = p->top + p->rows * p->h;
    int every = (int)ceil((draw_widest(m->columns, m->column) + 8) / p->w);
    if (m->group) every = 1;
    for (int k = 0; k < p->columns; k += every)
        draw_text(p->f, column_x(p, k) + p->w / 2, bottom + 15, "middle", "",
                  m->column[source(k, p->columns, m->columns)]);
    if (m->group)
        draw_text(p->f, p->left - 6, bottom + 15, "end", "", m->column_label);
    else
        draw_text(p->f, (p->left + p->right) / 2, bottom + 32, "middle", "",
                  m->column_label);
}

/* A bracket under the columns of each, and its name. */
static void put_groups(const Map *p)
{
    const ChartMap *m = p->m;
    double y = p->top + p->rows * p->h + 21;
    for (int k = 0, from = 0; m->group && k < p->columns; k++) {
        if (k < p->columns - 1 && !new_group(p, k + 1)) continue;
        double left = column_x(p, from) + 2, right = column_x(p, k) + p->w - 2;
        fprintf(p->f, "<path class=\"frame\" fill=\"none\" d=\"M%.1f %.1fv4H"
                "%.1fv-4\"/>\n", left, y, right);
        draw_text(p->f, (left + right) / 2, y + 18, "middle", "",
                  m->group[source(k, p->columns, m->columns)]);
        from = k + 1;
    }
    if (m->group)
        draw_text(p->f, p->left - 6, y + 18, "end", "", m->group_label);
}

/* What a level is called beside the bar: "2.61 uniform". */
static const char *level_text(ChartLevel l, char out[LEVEL])
{
    char text[NUMBER];
    snprintf(out, LEVEL, "%s %s", draw_number(l.y, 3, false, text),
             l.name ? l.name : "");
    return out;
}

/* Beside the bar the levels and the two ends, then ticks where room is left. */
static void put_bar_names(const Map *p, double x)
{
    char text[NUMBER], about[LEVEL];
    double mark[TICKS + 4], used[TICKS + 4], height = p->rows * p->h;
    int n = 4 + scale_ticks(&p->scale, mark + 4), nused = 0;
    const ChartLevel level[] = {p->m->level, p->m->other};
    for (int i = 0; i < 2; i++) mark[i] = level[i].name ? level[i].y : NAN;
    mark[2] = p->scale.low, mark[3] = p->scale.high;
    bool power = draw_powers(n - 2, mark + 2, 3);
    for (int i = 0; i < n; i++) {
        if (!scale_takes(&p->scale, mark[i])) continue;
        double y = p->top + height * (1 - scale_place(&p->scale, mark[i]));
        bool room = true;
        for (int k = 0; k < nused; k++) room &= fabs(y - used[k]) >= NEXT;
        if (!room) continue;
        used[nused++] = y;
        draw_line(p->f, "frame", x, y, x + 3, y);
        draw_text(p->f, x + 6, y + 4, "start", "", i < 2
                  ? level_text(level[i], about)
                  : draw_number(mark[i], power ? 2 : 3, power, text));
    }
}

static void put_bar(const Map *p, double width)
{
    double height = p->rows * p->h, x = p->right + EDGE;
    for (int s = 0; s < SHADES; s++) {
        fputs("<rect shape-rendering=\"crispEdges\" ", p->f);
        draw_fill(p->f, s);
        fprintf(p->f, " x=\"%.1f\" y=\"%.2f\" width=\"%d\" height=\"%.2f\"/>"
                "\n", x, p->top + height * (SHADES - 1 - s) / SHADES, BAR,
                height / SHADES + 0.5);
    }
    put_bar_names(p, x + BAR);
    draw_text(p->f, width - EDGE, p->top - 10, "end", "", p->m->unit);
}

static void fit_scale(Map *p)
{
    const ChartMap *m = p->m;
    p->scale = scale_new(m->log);
    for (int i = 0; i < p->rows; i++)
        for (int k = 0; k < p->columns; k++)
            if (!m->pinned) scale_widen(&p->scale, cell(p, i, k));
    if (m->low < m->high)
        scale_widen(&p->scale, m->low), scale_widen(&p->scale, m->high);
    if (m->level.name) scale_widen(&p->scale, m->level.y);
    scale_settle(&p->scale);
}

/* Returns how wide the drawing is. */
static double fit_cells(Map *p)
{
    enum { NUMBERS = 46 };      /* beside the colour bar */
    const ChartMap *m = p->m;
    char about[LEVEL];
    double names = draw_widest(m->rows, m->row), beside = NUMBERS;
    if (m->group) names = fmax(names, draw_wide(m->column_label));
    else names = fmin(names, WIDTH / 3.0);
    if (m->level.name)
        beside = fmax(beside, draw_wide(level_text(m->level, about)));
    if (m->other.name)
        beside = fmax(beside, draw_wide(level_text(m->other, about)));
    beside += EDGE + BAR + EDGE;
    p->top = 54, p->left = EDGE + names + 8;
    p->w = (WIDTH - p->left - beside) / fmax(p->columns, 1);
    p->h = fmin((double)PLOT / fmax(p->rows, 1), 26);
    if (m->group) p->w = fmax(p->w, widest_number(p) + 4), p->h = 26;
    p->right = p->left;
    if (p->columns) p->right = column_x(p, p->columns - 1) + p->w;
    return m->group ? p->right + beside : WIDTH;
}

void chart_map(FILE *f, const ChartMap *m)
{
    Map p = {.f = f, .m = m, .rows = least(m->rows, CELLS),
             .columns = least(m->columns, CELLS)};
    fit_scale(&p);
    double width = fit_cells(&p);
    draw_begin(f, "map", m->title, width,
               p.top + p.rows * p.h + (m->group ? 52 : 42));
    fprintf(f, "<g data-rows=\"%d\" data-columns=\"%d\" data-low=\"%.6g\" "
            "data-high=\"%.6g\">\n", m->rows, m->columns, p.scale.low,
            p.scale.high);
    for (int s = 0; s <= SHADES; s++) put_shade_cells(&p, s);
    fputs("</g>\n", f);
    put_numbers(&p);
    put_row_names(&p);
    put_column_names(&p);
    put_groups(&p);
    put_bar(&p, width);
    fputs("</svg>\n", f);
}
