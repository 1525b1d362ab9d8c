/* Output projections that start at 0: F(x) = 0 at first.
 *
 * C2   In Pre-LN the stack is then the identity, at any depth. What can it
 *      learn from there? With F(x) = A(x) W_out:
 *          d W_out = A(x)' dF            not 0
 *          d A     = dF W_out' = 0       so nothing behind W_out moves yet
 *      In the first step only W_O and W_2 move, and after it all do.
 *      Setting R, L = 48.
 *
 * C18  With a norm on the branch's output, x + M(F(N(x))), a branch of 0 is a
 *      trap: M's Jacobian at a row of 0 is 1/sqrt(0 + eps) = 316 (1 - 1/d),
 *      so the gradient of W_2 is 316 times what it is in Pre-LN.
 *      (`--zero-init` starts the gain of M at 0 instead.)
 *      Setting R, L = 6. In both models all branches say 0: the streams and
 *      their gradients are the same, and only M stands between. */
#include <string.h>
#include "optim.h"
#include "setting.h"

/* Of how many layers the matrix has a gradient that is not 0, in the columns
 * from .. to - 1. */
static int moving(const Trial *t, int mlp, bool out, int from, int to)
{
    int count = 0;
    for (int l = 0; l < t->L; l++) {
        const Sublayer *f = &t->model.branch[2 * l + mlp];
        const Tensor *W = out ? f->out.W : f->in.W;
        bool any = false;
        for (int i = 0; i < rows(W); i++)
            for (int j = from; j < to; j++)
                any |= W->grad[(long)i * cols(W) + j] != 0;
        count += any;
    }
    return count;
}

static void gradients(Lab *lab, const Trial *t, const char *when, int behind)
{
    int d = t->d, L = t->L;
    const struct { const char *name; int mlp; bool out; int from, to, want; }
        matrix[] = {
            {"W_Q", 0, false, 0,     d,     behind},
            {"W_K", 0, false, d,     2 * d, behind},
            {"W_V", 0, false, 2 * d, 3 * d, behind},
            {"W_1", 1, false, 0,     4 * d, behind},
            {"W_O", 0, true,  0,     d,     L},
            {"W_2", 1, true,  0,     d,     L},
        };
    for (int i = 0; i < 6; i++)
        measured(lab, moving(t, matrix[i].mlp, matrix[i].out, matrix[i].from,
                             matrix[i].to), matrix[i].want, matrix[i].want,
                 "%s: gradients that are not 0, %s", matrix[i].name, when);
}

static void c2(Lab *lab)
{
    static Trial t;
    Optim optim;
    OptimConfig adam = {.beta1 = .9, .beta2 = .98, .eps = 1e-8};
    GPTConfig c = setting_r("pre", 48, 1);
    c.zero_init = true;
    trial_new(&t, c, 4);
    trial_step(&t);
    const Tensor *x = t.model.stream[2 * t.L];
    measured(lab, !memcmp(x->data, t.x0->data, sizeof(real)
                                               * (size_t)size(x)), 1, 1,
             "x_L is x_0, bit for bit (1: yes)");
    gradients(lab, &t, "at first", 0);
    optim_new(&optim, adam, t.model.param, t.model.nparam, &t.arena);
    optim_step(&optim, (real)1e-3, 1);
    trial_step(&t);
    gradients(lab, &t, "after a step", t.L);
    trial_free(&t);
}

const Claim claim_c2 = {"C2", quick,
    "zero-init output projections, Pre-LN, 48 layers: the stack is the "
    "identity; W_O and W_2 move first, and then all",
    "Zhang et al. 2019 (Fixup); Goyal et al. 2017", c2, 0};

/* Into w2[l - 1]: |d W_2| of each layer. */
static void zeroed(const char *placement, int seed, double *w2)
{
    static Trial t;
    trial_r(&t, placement, 6, seed);
    for (int i = 0; i < 2 * t.L; i++) {
        Tensor *W = t.model.branch[i].out.W;
        memset(W->data, 0, sizeof(real) * (size_t)size(W));
    }
    trial_step(&t);
    for (int l = 1; l <= t.L; l++) w2[l - 1] = w2_gradient(&t, l);
    trial_free(&t);
}

static void c18(Lab *lab)
{
    double pre[6], peri[6];
    zeroed("pre", 1, pre);
    zeroed("peri", 1, peri);
    for (int l = 0; l < 6; l++)
        measured(lab, peri[l] / pre[l], 316 * .95, 316 * 1.05,
                 "|d W_2|, peri over pre, layer %d", l + 1)->seen = "316";
}

const Claim claim_c18 = {"C18", quick,
    "zero-init output projections under an output norm are a trap: the first "
    "gradient of W_2 is 1/sqrt(eps) = 316 times Pre-LN's",
    "E4, in a model", c18, 0};
