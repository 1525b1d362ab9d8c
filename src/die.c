#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "die.h"

void die(int status, const char *format, ...)
{
    va_list args;
    fflush(stdout);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(status);
}
