/* Jacobians of the residual path: against differences, against each other,
 * and where the answer is the identity. */
#include <string.h>
#include "jacobian.h"
#include "test.h"

enum { T = 3, WIDTH = 8, N = T * WIDTH, LAYERS = 3 };
static const GPTConfig SMALL = {.layers = LAYERS, .width = WIDTH, .heads = 2,
                                .context = T, .vocab = 7, .seed = 1};

static void shake(GPT *m)
{
    Rng draw = rng_new(8, RNG_TEST, 0);
    for (int i = 0; i < m->nparam; i++)
        for (long k = 0; k < size(m->param[i].t); k++)
            m->param[i].t->data[k] += (real).1 * rng_normal(&draw);
}

static void draw_stream(real *x)
{
    Rng draw = rng_new(9, RNG_TEST, 0);
    for (int k = 0; k < N; k++) x[k] = rng_normal(&draw);
}

/* The stream at sublayer `to`, from x at sublayer `from`. */
static void forward(const GPT *m, const real *x, int from, int to, real *y)
{
    static Tape tape;
    tape_reset(&tape);
    Tensor *t = tape_tensor(&tape, (Shape){3, {1, T, WIDTH}});
    memcpy(t->data, x, N * sizeof *x);
    for (int i = from; i < to; i++)
        t = placements[m->config.placement].put(&tape, t, &m->branch[i]);
    memcpy(y, t->data, N * sizeof *y);
}

static const char *name(const GPT *m)
{
    return placements[m->config.placement].name;
}

#ifdef REAL_DOUBLE
/* Column j of the Jacobian: differences with steps h and h/2, extrapolated. */
static void column(const GPT *m, real *x, int from, int to, int j, double *d)
{
    const double h = 0x1p-11;
    double y[4][N], at = x[j];
    for (int k = 0; k < 4; k++) {
        x[j] = at + (k % 2 ? -h : h) / (k < 2 ? 1 : 2);
        forward(m, x, from, to, y[k]);
    }
    x[j] = at;
    for (int i = 0; i < N; i++)
        d[i] = (4 * (y[2][i] - y[3][i]) / h
                - (y[0][i] - y[1][i]) / (2 * h)) / 3;
}

static void check_differences(const GPT *m, int from, int to)
{
    static double J[N * N];
    double x[N], d[N], off = 0, all = 0;
    draw_stream(x);
    gpt_jacobian(m, x, T, from, to, J);
    for (int j = 0; j < N; j++) {
        column(m, x, from, to, j, d);
        for (int i = 0; i < N; i++) {
            double e = J[i * N + j] - d[i];
            off += e * e, all += d[i] * d[i];
        }
    }
    EXPECT(off <= 1e-14 * all, "%s, sublayers %d to %d: relative error %.1e",
           name(m), from, to, sqrt(off / all));
}

TEST(jacobian_by_differences)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++)
        for (int flags = 0; flags < 4; flags++) {
            GPT m;
            c.norm = flags & 1 ? RMSNORM : LAYERNORM;
            c.qk_norm = c.unmasked = flags & 2;
            gpt_new(&m, c);
            shake(&m);
            check_differences(&m, 0, 1);
            check_differences(&m, 3, 4);
            check_differences(&m, 4, 6);
            check_differences(&m, 0, 2 * LAYERS);
            gpt_free(&m);
        }
}
#endif

static bool is_identity(const double *J)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            if (memcmp(&J[i * N + j], &(double){i == j}, sizeof *J))
                return false;
    return true;
}

/* Branches of 0 leave the stream alone where nothing normalises it. */
TEST(jacobian_of_branches_of_zero_is_the_identity)
{
    static const char *const names[] = {"pre", "peri", "lnscale", "rezero"};
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        static double J[N * N];
        real x[N];
        GPT m;
        bool wanted = false;
        for (int k = 0; k < 4; k++)
            wanted |= !strcmp(placements[c.placement].name, names[k]);
        c.zero_init = !placements[c.placement].gated;
        gpt_new(&m, c);
        draw_stream(x);
        gpt_jacobian(&m, x, T, 0, 2 * LAYERS, J);
        EXPECT(is_identity(J) == wanted, "%s: %s", name(&m),
               wanted ? "not the identity" : "the identity");
        gpt_jacobian(&m, x, T, 2, 2, J);
        EXPECT(is_identity(J), "%s: no sublayer is not the identity",
               name(&m));
        gpt_free(&m);
    }
}

static void product(const double *A, const double *B, double *C)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            C[i * N + j] = 0;
            for (int k = 0; k < N; k++)
                C[i * N + j] += A[i * N + k] * B[k * N + j];
        }
}

TEST(jacobian_of_two_sublayers_is_the_product)
{
    static double first[N * N], second[N * N], both[N * N], want[N * N];
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        real x0[N], x1[N];
        double off = 0, all = 0;
        GPT m;
        gpt_new(&m, c);
        shake(&m);
        draw_stream(x0);
        forward(&m, x0, 0, 1, x1);
        gpt_jacobian(&m, x0, T, 0, 1, first);
        gpt_jacobian(&m, x1, T, 1, 2, second);
        gpt_jacobian(&m, x0, T, 0, 2, both);
        product(second, first, want);
        for (int k = 0; k < N * N; k++) {
            off += (both[k] - want[k]) * (both[k] - want[k]);
            all += want[k] * want[k];
        }
        EXPECT(sqrt(off / all) <= (sizeof(real) == 8 ? 1e-13 : 1e-5),
               "%s: the product is off by %.1e", name(&m), sqrt(off / all));
        gpt_free(&m);
    }
}

/* A later token changes no earlier one. */
TEST(jacobian_is_causal)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        static double J[N * N];
        real x[N];
        GPT m;
        gpt_new(&m, c);
        draw_stream(x);
        gpt_jacobian(&m, x, T, 0, 2 * LAYERS, J);
        for (int k = 0; k < N * N; k++)
            EXPECT(k % N / WIDTH <= k / N / WIDTH || J[k] == 0,
                   "%s: d y_%d / d x_%d is %g", name(&m), k / N, k % N, J[k]);
        gpt_free(&m);
    }
}

/* The model may have dropout; the Jacobian has none. And the gradients of the
 * weights are a training step's, not the Jacobian's. */
TEST(jacobian_is_without_dropout_and_leaves_gradients_alone)
{
    GPTConfig c = SMALL;
    for (c.placement = 0; placements[c.placement].name; c.placement++) {
        static double J[N * N], dropped[N * N];
        real x[N];
        GPT m;
        for (int drops = 0; drops < 2; drops++) {
            c.dropout = drops ? .5 : 0;
            gpt_new(&m, c);
            for (int i = 0; i < m.nparam; i++) m.param[i].t->grad[0] = 7;
            draw_stream(x);
            gpt_jacobian(&m, x, T, 0, 2 * LAYERS, drops ? dropped : J);
            for (int i = 0; i < m.nparam; i++) {
                const Tensor *t = m.param[i].t;
                bool kept = t->wants_grad && t->grad && t->grad[0] == 7;
                for (long k = 1; kept && k < size(t); k++)
                    kept = t->grad[k] == 0;
                EXPECT(kept, "%s: the gradient of %s has changed", name(&m),
                       m.param[i].name);
            }
            gpt_free(&m);
        }
        EXPECT(!memcmp(J, dropped, sizeof J), "%s: dropout changes it",
               placements[c.placement].name);
    }
}
