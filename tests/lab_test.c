/* The lab: its verdicts, its exercises in double, and singular values. */
#include <string.h>
#include "lab.h"
#include "real.h"
#include "rng.h"
#include "svd.h"
#include "test.h"

#define CLAIM(c) extern const Claim c;
#include "claim_list.h"
#undef CLAIM
#define CLAIM(c) &c,
static const Claim *const claims[] = {
#include "claim_list.h"
};
enum { CLAIMS = sizeof claims / sizeof *claims };

static Verdict verdict(void (*run)(Lab *))
{
    static Lab lab;
    Claim claim = {"T", quick, "a claim", "a test", run, 0};
    return claim_run(&claim, &lab);
}

static void true_claim(Lab *lab)
{
    measured(lab, 1, 1, 1, "at both ends of an interval that is a point");
    measured(lab, 2, -INFINITY, 3, "below");
    measured(lab, 2, 1, INFINITY, "above");
}

static void false_claim(Lab *lab)
{
    true_claim(lab);
    measured(lab, 1.001, 0, 1, "too much");
    true_claim(lab);
}

static void nan_claim(Lab *lab)
{
    measured(lab, NAN, -INFINITY, INFINITY, "no number");
}

static void empty_claim(Lab *lab) { (void)lab; }

static void differing_claim(Lab *lab)
{
    true_claim(lab);
    differs(measured(lab, 2, 0, 1, "elsewhere"), 1.9, 2.1, "a reason");
}

static void moved_claim(Lab *lab)
{
    differs(measured(lab, 2.2, 0, 1, "neither"), 1.9, 2.1, "a reason");
}

static void skipped_claim(Lab *lab) { lab->skipped = "a reason"; }

TEST(a_claim_holds_if_all_that_was_measured_is_where_it_says)
{
    EXPECT(verdict(true_claim) == HOLDS, "all within");
    EXPECT(verdict(false_claim) == FAILS, "one of seven is not");
    EXPECT(verdict(nan_claim) == FAILS, "NaN is nowhere");
    EXPECT(verdict(empty_claim) == FAILS, "nothing was measured");
    EXPECT(verdict(differing_claim) == DIFFERS, "where it is known to be");
    EXPECT(verdict(moved_claim) == FAILS, "and no longer there");
    EXPECT(verdict(skipped_claim) == SKIPPED, "skipped");
    EXPECT(verdict(true_claim) == HOLDS, "nothing is left of the one before");
}

/* sd / sqrt n of a mean, by hand: 1, 2, 3, 6 have mean 3 and variance 14/3.
 * And the ratio of two columns, the second of which does not vary. */
TEST(the_error_of_a_mean)
{
    static Sample s = {4, {{1, 2}, {2, 2}, {3, 2}, {6, 2}}};
    Estimate mean = estimate(&s, column_mean, 0);
    Estimate ratio = estimate(&s, first_over_second, 0);
    double error = sqrt(14 / 3. / 4);
    EXPECT(fabs(mean.value - 3) < 1e-12 && mean.n == 4, "%g", mean.value);
    EXPECT(fabs(mean.error - error) < 1e-12, "%.17g", mean.error);
    EXPECT(fabs(ratio.value - 1.5) < 1e-12, "%g", ratio.value);
    EXPECT(fabs(ratio.error - error / 2) < 1e-12, "%.17g", ratio.error);
    s.n = 1;
    EXPECT(isnan(estimate(&s, column_mean, 0).error), "one seed has none");
}

TEST(the_error_of_a_median)
{
    double odd[] = {9, 1, 8, 2, 7, 3, 6, 4, 5}, even[] = {4, 1, 3, 2}, one = 7;
    Estimate e = median(9, odd);
    EXPECT(e.value == 5 && e.n == 9, "%g of %d", e.value, e.n);
    EXPECT(e.error == 2, "3 to 7, got %g", 2 * e.error);
    EXPECT(median(4, even).value == 2.5, "between the two");
    EXPECT(median(1, &one).value == 7 && isnan(median(1, &one).error), "one");
}

