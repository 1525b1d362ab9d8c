/* gemm: C = start + A B, at nearly the speed of the core in portable C.
 *
 * A core of today does 16 to 32 multiply-adds in the time in which it fetches
 * one number from its second cache, and hundreds while memory answers. So all
 * that follows the specification is one idea, three times over: bring a piece
 * near once and use it often. Registers hold a tile of C, the first cache a
 * panel of B, the second a block of A. Lanes, tiles and threads divide the
 * rows and columns of C; along k nothing is divided or reordered, and so
 * every section gives the bits of the first.
 */
#include <string.h>
#include "gemm.h"
#include "vec.h"
#ifdef _OPENMP
#include <omp.h>
#endif

/* ---- 1. The specification --------------------------------------------- */

/* The matrix that begins at element (i, j) of X, however X is stored */
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

/* A tile of C, MR rows of NV vectors, stays in registers for all its steps
 * of k. One step loads NV vectors of B and MR single elements of A and
 * multiplies each with each: MR + NV loads feed MR * NV multiply-adds. These
 * are as many independent chains, and 8 to 10 are needed: an fma takes 4 or 5
 * cycles, and two begin in each. 6 x 2 sums, 2 vectors of B and an element of
 * A fill 16 registers. Of 32, 10 x 2 leave enough for both compilers to load
 * ahead without spilling; with 12 x 2, clang on aarch64 does not. */
#if defined __AVX512F__ || defined __aarch64__
enum { MR = 10 };
#else
enum { MR = 6 };
#endif
enum { NV = 2, NR = NV * VEC };

/* Rows of A: element (i, k) is p[i * row + k * step]. */
typedef struct { const real *p; long row, step; } Rows;

/* Where the sums of a part of C begin, and where they are left */
typedef struct { const real *start; long lds; real *c; long ldc; } Sums;

static Sums from_row(Sums x, int i)
{
    return (Sums){x.start + i * x.lds, x.lds, x.c + i * x.ldc, x.ldc};
}

#define INLINE static inline __attribute__((always_inline))

/* Step k of B is b[k * ldb ...]. rows and vecs are constants wherever this is
 * called. */
INLINE void tile(int rows, int vecs, int kc, Rows a, const real *b, long ldb,
                 Sums x)
{
    vec sum[MR][NV];
    EACH(i, rows) EACH(v, vecs)
        sum[i][v] = vec_load(x.start + i * x.lds + v * VEC);
    for (int k = 0; k < kc; k++, a.p += a.step, b += ldb) {
        vec bk[NV];
        EACH(v, vecs) bk[v] = vec_load(b + v * VEC);
        EACH(i, rows) {
            vec aik = vec_all(a.p[i * a.row]);
            EACH(v, vecs) sum[i][v] = vec_fma(aik, bk[v], sum[i][v]);
        }
    }
    EACH(i, rows) EACH(v, vecs)
        vec_store(x.c + i * x.ldc + v * VEC, sum[i][v]);
}

/* Less than a vector is copied by the binary digits of its length: the length
 * of each copy is then known to the compiler. */
INLINE void copy(int n, const real *x, real *y)
{
    for (; n >= VEC; n -= VEC, x += VEC, y += VEC)
        vec_store(y, vec_load(x));
    for (int w = VEC / 2; w > 0; w /= 2)
        if (n & w) {
            memcpy(y, x, (size_t)w * sizeof *y);
            x += w, y += w;
        }
}

static void copy_rows(int m, int n, const real *x, long ldx, real *y, long ldy)
{
    for (int i = 0; i < m; i++)
        copy(n, x + i * ldx, y + i * ldy);
}

/* At the edges of C a tile has fewer rows or columns. It is computed beside
 * C, padded to the next of four sizes: 65 columns are, on AVX2, not 5 * 16
 * but 4 * 16 + 8. Apart from the loop of whole tiles, which stays short. */
__attribute__((noinline))
static void edge(int rows, int n, int kc, Rows a, const real *b, long ldb,
                 Sums x)
{
    real padded[MR * NR] = {0};
    Sums p = {padded, NR, padded, NR};
    copy_rows(rows, n, x.start, x.lds, padded, NR);
    if (n > VEC && rows > MR / 2)
        tile(MR, NV, kc, a, b, ldb, p);
    else if (n > VEC)
        tile(MR / 2, NV, kc, a, b, ldb, p);
    else if (rows > MR / 2)
        tile(MR, 1, kc, a, b, ldb, p);
    else
        tile(MR / 2, 1, kc, a, b, ldb, p);
    copy_rows(rows, n, padded, NR, x.c, x.ldc);
}

