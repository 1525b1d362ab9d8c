/* gemm: C = start + A B. The contract stands in kernels.h. */
#include <stddef.h>
#include "kernels.h"

/* The element (i, j) of what a matrix means, however it is stored. */
static real at(Matrix X, int i, int j)
{
    return X.transposed ? X.data[(long)j * X.ld + i]
                        : X.data[(long)i * X.ld + j];
}

static void row(int i, int N, int K, Matrix A, Matrix B,
                const real *start, int lds, real *C, int ldc)
{
    real *c = C + (long)i * ldc;
    const real *s = start ? start + (long)i * lds : NULL;
    for (int j = 0; j < N; j++)
        c[j] = s ? s[j] : 0;
    for (int k = 0; k < K; k++) {
        real a = at(A, i, k);
        for (int j = 0; j < N; j++)
            c[j] = fma(a, at(B, k, j), c[j]);
    }
}

void gemm(int M, int N, int K, Matrix A, Matrix B,
          const real *start, int lds, real *C, int ldc)
{
    #pragma omp parallel for
    for (int i = 0; i < M; i++)
        row(i, N, K, A, B, start, lds, C, ldc);
}
