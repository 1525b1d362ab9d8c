/* Tensor: an array of reals with a shape. Contiguous and row-major, always:
 * element (i, j) of shape (N, C) is data[i*C + j]. No strides, no views. */
#ifndef TENSOR_H
#define TENSOR_H

#include <stdbool.h>
#include "arena.h"
#include "real.h"

enum { MAX_DIM = 4 };

typedef struct { int ndim, dim[MAX_DIM]; } Shape;

typedef struct Tensor {
    Shape shape;
    real *data;
    real *grad;         /* d loss / d data, same shape. NULL in a backward
                           pass means: no gradient is wanted here */
    bool wants_grad;    /* a parameter, or computed from one */
    bool fresh;         /* grad is undefined yet: see Node.begins, tape.h */
} Tensor;

/* To what a backward function adds: the gradient so far, or NULL for 0. */
static inline const real *grad_so_far(const Tensor *x)
{
    return x->fresh ? NULL : x->grad;
}

/* A tensor with room for data (undefined) and no gradient. */
Tensor *tensor_new(Arena *a, Shape shape);

/* A leaf that is trained: data undefined, gradient 0. */
Tensor *tensor_param(Arena *a, Shape shape);

long shape_size(Shape s);                   /* number of elements */
bool shape_equal(Shape s, Shape t);
Shape shape_with_last(Shape s, int last);   /* s with another last axis */

/* "(4,64)", in one of a few static buffers: for messages */
const char *shape_text(Shape s);

/* Most ops work along the last axis: x is (rows, cols). */
int  rows(const Tensor *x);                 /* product of the other axes */
int  cols(const Tensor *x);                 /* the last axis */
long size(const Tensor *x);                 /* rows times cols */

/* No NaN and no infinity among n reals. */
bool all_finite(long n, const real *x);

#endif
