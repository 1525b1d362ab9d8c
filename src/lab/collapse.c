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
 *     What mixes tokens is attention: with W_QKV joint (setting.h) its branch
 *     is half as strong, and Post-LN comes less near to 1.
 *     Setting R.
 *
 * C19 With GELU, which the trainer has and the papers have not, it is less,
 *     too. Why? An MLP, too, makes tokens alike: of tokens at a right angle
 *     ReLU has a mean that is the same for all. The cosine between two of its
 *     outputs is (E f(h))^2 / E f(h)^2 for h ~ N(0, s^2), s^2 = 2/5 by Xavier:
 *         ReLU    (s^2 / 2 pi) / (s^2 / 2) = 1/pi = .318     for any s
 *         GELU    .125      it is not scale free: h/2, which has no mean, for
 *                           small h, ReLU for large
 *     So GELU(8 h) / 8 should do what ReLU does, and 8 GELU(h / 8) less than
 *     GELU: the factor of 8 is put into W_1, and its inverse into W_2. */
#include "setting.h"

/* inner: 0 is 1; layers: 0 is 12 */
typedef struct { const char *placement; int init; bool joint, gelu;
                 real inner; int layers; } Variant;

/* W_1 by c and W_2 by 1/c: f(h) becomes f(c h) / c. */
static void scale_inside(Trial *t, real c)
{
    for (int i = 1; i < 2 * t->L; i += 2) {
        Tensor *in = t->model.branch[i].in.W, *out = t->model.branch[i].out.W;
        for (long k = 0; k < size(in); k++) in->data[k] *= c;
        for (long k = 0; k < size(out); k++) out->data[k] /= c;
    }
}

static void variant_new(Trial *t, Variant v, int seed)
{
    GPTConfig c = setting_r(v.placement, v.layers ? v.layers : 12, seed);
    c.init = v.init, c.relu = !v.gelu;
    trial_new(t, c, 4);
    if (v.joint) joint_qkv(t);
    if (v.inner > 0) scale_inside(t, v.inner);
}

/* After all layers; or of what the first MLP says of x_0. */
static Estimate cosine(Lab *lab, bool first_mlp, Variant v)
{
    static Trial t;
    static Sample s;
    s.n = lab_seeds(lab, 32);
    for (int seed = 1; seed <= s.n; seed++) {
        variant_new(&t, v, seed);
        const Tensor *x = first_mlp ? apply(&t.tape, &t.model.branch[1], t.x0)
                                    : trial_stream(&t);
        s.x[seed - 1][0] = token_cosine(&t.arena, x);
        trial_free(&t);
    }
    return estimate(&s, column_mean, 0);
}

static const Variant post = {.placement = "post"};

static void c9(Lab *lab)
{
    Variant joint = post, deeper = post, small = post;
    Variant pre = {.placement = "pre"}, deepnorm = {.placement = "deepnorm"};
    joint.joint = deeper.joint = true, deeper.layers = 24;
    small.init = INIT_GPT2;
    measured_over(lab, cosine(lab, false, post), .98, 1,
                  "Post-LN")->seen = ".986";
    differs(measured_over(lab, cosine(lab, false, joint), .98, 1,
                          "Post-LN, W_QKV joint"), .92, .96,
            "W_V of half the variance makes attention's branch, which is what "
            "mixes tokens, half as strong: it takes more layers");
    measured_over(lab, cosine(lab, false, deeper), .98, 1,
                  "Post-LN, W_QKV joint, L = 24");
    measured_over(lab, cosine(lab, false, pre), .5, .9, "Pre-LN")
        ->seen = ".69";
    measured_over(lab, cosine(lab, false, deepnorm), -.05, .05, "DeepNorm")
        ->seen = ".00";
    measured_over(lab, cosine(lab, false, small), -.2, .2, "Post-LN, std .02")
        ->seen = ".10";
}

const Claim claim_c9 = {"C9", quick,
    "after 12 layers tokens have collapsed onto each other in Post-LN, not in "
    "Pre-LN or DeepNorm; initial weights of std .02 mask it",
    "Noci et al. 2022", c9, 4};

static void c19(Lab *lab)
{
    Variant relu = post, gelu = post;
    gelu.gelu = true;
    Variant like_relu = gelu, linear = gelu;
    like_relu.inner = 8, linear.inner = (real)1 / 8;
    Estimate e = cosine(lab, false, relu);
    measured_over(lab, cosine(lab, true, relu), .288, .348,
                  "of an MLP's outputs, ReLU");
    measured_over(lab, cosine(lab, true, gelu), .105, .145,
                  "of an MLP's outputs, GELU");
    measured_over(lab, e, .98, 1, "Post-LN, ReLU");
    measured_over(lab, cosine(lab, false, like_relu), e.value - .005,
                  e.value + .005, "Post-LN, GELU(8 h) / 8: as ReLU");
    e = cosine(lab, false, gelu);
    measured_over(lab, e, .96, .98, "Post-LN, GELU: less");
    measured_over(lab, cosine(lab, false, linear), 0, e.value,
                  "Post-LN, 8 GELU(h / 8): less again");
}

const Claim claim_c19 = {"C19", quick,
    "with GELU tokens collapse less than with ReLU, for at these weights it "
    "is nearer to a linear function, which has no mean common to all tokens",
    "not in the literature", c19, 16};
