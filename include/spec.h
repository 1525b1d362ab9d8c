/* OpSpec: the record by which an op is tested. Every file src/ops/NAME.c ends
 * with `const OpSpec op_NAME_spec`; the test program refers to the spec of
 * each file, so an op without one does not link, and an op with one has its
 * gradient checked without another line (tests/ops_test.c).
 *
 * Shapes are written with letters: "N,C" is (N,C), "B,T,3HD" is (B,T,3*H*D).
 * The tests choose the letters' values, 1, 7, 17 and 33 among them. */
#ifndef SPEC_H
#define SPEC_H

#include "ops.h"

enum { MAX_GOLDEN = 24 };

/* One call of the op: the letters' values and the integers drawn. */
typedef struct {
    int dim[26];            /* dim['N' - 'A'] is N */
    const int *ids;         /* OpSpec.ids many integers, or NULL */
} Call;

typedef struct OpSpec {
    const char *name;
    const char *in[MAX_IN]; /* shapes of the inputs */
    const char *out;        /* shape of the output */
    const char *ids;        /* how many integers: "B,T" is B*T; or NULL */
    char below;             /* they are drawn from 0 .. that letter - 1 */
    double gap;             /* inputs are drawn from N(0,1), but no nearer
                               than this to 0 (a kink: relu) */
    bool training_only;     /* evaluation returns the input (dropout) */
    Tensor *(*run)(Tape *tp, Tensor **in, const Call *call);

    /* A small case worked out elsewhere: shapes as above with numbers, the
     * output to 1e-12 (the double build) */
    struct {
        const char *dims;   /* "N=2,C=3" */
        double in[MAX_IN][MAX_GOLDEN];
        int ids[MAX_GOLDEN];
        double out[MAX_GOLDEN];
        const char *source; /* where the numbers are from */
    } golden;

    /* Shapes of inputs that must be refused, by number: {"4,64", "32"} */
    const char *refuse[4][MAX_IN];
} OpSpec;

#endif
