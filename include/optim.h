/* From gradient to update.
 *
 *   AdamW (Kingma & Ba 2015; Loshchilov & Hutter 2019), step t = 1, 2, ..
 *     m = b1 m + (1 - b1) g            v = b2 v + (1 - b2) g^2
 *     w -= rate (m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + decay w)
 *   SGD with momentum b1
 *     m = b1 m + g                     w -= rate (m + decay w)
 *
 * g is the gradient times `scale`, which is how clipping is applied: by the
 * norm of all gradients together (Pascanu et al. 2013). */
#ifndef OPTIM_H
#define OPTIM_H

#include "param.h"

enum Method { ADAMW, SGD };

typedef struct {
    int    method;          /* enum Method */
    double beta1, beta2, eps, weight_decay;
} OptimConfig;

typedef struct {
    OptimConfig config;
    Param *param;
    int    nparam;
    real **m, **v;          /* as many as parameters, each of their size */
    double *square;         /* of each parameter's gradient: its norm^2 */
    long   step;            /* updates done */
} Optim;

void optim_new(Optim *o, OptimConfig config, Param *param, int nparam,
               Arena *a);

/* The norm of all gradients together. Same bits for any thread count. */
real grad_norm(const Optim *o);

/* By what to multiply gradients whose norm must not exceed clip (0: no
 * limit). */
real clip_scale(double clip, real norm);

/* One update of every parameter; leaves the gradients at 0. */
void optim_step(Optim *o, real rate, real scale);

enum Decay { DECAY_COSINE, DECAY_LINEAR, DECAY_CONSTANT };

typedef struct {
    int    decay;           /* enum Decay: what follows the warmup */
    int    warmup, steps;
    double rate, min_rate;
} Schedule;

/* The learning rate of step 1 .. steps: rises linearly to `rate` at step
 * `warmup`, then falls towards min_rate. Positive and finite at every step,
 * whatever the warmup. */
real schedule_rate(const Schedule *s, long step);

#endif
