#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "generate.h"
#include "kernels.h"

/* -- one draw ----------------------------------------------------------- */

typedef struct { real logit; int id; } Candidate;

/* NaN, which has no place in an order, counts as the least likely. */
static Candidate candidate(const real *logits, int i)
{
    return (Candidate){isnan(logits[i]) ? -INFINITY : logits[i], i};
}

/* The likelier is the lesser. */
static int compare(const void *x, const void *y)
{
    const Candidate *a = x, *b = y;
    if (a->logit != b->logit) return a->logit > b->logit ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* exp of (logit - m) / temperature */
static double weight(real logit, real m, Sampling how)
{
    return (double)kexp((real)((double)(logit - m) / how.temperature));
}

/* How many of the n likeliest, sorted, have together the share top_p? */
static int nucleus(const Candidate *sorted, int n, real m, Sampling how)
{
    double total = 0, sum = 0;
    int kept = 0;
    for (int i = 0; i < n; i++) total += weight(sorted[i].logit, m, how);
    while (kept < n && (kept == 0 || sum < how.top_p * total))
        sum += weight(sorted[kept++].logit, m, how);
    return kept;
}

/* The least likely token that is drawn from. */
static Candidate least_likely(Tape *tp, const real *logits, int V, real m,
                              Sampling how)
{
    bool all_k = how.top_k == 0 || how.top_k >= V;
    bool all_p = how.top_p == 0 || how.top_p >= 1;
    if (all_k && all_p) return (Candidate){-INFINITY, V};
    Candidate *sorted = tape_alloc(tp, (size_t)V * sizeof *sorted);
    for (int i = 0; i < V; i++) sorted[i] = candidate(logits, i);
    qsort(sorted, (size_t)V, sizeof *sorted, compare);
    int n = all_k ? V : how.top_k;
    return sorted[(all_p ? n : nucleus(sorted, n, m, how)) - 1];
}

int draw_token(Tape *tp, const real *logits, int V, Sampling how, Rng *noise)
{
    real m = row_max(V, logits);
    double total = 0, left, u = rng_uniform(noise);
    int last = 0;
    if (how.temperature == 0) {
        for (int i = 1; i < V; i++)
            if (logits[i] > logits[last]) last = i;
        return last;
    }
    Candidate end = least_likely(tp, logits, V, m, how);
    for (int pass = 0; pass < 2; pass++) {
        left = u * total;
        for (int i = 0; i < V; i++) {
            Candidate x = candidate(logits, i);
            if (compare(&x, &end) > 0) continue;
            double p = weight(logits[i], m, how);
            if (pass == 0) total += p;
            else if ((left -= p) < 0) return i;
            else if (p > 0) last = i;
        }
    }
    return last;        /* u * total rounded up to the end */
}

/* -- text --------------------------------------------------------------- */

void writer_new(Writer *w, Arena *a, const GPT *m, Sampling how,
                uint64_t seed, int B)
{
    CHECK(how.slide >= 0 && how.slide <= m->config.context, "generate: the "
          "window slides by at most the context, %d tokens, got %d",
          m->config.context, how.slide);
    *w = (Writer){.how = how, .seed = seed, .size = (double)gpt_size(m)};
    cache_new(&w->cache, a, m, B);
}

/* Where the window of at most `context` tokens begins that ends before t. It
 * depends on t alone: a text does not on where it was cut and went on. */
static int window(int t, int context, int slide)
{
    int step = slide ? slide : 1;
    return t <= context ? 0 : (t - context + step - 1) / step * step;
}

/* Logits after the tokens before t. Keys and values are kept while the window
 * stays, if no token sees what comes after it. What has few rows of a small
 * model is done before other threads would have woken; the bits are the same.
 * (A step of 1e7 multiply-adds takes half a millisecond on one thread, and to
 * wake a second one, at each op of four layers, a seventh of one at least.) */
static const real *logits_at(Tape *tp, Writer *w, const int *ids, int length,
                             int t)
{
    Cache *c = &w->cache;
    int first = window(t, c->model.config.context, w->how.slide);
    int threads = thread_count();
    if (first != w->first || c->model.config.unmasked) c->n = 0;
    w->first = first;
    int at = first + c->n, T = t - at;
    int *more = tape_alloc(tp, sizeof *more * (size_t)(c->B * T));
    for (int b = 0; b < c->B; b++)
        memcpy(more + b * T, ids + (long)b * length + at,
               sizeof *more * (size_t)T);
    if (c->B * T * w->size < 1e7) thread_limit(1);
    const real *logits = cache_logits(tp, c, more, T)->data;
    thread_limit(threads);
    return logits;
}

void writer_next(Tape *tp, Writer *w, int *ids, int length, int t)
{
    int V = w->cache.model.config.vocab;
    tape_reset(tp);
    const real *logits = logits_at(tp, w, ids, length, t);
    for (int b = 0; b < w->cache.B; b++) {
        Rng noise = rng_new(w->seed, RNG_SAMPLE, (uint32_t)b);
        noise.counter[1] = (uint32_t)t;
        ids[(long)b * length + t] =
            draw_token(tp, logits + (long)b * V, V, w->how, &noise);
    }
}

void generate(Tape *tp, const GPT *m, Sampling how, uint64_t seed,
              int *ids, int B, int have, int length)
{
    Arena arena = {0};
    Writer w;
    writer_new(&w, &arena, m, how, seed, B);
    for (int t = have; t < length; t++) writer_next(tp, &w, ids, length, t);
    arena_free(&arena);
}
