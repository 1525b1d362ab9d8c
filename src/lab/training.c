/* What the placement does to training: setting S, tiny Shakespeare, the
 * validation loss in nats per character. To know how frequent characters are
 * and no more is 3.35 nats: a model that stays there is stuck, and it is stuck
 * because its tokens have collapsed onto each other (C9). To know pairs of
 * characters is 2.48.
 *
 * C12  Post-LN needs a warmup, Pre-LN does not (Xiong et al. 2020): L = 6, a
 *      rate of 3e-3, 400 steps.
 * C13  Without a warmup, at 1e-3, at depths 12 and 24, after 300 steps:
 *      Post-LN is stuck; Pre-LN, DeepNorm and ReZero train.
 * C16  Post-LN at L = 12, 1e-3, without a warmup again, but from branches of
 *      0 or of small weights: it trains. What matters is where it starts.
 * C17  Clipping the gradient is no such help: Adam divides by the gradient's
 *      size anyway. */
#include "kernels.h"
#include "setting.h"

static void c12(Lab *lab)
{
    Training none = {.steps = 400, .rate = 3e-3};
    Training warmup = {.steps = 400, .rate = 3e-3, .warmup = 200};
    int seeds = least(lab_seeds(lab, 3), MEASUREMENTS / 3);
    for (int seed = 1; seed <= seeds && !lab->skipped; seed++) {
        GPTConfig post = setting_s("post", 6, seed);
        GPTConfig pre = setting_s("pre", 6, seed);
        measured(lab, train_s(lab, post, none), 3.2, INFINITY,
                 "Post-LN, no warmup, seed %d", seed)->seen = "3.37-3.39";
        measured(lab, train_s(lab, post, warmup), 0, 2.65,
                 "Post-LN, warmup 200, seed %d", seed)->seen = "2.49-2.52";
        measured(lab, train_s(lab, pre, none), 0, 2.55,
                 "Pre-LN, no warmup, seed %d", seed)->seen = "2.38-2.41";
    }
}

const Claim claim_c12 = {"C12", training,
    "6 layers, rate 3e-3: without warmup Post-LN is stuck at the unigram "
    "level, with it it trains; Pre-LN needs none",
    "Xiong et al. 2020", c12};

static void c13(Lab *lab)
{
    Training how = {.steps = 300, .rate = 1e-3};
    for (int L = 12; L <= 24 && !lab->skipped; L *= 2) {
        measured(lab, train_s(lab, setting_s("post", L, 1), how), 3.2,
                 INFINITY, "Post-LN, L = %d", L)->seen = "3.37";
        measured(lab, train_s(lab, setting_s("pre", L, 1), how), 0, 2.60,
                 "Pre-LN, L = %d", L)->seen = "2.48-2.50";
        measured(lab, train_s(lab, setting_s("deepnorm", L, 1), how), 0, 2.60,
                 "DeepNorm, L = %d", L)->seen = "2.48-2.50";
        measured(lab, train_s(lab, setting_s("rezero", L, 1), how), 0, 2.65,
                 "ReZero, L = %d", L)->seen = "2.53-2.56";
    }
}

const Claim claim_c13 = {"C13", training,
    "12 and 24 layers, rate 1e-3, no warmup: Post-LN is stuck, Pre-LN, "
    "DeepNorm and ReZero train",
    "Xiong et al. 2020; Wang et al. 2022; Bachlechner et al. 2020", c13};

static void c16(Lab *lab)
{
    Training how = {.steps = 300, .rate = 1e-3};
    GPTConfig zero = setting_s("post", 12, 1), small = zero;
    zero.zero_init = true;
    small.init = INIT_GPT2;
    measured(lab, train_s(lab, zero, how), 0, 2.60,
             "Post-LN, zero-init")->seen = "2.45";
    measured(lab, train_s(lab, small, how), 0, 2.60,
             "Post-LN, std .02")->seen = "2.38";
}

const Claim claim_c16 = {"C16", training,
    "12 layers, rate 1e-3, no warmup: zero-init output projections rescue "
    "Post-LN, and so do small initial weights", "C9, in training", c16};

static void c17(Lab *lab)
{
    for (double clip = 1; clip > .05; clip /= 10) {
        Training how = {.steps = 400, .rate = 3e-3, .clip = clip};
        measured(lab, train_s(lab, setting_s("post", 6, 1), how), 3.2,
                 INFINITY, "Post-LN, clipped at %g", clip)->seen = "3.37";
    }
}

const Claim claim_c17 = {"C17", training,
    "clipping the gradient does not rescue Post-LN (6 layers, rate 3e-3, no "
    "warmup)", "under Adam a step's size is not the gradient's", c17};
