/* Singular values of a small matrix, in double. */
#ifndef SVD_H
#define SVD_H

/* sv[0..n): those of A (m,n), row-major, largest first. A is overwritten. */
void singular_values(int m, int n, double *A, double *sv);

#endif
