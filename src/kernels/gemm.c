/* gemm: C = start + A B, at most of a core's speed in portable C.
 *
 * A core of today can do 16 to 32 multiply-adds while it fetches one number
 * from memory. All that follows the specification brings each number near
 * once and uses it often: registers hold a tile of C, the first cache a panel
 * of B, the second a block of A. Lanes and threads divide the columns and
 * rows of C; along k nothing is divided or reordered, so every version below
 * gives the bits of the first.
 */
#include <string.h>
#include "die.h"
#include "gemm.h"
#include "vec.h"
#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- 1. The specification --------------------------------------------- */

/* The matrix that begins at element (i, j) of X, however X is stored. */
static Matrix part(Matrix X, int i, int j)
{
    X.data += X.transposed ? (long)j * X.ld + i : (long)i * X.ld + j;
    return X;
}

void gemm_reference(int M, int N, int K, Matrix A, Matrix B,
                    const real *start, int lds, real *C, int ldc)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            real c = start ? start[(long)i * lds + j] : 0;
            for (int k = 0; k < K; k++)
                c = fma(*part(A, i, k).data, *part(B, k, j).data, c);
            C[(long)i * ldc + j] = c;
        }
}

/* ---- 2. Registers: the micro-kernel ----------------------------------- */

/* A tile of C, MR rows by NV vectors, lives in registers for all its steps of
 * k. A step loads NV vectors of B and MR single elements of A, and multiplies
 * each with each: MR + NV loads feed MR * NV vector multiply-adds, so that
 * the two multipliers wait for nothing. At least 8 to 10 independent chains
 * are needed too, because an fma takes 4 or 5 cycles and two start in each.
 * 6 x 2 + 2 of B + 1 of A fill 16 registers, 12 x 2 + 3 most of 32. */
#if defined __AVX512F__ || defined __aarch64__
enum { MR = 12 };
#else
enum { MR = 6 };
#endif
enum { NV = 2, NR = NV * VEC };

/* Where the sums of a part of C begin, and where they are left. */
typedef struct {
    const real *start;
    int lds;
    real *c;
    int ldc;
} Sums;

/* Rows of A: element (i, k) is a[i * row + k * step]. */
typedef struct {
    const real *a;
    long row, step;
} Rows;

#define INLINE static inline __attribute__((always_inline))

/* rows and vecs are constants wherever this is called: the loops over them
 * unroll, and every sum[i][v] becomes a register of its own. */
