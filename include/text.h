/* The corpus: a text as token ids, one for each character.
 *
 * A character is a Unicode code point, NUL and carriage return included; ids
 * count the distinct ones in code-point order. The first int(0.9 n) are the
 * training part and the rest is for validation, as in nanoGPT. */
#ifndef TEXT_H
#define TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arena.h"
#include "rng.h"
#include "sha256.h"

/* Cross-entropies are in nats per character, on the validation part. N counts
 * in the training part, a = 1/10 is added to every count (Lidstone):
 *     uniform  ln V
 *     unigram  -mean_t ln p(x_t)          p(c)   = (N(c)  + a) / (N    + aV)
 *     bigram   -mean_t ln p(x_t|x_{t-1})  p(c|b) = (N(bc) + a) / (N(b) + aV)
 * where N = sum_c N(c), N(b) = sum_c N(bc). A model that knows how frequent
 * characters are and nothing else reaches the second line; one that sees the
 * character before, the third. */
typedef struct {
    const int *ids;             /* (n) */
    long n, ntrain;             /* characters in all, and to train on */
    int vocab;                  /* V, distinct characters */
    const uint32_t *code;       /* (V) code point of each id: increasing, but
                                   for the vocabulary of foreign weights */
    double uniform, unigram, bigram;
    double entropy;             /* where known, set by the caller; else 0 */
    char sha256[SHA256_HEX];    /* of the bytes, before anything is dropped */
} Text;

/* Reads a text into the arena. It must be UTF-8 (EXIT_DATA, with the byte
 * offset of the first error; a byte order mark at the start is dropped with
 * a notice on stderr), and each part must have context + 1 characters, an
 * input and its target (EXIT_DATA, with the length needed). newline_lf: CR LF
 * becomes LF; else it stays two characters. context >= 1. name is for
 * messages; bytes are not needed afterwards. */
Text text_from_bytes(Arena *arena, const char *name, const char *bytes,
                     size_t n, bool newline_lf, int context);
Text text_load(Arena *arena, const char *path, bool newline_lf, int context);

/* Draws windows of the characters from .. to - 1, with replacement: B times T
 * ids, and as targets the characters after them; (B,T) each. */
void text_batch(const Text *t, Rng noise, long from, long to, int B, int T,
                int *ids, int *targets);
/* One of them, that begins at `at`; (T) each. */
void text_window(const Text *t, long at, int T, int *ids, int *targets);

/* The ids of n bytes of UTF-8; returns how many, n at most. A character that
 * the vocabulary has not is named, with its byte offset: EXIT_DATA. name says
 * in the message whose bytes they are, as "--prompt". */
long text_encode(const Text *t, const char *name, const char *bytes, size_t n,
                 int *ids);

/* Numbers the characters as the vocabulary (vocab, code) of saved weights
 * does; name: the text's, for the message if it has none of them: EXIT_DATA.
 * The reference lines stay those of the text's own characters. */
void text_renumber(Arena *arena, Text *t, const char *name,
                   const Text *vocabulary);

/* Writes the character with this id as UTF-8; returns its bytes, 1 to 4. */
int text_decode(const Text *t, int id, char out[4]);

/* Where a text begins that nothing precedes: the id of the newline, or 0 if
 * the vocabulary has none. */
int text_start(const Text *t);

#endif
