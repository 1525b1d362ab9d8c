/* A run, read back from its directory: config.json and metrics.jsonl. Numbers
 * that are not there, or null, are NaN. */
#ifndef RUNLOG_H
#define RUNLOG_H

#include "json.h"

/* What the probe saw of one quantity: a number for each sublayer, and one
 * more if it saw the end of the stream. */
typedef struct { const char *name; int n; const double *value; } LookColumn;
typedef struct { double step; int n; const LookColumn *column; } Look;

typedef struct {
    const char *dir;
    const Json *flags;          /* the configuration; NULL: there is none */
    const char *corpus;         /* the SHA-256 of its text, or NULL */
    double uniform, unigram, bigram, entropy;   /* nats per character */
    long n;                     /* steps that were written down */
    double *step, *loss, *rate, *grad_norm, *speed, *val_loss;      /* (n) */
    const char **sample;        /* (n), NULL where there is none */
    long nlook;
    Look *look;                 /* (nlook), by step */
    double whole;               /* loss on the whole validation part */
    const char *verdict;        /* NULL: the run has not come to its end */
} RunLog;

/* Everything into the arena. A last line without its newline is still being
 * written, and left out. EXIT_NOINPUT, EXIT_DATA. */
RunLog runlog_read(Arena *a, const char *dir);

/* The column of this name; NULL if the look has none. */
const LookColumn *look_column(const Look *look, const char *name);

/* A flag's value as text; NULL: it has none. */
const char *runlog_flag(const RunLog *run, const char *name);

#endif
