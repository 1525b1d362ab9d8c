#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "faults.h"
#include "os.h"
#include "test.h"

/* -- what is written, one change after the other ------------------------- */

static const DiskFile notes[] = {
    {"a", (const Piece[]){{"one, ", 5}, {"", 0}, {"two", 3}}, 3},
    {"b", NULL, 0}
};

static void publish(void *arg)
{
    (void)arg;
    disk_publish("out", "x", notes, 2);
}

static void replace(void *arg)
{
    (void)arg;
    disk_replace("out", &(DiskFile){"log", (Piece[]){{"new", 3}}, 1});
}

static void point(void *arg) { (void)arg; disk_point("out", "best", "old"); }
static void move(void *arg) { (void)arg; disk_move("out", "old", "out", "x"); }
static void take_out(void *arg) { (void)arg; disk_remove("out", "old"); }

static const struct { const char *name; void (*run)(void *); } changes[] = {
    {"publish", publish}, {"replace", replace}, {"point", point},
    {"move", move}, {"remove", take_out}
};
enum { CHANGES = sizeof changes / sizeof *changes };

static void something_there(void)
{
    disk_publish("out", "old", notes, 2);
    disk_publish("out", "other", notes, 1);
    disk_replace("out", &(DiskFile){"log", (Piece[]){{"old", 3}}, 1});
    disk_point("out", "best", "other");
}

static char *after(Arena *a, const Fs *before, int change, Faults f)
{
    fs_put(before);
    *faults = f;
    changes[change].run(NULL);
    return tree_text(a, "out");
}

static Fs *begin(void)
{
    faults_in_memory((Faults){0});
    something_there();
    fs_sync();
    return fs_take();
}

/* -- interruptions and short counts ------------------------------------- */

TEST(interruptions_and_short_counts_change_nothing)
{
    static const Faults slow[] = {
        {.interrupt = true}, {.one_byte = true},
        {.interrupt = true, .one_byte = true}
    };
    Arena a = {0};
    Fs *before = begin();
    for (int c = 0; c < CHANGES; c++) {
        const char *wanted = after(&a, before, c, (Faults){0});
        for (int i = 0; i < 3; i++) {
            const char *got = after(&a, before, c, slow[i]);
            EXPECT(!strcmp(got, wanted), "%s, case %d:%s\n    wanted:%s",
                   changes[c].name, i, got, wanted);
            EXPECT(fs_open_files() == 0, "%s, case %d: %d files left open",
                   changes[c].name, i, fs_open_files());
        }
    }
    free(before);
    arena_free(&a);
}

/* -- what has returned stays --------------------------------------------- */

TEST(a_power_failure_undoes_nothing_that_has_returned)
{
    Arena a = {0};
    Fs *before = begin();
    for (int c = 0; c < CHANGES; c++) {
        const char *wanted = after(&a, before, c, (Faults){0});
        Fs *done = fs_take();
        int states = 2 + fs_pending() + 20;
        for (int i = 0; i < states; i++) {
            fs_put(done);
            fs_crash(i);
            const char *got = tree_text(&a, "out");
            bool gone = !strstr(got, " out/old/");
            EXPECT(changes[c].run == take_out ? gone : !strcmp(got, wanted),
                   "%s, state %d:%s\n    wanted:%s", changes[c].name, i, got,
                   wanted);
        }
        free(done);
    }
    free(before);
    arena_free(&a);
}

static void make_and_write(void *arg)
{
    (void)arg;
    if (!disk_make("out/run")) _exit(EXIT_CANTCREATE);
    disk_replace("out/run", &notes[0]);
}

/* Also where the process that made it was killed before the fsync. */
TEST(a_directory_that_was_made_outlives_a_power_failure)
{
    Arena a = {0};
    for (int k = 1; k < 8; k++) {
        free(begin());
        faults->kill = k;
        in_child(make_and_write, NULL, false);
        *faults = (Faults){0};
        fs_crash(-1);
        make_and_write(NULL);
        fs_crash(1);
        EXPECT(strstr(tree_text(&a, "out"), " out/run/a="), "killed before "
               "call %d:%s", k, tree_text(&a, "out"));
        faults_in_memory((Faults){.fail = k, .error = ENOSPC});
        int status = in_child(make_and_write, NULL, true);
        EXPECT(status == EXIT_CANTCREATE || status == EXIT_IO, "call %d: "
               "status %d", k, status);
    }
    arena_free(&a);
}

/* -- every call fails ---------------------------------------------------- */

static bool is_either(const char *tree, const char *old, const char *new)
{
    return !strcmp(tree, old) || !strcmp(tree, new);
}

/* disk_remove asks for a directory's removal as if it were a file; any error
 * then means that it is none. */
static bool may_succeed(int change, Call failed)
{
    return changes[change].run == take_out && failed == UNLINK;
}

