/* Sums down the columns. A block of COLUMNS of them stays in registers while
 * it walks down the rows: without that, every row would load and store it. */
#include "kernels.h"
#include "vec.h"

enum { PARTS = COLUMNS / VEC };

/* The last block may have fewer columns. */
static void add_narrow(int N, int C, int width, const real *x, real *out)
{
    for (int n = 0; n < N; n++)
        for (int c = 0; c < width; c++)
            out[c] += x[(long)n * C + c];
}

static void add_block(int N, int C, const real *x, real *out)
{
    vec sum[PARTS];
    EACH(p, PARTS) sum[p] = vec_load(out + p * VEC);
    for (int n = 0; n < N; n++, x += C)
        EACH(p, PARTS) sum[p] += vec_load(x + p * VEC);
    EACH(p, PARTS) vec_store(out + p * VEC, sum[p]);
}

void add_columns(int N, int C, const real *x, real *out)
{
    #pragma omp parallel for
    for (int c = 0; c < C; c += COLUMNS)
        if (C - c >= COLUMNS)
            add_block(N, C, x + c, out + c);
        else
            add_narrow(N, C, C - c, x + c, out + c);
}

static void add_narrow_normed(int N, int C, int width, const real *y,
                              const real *x, const real *mu, const real *r,
                              real *out)
{
    for (int n = 0; n < N; n++)
        for (int c = 0; c < width; c++) {
            long i = (long)n * C + c;
            out[c] = fma(y[i], (x[i] - (mu ? mu[n] : 0)) * r[n], out[c]);
        }
}

static void add_block_normed(int N, int C, const real *y, const real *x,
                             const real *mu, const real *r, real *out)
{
    vec sum[PARTS];
    EACH(p, PARTS) sum[p] = vec_load(out + p * VEC);
    for (int n = 0; n < N; n++, x += C, y += C)
        EACH(p, PARTS) {
            vec xhat = (vec_load(x + p * VEC) - (mu ? mu[n] : 0)) * r[n];
            sum[p] = vec_fma(vec_load(y + p * VEC), xhat, sum[p]);
        }
    EACH(p, PARTS) vec_store(out + p * VEC, sum[p]);
}

void add_columns_normed(int N, int C, const real *y, const real *x,
                        const real *mu, const real *r, real *out)
{
    #pragma omp parallel for
    for (int c = 0; c < C; c += COLUMNS)
        if (C - c >= COLUMNS)
            add_block_normed(N, C, y + c, x + c, mu, r, out + c);
        else
            add_narrow_normed(N, C, C - c, y + c, x + c, mu, r, out + c);
}
