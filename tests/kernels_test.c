/* The kernels against their contracts: sums bit for bit against the loop
 * that defines them, elementary functions against libm in double. */
#include <math.h>
#include <string.h>
#include "kernels.h"
#include "rng.h"
#include "test.h"

/* ---- sums ---- */

typedef struct { const real *x, *y, *z; real mu; } Row;

/* what the lane becomes when element i is added to it */
static real add_x(real lane, const Row *r, int i)
{
    return lane + r->x[i];
}

static real add_xy(real lane, const Row *r, int i)
{
    return fma(r->x[i], r->y[i], lane);
}

static real add_sq_dev(real lane, const Row *r, int i)
{
    real d = r->x[i] - r->mu;
    return fma(d, d, lane);
}

static real add_dot_dev(real lane, const Row *r, int i)
{
    real product = r->x[i] * r->y[i], d = r->z[i] - r->mu;
    return fma(product, d, lane);
}

static real specified(int n, const Row *r, real (*add)(real, const Row *, int))
{
    real lane[16] = {0};
    for (int i = 0; i < n; i++)
        lane[i % 16] = add(lane[i % 16], r, i);
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static bool same_bits(real a, real b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void compare_sums(int n, const Row *r)
{
    struct { const char *name; real got, want; } sums[] = {
        {"sum", sum(n, r->x), specified(n, r, add_x)},
        {"dot", dot(n, r->x, r->y), specified(n, r, add_xy)},
        {"sum_sq_dev", sum_sq_dev(n, r->x, r->mu),
                       specified(n, r, add_sq_dev)},
        {"dot_dev", dot_dev(n, r->x, r->y, r->z, r->mu),
                    specified(n, r, add_dot_dev)},
    };
    for (int k = 0; k < 4; k++)
        EXPECT(same_bits(sums[k].got, sums[k].want), "%s of %d: %a not %a",
               sums[k].name, n, (double)sums[k].got, (double)sums[k].want);
}

TEST(sums_are_what_is_specified_bit_for_bit)
{
    enum { MOST = 5000 };
    static real x[MOST], y[MOST], z[MOST];
    Rng rng = rng_new(1, RNG_TEST, 0);
    for (int i = 0; i < MOST; i++) {
        x[i] = rng_normal(&rng) + 1;
        y[i] = rng_normal(&rng) * 100;
        z[i] = rng_normal(&rng);
    }
    for (int n = 0; n <= 70; n++)       /* and at every alignment */
        compare_sums(n, &(Row){x + n % 17, y + n % 5, z, (real)0.7});
    static const int large[] = {255, 256, 257, 384, 1000, 4096, 4999};
    for (int k = 0; k < 7; k++)
        compare_sums(large[k], &(Row){x + 1, y, z, (real)0.7});
    x[3] = INFINITY;
    compare_sums(33, &(Row){x, y, z, 1});
}

/* big + 1 rounds to big, so that 1s vanish if they meet big before -big. */
TEST(another_order_would_give_other_bits)
{
    const real big = sizeof(real) == 4 ? (real)0x1p24 : (real)0x1p53;
    real ones[16];
    for (int i = 0; i < 16; i++)
        ones[i] = 1;
    for (int half = 8; half > 0; half /= 2) {
        real x[16] = {0};
        for (int l = 1; l < half; l++)
            x[l] = 1;
        x[0] = big;
        x[half] = -big;
        real got = sum(16, x), dotted = dot(16, x, ones);
        EXPECT(got == (real)(half - 1), "tree, half %d: %g", half, (double)got);
        EXPECT(dotted == (real)(half - 1), "dot, half %d: %g", half,
               (double)dotted);
    }
    real chain[33] = {[0] = big, [16] = 1, [32] = -big};
    EXPECT(sum(33, chain) == 0, "a lane is not added in order of i");
    real lanes[33] = {[0] = big, [1] = 1, [16] = -big};
    EXPECT(sum(33, lanes) == 1, "elements 0 and 1 share a lane");
}

TEST(products_are_not_rounded_before_they_are_added)
{
    real e = sizeof(real) == 4 ? (real)0x1p-20 : (real)0x1p-50;
    real x[32] = {[0] = 1, [16] = 1 + e}, y[32] = {[0] = -1 - 2 * e,
                                                   [16] = 1 + e};
    real got = dot(32, x, y);
    EXPECT(got == e * e, "(1 + e)^2 - (1 + 2 e) = %a", (double)got);
}

TEST(row_max_is_the_largest_or_nan)
{
    real x[70];
    Rng rng = rng_new(2, RNG_TEST, 0);
    for (int n = 1; n <= 70; n++)
        for (int at = 0; at < n; at++) {
            for (int i = 0; i < n; i++)
                x[i] = -1 - (real)rng_uniform(&rng);
            x[at] = (real)-0.5;
            EXPECT(row_max(n, x) == x[at], "n = %d, at %d", n, at);
            x[at] = NAN;
            EXPECT(isnan(row_max(n, x)), "n = %d, NaN at %d", n, at);
        }
    real none[] = {-INFINITY, -INFINITY}, all[] = {-INFINITY, INFINITY, 0};
    EXPECT(row_max(2, none) == -INFINITY, "of two -inf");
    EXPECT(row_max(3, all) == INFINITY, "with inf");
}

/* ---- elementary functions ---- */

static bool same_value(real a, real b)
{
    return isnan(b) ? isnan(a) : a == b && signbit(a) == signbit(b);
}

static real e_(real x) { return kexp(x); }
static real l_(real x) { return klog(x); }
static real t_(real x) { return ktanh(x); }
static real c_(real x) { return kcos(x); }
static real s_(real x) { return ksin(x); }

TEST(elementary_functions_of_special_values)
{
    static const struct { const char *name; real (*f)(real), x, y; } known[] = {
        {"exp", e_, NAN, NAN}, {"exp", e_, INFINITY, INFINITY},
        {"exp", e_, -INFINITY, 0}, {"exp", e_, 0, 1}, {"exp", e_, -0.0, 1},
        {"exp", e_, 1000, INFINITY}, {"exp", e_, -1000, 0},
        {"log", l_, NAN, NAN}, {"log", l_, INFINITY, INFINITY},
        {"log", l_, 0, -INFINITY}, {"log", l_, -0.0, -INFINITY},
        {"log", l_, -1, NAN}, {"log", l_, -INFINITY, NAN}, {"log", l_, 1, 0},
        {"tanh", t_, NAN, NAN}, {"tanh", t_, INFINITY, 1},
        {"tanh", t_, -INFINITY, -1}, {"tanh", t_, 0, 0},
        {"tanh", t_, -0.0, -0.0}, {"tanh", t_, 100, 1},
        {"tanh", t_, (real)1e-30, (real)1e-30},
        {"tanh", t_, (real)1e-40, (real)1e-40},
        {"cos", c_, NAN, NAN}, {"cos", c_, INFINITY, NAN}, {"cos", c_, 0, 1},
        {"sin", s_, NAN, NAN}, {"sin", s_, -INFINITY, NAN}, {"sin", s_, 0, 0},
        {"sin", s_, -0.0, -0.0}, {"sin", s_, (real)1e-40, (real)1e-40},
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        real y = known[k].f(known[k].x);
        EXPECT(same_value(y, known[k].y), "%s(%g) = %g, not %g",
               known[k].name, (double)known[k].x, (double)y,
               (double)known[k].y);
    }
}

#ifndef REAL_DOUBLE
#include "exhaustive/ulp.h"

/* The edges at which kexp changes its formula, and its neighbours there. */
TEST(exp_neither_overflows_nor_flushes_too_early)
{
    float most = 0x1.62e42ep6f, least = -0x1.5d589ep6f;
    EXPECT(kexp(most) < INFINITY && kexp(most) > 3.4e38f, "at 88.72");
    EXPECT(kexp(nextafterf(most, 100)) == INFINITY, "just beyond 88.72");
    EXPECT(kexp(least) >= FLT_MIN && kexp(least) < 1.2e-38f, "at -87.33");
    EXPECT(kexp(nextafterf(least, -100)) == 0, "just below -87.33");
}

/* Over a sample of all floats: within the error promised, the same bits in a
 * loop (vector code) as alone, and the same as on the machine where the
 * hashes were recorded. A change of bits changes every recorded loss. */
TEST(elementary_functions_over_all_magnitudes)
{
    enum { STRIDE = 4099, N = 1 << 10 };
    static const uint64_t recorded[ELEMENTARY] = {
        0xa0946155a8056014, 0x32e982fefe735693, 0x961358e29a81715c,
        0x4356ac4a66479f88, 0xa64758e8c8a4f6b5};
    for (int k = 0; k < ELEMENTARY; k++) {
        const struct Elementary *f = &elementary[k];
        float x[N], y[N];
        uint64_t hash = ULP_HASH, bits = 0;
        while (bits < 1ull << 32) {
            int n = 0;
            for (; n < N && bits < 1ull << 32; bits += STRIDE)
                x[n++] = bits_float((uint32_t)bits);
            f->loop(n, x, y);
            for (int i = 0; i < n; i++) {
                double error = ulp_error(y[i], f->exact((double)x[i]));
                EXPECT(error <= f->most, "%s(%a) is %g ulp off",
                       f->name, (double)x[i], error);
                EXPECT(same_value(f->scalar(x[i]), y[i]),
                       "%s(%a): loop %a", f->name, (double)x[i], (double)y[i]);
                hash = ulp_hash(hash, ulp_word(y[i]));
            }
        }
        EXPECT(hash == recorded[k], "%s: hash %016llx", f->name,
               (unsigned long long)hash);
    }
}
#endif

/* ---- denormals ---- */

TEST(no_thread_flushes_denormals_to_zero)
{
    enum { THREADS = 8 };
    volatile real smallest = sizeof(real) == 4 ? (real)FLT_MIN : (real)DBL_MIN;
    real half[THREADS], back[THREADS];
    thread_limit(THREADS);
    #pragma omp parallel for
    for (int i = 0; i < THREADS; i++) {
        half[i] = smallest / 2;
        back[i] = half[i] + half[i];
    }
    for (int i = 0; i < THREADS; i++)
        EXPECT(half[i] > 0 && back[i] == smallest,
               "%d: half of %g is %g, twice that %g", i, (double)smallest,
               (double)half[i], (double)back[i]);
}
