/* Where the norm stands on the residual path. One placement, one equation:
 * x the residual stream (B,T,d), F the branch (attention or MLP), N its norm.
 *
 *   pre     x + F(N(x))    (Radford et al. 2019, GPT-2)
 *   post    N(x + F(x))    (Vaswani et al. 2017; Radford et al. 2018, GPT-1)
 *
 * In pre the stream itself is never normalised: the Jacobian of a sublayer is
 * I + d F(N(x)) / dx, and nothing scales the I. In post it is multiplied by
 * the Jacobian of N, at every sublayer. */
#include "gpt.h"

static Tensor *pre(Tape *tp, Tensor *x, const Sublayer *f)
{
    return op_add(tp, x, apply(tp, f, norm(tp, x, &f->norm)));
}

static Tensor *post(Tape *tp, Tensor *x, const Sublayer *f)
{
    return norm(tp, op_add(tp, x, apply(tp, f, x)), &f->norm);
}

const Placement placements[] = {
    /* name, put, final norm before the head */
    {"pre",  pre,  true},
    {"post", post, false},
    {0}
};
