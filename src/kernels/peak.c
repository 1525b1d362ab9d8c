/* The peak of this machine: multiply-adds on registers alone, in as many
 * independent chains as keep its units busy, on every thread at once. */
#include "clock.h"
#include "kernels.h"
#include "vec.h"

/* A run of 0.2 ms: in a much shorter one an error of the clock looks fast. */
enum { CHAINS = 12, TURNS = 100000 };

/* x -> x/2 + 1/2 goes to 1. Equal chains would be one to the compiler. */
static vec chains(int turns)
{
    vec x[CHAINS], half = vec_all((real)0.5), total = {0};
    EACH(i, CHAINS) x[i] = vec_all((real)(i + 2));
    for (int t = 0; t < turns; t++)
        EACH(i, CHAINS)
            x[i] = vec_fma(x[i], half, half);
    EACH(i, CHAINS) total += x[i];
    return total;
}

Gflops peak_gflops(double seconds)
{
    enum { MOST = 1024 };
    static real sink[MOST];             /* what is used must be computed */
    int threads = least(MOST, thread_count()), runs = 0;
    double flops = 2e-9 * VEC * CHAINS * TURNS * threads;
    double begin = now(), best = 0, t, start;
    do {
        start = now();
        #pragma omp parallel for
        for (int i = 0; i < threads; i++) sink[i] = chains(TURNS)[0];
        t = now();
        if (flops / (t - start) > best) best = flops / (t - start);
        runs++;
    } while (t - begin < seconds);
    return (Gflops){sink[0] > 0 ? best : 0, runs * flops / (t - begin)};
}
