/* Exercises on where to normalise, with solutions.
 *
 * Ten small computations that one can do on paper: each states a question
 * and its equation, and the code under it is the answer, computed by the
 * engine and compared with the number worked out by hand. They run with the
 * other tests (`build/test64 -v exercises`).
 *
 * LN is layer normalisation over the d features of a token:
 *     mu = mean x     sigma^2 = mean (x - mu)^2
 *     LN(x) = g (x - mu) / sqrt(sigma^2 + eps) + b,     gain g = 1, bias b = 0
 * x is the residual stream and F a branch; and the two placements are
 *     Pre-LN    x + F(LN(x))          Post-LN    LN(x + F(x)) */
#include <string.h>
#include "gpt.h"
#include "test.h"

#ifdef REAL_DOUBLE
#define ROUNDING 1e-12
#else
#define ROUNDING 1e-5
#endif

static const real EPS = (real)1e-5;     /* the eps of the model's norms */

/* ------------------------------------------------------------------------
 * Tools */

static Arena arena;
static Tape tape = {.recording = true};

/* One token of n features. */
static Tensor *row(int n, const double *x)
{
    Tensor *t = tensor_param(&arena, (Shape){2, {1, n}});
    for (int i = 0; i < n; i++) t->data[i] = x ? (real)x[i] : 0;
    return t;
}
#define ROW(...)                                                            \
    row((int)(sizeof (double[]){__VA_ARGS__} / sizeof(double)),             \
        (double[]){__VA_ARGS__})

static Tensor *constant(Shape shape, real value)
{
    Tensor *t = tensor_param(&arena, shape);
    for (long i = 0; i < size(t); i++) t->data[i] = value;
    return t;
}

static Tensor *noise(Shape shape, real std, uint32_t stream)
{
    Tensor *t = tensor_param(&arena, shape);
    Rng r = rng_new(1, RNG_TEST, stream);
    for (long i = 0; i < size(t); i++) t->data[i] = std * rng_normal(&r);
    return t;
}

static Tensor *LN(Tensor *x, real eps)
{
    Shape d = {1, {cols(x)}};
    return op_layernorm(&tape, x, constant(d, 1), constant(d, 0), eps);
}

/* A branch with random weights and an output projection of 0: F(x) = b,
 * whatever x is. heads 0 is an MLP. */
static Sublayer constant_branch(int d, int heads, const double *b)
{
    int inner = heads ? d : 4 * d, in = heads ? 3 * d : 4 * d;
    Sublayer f = {.heads = heads};
    f.norm = (Norm){constant((Shape){1, {d}}, 1), constant((Shape){1, {d}}, 0)};
    f.in = (Linear){noise((Shape){2, {d, in}}, 1, 1),
                    noise((Shape){1, {in}}, 1, 2)};
    f.out = (Linear){constant((Shape){2, {inner, d}}, 0),
                     constant((Shape){1, {d}}, 0)};
    for (int i = 0; b && i < d; i++) f.out.b->data[i] = (real)b[i];
    return f;
}

/* One sublayer of the named placement. */
static Tensor *put(const char *name, Tensor *x, const Sublayer *f)
{
    const Placement *p = placements;
    while (strcmp(p->name, name)) p++;
    return p->put(&tape, x, f);
}

#define EXPECT_ROW(y, ...)                                                  \
    expect_row(__LINE__, (y), (double[]){__VA_ARGS__}, ROUNDING)
static void expect_row(int line, const Tensor *y, const double *want,
                       double bound)
{
    for (long i = 0; i < size(y); i++)
        EXPECT(fabs((double)y->data[i] - want[i]) <= bound,
               "line %d, element %ld: got %.17g, expected %.17g", line, i,
               (double)y->data[i], want[i]);
}

#define EXPECT_NEAR(got, want, bound)                                       \
    EXPECT(fabs((got) - (want)) <= (bound), "got %.17g, expected %.17g",    \
           (double)(got), (double)(want))

/* The Jacobian J[i][j] = d y_i / d x_j, exactly: one backward pass for each
 * output, with 1 there and 0 elsewhere, gives one row. At most 16 features. */
