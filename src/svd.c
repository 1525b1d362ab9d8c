/* One-sided Jacobi (Hestenes 1958): turn two columns in their plane until
 * they are orthogonal, pair after pair, until all are. No turn changes the
 * singular values, and those of orthogonal columns are their lengths. */
#include <math.h>
#include <stdbool.h>
#include "svd.h"

/* Columns p and q of A. With t the tangent of the angle, they are orthogonal
 * after the turn if t^2 + 2 z t - 1 = 0, z = (|q|^2 - |p|^2) / (2 p.q); of
 * the two solutions the smaller angle. False if they were so already. */
static bool turn(int m, int n, double *A, int p, int q)
{
    double pp = 0, qq = 0, pq = 0;
    for (int i = 0; i < m; i++) {
        double a = A[i * n + p], b = A[i * n + q];
        pp += a * a, qq += b * b, pq += a * b;
    }
    if (fabs(pq) <= 1e-15 * sqrt(pp) * sqrt(qq)) return false;
    double z = (qq - pp) / (2 * pq);
    double t = (z < 0 ? -1 : 1) / (fabs(z) + sqrt(1 + z * z));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = 0; i < m; i++) {
        double a = A[i * n + p], b = A[i * n + q];
        A[i * n + p] = c * a - s * b;
        A[i * n + q] = s * a + c * b;
    }
    return true;
}

void singular_values(int m, int n, double *A, double *sv)
{
    enum { SWEEPS = 60 };       /* ten are plenty; NaN never ends */
    bool turned = true;
    for (int sweep = 0; turned && sweep < SWEEPS; sweep++) {
        turned = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) turned |= turn(m, n, A, p, q);
    }
    for (int j = 0; j < n; j++) {
        double square = 0;
        for (int i = 0; i < m; i++) square += A[i * n + j] * A[i * n + j];
        double length = sqrt(square);
        int k = j;
        for (; k > 0 && sv[k - 1] < length; k--) sv[k] = sv[k - 1];
        sv[k] = length;
    }
}