/* ---- 3. The first cache: panels of B ---------------------------------- */

/* All tiles below each other use the same panel of B: kc steps of NR columns.
 * In B its rows lie apart, each in a line and perhaps a page of its own, and
 * in few sets of the cache if ld is a power of two. Packed, with zeros for
 * the columns that are missing, it is contiguous. KC steps are 24 KiB with
 * AVX2; where a chain is longer it pauses in C, and a float stored and loaded
 * is the same float.
 *
 * As many panels are packed as have B_SIZE reals, and NEAR rows of C pass by
 * all of them before the next do: each line of C and of A is fetched once and
 * not once a panel (3 to 10 % where C is larger than the second cache). Where
 * C itself is small, panels are better packed one by one, just before they are
 * used. */
enum { KC = GEMM_KC, B_SIZE = 1 << 16, NEAR = 8 * MR };
static _Thread_local _Alignas(64) real b_block[B_SIZE];

/* VEC columns of a transposed B: rows of memory become columns of p. */
static void pack_b_transposed(int kc, const real *b, long ld, int width,
                              real *p)
{
    int k = 0;
    for (; k + VEC <= kc; k += VEC) {
        vec v[VEC];
        for (int j = 0; j < VEC; j++) v[j] = vec_load(b + j * ld + k);
        vec_transpose(v);
        for (int i = 0; i < VEC; i++) vec_store(p + (k + i) * width, v[i]);
    }
    for (; k < kc; k++)
        for (int j = 0; j < VEC; j++) p[k * width + j] = b[j * ld + k];
}

/* Element (k, j) goes to place k * width + j. */
static void pack_b(int n, int kc, Matrix B, real *p)
{
    int width = n > VEC ? NR : VEC, j = 0;
    if (n < width)
        memset(p, 0, sizeof *p * (size_t)(kc * width));
    if (!B.transposed && n == NR)       /* again a length that is known */
        copy_rows(kc, NR, B.data, B.ld, p, NR);
    else if (!B.transposed)
        copy_rows(kc, n, B.data, B.ld, p, width);
    else {
        for (; j + VEC <= n; j += VEC)
            pack_b_transposed(kc, B.data + (long)j * B.ld, B.ld, width, p + j);
        for (; j < n; j++)
            for (int k = 0; k < kc; k++)
                p[k * width + j] = B.data[(long)j * B.ld + k];
    }
}

/* ---- 4. The second cache: blocks of A --------------------------------- */

/* All panels of B pass by the same rows of A, few enough to stay in the
 * second cache. They are used where they are, with two exceptions. The rows
 * of a last, incomplete tile are packed. And so are MC columns of a transposed
 * A whose rows are more than FAR elements apart: there each step of k is on
 * another page. Tiles lie 16 elements apart, to begin in different sets. */
enum { MC = 192, FAR = 256, ROWS = 512, A_TILE = KC * MR + 16 };
static _Thread_local _Alignas(64) real a_block[MC / MR * A_TILE];

static bool far_rows(Matrix A) { return A.transposed && A.ld > FAR; }

/* Element (i, k) goes to place k * MR + i of its tile. Whole vectors are
 * copied: what is too much is overwritten by the next k. */
static void pack_a(int m, int kc, Matrix A, real *p)
{
    enum { COPY = (MR + VEC - 1) / VEC * VEC };
    if (m % MR)
        memset(p + m / MR * A_TILE, 0, sizeof *p * (size_t)(kc * MR));
    for (int k = 0; k < kc && A.transposed; k++) {
        const real *x = A.data + (long)k * A.ld;
        real *q = p + k * MR;
        int i = 0;
        for (; i + COPY <= m; i += MR, q += A_TILE)
            copy(COPY, x + i, q);
        for (; i < m; i += MR, q += A_TILE)
            copy(least(MR, m - i), x + i, q);
    }
    for (int i = 0; i < m && !A.transposed; i++)
        for (int k = 0; k < kc; k++)
            p[i / MR * A_TILE + k * MR + i % MR] = A.data[(long)i * A.ld + k];
}

/* Row i and those below it; from row `packed` on they are in a_block. */
static Rows rows_at(Matrix A, int i, int packed)
{
    if (i >= packed)
        return (Rows){a_block + (i - packed) / MR * A_TILE, 1, MR};
    if (A.transposed)
        return (Rows){A.data + i, 1, A.ld};
    return (Rows){A.data + (long)i * A.ld, A.ld, 1};
}

