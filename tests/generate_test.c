/* Drawing tokens, and text from a model. */
#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "generate.h"
#include "kernels.h"
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
    for (int n = 0; n < DRAWS; n++)
        count[draw_token(&tape, logits, V, how, &r)]++;
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
        Sampling all = {.temperature = 1}, k = all;
        k.top_k = n % 2 ? V : 99;
        int x = draw_token(&tape, logits, V, all, &a);
        int y = draw_token(&tape, logits, V, k, &b);
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
    static const Sampling cold = {.temperature = 1e-300};
    Rng r = noise();
    for (int k = 0; k < 5; k++)
        for (int n = 0; n < 100; n++) {
            int x = draw_token(&tape, logits, V, how[k], &r);
            EXPECT(x == 2, "T = %g, top_k %d: token %d", how[k].temperature,
                   how[k].top_k, x);
        }
    for (int n = 0; n < 100; n++)
        EXPECT(draw_token(&tape, falling, V, cold, &r) == 0,
               "a temperature that is nearly 0");
}

/* Draws only what is expected, a letter a token, and each as often as its
 * probability among them. */
static void expect_drawn(const double *p, int n, Sampling how,
                         const char *want)
{
    real x[V];
    int count[V] = {0};
    double total = 0;
    Rng r = noise();
    for (int i = 0; i < n; i++) {
        x[i] = (real)log(p[i]);
        if (strchr(want, 'a' + i)) total += pow(p[i], 1 / how.temperature);
    }
    for (int k = 0; k < DRAWS; k++) count[draw_token(&tape, x, n, how, &r)]++;
    for (int i = 0; i < n; i++) {
        double share = strchr(want, 'a' + i)
                     ? pow(p[i], 1 / how.temperature) / total : 0;
        double got = (double)count[i] / DRAWS;
        double error = sqrt(share * (1 - share) / DRAWS);
        EXPECT(fabs(got - share) <= 5 * error, "T = %g, top_k %d, top_p "
               "%g: %c in %.4f of the draws, expected %.4f +- %.4f",
               how.temperature, how.top_k, how.top_p, 'a' + i, got, share,
               error);
    }
    tape_reset(&tape);
}

/* In order b e d a c, the sums are .4 .6 .8 .9 1: of d and e, and of a and c,
 * which are equally likely, the first is the likelier. */
TEST(top_p_by_hand)
{
    static const double p[] = {.1, .4, .1, .2, .2}, even[] = {1, 1, 1, 1};
    static const struct { double p; const char *want; } cases[] = {
        {1e-300, "b"}, {.39, "b"}, {.41, "bd"}, {.59, "bd"}, {.61, "bde"},
        {.79, "bde"}, {.81, "abde"}, {.89, "abde"}, {.91, "abcde"},
        {1, "abcde"}, {0, "abcde"}};
    for (int i = 0; i < 11; i++)
        expect_drawn(p, 5, (Sampling){.temperature = 1, .top_p = cases[i].p},
                     cases[i].want);
    /* all equal: the sums are exactly 1/4 1/2 3/4 1 */
    for (int i = 1; i <= 8; i++)
        expect_drawn(even, 4, (Sampling){.temperature = 1, .top_p = i / 8.},
                     (const char *[]){"a", "ab", "abc", "abcd"}[(i - 1) / 2]);
}

/* top_k leaves b d e with 1/2 1/4 1/4. At T = 1/2 all five have, in units of
 * 1/26, 16 4 4 1 1; at T = 2, of 1/2.159, .632 .447 .447 .316 .316. */