enum { D = 16 };
typedef struct { int rows, cols; double at[D][D]; } Jacobian;

static Jacobian jacobian(Tensor *y, Tensor *x)
{
    Jacobian J = {(int)size(y), (int)size(x), {{0}}};
    for (int i = 0; i < J.rows; i++) {
        real dy[D] = {0};
        dy[i] = 1;
        memset(x->grad, 0, (size_t)J.cols * sizeof(real));
        tape_backward(&tape, y, dy);
        for (int j = 0; j < J.cols; j++) J.at[i][j] = (double)x->grad[j];
    }
    return J;
}

static Jacobian product(const Jacobian *A, const Jacobian *B)
{
    Jacobian C = {A->rows, B->cols, {{0}}};
    for (int i = 0; i < C.rows; i++)
        for (int j = 0; j < C.cols; j++)
            for (int k = 0; k < A->cols; k++)
                C.at[i][j] += A->at[i][k] * B->at[k][j];
    return C;
}

static double largest_difference(const Jacobian *A, const Jacobian *B)
{
    double worst = 0;
    for (int i = 0; i < A->rows; i++)
        for (int j = 0; j < A->cols; j++)
            worst = fmax(worst, fabs(A->at[i][j] - B->at[i][j]));
    return worst;
}

/* Turns columns p and q of A in their plane until they are orthogonal. */
static void orthogonalise(Jacobian *A, int p, int q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < A->rows; i++) {
        pp += A->at[i][p] * A->at[i][p];
        qq += A->at[i][q] * A->at[i][q];
        pq += A->at[i][p] * A->at[i][q];
    }
    double angle = .5 * atan2(2 * pq, pp - qq), c = cos(angle), s = sin(angle);
    for (int i = 0; i < A->rows; i++) {
        double a = A->at[i][p], b = A->at[i][q];
        A->at[i][p] = c * a + s * b;
        A->at[i][q] = c * b - s * a;
    }
}

/* Singular values, largest first: when all columns are orthogonal, their
 * lengths are the singular values (one-sided Jacobi, Hestenes 1958). */
static void singular_values(Jacobian A, double *sv)
{
    for (int sweep = 0; sweep < 30; sweep++)
        for (int p = 0; p < A.cols; p++)
            for (int q = p + 1; q < A.cols; q++) orthogonalise(&A, p, q);
    for (int j = 0; j < A.cols; j++) {
        double length = 0;
        for (int i = 0; i < A.rows; i++) length += A.at[i][j] * A.at[i][j];
        length = sqrt(length);
        int k = j;
        for (; k > 0 && sv[k - 1] < length; k--) sv[k] = sv[k - 1];
        sv[k] = length;
    }
}

/* The spectral norm |J|: the most by which it can stretch a vector. */
static double spectral_norm(const Jacobian *J)
{
    double sv[D];
    singular_values(*J, sv);
    return sv[0];
}

/* ------------------------------------------------------------------------
 * E1  What is LN([2,4,4,6]) with eps = 0?
 *
 *     mu = 4, x - mu = [-2,0,0,2], sigma^2 = (4 + 0 + 0 + 4) / 4 = 2 */
TEST(E1_layernorm_by_hand)
{
    Tensor *x = ROW(2, 4, 4, 6);
    double root2 = sqrt(2.0);
    EXPECT_ROW(LN(x, 0), -root2, 0, 0, root2);
}

/* ------------------------------------------------------------------------
 * E2  Pre-LN, y = x + F(LN(x)): what comes out of x = [1,3] if the branch
 *     says F = [0.5,-1]? And if it has learned nothing, F = [0,0]?
 *
 *     LN is inside the branch: x itself is carried along as it is. */
TEST(E2_pre_ln_by_hand)
{
    Tensor *x = ROW(1, 3);
    Sublayer f = constant_branch(2, 0, (double[]){.5, -1});
    Sublayer nothing = constant_branch(2, 0, NULL);
    EXPECT_ROW(put("pre", x, &f), 1.5, 2);
    Tensor *y = put("pre", x, &nothing);
    EXPECT(y->data[0] == 1 && y->data[1] == 3, "F = 0 is the identity");
}

