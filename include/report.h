/* The report of one run or of several beside each other: an HTML page that
 * holds all it shows, and can be sent to somebody as it is. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>

/* Reads DIR/config.json and DIR/metrics.jsonl of each of the n >= 1 runs and
 * writes the page. It comes into its place whole, so that a reader never sees
 * half of it, and while the runs go on it loads itself anew every 10 seconds.
 * EXIT_NOINPUT, EXIT_DATA: what is read. EXIT_CANTCREATE, EXIT_IO: file.
 *
 * What a program may want to read has an id and the exact value beside the
 * rounded one: <span id="val-loss" data-value="1.8132">. Ids are step,
 * train-loss, val-loss, val-loss-whole, speed, verdict; the second run's end
 * in -2, the third's in -3, ... */
void report_write(const char *file, const char *const dirs[], int n,
                  bool running);

#endif
