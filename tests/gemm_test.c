/* gemm against the three loops that specify it: every element, every bit.
 * Around A, B and start lie NaNs, which would show in any sum that read
 * them; around C lies a value that must still be there afterwards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "../src/kernels/gemm.h"
#include "test.h"

typedef enum { FROM_ZERO, FROM_C, FROM_ROW, FROM_MATRIX, STARTS } Start;

typedef struct {
    int M, N, K;
    bool ta, tb;
    Start start;
    int pad;                    /* how much wider than needed all rows are */
} Case;

static const real GUARD = (real)-7.25;

/* ---- operands ---- */

/* Some number in [-1, 1), the same one each time */
static real number(unsigned i)
{
    i = i * 2654435761u + 12345u;
    i = (i ^ i >> 15) * 2246822519u;
    i ^= i >> 13;
    return (real)(i % 65536) / 32768 - 1;
}

/* m rows of n numbers, each row followed by pad times the value between */
static real *matrix(int m, int n, int pad, real between, unsigned seed)
{
    int ld = n + pad;
    real *x = malloc(sizeof *x * (size_t)(m * ld + 1));
    if (!x) abort();
    for (int i = 0; i < m; i++)
        for (int j = 0; j < ld; j++)
            x[i * ld + j] = j < n ? number(seed + (unsigned)(i * n + j))
                                  : between;
    return x;
}

/* The last row ends where the allocation does: a sanitizer sees beyond. */
static Matrix operand(int m, int n, bool transposed, int pad, unsigned seed)
{
    int rows = transposed ? n : m, cols = transposed ? m : n;
    real *x = matrix(rows, cols, pad, (real)NAN, seed);
    return (Matrix){x, cols + pad, transposed};
}

static bool same(real a, real b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

/* ---- one case ---- */

typedef struct { Matrix A, B; const real *start; int lds; } Operands;

static Operands operands(const Case *c)
{
    Operands o = {operand(c->M, c->K, c->ta, c->pad, 1),
                  operand(c->K, c->N, c->tb, c->pad, 99991), NULL, 0};
    if (c->start == FROM_ROW)
        o.start = matrix(1, c->N, 0, 0, 777);
    if (c->start == FROM_MATRIX) {
        o.start = matrix(c->M, c->N, c->pad + 1, (real)NAN, 888);
        o.lds = c->N + c->pad + 1;
    }
    return o;
}

static void release(Operands *o)
{
    free((void *)o->A.data);
    free((void *)o->B.data);
    free((void *)o->start);
}

typedef void Gemm(int, int, int, Matrix, Matrix, const real *, int, real *,
                  int);

static real *product(Gemm *f, const Case *c, const Operands *o)
{
    int ldc = c->N + c->pad;
    real *C = matrix(c->M, c->N, c->pad, GUARD, 555);
    C[c->M * ldc] = GUARD;
    bool in_place = c->start == FROM_C;
    f(c->M, c->N, c->K, o->A, o->B, in_place ? C : o->start,
      in_place ? ldc : o->lds, C, ldc);
    return C;
}

static bool equal(const Case *c, const real *got, const real *want)
{
    int ldc = c->N + c->pad;
    for (int i = 0; i < c->M * ldc + 1; i++)
        if (!EXPECT(same(got[i], want[i]),
                    "M %d N %d K %d ta %d tb %d start %d pad %d: "
                    "C[%d][%d] is %.9g, should be %.9g", c->M, c->N, c->K,
                    c->ta, c->tb, c->start, c->pad, i / ldc, i % ldc,
                    (double)got[i], (double)want[i]))
            return false;
    return true;
}

static void check(Case c)
{
    Operands o = operands(&c);
    real *want = product(gemm_reference, &c, &o);
    real *got = product(gemm, &c, &o);
    equal(&c, got, want);
    free(want);
    free(got);
    release(&o);
}

static void check_transposes(int M, int N, int K, int start, int pad)
{
    for (int t = 0; t < 4; t++)
        check((Case){M, N, K, t & 1, t & 2, (Start)((start + t) % STARTS),
                     pad});
}

/* ---- the tests ---- */

static const int sizes[] = {1, 2, 3, 5, 7, 15, 16, 17, 18, 31, 32, 33, 34,
                            63, 64, 65, 66, 97, 130};
enum { SIZES = sizeof sizes / sizeof *sizes };

TEST(gemm_gives_the_bits_of_its_specification)
{
    static const int ks[] = {1, 2, 3, 7, 16, 33};
    int n = 0;
    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++, n++)
            check_transposes(sizes[i], sizes[j], ks[n % 6], n / 6,
                             n % 3 ? n % 5 : 0);
}