TEST(too_few_seeds_are_no_verdict)
{
    static Lab lab = {.seeds = 3};
    Claim claim = {"T", quick, "a claim", "a test", false_claim, 4};
    EXPECT(claim_run(&claim, &lab) == SKIPPED && lab.n == 0
           && strstr(lab.skipped, "4 or more"), "3 of 4");
    lab.seeds = 4;
    EXPECT(claim_run(&claim, &lab) == FAILS, "4 of 4");
    lab.seeds = 0;
    EXPECT(claim_run(&claim, &lab) == FAILS, "as many as it needs");
}

TEST(every_claim_has_an_id_of_its_own_and_a_source)
{
    for (int i = 0; i < CLAIMS; i++) {
        const Claim *c = claims[i];
        EXPECT(c->id && c->claim && c->source && c->run, "claim %d", i);
        for (int j = 0; j < i; j++)
            EXPECT(strcmp(c->id, claims[j]->id), "%s twice", c->id);
    }
}

TEST(exercises)
{
    static Lab lab;
    int n = 0;
    for (int i = 0; i < CLAIMS; i++) {
        if (claims[i]->id[0] != 'E') continue;
        n++;
        claim_run(claims[i], &lab);
        EXPECT(lab.n, "%s measures nothing", claims[i]->id);
        for (int k = 0; k < lab.n; k++)
            EXPECT(verdict_of(&lab.m[k]) == HOLDS, "%s, %s: %.17g is not in "
                   "[%.17g, %.17g]", claims[i]->id, lab.m[k].name,
                   lab.m[k].value, lab.m[k].low, lab.m[k].high);
    }
    EXPECT(n == 10, "ten of them, got %d", n);
}

/* Without the data a training claim is skipped, and says how to get it. */
TEST(no_shakespeare)
{
    static Lab lab = {.data = "no such file"};
    EXPECT(!lab_text(&lab, 64) && lab.skipped
           && strstr(lab.skipped, "get-shakespeare"), "skipped: %s",
           lab.skipped ? lab.skipped : "no");
}

static void expect_values(const char *what, int m, int n, const double *A,
                          const double *want)
{
    double copy[64], sv[8];
    memcpy(copy, A, (size_t)(m * n) * sizeof *A);
    singular_values(m, n, copy, sv);
    for (int i = 0; i < n; i++)
        EXPECT(fabs(sv[i] - want[i]) <= 1e-14 * want[0] + 1e-300,
               "%s: value %d is %.17g, wanted %.17g", what, i, sv[i], want[i]);
}
#define VALUES(...) (const double[]){__VA_ARGS__}

TEST(singular_values_by_hand)
{
    expect_values("diagonal", 2, 2, VALUES(-3, 0, 0, 5), VALUES(5, 3));
    expect_values("[3 0; 4 5]", 2, 2, VALUES(3, 0, 4, 5),
                  VALUES(3 * sqrt(5.), sqrt(5.)));
    expect_values("rank 1", 2, 3, VALUES(1, 2, 2, 2, 4, 4),
                  VALUES(3 * sqrt(5.), 0, 0));
    expect_values("tall", 3, 2, VALUES(1, 1, 0, 1, 1, 0),
                  VALUES(sqrt(3.), 1));
    expect_values("equal columns", 2, 2, VALUES(1, 1, 1, 1), VALUES(2, 0));
    expect_values("zero", 2, 2, VALUES(0, 0, 0, 0), VALUES(0, 0));
    expect_values("graded", 2, 2, VALUES(1e-8, 0, 1, 1e8), VALUES(1e8, 1e-8));
}

/* A = Q diag(s) Q' with Q = I - 2 v v' a reflection: the values are s. */
TEST(singular_values_of_a_known_product)
{
    enum { N = 8 };
    double s[N] = {7, 3, 2, 1, .5, 1e-3, 1e-6, 0}, Q[N][N], A[N * N] = {0};
    double v[N], square = 0;
    Rng r = rng_new(1, RNG_TEST, 77);
    for (int i = 0; i < N; i++)
        v[i] = rng_uniform(&r) - .5, square += v[i] * v[i];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            Q[i][j] = (i == j) - 2 * v[i] * v[j] / square;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                A[i * N + j] += Q[i][k] * s[k] * Q[j][k];
    expect_values("reflected", N, N, A, s);
}
