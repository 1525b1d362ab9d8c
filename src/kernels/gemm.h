/* gemm's specification, which it must equal to the last bit. */
#ifndef GEMM_H
#define GEMM_H

#include "kernels.h"

/* Tests cross this many steps of k, where a chain pauses in memory. */
enum { GEMM_KC = 384 };

void gemm_reference(int M, int N, int K, Matrix A, Matrix B,
                    const real *start, int lds, real *C, int ldc);

#endif
