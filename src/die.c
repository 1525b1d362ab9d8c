#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "die.h"

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
    fprintf(stderr, "%s\n", line);
    exit(status);
}
