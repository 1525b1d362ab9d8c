/* Faults to order: a file system in memory that knows what of it would outlive
 * a power failure, calls that fail, fall short or are interrupted, and
 * processes that end before a given call.
 *
 * What POSIX promises, and the model keeps: a file's contents are durable
 * after fsync of the file, a name after fsync of its directory. Until then a
 * power failure may leave any of the changes made or not made. A rename is
 * one change, also between directories. All state lies in memory shared with
 * the children, so that a test sees what became of it after a child died. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include "disk.h"

/* In the order of Os. */
typedef enum { OPEN, READ, WRITE, FSYNC, CLOSE, MKDIR, RENAME, SYMLINK,
               UNLINK, RMDIR, LIST } Call;

/* A set of calls: each one's bit. */
enum { ALL_CALLS = (1 << (LIST + 1)) - 1,
       MAY_INTERRUPT = 1 << OPEN | 1 << READ | 1 << WRITE | 1 << CLOSE };

typedef struct {
    int calls;                  /* made so far, the first is number 1 */
    int kill;                   /* the process ends before this one; 0: none */
    int fail, error;            /* this one fails with the errno; 0: none */
    bool onwards;               /* and those of its kind that follow */
    bool interrupt;             /* MAY_INTERRUPT: fails with EINTR first */
    bool one_byte;              /* read and write: a byte at a time */
    Call failed;                /* what it was that failed */
    int told;                   /* a note of the test's: what it was told */
    bool interrupted;           /* the last call was, and is made again */
} Faults;

enum { KILLED = 99 };           /* exit status of a killed child */

extern Faults *faults;

/* Sets os to the calls of the file system in memory, which is empty but for
 * the directory "out", or to those of the real one; with these faults. */
void faults_in_memory(Faults f);
void faults_on_disk(Faults f);

/* The file system in memory, to come back to. */
typedef struct Fs Fs;
Fs *fs_take(void);              /* malloc */
void fs_put(const Fs *fs);
void fs_sync(void);             /* all is durable, as after sync(1) */
int fs_open_files(void);
int fs_synced_again(void);      /* fsyncs of a file whose fsync had failed */
void fs_set(const char *path, const char *bytes, size_t n);

/* Only the process has ended: state -1, its files are closed. Power failure:
 * state 0: all that is pending happened; 1: nothing of it;
 * 2 ... 1 + pending: what came first did; from there on: any of it did, in
 * which files that were not synchronised are old, cut, zero or noise. */
int fs_pending(void);
void fs_crash(int state);

/* f in a child: its exit status, or minus the signal. Quiet: what it says on
 * stderr is expected, and not shown. */
int in_child(void (*f)(void *), void *arg, bool quiet);

/* -- a checkpoint to lose ------------------------------------------------ */

enum { SMALL_FILES = 2 };
extern const char *const small_names[SMALL_FILES + 1];  /* MANIFEST last */

/* OUT/step-N with small_names in it; their contents depend on the step. */
void small_publish(const char *out, long step);
/* Is that in the directory: all of it, as written? */
bool small_whole(const char *dir);

/* All that is in the directory, sorted, with bytes and hash of the contents;
 * in the arena. */
char *tree_text(Arena *a, const char *dir);

#endif