/* ------------------------------------------------------------------------
 * E3  Post-LN, y = LN(x + F(x)), with the same numbers?
 *
 *     x + F = [1.5,2], mu = 1.75, sigma = 0.25: [-1,1]. What x was can no
 *     longer be seen: any two different numbers come out as -1 and 1. With
 *     eps > 0 it is a little less than 1, sigma / sqrt(sigma^2 + eps). */
TEST(E3_post_ln_by_hand)
{
    Tensor *x = ROW(1, 3), *F = ROW(.5, -1);
    Sublayer f = constant_branch(2, 0, (double[]){.5, -1});
    double one = .25 / sqrt(.25 * .25 + (double)EPS);       /* 0.99992 */
    EXPECT_ROW(LN(op_add(&tape, x, F), 0), -1, 1);
    EXPECT_ROW(put("post", x, &f), -one, one);
}

/* ------------------------------------------------------------------------
 * E4  LN of a constant row, [5,5,5,5]: what happens with eps = 0, and with
 *     eps = 1e-5? How large is the gradient there?
 *
 *     eps = 0 is 0/0: NaN. The tape finds the op that made it.
 *     eps > 0: 0 / sqrt(eps) = 0, exactly. The Jacobian is
 *     g / sqrt(0 + eps) (I - 1/d), so a cotangent with mean 0 comes back
 *     g / sqrt(eps) = 316.2 times as large: finite, and not small. */
TEST(E4_constant_row)
{
    Tensor *x = ROW(5, 5, 5, 5), *y = LN(x, 0);
    const Node *bad = tape_nonfinite(&tape);
    EXPECT(isnan(y->data[0]) && isnan(y->data[3]), "0/0 is NaN");
    EXPECT(bad && !strcmp(bad->op, "layernorm"),
           "tape_nonfinite should name layernorm, got %s",
           bad ? bad->op : "nothing");
    tape_reset(&tape);

    y = LN(x, EPS);
    for (int i = 0; i < 4; i++)
        EXPECT(y->data[i] == 0, "0 exactly, got %g", (double)y->data[i]);
    EXPECT(!tape_nonfinite(&tape), "all is finite");
    tape.find_nonfinite = true;
    EXPECT(!tape_backward(&tape, y, (real[]){1, -1, 0, 0}),
           "backward is finite");
    double scale = 1 / sqrt(1e-5), bound = ROUNDING * scale;
    EXPECT_NEAR(scale, 316.2, .05);
    EXPECT_NEAR((double)x->grad[0], scale, bound);
    EXPECT_NEAR((double)x->grad[1], -scale, bound);
    EXPECT_NEAR((double)x->grad[2], 0, bound);
}

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

TEST(E5_residual_derivative)
{
    EXPECT_NEAR(chain(.25, 1), 1.25, ROUNDING);
    EXPECT(chain(0, 1) == 1, "1 exactly");
    EXPECT(chain(0, 48) == 1, "1 exactly");
    EXPECT_NEAR(chain(.02, 48), pow(1.02, 48), 10 * ROUNDING);

    Tensor *x = ROW(0);         /* F = gelu: dF/dx at 0 is 1/2 */
    Jacobian J = jacobian(op_add(&tape, x, op_gelu(&tape, x)), x);
    EXPECT_NEAR(J.at[0][0], 1.5, ROUNDING);
}

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
static Jacobian layernorm_formula(const Tensor *x, const real *g, double eps)
{
    int d = cols(x);
    double mu = 0, var = 0;
    Jacobian J = {d, d, {{0}}};
    for (int i = 0; i < d; i++) mu += (double)x->data[i] / d;
    for (int i = 0; i < d; i++)
        var += ((double)x->data[i] - mu) * ((double)x->data[i] - mu) / d;
    double r = 1 / sqrt(var + eps);
    for (int a = 0; a < d; a++)
        for (int b = 0; b < d; b++) {
            double za = ((double)x->data[a] - mu) * r;
            double zb = ((double)x->data[b] - mu) * r;
            J.at[a][b] = (double)g[a] * r * ((a == b) - 1. / d - za * zb / d);
        }
    return J;
}

