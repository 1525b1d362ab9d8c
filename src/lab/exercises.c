/* Exercises on where to normalise, with solutions.
 *
 * Ten small computations that one can do on paper: each states a question
 * and its equation, and the code under it is the answer, computed by the
 * engine and compared with the number worked out by hand (`./lab E1 E2`, and
 * with the other tests in double: `build/test64 -v exercises`).
 *
 * LN is layer normalisation over the d features of a token:
 *     mu = mean x     sigma^2 = mean (x - mu)^2
 *     LN(x) = g (x - mu) / sqrt(sigma^2 + eps) + b,     gain g = 1, bias b = 0
 * x is the residual stream and F a branch; and the two placements are
 *     Pre-LN    x + F(LN(x))          Post-LN    LN(x + F(x)) */
#include "paper.h"

/* ------------------------------------------------------------------------
 * E1  What is LN([2,4,4,6]) with eps = 0?
 *
 *     mu = 4, x - mu = [-2,0,0,2], sigma^2 = (4 + 0 + 0 + 4) / 4 = 2 */
static void e1(Lab *lab)
{
    fresh_page();
    double root2 = sqrt(2.0);
    NEAR_ROW(lab, "LN([2,4,4,6])", LN(ROW(2, 4, 4, 6), 0), -root2, 0, 0,
             root2);
}

const Claim claim_e1 = {"E1", quick,
    "LayerNorm of [2,4,4,6] with eps 0 is [-sqrt 2, 0, 0, sqrt 2]",
    "by hand", e1, 0};

/* ------------------------------------------------------------------------
 * E2  Pre-LN, y = x + F(LN(x)): what comes out of x = [1,3] if the branch
 *     says F = [0.5,-1]? And if it has learned nothing, F = [0,0]?
 *
 *     LN is inside the branch: x itself is carried along as it is. */
static void e2(Lab *lab)
{
    fresh_page();
    Tensor *x = ROW(1, 3);
    Sublayer f = constant_branch(2, 0, (double[]){.5, -1});
    Sublayer nothing = constant_branch(2, 0, (double[]){0, 0});
    NEAR_ROW(lab, "F = [.5,-1]", put("pre", x, &f), 1.5, 2);
    near_row(lab, "F = 0", put("pre", x, &nothing), (double[]){1, 3}, 0);
}

const Claim claim_e2 = {"E2", quick,
    "Pre-LN of x = [1,3] with F = [.5,-1] is [1.5,2], with F = 0 [1,3]",
    "by hand", e2, 0};

/* ------------------------------------------------------------------------
 * E3  Post-LN, y = LN(x + F(x)), with the same numbers?
 *
 *     x + F = [1.5,2], mu = 1.75, sigma = 0.25: [-1,1]. What x was can no
 *     longer be seen: any two different numbers come out as -1 and 1. With
 *     eps > 0 it is a little less than 1, sigma / sqrt(sigma^2 + eps). */
static void e3(Lab *lab)
{
    fresh_page();
    Tensor *x = ROW(1, 3), *F = ROW(.5, -1);
    Sublayer f = constant_branch(2, 0, (double[]){.5, -1});
    double one = .25 / sqrt(.25 * .25 + (double)EPS);       /* 0.99992 */
    NEAR_ROW(lab, "eps 0", LN(op_add(&tape, x, F), 0), -1, 1);
    NEAR_ROW(lab, "eps 1e-5", put("post", x, &f), -one, one);
}

const Claim claim_e3 = {"E3", quick,
    "Post-LN of x = [1,3] with F = [.5,-1] is [-1,1]: mu 1.75, sigma .25",
    "by hand", e3, 0};

/* ------------------------------------------------------------------------
 * E4  LN of a constant row, [5,5,5,5]: what happens with eps = 0, and with
 *     eps = 1e-5? How large is the gradient there?
 *
 *     eps = 0 is 0/0: NaN. The tape finds the op that made it.
 *     eps > 0: 0 / sqrt(eps) = 0, exactly. The Jacobian is
 *     g / sqrt(0 + eps) (I - 1/d), so a cotangent with mean 0 comes back
 *     g / sqrt(eps) = 316.2 times as large: finite, and not small. */
