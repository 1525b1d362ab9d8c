/* Checkpoints: a run as it stood after a step, in a directory of its own.
 *
 *   OUT/step-N/model.safetensors      the weights
 *              optim.safetensors      the optimiser's moments
 *              config.json            the model for transformers, the flags,
 *                                     the corpus, and how far the run is
 *              tokenizer.json, tokenizer_config.json
 *              MANIFEST               version; SHA-256, bytes, name of each
 *                                     of these, and of its own lines
 *   OUT/best                          a link to the one with the lowest
 *                                     validation loss
 *
 * Random numbers are a function of seed, stream and step, so that is all a
 * run needs to go on as if it had never stopped, to the last bit. */
#ifndef CHECKPOINT_H
#define CHECKPOINT_H

#include "config.h"
#include "disk.h"
#include "sha256.h"

/* How far a run is. */
typedef struct {
    long   step;                /* the last that is done */
    bool   evaluated;           /* its evaluation, if one was due, as well */
    double loss;                /* of the step */
    double val_loss;            /* of the last evaluation; 0 before it */
    long   best;                /* step of the lowest; 0 before it */
    double best_loss;
    uint64_t metrics;           /* bytes of metrics.jsonl up to here */
    Sha256 curve;               /* of the training losses, in order */
} Progress;

/* Writes OUT/step-N and, if N is the best step, points OUT/best to it. When it
 * returns, the checkpoint is on the disk; only then are older ones removed:
 * all but the last `keep` and the best. EXIT_IO, and the older ones stay. */
void checkpoint_save(const char *out, int keep, const Progress *p,
                     const Text *text, const GPT *m, const Optim *o);

enum { CHECKPOINT_FILES = 5 };

typedef struct { const char *bytes; size_t n; } Bytes;

/* A checkpoint that was opened: every byte was compared with the MANIFEST
 * before one was used. */
typedef struct {
    char dir[DISK_PATH];
    bool foreign;               /* transformers wrote it: no MANIFEST */
    Bytes file[CHECKPOINT_FILES];
    const Json *config;
    Text text;                  /* the vocabulary, and no characters */
    Progress progress;
    const long *damaged;        /* steps of newer ones that are */
    int ndamaged;
} Checkpoint;

/* Opens DIR: a checkpoint, a run (its newest checkpoint), or a folder that
 * transformers wrote, with or without tokenizer.json. EXIT_NOINPUT,
 * EXIT_DATA. */
void checkpoint_open(Arena *a, const char *dir, Checkpoint *c);

/* The same, to go on from. If the newest one of a run is damaged, says so on
 * stderr and takes the one before it. */
void checkpoint_resume(Arena *a, const char *dir, Checkpoint *c);

/* Sets config, config.model.vocab too; see config_take. EXIT_DATA,
 * EXIT_CONFIG. */
void checkpoint_config(const Checkpoint *c, ConfigPart part);

/* The weights, into a model of its shape; the optimiser's moments.
 * EXIT_DATA. */
void checkpoint_weights(const Checkpoint *c, GPT *m);
void checkpoint_moments(const Checkpoint *c, Optim *o, const GPT *m);

/* What is in it, for people; m: the model, config set. */
void checkpoint_info(FILE *f, const Checkpoint *c, const GPT *m);

#endif
