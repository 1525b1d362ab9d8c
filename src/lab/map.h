/* The map: which depth trains with which placement, warmup and zero-init.
 *
 * A grid of small models, width 32, 4 heads, context 32, trained as setting S
 * is (Adam (0.9, 0.98), batches of 8, Xavier, no clipping, a constant rate
 * after the warmup), all from the same seed with the same data in the same
 * order for the same number of steps. */
#ifndef MAP_H
#define MAP_H

#include "lab.h"

enum { MAP_CONTEXT = 32 };

typedef struct {
    const char *out;            /* directory of map.jsonl, map.svg, map.txt */
    const char *placements, *depths, *warmups;  /* lists, as "6,12,24,48" */
    int steps;
    double rate;
} MapPlan;

/* Trains what OUT/map.jsonl has not yet, a line for each model that is done,
 * on as many threads as there are; draws OUT/map.svg, prints the table and
 * writes it to OUT/map.txt.
 * EXIT_USAGE: a list that is none. EXIT_CANTCREATE, EXIT_IO: the files. */
void map_draw(Lab *lab, const MapPlan *plan, const Text *text);

#endif
