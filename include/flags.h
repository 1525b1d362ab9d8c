/* The command line, from a table: one row a flag, and parsing, help, the
 * printed configuration and the saved one all read the same row.
 *
 *     static int layers = 6;
 *     static double dropout = 0;
 *     static const Flag flags[] = {
 *         FLAG_GROUP("Model"),
 *         FLAG_INT("layers", "n_layer", &layers, "[1,1000]", "blocks"),
 *         FLAG_REAL("dropout", NULL, &dropout, "[0,1)", "share dropped"),
 *         FLAG_END
 *     };
 *
 * On the command line: --layers=6 or --layers 6; - and _ are alike; the alias
 * is the same flag, with one dash (-o) if it is one letter. A boolean takes
 * its value after = only (--zero-init, --zero-init=no, --no-zero-init).
 * Nothing is guessed, shortened or given twice: every mistake ends with
 * EXIT_USAGE and a line that says what would be right. Numbers are read and
 * written in the C locale: no program here calls setlocale. */
#ifndef FLAGS_H
#define FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PLUMB_VERSION "0.2"

enum { FLAGS_MAX = 128,         /* rows of a table */
       FLAG_TEXT = 32 };        /* bytes of a number as text */

typedef enum {
    KIND_END, KIND_GROUP, KIND_INT, KIND_SEED, KIND_REAL, KIND_BOOL,
    KIND_STRING, KIND_CHOICE
} FlagKind;

typedef struct {
    FlagKind kind;
    const char *name, *alias;   /* without dashes; alias may be NULL */
    union {                     /* where the value is, holding the default */
        void *any;
        int *i;
        uint64_t *u;
        double *d;
        bool *b;
        const char **s;         /* never NULL; set to a part of argv */
    } value;
    const char *range;          /* an interval, as "[1,1000]" or "(0,inf)" */
    const void *choices;        /* names, one every stride bytes, then NULL */
    size_t stride;
    const char *help;           /* a few words, lower case */
} Flag;

#define FLAG_GROUP(heading) {.kind = KIND_GROUP, .name = (heading)}
#define FLAG_END {.kind = KIND_END}
#define FLAG_ROW_(KIND, n, a, h) \
    .kind = (KIND), .name = (n), .alias = (a), .help = (h)

/* digits only, for int *p; the interval has two finite ends */
#define FLAG_INT(n, a, p, interval, h) \
    {FLAG_ROW_(KIND_INT, n, a, h), .value.i = (p), .range = (interval)}
/* any number of 64 bits, for uint64_t *p */
#define FLAG_SEED(n, a, p, h) \
    {FLAG_ROW_(KIND_SEED, n, a, h), .value.u = (p)}
/* finite and decimal, with or without point and exponent, for double *p */
#define FLAG_REAL(n, a, p, interval, h) \
    {FLAG_ROW_(KIND_REAL, n, a, h), .value.d = (p), .range = (interval)}
/* true false yes no on off 1 0, for bool *p */
#define FLAG_BOOL(n, a, p, h) \
    {FLAG_ROW_(KIND_BOOL, n, a, h), .value.b = (p)}
/* any text, the empty one too, for const char **p */
#define FLAG_STRING(n, a, p, h) \
    {FLAG_ROW_(KIND_STRING, n, a, h), .value.s = (p)}
/* index into list, for int *p. list: an array of names, or of structs that
 * begin with one, ended by a NULL name. */
#define FLAG_CHOICE(n, a, p, list, h) \
    {FLAG_ROW_(KIND_CHOICE, n, a, h), .value.i = (p), \
     .choices = (list), .stride = sizeof *(list)}

/* Sets the values from argv. --help and --version (before any --) print to
 * stdout and exit with 0. about: what the program does, in a line. operands:
 * how the usage line shows them, as "[CLAIM ...]", or NULL: none are taken.
 * Returns how many there are, moved to argv[1], argv[2], ... */
int flags_parse(const Flag *flags, const char *about, const char *operands,
                int argc, char **argv);

/* Was the flag whose value this is on the command line? */
bool flags_given(const void *value);

/* The configuration as it stands: for people, wrapped to 80 columns, a * at
 * what was given; and as members of a JSON object, without the braces. */
void flags_print(FILE *out, const Flag *flags);
void flags_json(FILE *out, const Flag *flags);

/* One flag, for a configuration that is read back. find: by name or alias
 * name[0..n), NULL if there is none. set: false, and nothing is set, if text
 * is no value in range; a string flag keeps the pointer. text: in buffer, or
 * where the flag has it; set takes it back exactly. */
const Flag *flags_find(const Flag *flags, const char *name, size_t n);
bool flags_set(const Flag *f, const char *text);
const char *flags_text(const Flag *f, char buffer[FLAG_TEXT]);

#endif
