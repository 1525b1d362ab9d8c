#include <string.h>
#include "cache.h"
#include "die.h"

void cache_new(Cache *c, Arena *a, const GPT *m, int B)
{
    int L = m->config.layers;
    size_t n = 2 * (size_t)L;
    *c = (Cache){.model = *m, .B = B};
    c->past = arena_alloc(a, (size_t)L * sizeof *c->past);
    c->model.stream = arena_alloc(a, (n + 1) * sizeof *m->stream);
    c->model.branch = arena_alloc(a, n * sizeof *m->branch);
    memcpy(c->model.branch, m->branch, n * sizeof *m->branch);
    for (int l = 0; l < L; l++) {
        Shape s = {3, {B, m->config.context, 2 * m->config.width}};
        c->past[l] = (Past){tensor_new(a, s), 0};
        c->model.branch[2 * l].past = &c->past[l];
    }
}

/* (B,d): the last row of each sequence of x (B,T,d) */
static Tensor *last_rows(Tape *tp, const Tensor *x)
{
    int B = x->shape.dim[0], T = x->shape.dim[1], d = cols(x);
    Tensor *y = tape_tensor(tp, (Shape){2, {B, d}});
    for (int b = 0; b < B; b++)
        memcpy(y->data + (long)b * d, x->data + (long)(b * T + T - 1) * d,
               (size_t)d * sizeof *y->data);
    return y;
}

Tensor *cache_logits(Tape *tp, Cache *c, const int *ids, int T)
{
    const GPT *m = &c->model;
    int n = c->n, context = m->config.context, d = m->config.width;
    CHECK(n >= 0 && T >= 1 && n + T <= context, "cache: room for %d tokens, "
          "got %d after %d", context, T, n);
    Tensor pos = {.shape = {2, {context - n, d}},
                  .data = m->pos->data + (long)n * d};
    for (int l = 0; l < m->config.layers; l++) c->past[l].n = n;
    Tensor *x = op_embedding(tp, m->tok, &pos, ids, c->B, T);
    x = gpt_layers(tp, m, x);
    c->n += T;
    return gpt_head(tp, m, last_rows(tp, x));
}
