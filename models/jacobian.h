/* Exact Jacobians of a part of the residual path, from the backward pass. */
#ifndef JACOBIAN_H
#define JACOBIAN_H

#include "gpt.h"

/* J[i*n + j] = d y_i / d x_j, where y is the stream after sublayers from ..
 * to - 1 if x (T,d) is what sublayer `from` finds; n = T d. One backward pass
 * gives all rows: the batch is n copies of x, and copy i has the cotangent
 * with 1 at i and 0 elsewhere. Without dropout; the gradients of the weights
 * stay as they are. */
void gpt_jacobian(const GPT *m, const real *x, int T, int from, int to,
                  double *J);

#endif
