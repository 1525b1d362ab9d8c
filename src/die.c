#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"

const char *die_hint;

/* What the user gave may hold a newline; the message is one line. */
static void put_line(const char *format, va_list args, const char *more)
{
    char line[10240];
    vsnprintf(line, sizeof line, format, args);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ') *c = '?';
    fprintf(stderr, "%s%s%s\n", line, more ? "; " : "", more ? more : "");
}

void die(int status, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    va_start(args, format);
    put_line(format, args, die_hint);
    va_end(args);
    exit(status);
}

void warn(const char *format, ...)
{
    va_list args;
    fflush(stdout);
    va_start(args, format);
    put_line(format, args, NULL);
    va_end(args);
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
