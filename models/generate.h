/* Text from a model: one token after another, each drawn from the model's
 * distribution given the last `context` tokens. */
#ifndef GENERATE_H
#define GENERATE_H

#include "gpt.h"

typedef struct {
    double temperature;     /* logits are divided by it; 0: the likeliest */
    int    top_k;           /* draw among the k likeliest; 0: among all */
} Sampling;

/* One draw from softmax(logits / temperature) over V tokens. Of equal logits
 * the lower id counts as the likelier. */
int draw_token(const real *logits, int V, Sampling how, Rng *noise);

/* B streams side by side: fills ids[b*length + t] for t = have .. length - 1,
 * where `have` >= 1 tokens of each are given. tp is reset at each token and
 * must not be recording. Stream b draws from (seed, RNG_SAMPLE, b). */
void generate(Tape *tp, const GPT *m, Sampling how, uint64_t seed,
              int *ids, int B, int have, int length);

#endif
