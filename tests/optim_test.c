/* The optimiser where PyTorch (golden_test.c) does not reach: SGD, the norm of
 * all gradients, the scale, and the schedule. */
#include <string.h>
#include "kernels.h"
#include "optim.h"
#include "rng.h"
#include "test.h"

/* Sizes around the pieces in which parameters are taken; the second does not
 * decay. */
static const int sizes[] = {4096, 1, 5000, 12291};
enum { PARAMS = 4 };
typedef struct { Arena arena; Param param[PARAMS]; Optim o; } Set;

static void set_new(Set *s, OptimConfig config)
{
    Rng draw = rng_new(1, RNG_TEST, 0);
    *s = (Set){.arena = {0}};
    for (int i = 0; i < PARAMS; i++) {
        Tensor *t = tensor_param(&s->arena, (Shape){1, {sizes[i]}});
        for (long k = 0; k < size(t); k++) {
            t->data[k] = rng_normal(&draw);
            t->grad[k] = rng_normal(&draw);
        }
        s->param[i] = (Param){.t = t, .decay = i != 1};
    }
    optim_new(&s->o, config, s->param, PARAMS, &s->arena);
}

static const OptimConfig sgd = {.method = SGD, .beta1 = .5,
                                .weight_decay = .25};
static const OptimConfig adamw = {.method = ADAMW, .beta1 = .9, .beta2 = .98,
                                  .eps = 1e-8, .weight_decay = .5};

/* b1 = 1/2, decay = 1/4, rate = 1/2, from w = 2 with gradients 1, -2, 3:
 *     m = 1       w = 2       - (1     + 0.5      ) / 2 = 1.25
 *     m = -1.5    w = 1.25    - (-1.5  + 0.3125   ) / 2 = 1.84375
 *     m = 2.25    w = 1.84375 - (2.25  + 0.4609375) / 2 = 0.48828125
 * and without decay 1.5, 2.25, 1.125: all exact in float. */
TEST(sgd_by_hand)
{
    static const real gradient[] = {1, -2, 3};
    static const real decayed[] = {1.25, 1.84375, .48828125};
    static const real plain[] = {1.5, 2.25, 1.125};
    Set s;
    set_new(&s, sgd);
    Tensor *w = s.param[0].t, *v = s.param[1].t;
    w->data[9] = v->data[0] = 2;
    for (int step = 0; step < 3; step++) {
        w->grad[9] = v->grad[0] = gradient[step];
        optim_step(&s.o, (real).5, 1);
        EXPECT(w->data[9] == decayed[step], "step %d: got %.9g", step + 1,
               (double)w->data[9]);
        EXPECT(v->data[0] == plain[step], "step %d, no decay: got %.9g",
               step + 1, (double)v->data[0]);
    }
    arena_free(&s.arena);
}

/* Half the scale is half the gradient, bit for bit. */
static void half(OptimConfig config)
{
    Set a, b;
    set_new(&a, config);
    set_new(&b, config);
    for (int i = 0; i < PARAMS; i++)
        for (long k = 0; k < sizes[i]; k++) b.param[i].t->grad[k] /= 2;
    optim_step(&a.o, (real)1e-2, (real).5);
    optim_step(&b.o, (real)1e-2, 1);
    for (int i = 0; i < PARAMS; i++)
        EXPECT(!memcmp(a.param[i].t->data, b.param[i].t->data,
                       (size_t)sizes[i] * sizeof(real)),
               "method %d, parameter %d", config.method, i);
    arena_free(&a.arena);
    arena_free(&b.arena);
}

TEST(scale_multiplies_the_gradient)
{
    half(sgd);
    half(adamw);
}

TEST(gradients_are_left_at_0)
{
    for (int method = ADAMW; method <= SGD; method++) {
        Set s;
        set_new(&s, method == SGD ? sgd : adamw);
        optim_step(&s.o, (real)1e-2, 1);
        for (int i = 0; i < PARAMS; i++)
            for (long k = 0; k < sizes[i]; k++)
                EXPECT(s.param[i].t->grad[k] == 0, "method %d, parameter %d, "
                       "element %ld", method, i, k);
        EXPECT(grad_norm(&s.o) == 0, "the norm of no gradient");
        arena_free(&s.arena);
    }
}

