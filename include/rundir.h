/* A run's directory: its checkpoints by step, OUT/step-N, and what is kept of
 * them. "OUT/step-250" is the checkpoint after step 250. */
#ifndef RUNDIR_H
#define RUNDIR_H

#include "disk.h"

enum { STEP_NAME = 32 };
void step_name(char name[STEP_NAME], long step);        /* "step-250" */

/* The steps of which there are checkpoints, the newest first; in the arena. */
long *rundir_steps(Arena *a, const char *out, int *n);
/* The newest; -1 if there is none. */
long rundir_newest(const char *out);

/* OUT/best becomes a link to the checkpoint of this step, if it is there. */
void rundir_point_best(const char *out, long best);

/* Removes all but the last `keep` and the best. */
void rundir_keep(const char *out, int keep, long best);

/* step-N gets the name step-N.damaged. */
void rundir_set_aside(const char *out, long step);

/* The directory of the run that the checkpoint in `dir` belongs to: out for
 * out/step-250 and out/best. Of another name it is not known: false, dir/.. */
bool rundir_of(const char *dir, char out[DISK_PATH]);

/* Is there a checkpoint of this step? */
bool rundir_has(const char *out, long step);

/* Is it no place for a run: a checkpoint, or a model of transformers? */
bool rundir_is_model(const char *out);

/* Are these two names of one directory? */
bool rundir_same(const char *a, const char *b);

/* Removes what a kill has left half done in OUT. */
void rundir_clean(const char *out);

/* For a new run: what an older one left in OUT moves to OUT/previous, in
 * place of what is there. Without a checkpoint nothing is moved: false. */
bool rundir_make_room(const char *out);

/* This process alone writes in OUT, until it ends: OUT/.lock. If another does
 * already: EXIT_CANTCREATE. */
void rundir_lock(const char *out);

#endif