static void e4(Lab *lab)
{
    fresh_page();
    Tensor *x = ROW(5, 5, 5, 5), *y = LN(x, 0);
    const Node *bad = tape_nonfinite(&tape);
    measured(lab, isnan(y->data[0]) && isnan(y->data[3]), 1, 1,
             "eps 0: 0/0 is NaN (1: yes)");
    measured(lab, bad && !strcmp(bad->op, "layernorm"), 1, 1,
             "eps 0: reported, as layernorm's (1: yes)");

    fresh_page();
    x = ROW(5, 5, 5, 5), y = LN(x, EPS);
    near_row(lab, "eps 1e-5", y, (double[]){0, 0, 0, 0}, 0);
    tape.find_nonfinite = true;
    measured(lab, !tape_backward(&tape, y, (real[]){1, -1, 0, 0}), 1, 1,
             "eps 1e-5: backward is finite (1: yes)");
    double scale = 1 / sqrt(1e-5), bound = ROUNDING * scale;
    near(lab, "1 / sqrt(eps)", scale, 316.2, .05);
    near(lab, "dx of dy = [1,-1,0,0] [0]", (double)x->grad[0], scale, bound);
    near(lab, "dx of dy = [1,-1,0,0] [1]", (double)x->grad[1], -scale, bound);
    near(lab, "dx of dy = [1,-1,0,0] [2]", (double)x->grad[2], 0, bound);
}

const Claim claim_e4 = {"E4", quick,
    "LayerNorm of [5,5,5,5]: eps 0 is 0/0 and reported; eps 1e-5 gives 0, "
    "and gradients times 1/sqrt(eps) = 316.2", "by hand", e4, 0};

/* ------------------------------------------------------------------------
 * E5  y = x + F(x): what is dy/dx? And where F has learned nothing?
 *
 *     dy/dx = 1 + dF/dx. With F(x) = w x it is 1 + w; 48 of them in a row
 *     give (1 + w)^48. With w = 0 it is 1, exactly, at any depth: the
 *     residual connection is a path on which the gradient is not changed. */
static double chain(double w, int layers)
{
    Tensor *x = ROW(1.5), *W = constant((Shape){2, {1, 1}}, (real)w), *y = x;
    for (int i = 0; i < layers; i++)
        y = op_add(&tape, y, op_linear(&tape, y, W, NULL));
    return jacobian(y, x).at[0][0];
}

static void e5(Lab *lab)
{
    fresh_page();
    near(lab, "F = x/4", chain(.25, 1), 1.25, ROUNDING);
    near(lab, "F = 0", chain(0, 1), 1, 0);
    near(lab, "F = 0, 48 layers", chain(0, 48), 1, 0);
    near(lab, "F = x/50, 48 layers", chain(.02, 48), power(1.02, 48),
         10 * ROUNDING);
    Tensor *x = ROW(0);         /* dF/dx at 0 is 1/2 */
    Jacobian J = jacobian(op_add(&tape, x, op_gelu(&tape, x)), x);
    near(lab, "F = gelu, at 0", J.at[0][0], 1.5, ROUNDING);
}

const Claim claim_e5 = {"E5", quick,
    "dy/dx of x + F(x) is 1 + dF/dx, and 1 where F has learned nothing",
    "by hand", e5, 0};

/* ------------------------------------------------------------------------
 * E6  What is the Jacobian of LN, and what are its singular values?
 *
 *     J_ab = g_a / sqrt(sigma^2 + eps) (delta_ab - 1/d - z_a z_b / d),
 *     z = (x - mu) / sqrt(sigma^2 + eps)
 *
 *     With g = 1 and eps = 0 it is 1/sigma times the projection that takes
 *     out two directions: 1 = (1,..,1), because shifting x changes nothing,
 *     and z, because stretching x changes nothing. So d-2 singular values
 *     are 1/sigma and two are 0. Formula, autograd and central differences
 *     agree. */
