/* A stochastic context-free grammar written as a page of text, and three
 * readers of that page: one writes texts, one computes their entropy, one
 * parses. They cannot drift apart, because there is nothing else to read.
 *
 * The page is an array of rows. A row of weight 0 names a symbol; the rows
 * under it are its productions, each chosen with probability
 * weight / (sum of the symbol's weights). In a production stand
 *
 *     <name>    choose one of that symbol's productions, and write it
 *     [name]    write again what was chosen for that symbol last
 *
 * Words that bend have several forms, in the same order in the head and in
 * the rows. Each form is a name of its own, and choosing a word chooses all
 * of its forms: this is how a page makes words agree.
 *
 *     {0, "rhyme"},    {1, "<The cat> lost [his] hat."},
 *     {0, "the cat/his"},    {2, "the cat/his"}, {1, "two mice/their"},
 *
 * A name with a capital where the head has none writes its first letter so.
 *
 * Choosing what was chosen before is more than a context-free grammar can do,
 * and names that return need it; but it adds no choice, so no entropy.
 *
 * Two rules make everything here short:
 * - A symbol chooses only symbols below it. Texts are finite, and entropy is
 *   a recursion that ends. (Checked when the page is compiled.)
 * - No text of one production begins with a text of another production of
 *   the same symbol: a prefix code, like Huffman's. So a text is read from
 *   left to right without looking ahead, and has exactly one derivation: the
 *   entropy of the choices IS the entropy of the text. (grammar_test.c proves
 *   it for the page in story.c.) */
#ifndef GRAMMAR_H
#define GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>
#include "rng.h"

typedef struct { int weight; const char *text; } Row;

enum { MAX_SYMBOLS = 128, MAX_PRODUCTIONS = 800, MAX_PARTS = 2048,
       MAX_CHOICES = 512 };

/* A part of a production: letters, or a reference. */
typedef struct {
    const char *text;       /* LETTERS: these, `length` of them */
    int length;
    enum { LETTERS, CHOOSE, RECALL } kind;
    int symbol, form;       /* CHOOSE, RECALL: of what, and in which form */
    bool capital;
} Part;

typedef struct { int weight, part, parts; } Production;

typedef struct {
    const char *name;       /* the head: its forms, separated by / */
    int forms, production, productions, weight;     /* weight: their sum */
    bool line;              /* somewhere on the page it is followed by \n */
} Symbol;

typedef struct {
    int symbols, productions, parts;
    Symbol symbol[MAX_SYMBOLS];
    Production production[MAX_PRODUCTIONS];
    Part part[MAX_PARTS];
} Grammar;

/* The leftmost derivation: which production was chosen, in order of choice.
 * (An index into Grammar.production, so it tells the symbol as well.) */
typedef struct { int choices; short production[MAX_CHOICES]; } Derivation;

/* What a reader knows of the words chosen so far: bit k of may[s] is set if
 * the last choice for symbol s may have been its k-th production. */
typedef struct { uint64_t may[MAX_SYMBOLS]; } Memory;

/* A page with a mistake (an unknown name, a symbol that chooses one above,
 * a missing form) ends the program with the row's text. */
void grammar_compile(Grammar *g, const Row *page, int rows);

/* Writes a text of the first symbol to out, its first n bytes if it is
 * longer. Returns how many were written. d: the choices made, or NULL. */
long grammar_write(const Grammar *g, Rng *r, char *out, long n,
                   Derivation *d);

/* Of all texts of a symbol: entropy in nats, mean length in characters. */
double grammar_entropy(const Grammar *g, int symbol);
double grammar_length(const Grammar *g, int symbol, int form);

/* -log of the probability of these choices, in nats. */
double grammar_nats(const Grammar *g, const Derivation *d);

/* Reads a text of the symbol from the beginning of text[0..n). Returns its
 * length, or -1 if there is none; only then memory stays as it was. d as
 * above. Start from grammar_forget's memory, in which every word is open. */
long grammar_parse(const Grammar *g, int symbol, const char *text, long n,
                   Memory *m, Derivation *d);
void grammar_forget(Memory *m);

/* The probability that the n characters at a random place of an endless text
 * (of texts of the first symbol, one after the other) are these. */
double grammar_window(const Grammar *g, const char *text, long n);

#endif
