/* Sums along a row, in an order that no vector width changes. All of them
 * are this, with another last line in the loop:
 *
 *     real lane[16] = {0};
 *     for (int i = 0; i < n; i++)
 *         lane[i % 16] += x[i];
 *     for (int half = 8; half > 0; half /= 2)
 *         for (int l = 0; l < half; l++)
 *             lane[l] += lane[l + half];
 *     return lane[0];
 *
 * The lanes are independent, so they are kept in as many vectors as hold 16
 * reals: one with AVX-512, two with AVX2, four with SSE or NEON (twice that
 * for double). What does not fill 16 lanes is added one by one at the end,
 * into the lanes where it belongs. A plain loop adds one element in the time
 * that this adds 16: the next addition waits for the last. */
#include "kernels.h"
#include "vec.h"

enum { LANES = 16, PARTS = LANES / VEC };

static real tree(real lane[LANES])
{
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] += lane[l + half];
    return lane[0];
}

static void store(real lane[LANES], const vec part[PARTS])
{
    for (int p = 0; p < PARTS; p++)
        vec_store(lane + p * VEC, part[p]);
}

real sum(int n, const real *x)
{
    vec part[PARTS] = {{0}};
    int i = 0;
    for (; i <= n - LANES; i += LANES)
        for (int p = 0; p < PARTS; p++)
            part[p] += vec_load(x + i + p * VEC);
    real lane[LANES];
    store(lane, part);
    for (; i < n; i++)
        lane[i % LANES] += x[i];
    return tree(lane);
}

real dot(int n, const real *x, const real *y)
{
    vec part[PARTS] = {{0}};
    int i = 0;
    for (; i <= n - LANES; i += LANES)
        for (int p = 0; p < PARTS; p++)
            part[p] = vec_fma(vec_load(x + i + p * VEC),
                              vec_load(y + i + p * VEC), part[p]);
    real lane[LANES];
    store(lane, part);
    for (; i < n; i++)
        lane[i % LANES] = fma(x[i], y[i], lane[i % LANES]);
    return tree(lane);
}

real sum_sq_dev(int n, const real *x, real mu)
{
    vec part[PARTS] = {{0}};
    int i = 0;
    for (; i <= n - LANES; i += LANES)
        for (int p = 0; p < PARTS; p++) {
            vec d = vec_load(x + i + p * VEC) - mu;
            part[p] = vec_fma(d, d, part[p]);
        }
    real lane[LANES];
    store(lane, part);
    for (; i < n; i++) {
        real d = x[i] - mu;
        lane[i % LANES] = fma(d, d, lane[i % LANES]);
    }
    return tree(lane);
}

real dot_dev(int n, const real *x, const real *y, const real *z, real mu)
{
    vec part[PARTS] = {{0}};
    int i = 0;
    for (; i <= n - LANES; i += LANES)
        for (int p = 0; p < PARTS; p++) {
            int j = i + p * VEC;
            part[p] = vec_fma(vec_load(x + j) * vec_load(y + j),
                              vec_load(z + j) - mu, part[p]);
        }
    real lane[LANES];
    store(lane, part);
    for (; i < n; i++)
        lane[i % LANES] = fma(x[i] * y[i], z[i] - mu, lane[i % LANES]);
    return tree(lane);
}

/* The larger of two; NaN if either is. (Which zero is larger, the order
 * decides, and that is fixed as for the sums.) */
static real larger(real max, real x)
{
    return ((x > max) | (x != x)) ? x : max;
}

real row_max(int n, const real *x)
{
    vec part[PARTS];
    for (int p = 0; p < PARTS; p++)
        part[p] = vec_all(x[0]);
    int i = 0;
    for (; i <= n - LANES; i += LANES)
        for (int p = 0; p < PARTS; p++) {
            vec v = vec_load(x + i + p * VEC);
            part[p] = vec_select((v > part[p]) | (v != v), v, part[p]);
        }
    real lane[LANES];
    store(lane, part);
    for (; i < n; i++)
        lane[i % LANES] = larger(lane[i % LANES], x[i]);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lane[l] = larger(lane[l], lane[l + half]);
    return lane[0];
}

real exp_row(int n, const real *x, real m, real *y)
{
    for (int i = 0; i < n; i++) y[i] = kexp(x[i] - m);
    return sum(n, y);
}
