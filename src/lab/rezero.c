/* C8  Bachlechner et al. 2020, "ReZero is All You Need" (arXiv 2003.04887),
 *     and its notebook on singular values. A signal passes a deep network
 *     well if the singular values s of its Jacobian J = d x_L / d x_0 are
 *     near 1. Their mean square, |J|^2 / n, at initial weights:
 *         Post-LN vanishes, Pre-LN (without its final norm) grows with the
 *         stream, ReZero x + g F(x) stays near 1, at g = .1 to show more than
 *         the identity that it is at g = 0.
 *     Setting R, d = 16, T = 4, 4 heads, no mask, so J is 64 x 64, and
 *     exact (models/jacobian.h).
 *
 *     The notebook's networks come from PyTorch, whose Xavier takes W_QKV as
 *     one matrix (d,3d): half the variance of three. And it shows one network
 *     of each kind. In Post-LN these differ by orders of magnitude (at d = 16
 *     now and then a token's sigma is small, and 1/sigma large), and a mean
 *     over networks is that of the largest few: this is the median. (With
 *     Xavier for each of the three, Post-LN's at L = 12 is about 1: .88 of 51
 *     networks, 1.01 of 101. The other thresholds hold just as well.) */
#include "jacobian.h"
#include "setting.h"
#include "svd.h"

enum { N = 64, SEEDS = 100 };

static void as_pytorch(Trial *t)
{
    for (int i = 0; i < 2 * t->L; i += 2) {
        Tensor *W = t->model.branch[i].in.W;
        for (long k = 0; k < size(W); k++) W->data[k] *= sqrt((real)0.5);
    }
}

/* Mean square of the singular values */
static double mean_sv2(const char *placement, int L, int seed)
{
    static Trial t;
    static double J[N * N];
    double sv[N], total = 0;
    GPTConfig c = setting_r(placement, L, seed);
    c.width = 16, c.context = 4, c.unmasked = true;
    trial_new(&t, c, 1);
    as_pytorch(&t);
    for (int i = 0; i < 2 * L; i++)
        if (t.model.branch[i].gate)
            t.model.branch[i].gate->data[0] = (real).1;
    gpt_jacobian(&t.model, t.x0->data, t.T, 0, 2 * L, J);
    singular_values(N, N, J, sv);
    for (int i = 0; i < N; i++) total += sv[i] * sv[i] / N;
    trial_free(&t);
    return total;
}

static double median(Lab *lab, const char *placement, int L, int seeds)
{
    double s[SEEDS] = {0};
    for (int seed = 1; seed <= seeds; seed++) {
        lab_progress(lab, "%s, L = %d, seed %d of %d", placement, L, seed,
                     seeds);
        double x = mean_sv2(placement, L, seed);
        int k = seed - 1;
        for (; k > 0 && s[k - 1] > x; k--) s[k] = s[k - 1];
        s[k] = x;
    }
    return s[seeds / 2];
}

static void c8(Lab *lab)
{
    int few = lab_seeds(lab, 21), many = lab_seeds(lab, 51);
    double pre = median(lab, "pre", 12, many);
    measured(lab, median(lab, "post", 12, many), 0, 1,
             "L = 12: Post-LN < 1")->seen = ".810";
    measured(lab, median(lab, "rezero", 12, many), 1, pre,
             "L = 12: 1 < ReZero < Pre-LN")->seen = "1.059";
    measured(lab, pre, 1, INFINITY, "L = 12: Pre-LN")->seen = "10.24";
    measured(lab, median(lab, "post", 128, few), 0, .01,
             "L = 128: Post-LN")->seen = ".000";
    measured(lab, median(lab, "rezero", 128, few), 1, 12,
             "L = 128: ReZero")->seen = "2.14";
    measured(lab, median(lab, "pre", 128, few), 50, INFINITY,
             "L = 128: Pre-LN")->seen = "66.3";
}

const Claim claim_c8 = {"C8", quick,
    "mean squared singular value of the Jacobian of the whole stack: Post-LN "
    "< 1 < ReZero (g = .1) < Pre-LN; at L = 128 Post-LN's is gone",
    "Bachlechner et al. 2020 (ReZero), notebook", c8};
