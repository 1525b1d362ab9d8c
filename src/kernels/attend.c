/* attend: softmax(q k') v of one head, ATTEND_ROWS tokens at a time. These need
 * keys only up to the last that one of them sees: of the half above the
 * diagonal little is computed. Rows of p are whole lanes long, so loops over
 * them have no remainder, and what is not seen is p = exp(-inf) = 0. */
#include "attend.h"
#include "die.h"

/* ---- The specification ------------------------------------------------- */

static int seen(const Head *h, int t)
{
    return h->n + (h->causal ? t + 1 : h->T);
}

static real product(const Head *h, int t, int j)
{
    real a = 0;
    for (int d = 0; d < h->D; d++)
        a = fma(h->q[(long)t * h->ldq + d], h->k[(long)j * h->ldk + d], a);
    return a;
}

void attend_reference(const Head *h)
{
    for (int t = 0; t < h->T; t++) {
        real *p = h->p + (long)t * h->P, *y = h->y + (long)t * h->ldy;
        for (int j = 0; j < h->P; j++)
            p[j] = j < seen(h, t) ? product(h, t, j) : -INFINITY;
        real r = 1 / exp_row(h->P, p, h->scale, row_max(h->P, p), p);
        for (int j = 0; j < h->P; j++) p[j] *= r;
        for (int d = 0; d < h->D; d++) {
            y[d] = 0;
            for (int j = 0; j < seen(h, t); j++)
                y[d] = fma(p[j], h->v[(long)j * h->ldk + d], y[d]);
        }
    }
}

/* ---- Forward ----------------------------------------------------------- */

/* R rows from token t0 on, that see J keys at most. */
static void forward_rows(const Head *h, int t0, int R)
{
    int J = seen(h, t0 + R - 1), W = whole_lanes(J), P = h->P;
    real *p = h->p + (long)t0 * P, m[ATTEND_ROWS], z[ATTEND_ROWS];
    Matrix Q = {h->q + (long)t0 * h->ldq, h->ldq, false};
    Matrix K = {h->k, h->ldk, true}, V = {h->v, h->ldk, false};
    gemm(R, J, h->D, Q, K, NULL, 0, p, P);
    /* Loop by loop over the rows: each then is vector code of one kind. */
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * P;
        for (int j = seen(h, t0 + t); j < W; j++) pt[j] = -INFINITY;
        m[t] = row_max(W, pt);
    }
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * P;
        z[t] = exp_row(W, pt, h->scale, m[t], pt);
    }
    for (int t = 0; t < R; t++) {
        real *pt = p + (long)t * P, r = 1 / z[t];
        for (int j = 0; j < W; j++) pt[j] *= r;
    }
    gemm(R, h->D, J, (Matrix){p, P, false}, V, NULL, 0,
         h->y + (long)t0 * h->ldy, h->ldy);
}

void attend(const Head *h)
{
    for (int t = 0; t < h->T; t += ATTEND_ROWS)
        forward_rows(h, t, least(ATTEND_ROWS, h->T - t));
}

/* ---- Backward ---------------------------------------------------------- */

static void backward_rows(const Head *h, int t0, int R, const real *dy,
                          real *dq, real *dk, real *dv, real *ds)
{
    int J = seen(h, t0 + R - 1), W = whole_lanes(J), P = h->P, D = h->D;
    int ld = h->ldq;
    const real *p = h->p + (long)t0 * P;
    Matrix Q = {h->q + (long)t0 * ld, ld, false}, K = {h->k, h->ldk, false};
    Matrix dY = {dy + (long)t0 * h->ldy, h->ldy, false};
    Matrix Vt = {h->v, h->ldk, true}, Pt = {p, P, true};
    Matrix dS = {ds, P, false}, dSt = {ds, P, true};
    dq += (long)t0 * ld;
    gemm(J, D, R, Pt, dY, dv, ld, dv, ld);         /* dv += p' dy */
    gemm(R, J, D, dY, Vt, NULL, 0, ds, P);          /* dp  = dy v' */
    for (int t = 0; t < R; t++) {
        const real *pt = p + (long)t * P;
        real *dst = ds + (long)t * P;
        for (int j = J; j < W; j++) dst[j] = 0;
        real expected = dot(W, pt, dst);            /* sum_i p_i dp_i */
        for (int j = 0; j < W; j++)
            dst[j] = pt[j] * (dst[j] - expected) * h->scale;
    }
    gemm(R, D, J, dS, K, dq, ld, dq, ld);           /* dq += ds k */
    gemm(J, D, R, dSt, Q, dk, ld, dk, ld);          /* dk += ds' q */
}

void attend_backward(const Head *h, const real *dy, real *dq, real *dk,
                     real *dv, real *ds)
{
    CHECK(h->n == 0 && h->ldq == h->ldk, "attend: backward has no past, and "
          "q, k and v lie alike");
    for (int t = 0; t < h->T; t += ATTEND_ROWS)
        backward_rows(h, t, least(ATTEND_ROWS, h->T - t), dy, dq, dk, dv, ds);
}
