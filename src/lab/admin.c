/* C6  Liu et al. 2020, "Understanding the Difficulty of Training Transformers"
 *     (arXiv 2004.08249): not the size of gradients makes Post-LN hard to
 *     train but how much its output moves when all weights move a little.
 *     With W* = (1 + .01 n) W, n ~ N(0,1),
 *         |f(x, W*) - f(x, W)|^2  ~  L^a
 *     A branch is 1/3 of what leaves Post-LN's norm at every layer, and the
 *     changes of all layers add up: a = 1. In Pre-LN branch l is 1/l of the
 *     stream, and sum 1/l = ln L: slower than any power. DeepNorm makes a
 *     branch (2L)^(-1/4) (8L)^(-1/2) of the stream: the square of that times
 *     2L branches is a = -1/2.
 *     W are the matrices, as in the paper. The gains of the norms stand on the
 *     stream itself where they come after the add: jittered, too, they change
 *     it by .01 at every norm, and DeepNorm's a is .95 as well.
 *     Setting R, L = 4 .. 64; f is what the head reads. */
#include "setting.h"

static void jitter(Trial *t, int seed)
{
    enum { JITTER = 100 };
    int largest = 4 * t->d * t->d;
    real *n = arena_alloc(&t->arena, sizeof(real) * (size_t)largest);
    for (int i = 0; i < t->model.nparam; i++) {
        Tensor *W = t->model.param[i].t;
        if (!t->model.param[i].decay) continue;     /* no matrix */
        Rng r = rng_new((uint64_t)seed, RNG_LAB, JITTER + (uint32_t)i);
        rng_normals(&r, 0, (int)size(W), n);
        for (long k = 0; k < size(W); k++)
            W->data[k] *= 1 + (real).01 * n[k];
    }
}

/* |f(x, W*) - f(x, W)|^2 / d */
static double change(const char *placement, int L, int seed)
{
    Trial t;
    trial_r(&t, placement, L, seed);
    const Tensor *y = trial_output(&t);
    Tensor *before = tensor_new(&t.arena, y->shape);
    for (long k = 0; k < size(y); k++) before->data[k] = y->data[k];
    jitter(&t, seed);
    y = trial_output(&t);
    for (long k = 0; k < size(y); k++) before->data[k] -= y->data[k];
    double square = mean_square(before);
    trial_free(&t);
    return square;
}

static const double depth[] = {4, 8, 16, 32, 64};
enum { DEPTHS = 5, POST = 0, PRE = DEPTHS, DEEPNORM = 2 * DEPTHS };

static double slope(const double *square, int column)
{
    return exponent(DEPTHS, depth, square + column);
}

static double post_over_pre(const double *square, int i)
{
    return square[POST + i] / square[PRE + i];
}

static void c6(Lab *lab)
{
    static const char *const name[] = {"post", "pre", "deepnorm"};
    static Sample s;
    s.n = lab_seeds(lab, 8);
    for (int k = 0; k < 3 * DEPTHS; k++) {
        const char *placement = name[k / DEPTHS];
        int L = (int)depth[k % DEPTHS];
        lab_progress(lab, "%s, L = %d, %d seeds", placement, L, s.n);
        #pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < s.n; i++)
            s.x[i][k] = change(placement, L, i + 1);
    }
    measured_over(lab, estimate(&s, slope, POST), .8, INFINITY,
                  "Post-LN, a")->seen = "1.15";
    measured_over(lab, estimate(&s, slope, PRE), -INFINITY, .55,
                  "Pre-LN, a")->seen = ".42";
    measured_over(lab, estimate(&s, slope, DEEPNORM), -.65, -.35,
                  "DeepNorm, a")->seen = "-.5";
    measured_over(lab, estimate(&s, post_over_pre, DEPTHS - 1), 4, INFINITY,
                  "Post-LN over Pre-LN, L = 64")->seen = "9.2";
}

const Claim claim_c6 = {"C6", quick,
    "jittering all weights by 1 % moves the output by ~ L^a (squared): a is 1 "
    "in Post-LN, below 1/2 in Pre-LN, -1/2 in DeepNorm",
    "Liu et al. 2020 (Admin)", c6, 4};
