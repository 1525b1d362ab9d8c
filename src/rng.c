#include "rng.h"
#include "kernels.h"

/* Ten rounds of: two 32 x 32 -> 64 bit products, whose high halves are mixed
 * with the other two words and the key, and the key moves on. Of n counters,
 * side by side, so that the compiler can take several at once. */
static inline void rounds(int n, const uint32_t key[2], uint32_t *c0,
                          uint32_t *c1, uint32_t *c2, uint32_t *c3)
{
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < n; i++) {
            uint64_t a = (uint64_t)0xd2511f53 * c0[i];
            uint64_t b = (uint64_t)0xcd9e8d57 * c2[i];
            c0[i] = (uint32_t)(b >> 32) ^ c1[i] ^ k0;
            c1[i] = (uint32_t)b;
            c2[i] = (uint32_t)(a >> 32) ^ c3[i] ^ k1;
            c3[i] = (uint32_t)a;
        }
        k0 += 0x9e3779b9;           /* the golden ratio */
        k1 += 0xbb67ae85;           /* sqrt 3 - 1 */
    }
}

void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4])
{
    for (int i = 0; i < 4; i++) out[i] = counter[i];
    rounds(1, key, out, out + 1, out + 2, out + 3);
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

/* 53 bits as rng_uniform takes them, from integers that fit an int32: those
 * convert by vector code. */
static inline double unit(uint32_t high, uint32_t low)
{
    double h = (double)(int32_t)(high >> 1) * 2 + (double)(int32_t)(high & 1);
    return h * 0x1p-32 + (double)(int32_t)(low >> 11) * 0x1p-53;
}

/* Loop by loop what rng_normal does. */
void rng_normals(const Rng *r, uint32_t from, int n, real *x)
{
    enum { BLOCK = 64 };
    uint32_t w[4][BLOCK];
    real u[BLOCK], angle[BLOCK];
    for (int k = 0; k < n; k += BLOCK) {
        int m = n - k < BLOCK ? n - k : BLOCK;
        for (int i = 0; i < BLOCK; i++) {
            w[0][i] = from + (uint32_t)(k + i);
            for (int j = 1; j < 4; j++) w[j][i] = r->counter[j];
        }
        rounds(BLOCK, r->key, w[0], w[1], w[2], w[3]);
        for (int i = 0; i < BLOCK; i++) {
            u[i] = (real)(1 - unit(w[0][i], w[1][i]));
            angle[i] = (real)(0x1.921fb54442d18p2 * unit(w[2][i], w[3][i]));
        }
        for (int i = 0; i < m; i++)
            x[k + i] = sqrt(-2 * klog(u[i])) * kcos(angle[i]);
    }
}