/* Without a gradient only the decay is left: rate 1/2 of 1/2. */
TEST(adamw_decays_what_should_decay)
{
    Set s;
    set_new(&s, adamw);
    for (int i = 0; i < PARAMS; i++)
        memset(s.param[i].t->grad, 0, (size_t)sizes[i] * sizeof(real));
    s.param[0].t->data[7] = s.param[1].t->data[0] = 8;
    optim_step(&s.o, (real).5, 1);
    EXPECT(s.param[0].t->data[7] == 6, "%g", (double)s.param[0].t->data[7]);
    EXPECT(s.param[1].t->data[0] == 8, "%g", (double)s.param[1].t->data[0]);
    arena_free(&s.arena);
}

/* Rounding of one term is 2^-24 of it, and 256 terms are a lane's share of a
 * piece: 256 * 2^-24 = 1.5e-5 is never reached. */
TEST(norm_of_all_gradients)
{
    Set s;
    double square = 0, bound = sizeof(real) == sizeof(float) ? 1.5e-5 : 1e-13;
    set_new(&s, sgd);
    for (int i = 0; i < PARAMS; i++)
        for (long k = 0; k < sizes[i]; k++) {
            double g = (double)s.param[i].t->grad[k];
            square += g * g;
        }
    real first = grad_norm(&s.o);
    EXPECT(fabs((double)first - sqrt(square)) <= bound * sqrt(square),
           "got %.9g, expected %.9g", (double)first, sqrt(square));
    for (int threads = 1; threads <= 3; threads++) {
        thread_limit(threads);
        real again = grad_norm(&s.o);
        EXPECT(again == first, "%d threads: %.9g, not %.9g", threads,
               (double)again, (double)first);
    }
    arena_free(&s.arena);
}

/* ------------------------------------------------------------------------
 * The schedule */

static void follow(const Schedule *s)
{
    int peak = s->warmup > 0 ? s->warmup : 1;
    real before = 0, top = (real)s->rate, bottom = (real)s->min_rate;
    for (long step = 1; step <= s->steps; step++) {
        real rate = schedule_rate(s, step);
        bool rising = step <= s->warmup;
        EXPECT(isfinite(rate) && rate > 0 && rate <= top,
               "decay %d, warmup %d, step %ld of %d, min_rate %g: %g",
               s->decay, s->warmup, step, s->steps, s->min_rate,
               (double)rate);
        EXPECT(step == 1 || (rising ? rate > before : rate <= before),
               "decay %d, warmup %d, step %ld of %d: from %.9g to %.9g",
               s->decay, s->warmup, step, s->steps, (double)before,
               (double)rate);
        EXPECT(rising || rate >= bottom, "step %ld: %g is below min_rate",
               step, (double)rate);
        if (step == peak || step == s->warmup + 1)
            EXPECT(rate == top, "decay %d, warmup %d, step %ld of %d: %.9g",
                   s->decay, s->warmup, step, s->steps, (double)rate);
        before = rate;
    }
}

TEST(rate_is_positive_whatever_the_warmup)
{
    static const int lengths[] = {1, 10, 20000};
    Schedule s = {.rate = 1e-3};
    for (int i = 0; i < 3; i++)
        for (s.decay = DECAY_COSINE; s.decay <= DECAY_CONSTANT; s.decay++)
            for (int w = 0; w < 4; w++)
                for (int low = 0; low < 2; low++) {
                    s.steps = lengths[i];
                    s.warmup = (int[]){0, 1, s.steps, s.steps + 1}[w];
                    s.min_rate = low ? 1e-4 : 0;
                    follow(&s);
                }
}

/* Halfway down: linear is the middle, and so is the cosine, at step
 * warmup + 1 + half of what follows. */
TEST(rate_halfway)
{
    Schedule s = {.warmup = 4, .steps = 24, .rate = 1, .min_rate = .5};
    for (s.decay = DECAY_COSINE; s.decay <= DECAY_LINEAR; s.decay++)
        EXPECT(fabs((double)schedule_rate(&s, 15) - .75) < 1e-6, "decay %d: "
               "%.9g", s.decay, (double)schedule_rate(&s, 15));
    EXPECT(schedule_rate(&s, 1) == (real).25, "a quarter of the warmup");
}
