/* The report while it is being written, and what its parts share. */
#ifndef PAGE_H
#define PAGE_H

#include <stdio.h>
#include "arena.h"
#include "runlog.h"

typedef struct {
    FILE *f;
    const char *file, *temporary;
    Arena arena;
    const RunLog *run;
    int n;              /* runs */
    bool running;
} Page;

/* Over the steps: loss, gradient, rate; and what the run writes. */
void page_curves(Page *p);
void page_samples(const Page *p, const RunLog *r);

/* Along the residual path, as the probe saw it: of all runs on one chart, and
 * of each by itself. */
void page_overlays(Page *p);
void page_views(Page *p, const RunLog *r);

void page_name(const Page *p, const RunLog *r);     /* "pre, 6 layers" */
void page_caption(const Page *p, const char *text); /* ends the figure */
bool page_differs(const Page *p, const char *flag); /* between the runs */

double last_of(long n, const double *x);            /* finite; or NaN */
double mean_of(long n, const double *x);

#endif
