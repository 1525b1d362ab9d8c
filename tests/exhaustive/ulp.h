/* The elementary functions against libm's double ones: each function with
 * what it promises, and the error of one result. */
#ifndef ULP_H
#define ULP_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include "kernels.h"

/* y_i = f(x_i) as a loop that the compiler may make vector code of */
#define ULP_LOOP(f)                                                         \
    static void f##_loop(int n, const float *restrict x, float *restrict y) \
    { for (int i = 0; i < n; i++) y[i] = f(x[i]); }                         \
    static float f##_scalar(float x) { return f(x); }
ULP_LOOP(kexp)
ULP_LOOP(klog)
ULP_LOOP(ktanh)
ULP_LOOP(kcos)
ULP_LOOP(ksin)

/* the exact result, and 0 for a result that kexp flushes */
static double exact_exp(double x) { return exp(x) < FLT_MIN ? 0 : exp(x); }
static double exact_log(double x) { return log(x); }
static double exact_tanh(double x) { return tanh(x); }
static double exact_cos(double x) { return fabs(x) <= 1e5 ? cos(x) : NAN; }
static double exact_sin(double x) { return fabs(x) <= 1e5 ? sin(x) : NAN; }

static const struct Elementary {
    const char *name;
    void (*loop)(int n, const float *x, float *y);
    float (*scalar)(float x);
    double (*exact)(double x);
    double most;                        /* ulps */
} elementary[] = {
    {"exp", kexp_loop, kexp_scalar, exact_exp, 0.9},
    {"log", klog_loop, klog_scalar, exact_log, 0.9},
    {"tanh", ktanh_loop, ktanh_scalar, exact_tanh, 1.6},
    {"cos", kcos_loop, kcos_scalar, exact_cos, 1.6},
    {"sin", ksin_loop, ksin_scalar, exact_sin, 1.6},
};
enum { ELEMENTARY = sizeof elementary / sizeof elementary[0] };

/* |y - exact| in units of the last place that a float near exact has. What
 * is infinite, not a number or zero must be so exactly. */
static inline double ulp_error(float y, double exact)
{
    if (isnan(exact))
        return isnan(y) ? 0 : INFINITY;
    double size = fabs(exact);
    if (size == 0 || size >= 0x1.ffffffp127)   /* rounds to infinity */
        return (double)y == (size == 0 ? exact : copysign(INFINITY, exact))
            ? 0 : INFINITY;
    int exponent = size < FLT_MIN ? -126 : ilogb(size);
    double error = fabs((double)y - exact) * ldexp(1, 23 - exponent);
    return error >= 0 ? error : INFINITY;
}

/* FNV-1a by words. Machines differ about the bits of a NaN: one for all. */
#define ULP_HASH 0xcbf29ce484222325u

static inline uint64_t ulp_hash(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

static inline uint32_t ulp_word(float y)
{
    return isnan(y) ? 0x7fc00000 : float_bits(y);
}

#endif
