#include "rng.h"
#include "kernels.h"

/* Ten rounds of: two 32 x 32 -> 64 bit products, whose high halves are mixed
 * with the other two words and the key, and the key moves on. */
void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = key[0], k1 = key[1];
    uint32_t c0 = counter[0], c1 = counter[1];
    uint32_t c2 = counter[2], c3 = counter[3];
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xd2511f53 * c0;
        uint64_t b = (uint64_t)0xcd9e8d57 * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9e3779b9;           /* the golden ratio */
        k1 += 0xbb67ae85;           /* sqrt 3 - 1 */
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Words 0 and 1 of the counter number the blocks of the stream. */
Rng rng_new(uint64_t seed, uint32_t stream, uint32_t step)
{
    return (Rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                 .counter = {0, 0, step, stream}};
}

uint32_t rng_u32(Rng *r)
{
    if (r->left == 0) {
        philox(r->key, r->counter, r->word);
        r->left = 4;
        if (++r->counter[0] == 0)
            r->counter[1]++;
    }
    return r->word[4 - r->left--];
}

double rng_uniform(Rng *r)
{
    uint64_t high = rng_u32(r);
    uint64_t bits = high << 32 | rng_u32(r);
    return (double)(bits >> 11) * 0x1p-53;
}

uint32_t rng_below(Rng *r, uint32_t n)
{
    /* 2^32 mod n values are left over when 2^32 is dealt out in rounds of
     * n: refuse as many, and every remainder is equally likely. */
    uint32_t left_over = (0 - n) % n;
    uint32_t u;
    do
        u = rng_u32(r);
    while (u < left_over);
    return u % n;
}

real rng_normal(Rng *r)
{
    double u = 1 - rng_uniform(r);  /* in (0, 1], where log is finite */
    double v = rng_uniform(r);
    real angle = (real)(0x1.921fb54442d18p2 * v);           /* 2 pi v */
    return sqrt(-2 * klog((real)u)) * kcos(angle);
}
