#include <string.h>
#include "generate.h"
#include "kernels.h"

/* Is token i among the k likeliest? All are where k is 0. */
static bool among_top(const real *logits, int V, int i, int k)
{
    int above = 0;
    if (k == 0) return true;
    for (int j = 0; j < V && above < k; j++)
        above += logits[j] > logits[i] || (j < i && logits[j] == logits[i]);
    return above < k;
}

int draw_token(const real *logits, int V, Sampling how, Rng *noise)
{
    real m = row_max(V, logits);
    double total = 0, left, u = rng_uniform(noise);
    int last = 0;
    if (how.temperature == 0) {
        for (int i = 1; i < V; i++)
            if (logits[i] > logits[last]) last = i;
        return last;
    }
    for (int pass = 0; pass < 2; pass++) {
        left = u * total;
        for (int i = 0; i < V; i++) {
            if (!among_top(logits, V, i, how.top_k)) continue;
            double x = (double)(logits[i] - m) / how.temperature;
            double p = (double)kexp((real)x);
            if (pass == 0) total += p;
            else if ((left -= p) < 0) return i;
            else if (p > 0) last = i;
        }
    }
    return last;        /* u * total rounded up to the end */
}

void generate(Tape *tp, const GPT *m, Sampling how, uint64_t seed,
              int *ids, int B, int have, int length)
{
    int V = m->config.vocab, context = m->config.context;
    for (int t = have; t < length; t++) {
        int T = least(t, context);
        tape_reset(tp);
        int *window = tape_alloc(tp, sizeof(int) * (size_t)(B * T));
        for (int b = 0; b < B; b++)
            memcpy(window + b * T, ids + b * length + t - T,
                   sizeof(int) * (size_t)T);
        const real *logits = gpt_logits(tp, m, window, B, T)->data;
        for (int b = 0; b < B; b++) {
            Rng noise = rng_new(seed, RNG_SAMPLE, (uint32_t)b);
            noise.counter[1] = (uint32_t)t;
            ids[b * length + t] =
                draw_token(logits + (long)(b * T + T - 1) * V, V, how, &noise);
        }
    }
}