static double mean_of(const Tensor *x)
{
    double mu = 0;
    for (int i = 0; i < size(x); i++) mu += (double)x->data[i];
    return mu / (double)size(x);
}

static double variance_of(const Tensor *x)
{
    double mu = mean_of(x), var = 0;
    for (int i = 0; i < size(x); i++)
        var += ((double)x->data[i] - mu) * ((double)x->data[i] - mu);
    return var / (double)size(x);
}

static Jacobian layernorm_formula(const Tensor *x, const real *g, double eps)
{
    int d = cols(x);
    double mu = mean_of(x), r = 1 / sqrt(variance_of(x) + eps);
    Jacobian J = {d, d, {{0}}};
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) {
            double za = ((double)x->data[a] - mu) * r;
            double zb = ((double)x->data[b] - mu) * r;
            J.at[a][b] = (double)g[a] * r * ((a == b) - 1. / d - za * zb / d);
        }
    return J;
}

/* Error h^2 and ROUNDING / h, both as small as they go together. */
#ifdef REAL_DOUBLE
static const double h = 1e-5, by_differences = 1e-8;
#else
static const double h = 1e-2, by_differences = 1e-3;
#endif
static Jacobian layernorm_differences(Tensor *x)
{
    int d = cols(x);
    Jacobian J = {d, d, {{0}}};
    for (int b = 0; b < d; b++)
        for (int sign = -1; sign <= 1; sign += 2) {
            real before = x->data[b];
            x->data[b] += (real)(sign * h);
            Tensor *y = LN(x, 0);
            x->data[b] = before;
            for (int a = 0; a < d; a++)
                J.at[a][b] += sign * (double)y->data[a] / (2 * h);
        }
    return J;
}

static void e6_singular_values(Lab *lab, Tensor *x)
{
    Tensor *z = LN(x, 0);
    Jacobian J = jacobian(z, x);
    double sv[D], along_1 = 0, along_z = 0, one = sqrt(variance_of(x));
    singular(&J, sv);
    for (int i = 0; i < 7; i++)
        measured(lab, sv[i] * one, (i < 5) - 10 * ROUNDING,
                 (i < 5) + 10 * ROUNDING, "singular value %d, in 1/sigma", i);
    for (int a = 0; a < 7; a++) {
        double J1 = 0, Jz = 0;
        for (int b = 0; b < 7; b++) {
            J1 += J.at[a][b];
            Jz += J.at[a][b] * (double)z->data[b];
        }
        along_1 = fmax(along_1, fabs(J1)), along_z = fmax(along_z, fabs(Jz));
    }
    near(lab, "J (1,..,1)", along_1, 0, 10 * ROUNDING);
    near(lab, "J z", along_z, 0, 10 * ROUNDING);
}

static void e6(Lab *lab)
{
    fresh_page();
    Shape d = {1, {7}};
    Tensor *x = noise((Shape){2, {1, 7}}, 1, 3), *g = noise(d, 1, 4);
    Tensor *y = op_layernorm(&tape, x, g, constant(d, 0), (real).1);
    Jacobian J = jacobian(y, x);
    Jacobian formula = layernorm_formula(x, g->data, (double)(real).1);
    near(lab, "formula and autograd differ by",
         largest_difference(&J, &formula), 0, 10 * ROUNDING);
    Jacobian K = jacobian(LN(x, 0), x), by_h = layernorm_differences(x);
    near(lab, "differences and autograd differ by",
         largest_difference(&K, &by_h), 0, by_differences);
    e6_singular_values(lab, x);
}

const Claim claim_e6 = {"E6", quick,
    "the Jacobian of LayerNorm is g/sqrt(var + eps) (1 - 1/d - z z/d): d-2 "
    "singular values 1/sigma, two zeros", "by hand", e6, 0};

