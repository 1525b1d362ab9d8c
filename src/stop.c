#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "stop.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came;

static void note(int which)
{
    if (came) {
        signal(which, SIG_DFL);
        raise(which);
    }
    came = which;
}

/* SA_RESTART: no call of a library fails because of the first. */
void stop_listen(void)
{
    struct sigaction old, new = {.sa_handler = note};
    new.sa_flags = SA_RESTART;
    sigemptyset(&new.sa_mask);
    for (int i = 0; i < 3; i++) {
        sigaction(signals[i], NULL, &old);
        if (old.sa_handler != SIG_IGN)          /* nohup */
            sigaction(signals[i], &new, NULL);
    }
}

void stop_listen_no_more(void)
{
    for (int i = 0; i < 3; i++) {
        struct sigaction now;
        sigaction(signals[i], NULL, &now);
        if (now.sa_handler == note) signal(signals[i], SIG_DFL);
    }
}

bool stop_asked(void) { return came; }

void stop_now(void)
{
    fflush(NULL);
    signal(came, SIG_DFL);
    raise(came);
    abort();            /* not reached: the default of these is to end */
}