TEST(E6_jacobian_by_formula_and_autograd)
{
    Shape d = {1, {7}};
    Tensor *x = noise((Shape){2, {1, 7}}, 1, 3), *g = noise(d, 1, 4);
    Tensor *y = op_layernorm(&tape, x, g, constant(d, 0), (real).1);
    Jacobian J = jacobian(y, x);
    Jacobian formula = layernorm_formula(x, g->data, (double)(real).1);
    EXPECT(largest_difference(&J, &formula) <= 10 * ROUNDING,
           "formula and autograd differ by %g",
           largest_difference(&J, &formula));
}

#ifdef REAL_DOUBLE
TEST(E6_jacobian_by_differences)
{
    Tensor *x = noise((Shape){2, {1, 7}}, 1, 3);
    Jacobian J = jacobian(LN(x, 0), x), differences = {7, 7, {{0}}};
    double h = 1e-5;            /* error h^2 and 1e-16/h: both near 1e-10 */
    for (int b = 0; b < 7; b++)
        for (int sign = -1; sign <= 1; sign += 2) {
            real before = x->data[b];
            x->data[b] += sign * h;
            Tensor *y = LN(x, 0);
            x->data[b] = before;
            for (int a = 0; a < 7; a++)
                differences.at[a][b] += sign * y->data[a] / (2 * h);
        }
    EXPECT(largest_difference(&J, &differences) <= 1e-8,
           "differences and autograd differ by %g",
           largest_difference(&J, &differences));
}
#endif

TEST(E6_singular_values)
{
    Tensor *x = noise((Shape){2, {1, 7}}, 1, 3), *y = LN(x, 0);
    Jacobian J = jacobian(y, x);
    double sv[D], mu = 0, var = 0, along_1 = 0, along_z = 0;
    for (int i = 0; i < 7; i++) mu += (double)x->data[i] / 7;
    for (int i = 0; i < 7; i++)
        var += ((double)x->data[i] - mu) * ((double)x->data[i] - mu) / 7;
    singular_values(J, sv);
    for (int i = 0; i < 5; i++)
        EXPECT_NEAR(sv[i], 1 / sqrt(var), 10 * ROUNDING);
    EXPECT_NEAR(sv[5], 0, 10 * ROUNDING);
    EXPECT_NEAR(sv[6], 0, 10 * ROUNDING);
    for (int a = 0; a < 7; a++) {
        double J1 = 0, Jz = 0;
        for (int b = 0; b < 7; b++) {
            J1 += J.at[a][b];
            Jz += J.at[a][b] * (double)y->data[b];      /* y = z here */
        }
        along_1 = fmax(along_1, fabs(J1));
        along_z = fmax(along_z, fabs(Jz));
    }
    EXPECT_NEAR(along_1, 0, 10 * ROUNDING);
    EXPECT_NEAR(along_z, 0, 10 * ROUNDING);
}

/* ------------------------------------------------------------------------
 * E7  Two tokens have sigma^2 = 9 and sigma^2 = 0.25. By how much does LN
 *     scale the gradient of each?
 *
 *     By 1/sigma: 1/3 and 2. The gradients of two tokens of one batch differ
 *     by a factor of 6 because of the scale of their streams alone. */
TEST(E7_gradient_scale_is_one_over_sigma)
{
    Tensor *wide = ROW(3, -3, 3, -3), *narrow = ROW(.5, -.5, .5, -.5);
    Jacobian A = jacobian(LN(wide, 0), wide);
    Jacobian B = jacobian(LN(narrow, 0), narrow);
    EXPECT_NEAR(spectral_norm(&A), 1 / 3., ROUNDING);
    EXPECT_NEAR(spectral_norm(&B), 2, ROUNDING);
    EXPECT_NEAR(spectral_norm(&B) / spectral_norm(&A), 6, 10 * ROUNDING);
}

/* ------------------------------------------------------------------------
 * E8  Three layers whose branch always says b. What does the stream hold
 *     after 1, 2 and 3 layers, in Pre-LN with b = [.1,.1], and in Post-LN
 *     with b = [.1,-.1] and x = [1,-1]?
 *
 *     Pre-LN accumulates: x + n b. Post-LN overwrites: x + b = [1.1,-1.1]
 *     is brought back to [1,-1] each time. (eps takes a hair off: the exact
 *     value is s / sqrt(s^2 + eps) with s the deviation of what entered.) */
