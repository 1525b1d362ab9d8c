/* C14  A thousand layers, d = 32, T = 16: setting R otherwise. Everything is
 *      finite; in Post-LN hardly any of the gradient arrives at the first
 *      layer; in DeepNorm all of it does (Wang et al. 2022). */
#include "setting.h"

static void thousand(Lab *lab, const char *placement, double low, double high,
                     const char *seen)
{
    static Trial t;
    double first = 0, last = 0;
    bool finite = true;
    int seeds = lab_seeds(lab, 3);
    for (int seed = 1; seed <= seeds; seed++) {
        GPTConfig c = setting_r(placement, 1000, seed);
        c.width = 32, c.context = 16;
        lab_progress(lab, "%s, seed %d of %d", placement, seed, seeds);
        trial_new(&t, c, 4);
        trial_step(&t);
        finite &= !tape_nonfinite(&t.tape);
        for (int i = 0; i < t.model.nparam; i++) {
            const Tensor *p = t.model.param[i].t;
            finite &= all_finite(size(p), p->grad);
        }
        first += w2_gradient(&t, 1);
        last += w2_gradient(&t, 1000);
        trial_free(&t);
    }
    measured(lab, finite, 1, 1, "%s: all is finite (1: yes)", placement);
    measured(lab, first / last, low, high, "%s: first over last |d W_2|",
             placement)->seen = seen;
}

static void c14(Lab *lab)
{
    thousand(lab, "post", 0, 1e-3, "4e-5");
    thousand(lab, "deepnorm", .95, 1.05, "1.0");
}

const Claim claim_c14 = {"C14", quick,
    "1,000 layers: all is finite; the first W_2 has no gradient worth "
    "mentioning in Post-LN, and the last one's in DeepNorm",
    "Wang et al. 2022 (DeepNet)", c14, 0};
