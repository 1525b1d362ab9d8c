/* The three readers of a page: write, entropy, parse. Each is a recursion
 * over symbol, production, part. */
#include <string.h>
#include "die.h"
#include "grammar.h"
#include "kernels.h"

/* What a production writes in one form: a word that bends has one part for
 * each form; all other productions have one form, of any number of parts. */
typedef struct { const Part *part; int parts; } Run;

static Run run(const Grammar *g, const Symbol *s, int k, int form)
{
    const Production *p = &g->production[s->production + k];
    if (s->forms == 1)
        return (Run){g->part + p->part, p->parts};
    return (Run){g->part + p->part + form, 1};
}

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
}

/* ---- write ---- */

typedef struct {
    const Grammar *g;
    Rng *noise;
    char *out;
    long at, n;
    int chosen[MAX_SYMBOLS];        /* the last choice, -1: none so far */
    Derivation *d;
} Writer;

static int choose(Writer *w, const Symbol *s)
{
    const Production *p = &w->g->production[s->production];
    int left = (int)rng_below(w->noise, (uint32_t)s->weight), k = 0;
    while (left >= p[k].weight)
        left -= p[k++].weight;
    if (w->d) {
        CHECK(w->d->choices < MAX_CHOICES, "grammar: more than %d choices in "
              "a text; raise MAX_CHOICES", MAX_CHOICES);
        w->d->production[w->d->choices++] = (short)(s->production + k);
    }
    return k;
}

static void write_part(Writer *w, const Part *p)
{
    if (p->kind == LETTERS) {
        long n = p->length < w->n - w->at ? p->length : w->n - w->at;
        memcpy(w->out + w->at, p->text, (size_t)n);
        w->at += n;
        return;
    }
    const Symbol *s = &w->g->symbol[p->symbol];
    long start = w->at;
    if (p->kind == CHOOSE)
        w->chosen[p->symbol] = choose(w, s);
    CHECK(w->chosen[p->symbol] >= 0, "grammar: [%s] comes before <%s>",
          s->name, s->name);
    Run r = run(w->g, s, w->chosen[p->symbol], p->form);
    for (int i = 0; i < r.parts; i++)
        write_part(w, r.part + i);
    if (p->capital && start < w->n)
        w->out[start] = upper(w->out[start]);
}

long grammar_write(const Grammar *g, Rng *noise, char *out, long n,
                   Derivation *d)
{
    Writer w = {.g = g, .noise = noise, .out = out, .n = n, .d = d};
    for (int s = 0; s < g->symbols; s++)
        w.chosen[s] = -1;
    if (d) d->choices = 0;
    write_part(&w, &(Part){.kind = CHOOSE});
    return w.at;
}

/* ---- entropy ---- */

/* H(s) = sum_k p_k (-log p_k + sum of H over what production k chooses),
 * with p_k = w_k / W, and so sum_k p_k (-log p_k) = log W - sum p_k log w_k */
double grammar_entropy(const Grammar *g, int symbol)
{
    const Symbol *s = &g->symbol[symbol];
    double nats = klog((real)s->weight);
    for (int k = 0; k < s->productions; k++) {
        int weight = g->production[s->production + k].weight;
        double inside = -klog((real)weight);
        Run r = run(g, s, k, 0);
        for (int i = 0; i < r.parts; i++)
            if (r.part[i].kind == CHOOSE)
                inside += grammar_entropy(g, r.part[i].symbol);
        nats += weight * inside / s->weight;
    }
    return nats;
}

/* E(s) = sum_k p_k (sum of the lengths of the parts of production k). A word
 * written again counts with its mean length too: which word it is does not
 * depend on how often the story returns to it. */
double grammar_length(const Grammar *g, int symbol, int form)
{
    const Symbol *s = &g->symbol[symbol];
    double length = 0;
    for (int k = 0; k < s->productions; k++) {
        int weight = g->production[s->production + k].weight;
        double inside = 0;
        Run r = run(g, s, k, form);
        for (const Part *p = r.part; p < r.part + r.parts; p++)
            inside += p->kind == LETTERS
                    ? p->length : grammar_length(g, p->symbol, p->form);
        length += weight * inside / s->weight;
    }
    return length;
}

double grammar_nats(const Grammar *g, const Derivation *d)
{
    double nats = 0;
    for (int i = 0, s = 0; i < d->choices; i++, s = 0) {
        int k = d->production[i];
        while (k >= g->symbol[s].production + g->symbol[s].productions)
            s++;
        nats += klog((real)g->symbol[s].weight);
        nats -= klog((real)g->production[k].weight);
    }
    return nats;
}

/* ---- parse ---- */

typedef struct {
    const Grammar *g;
    const char *at, *end;
    Memory *m;
    Derivation *d;
} Parser;

static bool read_letters(Parser *r, const Part *p, bool capital)
{
    if (r->end - r->at < p->length)
        return false;
    char first = capital ? upper(p->text[0]) : p->text[0];
    if (*r->at != first || memcmp(r->at + 1, p->text + 1,
                                  (size_t)p->length - 1))
        return false;
    r->at += p->length;
    return true;
}

static bool read_run(Parser *r, Run parts, bool capital);

/* At most one production can match (a prefix code), so the first that does
 * is the right one, and nothing is ever taken back but a failed attempt. */
static bool read_chosen(Parser *r, const Part *p, bool capital)
{
    const Symbol *s = &r->g->symbol[p->symbol];
    const char *at = r->at;
    int choice = r->d->choices++;
    Memory before = *r->m;
    for (int k = 0; choice < MAX_CHOICES && k < s->productions; k++) {
        r->d->production[choice] = (short)(s->production + k);
        if (read_run(r, run(r->g, s, k, p->form), capital)) {
            r->m->may[p->symbol] = (uint64_t)1 << k;
            return true;
        }
        r->at = at;
        r->d->choices = choice + 1;
        *r->m = before;
    }
    r->d->choices = choice;
    return false;
}

/* Of the words that it may be, those remain whose form stands here. */
static bool read_recalled(Parser *r, const Part *p, bool capital)
{
    const Symbol *s = &r->g->symbol[p->symbol];
    const char *at = r->at, *after = at;
    uint64_t may = r->m->may[p->symbol], remain = 0;
    for (int k = 0; k < s->productions; k++) {
        r->at = at;
        if (may >> k & 1 &&
            read_letters(r, run(r->g, s, k, p->form).part, capital)) {
            remain |= (uint64_t)1 << k;
            after = r->at;
        }
    }
    r->at = after;
    r->m->may[p->symbol] = remain;
    return remain != 0;
}

/* capital: the first part's first letter is one, whatever the page says. */
static bool read_run(Parser *r, Run parts, bool capital)
{
    for (int i = 0; i < parts.parts; i++) {
        const Part *p = parts.part + i;
        bool c = p->capital || (capital && i == 0);
        if (!(p->kind == LETTERS ? read_letters(r, p, c) :
              p->kind == CHOOSE ? read_chosen(r, p, c) :
              read_recalled(r, p, c)))
            return false;
    }
    return true;
}

void grammar_forget(Memory *m)
{
    memset(m, 0xff, sizeof *m);
}

long grammar_parse(const Grammar *g, int symbol, const char *text, long n,
                   Memory *m, Derivation *d)
{
    Derivation unwanted;
    Parser r = {g, text, text + n, m, d ? d : &unwanted};
    r.d->choices = 0;
    Part start = {.kind = CHOOSE, .symbol = symbol};
    return read_run(&r, (Run){&start, 1}, false) ? (long)(r.at - text) : -1;
}
