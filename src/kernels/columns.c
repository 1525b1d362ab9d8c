#include "kernels.h"

void add_columns(int N, int C, const real *x, real *out)
{
    #pragma omp parallel for
    for (int from = 0; from < C; from += COLUMNS)
        for (int n = 0, to = least(from + COLUMNS, C); n < N; n++)
            for (int c = from; c < to; c++)
                out[c] += x[(long)n * C + c];
}

void add_columns_normed(int N, int C, const real *y, const real *x,
                        const real *mu, const real *r, real *out)
{
    #pragma omp parallel for
    for (int from = 0; from < C; from += COLUMNS)
        for (int n = 0, to = least(from + COLUMNS, C); n < N; n++) {
            real m = mu ? mu[n] : 0;
            for (int c = from; c < to; c++) {
                long i = (long)n * C + c;
                out[c] = fma(y[i], (x[i] - m) * r[n], out[c]);
            }
        }
}
