/* Drawing tokens, and text from a model. */
#include <stdlib.h>
#include <string.h>
#include "generate.h"
#include "test.h"

enum { V = 6, DRAWS = 40000 };
static Tape tape;
static const real logits[V] = {.3f, -1, 2, .5f, 2, -3};

static Rng noise(void) { return rng_new(1, RNG_TEST, 0); }

/* A count of n draws with probability p has the standard error
 * sqrt(p (1 - p) / n) in its share: 5 of them are left room for. */
static void frequencies(Sampling how)
{
    Rng r = noise();
    int count[V] = {0};
    double p[V], total = 0;
    for (int i = 0; i < V; i++) {
        bool in = how.top_k == 0 || i == 2 || i == 4;
        total += p[i] = in ? exp((double)logits[i] / how.temperature) : 0;
    }
    for (int n = 0; n < DRAWS; n++) count[draw_token(&tape, logits, V, how, &r)]++;
    for (int i = 0; i < V; i++) {
        double want = p[i] / total, got = (double)count[i] / DRAWS;
        double error = sqrt(want * (1 - want) / DRAWS);
        EXPECT(fabs(got - want) <= 5 * error, "T = %g, top_k %d, token %d: "
               "%.4f of the draws, expected %.4f +- %.4f", how.temperature,
               how.top_k, i, got, want, error);
    }
}

TEST(frequencies_are_the_softmax)
{
    frequencies((Sampling){.temperature = 1});
    frequencies((Sampling){.temperature = .5});
    frequencies((Sampling){.temperature = 1, .top_k = 2});
}

TEST(top_k_of_all_is_no_restriction)
{
    Rng a = noise(), b = noise();
    for (int n = 0; n < 1000; n++) {
        int x = draw_token(&tape, logits, V, (Sampling){.temperature = 1}, &a);
        int y = draw_token(&tape, logits, V, (Sampling){.temperature = 1, .top_k = n % 2 ? V : 99}, &b);
        EXPECT(x == y, "draw %d: %d and %d", n, x, y);
    }
}

/* Tokens 2 and 4 are equally likely: the lower id counts as the likelier. */
TEST(likeliest_token)
{
    static const Sampling how[] = {
        {.temperature = 0}, {.temperature = 0, .top_k = 3},
        {.temperature = 1, .top_k = 1}, {.temperature = .01, .top_k = 1},
        {.temperature = 1, .top_p = 1e-9}};
    static const real falling[V] = {5, 4, 3, 2, 1, 0};
    Rng r = noise();
    for (int k = 0; k < 5; k++)
        for (int n = 0; n < 100; n++) {
            int x = draw_token(&tape, logits, V, how[k], &r);
            EXPECT(x == 2, "T = %g, top_k %d: token %d", how[k].temperature,
                   how[k].top_k, x);
        }
    for (int n = 0; n < 100; n++)
        EXPECT(draw_token(&tape, falling, V, (Sampling){.temperature = 1e-300}, &r) == 0,
               "a temperature that is nearly 0");
}

/* From weights gone wrong: some token, and nothing outside the logits is
 * read, which the address sanitizer would see. */
TEST(logits_that_are_not_finite)
{
    const real bad[] = {(real)NAN, (real)INFINITY, -(real)INFINITY};
    real *x = malloc(V * sizeof *x);
    Rng r = noise();
    for (int b = 0; b < 3; b++)
        for (int mask = 1; mask < 1 << V; mask++)
            for (int k = 0; k < 9; k++) {
                Sampling how = {.temperature = k % 3 * .5, .top_k = k / 3,
                                .top_p = b == 0 ? .9 : 1};
                for (int i = 0; i < V; i++)
                    x[i] = mask >> i & 1 ? bad[b] : logits[i];
                int token = draw_token(&tape, x, V, how, &r);
                EXPECT(token >= 0 && token < V, "%g at %x, T = %g, top_k %d: "
                       "token %d", (double)bad[b], (unsigned)mask,
                       how.temperature, how.top_k, token);
            }
    free(x);
}

/* ------------------------------------------------------------------------
 * Text: more of it than the context holds */

enum { STREAMS = 3, HAVE = 2, LENGTH = 14 };
static GPT model;

static void text(int *ids, int B, int have, int length, uint64_t seed)
{
    generate(&tape, &model, (Sampling){.temperature = 1}, seed, ids, B, have,
             length);
}

/* B streams, the first tokens of which depend on their number. */
static void streams(int *ids, int B, int length)
{
    for (int b = 0; b < B; b++)
        for (int t = 0; t < HAVE; t++) ids[b * length + t] = (b + t) % V;
    text(ids, B, HAVE, length, 1);
}

static bool same(const int *a, const int *b)
{
    return !memcmp(a, b, LENGTH * sizeof *a);
}

TEST(text_does_not_depend_on_what_is_written_beside_or_on_cuts)
{
    int all[STREAMS * LENGTH], some[STREAMS * LENGTH], cut[STREAMS * LENGTH];
    gpt_new(&model, (GPTConfig){.layers = 1, .width = 8, .heads = 2,
                                .context = 5, .vocab = V, .seed = 1});
    streams(all, STREAMS, LENGTH);
    for (int B = 1; B < STREAMS; B++) {
        streams(some, B, LENGTH);
        for (int b = 0; b < B; b++)
            EXPECT(same(some + b * LENGTH, all + b * LENGTH),
                   "stream %d of %d is not that of %d", b, B, STREAMS);
    }
    for (int at = HAVE; at < LENGTH; at++) {
        streams(cut, STREAMS, at);
        for (int b = STREAMS - 1; b >= 0; b--)
            memmove(cut + b * LENGTH, cut + b * at, sizeof(int) * (size_t)at);
        text(cut, STREAMS, at, LENGTH, 1);
        for (int b = 0; b < STREAMS; b++)
            EXPECT(same(cut + b * LENGTH, all + b * LENGTH),
                   "stream %d is another if cut at %d", b, at);
    }
}

/* Equal beginnings: each stream, and each seed, draws from noise of its
 * own. */
TEST(streams_and_seeds_are_different)
{
    int one[2 * LENGTH] = {0}, other[2 * LENGTH] = {0};
    gpt_new(&model, (GPTConfig){.layers = 1, .width = 8, .heads = 2,
                                .context = 5, .vocab = V, .seed = 1});
    text(one, 2, 1, LENGTH, 1);
    text(other, 2, 1, LENGTH, 2);
    EXPECT(!same(one, one + LENGTH), "two streams, one text");
    EXPECT(!same(one, other), "two seeds, one text");
}
