/* Directories and files that are whole or not there, whatever happens: a full
 * disk, a process killed, a machine without power. Errors end the program
 * (EXIT_IO), and leave what was there before.
 *
 * The simple version is the specification:
 *     publish   mkdir PARENT/NAME, write the files into it
 *     replace   write PATH
 *     point     ln -s TO PARENT/NAME, in place of an older link
 *     remove    rm -r PARENT/NAME
 * A kill at any moment leaves either all of that or nothing of it, but for
 * names that end in ".tmp", which go on the next time or may be removed. And
 * when a function has returned, a power failure does not undo it.
 *
 * For that a file is complete and on the disk (fsync) before the name that it
 * has is; it gets its name by one rename; and the directory in which the name
 * stands is forced to the disk as well. A fsync that fails is not tried again:
 * the system may have dropped the data, and would now report success. */
#ifndef DISK_H
#define DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include "arena.h"

/* Contents of a file: pieces of memory, one after the other. */
typedef struct { const void *data; size_t n; } Piece;
typedef struct { const char *name; const Piece *piece; int pieces; } DiskFile;

/* A file that is written with stdio, in memory until it is whole. EXIT_MEMORY.
 *     FILE *f = draft_open(&d);  fprintf(f, ...);
 *     DiskFile file = draft_close(&d, arena, NAME); */
typedef struct { FILE *f; char *bytes; size_t n; } Draft;
FILE *draft_open(Draft *d);
DiskFile draft_close(Draft *d, Arena *a, const char *name);

enum { DISK_PATH = 4096 };      /* bytes of a path, its NUL included */

/* The directory, unless it is there. False if it cannot be made: errno. */
bool disk_make(const char *path);

/* What was named, moved or removed in the directory stays so: also by a
 * process that was killed before it could see to that itself. */
void disk_sync(const char *path);

/* A new directory PARENT/NAME with these files. */
void disk_publish(const char *parent, const char *name, const DiskFile *file,
                  int nfile);

/* The file PARENT/NAME, new or in place of an older one. */
void disk_replace(const char *parent, const DiskFile *file);

/* PARENT/NAME, a symbolic link to the name `to` beside it. */
void disk_point(const char *parent, const char *name, const char *to);

/* PARENT/FROM becomes TO_PARENT/TO. */
void disk_move(const char *parent, const char *from, const char *to_parent,
               const char *to);

/* The directory with all that is in it, or the file; nothing if it is not
 * there. */
void disk_remove(const char *parent, const char *name);

/* The bytes of a file, *n of them, in the arena. EXIT_NOINPUT for a path that
 * cannot be opened, EXIT_IO for a device that fails. The other one does not
 * wait for what is no file, and returns NULL, and errno says why. */
char *disk_read(Arena *arena, const char *path, size_t *n);
char *disk_try_read(Arena *arena, const char *path, size_t *n);

/* The names in a directory, in the arena, *n of them, in no order. False if
 * there is no such directory; EXIT_IO if it cannot be read. */
bool disk_names(Arena *arena, const char *path, const char ***name, int *n);

/* Takes slashes off its end. */
void disk_no_slash(char *path);

/* "DIR/NAME" in path. EXIT_CANTCREATE if that is too long. */
void disk_path(char path[DISK_PATH], const char *dir, const char *name);

#endif
