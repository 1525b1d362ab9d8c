/* kexp, klog, ktanh, kcos, ksin over every float: the largest error, where
 * it is, and a hash of all results by which builds can be compared.
 *
 *     gcc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno \
 *         -fno-trapping-math -fopenmp -D_POSIX_C_SOURCE=200809L -Iinclude \
 *         tests/exhaustive/elementary.c -o /tmp/elementary -lm
 *     /tmp/elementary [stride]          every stride-th float; default 1
 *
 * Eight minutes of a core. Every build must print these hashes (stride 1):
 *     exp 5b11ac4d01c1f960  log a6b52c6e33980aaa  tanh 47c9f34496f48f7d
 *     cos 5656b364a47b718d  sin 27e1b0f76ddc5679 */
#include <stdio.h>
#include <stdlib.h>
#include "ulp.h"

enum { CHUNK = 1 << 16, CHUNKS = 1 << 16 };

typedef struct {
    double error;
    float at;
    uint64_t hash;
} Verdict;

/* every stride-th of the 2^16 floats whose bits are first, first + 1, ... */
static Verdict check(const struct Elementary *f, uint32_t first,
                     uint32_t stride)
{
    static _Thread_local float x[CHUNK], y[CHUNK];
    int n = 0;
    for (uint32_t i = 0; i < CHUNK; i += stride)
        x[n++] = bits_float(first + i);
    f->loop(n, x, y);
    Verdict v = {0, 0, ULP_HASH};
    for (int i = 0; i < n; i++) {
        double error = ulp_error(y[i], f->exact((double)x[i]));
        if (error > v.error)
            v.error = error, v.at = x[i];
        v.hash = ulp_hash(v.hash, ulp_word(y[i]));
    }
    return v;
}

int main(int argc, char **argv)
{
    static Verdict part[CHUNKS];
    uint32_t stride = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    int failed = 0;
    for (int k = 0; k < ELEMENTARY; k++) {
        #pragma omp parallel for schedule(dynamic, 64)
        for (int c = 0; c < CHUNKS; c++)
            part[c] = check(&elementary[k], (uint32_t)c * CHUNK, stride);
        Verdict all = {0, 0, ULP_HASH};
        for (int c = 0; c < CHUNKS; c++) {
            if (part[c].error > all.error)
                all.error = part[c].error, all.at = part[c].at;
            all.hash = ulp_hash(all.hash, part[c].hash);
        }
        failed += all.error > elementary[k].most;
        printf("%-5s %.4f ulp at %-15a (%.9g)  hash %016llx%s\n",
               elementary[k].name, all.error, (double)all.at, (double)all.at,
               (unsigned long long)all.hash,
               all.error > elementary[k].most ? "  TOO LARGE" : "");
        fflush(stdout);
    }
    return failed > 0;
}
