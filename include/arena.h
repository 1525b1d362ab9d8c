/* Arena: memory that is given back all at once. There are two lifetimes: the
 * run's (corpus, parameters, optimiser), and the step's, whose arena is reset
 * every step, so that nothing in the loop is freed piece by piece, or
 * forgotten. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

typedef struct Chunk Chunk;
typedef struct { Chunk *last; } Arena;      /* {0} is an empty arena */

/* Bytes at a 64-byte boundary, contents undefined. Never NULL: without
 * memory the program ends (EXIT_MEMORY). */
void *arena_alloc(Arena *a, size_t bytes);

/* Takes everything back but keeps the memory, joined into one chunk: from
 * the second step on an equal step asks the system for nothing. */
void arena_reset(Arena *a);

/* Gives the memory back to the system. */
void arena_free(Arena *a);

/* Bytes held from the system. */
size_t arena_size(const Arena *a);

#endif
