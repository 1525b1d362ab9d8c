/* Cache: a text goes on without being computed again.
 *
 * No token sees what comes after it, so its keys and values never change, and
 * of what is computed for it a later token uses nothing else. They are kept,
 * and a token more costs one row of the model instead of all rows so far. The
 * logits are, to the last bit, those of gpt_logits: every row is computed by
 * the same sums in the same order. */
#ifndef CACHE_H
#define CACHE_H

#include "gpt.h"

typedef struct {
    GPT   model;            /* the one that it is made for, with the same
                               tensors, but each attention has a past */
    Past *past;             /* one for each layer */
    int   B, n;             /* sequences; tokens of each that it holds. To
                               forget the last of them, or all, lower n */
} Cache;

/* For B sequences of at most `context` tokens, from an arena. */
void cache_new(Cache *c, Arena *a, const GPT *m, int B);

/* Logits (B,V) of the last of T more tokens, ids[b*T + t], of each sequence.
 * The tape must not be recording. */
Tensor *cache_logits(Tape *tp, Cache *c, const int *ids, int T);

#endif
