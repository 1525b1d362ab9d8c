/* The operating system's calls by which a run is kept, as a table: so that a
 * test can make each fail, fall short, come late or never happen. They are
 * POSIX's, and fail with -1 and errno. */
#ifndef OS_H
#define OS_H

#include <stddef.h>

typedef struct {
    int  (*open)(const char *path, int flags);  /* a new file: mode 0666 */
    long (*read)(int fd, void *to, size_t n);
    long (*write)(int fd, const void *from, size_t n);
    int  (*fsync)(int fd);
    int  (*close)(int fd);
    int  (*mkdir)(const char *path);            /* mode 0777 */
    int  (*rename)(const char *from, const char *to);
    int  (*symlink)(const char *to, const char *path);
    int  (*unlink)(const char *path);
    int  (*rmdir)(const char *path);
    /* calls each(arg, NAME) for what is in the directory, . and .. not */
    int  (*list)(const char *path, void (*each)(void *arg, const char *name),
                 void *arg);
} Os;

extern const Os os_posix;
extern const Os *os;            /* os_posix, unless a test says otherwise */

#endif
