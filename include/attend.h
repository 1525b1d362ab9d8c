/* The attention of one head: a kernel, of arrays of reals.
 *
 * T tokens look at n + T keys: those of n tokens before them, then their own.
 * Token t sees the first s = n + t + 1, or all if it is not causal:
 *     a_j = q_t . k_j         j < s
 *     p_tj = exp(scale (a_j - max_i a_i)) / sum_i exp(scale (a_i - max a))
 *     y_t = sum_j p_tj v_j
 * and p_tj = 0 up to a whole lane; columns that no row of its ATTEND_ROWS sees
 * are left as they are.
 * Backward, from dy:
 *     dv_j += sum_t p_tj dy_t     dp_tj = dy_t . v_j
 *     ds_tj = p_tj (dp_tj - sum_i p_ti dp_ti) scale
 *     dq_t += sum_j ds_tj k_j     dk_j += sum_t ds_tj q_t
 * Products are gemm's chains, and sums along j those of kernels.h, in which
 * what is not seen adds exactly 0. So the bits do not depend on n: T tokens
 * after n others get those that they get in a call with all. */
#ifndef ATTEND_H
#define ATTEND_H

#include "kernels.h"

typedef struct {
    int T, n, D;            /* D: channels of a token */
    bool causal;
    real scale;
    const real *q, *k, *v;  /* of token 0 */
    int ldq, ldk;           /* from one token to the next: of q; of k and v */
    real *p;                /* (T,P) */
    int P;                  /* whole_lanes(n + T) */
    real *y;                /* of token 0 */
    int ldy;
} Head;

/* p and y. */
void attend(const Head *h);

/* Adds to dq, dk and dv, whose tokens are ldq apart, as those of q, k and v
 * are; n is 0. dy lies as y does. ds: ATTEND_ROWS rows of P reals, scratch. */
enum { ATTEND_ROWS = 32 };
void attend_backward(const Head *h, const real *dy, real *dq, real *dk,
                     real *dv, real *ds);

/* The same as attend, as it is defined above: its specification. */
void attend_reference(const Head *h);

#endif