TEST(E8_accumulate_or_overwrite)
{
    Sublayer same = constant_branch(2, 0, (double[]){.1, .1});
    Sublayer opposite = constant_branch(2, 0, (double[]){.1, -.1});
    Tensor *pre = ROW(1, -1), *post = pre;
    double s = 1;
    for (int n = 1; n <= 3; n++) {
        pre = put("pre", pre, &same);
        EXPECT_ROW(pre, 1 + n * .1, -1 + n * .1);
        post = put("post", post, &opposite);
        s += .1;
        s /= sqrt(s * s + (double)EPS);
        EXPECT_ROW(post, s, -s);
        EXPECT_NEAR((double)post->data[0], 1, 1e-5);
    }
}

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

static void zero_branches(int layers)
{
    Tensor *x = noise((Shape){3, {2, 3, 8}}, 2, 5);
    size_t bytes = (size_t)size(x) * sizeof(real);
    real dy[48];
    for (int i = 0; i < 48; i++) dy[i] = (real)(i % 7) - 3;

    Tensor *pre = stack("pre", x, layers);
    EXPECT(!memcmp(pre->data, x->data, bytes),
           "%d layers of Pre-LN are not the identity bit for bit", layers);
    tape_backward(&tape, pre, dy);
    EXPECT(!memcmp(x->grad, dy, bytes),
           "the gradient through %d layers is not unchanged", layers);

    Tensor *once = LN(x, EPS), *post = stack("post", x, layers);
    for (long i = 0; i < size(x); i++)
        EXPECT_NEAR((double)post->data[i], (double)once->data[i], 3e-5);
}

TEST(E9_nothing_learned_48_layers) { zero_branches(48); }
TEST(E9_nothing_learned_1000_layers) { zero_branches(1000); }

/* ------------------------------------------------------------------------
 * E10  The Jacobian of n residual layers is the product of I + B_i, with B_i
 *      the Jacobian of branch i. How large can it get if |B_i| <= delta?
 *
 *      |prod (I + B_i)| <= prod (1 + |B_i|) <= (1 + delta)^n
 *
 *      1.02^48 = 2.587: 48 branches that each contribute at most 2 % change a
 *      gradient by at most a factor of 2.6. It is reached when all branches
 *      push the same way, B_i = delta I. */
TEST(E10_the_bound_is_reached)
{
    Tensor *x = ROW(1, -2, 3), *W = constant((Shape){2, {3, 3}}, 0), *y = x;
    for (int i = 0; i < 3; i++) W->data[i * 3 + i] = (real).02;
    for (int i = 0; i < 48; i++)
        y = op_add(&tape, y, op_linear(&tape, y, W, NULL));
    Jacobian J = jacobian(y, x);
    EXPECT_NEAR(spectral_norm(&J), pow(1.02, 48), 10 * ROUNDING);
    EXPECT_NEAR(pow(1.02, 48), 2.587, 5e-4);
}

/* A random MLP branch. */
static Sublayer random_branch(int d, uint32_t stream)
{
    Sublayer f = constant_branch(d, 0, NULL);
    f.in.W = noise((Shape){2, {d, 4 * d}}, (real).3, stream);
    f.out.W = noise((Shape){2, {4 * d, d}}, (real).02, stream + 1);
    return f;
}

TEST(E10_pre_ln_stack_within_the_bound)
{
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
    Jacobian end_to_end = jacobian(x, input);
    double size = spectral_norm(&end_to_end);
    EXPECT(largest_difference(&end_to_end, &whole) <= 100 * ROUNDING,
           "the Jacobian of the stack is not the product of its layers': "
           "they differ by %g", largest_difference(&end_to_end, &whole));
    EXPECT(size <= bound, "%g <= %g", size, bound);
    test_say("48 layers: |J| = %.3f <= prod (1 + |B_i|) = %.3f <= "
             "(1 + %.3f)^48 = %.3f", size, bound, delta, pow(1 + delta, 48));
}
