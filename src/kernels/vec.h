/* vec: as many reals as one register of this machine holds.
 *
 * + - * / and comparisons work on it lane by lane (GCC's vector types, which
 * clang has too). VEC is the number of lanes. It is never wider than the
 * machine: a 64-byte vector compiled for AVX2 lives in memory, and gcc 12
 * makes code of it that is 30 times slower.
 *
 * Only the fused multiply-add needs an intrinsic: with -ffp-contract=off
 * a * b + c rightly stays two roundings. */
#ifndef VEC_H
#define VEC_H

#include <string.h>
#include "real.h"

#if defined __AVX512F__
#include <immintrin.h>
#define VEC_BYTES 64
#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#if defined __aarch64__
#include <arm_neon.h>
#endif
#endif

typedef real vec __attribute__((vector_size(VEC_BYTES)));
enum { VEC = VEC_BYTES / (int)sizeof(real) };

/* p needs no alignment beyond a real's. */
static inline vec vec_load(const real *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void vec_store(real *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

/* a in every lane */
static inline vec vec_all(real a)
{
    return a - (vec){0};    /* a - 0 is a, and -0 stays -0 */
}

/* What a comparison of two vecs gives: all bits of a lane, or none. */
typedef __typeof__((vec){0} > (vec){0}) vec_mask;

/* a where the mask is set, else b */
static inline vec vec_select(vec_mask mask, vec a, vec b)
{
    return (vec)(((vec_mask)a & mask) | ((vec_mask)b & ~mask));
}

/* a b + c, rounded once */
static inline vec vec_fma(vec a, vec b, vec c)
{
#ifdef REAL_DOUBLE
#if defined __AVX512F__
    return _mm512_fmadd_pd(a, b, c);
#elif defined __AVX2__ && defined __FMA__
    return _mm256_fmadd_pd(a, b, c);
#elif defined __aarch64__
    return vfmaq_f64(c, a, b);
#endif
#else
#if defined __AVX512F__
    return _mm512_fmadd_ps(a, b, c);
#elif defined __AVX2__ && defined __FMA__
    return _mm256_fmadd_ps(a, b, c);
#elif defined __aarch64__
    return vfmaq_f32(c, a, b);
#endif
#endif
    for (int i = 0; i < VEC; i++)
        c[i] = fma(a[i], b[i], c[i]);
    return c;
}

#endif
