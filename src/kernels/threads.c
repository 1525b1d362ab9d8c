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
