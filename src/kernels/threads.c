#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <unistd.h>
#include "kernels.h"

/* OpenMP's libraries read these when they are loaded, before main. */
void thread_setup(char **argv)
{
#ifdef _OPENMP
    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    setenv("GOMP_SPINCOUNT", "1000", 1);
    char path[4096];                    /* by its name, so that it keeps it */
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n > 0) path[n] = 0, execv(path, argv);
#endif
    (void)argv;
}

#ifdef _OPENMP
int thread_count(void) { return omp_get_max_threads(); }
void thread_limit(int n) { omp_set_num_threads(n); }
int thread_index(void) { return omp_get_thread_num(); }
#else
int thread_count(void) { return 1; }
void thread_limit(int n) { (void)n; }
int thread_index(void) { return 0; }
#endif
