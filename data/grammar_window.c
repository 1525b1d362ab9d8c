/* What a reader who sees only a window of a text can know: the probability
 * that the letters at a random place of an endless text are these.
 *
 * Where the window begins is unknown, so every place where it may begin is
 * tried: every letter of every production, in every way to get there. Most
 * fail at the first letter. From each the text is written on, as by the
 * writer, but with all dice at once: where the writer would choose, the
 * probabilities of the choices are added up. */
#include <string.h>
#include "grammar.h"

typedef struct {
    const Grammar *g;
    Memory m;
} Window;

/* What is still to be written: the rest of a production, its first part from
 * `letter` on, and then what was to follow the symbol that it belongs to. */
typedef struct Rest {
    const Part *part;
    int parts, letter;
    bool capital;               /* the first letter is one, whatever the page */
    const struct Rest *below;
} Rest;

static Rest next(const Rest *r)
{
    return (Rest){r->part + 1, r->parts - 1, 0, false, r->below};
}

/* Production k of symbol s in the form that part p wants, then `below`. */
static Rest expand(const Grammar *g, const Part *p, int k, bool capital,
                   const Rest *below)
{
    const Symbol *s = &g->symbol[p->symbol];
    const Production *q = &g->production[s->production + k];
    if (s->forms == 1)
        return (Rest){g->part + q->part, q->parts, 0, capital, below};
    return (Rest){g->part + q->part + p->form, 1, 0, capital, below};
}

/* How many letters are common to the first part and to text[0..n), if that
 * is all of one of them, else -1. */
static long match(const Rest *r, const char *text, long n)
{
    const Part *p = r->part;
    long length = p->length - r->letter;
    if (length > n) length = n;
    for (long i = 0; i < length; i++) {
        char c = p->text[r->letter + i];
        bool raise = r->capital && r->letter + i == 0 && c >= 'a' && c <= 'z';
        if ((raise ? c - 'a' + 'A' : c) != text[i]) return -1;
    }
    return length;
}

static double share(const Grammar *g, const Symbol *s, uint64_t may)
{
    int weight = 0;
    for (int k = 0; k < s->productions; k++)
        if (may >> k & 1) weight += g->production[s->production + k].weight;
    return (double)weight / s->weight;
}

static double goes_on(Window *w, const Rest *r, const char *text, long n);

/* Sum over the productions that may be chosen. */
static double chosen(Window *w, const Rest *r, const char *text, long n)
{
    const Part *p = r->part;
    const Symbol *s = &w->g->symbol[p->symbol];
    uint64_t *may = &w->m.may[p->symbol], before = *may;
    Rest after = next(r);
    double sum = 0;
    for (int k = 0; k < s->productions; k++) {
        Rest inside = expand(w->g, p, k, r->capital || p->capital, &after);
        *may = (uint64_t)1 << k;
        sum += share(w->g, s, *may) * goes_on(w, &inside, text, n);
    }
    *may = before;
    return sum;
}

/* P(the word is one that stands here, if it is one of those it may be). */
static double recalled(Window *w, const Rest *r, const char *text, long n)
{
    const Part *p = r->part;
    const Symbol *s = &w->g->symbol[p->symbol];
    uint64_t *may = &w->m.may[p->symbol], before = *may, agree = 0;
    Rest after = next(r);
    long length = 0;
    for (int k = 0; k < s->productions; k++) {
        Rest word = expand(w->g, p, k, r->capital || p->capital, &after);
        if (!(before >> k & 1) || match(&word, text, n) < 0) continue;
        agree |= (uint64_t)1 << k;
        length = match(&word, text, n);
    }
    if (!agree) return 0;
    *may = agree;
    double sum = share(w->g, s, agree) / share(w->g, s, before)
               * goes_on(w, &after, text + length, n - length);
    *may = before;
    return sum;
}

/* P(what is written from here on begins with text[0..n)). */
static double goes_on(Window *w, const Rest *r, const char *text, long n)
{
    static const Part story = {.kind = CHOOSE};
    const Rest another = {&story, 1, 0, false, NULL};
    while (r && r->parts == 0) r = r->below;
    if (n == 0) return 1;
    if (!r) r = &another;
    if (r->part->kind == CHOOSE) return chosen(w, r, text, n);
    if (r->part->kind == RECALL) return recalled(w, r, text, n);
    Rest after = next(r);
    long length = match(r, text, n);
    return length < 0 ? 0 : goes_on(w, &after, text + length, n - length);
}

/* The expected number of places in r's production, and in what it chooses,
 * from where text[0..n) is written; r itself is reached with probability p. */
static double places(Window *w, const Rest *r, double p, const char *text,
                     long n)
{
    if (r->parts == 0) return 0;
    Rest after = next(r), here = *r;
    double sum = places(w, &after, p, text, n);
    if (r->part->kind == LETTERS) {
        for (; here.letter < r->part->length; here.letter++)
            sum += p * goes_on(w, &here, text, n);
        return sum;
    }
    const Symbol *s = &w->g->symbol[r->part->symbol];
    uint64_t *may = &w->m.may[r->part->symbol], before = *may;
    for (int k = 0; k < s->productions; k++) {
        Rest inside = expand(w->g, r->part, k,
                             r->capital || r->part->capital, &after);
        *may = (uint64_t)1 << k;
        sum += places(w, &inside, p * share(w->g, s, *may), text, n);
    }
    *may = before;
    return sum;
}

double grammar_window(const Grammar *g, const char *text, long n)
{
    Window w = {.g = g};
    Part start = {.kind = CHOOSE};
    Rest r = {&start, 1, 0, false, NULL};
    grammar_forget(&w.m);
    return places(&w, &r, 1, text, n) / grammar_length(g, 0, 0);
}
