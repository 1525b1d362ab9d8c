/* What both kinds of chart are made of: elements of SVG, and scales with their
 * ticks. Lengths are in units of the drawing, WIDTH of which are as wide as
 * the chart is shown: letters of 12 units can be read on a telephone, and are
 * not large where two charts stand side by side. */
#ifndef DRAW_H
#define DRAW_H

#include <stdbool.h>
#include <stdio.h>

enum { WIDTH = 400, EDGE = 10, LETTER = 7, LINE = 16, PLOT = 190,
       COLOURS = 7, DASHES = 5,         /* classes c0 .., d0 .. (no dash) */
       SHADES = 48, NUMBER = 32, TICKS = 12 };

void draw_begin(FILE *f, const char *kind, const char *title, double width,
                double height);
void draw_line(FILE *f, const char *class, double x1, double y1, double x2,
               double y2);
/* anchor: start, middle or end, what of the text is at x */
void draw_text(FILE *f, double x, double y, const char *anchor,
               const char *class, const char *text);
/* Attributes of a shade, 0 .. SHADES - 1; SHADES is a hole. */
void draw_fill(FILE *f, int shade);

/* How wide, about. */
double draw_wide(const char *text);
double draw_widest(int n, const char *const *text);

/* 1000000 and 0.00001 as 1e6 and 1e-5; power: 0.001 as 1e-3, too. Numbers that
 * stand under each other are all powers, or none is. */
const char *draw_number(double x, int digits, bool power, char out[NUMBER]);
bool draw_powers(int n, const double *x, int digits);

typedef struct {
    double low, high;
    bool log, whole;            /* whole: every value is, and so every tick */
} Scale;

Scale  scale_new(bool log);
bool   scale_takes(const Scale *s, double v);   /* finite; log: above 0 */
void   scale_widen(Scale *s, double v);         /* to hold v, if it takes it */
void   scale_settle(Scale *s);
void   scale_stretch(Scale *s, double ratio);   /* log: high/low at least */
void   scale_air(Scale *s);
double scale_place(const Scale *s, double v);   /* 0: low end, 1: high */
int    scale_ticks(const Scale *s, double tick[TICKS]);

#endif
