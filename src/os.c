#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "os.h"

static int open_file(const char *path, int flags)
{
    return open(path, flags | O_CLOEXEC, 0666);
}

static long read_file(int fd, void *to, size_t n) { return read(fd, to, n); }

static long write_file(int fd, const void *from, size_t n)
{
    return write(fd, from, n);
}

static int make_dir(const char *path) { return mkdir(path, 0777); }

static int list(const char *path, void (*each)(void *, const char *),
                void *arg)
{
    DIR *dir = opendir(path);
    if (!dir) return -1;
    errno = 0;
    for (struct dirent *e; (e = readdir(dir)); errno = 0)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
            each(arg, e->d_name);
    int why = errno;
    closedir(dir);
    return errno = why, why ? -1 : 0;
}

const Os os_posix = {
    open_file, read_file, write_file, fsync, close, make_dir, rename, symlink,
    unlink, rmdir, list
};
const Os *os = &os_posix;
