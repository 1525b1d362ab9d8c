#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"

const char *die_hint;

void die(int status, const char *format, ...)
{
    char line[1024];
    va_list args;
    fflush(stdout);
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    /* What the user gave may hold a newline; the message is one line. */
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    fprintf(stderr, "%s%s%s\n", line, die_hint ? "; " : "",
            die_hint ? die_hint : "");
    exit(status);
}

void die_errno(int status, const char *path, const char *what)
{
    int why = errno;
    die(why == ENOMEM ? EXIT_MEMORY : status, "%s: %s: %s", path, what,
        strerror(why));
}

void flush_stdout(void)
{
    if (fflush(stdout) || ferror(stdout))
        die_errno(EXIT_IO, "stdout", "cannot write");
}
