/* Signals that ask for an end: SIGINT, SIGTERM, SIGHUP. The first is noted, so
 * that a run can save what it has; a second ends the program at once. */
#ifndef STOP_H
#define STOP_H

#include <stdbool.h>

void stop_listen(void);
bool stop_asked(void);

/* All is saved: from now on the first ends the program, too. */
void stop_listen_no_more(void);

/* Ends the program by the signal that came, as if it had not been caught. */
_Noreturn void stop_now(void);

#endif
