/* Random numbers that need no state: Philox4x32-10 (Salmon et al. 2011,
 * "Parallel random numbers: as easy as 1, 2, 3") is a keyed bijection of a
 * 128-bit counter. Key: the seed. Counter: which stream, which step, which
 * draw. So initialisation, data order, dropout and sampling cannot disturb
 * each other, and to resume a run one needs the step number alone. */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>
#include "real.h"

enum { RNG_INIT = 1, RNG_DATA, RNG_DROPOUT, RNG_SAMPLE, RNG_EVAL, RNG_STORY,
       RNG_TEST, RNG_LAB };

/* The block cipher: 4 words of counter to 4 words of noise. */
void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);

/* A stream (seed, stream, step) read in order. */
typedef struct {
    uint32_t key[2], counter[4], word[4];
    int left;               /* words of the last block not yet handed out */
} Rng;

Rng      rng_new(uint64_t seed, uint32_t stream, uint32_t step);
uint32_t rng_u32(Rng *r);
/* uniform in [0, 1), 53 bits */
double   rng_uniform(Rng *r);
/* uniform integer in [0, n), n >= 1, without bias (rejection) */
uint32_t rng_below(Rng *r, uint32_t n);
/* N(0, 1): Box-Muller, from two uniforms, with the project's log and cos */
real     rng_normal(Rng *r);
/* x[i] = rng_normal of block from + i of the stream (the first block is 0),
 * i < n: what n calls of rng_normal give, in any number of parts */
void     rng_normals(const Rng *r, uint32_t from, int n, real *x);

#endif
