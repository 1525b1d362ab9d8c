#include <string.h>
#include "jacobian.h"

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
    Tensor *y = x0;
    for (int i = from; i < to; i++)
        y = placements[m->config.placement].put(&tape, y, &m->branch[i]);
    if (y != x0) tape_backward(&tape, y, dy);
    for (long k = 0; k < (long)n * n; k++)
        J[k] = (double)(y == x0 ? dy[k] : x0->grad[k]);
    arena_free(&tape.arena);
    arena_free(&arena);
}
