#define _DEFAULT_SOURCE             /* madvise */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "arena.h"
#include "die.h"

/* A step uses thousands of pages of 4 KiB. Large chunks ask for pages of
 * 2 MiB: the first step comes 15 ms earlier, and later ones miss fewer
 * translations of addresses (measured: 0 to 8 % of a step). */
enum { ALIGN = 64, HUGE_PAGE = 1 << 21, FIRST_CHUNK = HUGE_PAGE - ALIGN };

struct Chunk { Chunk *prev; size_t size, used; };   /* then `size` bytes */

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static Chunk *chunk_new(size_t size, Chunk *prev)
{
    Chunk *c = NULL;
    size_t page = size < FIRST_CHUNK ? ALIGN : HUGE_PAGE;
    size_t bytes = size < SIZE_MAX / 2 ? round_up(ALIGN + size, page) : 0;
    if (bytes) c = aligned_alloc(page, bytes);
    if (!c) die(EXIT_MEMORY, "out of memory: %zu bytes more are needed", size);
#ifdef MADV_HUGEPAGE
    if (page == HUGE_PAGE) madvise(c, bytes, MADV_HUGEPAGE);
#endif
    *c = (Chunk){prev, bytes - ALIGN, 0};
    return c;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    Chunk *c = a->last;
    if (bytes > SIZE_MAX / 4)
        die(EXIT_MEMORY, "out of memory: %zu bytes more are needed", bytes);
    bytes = round_up(bytes, ALIGN);
    if (!c || c->size - c->used < bytes) {
        size_t size = c ? 2 * c->size : FIRST_CHUNK;
        c = a->last = chunk_new(size > bytes ? size : bytes, c);
    }
    c->used += bytes;
    return (char *)c + ALIGN + c->used - bytes;
}

void arena_reset(Arena *a)
{
    if (!a->last) return;
    if (a->last->prev) {
        size_t used = 0;
        for (Chunk *c = a->last; c; c = c->prev) used += c->used;
        arena_free(a);
        a->last = chunk_new(used, NULL);
    }
    a->last->used = 0;
}

void arena_free(Arena *a)
{
    while (a->last) {
        Chunk *prev = a->last->prev;
        free(a->last);
        a->last = prev;
    }
}

size_t arena_size(const Arena *a)
{
    size_t size = 0;
    for (Chunk *c = a->last; c; c = c->prev) size += c->size;
    return size;
}
