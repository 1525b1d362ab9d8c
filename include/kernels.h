/* Kernels: the arithmetic that must be fast, and the same to the last bit on
 * every machine. They know arrays of reals and nothing of tensors.
 *
 * Same bits means that the order of every rounding is fixed here, in the
 * contract, and never left to the compiler, the vector width or the number
 * of threads. */
#ifndef KERNELS_H
#define KERNELS_H

#include <stdbool.h>
#include "real.h"

/* gemm: C (M,N) = start + A (M,K) B (K,N), row-major.
 * start (rows lds apart): where each element's sum begins. NULL: 0. C itself,
 * with lds = ldc: adds to C. One row of biases, with lds = 0: the same for
 * every row. start is C, or does not overlap it.
 *
 * Each element is ONE chain of fused multiply-adds over k = 0, 1, .. K-1:
 *     c = start[i*lds + j];  for k: c = fma(a_ik, b_kj, c);  C[i*ldc + j] = c
 * Threads and vector lanes divide the elements of C, never a chain. */
typedef struct {
    const real *data;
    int ld;                 /* elements from one row to the next */
    bool transposed;        /* memory holds (K,M) for A, (N,K) for B */
} Matrix;
void gemm(int M, int N, int K, Matrix A, Matrix B,
          const real *start, int lds, real *C, int ldc);

/* n or a little more, such that a row has no remainder of a lane */
enum { LANES = 16 };
static inline int whole_lanes(int n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* Sums along a row: element i is added to lane i % 16, in order of i, and
 * the 16 lanes are added in a fixed tree: lane l + lane l+8, then l+4, l+2,
 * l+1. Every product is one fma into its lane. n >= 0; an empty sum is 0. */
real sum(int n, const real *x);                         /* sum x_i */
real dot(int n, const real *x, const real *y);          /* sum x_i y_i */
real sum_sq_dev(int n, const real *x, real mu);         /* sum (x_i - mu)^2 */
/* sum (x_i y_i) (z_i - mu): product and difference rounded, then one fma */
real dot_dev(int n, const real *x, const real *y, const real *z, real mu);
/* max_i x_i, n >= 1. A NaN anywhere gives NaN. */
real row_max(int n, const real *x);

/* Softmax but for the division: y_i = exp(c (x_i - m)), and their sum.
 * y may be x. */
real exp_row(int n, const real *x, real c, real m, real *y);

/* Sums down the columns, each a chain in order of n; x, y are (N,C). Threads
 * divide the columns, COLUMNS at a time: a cache line of floats.
 *     out_c += sum_n x_nc
 *     out_c += sum_n y_nc (x_nc - mu_n) r_n       mu NULL: 0 */
enum { COLUMNS = 16 };
void add_columns(int N, int C, const real *x, real *out);
void add_columns_normed(int N, int C, const real *y, const real *x,
                        const real *mu, const real *r, real *out);

static inline int least(int a, int b) { return a < b ? a : b; }

/* First in main: a thread that waits for another must soon sleep, not spin as
 * OpenMP's default is. Spinning, it keeps the other from a core that a third
 * process has taken, and a step takes 40 times as long. Starts the program
 * again if the environment does not say how to wait. */
void thread_setup(char **argv);

/* This machine's multiply-adds from registers, in 10^9 operations a second
 * (a multiply-add is two), on all threads together: the best of many short
 * runs within `seconds`, and their mean. A mean far below the best says that
 * other processes had the cores. */
typedef struct { double best, mean; } Gflops;
Gflops peak_gflops(double seconds);

/* How many threads a parallel loop may use, and which one this is. Scratch
 * memory is indexed by it; results never are. */
int thread_count(void);
void thread_limit(int n);       /* n >= 1; without OpenMP it stays one */
int thread_index(void);

/* Denormals are numbers, on every thread: nothing flushes them to zero, which
 * processors do in different ways (real.h refuses the option that would). The
 * optimiser's moments, which would stay denormal for ever, end at 0. */

/* The project's own elementary functions: libm's differ between machines.
 * Branch-free, so that a loop over them becomes vector code, and the scalar
 * and the vector result are the same bits. NaN in, NaN out. kexp, klog,
 * ktanh, kcos, ksin: their polynomials, sources and largest errors stand in
 * elementary.h. (With real = double, used by tests only, they are libm's.) */
#include "../src/kernels/elementary.h"

#endif
