#include <stdio.h>
#include <string.h>
#include "die.h"
#include "disk.h"
#include "kernels.h"
#include "text.h"
#include "utf8.h"

/* -- bytes to characters ------------------------------------------------ */

/* The character at byte i; returns its bytes. */
static size_t character(const char *name, const char *bytes, size_t n,
                        size_t i, uint32_t *code)
{
    int length = utf8_decode(bytes + i, n - i, code);
    if (!length)
        die(EXIT_DATA, "%s: not UTF-8 at byte %zu (0x%02x)", name, i,
            (unsigned char)bytes[i]);
    return (size_t)length;
}

/* Code points; returns how many. */
static long decode(const char *name, const char *bytes, size_t n,
                   bool newline_lf, int *codes)
{
    size_t i = n >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
    long count = 0;
    if (i) fprintf(stderr, "%s: byte order mark dropped\n", name);
    while (i < n) {
        uint32_t code;
        i += character(name, bytes, n, i, &code);
        if (newline_lf && code == '\r' && i < n && bytes[i] == '\n') continue;
        codes[count++] = (int)code;
    }
    return count;
}

static long train_part(long n) { return (long)(0.9 * (double)n); }

static long shorter_part(long n)
{
    long train = train_part(n);
    return train < n - train ? train : n - train;
}

static void check_length(const char *name, long n, int context)
{
    long train = train_part(n), needed = 0;
    if (shorter_part(n) > context) return;
    while (shorter_part(needed) <= context) needed++;
    die(EXIT_DATA, "%s: too short with %ld characters: %ld to train on and "
        "%ld to validate; a context of %d needs %ld", name, n, train,
        n - train, context, needed);
}

/* Numbers the distinct code points, and makes ids of them. */
static void number(Arena *arena, Arena *scratch, Text *t, int *codes)
{
    int last = 0, v = 0;
    for (long i = 0; i < t->n; i++)
        if (codes[i] > last) last = codes[i];
    int *id = arena_alloc(scratch, ((size_t)last + 1) * sizeof *id);
    memset(id, 0, ((size_t)last + 1) * sizeof *id);
    for (long i = 0; i < t->n; i++) id[codes[i]] = 1;
    for (int c = 0; c <= last; c++) t->vocab += id[c];
    uint32_t *code = arena_alloc(arena, (size_t)t->vocab * sizeof *code);
    for (int c = 0; c <= last; c++)
        if (id[c]) code[v] = (uint32_t)c, id[c] = v++;
    for (long i = 0; i < t->n; i++) codes[i] = id[codes[i]];
    t->code = code;
    t->ids = codes;
}

/* -- reference lines ---------------------------------------------------- */

/* How often a pair of characters stands in the training and in the validation
 * part: a slot of a hash table. `next` is 1 more than the second character, 0
 * in a slot that is free. */
typedef struct { int before, next; long train, val; } Pair;
typedef struct { Pair *slot; int bits; } Pairs;

/* Room for twice as many pairs as there can be: a text may have as many
 * distinct characters as characters. */
static Pairs pairs_new(Arena *scratch, int V, long n)
{
    Pairs p = {.bits = 1};
    long most = V < n / V ? (long)V * V : n;
    while (1L << p.bits < 2 * most) p.bits++;
    size_t bytes = sizeof *p.slot << p.bits;
    p.slot = memset(arena_alloc(scratch, bytes), 0, bytes);
    return p;
}

/* The slot of a pair, or the free one where it belongs. The multiplier is
 * 2^64 over the golden ratio (Knuth, TAOCP 3, 6.4). */
static Pair *pair(const Pairs *p, int before, int next)
{
    uint64_t key = (uint64_t)before << 32 | (uint32_t)next;
    uint64_t i = key * 0x9e3779b97f4a7c15 >> (64 - p->bits);
    while (p->slot[i].next && (p->slot[i].next != next + 1
                              || p->slot[i].before != before))
        i = (i + 1) & ((1UL << p->bits) - 1);
    p->slot[i].before = before, p->slot[i].next = next + 1;
    return &p->slot[i];
}

/* Nats of `val` characters whose kind was seen `seen` times among `total`,
 * each of V kinds a tenth more. Sums are in double and in one order, ln the
 * project's own: the same on all machines. */
static double nats(long val, long seen, long total, int V)
{
    const double a = 0.1;
    real p = (real)(((double)seen + a) / ((double)total + a * V));
    return val ? -(double)val * (double)klog(p) : 0;
}

