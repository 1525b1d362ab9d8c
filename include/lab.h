/* Lab: what is claimed about the place of the norm, measured again.
 *
 * A claim is a sentence with a source and an experiment. Every file in
 * src/lab/ describes one, or a few that belong together: question, setting,
 * equation, then the code; and ends with
 *
 *     const Claim claim_c6 = {"C6", quick, "the claim", "who said so", run, 4};
 *
 * which is all that `./lab` needs to find it: the folder is the registry. The
 * run function measures, and reports each number with the interval in which
 * the claim says it lies. The verdict follows from these. (4: of fewer seeds
 * there is none.) */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include "text.h"

enum { SEEDS_MOST = 1000,       /* initialisations to average over */
       COLUMNS_MOST = 64,       /* numbers of each, see Sample */
       MEASUREMENTS = 8 * SEEDS_MOST };     /* of one claim */

/* A number from random initialisations 1 .. n: its standard error says how
 * much it would change with other seeds. n = 0: nothing in it is random, or
 * it is of one model. */
typedef struct { double value, error; int n; } Estimate;

/* The claim says: low <= value <= high. The verdict asks for the value alone,
 * the error is for the reader. */
typedef struct {
    char name[64];
    double value, low, high;
    double error;           /* of n seeds, see Estimate */
    int n;
    const char *seen;       /* what another implementation measured, or NULL */
    const char *differs;    /* why it is known to be elsewhere, or NULL */
    double known_low, known_high;       /* ... namely here */
} Measurement;

typedef enum { HOLDS, DIFFERS, FAILS, SKIPPED } Verdict;
extern const char *const verdict_names[];

typedef struct {
    const char *data;       /* the file of tiny Shakespeare */
    bool data_wanted;       /* it must be there: without it nothing is skipped,
                               the program ends */
    int seeds;              /* how many to average over; 0: the claim's own;
                               at most SEEDS_MOST */
    void (*progress)(const char *what);     /* shows it, or NULL */
    Measurement m[MEASUREMENTS];
    int n;
    const char *skipped;    /* why nothing was measured, or NULL */
    Text text;              /* loaded when first asked for */
    Arena arena;
} Lab;

typedef enum { quick, training } Kind;

typedef struct {
    const char *id;
    Kind kind;
    const char *claim, *source;
    void (*run)(Lab *lab);
    int fewest;             /* seeds of which it can be said whether it holds;
                               0: it does not average, lab->seeds is nothing
                               to it */
} Claim;

/* Runs the claim's experiment; lab->m[0..n) is then what it measured. Holds
 * if every measurement is where the claim says, and there is one; differs if
 * the rest is where it is known to be; else fails. Skipped if something is
 * not there, or the seeds wanted are too few. */
Verdict claim_run(const Claim *claim, Lab *lab);
Verdict verdict_of(const Measurement *m);

/* Reports a number; the rest of the measurement may be filled in. NaN is in
 * no interval. */
Measurement *measured(Lab *lab, double value, double low, double high,
                      const char *name, ...)
    __attribute__((format(printf, 5, 6)));
Measurement *measured_over(Lab *lab, Estimate e, double low, double high,
                           const char *name, ...)
    __attribute__((format(printf, 5, 6)));

/* What each of n seeds gave: x[seed - 1][column]. */
typedef struct { int n; double x[SEEDS_MOST][COLUMNS_MOST]; } Sample;

/* A number that follows from the means of the columns, or from one of them:
 * which is the second argument. */
typedef double Statistic(const double *mean, int column);
Statistic column_mean, first_over_second;

/* Its value, and its standard error by the jackknife: from what it would have
 * been without one seed, for each. Of a mean that is sd / sqrt n. */
Estimate estimate(const Sample *s, Statistic *f, int column);

/* The median of x, which is sorted by this. Half of the distance between the
 * two values sqrt(n)/2 places below and above is its standard error. */
Estimate median(int n, double *x);

/* The measurement stands, and the claim does not: it lies in this interval,
 * for this reason. Outside of both it fails. */
void differs(Measurement *m, double low, double high, const char *why);

/* What the experiment is at: for who waits. */
void lab_progress(const Lab *lab, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The number of seeds to average over: `own`, if the user wants no other. */
int lab_seeds(const Lab *lab, int own);

/* Tiny Shakespeare, or NULL if it is not there: then the claim is skipped. */
const Text *lab_text(Lab *lab, int context);

#endif
