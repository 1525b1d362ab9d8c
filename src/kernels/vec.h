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
enum {
    VEC = VEC_BYTES / (int)sizeof(real),
    VEC_BITS = VEC == 2 ? 1 : VEC == 4 ? 2 : VEC == 8 ? 3 : 4   /* its log2 */
};

/* A loop that must be unrolled, or its vectors are memory instead of
 * registers. clang does so of itself, gcc only at -O3. */
#ifdef __clang__
#define EACH(i, n) for (int i = 0; i < (n); i++)
#else
#define EACH(i, n) _Pragma("GCC unroll 16") for (int i = 0; i < (n); i++)
#endif

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

/* Lane l of the result is lane from[l] of a, or from[l] - VEC of b. The lanes
 * are known to the compiler, and it finds the instructions. */
static inline vec vec_shuffle(vec a, vec b, vec_mask from)
{
#ifdef __clang__
    vec c = a;
    for (int l = 0; l < VEC; l++)
        c[l] = from[l] < VEC ? a[from[l]] : b[from[l] - VEC];
    return c;
#else
    return __builtin_shuffle(a, b, from);
#endif
}

/* Lane l is lane l + by of a, counted round. */
static inline vec vec_rotate(vec a, int by)
{
    vec_mask from;
    EACH(l, VEC) from[l] = (l + by) % VEC;
    return vec_shuffle(a, a, from);
}

/* Lane l of v[i] becomes lane i of v[l]. Each turn shuffles the first half of
 * the vectors with the second, as a pack of cards; after log2 VEC of them the
 * digits of i and l have changed places. */
static inline void vec_transpose(vec v[VEC])
{
    vec_mask low, high;
    EACH(l, VEC) {
        low[l] = l / 2 + (l % 2) * VEC;
        high[l] = low[l] + VEC / 2;
    }
    EACH(turn, VEC_BITS) {
        vec w[VEC];
        EACH(i, VEC / 2) {
            w[2 * i] = vec_shuffle(v[i], v[i + VEC / 2], low);
            w[2 * i + 1] = vec_shuffle(v[i], v[i + VEC / 2], high);
        }
        memcpy(v, w, sizeof w);
    }
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
    vec sum = {0};
    for (int i = 0; i < VEC; i++)
        sum[i] = fma(a[i], b[i], c[i]);
    return sum;
}

#endif