TEST(top_p_after_top_k_and_temperature)
{
    static const double p[] = {.1, .4, .1, .2, .2};
    static const struct { double T; int k; double p; const char *want; }
        cases[] = {
        {1, 3, .49, "b"}, {1, 3, .51, "bd"}, {1, 3, .74, "bd"},
        {1, 3, .76, "bde"}, {1, 3, 1, "bde"}, {1, 1, .99, "b"},
        {1, 4, 1, "abde"}, {1, 9, .41, "bd"},
        {.5, 0, .61, "b"}, {.5, 0, .62, "bd"}, {.5, 0, .77, "bde"},
        {.5, 2, .79, "b"}, {.5, 2, .81, "bd"},
        {2, 0, .29, "b"}, {2, 0, .30, "bd"}, {2, 0, .51, "bde"}};
    for (int i = 0; i < 16; i++)
        expect_drawn(p, 5, (Sampling){.temperature = cases[i].T,
                                      .top_k = cases[i].k,
                                      .top_p = cases[i].p}, cases[i].want);
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

/* ------------------------------------------------------------------------
 * The cache: bit for bit what all tokens computed again give. 40 tokens are
 * more than attention takes at a time. */

enum { CONTEXT = 40, MOST = 3 };
static int told[MOST * CONTEXT];

/* Weights none of which is 0 or 1, and texts that all differ. */
static void model_new(int placement, int norm, int context)
{
    Rng draw = rng_new(5, RNG_TEST, 0);
    gpt_new(&model, (GPTConfig){.layers = 2, .width = 12, .heads = 2,
                                .context = context, .vocab = V, .seed = 1,
                                .placement = placement, .norm = norm,
                                .qk_norm = norm == RMSNORM});
    for (int i = 0; i < model.nparam; i++)
        for (long k = 0; k < size(model.param[i].t); k++)
            model.param[i].t->data[k] += rng_normal(&draw) / 4;
    for (int n = 0; n < MOST * CONTEXT; n++)
        told[n] = (int)rng_below(&draw, V);
}

/* ids[b*T + t] of tokens from .. from + T - 1 */
static const int *part(int B, int from, int T)
{
    static int ids[MOST * CONTEXT];
    for (int b = 0; b < B; b++)
        memcpy(ids + b * T, told + b * CONTEXT + from,
               sizeof *ids * (size_t)T);
    return ids;
}

/* want[T-1]: the logits (B,V) after T tokens, all computed for them */
static void all_again(int B, real want[CONTEXT][MOST * V])
{
    for (int T = 1; T <= CONTEXT; T++) {
        tape_reset(&tape);
        const Tensor *y = gpt_logits(&tape, &model, part(B, 0, T), B, T);
        for (int b = 0; b < B; b++)
            memcpy(want[T - 1] + b * V, y->data + (b * T + T - 1) * V,
                   V * sizeof(real));
    }
}

/* The first tokens at once, then step by step to the end */
static void one_by_one(Cache *c, int first, int step, int threads,
                       real want[CONTEXT][MOST * V])
{
    c->n = 0;
    thread_limit(threads);
    for (int n = 0, T; n < CONTEXT; n += T) {
        T = least(n ? step : first, CONTEXT - n);
        tape_reset(&tape);
        const Tensor *y = cache_logits(&tape, c, part(c->B, n, T), T);
        EXPECT(!memcmp(y->data, want[n + T - 1],
                       (size_t)(c->B * V) * sizeof(real)),
               "%s, norm %d, %d sequences, %d threads: %d tokens after %d "
               "have other logits with the cache",
               placements[model.config.placement].name, model.config.norm,
               c->B, threads, T, n);
    }
}

static void expect_cache(int placement, int norm)
{
    static const int first[] = {1, 2, 7, 31, 32, 33, CONTEXT - 1, CONTEXT};
    static real want[CONTEXT][MOST * V];
    for (int B = 1; B <= MOST; B += 2) {
        Arena arena = {0};
        Cache c;
        model_new(placement, norm, CONTEXT);
        cache_new(&c, &arena, &model, B);
        all_again(B, want);
        for (int i = 0; i < 8; i++)
            one_by_one(&c, first[i], 1 + i % 3 * 2, 1 + i % 4, want);
        for (int threads = 1; threads <= 4; threads++)
            one_by_one(&c, 1, 1, threads, want);
        gpt_free(&model);
        arena_free(&arena);
    }
}

TEST(cache_keeps_the_bits)
{
    for (int p = 0; placements[p].name; p++)
        for (int norm = LAYERNORM; norm <= RMSNORM; norm++)
            expect_cache(p, norm);
}

/* To lower n is to forget: what comes then is as if it had come first. */
TEST(cache_forgets)
{
    static real want[CONTEXT][MOST * V];
    Arena arena = {0};
    Cache c;
    model_new(0, LAYERNORM, CONTEXT);
    cache_new(&c, &arena, &model, 1);
    all_again(1, want);
    cache_logits(&tape, &c, part(1, 0, 20), 20);
    cache_logits(&tape, &c, part(1, 7, 13), 13);
    c.n = 20;
    const Tensor *y = cache_logits(&tape, &c, part(1, 20, 5), 5);
    EXPECT(!memcmp(y->data, want[24], V * sizeof(real)), "20 tokens kept");
}

static void into_cache(int n, int T, bool recording)
{
    Arena arena = {0};
    Tape tp = {.recording = recording};
    Cache c;
    model_new(0, LAYERNORM, CONTEXT);
    cache_new(&c, &arena, &model, 1);
    c.n = n;
    cache_logits(&tp, &c, told, T);
}
static void too_many(void *arg) { (void)arg; into_cache(30, 11, false); }
static void nothing(void *arg) { (void)arg; into_cache(30, 0, false); }
static void recorded(void *arg) { (void)arg; into_cache(0, 5, true); }

TEST(cache_refuses)
{
    EXPECT_DIES(EXIT_INTERNAL, too_many, NULL, "40", "11", "30");
    EXPECT_DIES(EXIT_INTERNAL, nothing, NULL, "got 0 after 30");
    EXPECT_DIES(EXIT_INTERNAL, recorded, NULL, "record");
}

/* Text without a cache: the window computed again for each token. It begins
 * at the first multiple of `slide` that leaves it no more than the context. */
static void write_again(Sampling how, int context, int *ids, int B)
{
    for (int t = HAVE; t < LENGTH; t++) {
        int from = 0, window[STREAMS * LENGTH];
        while (t - from > context) from += how.slide;
        int T = t - from;
        for (int n = 0; n < B * T; n++)
            window[n] = ids[n / T * LENGTH + from + n % T];
        tape_reset(&tape);
        const Tensor *y = gpt_logits(&tape, &model, window, B, T);
        for (int b = 0; b < B; b++) {
            Rng r = rng_new(1, RNG_SAMPLE, (uint32_t)b);
            r.counter[1] = (uint32_t)t;
            ids[b * LENGTH + t] = draw_token(
                &tape, y->data + (b * T + T - 1) * V, V, how, &r);
        }
    }
}

static void expect_text(Sampling how, int context, int B)
{
    int want[STREAMS * LENGTH] = {0}, got[STREAMS * LENGTH] = {0};
    for (int b = 0; b < B; b++)
        want[b * LENGTH] = got[b * LENGTH] = b;
    write_again(how, context, want, B);
    for (int threads = 1; threads <= 4; threads++) {
        thread_limit(threads);
        int before = thread_count();
        generate(&tape, &model, how, 1, got, B, HAVE, LENGTH);
        EXPECT(!memcmp(got, want, sizeof want), "context %d, slide %d, %d "
               "streams, %d threads: another text with the cache", context,
               how.slide, B, threads);
        EXPECT(thread_count() == before, "%d threads before, %d after",
               before, thread_count());
    }
}

TEST(text_with_the_cache_is_that_without)
{
    for (int p = 0; placements[p].name; p++)
        for (int context = 1; context <= 6; context++)
            for (int slide = 1; slide <= context; slide++) {
                model_new(p, p % 2, context);
                expect_text((Sampling){.temperature = 1, .slide = slide},
                            context, 1 + slide % STREAMS);
                gpt_free(&model);
            }
}

/* Of a model whose tokens see what comes after them nothing can be kept. */
TEST(text_of_a_model_without_a_mask)
{
    model_new(0, LAYERNORM, 6);
    model.config.unmasked = true;
    for (int l = 0; l < 2; l++) model.branch[2 * l].unmasked = true;
    expect_text((Sampling){.temperature = 1, .slide = 1}, 6, 2);
    expect_text((Sampling){.temperature = 1, .slide = 3}, 6, 2);
}

TEST(text_token_by_token)
{
    int want[STREAMS * LENGTH] = {0}, got[STREAMS * LENGTH] = {0};
    Sampling how = {.temperature = 1, .top_k = 4, .top_p = .9, .slide = 2};
    Arena arena = {0};
    Writer w;
    model_new(1, LAYERNORM, 5);
    generate(&tape, &model, how, 3, want, STREAMS, 1, LENGTH);
    writer_new(&w, &arena, &model, how, 3, STREAMS);
    for (int t = 1; t < LENGTH; t++) writer_next(&tape, &w, got, LENGTH, t);
    EXPECT(!memcmp(got, want, sizeof want), "another text");
    generate(&tape, &model, how, 3, got, 1, 1, LENGTH);
    EXPECT(same(got, want), "the first of three is another alone");
}

static void slide_more(void *arg)
{
    int ids[LENGTH] = {0};
    (void)arg;
    model_new(0, LAYERNORM, 5);
    generate(&tape, &model, (Sampling){.slide = 6}, 1, ids, 1, 1, LENGTH);
}

TEST(slide_beyond_the_context_is_refused)
{
    EXPECT_DIES(EXIT_INTERNAL, slide_more, NULL, "5", "6");
}
