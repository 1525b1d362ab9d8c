/* C10  How large does the stream get? |x_L|^2 / d, from |x_0|^2 = d, in
 *      setting R.
 *
 *      peri       every branch ends in a norm, so each of 2L adds d:  1 + 2L
 *                 (Kim et al. 2025, arXiv 2502.02732)
 *      lnscale    branch l reads N(x) / sqrt l: its output, too, is 1/sqrt l,
 *                 and sum 1/l = ln L  (Sun et al. 2025, arXiv 2502.05795)
 *      pre        with W ~ N(0, 1/in) and output projections by 1/sqrt(2L)
 *                 (GPT-2): 2L branches, each at most 1/(2L) of d: no growth
 *                 with the depth at all */
#include "setting.h"

static Estimate end_of_stream(Lab *lab, GPTConfig c, int seeds)
{
    static Trial t;
    static Sample s;
    s.n = lab_seeds(lab, seeds);
    for (int seed = 1; seed <= s.n; seed++) {
        lab_progress(lab, "%s, L = %d, seed %d of %d",
                     placements[c.placement].name, c.layers, seed, s.n);
        c.seed = (uint64_t)seed;
        trial_new(&t, c, 4);
        t.tape.recording = false;
        s.x[seed - 1][0] = mean_square(trial_stream(&t));
        trial_free(&t);
    }
    return estimate(&s, column_mean, 0);
}

static void c10(Lab *lab)
{
    static const char *const seen[] = {"12.3", "25.3", "47", "90"};
    for (int i = 0, L = 6; i < 4; i++, L *= 2) {
        Estimate x = end_of_stream(lab, setting_r("peri", L, 1), 4);
        measured_over(lab, x, .8 * (1 + 2 * L), 1.2 * (1 + 2 * L),
                      "peri, L = %d", L)->seen = seen[i];
    }
    measured_over(lab, end_of_stream(lab, setting_r("lnscale", 100, 1), 4), 1,
                  6, "lnscale, L = 100")->seen = "4.8";
    for (int L = 10; L <= 1000; L *= 10) {
        GPTConfig c = setting_r("pre", L, 1);
        c.init = INIT_FANIN, c.residual_scale = true;
        measured_over(lab, end_of_stream(lab, c, L < 1000 ? 4 : 2), 1, 1.6,
                      "pre, fan-in / sqrt(2L), L = %d", L)
            ->seen = "1.35-1.43";
    }
}

const Claim claim_c10 = {"C10", quick,
    "|x_L|^2 / d is 1 + 2L in peri, at most 6 at L = 100 in lnscale, and does "
    "not grow with depth in pre with output projections by 1/sqrt(2L)",
    "Kim et al. 2025; Sun et al. 2025; Radford et al. 2019", c10, 2};
