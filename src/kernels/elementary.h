/* exp, log, tanh, cos, sin for real = float: the project's own, because
 * libm's differ from machine to machine.
 *
 * Each function brings its argument into a short interval by subtracting a
 * multiple of a constant held in two or three floats (Cody and Waite 1980),
 * and evaluates a minimax polynomial there (Muller et al., "Handbook of
 * floating-point arithmetic", 2nd ed., ch. 10).
 * tests/kernels/elementary.sollya reproduces the coefficients.
 *
 * Only +, -, *, /, fma and integer operations, each rounded as IEEE 754
 * says, in an order written out: scalar and vector code, of every compiler,
 * give the same bits. There are no branches: what looks like one selects
 * between two finished values. (Which NaN a NaN is, machines differ about.)
 *
 * Largest errors, from all 2^32 floats (tests/exhaustive/elementary.c), in
 * units in the last place of the exact result:
 *     kexp   0.90      below 2^-126 the result is 0, never a denormal:
 *                      they cost some machines 30 to 130 times the time
 *     klog   0.89      denormal arguments too
 *     ktanh  1.59
 *     kcos, ksin  1.54 for |x| <= 1e5; NaN beyond */
#ifndef ELEMENTARY_H
#define ELEMENTARY_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "real.h"

#ifdef REAL_DOUBLE

static inline real kexp(real x) { return exp(x); }
static inline real klog(real x) { return log(x); }
static inline real ktanh(real x) { return tanh(x); }
static inline real kcos(real x) { return cos(x); }
static inline real ksin(real x) { return sin(x); }

#else

static inline uint32_t float_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float bits_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* x + NEAREST_INT rounds x to an integer, which then stands in the low bits;
 * subtracting it again gives the integer as a float. For |x| < 2^22. */
#define NEAREST_INT 0x1.8p23f

/* x = n ln 2 + r, |r| <= ln 2 / 2:  exp x = 2^n (1 + r q(r)) */
static inline real kexp(real x)
{
    float t = fma(x, 0x1.715476p0f, NEAREST_INT);       /* n in low bits */
    float n = t - NEAREST_INT;
    float r = fma(n, -0x1.62e43p-1f, x);                /* exact */
    r = fma(n, 0x1.05c61p-29f, r);
    float y = 0x1.694ca6p-10f;
    y = fma(y, r, 0x1.12398p-7f);
    y = fma(y, r, 0x1.555a26p-5f);
    y = fma(y, r, 0x1.555492p-3f);
    y = fma(y, r, 0x1.fffffap-2f);
    y = fma(y, r, 1.0f);
    y = fma(y, r, 1.0f);
    /* times 2^n, by adding n to the exponent: no power of two needed that
     * is not a float itself (n = 128) */
    y = bits_float(float_bits(y) + (float_bits(t) << 23));
    y = x < -0x1.5d589ep6f ? 0 : y;                     /* ln 2^-126 */
    return x <= 0x1.62e42ep6f ? y : x * 0x1p127f;       /* inf, NaN */
}

/* x = 2^e (1 + f), f in [-1/3, 1/3]:  log x = e ln 2 + f + f^2 q(f) */
static inline real klog(real x)
{
    bool tiny = x < 0x1p-126f;
    uint32_t u = float_bits(tiny ? x * 0x1p23f : x);
    /* the exponent, counted from 2/3 rather than 1 */
    uint32_t biased = (u + (0x3f800000 - 0x3f2aaaab)) >> 23;
    float f = bits_float(u - (biased << 23) + (127u << 23)) - 1;
    float e = (float)((int32_t)biased - (tiny ? 127 + 23 : 127));
    float q = -0x1.06cedcp-3f;
    q = fma(q, f, 0x1.1ec6ep-3f);
    q = fma(q, f, -0x1.f3a788p-4f);
    q = fma(q, f, 0x1.1ec0dp-3f);
    q = fma(q, f, -0x1.559804p-3f);
    q = fma(q, f, 0x1.99d1c6p-3f);
    q = fma(q, f, -0x1.ffff14p-3f);
    q = fma(q, f, 0x1.555502p-2f);
    q = fma(q, f, -0.5f);
    /* ln 2 = hi + lo, hi so short that e hi is exact; high + low is
     * e hi + f exactly, for the two may cancel (x just below 1) */
    float high = fma(e, 0x1.62e4p-1f, f);
    float low = fma(e, 0x1.62e4p-1f, -high) + f;
    low = fma(e, 0x1.7f7d1cp-20f, low);
    float y = high + fma(f * f, q, low);
    y = x < INFINITY ? y : x;                           /* inf, NaN */
    y = x < 0 ? NAN : y;
    return x == 0 ? -INFINITY : y;
}

/* Small |x|: x + x^3 q(x^2), so that the relative error stays small.
 * Else 1 - 2 / (exp 2|x| + 1), with the sign of x. */
static inline real ktanh(real x)
{
    float a = fabs(x);
    float s = x * x;
    float q = -0x1.9a79bap-8f;
    q = fma(q, s, 0x1.5918a4p-6f);
    q = fma(q, s, -0x1.b92358p-5f);
    q = fma(q, s, 0x1.110dp-3f);
    q = fma(q, s, -0x1.55554ap-2f);
    float small = fma(s * q, a, a);
    float large = 1 - 2 / (kexp(2 * a) + 1);
    return copysign(a < 0.55f ? small : large, x);
}

/* |x| = k pi/2 + r, |r| <= pi/4. sin(x + quarter pi/2) without x's sign is
 * +-sin r or +-cos r, as (k + quarter) mod 4 says. */
static inline float sine(float x, uint32_t quarter)
{
    float a = fabs(x);
    float t = fma(a, 0x1.45f306p-1f, NEAREST_INT);      /* k in low bits */
    float k = t - NEAREST_INT;
    float r = fma(k, -0x1.921fb6p0f, a);                /* exact */
    r = fma(k, 0x1.777a5cp-25f, r);
    r = fma(k, 0x1.ee59dap-50f, r);
    float s = r * r;
    float sin_q = -0x1.9954p-13f;
    sin_q = fma(sin_q, s, 0x1.110778p-7f);
    sin_q = fma(sin_q, s, -0x1.555546p-3f);
    float cos_q = 0x1.99e91p-16f;
    cos_q = fma(cos_q, s, -0x1.6c0c2ap-10f);
    cos_q = fma(cos_q, s, 0x1.55554ap-5f);
    cos_q = fma(cos_q, s, -0.5f);
    uint32_t turn = float_bits(t) + quarter;
    float y = turn & 1 ? fma(cos_q, s, 1.0f) : fma(s * sin_q, r, r);
    y = bits_float(float_bits(y) ^ (turn & 2) << 30);
    return a <= 1e5f ? y : NAN;
}

static inline real kcos(real x)
{
    return sine(x, 1);
}

static inline real ksin(real x)
{
    return bits_float(float_bits(sine(x, 0)) ^ (float_bits(x) & 1u << 31));
}

#endif
#endif
