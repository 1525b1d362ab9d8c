#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "disk.h"
#include "os.h"

void disk_path(char path[DISK_PATH], const char *dir, const char *name)
{
    if (snprintf(path, DISK_PATH, "%s/%s", dir, name) >= DISK_PATH)
        die(EXIT_CANTCREATE, "%.40s...: a path must not be longer than %d "
            "bytes", dir, DISK_PATH - 1);
}

void disk_no_slash(char *path)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') path[--n] = 0;
}

/* -- steps, each of which fails with errno ------------------------------ */

static int open_again(const char *path, int flags)
{
    int fd;
    while ((fd = os->open(path, flags)) < 0 && errno == EINTR) {}
    return fd;
}

/* An interrupted close has closed. */
static bool close_file(int fd)
{
    return !os->close(fd) || errno == EINTR;
}

/* fsync, then close, whatever came of the fsync. */
static bool settle(int fd)
{
    int why = os->fsync(fd) ? errno : 0;
    if (!close_file(fd) && !why) why = errno;
    return errno = why, !why;
}

static bool write_all(int fd, const char *from, size_t n)
{
    while (n) {
        long written = os->write(fd, from, n);
        if (written < 0 && errno == EINTR) continue;
        if (written == 0) errno = EIO;
        if (written <= 0) return false;
        from += written, n -= (size_t)written;
    }
    return true;
}

static bool write_file(const char *path, const DiskFile *file)
{
    int fd = open_again(path, O_WRONLY | O_CREAT | O_TRUNC), i = 0;
    if (fd < 0) return false;
    while (i < file->pieces
           && write_all(fd, file->piece[i].data, file->piece[i].n)) i++;
    if (i == file->pieces) return settle(fd);
    int why = errno;
    close_file(fd);
    return errno = why, false;
}