static void reference_lines(Arena *scratch, Text *t)
{
    const int V = t->vocab, *ids = t->ids;
    const long nval = t->n - t->ntrain;
    size_t bytes = 3 * (size_t)V * sizeof(long);
    long *train = memset(arena_alloc(scratch, bytes), 0, bytes);
    long *val = train + V, *followed = val + V;
    Pairs pairs = pairs_new(scratch, V, t->n);

    for (long i = 0; i < t->n; i++) (i < t->ntrain ? train : val)[ids[i]]++;
    for (long i = 1; i < t->ntrain; i++) {
        followed[ids[i-1]]++;
        pair(&pairs, ids[i-1], ids[i])->train++;
    }
    for (long i = t->ntrain + 1; i < t->n; i++)
        pair(&pairs, ids[i-1], ids[i])->val++;

    t->uniform = (double)klog((real)V);
    for (int c = 0; c < V; c++)
        t->unigram += nats(val[c], train[c], t->ntrain, V);
    t->unigram /= (double)nval;
    for (long i = 0; i < 1L << pairs.bits; i++) {
        const Pair *p = &pairs.slot[i];
        if (p->next)
            t->bigram += nats(p->val, p->train, followed[p->before], V);
    }
    t->bigram /= (double)(nval - 1);
}

/* -- in and out --------------------------------------------------------- */

static Text new_text(Arena *arena, Arena *scratch, const char *name,
                     const char *bytes, size_t n, bool newline_lf, int context)
{
    Text t = {0};
    int *codes = arena_alloc(arena, n * sizeof *codes);
    CHECK(context >= 1, "text: context %d, must be at least 1", context);
    sha256(bytes, n, t.sha256);
    t.n = decode(name, bytes, n, newline_lf, codes);
    t.ntrain = train_part(t.n);
    check_length(name, t.n, context);
    number(arena, scratch, &t, codes);
    reference_lines(scratch, &t);
    arena_free(scratch);
    return t;
}

Text text_from_bytes(Arena *arena, const char *name, const char *bytes,
                     size_t n, bool newline_lf, int context)
{
    return new_text(arena, &(Arena){0}, name, bytes, n, newline_lf, context);
}

Text text_load(Arena *arena, const char *path, bool newline_lf, int context)
{
    Arena scratch = {0};
    size_t n;
    char *bytes = disk_read(&scratch, path, &n);
    return new_text(arena, &scratch, path, bytes, n, newline_lf, context);
}

void text_window(const Text *t, long at, int T, int *ids, int *targets)
{
    memcpy(ids, t->ids + at, sizeof *ids * (size_t)T);
    memcpy(targets, t->ids + at + 1, sizeof *targets * (size_t)T);
}

void text_batch(const Text *t, Rng noise, long from, long to, int B, int T,
                int *ids, int *targets)
{
    uint32_t places = (uint32_t)(to - from - T);
    for (int b = 0; b < B; b++)
        text_window(t, from + (long)rng_below(&noise, places), T, ids + b * T,
                    targets + b * T);
}

static int id_of(const Text *t, uint32_t code)
{
    int i = 0;
    while (i < t->vocab && t->code[i] != code) i++;
    return i < t->vocab ? i : -1;
}

/* The character, if it can be seen, and its number. */
static const char *show(uint32_t c)
{
    static char text[32];
    char bytes[5] = "";
    bool visible = c > 32 && (c < 127 || c >= 160);
    if (visible) utf8_encode(c, bytes);
    snprintf(text, sizeof text, "%s%sU+%04lX", bytes, visible ? " " : "",
             (unsigned long)c);
    return text;
}

long text_encode(const Text *t, const char *name, const char *bytes, size_t n,
                 int *ids)
{
    long count = 0;
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t c;
        length = character(name, bytes, n, i, &c);
        int id = id_of(t, c);
        if (id < 0)
            die(EXIT_DATA, "%s: %s at byte %zu is none of the %d characters "
                "of the vocabulary", name, show(c), i, t->vocab);
        ids[count++] = id;
    }
    return count;
}

void text_renumber(Arena *arena, Text *t, const char *name,
                   const Text *vocabulary)
{
    const Text *v = vocabulary;
    size_t bytes = (size_t)v->vocab * sizeof *v->code;
    if (v->vocab == t->vocab && !memcmp(v->code, t->code, bytes)) return;
    int *new_id = arena_alloc(arena, (size_t)t->vocab * sizeof *new_id);
    int *ids = arena_alloc(arena, (size_t)t->n * sizeof *ids);
    for (int i = 0; i < t->vocab; i++) {
        new_id[i] = id_of(v, t->code[i]);
        if (new_id[i] < 0)
            die(EXIT_DATA, "%s: %s is none of the %d characters of the "
                "vocabulary that the weights have", name, show(t->code[i]),
                v->vocab);
    }
    for (long i = 0; i < t->n; i++) ids[i] = new_id[t->ids[i]];
    t->ids = ids, t->vocab = v->vocab;
    t->code = memcpy(arena_alloc(arena, bytes), v->code, bytes);
}

int text_decode(const Text *t, int id, char out[4])
{
    CHECK(id >= 0 && id < t->vocab, "text: id %d, vocabulary %d", id,
          t->vocab);
    return utf8_encode(t->code[id], out);
}

int text_start(const Text *t)
{
    for (int i = 0; i < t->vocab; i++)
        if (t->code[i] == '\n') return i;
    return 0;
}
