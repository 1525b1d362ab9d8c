#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "die.h"
#include "tensor.h"

Tensor *tensor_new(Arena *a, Shape shape)
{
    Tensor *x = arena_alloc(a, sizeof *x);
    size_t bytes = (size_t)shape_size(shape) * sizeof(real);
    *x = (Tensor){.shape = shape, .data = arena_alloc(a, bytes)};
    return x;
}

Tensor *tensor_param(Arena *a, Shape shape)
{
    Tensor *x = tensor_new(a, shape);
    size_t bytes = (size_t)size(x) * sizeof(real);
    x->grad = memset(arena_alloc(a, bytes), 0, bytes);
    x->wants_grad = true;
    return x;
}

long shape_size(Shape s)
{
    long n = 1;
    CHECK(s.ndim >= 1 && s.ndim <= MAX_DIM,
          "tensor: 1 to %d axes, got %d", MAX_DIM, s.ndim);
    for (int i = 0; i < s.ndim; i++) {
        CHECK(s.dim[i] >= 1 && n <= INT_MAX / s.dim[i],
              "tensor: shape %s needs axes of 1 or more, %d elements at most",
              shape_text(s), INT_MAX);
        n *= s.dim[i];
    }
    return n;
}

bool shape_equal(Shape s, Shape t)
{
    if (s.ndim != t.ndim) return false;
    for (int i = 0; i < s.ndim; i++)
        if (s.dim[i] != t.dim[i]) return false;
    return true;
}

Shape shape_with_last(Shape s, int last)
{
    s.dim[s.ndim - 1] = last;
    return s;
}

const char *shape_text(Shape s)
{
    static char buffer[4][64];
    static int turn;
    char *text = buffer[turn++ % 4], *end = text + sizeof buffer[0], *p = text;
    for (int i = 0; i < s.ndim && i < MAX_DIM; i++)
        p += snprintf(p, (size_t)(end - p), "%c%d", i ? ',' : '(', s.dim[i]);
    snprintf(p, (size_t)(end - p), ")");
    return text;
}

int  cols(const Tensor *x) { return x->shape.dim[x->shape.ndim - 1]; }
long size(const Tensor *x) { return shape_size(x->shape); }
int  rows(const Tensor *x) { return (int)(size(x) / cols(x)); }

bool all_finite(long n, const real *x)
{
    long i = 0;
    while (i < n && isfinite(x[i])) i++;
    return i == n;
}
