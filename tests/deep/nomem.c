/* A library to be preloaded: allocation number NOMEM_AT of the program fails,
 * or with NOMEM_ON all from there on. At the end the file NOMEM_COUNT gets how
 * many there were. One thread only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static long count, at, on;

static int fails(void)
{
    if (!count++) {
        const char *s = getenv("NOMEM_AT");
        at = s ? atol(s) : 0;
        on = getenv("NOMEM_ON") != NULL;
    }
    if (!at || (on ? count < at : count != at)) return 0;
    errno = ENOMEM;
    return 1;
}

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m)
{
    return fails() ? NULL : __libc_calloc(n, m);
}
void *realloc(void *p, size_t n)
{
    return fails() ? NULL : __libc_realloc(p, n);
}
void *aligned_alloc(size_t a, size_t n)
{
    return fails() ? NULL : __libc_memalign(a, n);
}

__attribute__((destructor)) static void tell(void)
{
    const char *name = getenv("NOMEM_COUNT");
    at = 0;
    FILE *f = name ? fopen(name, "w") : NULL;
    if (f) fprintf(f, "%ld\n", count), fclose(f);
}