INLINE void tile(int rows, int vecs, int kc, Rows A, const real *b, Sums x)
{
    vec sum[MR][NV];
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++)
            sum[i][v] = vec_load(x.start + (long)i * x.lds + v * VEC);
    for (int k = 0; k < kc; k++, A.a += A.step, b += vecs * VEC) {
        vec bk[NV];
        for (int v = 0; v < vecs; v++)
            bk[v] = vec_load(b + v * VEC);
        for (int i = 0; i < rows; i++) {
            vec aik = vec_all(A.a[i * A.row]);
            for (int v = 0; v < vecs; v++)
                sum[i][v] = vec_fma(aik, bk[v], sum[i][v]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int v = 0; v < vecs; v++)
            vec_store(x.c + (long)i * x.ldc + v * VEC, sum[i][v]);
}

/* ---- 3. The first cache: panels --------------------------------------- */

enum { KC = GEMM_KC, MC = 192 };
enum { A_CHUNK = (MR + VEC - 1) / VEC * VEC, A_TILE = KC * MR + 16 };

/* n < 2 NR elements, by the binary digits of n: each copy has a length that
 * the compiler knows. */
INLINE void copy(int n, const real *x, real *y)
{
    for (int w = NR; w > 0; w /= 2)
        if (n & w) {
            memcpy(y, x, (size_t)w * sizeof *y);
            x += w;
            y += w;
        }
}

static void copy_rows(int m, int n, const real *x, int ldx, real *y, int ldy)
{
    for (int i = 0; i < m; i++)
        copy(n, x + (long)i * ldx, y + (long)i * ldy);
}

static int panel_width(int n) { return n <= VEC ? VEC : NR; }

static void pack_b(int n, int kc, Matrix B, real *p)
{
    int width = panel_width(n), j = 0;
    if (n < width)
        memset(p, 0, sizeof *p * (size_t)(kc * width));
    if (!B.transposed) {
        if (n == NR)
            for (int k = 0; k < kc; k++)
                copy(NR, B.data + (long)k * B.ld, p + k * NR);
        else
            copy_rows(kc, n, B.data, B.ld, p, width);
        return;
    }
    for (; j + VEC <= n; j += VEC)
        for (int k = 0; k < kc; k++) {
            vec v = {0};
            for (int l = 0; l < VEC; l++)
                v[l] = B.data[(long)(j + l) * B.ld + k];
            vec_store(p + k * width + j, v);
        }
    for (; j < n; j++)
        for (int k = 0; k < kc; k++)
            p[k * width + j] = B.data[(long)j * B.ld + k];
}

/* Packs rows of A in tiles of MR x kc, element (i, k) at [k * MR + i]. */
static void pack_a(int m, int kc, Matrix A, real *p)
{
    int i;
    if (m % MR)
        memset(p + m / MR * A_TILE, 0, sizeof *p * (size_t)(kc * MR));
    for (int k = 0; k < kc && A.transposed; k++) {
        const real *x = A.data + (long)k * A.ld;
        real *q = p + k * MR;
        for (i = 0; i + A_CHUNK <= m; i += MR, q += A_TILE)
            memcpy(q, x + i, A_CHUNK * sizeof *q);
        for (; i < m; i += MR, q += A_TILE)
            copy(least(MR, m - i), x + i, q);
    }
    for (i = 0; i < m && !A.transposed; i++)
        for (int k = 0; k < kc; k++)
            p[i / MR * A_TILE + k * MR + i % MR] = A.data[(long)i * A.ld + k];
}

static _Thread_local _Alignas(64) real a_block[(MC / MR) * A_TILE];
static _Thread_local _Alignas(64) real b_panel[KC * NR];

static Rows tile_rows(Matrix A, int i, int rows)
{
    if (A.transposed)
        return (Rows){a_block + i / MR * A_TILE, 1, MR};
    if (rows < MR)
        return (Rows){a_block, 1, MR};
    return (Rows){A.data + (long)i * A.ld, A.ld, 1};
}

INLINE void panel(int vecs, int m, int n, int kc, Matrix A, Sums x)
{
    for (int i = 0; i < m; i += MR) {
        int rows = least(MR, m - i);
        Rows a = tile_rows(A, i, rows);
        Sums t = {x.start + (long)i * x.lds, x.lds,
                  x.c + (long)i * x.ldc, x.ldc};
        if (rows == MR && n == vecs * VEC) {
            tile(MR, vecs, kc, a, b_panel, t);
            continue;
        }
        real edge[MR * NR] = {0};
        Sums e = {edge, NR, edge, NR};
        copy_rows(rows, n, t.start, t.lds, edge, NR);
        if (rows <= MR / 2)
            tile(MR / 2, vecs, kc, a, b_panel, e);
        else
            tile(MR, vecs, kc, a, b_panel, e);
        copy_rows(rows, n, edge, NR, t.c, t.ldc);
    }
}

static void wide_panel(int m, int n, int kc, Matrix A, Sums x)
{
    panel(NV, m, n, kc, A, x);
}
static void narrow_panel(int m, int n, int kc, Matrix A, Sums x)
{
    panel(1, m, n, kc, A, x);
}

/* ---- 4. The second cache: blocks -------------------------------------- */

static const real zeros[NR];

static void block(int m, int N, int kc, Matrix A, Matrix B, Sums x)
{
    int whole = A.transposed ? 0 : m - m % MR;
    pack_a(m - whole, kc, part(A, whole, 0), a_block);
    for (int j = 0; j < N; j += NR) {
        int n = least(NR, N - j);
        pack_b(n, kc, part(B, 0, j), b_panel);
        Sums s = {x.start == zeros ? zeros : x.start + j, x.lds,
                  x.c + j, x.ldc};
        if (n <= VEC)
            narrow_panel(m, n, kc, A, s);
        else
            wide_panel(m, n, kc, A, s);
    }
}

static void rectangle(int M, int N, int K, Matrix A, Matrix B,
                      const real *start, int lds, real *C, int ldc)
{
    int mc = A.transposed ? MC : M;
    for (int i = 0; i < M; i += mc) {
        int m = least(mc, M - i), k = 0;
        real *c = C + (long)i * ldc;
        Sums x = {start ? start + (long)i * lds : zeros, start ? lds : 0,
                  c, ldc};
        do {
            block(m, N, least(KC, K - k), part(A, i, k), part(B, k, 0), x);
            x.start = c, x.lds = ldc;
            k += KC;
        } while (k < K);
    }
}

/* ---- 5. Threads ------------------------------------------------------- */

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

/* Into how many columns of rectangles should the threads cut C? */
static int best_cut(int tiles, int panels, int threads)
{
    int best = 1;
    long least_cost = 0;
    for (int cols = 1; cols <= threads; cols++) {
        if (threads % cols) continue;
        long h = ceil_div(tiles, threads / cols), w = ceil_div(panels, cols);
        long cost = 2 * h * w + h + w;
        if (cols == 1 || cost < least_cost) {
            least_cost = cost;
            best = cols;
        }
    }
    return best;
}

static int threads_for(int M, int N, int K)
{
#ifdef _OPENMP
    if (!omp_in_parallel() && (double)M * N * K > 1e5)
        return omp_get_max_threads();
#endif
    (void)M, (void)N, (void)K;
    return 1;
}

void gemm(int M, int N, int K, Matrix A, Matrix B,
          const real *start, int lds, real *C, int ldc)
{
    int threads = threads_for(M, N, K);
    if (threads == 1) {
        rectangle(M, N, K, A, B, start, lds, C, ldc);
        return;
    }
    int tiles = ceil_div(M, MR), panels = ceil_div(N, NR);
    int cols = best_cut(tiles, panels, threads), rows = threads / cols;
    int h = ceil_div(tiles, rows) * MR, w = ceil_div(panels, cols) * NR;
    #pragma omp parallel for
    for (int t = 0; t < threads; t++) {
        int i = t / cols * h, j = t % cols * w;
        if (i < M && j < N)
            rectangle(least(h, M - i), least(w, N - j), K,
                      part(A, i, 0), part(B, 0, j),
                      start ? start + (long)i * lds + j : NULL, lds,
                      C + (long)i * ldc + j, ldc);
    }
}
