/* Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture"
 * (arXiv 2002.04745), in their simplified setting X.
 *
 * C3  Lemma 2. A branch is a random linear map of what it reads. In Post-LN
 *     it reads a normalised x, |x|^2 = d, and half of it survives the ReLU:
 *         |x + F(x)|^2 = d + d/2 = 3d/2       before the second norm,
 *     at every depth, for the norm begins each sublayer anew. In Pre-LN what
 *     is added stays: the stream grows by d/2 to 3d/2 a layer. So Post-LN's
 *     sigma is the same everywhere: where the theory has gradients that differ
 *     from layer to layer it is by the number of norms on their way.
 *
 * C4  Theorem 1. The gradient of the last layer's W_2 is bounded by
 *         Post-LN   O(d sqrt(ln d))
 *         Pre-LN    O(d sqrt(ln d / L))
 *     in Pre-LN because the final norm divides by |x_L| ~ sqrt(L d). So
 *     |d W_2| ~ L^a with a = 0 and a = -1/2.
 *
 * C5  The norm's Jacobian has the scale 1/sigma = sqrt(2/3) by C3, and there
 *     are two a layer; from this the paper expects that gradients decay like
 *     (2/3)^(L/2) towards the input. But the add in front of the norm gives
 *     the gradient two ways, through x and through F, and multiplies it by
 *     sqrt(1 + 1/2): the product is 1. What is left of the imbalance comes
 *     from the attention, which is a mean over tokens here. */
#include "setting.h"
#include "kernels.h"

/* The squares of C3 are expectations over weights: one draw of them has a
 * standard deviation of a quarter of d in each layer, and tokens do not help,
 * for they are alike after a few layers. So the seeds are many. */

enum { C3_LAYERS = 16 };

/* The mean square of what enters the norm of each MLP sublayer. */
static void before_norm(const Trial *t, double *square)
{
    for (const Node *nd = t->tape.last; nd; nd = nd->prev)
        for (int l = 0; l < t->L; l++)
            if (nd->in[1] == t->model.branch[2 * l + 1].norm.g)
                square[l] = mean_square(nd->in[0]);
}

static void growth(const Trial *t, double *grown)
{
    Tensor **x = t->model.stream;
    for (int l = 0; l < t->L; l++)
        grown[l] = mean_square(x[2 * l + 2]) - mean_square(x[2 * l]);
}

static double lowest(const double *x, int column)
{
    double y = x[column];
    for (int i = 0; i < C3_LAYERS; i++) y = fmin(y, x[i]);
    return y;
}

static double highest(const double *x, int column)
{
    double y = x[column];
    for (int i = 0; i < C3_LAYERS; i++) y = fmax(y, x[i]);
    return y;
}

static void extremes(Lab *lab, const Sample *s, double low, double high,
                     const char *seen, const char *what)
{
    measured_over(lab, estimate(s, lowest, 0), low, high, "%s, least", what)
        ->seen = seen;
    measured_over(lab, estimate(s, highest, 0), low, high, "%s, most", what)
        ->seen = seen;
}

typedef void Look(const Trial *t, double *x);

static void look_at(const char *placement, int seed, Look *look, double *x)
{
    Trial t;
    trial_x(&t, placement, C3_LAYERS, seed);
    trial_stream(&t);
    look(&t, x);
    trial_free(&t);
}

static void c3(Lab *lab)
{
    static Sample square, grown;
    square.n = grown.n = lab_seeds(lab, 200);
    lab_progress(lab, "%d seeds", square.n);
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < square.n; i++) {
        look_at("post", i + 1, before_norm, square.x[i]);
        look_at("pre", i + 1, growth, grown.x[i]);
    }
    extremes(lab, &square, 1.42, 1.58, "1.49-1.53",
             "Post-LN, |x + F|^2 / d over 16 layers");
    extremes(lab, &grown, .5, 1.5, ".56-1.16",
             "Pre-LN, growth of |x|^2 / d in a layer");
}