/* The n columns of C that belong to one panel of B */
INLINE void panel(int vecs, int m, int n, int kc, Matrix A, int packed,
                  const real *b, Sums x)
{
    for (int i = 0; i < m; i += MR) {
        int rows = least(MR, m - i);
        Rows a = rows_at(A, i, packed);
        if (rows == MR && n == vecs * VEC)
            tile(MR, vecs, kc, a, b, vecs * VEC, from_row(x, i));
        else
            edge(rows, n, kc, a, b, vecs * VEC, from_row(x, i));
    }
}

static void wide(int m, int n, int kc, Matrix A, int packed, const real *b,
                 Sums x)
{
    panel(NV, m, n, kc, A, packed, b, x);
}

static void narrow(int m, int n, int kc, Matrix A, int packed, const real *b,
                   Sums x)
{
    panel(1, m, n, kc, A, packed, b, x);
}

static const real zeros[NR];

/* m rows of C against the N columns in b_block */
static void block(int m, int N, int kc, Matrix A, Sums x)
{
    int packed = far_rows(A) ? 0 : m - m % MR;
    pack_a(m - packed, kc, part(A, packed, 0), a_block);
    for (int i = 0; i < m; i += NEAR) {
        int h = least(NEAR, m - i);
        for (int j = 0; j < N; j += NR) {
            const real *b = b_block + (long)j * kc;
            Sums s = from_row(x, i);
            Matrix a = part(A, i, 0);
            if (s.start != zeros) s.start += j;
            s.c += j;
            if (N - j > VEC)
                wide(h, least(NR, N - j), kc, a, packed - i, b, s);
            else
                narrow(h, N - j, kc, a, packed - i, b, s);
        }
    }
}

static void blocks(int M, int N, int kc, Matrix A, Sums x)
{
    for (int i = 0, m; i < M; i += m) {
        m = least(far_rows(A) ? MC / MR * MR : ROWS, M - i);
        block(m, N, kc, part(A, i, 0), from_row(x, i));
    }
}

/* One row, as when a sampler computes one token, uses each element of B once,
 * and to pack it would take longer than that. TURN rows of B pass by each
 * element of C: it is loaded and stored once for so many steps of k. */
enum { TURN = 4 };

INLINE void turn(int n, int N, const real *a, long step, const real *b,
                 long ld, real *c)
{
    real ak[TURN];
    int j = 0;
    EACH(k, n) ak[k] = a[k * step];
    for (; j + VEC <= N; j += VEC) {
        vec sum = vec_load(c + j);
        EACH(k, n) sum = vec_fma(vec_all(ak[k]), vec_load(b + k * ld + j), sum);
        vec_store(c + j, sum);
    }
    for (; j < N; j++)
        for (int k = 0; k < n; k++) c[j] = fma(ak[k], b[k * ld + j], c[j]);
}

static void row(int N, int K, const real *a, long step, const real *b,
                long ld, const real *start, real *c)
{
    int k = 0;
    for (int j = 0; j < N; j++)
        c[j] = start ? start[j] : 0;
    for (; k + TURN <= K; k += TURN)
        turn(TURN, N, a + k * step, step, b + k * ld, ld, c);
    for (; k < K; k++)
        turn(1, N, a + k * step, step, b + k * ld, ld, c);
}

/* The same against rows of memory, a vector of them at a time: what pack_b
 * would write is used from registers. Behind the last row it is taken again,
 * and what comes of that is not stored. */
static void row_transposed(int N, int K, const real *a, long step,
                           const real *b, long ld, const real *start, real *c)
{
    for (int j = 0; j < N; j += VEC) {
        const real *row[VEC];
        real sums[VEC] = {0};
        int n = least(VEC, N - j), k = 0;
        for (int i = 0; i < VEC; i++) row[i] = b + (j + least(i, n - 1)) * ld;
        if (start) copy(n, start + j, sums);
        vec sum = vec_load(sums), v[VEC];
        for (; k + VEC <= K; k += VEC) {
            EACH(i, VEC) v[i] = vec_load(row[i] + k);
            vec_transpose(v);
            EACH(i, VEC) sum = vec_fma(vec_all(a[(k + i) * step]), v[i], sum);
        }
        vec_store(sums, sum);
        for (; k < K; k++)
            for (int i = 0; i < n; i++)
                sums[i] = fma(a[k * step], row[i][k], sums[i]);
        copy(n, sums, c + j);
    }
}

