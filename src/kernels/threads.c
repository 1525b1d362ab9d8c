#ifdef _OPENMP
#include <omp.h>
#endif
#include "kernels.h"

#ifdef _OPENMP
int thread_count(void) { return omp_get_max_threads(); }
void thread_limit(int n) { omp_set_num_threads(n); }
int thread_index(void) { return omp_get_thread_num(); }
#else
int thread_count(void) { return 1; }
void thread_limit(int n) { (void)n; }
int thread_index(void) { return 0; }
#endif

void add_columns(int N, int C, const real *x, real *out)
{
    #pragma omp parallel for
    for (int from = 0; from < C; from += COLUMNS)
        for (int n = 0, to = least(from + COLUMNS, C); n < N; n++)
            for (int c = from; c < to; c++)
                out[c] += x[(long)n * C + c];
}
