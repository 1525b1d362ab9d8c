/* With what a run of `train` starts: weights that are drawn, those of another
 * run (--init-from), or a checkpoint of its own (--resume). What does not go
 * together is refused here, before the first step. */
#ifndef START_H
#define START_H

#include "checkpoint.h"
#include "metrics.h"

typedef struct {
    bool goes_on;               /* --resume */
    bool has_weights;           /* that, or --init-from */
    Checkpoint from;            /* where they are from */
    Progress at;                /* how far the run is */
    Arena files;
} Start;

/* In this order. Opens the checkpoint and completes config, whose strings then
 * are in the run's arena; makes the corpus fit; fills in what is saved;
 * prepares OUT and its metrics. EXIT_USAGE, EXIT_NOINPUT, EXIT_DATA,
 * EXIT_CONFIG, EXIT_CANTCREATE, EXIT_IO. */
void start_open(Start *s, Arena *run);
void start_text(const Start *s, Arena *run, Text *text);
void start_weights(const Start *s, GPT *m, Optim *o);
void start_output(Start *s, Metrics *metrics, const Text *text);

#endif
