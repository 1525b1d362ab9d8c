#include <string.h>
#include "kernels.h"
#include "optim.h"

/* Threads divide the parameters, each a tensor at a time.
 *
 * grad_norm adds up the squares of PIECE reals at a time in `real`, the pieces
 * of a tensor in double, and the tensors in double, always in this order. */
enum { PIECE = 4096 };

/* Moments that fade away are 0 below the smallest normal number. Left alone
 * they would stay denormal for ever (0.9 times the smallest rounds back to
 * it), and denormals cost some processors a hundred times an addition. */
static inline real fade(real x)
{
    return fabs(x) < (real)FLT_MIN ? 0 : x;
}

static real *zeros(Arena *a, long n)
{
    size_t bytes = (size_t)n * sizeof(real);
    return memset(arena_alloc(a, bytes), 0, bytes);
}

void optim_new(Optim *o, OptimConfig config, Param *param, int nparam,
               Arena *a)
{
    size_t bytes = (size_t)nparam * sizeof *o->m;
    *o = (Optim){config, param, nparam, arena_alloc(a, bytes),
                 arena_alloc(a, bytes),
                 arena_alloc(a, (size_t)nparam * sizeof *o->square), 0};
    for (int i = 0; i < nparam; i++) {
        o->m[i] = zeros(a, size(param[i].t));
        o->v[i] = zeros(a, size(param[i].t));
    }
}

static double norm_sq(long n, const real *g)
{
    double total = 0;
    for (long k = 0; k < n; k += PIECE) {
        int piece = (int)(n - k < PIECE ? n - k : PIECE);
        total += (double)dot(piece, g + k, g + k);
    }
    return total;
}

real grad_norm(const Optim *o)
{
    double total = 0;
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < o->nparam; i++)
        o->square[i] = norm_sq(size(o->param[i].t), o->param[i].t->grad);
    for (int i = 0; i < o->nparam; i++) total += o->square[i];
    return (real)sqrt(total);
}

real clip_scale(double clip, real norm)
{
    return clip > 0 && norm > (real)clip ? (real)clip / norm : 1;
}

/* b^t by squaring: libm's pow differs between machines. */
static double power(double b, long t)
{
    double p = 1;
    for (; t; t >>= 1, b *= b)
        if (t & 1) p *= b;
    return p;
}

static void adamw(const OptimConfig *c, long n, real *w, real *g, real *m,
                  real *v, real rate, real scale, real decay, long t)
{
    const real b1 = (real)c->beta1, b2 = (real)c->beta2, eps = (real)c->eps;
    const real a1 = (real)(1 - c->beta1), a2 = (real)(1 - c->beta2);
    const real r1 = (real)(1 / (1 - power(c->beta1, t)));
    const real r2 = (real)(1 / (1 - power(c->beta2, t)));
    for (long k = 0; k < n; k++) {
        real gk = g[k] * scale;
        real mk = m[k] = fade(b1 * m[k] + a1 * gk);
        real vk = v[k] = fade(b2 * v[k] + a2 * gk * gk);
        w[k] -= rate * (mk * r1 / (sqrt(vk * r2) + eps) + decay * w[k]);
        g[k] = 0;
    }
}

static void sgd(const OptimConfig *c, long n, real *w, real *g, real *m,
                real rate, real scale, real decay)
{
    const real b1 = (real)c->beta1;
    for (long k = 0; k < n; k++) {
        m[k] = fade(b1 * m[k] + g[k] * scale);
        w[k] -= rate * (m[k] + decay * w[k]);
        g[k] = 0;
    }
}

void optim_step(Optim *o, real rate, real scale)
{
    const OptimConfig *c = &o->config;
    o->step++;
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < o->nparam; i++) {
        Tensor *t = o->param[i].t;
        real decay = o->param[i].decay ? (real)c->weight_decay : 0;
        if (c->method == ADAMW)
            adamw(c, size(t), t->data, t->grad, o->m[i], o->v[i], rate, scale,
                  decay, o->step);
        else
            sgd(c, size(t), t->data, t->grad, o->m[i], rate, scale, decay);
    }
}

/* What is left of the rate after the warmup: 1 at its first step, and above 0
 * at its last, so that a rate is positive even where min_rate is 0. The cosine
 * is (1 + cos(pi (1 - left))) / 2 = sin(pi/2 left)^2, which does not cancel
 * where little is left. */
static double decayed(const Schedule *s, long step)
{
    const double half_pi = 1.57079632679489662;
    double left = (double)(s->steps - step + 1) / (s->steps - s->warmup), x;
    switch (s->decay) {
    case DECAY_COSINE: return x = (double)ksin((real)(half_pi * left)), x * x;
    case DECAY_LINEAR: return left;
    default:           return 1;
    }
}

real schedule_rate(const Schedule *s, long step)
{
    if (step <= s->warmup)
        return (real)(s->rate * (double)step / s->warmup);
    return (real)(s->min_rate + (s->rate - s->min_rate) * decayed(s, step));
}
