/* C9  Dong et al. 2021 and Noci et al. 2022, "Signal Propagation in
 *     Transformers: ... the Role of Rank Collapse" (arXiv 2206.03126).
 *     Attention mixes tokens, so they become alike, and where nothing keeps
 *     them apart they end as one. The mean cosine of the angle between two
 *     tokens of a sequence after L = 12 layers, of x_0 with a mean of 0:
 *         Post-LN    near 1: all tokens say the same, a loss at the unigram
 *                    level is what is left
 *         Pre-LN     the stream keeps x_0, and the branches weigh less and
 *                    less: in between
 *         DeepNorm   branches are small: near 0
 *     and a pitfall: with weights of std .02 at d = 64 the branches of Post-LN
 *     are so small that nothing of this is to be seen at step 0.
 *     With GELU, which the trainer has and the papers have not, Post-LN comes
 *     a little less near to 1.
 *     Setting R. */
#include "setting.h"

static double cosine(Lab *lab, const char *placement, int init, bool relu)
{
    static Trial t;
    double total = 0;
    int seeds = lab_seeds(lab, 32);
    for (int seed = 1; seed <= seeds; seed++) {
        GPTConfig c = setting_r(placement, 12, seed);
        c.init = init, c.relu = relu;
        trial_new(&t, c, 4);
        total += token_cosine(&t.arena, trial_stream(&t)) / seeds;
        trial_free(&t);
    }
    return total;
}

static void c9(Lab *lab)
{
    measured(lab, cosine(lab, "post", INIT_XAVIER, true), .98, 1,
             "Post-LN")->seen = ".986";
    measured(lab, cosine(lab, "pre", INIT_XAVIER, true), .5, .9,
             "Pre-LN")->seen = ".69";
    measured(lab, cosine(lab, "deepnorm", INIT_XAVIER, true), -.05, .05,
             "DeepNorm")->seen = ".00";
    differs(measured(lab, cosine(lab, "post", INIT_XAVIER, false), .98, 1,
                     "Post-LN, GELU for ReLU"), .965, .98,
            "GELU is nearer to a linear function than ReLU: less of its output "
            "is the mean over tokens, in which they are alike");
    measured(lab, cosine(lab, "post", INIT_GPT2, true), -.2, .2,
             "Post-LN, std .02")->seen = ".10";
}

const Claim claim_c9 = {"C9", quick,
    "after 12 layers tokens have collapsed onto each other in Post-LN, not in "
    "Pre-LN or DeepNorm; initial weights of std .02 mask it",
    "Noci et al. 2022", c9};