static void fail_call(int change, int k, Faults f, const Fs *before,
                      const char *old, const char *new)
{
    Arena a = {0};
    fs_put(before);
    *faults = f;
    faults->fail = k;
    int status = in_child(changes[change].run, NULL, true);
    Call failed = faults->failed;
    *faults = (Faults){0};
    if (status != 0 || !may_succeed(change, failed)) {
        fs_put(before);
        *faults = f;
        faults->fail = k;
        EXPECT_DIES(EXIT_IO, changes[change].run, NULL, "out/",
                    strerror(f.error));
    }
    *faults = (Faults){0};
    const char *tree = tree_text(&a, "out");
    bool half_removed = changes[change].run == take_out || f.onwards;
    EXPECT(half_removed || is_either(tree, old, new),
           "%s, call %d (kind %d) failed with %s:%s", changes[change].name, k,
           failed, strerror(f.error), tree);
    EXPECT(strstr(tree, " out/other/a=8:"), "%s, call %d: another directory is "
           "touched:%s", changes[change].name, k, tree);
    EXPECT(fs_synced_again() == 0, "%s, call %d: a fsync that had failed was "
           "tried again", changes[change].name, k);
    arena_free(&a);
}

static void fail_all(int change, Faults f, const Fs *before, int *tried)
{
    Arena a = {0};
    fs_put(before);
    *faults = (Faults){0};
    const char *old = tree_text(&a, "out");
    const char *new = after(&a, before, change, (Faults){0});
    fs_put(before);
    *faults = (Faults){0};
    changes[change].run(NULL);
    int calls = faults->calls;
    for (int k = 1; k <= calls; k++, ++*tried)
        fail_call(change, k, f, before, old, new);
    arena_free(&a);
}

TEST(every_call_that_fails_is_told_and_changes_nothing)
{
    static const int errors[] = {EIO, ENOSPC, EACCES, EROFS, EDQUOT};
    Fs *before = begin();
    int tried = 0;
    for (int c = 0; c < CHANGES; c++)
        for (int e = 0; e < 5; e++)
            for (int onwards = 0; onwards < 2; onwards++)
                fail_all(c, (Faults){.error = errors[e], .onwards = onwards},
                         before, &tried);
    test_say("%d calls failed", tried);
    free(before);
}

/* A disk that fills up: the first part of a file still goes in. */
TEST(disk_full_after_some_bytes)
{
    Fs *before = begin();
    int tried = 0;
    fail_all(0, (Faults){.error = ENOSPC, .onwards = true, .one_byte = true},
             before, &tried);
    fail_all(1, (Faults){.error = ENOSPC, .onwards = true, .one_byte = true},
             before, &tried);
    test_say("%d calls failed", tried);
    free(before);
}

/* What has been said to be written after a fsync that failed is not there
 * after a power failure, whatever a second fsync says. */
TEST(nothing_is_published_after_a_fsync_that_failed)
{
    Arena a = {0};
    Fs *before = begin();
    int failed = 0;
    for (int c = 0; c < CHANGES; c++)
        for (int k = 1; k < 40; k++) {
            fs_put(before);
            *faults = (Faults){.fail = k, .error = EIO};
            int status = in_child(changes[c].run, NULL, true);
            if (faults->calls < k || faults->failed != FSYNC) continue;
            failed++;
            EXPECT(status == EXIT_IO, "%s, call %d: status %d",
                   changes[c].name, k, status);
            EXPECT(fs_synced_again() == 0, "%s, call %d: again",
                   changes[c].name, k);
        }
    EXPECT(failed >= 8, "only %d fsyncs", failed);
    free(before);
    arena_free(&a);
}

/* Some file systems cannot synchronise a directory, and say EINVAL. */
TEST(a_directory_without_fsync_will_do)
{
    Fs *before = begin();
    int statuses[8], n = 0;
    for (int k = 1; k < 40; k++) {
        fs_put(before);
        *faults = (Faults){.fail = k, .error = EINVAL};
        int status = in_child(publish, NULL, true);
        if (faults->calls >= k && faults->failed == FSYNC && n < 8)
            statuses[n++] = status;
    }
    EXPECT(n == 4, "%d fsyncs", n);
    for (int i = 0; i < n; i++)
        EXPECT(statuses[i] == (i < 2 ? EXIT_IO : 0), "fsync %d: status %d", i,
               statuses[i]);
    free(before);
}

/* -- reading ------------------------------------------------------------ */

