/* The configuration of a run: its defaults, its flags, and the file
 * config.json in which `train` leaves it for the other programs. */
#ifndef CONFIG_H
#define CONFIG_H

#include "flags.h"
#include "gpt.h"
#include "optim.h"
#include "text.h"

typedef struct {
    GPTConfig   model;              /* vocab comes from the corpus */
    OptimConfig optim;
    Schedule    schedule;
    double      grad_clip;          /* 0: none */
    int         batch;              /* sequences in a step */
    int         eval_interval, eval_iters, log_interval, probe_interval;
    const char *data, *out;
    bool        newline_lf;
    int         threads;            /* 0: all cores */
    bool        profile;
} Config;

extern Config config;
extern const Flag config_flags[];

/* After flags_parse: fills in the defaults that depend on other flags, and
 * refuses what does not go together (EXIT_USAGE). */
void config_resolve(void);

/* The corpus that --data names, into the arena. */
Text config_text(Arena *a);

/* DIR/NAME, valid until the next call but one. EXIT_CANTCREATE if too long. */
const char *path_in(const char *dir, const char *name);

/* DIR/config.json: every flag, the corpus (SHA-256 of its bytes, lengths,
 * reference lines in nats per character) and the vocabulary. EXIT_CANTCREATE,
 * EXIT_IO. */
void config_save(const char *dir, const Text *text);

/* Reads it back: sets `config`, and returns the vocabulary, as a Text without
 * characters. EXIT_NOINPUT, EXIT_DATA. */
Text config_load(Arena *a, const char *dir);

#endif
