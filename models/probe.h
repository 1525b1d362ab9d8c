/* Probe: what one step does on the residual path, sublayer by sublayer, read
 * off the tape while the gradient passes. It only reads: the training goes on
 * as if nobody had looked, to the last bit.
 *
 *     Probe *p = probe_new(&arena, &model);
 *     probe_watch(p, &tape);          before the step
 *     ... gpt_loss, tape_backward ...
 *     probe_weights(p);               before clipping and update
 *     ... optim_step ...
 *     probe_update(p);
 *
 * Sums are in double, in one order: the same on all machines. */
#ifndef PROBE_H
#define PROBE_H

#include <stdio.h>
#include "gpt.h"

/* Sublayer i of 2L: attention (even), MLP (odd). x_i is the stream that it
 * finds, F its branch as the placement adds it to the stream, after scale,
 * gate or norm. |t| is the Frobenius norm of a tensor, d_t the gradient of
 * the loss with respect to it. NaN where there is nothing to measure. */
typedef struct {
    double stream;      /* RMS of x_i */
    double branch;      /* |F| / |what F is added to| */
    double cosine;      /* mean over pairs of tokens of a sequence: the cosine
                           of the angle between them in x_i. 1: collapsed */
    double grad;        /* |d x_i| */
    double gain;        /* |d x_i| / |d x_i+1|: what the sublayer does to it */
    double gain_add;    /* |d x_i| / |d (x_i + F)| */
    double gain_norm;   /* |d of what enters N| / |d of what leaves it|, of N
                           alone */
    double sigma;       /* mean over tokens: standard deviation (rmsnorm: RMS)
                           of what enters N */
    double scale;       /* mean over tokens: 1 / sqrt(sigma^2 + eps), by which
                           N multiplies the gradient */
    double grad_out;    /* |d W| of the output projection: W_O, W_2 */
    double grad_in;     /* |d W| of the first matrix: W_QKV, W_1 */
    double entropy;     /* attention: mean over heads and tokens, nats, of the
                           first sequence */
    double logit;       /* attention: the largest, likewise */
    double update;      /* |change of the step| / |W|, W_O or W_2 */
} ProbeRow;

/* What leaves the sublayer is the sum, or N of it. So
 *   pre, peri, lnscale, rezero   x_i+1 = x_i + F          gain = gain_add
 *   post, deepnorm               x_i+1 = N(a x_i + F)     gain = gain_add
 *                                                                gain_norm */

/* The columns of a row, in order, for tables and files. */
typedef struct { const char *name, *about; size_t offset; } ProbeColumn;
extern const ProbeColumn probe_columns[];       /* ends with a NULL name */

typedef struct {
    const GPT *m;
    int n;              /* 2L rows; row 2L is the end of the stream: stream,
                           cosine and grad only */
    ProbeRow *row;
    int at;             /* the sublayer that the gradient is passing */
    Tape *tape;
    real *dx;           /* of the norm that is looked at */
    real *before;       /* the output projections before the update */
} Probe;

Probe *probe_new(Arena *a, const GPT *m);
void   probe_watch(Probe *p, Tape *tp);
void   probe_weights(Probe *p);
void   probe_update(Probe *p);

double probe_value(const ProbeRow *row, const ProbeColumn *column);

/* {"stream":[...],"branch":[...], ...}: a list of 2L (or 2L+1) numbers for
 * each column, null for what is not there. */
void   probe_json(FILE *f, const Probe *p);

/* Of x (N,C): its Frobenius norm, and the mean cosine of the angle between
 * two of T tokens of a sequence. */
double frobenius(long n, const real *x);
double token_cosine(Arena *scratch, const Tensor *x);

#endif
