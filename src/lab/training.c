/* What the placement does to training: setting S, tiny Shakespeare, the
 * validation loss in nats per character. To know how frequent characters are
 * and no more is 3.35 nats: a model that stays there is stuck, and it is stuck
 * because its tokens have collapsed onto each other (C9). To know pairs of
 * characters is 2.48. No run here ends in NaN, which is what diverging would
 * be: what does not train is stuck.
 *
 * C12  Post-LN needs a warmup, Pre-LN trains without one (Xiong et al. 2020):
 *      L = 6, a rate of 3e-3, 400 steps. That lessens the need of a warmup and
 *      does not end it: at this rate half of the steps spent on one cost more
 *      than they bring; at ten times the rate Pre-LN, too, is better with one.
 * C13  Without a warmup, at 1e-3, at depths 12 and 24, after 300 steps:
 *      Post-LN is stuck; Pre-LN, DeepNorm and ReZero train.
 * C16  Post-LN at L = 12, 1e-3, without a warmup again, but from branches of
 *      0 or of small weights: it trains. What matters is where it starts.
 * C17  Clipping the gradient is no such help: Adam divides by the gradient's
 *      size anyway.
 *
 * Each number is of one seed, and each seed has to be where the claim says:
 * a mean would hide the one that is stuck. */
#include <stdio.h>
#include "setting.h"

/* low .. high: where the loss has to be, with each seed. */
static void train_each(Lab *lab, GPTConfig c, Training how, double low,
                       double high, const char *seen, const char *what)
{
    int seeds = lab_seeds(lab, 3);
    for (int seed = 1; seed <= seeds && !lab->skipped; seed++) {
        c.seed = (uint64_t)seed;
        measured(lab, train_s(lab, c, how), low, high, "%s, seed %d", what,
                 seed)->seen = seen;
    }
}

static const double stuck = 3.2;

/* What a warmup of 100 spares Pre-LN at 3e-2. .05 is more than what seeds
 * differ by at 3e-3. */
static void warmup_helps_pre(Lab *lab)
{
    Training none = {.steps = 400, .rate = 3e-2}, warmup = none;
    int seeds = lab_seeds(lab, 3);
    warmup.warmup = 100;
    for (int seed = 1; seed <= seeds && !lab->skipped; seed++) {
        GPTConfig pre = setting_s("pre", 6, seed);
        double without = train_s(lab, pre, none);
        measured(lab, without - train_s(lab, pre, warmup), .05, INFINITY,
                 "Pre-LN, 3e-2: what a warmup spares, seed %d", seed);
    }
}

static void c12(Lab *lab)
{
    Training none = {.steps = 400, .rate = 3e-3}, warmup = none;
    GPTConfig post = setting_s("post", 6, 1), pre = setting_s("pre", 6, 1);
    warmup.warmup = 200;
    train_each(lab, post, none, stuck, INFINITY, "3.37-3.39",
               "Post-LN, no warmup");
    train_each(lab, post, warmup, 0, 2.65, "2.49-2.52", "Post-LN, warmup 200");
    train_each(lab, pre, none, 0, 2.55, "2.38-2.41", "Pre-LN, no warmup");
    train_each(lab, pre, warmup, 0, 2.55, NULL, "Pre-LN, warmup 200");
    warmup_helps_pre(lab);
}

const Claim claim_c12 = {"C12", training,
    "6 layers, rate 3e-3: without warmup Post-LN is stuck at the unigram "
    "level, with it it trains; Pre-LN needs none there, but is better with one "
    "at 3e-2: it lessens the need and does not end it",
    "Xiong et al. 2020", c12, 1};

static void c13(Lab *lab)
{
    static const struct { const char *placement, *name, *seen; double low,
                          high; } kind[] = {
        {"post", "Post-LN", "3.37", 3.2, INFINITY},
        {"pre", "Pre-LN", "2.48-2.50", 0, 2.60},
        {"deepnorm", "DeepNorm", "2.48-2.50", 0, 2.60},
        {"rezero", "ReZero", "2.53-2.56", 0, 2.65}};
    Training how = {.steps = 300, .rate = 1e-3};
    for (int L = 12; L <= 24; L *= 2)
        for (int i = 0; i < 4; i++) {
            char what[40];
            snprintf(what, sizeof what, "%s, L = %d", kind[i].name, L);
            train_each(lab, setting_s(kind[i].placement, L, 1), how,
                       kind[i].low, kind[i].high, kind[i].seen, what);
        }
}

const Claim claim_c13 = {"C13", training,
    "12 and 24 layers, rate 1e-3, no warmup: Post-LN is stuck, Pre-LN, "
    "DeepNorm and ReZero train",
    "Xiong et al. 2020; Wang et al. 2022; Bachlechner et al. 2020", c13, 1};

static void c16(Lab *lab)
{
    Training how = {.steps = 300, .rate = 1e-3};
    GPTConfig post = setting_s("post", 12, 1), zero = post, small = post;
    zero.zero_init = true;
    small.init = INIT_GPT2;
    train_each(lab, post, how, stuck, INFINITY, "3.37", "Post-LN, Xavier");
    train_each(lab, zero, how, 0, 2.60, "2.45", "Post-LN, zero-init");
    train_each(lab, small, how, 0, 2.60, "2.38", "Post-LN, std .02");
}

const Claim claim_c16 = {"C16", training,
    "12 layers, rate 1e-3, no warmup: zero-init output projections rescue "
    "Post-LN, and so do small initial weights", "C9, in training", c16, 1};

static void c17(Lab *lab)
{
    Training how = {.steps = 400, .rate = 3e-3};
    GPTConfig post = setting_s("post", 6, 1);
    how.clip = 1;
    train_each(lab, post, how, stuck, INFINITY, "3.37", "clipped at 1");
    how.clip = .1;
    train_each(lab, post, how, stuck, INFINITY, "3.37", "clipped at .1");
}

const Claim claim_c17 = {"C17", training,
    "clipping the gradient does not rescue Post-LN (6 layers, rate 3e-3, no "
    "warmup)", "under Adam a step's size is not the gradient's", c17, 1};
