/* sample_speed THREADS L D H T B V: tokens a second and stream that such a
 * model with random weights writes into B streams. Prints "ready", then for
 * every line "SECONDS" on its input one line with four numbers:
 *     texts of T tokens      with the cache    all computed for each token
 *     texts of 3 T tokens    --slide=T/2       all computed for each token */
#include <stdio.h>
#include <stdlib.h>
#include "clock.h"
#include "generate.h"
#include "kernels.h"

static GPT model;
static Tape tape;
static int B, length, *ids, *window;

static void cached(int slide)
{
    generate(&tape, &model, (Sampling){.temperature = 1, .slide = slide}, 1,
             ids, B, 1, length);
}

/* As text was written before there was a cache. */
static void full(int context)
{
    for (int t = 1; t < length; t++) {
        int T = least(t, context), V = model.config.vocab;
        tape_reset(&tape);
        for (int n = 0; n < B * T; n++)
            window[n] = ids[n / T * length + t - T + n % T];
        const real *logits = gpt_logits(&tape, &model, window, B, T)->data;
        for (int b = 0; b < B; b++) {
            Rng noise = rng_new(1, RNG_SAMPLE, (uint32_t)b);
            noise.counter[1] = (uint32_t)t;
            ids[b * length + t] =
                draw_token(&tape, logits + (long)(b * T + T - 1) * V, V,
                           (Sampling){.temperature = 1}, &noise);
        }
    }
}

static double speed(void (*write)(int), int n, int tokens, double seconds)
{
    double start = now(), t;
    long texts = 0;
    length = tokens;
    do {
        write(n);
        texts++;
    } while ((t = now() - start) < seconds);
    return (double)texts * (tokens - 1) / t;
}

int main(int argc, char **argv)
{
    int n[7];
    double seconds;
    Arena arena = {0};
    thread_setup(argv);
    if (argc != 8) {
        fprintf(stderr, "usage: sample_speed THREADS L D H T B V\n");
        return 64;
    }
    for (int i = 0; i < 7; i++) n[i] = atoi(argv[i + 1]);
    int T = n[4];
    B = n[5];
    thread_limit(n[0]);
    gpt_new(&model, (GPTConfig){.layers = n[1], .width = n[2], .heads = n[3],
                                .context = T, .vocab = n[6], .seed = 1});
    ids = arena_alloc(&arena, sizeof *ids * (size_t)(B * 3 * T));
    window = arena_alloc(&arena, sizeof *window * (size_t)(B * T));
    for (int i = 0; i < B * 3 * T; i++) ids[i] = 0;
    puts("ready");
    fflush(stdout);
    while (scanf("%lf", &seconds) == 1) {
        double fast = speed(cached, 1, T, seconds);
        double slow = speed(full, T, T, seconds);
        double fast_on = speed(cached, T / 2, 3 * T, seconds);
        printf("%.0f %.0f %.0f %.0f\n", fast, slow, fast_on,
               speed(full, T, 3 * T, seconds));
        fflush(stdout);
    }
    return 0;
}
