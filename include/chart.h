/* Charts as SVG: lines over an axis, and maps of colours. Each call writes one
 * <svg> element that is complete in itself: part of an HTML page, or a file of
 * its own. No script, no font, no file from elsewhere; it takes the width it
 * is given, and light or dark from the reader's settings. The same bytes on
 * every machine.
 *
 *     chart_lines(f, &(Chart){"Loss", "step", .y_label = "nats"},
 *                 (ChartLine[]){{"training", n, step, loss}}, 1,
 *                 (ChartLevel[]){{"ln V", 4.174}}, 1);
 *
 * Lines have the colours of Okabe and Ito, which the colour-blind can tell
 * apart, and dashes besides; maps have viridis, even to the eye and in grey. */
#ifndef CHART_H
#define CHART_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    const char *title;
    const char *x_label, *y_label;      /* what, and in which unit */
    bool y_log;                 /* then only what is above 0 is drawn */
    double y_most;              /* the axis ends here at most, and what is cut
                                 * off is marked; 0: where the values do */
    double y_ratio;             /* log: it spans at least this factor */
} Chart;

/* Points that are not finite are left out, and the line goes on behind them.
 * Few points get a dot each. */
typedef struct {
    const char *name;           /* in the legend; NULL: not there */
    long n;
    const double *x, *y;        /* (n) */
} ChartLine;

/* A horizontal line to compare with; its name stands in the right margin. */
typedef struct {
    const char *name;
    double y;
} ChartLevel;

/* nlevel levels, the highest first. */
void chart_lines(FILE *f, const Chart *c, const ChartLine *line, int nline,
                 const ChartLevel *level, int nlevel);

/* value[i*columns + k]: row i, the first at the top, column k. Where it is not
 * finite (log: not above 0) the map has a hole. Small maps have their numbers
 * in the cells; of very many rows or columns every second, third, ... is
 * drawn.
 *     Columns may be in groups: neighbours of the same group name stand under
 * one bracket. Then the drawing is as wide as it takes for every cell to have
 * its number. */
typedef struct {
    const char *title;
    const char *row_label, *column_label, *unit;
    int rows, columns;
    const char *const *row, *const *column;     /* their names; a row's may be
                                                   NULL: it goes without */
    const double *value;
    bool log;                                   /* of the colours */
    const char *group_label, *const *group;     /* (columns), or NULL */
    double low, high;           /* that the colours span at least; 0, 0: the
                                   values alone say */
    ChartLevel level, other;    /* marked on the colour bar, with a name */
    bool pinned;                /* the colours span low .. high and no more */
    const char *hole;           /* written where there is one, or NULL */
} ChartMap;

void chart_map(FILE *f, const ChartMap *m);

/* Text for XML and HTML: & < > " as entities; what is no character there
 * (control characters, bytes that are not UTF-8) as U+FFFD. */
void chart_text(FILE *f, const char *text);

#endif
