/* The peak of this machine: multiply-adds on registers alone, in as many
 * independent chains as keep its units busy, on every thread at once. */
#include "clock.h"
#include "kernels.h"
#include "vec.h"

enum { CHAINS = 12, TURNS = 2000 };

/* x -> x/2 + 1/2 stays 1. */
static vec chains(int turns)
{
    vec x[CHAINS], half = vec_all((real)0.5), total = {0};
    for (int i = 0; i < CHAINS; i++) x[i] = vec_all(1);
    for (int t = 0; t < turns; t++)
        for (int i = 0; i < CHAINS; i++)
            x[i] = vec_fma(x[i], half, half);
    for (int i = 0; i < CHAINS; i++) total += x[i];
    return total;
}

/* The best of many short runs: what the cores can do, whoever else is here. */
double peak_gflops(double seconds)
{
    enum { MOST = 1024 };
    static real sink[MOST];             /* what is used must be computed */
    int threads = least(MOST, thread_count());
    double best = 0;
    for (double end = now() + seconds; now() < end; ) {
        double start = now();
        #pragma omp parallel for
        for (int t = 0; t < threads; t++) sink[t] = chains(TURNS)[0];
        double flops = 2.0 * VEC * CHAINS * TURNS * threads;
        double rate = 1e-9 * flops / (now() - start);
        if (rate > best) best = rate;
    }
    return sink[0] > 0 ? best : 0;
}
