/* real: the one floating-point type of the engine.
 *
 * The product computes in float. The tests build the whole engine a second
 * time with -DREAL_DOUBLE, and that is where gradients are checked: central
 * differences in float cannot tell a wrong sign from rounding.
 *
 * Constants are written (real)0.1, so that both builds get all their digits;
 * <tgmath.h> picks sqrtf or sqrt, fmaf or fma. */
#ifndef REAL_H
#define REAL_H

#include <float.h>
#include <tgmath.h>

#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__
#error "plumb needs IEEE arithmetic: build without -Ofast and -ffast-math"
#endif
#if FLT_EVAL_METHOD != 0
#error "plumb needs floats that are rounded as floats: on x86-32, -mfpmath=sse"
#endif

#ifdef REAL_DOUBLE
typedef double real;
#else
typedef float real;
#endif

#endif
