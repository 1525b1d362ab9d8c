/* How sure is a mean of few seeds? Each number comes with a standard error. */
#include <stdlib.h>
#include <string.h>
#include "lab.h"
#include "real.h"

double column_mean(const double *mean, int column) { return mean[column]; }

double first_over_second(const double *mean, int column)
{
    return mean[column] / mean[column + 1];
}

/* Over all seeds but one (-1: over all). */
static void means(const Sample *s, int without, double *mean)
{
    int n = s->n - (without >= 0);
    memset(mean, 0, COLUMNS_MOST * sizeof *mean);
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < COLUMNS_MOST && i != without; k++)
            mean[k] += s->x[i][k] / n;
}

/*     error^2 = (n-1)/n sum_i (f_i - mean f)^2,   f_i: f without seed i */
Estimate estimate(const Sample *s, Statistic *f, int column)
{
    double mean[COLUMNS_MOST], each[SEEDS_MOST] = {0}, middle = 0, square = 0;
    int n = s->n;
    for (int i = 0; i < n; i++) {
        means(s, i, mean);
        each[i] = f(mean, column);
        middle += each[i] / n;
    }
    for (int i = 0; i < n; i++)
        square += (each[i] - middle) * (each[i] - middle);
    means(s, -1, mean);
    return (Estimate){f(mean, column),
                      n > 1 ? sqrt(square * (n - 1) / n) : NAN, n};
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

Estimate median(int n, double *x)
{
    qsort(x, (size_t)n, sizeof *x, by_size);
    int away = (int)ceil(sqrt((double)n) / 2), low = (n - 1) / 2 - away;
    int high = n / 2 + away;
    bool known = low >= 0 && high < n;
    return (Estimate){(x[(n - 1) / 2] + x[n / 2]) / 2,
                      known ? (x[high] - x[low]) / 2 : NAN, n};
}