/* ------------------------------------------------------------------------
 * E7  Two tokens have sigma^2 = 9 and sigma^2 = 0.25. By how much does LN
 *     scale the gradient of each?
 *
 *     By 1/sigma: 1/3 and 2. The gradients of two tokens of one batch differ
 *     by a factor of 6 because of the scale of their streams alone. */
static void e7(Lab *lab)
{
    fresh_page();
    Tensor *wide = ROW(3, -3, 3, -3), *narrow = ROW(.5, -.5, .5, -.5);
    Jacobian A = jacobian(LN(wide, 0), wide);
    Jacobian B = jacobian(LN(narrow, 0), narrow);
    near(lab, "|J|, sigma^2 = 9", spectral_norm(&A), 1 / 3., ROUNDING);
    near(lab, "|J|, sigma^2 = .25", spectral_norm(&B), 2, ROUNDING);
    near(lab, "their ratio", spectral_norm(&B) / spectral_norm(&A), 6,
         10 * ROUNDING);
}

const Claim claim_e7 = {"E7", quick,
    "tokens with sigma^2 = 9 and .25 have gradients scaled by 1/3 and 2",
    "by hand", e7, 0};

/* ------------------------------------------------------------------------
 * E8  Three layers whose branch always says b. What does the stream hold
 *     after 1, 2 and 3 layers, in Pre-LN with b = [.1,.1], and in Post-LN
 *     with b = [.1,-.1] and x = [1,-1]?
 *
 *     Pre-LN accumulates: x + n b. Post-LN overwrites: x + b = [1.1,-1.1]
 *     is brought back to [1,-1] each time. (eps takes a hair off: the exact
 *     value is s / sqrt(s^2 + eps) with s the deviation of what entered.) */
static void e8(Lab *lab)
{
    fresh_page();
    Sublayer same = constant_branch(2, 0, (double[]){.1, .1});
    Sublayer opposite = constant_branch(2, 0, (double[]){.1, -.1});
    Tensor *pre = ROW(1, -1), *post = pre;
    double s = 1;
    for (int n = 1; n <= 3; n++) {
        char name[64];
        pre = put("pre", pre, &same);
        snprintf(name, sizeof name, "Pre-LN, %d layers", n);
        NEAR_ROW(lab, name, pre, 1 + n * .1, -1 + n * .1);
        post = put("post", post, &opposite);
        s += .1, s /= sqrt(s * s + (double)EPS);
        snprintf(name, sizeof name, "Post-LN, %d layers", n);
        NEAR_ROW(lab, name, post, s, -s);
    }
    near(lab, "Post-LN, beside 1", (double)post->data[0], 1, 1e-5);
}

const Claim claim_e8 = {"E8", quick,
    "three layers of a constant branch b: Pre-LN accumulates, x + n b; "
    "Post-LN overwrites, [1,-1] each time", "by hand", e8, 0};

/* ------------------------------------------------------------------------
 * E9  All branches are 0. What does a stack of 48 layers compute, and one of
 *     1,000?
 *
 *     Pre-LN: x + 0, so the identity, bit for bit, at any depth, and so is
 *     its Jacobian. Post-LN: LN(LN(..LN(x))) = LN(x), for LN leaves alone
 *     what is normalised already (up to eps). */
static Tensor *stack(const char *name, Tensor *x, int layers)
{
    Sublayer attention = constant_branch(cols(x), 2, NULL);
    Sublayer mlp = constant_branch(cols(x), 0, NULL);
    for (int i = 0; i < layers; i++)
        x = put(name, put(name, x, &attention), &mlp);
    return x;
}

static void zero_branches(Lab *lab, int layers)
{
    fresh_page();
    Tensor *x = noise((Shape){3, {2, 3, 8}}, 2, 5);
    size_t bytes = (size_t)size(x) * sizeof(real);
    real dy[48];
    double worst = 0;
    for (int i = 0; i < 48; i++) dy[i] = (real)(i % 7) - 3;

    Tensor *pre = stack("pre", x, layers);
    measured(lab, !memcmp(pre->data, x->data, bytes), 1, 1,
             "Pre-LN, %d layers: the identity (1: yes)", layers);
    tape_backward(&tape, pre, dy);
    measured(lab, !memcmp(x->grad, dy, bytes), 1, 1,
             "Pre-LN, %d layers: so is its Jacobian (1: yes)", layers);

    Tensor *once = LN(x, EPS), *post = stack("post", x, layers);
    for (long i = 0; i < size(x); i++)
        worst = fmax(worst, (double)fabs(post->data[i] - once->data[i]));
    measured(lab, worst, 0, 3e-5, "Post-LN, %d layers, beside LN(x)", layers);
}

