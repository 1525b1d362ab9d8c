/* Lines over an axis. */
#include <math.h>
#include "chart.h"
#include "draw.h"

enum { FEW = 40 };              /* points: they get a dot each */

typedef struct {
    FILE *f;
    Scale x, y;
    double left, top, width, height;    /* of the part where lines are */
} Frame;

static double at_x(const Frame *p, double v)
{
    return p->left + p->width * scale_place(&p->x, v);
}

static double at_y(const Frame *p, double v)
{
    return p->top + p->height * (1 - scale_place(&p->y, v));
}

static bool has_point(const Frame *p, const ChartLine *s, long k)
{
    return scale_takes(&p->x, s->x[k]) && scale_takes(&p->y, s->y[k]);
}

static bool in_view(const Frame *p, double y)
{
    return scale_takes(&p->y, y) && y <= p->y.high;
}

/* Names in rows from y on, each behind a piece of its line. Without a file it
 * only counts: returns the height. */
static double legend(FILE *f, double y, const ChartLine *s, int n)
{
    double x = EDGE, rows = 0;
    for (int i = 0; i < n; i++) {
        if (!s[i].name) continue;
        double w = 26 + draw_wide(s[i].name) + 14;
        if (rows == 0 || x + w > WIDTH) x = EDGE, rows++;
        if (f) {
            double middle = y + LINE * rows - 4;
            fprintf(f, "<path class=\"line c%d d%d\" d=\"M%.0f %.0fh20\"/>\n",
                    i % COLOURS, i % DASHES, x, middle);
            draw_text(f, x + 26, middle + 4, "start", "", s[i].name);
        }
        x += w;
    }
    return LINE * rows;
}

static void fit(Frame *p, const Chart *c, const ChartLine *s, int n,
                const ChartLevel *level, int nlevel)
{
    double margin = EDGE;
    p->x = scale_new(false), p->y = scale_new(c->y_log);
    for (int i = 0; i < n; i++)
        for (long k = 0; k < s[i].n; k++)
            if (has_point(p, &s[i], k))
                scale_widen(&p->x, s[i].x[k]), scale_widen(&p->y, s[i].y[k]);
    for (int i = 0; i < nlevel; i++) scale_widen(&p->y, level[i].y);
    if (c->y_most > 0) p->y.high = fmin(p->y.high, c->y_most);
    scale_settle(&p->x), scale_settle(&p->y);
    scale_stretch(&p->y, c->y_ratio);
    scale_air(&p->y);
    for (int i = 0; i < nlevel; i++)
        if (in_view(p, level[i].y))
            margin = fmax(margin, draw_wide(level[i].name));
    p->width = WIDTH - p->left - EDGE - margin;
}

static void axes(const Frame *p, const Chart *c)
{
    char text[NUMBER];
    double tick[TICKS], bottom = p->top + p->height;
    int n = scale_ticks(&p->y, tick);
    bool power = draw_powers(n, tick, 6);
    for (int i = 0; i < n; i++) {
        double y = at_y(p, tick[i]);
        draw_line(p->f, "grid", p->left, y, p->left + p->width, y);
        draw_text(p->f, p->left - 6, y + 4, "end", "",
                  draw_number(tick[i], 6, power, text));
    }
    n = scale_ticks(&p->x, tick);
    power = draw_powers(n, tick, 6);
    for (int i = 0; i < n; i++) {
        double x = at_x(p, tick[i]);
        draw_line(p->f, "frame", x, bottom, x, bottom + 4);
        draw_text(p->f, x, bottom + 17, "middle", "",
                  draw_number(tick[i], 6, power, text));
    }
    draw_line(p->f, "frame", p->left, bottom, p->left + p->width, bottom);
    draw_text(p->f, EDGE, p->top - 9, "start", "", c->y_label);
    draw_text(p->f, p->left + p->width / 2, bottom + 34, "middle", "",
              c->x_label);
}

static void put_line(const Frame *p, const ChartLine *s, const char *class,
                     int i, const char *dot)
{
    const char *with = "M";
    fprintf(p->f, "<path class=\"%s c%d d%d\" d=\"", class, i % COLOURS,
            *dot ? 0 : i % DASHES);
    for (long k = 0; k < s->n; k++) {
        if (!has_point(p, s, k)) continue;
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
        if (!in_view(p, level[i].y)) continue;
        double y = at_y(p, level[i].y);
        draw_line(p->f, "level", p->left, y, right, y);
        last = fmax(y + 4, last + 12);
        draw_text(p->f, right + 4, last, "start", "", level[i].name);
    }
}

/* The highest point that is cut off, or -1. */
static long peak(const Frame *p, const ChartLine *s)
{
    long best = -1;
    for (long k = 0; k < s->n; k++)
        if (has_point(p, s, k)
            && s->y[k] > (best < 0 ? p->y.high : s->y[best])) best = k;
    return best;
}

/* An arrow at the edge where each line is cut off highest, and above the plot
 * what the highest of all is. */
static void put_peaks(const Frame *p, const Chart *c, const ChartLine *s,
                      int n)
{
    double x = 0, y = p->y.high;
    for (int i = 0; i < n; i++) {
        long k = peak(p, &s[i]);
        if (k < 0) continue;
        fprintf(p->f, "<path class=\"line c%d\" data-peak=\"%.6g\" "
                "d=\"M%.1f %.1fl5 -6l5 6\"/>\n", i % COLOURS, s[i].y[k],
                at_x(p, s[i].x[k]) - 5, p->top);
        if (s[i].y[k] > y) x = s[i].x[k], y = s[i].y[k];
    }
    if (y == p->y.high) return;
    char text[96], value[NUMBER], where[NUMBER];
    snprintf(text, sizeof text, "%s at %s %s", draw_number(y, 3, false, value),
             c->x_label, draw_number(x, 6, false, where));
    double half = draw_wide(text) / 2, right = p->left + p->width - half;
    double left = EDGE + draw_wide(c->y_label) + EDGE + half;
    draw_text(p->f, fmin(fmax(at_x(p, x), left), right), p->top - 9, "middle",
              "", text);
}

static void put_lines(const Frame *p, const ChartLine *s, int n)
{
    /* An svg in the svg cuts off what is outside. */
    fprintf(p->f, "<svg x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
            "\n", p->left, p->top, p->width, p->height);
    for (int i = 0; i < n; i++) {
        fputs("<g data-series=\"", p->f);
        chart_text(p->f, s[i].name ? s[i].name : "");
        fprintf(p->f, "\" data-points=\"%ld\">\n", s[i].n);
        put_line(p, &s[i], "line", i, "");
        if (s[i].n <= FEW) put_line(p, &s[i], "dots", i, "h0");
        fputs("</g>\n", p->f);
    }
    fputs("</svg>\n", p->f);
}

void chart_lines(FILE *f, const Chart *c, const ChartLine *s, int n,
                 const ChartLevel *level, int nlevel)
{
    Frame p = {.f = f, .left = 52, .top = 54 + legend(NULL, 0, s, n),
               .height = PLOT};
    fit(&p, c, s, n, level, nlevel);
    draw_begin(f, "lines", c->title, WIDTH, p.top + p.height + 44);
    legend(f, 24, s, n);
    axes(&p, c);
    put_lines(&p, s, n);
    put_peaks(&p, c, s, n);
    put_levels(&p, level, nlevel);
    fputs("</svg>\n", f);
}
