/* C7  Wang et al. 2022, "DeepNet: Scaling Transformers to 1,000 Layers"
 *     (arXiv 2203.00555). DeepNorm, N(a x + F(x)) with a = (2L)^(1/4) and
 *     V, O, W_1, W_2 started (8L)^(-1/4) times as large: a branch is a small
 *     part of the stream, so all layers get the same gradient, and it is the
 *     smaller the deeper the model:
 *         |d W_2| ~ b / a ~ L^(-1/4) L^(-1/4) = L^(-1/2)   at every layer
 *     (d F is 1/a of what enters the norm, and W_1 is b times Xavier).
 *     Setting R, L = 6 .. 48. */
#include "setting.h"

enum { DEPTHS = 4 };

/* |d W_2| at each layer */
static void w2_profile(int L, Sample *s)
{
    static Trial t;
    for (int seed = 1; seed <= s->n; seed++) {
        trial_r(&t, "deepnorm", L, seed);
        trial_step(&t);
        for (int l = 1; l <= L; l++)
            s->x[seed - 1][l - 1] = w2_gradient(&t, l);
        trial_free(&t);
    }
}

/* Of columns 0 .. last. */
static double most_over_least(const double *w2, int last)
{
    double least = w2[0], most = w2[0];
    for (int l = 0; l <= last; l++)
        least = fmin(least, w2[l]), most = fmax(most, w2[l]);
    return most / least;
}

static double over_their_mean(const double *x, int column)
{
    double mean = 0;
    for (int i = 0; i < DEPTHS; i++) mean += x[i] / DEPTHS;
    return x[column] / mean;
}

static void c7(Lab *lab)
{
    static Sample w2, last;
    w2.n = last.n = lab_seeds(lab, 8);
    for (int i = 0, L = 6; i < DEPTHS; i++, L *= 2) {
        lab_progress(lab, "L = %d", L);
        w2_profile(L, &w2);
        for (int k = 0; k < w2.n; k++)
            last.x[k][i] = w2.x[k][L - 1] * sqrt((double)L);
        measured_over(lab, estimate(&w2, most_over_least, L - 1), 1, 1.15,
                      "L = %d: |d W_2| over layers, max/min", L)
            ->seen = "1.02-1.05";
    }
    for (int i = 0, L = 6; i < DEPTHS; i++, L *= 2)
        measured_over(lab, estimate(&last, over_their_mean, i), .85, 1.15,
                      "L = %d: last |d W_2| sqrt L, over the mean", L);
}

const Claim claim_c7 = {"C7", quick,
    "DeepNorm: the gradient of W_2 is the same at every layer, and its size "
    "times sqrt L the same at every depth", "Wang et al. 2022 (DeepNet)", c7,
    2};
