/* What the exercises write on: see paper.h. */
#include "paper.h"

Arena arena;
Tape tape;

void fresh_page(void)
{
    tape_reset(&tape);
    arena_reset(&arena);
    tape.recording = true, tape.find_nonfinite = false;
}

Tensor *row(int n, const double *x)
{
    Tensor *t = tensor_param(&arena, (Shape){2, {1, n}});
    for (int i = 0; i < n; i++) t->data[i] = (real)x[i];
    return t;
}

Tensor *constant(Shape shape, real value)
{
    Tensor *t = tensor_param(&arena, shape);
    for (long i = 0; i < size(t); i++) t->data[i] = value;
    return t;
}

Tensor *noise(Shape shape, real std, uint32_t stream)
{
    Tensor *t = tensor_param(&arena, shape);
    Rng r = rng_new(1, RNG_TEST, stream);
    for (long i = 0; i < size(t); i++) t->data[i] = std * rng_normal(&r);
    return t;
}

Tensor *LN(Tensor *x, real eps)
{
    Shape d = {1, {cols(x)}};
    return op_layernorm(&tape, x, constant(d, 1), constant(d, 0), eps);
}

Sublayer constant_branch(int d, int heads, const double *b)
{
    int inner = heads ? d : 4 * d, in = heads ? 3 * d : 4 * d;
    Sublayer f = {.heads = heads};
    f.norm = (Norm){constant((Shape){1, {d}}, 1), constant((Shape){1, {d}}, 0)};
    f.in = (Linear){noise((Shape){2, {d, in}}, 1, 1),
                    noise((Shape){1, {in}}, 1, 2)};
    f.out = (Linear){constant((Shape){2, {inner, d}}, 0),
                     constant((Shape){1, {d}}, 0)};
    for (int i = 0; b && i < d; i++) f.out.b->data[i] = (real)b[i];
    return f;
}

Tensor *put(const char *name, Tensor *x, const Sublayer *f)
{
    const Placement *p = placements;
    while (strcmp(p->name, name)) p++;
    return p->put(&tape, x, f);
}

void near(Lab *lab, const char *name, double got, double want, double bound)
{
    measured(lab, got, want - bound, want + bound, "%s", name);
}

void near_row(Lab *lab, const char *name, const Tensor *y, const double *want,
              double bound)
{
    for (int i = 0; i < size(y); i++)
        measured(lab, (double)y->data[i], want[i] - bound, want[i] + bound,
                 "%s [%d]", name, i);
}

Jacobian jacobian(Tensor *y, Tensor *x)
{
    Jacobian J = {(int)size(y), (int)size(x), {{0}}};
    for (int i = 0; i < J.rows; i++) {
        real dy[D] = {0};
        dy[i] = 1;
        memset(x->grad, 0, (size_t)J.cols * sizeof(real));
        tape_backward(&tape, y, dy);
        for (int j = 0; j < J.cols; j++) J.at[i][j] = (double)x->grad[j];
    }
    return J;
}

Jacobian product(const Jacobian *A, const Jacobian *B)
{
    Jacobian C = {A->rows, B->cols, {{0}}};
    for (int i = 0; i < C.rows; i++)
        for (int j = 0; j < C.cols; j++)
            for (int k = 0; k < A->cols; k++)
                C.at[i][j] += A->at[i][k] * B->at[k][j];
    return C;
}

double largest_difference(const Jacobian *A, const Jacobian *B)
{
    double worst = 0;
    for (int i = 0; i < A->rows; i++)
        for (int j = 0; j < A->cols; j++)
            worst = fmax(worst, fabs(A->at[i][j] - B->at[i][j]));
    return worst;
}

void singular(const Jacobian *J, double sv[D])
{
    double A[D * D];
    for (int i = 0; i < J->rows; i++)
        for (int j = 0; j < J->cols; j++) A[i * J->cols + j] = J->at[i][j];
    singular_values(J->rows, J->cols, A, sv);
}

double spectral_norm(const Jacobian *J)
{
    double sv[D];
    singular(J, sv);
    return sv[0];
}

double power(double x, int n)
{
    double y = 1;
    while (n-- > 0) y *= x;
    return y;
}
