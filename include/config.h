/* The configuration of a run: its defaults, its flags, and the file
 * config.json in which `train` leaves it for the other programs. */
#ifndef CONFIG_H
#define CONFIG_H

#include "flags.h"
#include "gpt.h"
#include "json.h"
#include "optim.h"
#include "text.h"

typedef struct {
    GPTConfig   model;              /* vocab comes from the corpus */
    OptimConfig optim;
    Schedule    schedule;
    double      grad_clip;          /* 0: none */
    int         batch;              /* sequences in a step */
    int         eval_interval, eval_iters, log_interval, probe_interval;
    int         save_interval;      /* 0: eval_interval */
    int         keep;               /* checkpoints */
    const char *data, *out;
    const char *resume, *init_from; /* directories; empty: neither */
    int         newline;            /* 1: CR LF becomes LF */
    int         threads;            /* 0: all cores */
    bool        profile;
} Config;

extern Config config;
extern const Flag config_flags[];

/* After flags_parse: the defaults that depend on other flags, for a run that
 * begins. And, when all flags are set, what must hold between them. Both
 * EXIT_USAGE. */
void config_begin(void);
void config_check(void);

/* The corpus that --data names, into the arena. */
Text config_text(Arena *a);

/* Members of a JSON object: every flag, the corpus (SHA-256 of its bytes,
 * lengths, reference lines in nats per character). As DIR/config.json. */
void config_write(FILE *f, const Text *text);
void config_save(const char *dir, const Text *text);

/* Sets config to what they say; path: the file's, for messages. But what is of
 * this machine (out, threads, ...) stays, and a flag that was given must say
 * the same (EXIT_CONFIG), unless it may change in a run that goes on. SHAPE:
 * only what weights depend on. EXIT_DATA. */
typedef enum { CONFIG_ALL, CONFIG_SHAPE } ConfigPart;
void config_take(const char *path, const Json *config, ConfigPart part);

/* The same for a model that was described elsewhere. EXIT_CONFIG. */
void config_take_model(const char *path, const GPTConfig *m);

#endif
