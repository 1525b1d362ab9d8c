/* Errors end the program: one line on stderr that says what was wrong, what
 * was given and what would be right, and a defined exit status (the numbers
 * of BSD's sysexits.h where it has one). Ops and files return no NULL and no
 * error code that a caller would have to look at; json.h is the exception,
 * and says why. */
#ifndef DIE_H
#define DIE_H

enum {
    EXIT_DIVERGED = 1,      /* training met a non-finite number */
    EXIT_USAGE = 64,        /* a flag */
    EXIT_DATA = 65,         /* a file's contents */
    EXIT_NOINPUT = 66,      /* a file that is not there */
    EXIT_INTERNAL = 70,     /* a shape: a mistake in the program */
    EXIT_MEMORY = 71,
    EXIT_CANTCREATE = 73,
    EXIT_IO = 74,
    EXIT_CONFIG = 78        /* a flag that contradicts the checkpoint */
};

/* What the user still has when the program ends, behind the message: as "the
 * last checkpoint is out/step-250". NULL: nothing to say. */
extern const char *die_hint;

/* Prints the message as one line on stderr and exits with the status. */
void die(int status, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* "PATH: WHAT: ...", as errno says; EXIT_MEMORY if that is want of memory. */
void die_errno(int status, const char *path, const char *what)
    __attribute__((noreturn));

/* A line on stderr that does not end the program. */
void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What was printed is on its way; else EXIT_IO. */
void flush_stdout(void);

/* Always on: every op states here what its operands must be. */
#define CHECK(condition, ...) \
    do { if (!(condition)) die(EXIT_INTERNAL, __VA_ARGS__); } while (0)

#endif
