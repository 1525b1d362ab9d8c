/* Profile: where the time of a step goes, op by op, and how near each op is
 * to what the machine could do. */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdio.h>
#include "tape.h"

typedef struct Profile Profile;
enum { FORWARD, BACKWARD };

Profile *profile_new(Arena *a);

/* Where p is NULL, the calls below but the last do nothing. */

/* Time that passes now belongs to no op. */
void profile_start(Profile *p);

/* The time since the last of these three calls belongs to the op of nd, whose
 * pass has just ended, or to the row `name`. */
void profile_op(Profile *p, const Node *nd, int pass);
void profile_rest(Profile *p, const char *name);

/* A table over `steps` steps: calls and ms of a step, GF/s, GB/s, and the
 * share of this machine's peak, the better of two measurements, at the
 * beginning and now; less than all of it was there: other processes had it.
 * Operations are what the mathematics needs: a padded column or the masked
 * half of an attention counts for nothing. Bytes are those of the inputs, the
 * outputs and their gradients, each once: what a perfect cache would move. */
void profile_print(FILE *f, const Profile *p, long steps);

#endif