/* The names in it. Some file systems have no fsync for directories. */
static bool sync_dir(const char *path)
{
    int fd = open_again(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return false;
    return settle(fd) || errno == EINVAL;
}

/* A directory, and what went wrong first while it was emptied, or 0. */
typedef struct { const char *path; int why; } Emptied;

static void remove_in(void *emptied, const char *name);

/* unlink says of a directory EISDIR on Linux, EPERM in POSIX. */
static bool remove_tree(const char *path)
{
    Emptied e = {path, 0};
    if (!os->unlink(path) || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return false;
    if (os->list(path, remove_in, &e)) return false;
    if (e.why) return errno = e.why, false;
    return !os->rmdir(path);
}

static void remove_in(void *emptied, const char *name)
{
    Emptied *e = emptied;
    char path[DISK_PATH];
    disk_path(path, e->path, name);
    if (!remove_tree(path) && !e->why) e->why = errno;
}

/* -- what is built of them ---------------------------------------------- */

_Noreturn static void failed(const char *path, const char *temporary)
{
    int why = errno;
    if (temporary) remove_tree(temporary);
    errno = why;
    die_errno(EXIT_IO, path, "cannot write");
}

typedef struct { char path[DISK_PATH], temporary[DISK_PATH]; } Names;

/* PARENT/NAME, and PARENT/NAME.tmp, which is not there. */
static void names_new(Names *n, const char *parent, const char *name)
{
    char temporary[DISK_PATH];
    if (snprintf(temporary, DISK_PATH, "%s.tmp", name) >= DISK_PATH)
        die(EXIT_CANTCREATE, "%.40s...: the name is too long", name);
    disk_path(n->path, parent, name);
    disk_path(n->temporary, parent, temporary);
    if (!remove_tree(n->temporary)) failed(n->temporary, NULL);
}

static void into_place(Names *n, const char *parent)
{
    if (os->rename(n->temporary, n->path)) failed(n->path, n->temporary);
    if (!sync_dir(parent)) failed(n->path, NULL);
}

void disk_sync(const char *path)
{
    if (!sync_dir(path)) failed(path, NULL);
}

bool disk_make(const char *path)
{
    char parent[DISK_PATH];
    errno = 0;
    if (os->mkdir(path) && errno != EEXIST) return false;
    bool there = errno == EEXIST;
    disk_path(parent, path, "..");
    return sync_dir(parent) || (there && errno == EACCES);
}

void disk_publish(const char *parent, const char *name, const DiskFile *file,
                  int nfile)
{
    Names n;
    char path[DISK_PATH];
    names_new(&n, parent, name);
    if (os->mkdir(n.temporary)) failed(n.temporary, NULL);
    for (int i = 0; i < nfile; i++) {
        disk_path(path, n.temporary, file[i].name);
        if (!write_file(path, &file[i])) failed(path, n.temporary);
    }
    if (!sync_dir(n.temporary)) failed(n.path, n.temporary);
    into_place(&n, parent);
}

void disk_replace(const char *parent, const DiskFile *file)
{
    Names n;
    names_new(&n, parent, file->name);
    if (!write_file(n.temporary, file)) failed(n.path, n.temporary);
    into_place(&n, parent);
}

void disk_point(const char *parent, const char *name, const char *to)
{
    Names n;
    names_new(&n, parent, name);
    if (os->symlink(to, n.temporary)) failed(n.path, n.temporary);
    if (!os->rename(n.temporary, n.path)) {
        if (!sync_dir(parent)) failed(n.path, NULL);
    } else if (errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY) {
        disk_remove(parent, name);      /* a copy that followed the link */
        disk_point(parent, name, to);
    } else {
        failed(n.path, n.temporary);
    }
}

void disk_move(const char *parent, const char *from, const char *to_parent,
               const char *to)
{
    char path[DISK_PATH], new_path[DISK_PATH];
    disk_path(path, parent, from);
    disk_path(new_path, to_parent, to);
    if (os->rename(path, new_path)) failed(new_path, NULL);
    if (!sync_dir(to_parent)) failed(new_path, NULL);
    if (strcmp(parent, to_parent) && !sync_dir(parent)) failed(path, NULL);
}

static bool is_temporary(const char *name)
{
    size_t n = strlen(name);
    return n > 4 && !strcmp(name + n - 4, ".tmp");
}

/* Renamed first, and that on the disk before its files go: half removed, it
 * must not look like a whole one. */
void disk_remove(const char *parent, const char *name)
{
    Names n;
    if (is_temporary(name)) {
        disk_path(n.temporary, parent, name);
    } else {
        names_new(&n, parent, name);
        if (os->rename(n.path, n.temporary)) {
            if (errno == ENOENT) return;
            failed(n.path, NULL);
        }
        if (!sync_dir(parent)) failed(n.path, NULL);
    }
    if (!remove_tree(n.temporary)) failed(n.temporary, NULL);
}

FILE *draft_open(Draft *d)
{
    *d = (Draft){NULL, NULL, 0};
    errno = 0;
    d->f = open_memstream(&d->bytes, &d->n);
    if (!d->f) die(EXIT_MEMORY, "out of memory: a file to be written");
    return d->f;
}

/* Where its buffer could not grow, glibc's stream has lost what was written
 * then, and neither ferror nor fclose tells. errno still does. */
DiskFile draft_close(Draft *d, Arena *a, const char *name)
{
    bool bad = ferror(d->f) || errno == ENOMEM;
    if (fclose(d->f) || bad || errno == ENOMEM || !d->bytes)
        die(EXIT_MEMORY, "out of memory: %s", name);
    Piece *piece = arena_alloc(a, sizeof *piece);
    *piece = (Piece){memcpy(arena_alloc(a, d->n), d->bytes, d->n), d->n};
    free(d->bytes);
    return (DiskFile){name, piece, 1};
}

/* -- reading ------------------------------------------------------------ */

/* More of the file; 0 at its end. */
static long read_some(int fd, char *to, size_t n)
{
    long got;
    while ((got = os->read(fd, to, n)) < 0 && errno == EINTR) {}
    return got;
}

static char *read_all(Arena *arena, const char *path, int flags, size_t *n)
{
    size_t size = 1 << 16;
    char *bytes = arena_alloc(arena, size);
    int fd = open_again(path, O_RDONLY | flags), why;
    long got;
    if (fd < 0) return NULL;
    *n = 0;
    while ((got = read_some(fd, bytes + *n, size - *n)) > 0) {
        if ((*n += (size_t)got) < size) continue;
        bytes = memcpy(arena_alloc(arena, 2 * size), bytes, size);
        size *= 2;
    }
    why = errno;
    close_file(fd);
    return errno = why, got < 0 ? NULL : bytes;
}

char *disk_try_read(Arena *arena, const char *path, size_t *n)
{
    return read_all(arena, path, O_NONBLOCK, n);
}

char *disk_read(Arena *arena, const char *path, size_t *n)
{
    char *bytes = read_all(arena, path, 0, n);
    if (bytes) return bytes;
    bool path_is_wrong = errno == ENOENT || errno == ENOTDIR
                      || errno == EACCES || errno == EISDIR
                      || errno == ELOOP || errno == ENAMETOOLONG;
    die_errno(path_is_wrong ? EXIT_NOINPUT : EXIT_IO, path, "cannot read");
}

typedef struct { Arena *arena; const char **name; int n, room; } List;

static void add_name(void *arg, const char *name)
{
    List *l = arg;
    size_t bytes = strlen(name) + 1;
    if (l->n == l->room) {
        size_t have = (size_t)l->room * sizeof *l->name;
        const char **more = arena_alloc(l->arena, 2 * have + 64);
        if (have) memcpy(more, l->name, have);
        l->name = more, l->room = 2 * l->room + 8;
    }
    l->name[l->n++] = memcpy(arena_alloc(l->arena, bytes), name, bytes);
}

bool disk_names(Arena *arena, const char *path, const char ***name, int *n)
{
    List l = {.arena = arena};
    if (os->list(path, add_name, &l)) {
        if (errno == ENOENT || errno == ENOTDIR) return false;
        die_errno(EXIT_IO, path, "cannot read");
    }
    *name = l.name, *n = l.n;
    return true;
}
