/* Philox against the known answers of its authors (Random123, kat_vectors),
 * and what is built on it. Seeds are fixed, so a test that passes once passes
 * always; tolerances are four standard deviations of what is measured. */
#include <math.h>
#include <string.h>
#include "kernels.h"
#include "rng.h"
#include "test.h"

TEST(philox_gives_the_published_answers)
{
    static const struct { uint32_t key[2], counter[4], out[4]; } known[] = {
        {{0, 0}, {0, 0, 0, 0},
         {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u}, {~0u, ~0u, ~0u, ~0u},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0xa4093822, 0x299f31d0},
         {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t out[4];
        philox(known[i].key, known[i].counter, out);
        EXPECT(memcmp(out, known[i].out, sizeof out) == 0,
               "vector %zu: %08x %08x %08x %08x", i,
               out[0], out[1], out[2], out[3]);
    }
}

/* Recorded: a change here changes every run that anybody has printed. */
TEST(a_stream_begins_with_the_recorded_words)
{
    static const uint32_t recorded[] = {
        0xaba7b3d8, 0x8dce32f5, 0xa3b2baea, 0x05e481fb, 0x226c3135};
    Rng r = rng_new(0x123456789abcdef0, RNG_TEST, 3);
    for (int i = 0; i < 5; i++) {
        uint32_t word = rng_u32(&r);
        EXPECT(word == recorded[i], "word %d is %08x", i, word);
    }
}

TEST(a_stream_is_its_blocks_in_order)
{
    Rng r = rng_new(5, RNG_TEST, 7);
    r.counter[0] = ~0u;                     /* the block before the carry */
    for (uint32_t block = 0; block < 2; block++) {
        uint32_t out[4];
        philox((uint32_t[]){5, 0},
               (uint32_t[]){block - 1, block, 7, RNG_TEST}, out);
        for (int i = 0; i < 4; i++)
            EXPECT(rng_u32(&r) == out[i], "block %u, word %d", block, i);
    }
}

TEST(streams_steps_and_seeds_are_independent)
{
    enum { N = 20000 };
    static const struct { uint64_t seed; uint32_t stream, step; } other[] = {
        {1, RNG_TEST, 0}, {1ull << 32, RNG_TEST, 0}, {0, RNG_INIT, 0},
        {0, RNG_TEST, 1}, {0, 1, RNG_TEST},
    };
    for (size_t k = 0; k < sizeof other / sizeof other[0]; k++) {
        Rng a = rng_new(0, RNG_TEST, 0);
        Rng b = rng_new(other[k].seed, other[k].stream, other[k].step);
        double covariance = 0;
        for (int i = 0; i < N; i++)
            covariance += (rng_uniform(&a) - 0.5) * (rng_uniform(&b) - 0.5);
        double z = covariance * 12 / sqrt((double)N);
        EXPECT(fabs(z) < 4, "stream %zu: correlation of %g sigma", k, z);
    }
}

TEST(uniform_fills_0_to_1_evenly)
{
    enum { N = 200000, CELLS = 64 };
    int count[CELLS] = {0};
    Rng r = rng_new(1, RNG_TEST, 0);
    for (int i = 0; i < N; i++) {
        double u = rng_uniform(&r);
        if (EXPECT(u >= 0 && u < 1, "draw %d is %g", i, u))
            count[(int)(u * CELLS)]++;
    }
    double chi2 = 0, expected = (double)N / CELLS;
    for (int c = 0; c < CELLS; c++)
        chi2 += (count[c] - expected) * (count[c] - expected) / expected;
    double z = (chi2 - (CELLS - 1)) / sqrt(2.0 * (CELLS - 1));
    EXPECT(fabs(z) < 4, "chi^2 is %g sigma off", z);

    Rng ones = {.word = {~0u, ~0u, ~0u, ~0u}, .left = 4};
    double largest = rng_uniform(&ones);
    EXPECT(largest == 1 - 0x1p-53, "the largest draw is %a", largest);
}

TEST(below_is_in_range_and_even)
{
    enum { DRAWS = 60000 };
    for (uint32_t n = 1; n <= 12; n++) {
        int count[12] = {0};
        Rng r = rng_new(n, RNG_TEST, 0);
        for (int i = 0; i < DRAWS; i++) {
            uint32_t u = rng_below(&r, n);
            if (EXPECT(u < n, "n = %u gave %u", n, u))
                count[u]++;
        }
        double p = 1.0 / n, sigma = sqrt(DRAWS * p * (1 - p));
        for (uint32_t u = 0; u < n; u++)
            EXPECT(fabs(count[u] - DRAWS * p) <= 4 * sigma,
                   "n = %u gave %u %d times", n, u, count[u]);
    }
}

/* n = 3 2^30: a plain remainder would give the lowest third twice as often
 * as the others, and a word below 2^32 - n must be refused. */
TEST(below_rejects_what_would_be_biased)
{
    enum { DRAWS = 30000 };
    uint32_t n = 3u << 30;
    Rng r = rng_new(1, RNG_TEST, 0);
    int low = 0;
    for (int i = 0; i < DRAWS; i++)
        low += rng_below(&r, n) < n / 3;
    double sigma = sqrt(DRAWS * 2.0 / 9);
    EXPECT(fabs(low - DRAWS / 3.0) < 4 * sigma, "%d of %d", low, DRAWS);

    Rng words = {.word = {0, n / 3 - 1, n / 3, ~0u}, .left = 4};
    EXPECT(rng_below(&words, n) == n / 3 && words.left == 1,
           "kept a word that had to go; %d left", words.left);
    EXPECT(rng_below(&words, n) == ~0u % n, "lost a word");
}

/* Moments 1 to 4 are 0, 1, 0, 3; z^k has the variance E z^2k - (E z^k)^2. */
TEST(normal_has_the_moments_and_the_tail)
{
    enum { N = 200000 };
    static const double moment[] = {0, 1, 0, 3}, variance[] = {1, 2, 15, 96};
    double sum[4] = {0};
    int beyond = 0;
    Rng r = rng_new(2, RNG_TEST, 0);
    for (int i = 0; i < N; i++) {
        double z = (double)rng_normal(&r), power = 1;
        for (int k = 0; k < 4; k++)
            sum[k] += power *= z;
        beyond += fabs(z) > 3;
    }
    for (int k = 0; k < 4; k++) {
        double sigma = sqrt(variance[k] / N), got = sum[k] / N;
        EXPECT(fabs(got - moment[k]) < 4 * sigma, "E z^%d = %g", k + 1, got);
    }
    double p = erfc(3 / sqrt(2.0)), sigma = sqrt(N * p);
    EXPECT(fabs(beyond - N * p) < 4 * sigma, "%d beyond 3", beyond);
}

TEST(normal_is_finite_at_the_ends_of_the_uniform)
{
    Rng zeros = {.left = 4};
    real z = rng_normal(&zeros);
    EXPECT(z == 0, "u = 0 gave %g", (double)z);
    Rng ones = {.word = {~0u, ~0u, 0, 0}, .left = 4};
    z = rng_normal(&ones);
    double most = sqrt(2 * 53 * log(2));
    EXPECT(fabs((double)z / most - 1) < 1e-6, "largest is %g", (double)z);
}

TEST(normal_begins_with_the_recorded_numbers)
{
    static const double recorded[] = {
        -0x1.490d08p-4, -0x1.7360aap-5, 0x1.96aaaep-2};
    Rng r = rng_new(1, RNG_INIT, 0);
    for (int i = 0; i < 3; i++) {
        double z = (double)rng_normal(&r);
#ifdef REAL_DOUBLE
        EXPECT(fabs(z - recorded[i]) < 1e-6, "number %d is %a", i, z);
#else
        EXPECT(z == recorded[i], "number %d is %a", i, z);
#endif
    }
}

/* Many at once, from any place in the stream, are those that come singly. */
TEST(normals_at_once_are_normals_one_by_one)
{
    enum { FROM = 5, MOST = 200 };
    static const int lengths[] = {1, 63, 64, 65, MOST};
    real x[MOST + 1];
    for (int i = 0; i < 5; i++) {
        int n = lengths[i], wrong = 0;
        Rng r = rng_new(7, RNG_TEST, 1);
        x[n] = 42;
        rng_normals(&r, FROM, n, x);
        for (int k = -FROM; k < n; k++) {
            real z = rng_normal(&r);
            wrong += k >= 0 && x[k] != z;
        }
        EXPECT(!wrong && x[n] == 42, "%d of %d differ", wrong, n);
    }
}
