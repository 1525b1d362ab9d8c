/* C11  Shleifer et al. 2021, "NormFormer" (arXiv 2110.09456): Pre-LN is not
 *      even across depth either. |d W_2| = |h| |d x|: h, behind a norm, is of
 *      one size at every layer, but d x grows on its way to the input, for N
 *      in layer l multiplies what comes through F by 1/sigma ~ 1/sqrt l:
 *          |d x_l-1|^2 = (1 + c/l) |d x_l|^2
 *      Where output projections start by 1/sqrt(2L) smaller the stream hardly
 *      grows, c is small, and the imbalance is gone.
 *      Setting R, L = 24: first layer's W_2 gradient over the last one's,
 *      which a single seed gives within 20 %. */
#include "setting.h"

static Estimate first_over_last(Lab *lab, bool residual_scale)
{
    static Trial t;
    static Sample s;
    s.n = lab_seeds(lab, 32);
    for (int seed = 1; seed <= s.n; seed++) {
        GPTConfig c = setting_r("pre", 24, seed);
        c.residual_scale = residual_scale;
        trial_new(&t, c, 4);
        trial_step(&t);
        s.x[seed - 1][0] = w2_gradient(&t, 1);
        s.x[seed - 1][1] = w2_gradient(&t, 24);
        trial_free(&t);
    }
    return estimate(&s, first_over_second, 0);
}

static void c11(Lab *lab)
{
    measured_over(lab, first_over_last(lab, false), 4, INFINITY,
                  "Pre-LN, first over last |d W_2|")->seen = "5.1";
    measured_over(lab, first_over_last(lab, true), 0, 1.5,
                  "... output projections by 1/sqrt(2L)")->seen = "1.27";
}

const Claim claim_c11 = {"C11", quick,
    "Pre-LN is not even across depth: the first layer's W_2 has a larger "
    "gradient than the last one's; 1/sqrt(2L) evens it out",
    "Shleifer et al. 2021 (NormFormer)", c11, 16};