static void e9(Lab *lab)
{
    zero_branches(lab, 48);
    zero_branches(lab, 1000);
}

const Claim claim_e9 = {"E9", quick,
    "F = 0: a Pre-LN stack of any depth is the identity bit for bit, a "
    "Post-LN stack returns LN(x)", "by hand", e9, 0};

/* ------------------------------------------------------------------------
 * E10  The Jacobian of n residual layers is the product of I + B_i, with B_i
 *      the Jacobian of branch i. How large can it get if |B_i| <= delta?
 *
 *      |prod (I + B_i)| <= prod (1 + |B_i|) <= (1 + delta)^n
 *
 *      1.02^48 = 2.587: 48 branches that each contribute at most 2 % change a
 *      gradient by at most a factor of 2.6. It is reached when all branches
 *      push the same way, B_i = delta I. */
static void e10_reached(Lab *lab)
{
    Tensor *x = ROW(1, -2, 3), *W = constant((Shape){2, {3, 3}}, 0), *y = x;
    for (int i = 0; i < 3; i++) W->data[i * 3 + i] = (real).02;
    for (int i = 0; i < 48; i++)
        y = op_add(&tape, y, op_linear(&tape, y, W, NULL));
    Jacobian J = jacobian(y, x);
    near(lab, "1.02^48", power(1.02, 48), 2.587, 5e-4);
    near(lab, "|J| of 48 layers, B = .02 I", spectral_norm(&J),
         power(1.02, 48), 10 * ROUNDING);
}

/* A random MLP branch. */
static Sublayer random_branch(int d, uint32_t stream)
{
    Sublayer f = constant_branch(d, 0, NULL);
    f.in.W = noise((Shape){2, {d, 4 * d}}, (real).3, stream);
    f.out.W = noise((Shape){2, {4 * d, d}}, (real).02, stream + 1);
    return f;
}

static void e10(Lab *lab)
{
    fresh_page();
    e10_reached(lab);
    Tensor *x = noise((Shape){2, {1, 6}}, 1, 100), *input = x;
    Jacobian whole = {6, 6, {{0}}};
    double bound = 1, delta = 0;
    for (int i = 0; i < 6; i++) whole.at[i][i] = 1;
    for (int layer = 0; layer < 48; layer++) {
        Sublayer f = random_branch(6, 200 + 2 * (uint32_t)layer);
        Tensor *at = tensor_param(&arena, x->shape);    /* this x, a leaf */
        memcpy(at->data, x->data, (size_t)size(x) * sizeof(real));
        Jacobian J = jacobian(put("pre", at, &f), at), B = J;
        for (int i = 0; i < 6; i++) B.at[i][i] -= 1;
        whole = product(&J, &whole);
        bound *= 1 + spectral_norm(&B);
        delta = fmax(delta, spectral_norm(&B));
        x = put("pre", x, &f);
    }
    Jacobian J = jacobian(x, input);
    near(lab, "|J - prod (I + B_i)|", largest_difference(&J, &whole), 0,
         100 * ROUNDING);
    measured(lab, spectral_norm(&J), 0, bound, "|J|, Pre-LN, 48 layers");
    measured(lab, bound, 0, power(1 + delta, 48), "prod (1 + |B_i|)");
}

const Claim claim_e10 = {"E10", quick,
    "|prod (I + B_i)| <= prod (1 + |B_i|) <= (1 + delta)^n; 1.02^48 = 2.587",
    "by exact Jacobians", e10, 0};
