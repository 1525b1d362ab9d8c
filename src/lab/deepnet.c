/* C7  Wang et al. 2022, "DeepNet: Scaling Transformers to 1,000 Layers"
 *     (arXiv 2203.00555). DeepNorm, N(a x + F(x)) with a = (2L)^(1/4) and
 *     V, O, W_1, W_2 started (8L)^(-1/4) times as large: a branch is a small
 *     part of the stream, so all layers get the same gradient, and it is the
 *     smaller the deeper the model:
 *         |d W_2| ~ b / a ~ L^(-1/4) L^(-1/4) = L^(-1/2)   at every layer
 *     (d F is 1/a of what enters the norm, and W_1 is b times Xavier).
 *     Setting R, L = 6 .. 48. */
#include "setting.h"

/* Into profile[l - 1]: the mean over seeds of |d W_2| at layer l. */
static void w2_profile(int L, int seeds, double *profile)
{
    static Trial t;
    for (int l = 1; l <= L; l++) profile[l - 1] = 0;
    for (int seed = 1; seed <= seeds; seed++) {
        trial_r(&t, "deepnorm", L, seed);
        trial_step(&t);
        for (int l = 1; l <= L; l++)
            profile[l - 1] += w2_gradient(&t, l) / seeds;
        trial_free(&t);
    }
}

static void c7(Lab *lab)
{
    enum { DEPTHS = 4, DEEPEST = 48 };
    double w2[DEEPEST], last[DEPTHS], mean = 0;
    int seeds = lab_seeds(lab, 8);
    for (int i = 0, L = 6; i < DEPTHS; i++, L *= 2) {
        lab_progress(lab, "L = %d", L);
        w2_profile(L, seeds, w2);
        double least = w2[0], most = w2[0];
        for (int l = 1; l < L; l++)
            least = fmin(least, w2[l]), most = fmax(most, w2[l]);
        measured(lab, most / least, 1, 1.15,
                 "L = %d: |d W_2| over layers, max/min", L)
            ->seen = "1.02-1.05";
        last[i] = w2[L - 1] * sqrt((double)L);
        mean += last[i] / DEPTHS;
    }
    for (int i = 0, L = 6; i < DEPTHS; i++, L *= 2)
        measured(lab, last[i] / mean, .85, 1.15,
                 "L = %d: last |d W_2| sqrt L, over the mean", L);
}

const Claim claim_c7 = {"C7", quick,
    "DeepNorm: the gradient of W_2 is the same at every layer, and its size "
    "times sqrt L the same at every depth", "Wang et al. 2022 (DeepNet)", c7};