TEST(every_length_is_read)
{
    static const size_t lengths[] = {0, 1, 65535, 65536, 65537, 131072, 300000};
    static char bytes[300000];
    Arena a = {0};
    char dir[] = "/tmp/plumb-disk-XXXXXX", path[64];
    size_t n;
    if (!mkdtemp(dir)) SKIP("no directory in /tmp");
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * i >> 3);
    for (int i = 0; i < 7; i++) {
        faults_on_disk((Faults){0});
        disk_replace(dir, &(DiskFile){"f", (Piece[]){{bytes, lengths[i]}}, 1});
        snprintf(path, sizeof path, "%s/f", dir);
        for (int slow = 0; slow < 2; slow++) {
            *faults = (Faults){.one_byte = slow, .interrupt = slow};
            const char *got = disk_read(&a, path, &n);
            EXPECT(n == lengths[i] && !memcmp(got, bytes, n), "%zu bytes: %zu",
                   lengths[i], n);
            arena_reset(&a);
        }
    }
    unlink(path);
    rmdir(dir);
    arena_free(&a);
}

TEST(every_call_of_a_read_fails)
{
    static const int errors[] = {EIO, ENOSPC, EACCES, ESTALE};
    Arena a = {0};
    size_t n;
    Fs *before = begin();
    for (int e = 0; e < 4; e++)
        for (int k = 1; k <= 3; k++) {          /* open, read, read; close */
            fs_put(before);
            *faults = (Faults){.fail = k, .error = errors[e]};
            char *bytes = disk_try_read(&a, "out/log", &n);
            EXPECT(!bytes && errno == errors[e], "call %d: %s", k,
                   strerror(errno));
            EXPECT(fs_open_files() == 0, "call %d: a file is left open", k);
        }
    *faults = (Faults){0};
    EXPECT(!disk_try_read(&a, "out/none", &n) && errno == ENOENT, "%s",
           strerror(errno));
    EXPECT(!disk_try_read(&a, "out", &n) && errno == EISDIR, "%s",
           strerror(errno));
    EXPECT(!disk_try_read(&a, "out/log/x", &n) && errno == ENOTDIR, "%s",
           strerror(errno));
    EXPECT(fs_open_files() == 0, "%d files left open", fs_open_files());
    free(before);
    arena_free(&a);
}

static void read_it(void *path)
{
    Arena a = {0};
    size_t n;
    disk_read(&a, path, &n);
}

static void read_with(int call, int error, int status)
{
    *faults = (Faults){.fail = call, .error = error};
    EXPECT_DIES(status, read_it, "out/log", "out/log", strerror(error));
}

TEST(a_path_that_is_wrong_and_a_device_that_fails_differ)
{
    free(begin());
    EXPECT_DIES(EXIT_NOINPUT, read_it, "out/none", "out/none");
    EXPECT_DIES(EXIT_NOINPUT, read_it, "out", "out: ");
    EXPECT_DIES(EXIT_NOINPUT, read_it, "out/log/x", "out/log/x");
    read_with(1, EACCES, EXIT_NOINPUT);
    read_with(1, EIO, EXIT_IO);
    read_with(1, EMFILE, EXIT_IO);
    read_with(2, EIO, EXIT_IO);
    read_with(3, EIO, EXIT_IO);
}

/* -- paths, and the real file system ------------------------------------ */

static void long_path(void *arg)
{
    (void)arg;
    static char name[DISK_PATH + 8];
    memset(name, 'n', sizeof name - 1);
    disk_replace("out", &(DiskFile){name, NULL, 0});
}

static void long_temporary(void *arg)
{
    (void)arg;
    static char name[DISK_PATH - 5];    /* fits; with .tmp it does not */
    memset(name, 'n', sizeof name - 1);
    disk_replace("out", &(DiskFile){name, NULL, 0});
}

TEST(a_path_that_is_too_long_is_refused)
{
    char path[DISK_PATH], dir[DISK_PATH];
    EXPECT_DIES(EXIT_CANTCREATE, long_path, NULL, "too long");
    EXPECT_DIES(EXIT_CANTCREATE, long_temporary, NULL, "out...: a path");
    memset(dir, 'd', sizeof dir);
    dir[DISK_PATH - 3] = 0;
    disk_path(path, dir, "x");
    EXPECT(strlen(path) == DISK_PATH - 1, "%zu bytes", strlen(path));
}

/* The model behaves as the system does. */
TEST(the_real_file_system_ends_up_the_same)
{
    Arena a = {0};
    char dir[] = "/tmp/plumb-disk-XXXXXX", there[256];
    if (!getcwd(there, sizeof there) || !mkdtemp(dir) || chdir(dir))
        SKIP("no directory in /tmp");
    for (int c = 0; c < CHANGES; c++) {
        Fs *before = begin();
        const char *wanted = after(&a, before, c, (Faults){0});
        faults_on_disk((Faults){.interrupt = c & 1, .one_byte = c & 1});
        os->mkdir("out");
        something_there();
        changes[c].run(NULL);
        EXPECT(!strcmp(tree_text(&a, "out"), wanted), "%s:%s\n    wanted:%s",
               changes[c].name, tree_text(&a, "out"), wanted);
        if (system("rm -rf out")) SKIP("rm");
        free(before);
    }
    if (chdir(there) || rmdir(dir)) SKIP("%s stays", dir);
    arena_free(&a);
}
