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
 *     The notebook's networks come from PyTorch, with W_QKV joint (setting.h),
 *     and it shows one of each kind. In Post-LN networks of a kind differ by
 *     orders of magnitude (at d = 16 now and then a token's sigma is small,
 *     and 1/sigma large), and a mean over them is that of the largest few:
 *     this is the median. So the order is that of most networks: of more
 *     than half. Both conventions are measured. (With W_Q, W_K and W_V each
 *     for itself Post-LN's median at L = 12 needs its 200 networks: of 51 it is
 *     .88 +- .26, of 100 it is 1.02, of 1,000 it is .81 +- .07.) */
#include "jacobian.h"
#include "setting.h"
#include "svd.h"

enum { N = 64, POST = 0, REZERO, PRE, KINDS };
static const char *const name[] = {"post", "rezero", "pre"};

/* Mean square of the singular values */
static double mean_sv2(const char *placement, int L, bool joint, int seed)
{
    Trial t;
    double J[N * N], sv[N], total = 0;
    GPTConfig c = setting_r(placement, L, seed);
    c.width = 16, c.context = 4, c.unmasked = true;
    trial_new(&t, c, 1);
    if (joint) joint_qkv(&t);
    for (int i = 0; i < 2 * L; i++)
        if (t.model.branch[i].gate)
            t.model.branch[i].gate->data[0] = (real).1;
    gpt_jacobian(&t.model, t.x0->data, t.T, 0, 2 * L, J);
    singular_values(N, N, J, sv);
    for (int i = 0; i < N; i++) total += sv[i] * sv[i] / N;
    trial_free(&t);
    return total;
}

/* The median of each kind; into `ordered` how many of the n triples of one
 * seed have Post-LN < 1 < ReZero < Pre-LN. */
static void medians(Lab *lab, int L, bool joint, int n, Estimate *middle,
                    Estimate *ordered)
{
    double s[KINDS][SEEDS_MOST];
    *ordered = (Estimate){.n = n};
    lab_progress(lab, "L = %d, %d seeds", L, n);
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < KINDS * n; i++)
        s[i % KINDS][i / KINDS] = mean_sv2(name[i % KINDS], L, joint,
                                           i / KINDS + 1);
    for (int i = 0; i < n; i++)
        ordered->value += (s[POST][i] < 1 && s[REZERO][i] > 1
                           && s[PRE][i] > s[REZERO][i]) / (double)n;
    ordered->error = sqrt(ordered->value * (1 - ordered->value) / n);
    for (int k = 0; k < KINDS; k++) middle[k] = median(n, s[k]);
}

static void c8(Lab *lab)
{
    static const char *const convention[] = {"", ", W_QKV joint"};
    Estimate s[KINDS], ordered;
    for (int joint = 1; joint >= 0; joint--) {
        const char *how = convention[joint];
        medians(lab, 12, joint, lab_seeds(lab, 200), s, &ordered);
        measured_over(lab, s[POST], 0, 1, "L = 12: Post-LN < 1%s", how)
            ->seen = joint ? ".810" : NULL;
        measured_over(lab, s[REZERO], 1, INFINITY, "L = 12: 1 < ReZero%s", how)
            ->seen = joint ? "1.059" : NULL;
        measured_over(lab, s[PRE], s[REZERO].value, INFINITY,
                      "L = 12: ReZero < Pre-LN%s", how)
            ->seen = joint ? "10.24" : NULL;
        medians(lab, 128, joint, lab_seeds(lab, 21), s, &ordered);
        measured_over(lab, s[POST], 0, .01, "L = 128: Post-LN%s", how)
            ->seen = joint ? ".000" : NULL;
        measured_over(lab, s[REZERO], 1, 12, "L = 128: ReZero%s", how)
            ->seen = joint ? "2.14" : NULL;
        measured_over(lab, s[PRE], 50, INFINITY, "L = 128: Pre-LN%s", how)
            ->seen = joint ? "66.3" : NULL;
        measured_over(lab, ordered, .5, 1,
                      "L = 128: share of networks in this order%s", how);
    }
}

const Claim claim_c8 = {"C8", quick,
    "mean squared singular value of the Jacobian of the whole stack: Post-LN "
    "< 1 < ReZero (g = .1) < Pre-LN; at L = 128 Post-LN's is gone",
    "Bachlechner et al. 2020 (ReZero), notebook", c8, 200};
