/* Where the norm stands on the residual path. One placement, one equation:
 * x the residual stream (B,T,d), F the branch (attention or MLP), N its norm,
 * M a second norm, L layers, l = 1 .. L.
 *
 *   pre       x + F(N(x))          (Radford et al. 2019, GPT-2)
 *   post      N(x + F(x))          (Vaswani et al. 2017; GPT-1)
 *   peri      x + M(F(N(x)))       (Kim et al. 2025)
 *   deepnorm  N(a x + F(x))        a = (2L)^(1/4)  (Wang et al. 2022, DeepNet)
 *   lnscale   x + F(N(x) / sqrt l)                 (Sun et al. 2025)
 *   rezero    x + g F(x)           g trained, from 0  (Bachlechner et al. 2020)
 *
 * In pre the stream itself is never normalised: the Jacobian of a sublayer is
 * I + d F(N(x)) / dx, and nothing scales the I. In post it is multiplied by
 * the Jacobian of N, at every sublayer.
 *
 * To add one: a function, and a row in the table below. */
#include "gpt.h"

static Tensor *pre(Tape *tp, Tensor *x, const Sublayer *f)
{
    return op_add(tp, x, apply(tp, f, norm(tp, x, &f->norm)));
}

static Tensor *post(Tape *tp, Tensor *x, const Sublayer *f)
{
    return norm(tp, op_add(tp, x, apply(tp, f, x)), &f->norm);
}

static Tensor *peri(Tape *tp, Tensor *x, const Sublayer *f)
{
    Tensor *F = apply(tp, f, norm(tp, x, &f->norm));
    return op_add(tp, x, norm(tp, F, &f->out_norm));
}

static Tensor *deepnorm(Tape *tp, Tensor *x, const Sublayer *f)
{
    Tensor *ax = op_scale(tp, x, f->factor);
    return norm(tp, op_add(tp, ax, apply(tp, f, x)), &f->norm);
}

static Tensor *lnscale(Tape *tp, Tensor *x, const Sublayer *f)
{
    Tensor *N = op_scale(tp, norm(tp, x, &f->norm), f->factor);
    return op_add(tp, x, apply(tp, f, N));
}

static Tensor *rezero(Tape *tp, Tensor *x, const Sublayer *f)
{
    return op_add(tp, x, op_gate(tp, apply(tp, f, x), f->gate));
}

/* (2L)^(1/4) and (8L)^(-1/4): DeepNet's table 1 for a decoder. */
static real root4(int n) { return sqrt(sqrt((real)n)); }
static real deepnorm_a(int L, int l) { return (void)l, root4(2 * L); }
static real deepnorm_b(int L) { return 1 / root4(8 * L); }
static real by_root(int L, int l) { return (void)L, 1 / sqrt((real)l); }

const Placement placements[] = {
    /* name, put, norms a sublayer, final norm, gated, factor, start */
    {"pre",      pre,      1, true,  false, NULL, NULL},
    {"post",     post,     1, false, false, NULL, NULL},
    {"peri",     peri,     2, true,  false, NULL, NULL},
    {"deepnorm", deepnorm, 1, false, false, deepnorm_a, deepnorm_b},
    {"lnscale",  lnscale,  1, true,  false, by_root, NULL},
    {"rezero",   rezero,   0, false, true,  NULL, NULL},
    {0}
};