static void one_row(int N, int K, Matrix A, Matrix B, const real *start,
                    real *c)
{
    (B.transposed ? row_transposed : row)(N, K, A.data,
                                          A.transposed ? A.ld : 1,
                                          B.data, B.ld, start, c);
}

/* So do few rows, a tile of C or less, as of several streams side by side:
 * they use B where it is, but for columns at its end. */
static void few_rows(int M, int N, int kc, Matrix A, Matrix B, Sums x)
{
    pack_a(M, kc, A, a_block);
    for (int j = 0; j < N; j += NR) {
        int n = least(NR, N - j);
        Matrix b = part(B, 0, j);
        Sums s = x;
        if (s.start != zeros) s.start += j;
        s.c += j;
        if (n < NR) {
            pack_b(n, kc, b, b_block);
            b = (Matrix){b_block, n > VEC ? NR : VEC, false};
        }
        edge(M, n, kc, rows_at(A, 0, 0), b.data, b.ld, s);
    }
}

/* All of gemm, on one thread */
static void serial(int M, int N, int K, Matrix A, Matrix B,
                   const real *start, int lds, real *C, int ldc)
{
    if (M == 1) {
        one_row(N, K, A, B, start, C);
        return;
    }
    int k = 0;
    do {
        int kc = least(KC, K - k), nc = B_SIZE / (kc + 1) / NR * NR;
        if ((long)M * N <= B_SIZE && !far_rows(A)) nc = NR;
        bool few = M <= MR && !B.transposed;
        if (few)
            few_rows(M, N, kc, part(A, 0, k), part(B, k, 0),
                     (Sums){start ? start : zeros, start ? lds : 0, C, ldc});
        for (int j = 0, n; j < N && !few; j += nc) {
            n = least(nc, N - j);
            for (int p = 0; p < n; p += NR)
                pack_b(least(NR, n - p), kc, part(B, k, j + p),
                       b_block + (long)p * kc);
            blocks(M, n, kc, part(A, 0, k),
                   (Sums){start ? start + j : zeros, start ? lds : 0, C + j,
                          ldc});
        }
        start = C, lds = ldc;
        k += KC;
    } while (k < K);
}

/* ---- 5. Threads ------------------------------------------------------- */

/* Each thread computes a rectangle of C, with buffers of its own: nobody
 * waits for a panel, and what is packed twice costs less than a barrier.
 * Inside a parallel region, and for what takes a microsecond, the caller does
 * it alone. */
static int threads_for(int M, int N, int K)
{
#ifdef _OPENMP
    if (!omp_in_parallel() && (double)M * N * K > 1e5)
        return omp_get_max_threads();
#endif
    (void)M, (void)N, (void)K;
    return 1;
}

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

/* Into how many columns of rectangles should C be cut? The largest rectangle
 * decides: its tiles, and half a tile's time for each row or column of them,
 * to fetch what they share. */
static int cut(int tiles, int panels, int threads)
{
    int best = 1;
    long best_cost = -1;
    for (int cols = 1; cols <= threads; cols++) {
        long h = ceil_div(tiles, threads / cols), w = ceil_div(panels, cols);
        long cost = 2 * h * w + h + w;
        if (threads % cols == 0 && (best_cost < 0 || cost < best_cost)) {
            best_cost = cost;
            best = cols;
        }
    }
    return best;
}

void gemm(int M, int N, int K, Matrix A, Matrix B,
          const real *start, int lds, real *C, int ldc)
{
    int threads = threads_for(M, N, K);
    if (threads == 1) {
        serial(M, N, K, A, B, start, lds, C, ldc);
        return;
    }
    int tiles = ceil_div(M, MR), panels = ceil_div(N, NR);
    int cols = cut(tiles, panels, threads), rows = threads / cols;
    int h = ceil_div(tiles, rows) * MR, w = ceil_div(panels, cols) * NR;
    #pragma omp parallel for
    for (int t = 0; t < threads; t++) {
        int i = t / cols * h, j = t % cols * w;
        if (i < M && j < N)
            serial(least(h, M - i), least(w, N - j), K,
                   part(A, i, 0), part(B, 0, j),
                   start ? start + (long)i * lds + j : NULL, lds,
                   C + (long)i * ldc + j, ldc);
    }
}