TEST(gemm_pauses_a_chain_without_a_trace)
{
    static const int ks[] = {GEMM_KC - 1, GEMM_KC, GEMM_KC + 1, 2 * GEMM_KC,
                             2 * GEMM_KC + 3};
    static const int mn[][2] = {{1, 1}, {7, 17}, {13, 66}, {66, 33},
                                {300, 18}};
    for (int k = 0; k < 5; k++)
        for (int i = 0; i < 5; i++)
            for (int start = 0; start < STARTS; start += 2)
                check_transposes(mn[i][0], mn[i][1], ks[k], start + k, k);
}

/* C larger than the block of packed panels: many rows pass by all of them,
 * and N = 700 with long chains needs several blocks. */
TEST(gemm_keeps_panels_while_rows_pass_by)
{
    static const int shapes[][3] = {{401, 300, 70}, {150, 700, GEMM_KC + 5},
                                    {601, 199, 33}};
    for (int s = 0; s < 3; s++)
        check_transposes(shapes[s][0], shapes[s][1], shapes[s][2], s, s);
}

TEST(gemm_of_no_steps_is_its_start)
{
    for (int start = 0; start < STARTS; start++)
        check((Case){9, 35, 0, false, false, (Start)start, 2});
    check((Case){.M = 0, .N = 5, .K = 5, .pad = 1});
    check((Case){.M = 5, .N = 0, .K = 5, .pad = 1});
}

TEST(gemm_gives_the_same_bits_for_any_number_of_threads)
{
    static const int shapes[][3] = {{130, 97, 65}, {512, 65, 64}, {64, 65, 600},
                                    {3, 700, 130}, {700, 3, 130}, {97, 97, 97}};
    static const int counts[] = {1, 2, 3, 4, 8};
    for (int s = 0; s < 6; s++)
        for (int t = 0; t < 4; t++) {
            const int *d = shapes[s];
            Case c = {d[0], d[1], d[2], t & 1, t & 2, (Start)t, s % 3};
            Operands o = operands(&c);
            real *want = product(gemm_reference, &c, &o);
            for (int i = 0; i < 5; i++) {
                thread_limit(counts[i]);
                real *got = product(gemm, &c, &o);
                equal(&c, got, want);
                free(got);
            }
            free(want);
            release(&o);
        }
}

TEST(gemm_may_be_called_by_many_threads_at_once)
{
    enum { CALLS = 24 };
    Case c[CALLS];
    Operands o[CALLS];
    real *got[CALLS];
    thread_limit(4);
    for (int i = 0; i < CALLS; i++) {
        c[i] = (Case){64 + i, 64 - i, 16 + i, i & 1, i & 2, (Start)(i % STARTS),
                      i};
        o[i] = operands(&c[i]);
    }
    #pragma omp parallel for
    for (int i = 0; i < CALLS; i++)
        got[i] = product(gemm, &c[i], &o[i]);
    for (int i = 0; i < CALLS; i++) {
        real *want = product(gemm_reference, &c[i], &o[i]);
        equal(&c[i], got[i], want);
        free(want);
        free(got[i]);
        release(&o[i]);
    }
}

/* 0 * inf is NaN: a kernel that skips zeros would hide it. The smallest
 * numbers stay: 1e-30 * 1e-10 is subnormal in float, not 0. */
TEST(gemm_keeps_what_is_not_a_number_and_what_is_small)
{
    static const real values[] = {0, (real)-0.0, (real)NAN, (real)INFINITY,
                                  (real)-INFINITY, (real)1e-30, (real)1e-10};
    for (int v = 0; v < 7 * 7; v++)
        for (int t = 0; t < 4; t++) {
            Case c = {14, 35, 40, t & 1, t & 2, FROM_ZERO, 1};
            Operands o = operands(&c);
            real *a = (real *)o.A.data, *b = (real *)o.B.data;
            for (int i = 0; i < 9; i++) {
                a[i * 43] = values[v % 7];
                b[i * 37] = values[v / 7];
            }
            real *want = product(gemm_reference, &c, &o);
            real *got = product(gemm, &c, &o);
            equal(&c, got, want);
            free(want);
            free(got);
            release(&o);
        }
}
