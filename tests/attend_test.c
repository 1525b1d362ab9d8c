/* The kernel of attention against its specification, to the last bit. */
#include <stdlib.h>
#include <string.h>
#include "attend.h"
#include "rng.h"
#include "test.h"

/* q beside k and v in one row (B,T,3C), as attention has them, when there is
 * no past; apart when there is one. */
typedef struct { int T, n, D; bool causal; } Case;

static real *random_reals(Rng *noise, int n)
{
    real *x = malloc((size_t)n * sizeof *x);
    for (int i = 0; i < n; i++) x[i] = rng_normal(noise);
    return x;
}

static void compare(const Case *c, Rng *noise)
{
    int J = c->n + c->T, P = whole_lanes(J), ld = 3 * c->D + 5;
    real *q = random_reals(noise, c->T * ld), *k = random_reals(noise, J * ld);
    real *p = random_reals(noise, 2 * c->T * P);
    real *y = random_reals(noise, 2 * c->T * ld);
    Head h = {c->T, c->n, c->D, c->causal, (real)0.3, q, k, k + c->D, ld, ld,
              p, P, y, ld};
    memcpy(y + c->T * ld, y, sizeof *y * (size_t)(c->T * ld));
    attend(&h);
    h.p += c->T * P, h.y += c->T * ld;
    attend_reference(&h);
    bool same = !memcmp(y, h.y, sizeof *y * (size_t)(c->T * ld));
    for (int t = 0; t < c->T; t++)      /* columns that no row of 32 sees are */
        for (int j = 0; j < P; j++)     /* left as they were */
            same &= p[t * P + j] == h.p[t * P + j] || h.p[t * P + j] == 0;
    EXPECT(same, "T %d, n %d, D %d, causal %d", c->T, c->n, c->D, c->causal);
    free(q), free(k), free(p), free(y);
}

TEST(attention_of_one_head_is_as_specified)
{
    static const int Ts[] = {1, 2, 17, 32, 33, 70}, Ds[] = {1, 7, 16, 33};
    static const int ns[] = {0, 1, 15, 40};
    Rng noise = rng_new(1, RNG_TEST, 77);
    for (int i = 0; i < 6 * 4 * 4 * 2; i++) {
        Case c = {Ts[i % 6], ns[i / 6 % 4], Ds[i / 24 % 4], i / 96};
        compare(&c, &noise);
    }
}
