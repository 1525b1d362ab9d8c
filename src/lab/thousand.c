/* C14  A thousand layers, d = 32, T = 16: setting R otherwise. Everything is
 *      finite; in Post-LN hardly any of the gradient arrives at the first
 *      layer; in DeepNorm all of it does (Wang et al. 2022).
 *
 *      In Post-LN the ratio of first to last |d W_2| is a product of 2L
 *      random Jacobians: its logarithm is what grows in proportion to L, with
 *      a standard deviation of 1 to 2 decades from seed to seed. So the mean
 *      is of the logarithm (that of the ratio is of one seed's largest).
 *
 *      The value seen elsewhere, 4e-5, is four orders above what 1,000 layers
 *      of d = 32 have here. Two settings have it: 500 layers, which are 1,000
 *      sublayers (10^-4.4; single seeds 10^-2.8 to 10^-5.9), and d = 64 as in
 *      the rest of setting R (10^-4.8 +- .9 of 6 seeds: twice the width, half
 *      the rate). Others do not, of 4 seeds each: W_QKV joint has 10^-8.4,
 *      GELU 10^-8.5, no mask 10^-10.8; one head for four changes nothing; from
 *      std .02 all of the gradient arrives. Nor is it W_2 alone: d x_0 over
 *      d x_L, the stream's own, is the same within .2 decades. */
#include "kernels.h"
#include "setting.h"

enum { DECADES, FIRST, LAST, FINITE };

/* Returns whether all was finite. */
static bool first_and_last(const char *placement, int L, int seed, double *x)
{
    Trial t;
    GPTConfig c = setting_r(placement, L, seed);
    c.width = 32, c.context = 16;
    trial_new(&t, c, 4);
    trial_step(&t);
    bool finite = !tape_nonfinite(&t.tape);
    for (int i = 0; i < t.model.nparam; i++) {
        const Tensor *p = t.model.param[i].t;
        finite &= all_finite(size(p), p->grad);
    }
    x[FIRST] = w2_gradient(&t, 1);
    x[LAST] = w2_gradient(&t, L);
    x[DECADES] = (double)(klog((real)(x[FIRST] / x[LAST])) / klog((real)10));
    trial_free(&t);
    return finite;
}

static void deep(Lab *lab, const char *placement, int L, Sample *s)
{
    int finite = 0, n = s->n = lab_seeds(lab, 3000 / L);
    lab_progress(lab, "%s, L = %d, %d seeds", placement, L, n);
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++)
        s->x[i][FINITE] = first_and_last(placement, L, i + 1, s->x[i]);
    for (int i = 0; i < n; i++) finite += s->x[i][FINITE] != 0;
    measured(lab, finite == n, 1, 1, "%s, L = %d: all is finite (1: yes)",
             placement, L);
}

static void post(Lab *lab)
{
    static const int depth[] = {100, 300, 500, 1000};
    static Sample s;
    Estimate e[4];
    for (int i = 0; i < 4; i++) {
        deep(lab, "post", depth[i], &s);
        e[i] = estimate(&s, column_mean, DECADES);
        measured_over(lab, e[i], -INFINITY, depth[i] < 1000 ? 0 : -3,
                      "post, L = %d: log10 first/last |d W_2|", depth[i])
            ->seen = depth[i] == 1000 ? "-4.4" : NULL;
    }
    Estimate slope = {(e[3].value - e[1].value) / 7,
                      sqrt(e[3].error * e[3].error + e[1].error * e[1].error)
                      / 7, e[3].n};
    measured_over(lab, slope, -INFINITY, -.3,
                  "post: decades per 100 layers, 300 to 1,000");
}

static void c14(Lab *lab)
{
    static const int depth[] = {100, 300, 1000};
    static Sample s;
    post(lab);
    for (int i = 0; i < 3; i++) {
        deep(lab, "deepnorm", depth[i], &s);
        measured_over(lab, estimate(&s, first_over_second, FIRST), .95, 1.05,
                      "deepnorm, L = %d: first/last |d W_2|", depth[i])
            ->seen = "1.0";
    }
}

const Claim claim_c14 = {"C14", quick,
    "1,000 layers: all is finite; the first W_2 has no gradient worth "
    "mentioning in Post-LN, and the last one's in DeepNorm",
    "Wang et al. 2022 (DeepNet)", c14, 3};
