/* What a run has come to, beside what its corpus allows. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdio.h>
#include "text.h"

/* A model at the unigram level is stuck if the gradient does not reach its
 * first layer any more, as when tokens collapse onto each other; else it is
 * young. */
typedef struct {
    double cosine;      /* of tokens, at the end of the stream */
    double left;        /* |gradient| before the first layer over that after
                           the last */
} Path;

/* In words, for a loss in nats per character on the validation part. Valid
 * until the next call. */
const char *outcome_verdict(const Text *t, double loss, Path path);

/* The reference lines and the loss, as bars. */
void outcome_print(FILE *f, const Text *t, double loss);

#endif
