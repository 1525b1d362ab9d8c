/* OUT/metrics.jsonl: a JSON object for every step, one a line. What becomes
 * known of the last step later is put before the end of its line. */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>
#include <stdio.h>

typedef struct { FILE *f; char *path; } Metrics;

/* A new file. EXIT_CANTCREATE. */
void metrics_open(Metrics *m, const char *out);

/* The first `bytes` of the file in `from`, where a run left off after step
 * `last`, become the file in OUT, which may be the same. If they are not there
 * or are no lines of such a run, says so on stderr and keeps what is. EXIT_IO.
 */
void metrics_resume(Metrics *m, const char *from, const char *out,
                    uint64_t bytes, long last);

/* A new line, or the last one, this step's, opened again; then members, then
 * its end. */
void metrics_line(Metrics *m, long step);
void metrics_again(Metrics *m, long step);
void metrics_real(Metrics *m, const char *key, double x);   /* 9 digits */
void metrics_text(Metrics *m, const char *key, const char *s, size_t n);
void metrics_end(Metrics *m);

/* Hands what was written to the system; or to the disk, and returns how many
 * bytes there are. EXIT_IO. */
void metrics_flush(Metrics *m);
uint64_t metrics_settle(Metrics *m);

void metrics_close(Metrics *m);

#endif
