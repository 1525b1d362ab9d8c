#include <stdint.h>
#include <stdlib.h>
#include "arena.h"
#include "die.h"

enum { ALIGN = 64, FIRST_CHUNK = 1 << 20 };

struct Chunk { Chunk *prev; size_t size, used; };   /* then `size` bytes */

static size_t round_up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static Chunk *chunk_new(size_t size, Chunk *prev)
{
    Chunk *c = NULL;
    if (size < SIZE_MAX / 2) c = aligned_alloc(ALIGN, ALIGN + round_up(size));
    if (!c) die(EXIT_MEMORY, "out of memory: %zu bytes more are needed", size);
    *c = (Chunk){prev, round_up(size), 0};
    return c;
}

void *arena_alloc(Arena *a, size_t bytes)
{
    Chunk *c = a->last;
    if (bytes > SIZE_MAX / 4)
        die(EXIT_MEMORY, "out of memory: %zu bytes more are needed", bytes);
    bytes = round_up(bytes);
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