const Claim claim_c3 = {"C3", quick,
    "what enters Post-LN's second norm has |x|^2 = 3d/2 at every depth (layers "
    "differ by the number of norms behind them, not by their sigma); Pre-LN's "
    "stream grows by d/2 to 3d/2 a layer",
    "Xiong et al. 2020, Lemma 2", c3, 200};

static double last_w2(const char *placement, int L, int seed)
{
    Trial t;
    trial_x(&t, placement, L, seed);
    trial_step(&t);
    double w2 = w2_gradient(&t, L);
    trial_free(&t);
    return w2;
}

static const double depth[] = {4, 8, 16, 32, 64};

static double slope(const double *w2, int column)
{
    return exponent(5, depth, w2 + column);
}

static void c4(Lab *lab)
{
    static Sample post, pre;
    post.n = pre.n = lab_seeds(lab, 16);
    for (int i = 0; i < 5; i++) {
        int L = (int)depth[i];
        lab_progress(lab, "L = %d, %d seeds", L, post.n);
        #pragma omp parallel for schedule(dynamic)
        for (int k = 0; k < post.n; k++) {
            post.x[k][i] = last_w2("post", L, k + 1);
            pre.x[k][i] = last_w2("pre", L, k + 1);
        }
    }
    measured_over(lab, estimate(&post, slope, 0), -.2, .3,
                  "Post-LN, |d W_2| ~ L^a: a")->seen = ".15";
    measured_over(lab, estimate(&pre, slope, 0), -.62, -.40,
                  "Pre-LN, |d W_2| ~ L^a: a")->seen = "-.51";
}

const Claim claim_c4 = {"C4", quick,
    "the gradient of the last W_2 does not depend on the depth in Post-LN, "
    "and falls like L^-1/2 in Pre-LN", "Xiong et al. 2020, Theorem 1", c4, 8};

enum { NORM, ADD, LAYER };

/* Means over layers. LAYER: |d x_l-1| / |d x_l|, the geometric mean over
 * layers, which is (|d x_0| / |d x_L|)^(1/L). */
static void gains(int L, Sample *s)
{
    static Trial t;
    for (int seed = 1; seed <= s->n; seed++) {
        double *gain = s->x[seed - 1];
        trial_x(&t, "post", L, seed);
        trial_step(&t);
        const ProbeRow *row = t.probe->row;
        gain[NORM] = gain[ADD] = 0;
        for (int l = 0; l < L; l++) {
            gain[NORM] += row[2 * l + 1].gain_norm / L;
            gain[ADD] += row[2 * l + 1].gain_add / L;
        }
        real net = (real)(row[0].grad / row[2 * L].grad);
        gain[LAYER] = (double)kexp(klog(net) / (real)L);
        trial_free(&t);
    }
}

static double norm_times_add(const double *gain, int column)
{
    return gain[column + NORM] * gain[column + ADD];
}

static void c5(Lab *lab)
{
    static Sample s;
    double norm = sqrt(2 / 3.), add = sqrt(3 / 2.);
    s.n = lab_seeds(lab, 8);
    for (int L = 6; L <= 24; L *= 2) {
        lab_progress(lab, "L = %d", L);
        gains(L, &s);
        measured_over(lab, estimate(&s, column_mean, NORM), norm * .97,
                      norm * 1.03, "L = %d: gain of the norm", L)
            ->seen = ".812-.821";
        measured_over(lab, estimate(&s, column_mean, ADD), add * .97,
                      add * 1.03, "L = %d: gain of the add", L)
            ->seen = "1.218-1.220";
        measured_over(lab, estimate(&s, norm_times_add, 0), .97, 1.03,
                      "L = %d: their product", L);
        measured_over(lab, estimate(&s, column_mean, LAYER), .85, 1.05,
                      "L = %d: of a whole layer", L)->seen = ".91-.96";
    }
}

const Claim claim_c5 = {"C5", quick,
    "Post-LN's second norm multiplies the gradient by sqrt(2/3) and the add "
    "by sqrt(3/2): they cancel, it does not decay like (2/3)^(L/2)",
    "Xiong et al. 2020, who expect the decay", c5, 2};
