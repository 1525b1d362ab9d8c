#include <math.h>
#include <stdlib.h>
#include "draw.h"
#include "kernels.h"

/* The project's logarithm is the same on all machines, and libm's is not. */
static double ln(double x)
{
    int e;
    double m = frexp(x, &e);
    return (double)klog((real)m) + e * 0.69314718055994531;
}

static double ten_to(int e)
{
    double x = 1;
    for (int i = abs(e); i > 0; i--) x *= 10;
    return e < 0 ? 1 / x : x;
}

static int decade(double x) { return (int)floor(ln(x) / ln(10) + 1e-6); }

bool scale_takes(const Scale *s, double v)
{
    return isfinite(v) && fabs(v) < 1e300 && (!s->log || v > 1e-300);
}

void scale_widen(Scale *s, double v)
{
    if (!scale_takes(s, v)) return;
    s->whole &= v == floor(v);
    s->low = fmin(s->low, v);
    s->high = fmax(s->high, v);
}

Scale scale_new(bool log)
{
    return (Scale){INFINITY, -INFINITY, log, true};
}

/* A range that is empty, or a single number, becomes a proper one. */
void scale_settle(Scale *s)
{
    if (s->low > s->high) s->low = s->log ? 1 : 0, s->high = s->log ? 10 : 1;
    if (s->low < s->high) return;
    double d = s->low != 0 ? 0.1 * fabs(s->low) : 1;
    s->whole = false;
    if (s->log) s->low /= 1.5, s->high *= 1.5;
    else s->low -= d, s->high += d;
}

/* A flat line is to look flat: a full height for 2 % misleads. */
void scale_stretch(Scale *s, double ratio)
{
    double missing = sqrt(ratio * s->low / s->high);
    if (!s->log || missing <= 1) return;
    s->low /= missing, s->high *= missing;
    s->whole = false;
}

/* Some room above and below; values that come near 0 start at 0. */
void scale_air(Scale *s)
{
    double air = (s->high - s->low) / 25, ratio = s->high / s->low;
    if (s->log) {
        for (int i = 0; i < 5; i++) ratio = sqrt(ratio);
        s->low /= ratio, s->high *= ratio;
        return;
    }
    if (s->low >= 0 && s->low < 6 * air) s->low = 0;
    else s->low -= air;
    s->high += air;
}

double scale_place(const Scale *s, double v)
{
    return s->log ? (ln(v) - ln(s->low)) / (ln(s->high) - ln(s->low))
                  : (v - s->low) / (s->high - s->low);
}

static int even_ticks(const Scale *s, double tick[TICKS])
{
    double rough = (s->high - s->low) / 5, unit = ten_to(decade(rough));
    double m = rough / unit;
    double step = unit * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
    if (s->whole && step < 1) step = 1;
    double first = ceil(s->low / step - 1e-9);
    int n = 0;
    for (; n < TICKS && (first + n) * step <= s->high + 1e-9 * step; n++)
        tick[n] = (first + n) * step + 0.0;
    return n;
}

/* Powers of ten, or 1, 2, 5, 10 where there are few of them. */
int scale_ticks(const Scale *s, double tick[TICKS])
{
    static const int mantissa[] = {1, 2, 5};
    if (!s->log) return even_ticks(s, tick);
    int low = decade(s->low), high = decade(s->high), n = 0;
    int between = high - low < 3 ? 3 : 1, every = (high - low) / 6 + 1;
    for (int e = low; e <= high; e += every)
        for (int i = 0; i < between; i++) {
            double v = mantissa[i] * ten_to(e);
            if (n < TICKS && v >= s->low * (1 - 1e-6)
                && v <= s->high * (1 + 1e-6))
                tick[n++] = v;
        }
    return n < 3 ? even_ticks(s, tick) : n;
}
