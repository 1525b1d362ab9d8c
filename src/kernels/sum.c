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
 * for double). A plain loop adds one element in the time that this adds 16:
 * the next addition waits for the last. */
#include "kernels.h"
#include "vec.h"

enum { PARTS = LANES / VEC };

/* The next 16 elements of a row, where `left` are left. If these are fewer,
 * the rest becomes `pad`, which changes no lane. */
static const real *lanes(int left, const real *x, real pad, real rest[LANES])
{
    if (left >= LANES) return x;
    for (int l = 0; l < LANES; l++)
        rest[l] = l < left ? x[l] : pad;
    return rest;
}

static real tree(vec part[PARTS])
{
    for (int half = PARTS / 2; half > 0; half /= 2)
        for (int p = 0; p < half; p++)
            part[p] += part[p + half];
    vec v = part[0];
    EACH(turn, VEC_BITS)
        v += vec_rotate(v, VEC >> (turn + 1));
    return v[0];
}

real sum(int n, const real *x)
{
    vec part[PARTS] = {{0}};
    real rest[LANES];
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, 0, rest);
        for (int p = 0; p < PARTS; p++)
            part[p] += vec_load(xi + p * VEC);
    }
    return tree(part);
}

real dot(int n, const real *x, const real *y)
{
    vec part[PARTS] = {{0}};
    real xrest[LANES], yrest[LANES];
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, 0, xrest);
        const real *yi = lanes(n - i, y + i, 0, yrest);
        for (int p = 0; p < PARTS; p++)
            part[p] = vec_fma(vec_load(xi + p * VEC), vec_load(yi + p * VEC),
                              part[p]);
    }
    return tree(part);
}

real sum_sq_dev(int n, const real *x, real mu)
{
    vec part[PARTS] = {{0}};
    real rest[LANES];
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, mu, rest);
        for (int p = 0; p < PARTS; p++) {
            vec d = vec_load(xi + p * VEC) - mu;
            part[p] = vec_fma(d, d, part[p]);
        }
    }
    return tree(part);
}

real dot_dev(int n, const real *x, const real *y, const real *z, real mu)
{
    vec part[PARTS] = {{0}};
    real xrest[LANES], yrest[LANES], zrest[LANES];
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, 0, xrest);
        const real *yi = lanes(n - i, y + i, 0, yrest);
        const real *zi = lanes(n - i, z + i, mu, zrest);
        for (int p = 0; p < PARTS; p++)
            part[p] = vec_fma(vec_load(xi + p * VEC) * vec_load(yi + p * VEC),
                              vec_load(zi + p * VEC) - mu, part[p]);
    }
    return tree(part);
}

/* The larger of two; NaN if either is. (Which zero is larger, the order
 * decides, and that is fixed as for the sums.) */
static vec larger(vec max, vec x)
{
    return vec_select((x > max) | (x != x), x, max);
}

real row_max(int n, const real *x)
{
    vec part[PARTS];
    real rest[LANES];
    for (int p = 0; p < PARTS; p++) part[p] = vec_all(x[0]);
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, x[0], rest);
        for (int p = 0; p < PARTS; p++)
            part[p] = larger(part[p], vec_load(xi + p * VEC));
    }
    for (int half = PARTS / 2; half > 0; half /= 2)
        for (int p = 0; p < half; p++)
            part[p] = larger(part[p], part[p + half]);
    vec v = part[0];
    EACH(turn, VEC_BITS)
        v = larger(v, vec_rotate(v, VEC >> (turn + 1)));
    return v[0];
}

real exp_row(int n, const real *x, real c, real m, real *y)
{
    vec part[PARTS] = {{0}};
    real rest[LANES], e[LANES];
    for (int i = 0; i < n; i += LANES) {
        const real *xi = lanes(n - i, x + i, m - INFINITY, rest);
        for (int l = 0; l < LANES; l++) e[l] = kexp((xi[l] - m) * c);
        for (int p = 0; p < PARTS; p++) part[p] += vec_load(e + p * VEC);
        if (n - i < LANES)
            memcpy(y + i, e, sizeof *e * (size_t)(n - i));
        else
            for (int p = 0; p < PARTS; p++)
                vec_store(y + i + p * VEC, vec_load(e + p * VEC));
    }
    return tree(part);
}
