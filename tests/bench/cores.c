/* cores THREADS: the multiply-adds that THREADS cores can do and those that
 * they are doing now, 10^9 operations a second: "BEST MEAN". */
#include <stdio.h>
#include <stdlib.h>
#include "kernels.h"

int main(int argc, char **argv)
{
    thread_setup(argv);
    thread_limit(argc > 1 ? atoi(argv[1]) : 1);
    Gflops g = peak_gflops(0.5);
    printf("%.1f %.1f\n", g.best, g.mean);
    return 0;
}
