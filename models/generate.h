/* Text from a model: one token after another, each drawn from the model's
 * distribution given the last `context` tokens. */
#ifndef GENERATE_H
#define GENERATE_H

#include "cache.h"

/* Which tokens are drawn from: after the temperature, top_k and then top_p of
 * those. Of equal logits the lower id counts as the likelier. */
typedef struct {
    double temperature;     /* logits are divided by it; 0: the likeliest */
    int    top_k;           /* draw among the k likeliest; 0: among all */
    double top_p;           /* ... among the fewest likeliest that together
                               have the probability p (Holtzman et al. 2020);
                               1 or 0: among all */
    int    slide;           /* where a text is longer than the context: how
                               many tokens the window moves on at a time, at
                               most the context. 1 or 0: one, so that each
                               token is drawn given as many as there can be,
                               but all of them are computed again, for their
                               positions have changed. s: they are once in s
                               tokens, which are drawn given `context` - s + 1
                               to `context` tokens */
} Sampling;

/* One draw from softmax(logits / temperature) over V tokens. The tape gives
 * memory, for top_k and top_p. */
int draw_token(Tape *tp, const real *logits, int V, Sampling how, Rng *noise);

/* B streams side by side: fills ids[b*length + t] for t = have .. length - 1,
 * where `have` >= 1 tokens of each are given. tp is reset at each token and
 * must not be recording. Stream b draws from (seed, RNG_SAMPLE, b). */
void generate(Tape *tp, const GPT *m, Sampling how, uint64_t seed,
              int *ids, int B, int have, int length);

/* The same token by token, for who wants to see each as it comes. */
typedef struct {
    Cache    cache;
    Sampling how;
    uint64_t seed;
    int      first;         /* token at which the window begins */
    double   size;          /* of the model */
} Writer;

/* B streams; what it needs is from the arena. */
void writer_new(Writer *w, Arena *a, const GPT *m, Sampling how,
                uint64_t seed, int B);

/* Fills in ids[b*length + t] of each stream b, where all before t are given,
 * and since the last call none but t - 1 is new. */
void writer_next(Tape *tp, Writer *w, int *ids, int length, int t);

#endif
