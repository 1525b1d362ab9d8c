/* The built-in corpus: a language of small stories, generated from a seed.
 * Its grammar is known, so three things can be said of it exactly that can
 * only be guessed of a natural text: how low a model's loss can go, what a
 * given text costs, and whether a sample is in the language.
 *
 * A story is 7 to 15 lines, each a sentence, and an empty line. */
#ifndef STORY_H
#define STORY_H

#include <stdint.h>
#include "grammar.h"

enum { STORY_SEED = 1, STORY_BYTES = 1000000 };     /* the default corpus */

/* The language, for the functions of grammar.h. Its first symbol is a
 * story. */
void story_grammar(Grammar *g);

/* Fills out[0..n) with stories; the last one is cut where the space ends.
 * ASCII, no NUL at the end. The same bytes on every machine, and a longer
 * text begins with the shorter one of the same seed. */
void story_write(char *out, long n, uint64_t seed);

/* The entropy of the language: nats per character of an endless text. No
 * model's expected loss is lower, and one that remembers enough reaches it. */
double story_entropy(void);

/* What this very text costs a model that knows the grammar: the sum of
 * -log p, in nats, of the stories that stand in it from beginning to end.
 * *chars: how many characters these have (0: there are none). */
double story_nats(const char *text, long n, long *chars);

/* What text[given..n) costs a reader who knows the grammar, but sees a window
 * from a random place of an endless text and nothing of what was before:
 * -log P(text[0..n)) + log P(text[0..given)), in nats. Infinite where the
 * language has no such text. 0 <= given <= n <= 2000; takes a millisecond.
 * With given = 1 and n = context + 1, its mean over windows, divided by the
 * context, is the least loss per character that a model with that context can
 * reach. It is above story_entropy, because words that return were often
 * introduced before the window. */
double story_window_nats(const char *text, long given, long n);

/* Judges a text, a model's sample for one, that may begin and end anywhere.
 * What stands before the first newline and after the last is left out. */
typedef struct {
    long sentences;         /* lines */
    long correct;           /* those that the grammar can make */
    long consistent;        /* those that also agree with the names, things
                             * and words of the story up to there */
    long stories;           /* between two empty lines */
    long whole;             /* those that the grammar can make as a whole */
} StoryScore;
StoryScore story_judge(const char *text, long n);

#endif
