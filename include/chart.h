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
    bool x_log, y_log;                  /* then only what is above 0 is drawn */
    double y_most;              /* the axis ends here at most; 0: where the
                                 * values do */
} Chart;

/* Points that are not finite are left out, and the line goes on behind them.
 * Few points get a dot each. */
typedef struct {
    const char *name;           /* in the legend; NULL: not there */
    long n;
    const double *x, *y;        /* (n) */
} ChartLine;

/* A horizontal line to compare with. */
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
 * drawn. */
typedef struct {
    const char *title;
    const char *row_label, *column_label, *unit;
    int rows, columns;
    const char *const *row, *const *column;     /* their names */
    const double *value;
    bool log;                                   /* of the colours */
    double low, high;           /* they are for these; low < high fails: for
                                   the least and most there is */
    const char *hole;           /* written where there is one, or NULL */
    const ChartLevel *mark;     /* (nmark) beside the bar of colours, for its
                                   ticks */
    int nmark;
} ChartMap;

void chart_map(FILE *f, const ChartMap *m);

/* Text for XML and HTML: & < > " as entities; what is no character there
 * (control characters, bytes that are not UTF-8) as U+FFFD. */
void chart_text(FILE *f, const char *text);

#endif
