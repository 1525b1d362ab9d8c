/* Paper for the exercises: rows of numbers, branches that say what they are
 * told, and exact Jacobians of up to 8 features. All of it is on one page,
 * which fresh_page begins anew. */
#ifndef PAPER_H
#define PAPER_H

#include <stdio.h>
#include <string.h>
#include "gpt.h"
#include "kernels.h"
#include "lab.h"
#include "svd.h"

#ifdef REAL_DOUBLE
#define ROUNDING 1e-12
#else
#define ROUNDING 1e-5
#endif
#define EPS ((real)1e-5)                /* the eps of the model's norms */

extern Arena arena;
extern Tape tape;
void fresh_page(void);

/* One token of n features; a tensor of one value; N(0, std^2). */
Tensor *row(int n, const double *x);
#define ROW(...)                                                            \
    row((int)(sizeof (double[]){__VA_ARGS__} / sizeof(double)),             \
        (double[]){__VA_ARGS__})
Tensor *constant(Shape shape, real value);
Tensor *noise(Shape shape, real std, uint32_t stream);

Tensor *LN(Tensor *x, real eps);

/* A branch with random weights and an output projection of 0: F(x) = b,
 * whatever x is. heads 0 is an MLP. */
Sublayer constant_branch(int d, int heads, const double *b);

/* One sublayer of the named placement. */
Tensor *put(const char *name, Tensor *x, const Sublayer *f);

/* The claim: got is `want`, up to the bound. */
void near(Lab *lab, const char *name, double got, double want, double bound);
void near_row(Lab *lab, const char *name, const Tensor *y, const double *want,
              double bound);
#define NEAR_ROW(lab, name, y, ...) \
    near_row(lab, name, y, (double[]){__VA_ARGS__}, ROUNDING)

/* The Jacobian J[i][j] = d y_i / d x_j, exactly: one backward pass for each
 * output, with 1 there and 0 elsewhere, gives one row. At most 8 features. */
enum { D = 8 };
typedef struct { int rows, cols; double at[D][D]; } Jacobian;
Jacobian jacobian(Tensor *y, Tensor *x);
Jacobian product(const Jacobian *A, const Jacobian *B);
double largest_difference(const Jacobian *A, const Jacobian *B);
void singular(const Jacobian *J, double sv[D]);

/* The spectral norm |J|: the most by which it can stretch a vector. */
double spectral_norm(const Jacobian *J);

double power(double x, int n);

#endif
