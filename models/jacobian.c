#include <string.h>
#include "jacobian.h"

/* The gradients of the weights are those of a step of training: they are out
 * of the way here. */
static void put_away(const GPT *m, real **kept)
{
    for (int i = 0; i < m->nparam; i++) {
        kept[i] = m->param[i].t->grad;
        m->param[i].t->grad = NULL;
        m->param[i].t->wants_grad = false;
    }
}

static void put_back(const GPT *m, real **kept)
{
    for (int i = 0; i < m->nparam; i++) {
        m->param[i].t->grad = kept[i];
        m->param[i].t->wants_grad = kept[i] != NULL;
    }
}

void gpt_jacobian(const GPT *m, const real *x, int T, int from, int to,
                  double *J)
{
    int n = T * m->config.width;
    size_t row = (size_t)n * sizeof(real);
    Arena arena = {0};
    Tape tape = {.recording = true};
    Tensor *x0 = tensor_param(&arena, (Shape){3, {n, T, m->config.width}});
    real *dy = memset(arena_alloc(&arena, (size_t)n * row), 0, (size_t)n * row);
    for (int i = 0; i < n; i++) {
        memcpy(x0->data + (long)i * n, x, row);
        dy[(long)i * n + i] = 1;
    }
    real **kept = arena_alloc(&arena, (size_t)m->nparam * sizeof *kept);
    put_away(m, kept);
    Tensor *y = x0;
    for (int i = from; i < to; i++) {
        /* Its own: backward may look at it, after the loop. */
        Sublayer *f = arena_alloc(&arena, sizeof *f);
        *f = m->branch[i];
        f->dropout = 0;
        y = placements[m->config.placement].put(&tape, y, f);
    }
    if (y != x0) tape_backward(&tape, y, dy);
    for (long k = 0; k < (long)n * n; k++)
        J[k] = (double)(y == x0 ? dy[k] : x0->grad[k]);
    put_back(m, kept);
    arena_free(&tape.arena);
    arena_free(&arena);
}
