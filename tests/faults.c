#define _DEFAULT_SOURCE         /* MAP_ANONYMOUS */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "faults.h"
#include "manifest.h"
#include "os.h"
#include "rundir.h"

/* -- the file system in memory ------------------------------------------ */

enum { NODES = 160, ENTRIES = 24, NAME = 32, BYTES = 400, FILES = 8,
       PENDING = 256, FIRST_FD = 1000, NOWHERE = -1, ROOT = 0 };

typedef struct { char name[NAME]; int node; } Entry;
typedef struct { Entry entry[ENTRIES]; int n; } Dir;
typedef struct { char bytes[BYTES]; size_t n; } Data;

typedef enum { FREE, FILE_NODE, DIR_NODE, LINK_NODE } Kind;
typedef struct {
    Kind kind;
    bool lost;                  /* a fsync failed: what was written is gone */
    Data data, durable;         /* of a file, or where a link leads */
    Dir dir, durable_dir;
} Node;

/* A change of names: `from` in from_dir goes, `to` in to_dir comes. */
typedef struct {
    int node, from_dir, to_dir;         /* NOWHERE: comes or goes only */
    char from[NAME], to[NAME];
} Change;

typedef struct { int node; size_t at; bool open; } OpenFile;

struct Fs {
    Node node[NODES];
    int nodes;
    Change change[PENDING];
    int changes, synced_again;
    OpenFile file[FILES];
};

static Fs *fs;
static uint64_t random_state = 88172645463325252u;

static unsigned any(unsigned n)         /* 0 ... n-1 (xorshift) */
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (unsigned)(random_state >> 33) % n;
}

static int fail(int why) { return errno = why, -1; }

static _Noreturn void full(const char *what)
{
    fprintf(stderr, "file system in memory: too many %s\n", what);
    abort();
}

static Entry *find(Dir *d, const char *name)
{
    for (int i = 0; i < d->n; i++)
        if (!strcmp(d->entry[i].name, name)) return &d->entry[i];
    return NULL;
}

static void set(Dir *d, const char *name, int node)
{
    Entry *e = find(d, name);
    if (!e && d->n == ENTRIES) full("names");
    if (!e) e = &d->entry[d->n++];
    snprintf(e->name, NAME, "%s", name);
    e->node = node;
}

static void unset(Dir *d, const char *name)
{
    Entry *e = find(d, name);
    if (e) *e = d->entry[--d->n];
}

static bool durably_there(int node, int from)
{
    const Dir *d = &fs->node[from].durable_dir;
    if (node == from) return true;
    for (int i = 0; i < d->n; i++)
        if (fs->node[d->entry[i].node].kind == DIR_NODE
            && durably_there(node, d->entry[i].node)) return true;
    return false;
}

static bool possible(const Change *c)
{
    Dir *from = c->from_dir == NOWHERE ? NULL
              : &fs->node[c->from_dir].durable_dir;
    Dir *to = c->to_dir == NOWHERE ? NULL : &fs->node[c->to_dir].durable_dir;
    if (!from) return !find(to, c->to);
    Entry *e = find(from, c->from);
    if (!e || e->node != c->node) return false;
    if (!to) return true;
    e = find(to, c->to);
    if (e && fs->node[e->node].durable_dir.n) return false;
    return c->to_dir == c->from_dir || durably_there(c->to_dir, ROOT);
}

/* The change, to what is durable. Impossible there, because another one that
 * it needs did not happen, it does not happen either. Where a directory is
 * removed it was empty. */
static void happen(const Change *c)
{
    if (!possible(c)) return;
    if (c->to_dir == NOWHERE) fs->node[c->node].durable_dir.n = 0;
    if (c->from_dir != NOWHERE)
        unset(&fs->node[c->from_dir].durable_dir, c->from);
    if (c->to_dir != NOWHERE)
        set(&fs->node[c->to_dir].durable_dir, c->to, c->node);
}

static void changed(int node, int from_dir, const char *from, int to_dir,
                    const char *to)
{
    if (fs->changes == PENDING) full("changes");
    Change *c = &fs->change[fs->changes++];
    *c = (Change){.node = node, .from_dir = from_dir, .to_dir = to_dir};
    if (from) snprintf(c->from, NAME, "%s", from);
    if (to) snprintf(c->to, NAME, "%s", to);
    if (from) unset(&fs->node[from_dir].dir, from);
    if (to) set(&fs->node[to_dir].dir, to, node);
}

static int new_node(Kind kind)
{
    if (fs->nodes == NODES) full("files");
    fs->node[fs->nodes].kind = kind;
    return fs->nodes++;
}

/* The directory in which the path's last name stands, or NOWHERE. Links in
 * front of it are followed, to a name beside them. */
static int parent_of(const char *path, char last[NAME])
{
    int at = ROOT;
    for (const char *end; (end = strchr(path, '/')); path = end + 1) {
        char name[NAME];
        snprintf(name, NAME, "%.*s", (int)(end - path), path);
        Entry *e = find(&fs->node[at].dir, name);
        if (e && fs->node[e->node].kind == LINK_NODE)
            e = find(&fs->node[at].dir, fs->node[e->node].data.bytes);
        if (!e) return fail(ENOENT), NOWHERE;
        if (fs->node[e->node].kind != DIR_NODE) return fail(ENOTDIR), NOWHERE;
        at = e->node;
    }
    snprintf(last, NAME, "%s", path);
    return at;
}

static int node_of(const char *path, bool follow)
{
    char name[NAME];
    if (!*path) return ROOT;
    int dir = parent_of(path, name);
    Entry *e = dir == NOWHERE ? NULL : find(&fs->node[dir].dir, name);
    if (e && follow && fs->node[e->node].kind == LINK_NODE)
        e = find(&fs->node[dir].dir, fs->node[e->node].data.bytes);
    if (dir != NOWHERE && !e) errno = ENOENT;
    return e ? e->node : NOWHERE;
}

/* "a/b/.." is "a", and "b/.." the root. */
static int mem_open(const char *path, int flags)
{
    char name[NAME], up[DISK_PATH];
    size_t n = strlen(path);
    if (n > 3 && !strcmp(path + n - 3, "/..")) {
        snprintf(up, sizeof up, "%.*s", (int)n - 3, path);
        char *slash = strrchr(up, '/');
        if (slash) *slash = 0;
        else *up = 0;
        path = up;
    }
    int fd = 0, node = node_of(path, true), dir;
    if (node == NOWHERE) {
        if (!(flags & O_CREAT)) return -1;
        if ((dir = parent_of(path, name)) == NOWHERE) return -1;
        changed(node = new_node(FILE_NODE), NOWHERE, NULL, dir, name);
    }
    Node *nd = &fs->node[node];
    bool is_dir = nd->kind == DIR_NODE;
    if ((flags & O_DIRECTORY) && !is_dir) return fail(ENOTDIR);
    if (is_dir && (flags & O_ACCMODE) != O_RDONLY) return fail(EISDIR);
    if (flags & O_TRUNC) nd->data.n = 0;
    while (fd < FILES && fs->file[fd].open) fd++;
    if (fd == FILES) full("open files");
    fs->file[fd] = (OpenFile){node, 0, true};
    return FIRST_FD + fd;
}

static OpenFile *file_of(int fd)
{
    int i = fd - FIRST_FD;
    if (i < 0 || i >= FILES || !fs->file[i].open) full("closes");
    return &fs->file[i];
}

static long mem_read(int fd, void *to, size_t n)
{
    OpenFile *f = file_of(fd);
    Node *nd = &fs->node[f->node];
    if (nd->kind == DIR_NODE) return fail(EISDIR);
    if (n > nd->data.n - f->at) n = nd->data.n - f->at;
    memcpy(to, nd->data.bytes + f->at, n);
    f->at += n;
    return (long)n;
}

static long mem_write(int fd, const void *from, size_t n)
{
    OpenFile *f = file_of(fd);
    Node *nd = &fs->node[f->node];
    if (f->at + n > BYTES) full("bytes");
    memcpy(nd->data.bytes + f->at, from, n);
    f->at += n;
    if (nd->data.n < f->at) nd->data.n = f->at;
    return (long)n;
}

static void sync_names(int dir)
{
    int rest = 0;
    for (int i = 0; i < fs->changes; i++) {
        Change c = fs->change[i];
        if (c.from_dir == dir || c.to_dir == dir) happen(&c);
        else fs->change[rest++] = c;
    }
    fs->changes = rest;
}

static int mem_fsync(int fd)
{
    int node = file_of(fd)->node;
    Node *nd = &fs->node[node];
    fs->synced_again += nd->lost;
    if (nd->kind == DIR_NODE) sync_names(node);
    else if (!nd->lost) nd->durable = nd->data;
    return 0;
}

static int mem_close(int fd) { return file_of(fd)->open = false, 0; }

static int make(const char *path, Kind kind, const char *to)
{
    char name[NAME];
    int node, dir = parent_of(path, name);
    if (dir == NOWHERE) return -1;
    if (find(&fs->node[dir].dir, name)) return fail(EEXIST);
    Node *nd = &fs->node[node = new_node(kind)];
    nd->data.n = (size_t)snprintf(nd->data.bytes, BYTES, "%s", to);
    nd->durable = nd->data;
    changed(node, NOWHERE, NULL, dir, name);
    return 0;
}

static int mem_mkdir(const char *path) { return make(path, DIR_NODE, ""); }

static int mem_symlink(const char *to, const char *path)
{
    return make(path, LINK_NODE, to);
}

static int mem_rename(const char *from, const char *to)
{
    char name[NAME], new_name[NAME];
    int dir = parent_of(from, name), node = node_of(from, false);
    int new_dir = parent_of(to, new_name), old = node_of(to, false);
    if (dir == NOWHERE || node == NOWHERE || new_dir == NOWHERE)
        return fail(ENOENT);
    if (old != NOWHERE) {
        bool is_dir = fs->node[node].kind == DIR_NODE;
        bool was_dir = fs->node[old].kind == DIR_NODE;
        if (is_dir && !was_dir) return fail(ENOTDIR);
        if (!is_dir && was_dir) return fail(EISDIR);
        if (was_dir && fs->node[old].dir.n) return fail(ENOTEMPTY);
    }
    changed(node, dir, name, new_dir, new_name);
    return 0;
}

static int take_away(const char *path, bool wanted_dir)
{
    char name[NAME];
    int dir = parent_of(path, name), node = node_of(path, false);
    if (dir == NOWHERE || node == NOWHERE) return fail(ENOENT);
    bool is_dir = fs->node[node].kind == DIR_NODE;
    if (is_dir != wanted_dir) return fail(is_dir ? EISDIR : ENOTDIR);
    if (is_dir && fs->node[node].dir.n) return fail(ENOTEMPTY);
    changed(node, dir, name, NOWHERE, NULL);
    return 0;
}

static int mem_unlink(const char *path) { return take_away(path, false); }
static int mem_rmdir(const char *path) { return take_away(path, true); }

static int mem_list(const char *path, void (*each)(void *, const char *),
                    void *arg)
{
    int node = node_of(path, true);
    if (node == NOWHERE) return -1;
    if (fs->node[node].kind != DIR_NODE) return fail(ENOTDIR);
    Dir now = fs->node[node].dir;       /* each() may remove what it sees */
    for (int i = 0; i < now.n; i++) each(arg, now.entry[i].name);
    return 0;
}

static const Os in_memory = {
    mem_open, mem_read, mem_write, mem_fsync, mem_close, mem_mkdir,
    mem_rename, mem_symlink, mem_unlink, mem_rmdir, mem_list
};

/* -- what a test does with it ------------------------------------------- */

Fs *fs_take(void) { return memcpy(malloc(sizeof *fs), fs, sizeof *fs); }
void fs_put(const Fs *taken) { memcpy(fs, taken, sizeof *fs); }
int fs_pending(void) { return fs->changes; }
int fs_synced_again(void) { return fs->synced_again; }

void fs_sync(void)
{
    for (int i = 0; i < fs->changes; i++) happen(&fs->change[i]);
    fs->changes = 0;
    for (int i = 0; i < fs->nodes; i++)
        fs->node[i].durable = fs->node[i].data;
}

int fs_open_files(void)
{
    int n = 0;
    for (int i = 0; i < FILES; i++) n += fs->file[i].open;
    return n;
}

void fs_set(const char *path, const char *bytes, size_t n)
{
    int fd = mem_open(path, O_WRONLY | O_CREAT | O_TRUNC);
    mem_write(fd, bytes, n);
    mem_close(fd);
}

/* What is found of a file that was not synchronised. */
static void spoil(Node *nd, int state)
{
    if (state == 0) nd->durable = nd->data;
    if (state <= 1) return;
    switch (any(5)) {
    case 0: break;
    case 1: nd->durable = nd->data; break;
    case 2:
        nd->durable = nd->data;
        nd->durable.n = any((unsigned)nd->data.n + 1);
        break;
    case 3:
        memset(nd->durable.bytes, 0, BYTES);
        nd->durable.n = nd->data.n;
        break;
    default:
        nd->durable.n = nd->data.n;
        for (size_t i = 0; i < nd->data.n; i++)
            nd->durable.bytes[i] = (char)any(256);
    }
}

static bool same(const Data *a, const Data *b)
{
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}

void fs_crash(int state)
{
    int first = state - 1, pending = fs->changes;
    memset(fs->file, 0, sizeof fs->file);
    if (state < 0) return;
    unsigned often = 1 + any(9);
    random_state += (uint64_t)state * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < pending; i++)
        if (state == 0 || (state <= 1 + pending ? i < first
                                                : any(10) < often))
            happen(&fs->change[i]);
    fs->changes = 0;
    for (int i = 0; i < fs->nodes; i++) {
        Node *nd = &fs->node[i];
        if (nd->kind == FILE_NODE && !same(&nd->data, &nd->durable))
            spoil(nd, state);
        nd->data = nd->durable;
        nd->dir = nd->durable_dir;
        nd->lost = false;
    }
}

/* -- calls that fail ---------------------------------------------------- */

Faults *faults;
static const Os *inner;

/* Counts the call; true if it is to fail. */
static bool trouble(Call call)
{
    int k = ++faults->calls;
    if (k == faults->kill) _exit(KILLED);
    if (faults->fail && (k == faults->fail
                         || (faults->onwards && k > faults->fail
                             && call == faults->failed))) {
        if (k == faults->fail) faults->failed = call;
        errno = faults->error;
        return true;
    }
    if (!faults->interrupt || !(MAY_INTERRUPT >> call & 1)) return false;
    faults->interrupted = !faults->interrupted;
    errno = EINTR;
    return faults->interrupted;
}

static int bad_open(const char *path, int flags)
{
    return trouble(OPEN) ? -1 : inner->open(path, flags);
}

static long bad_read(int fd, void *to, size_t n)
{
    if (trouble(READ)) return -1;
    return inner->read(fd, to, n && faults->one_byte ? 1 : n);
}

static long bad_write(int fd, const void *from, size_t n)
{
    if (trouble(WRITE)) return -1;
    return inner->write(fd, from, n && faults->one_byte ? 1 : n);
}

static int bad_fsync(int fd)
{
    bool bad = trouble(FSYNC);
    if (!bad) return inner->fsync(fd);
    if (inner == &in_memory) fs->node[file_of(fd)->node].lost = true;
    return -1;
}

/* Whatever close says, it has closed; a program that closes again might hit
 * another's file, and the model aborts. */
static int bad_close(int fd)
{
    bool bad = trouble(CLOSE);
    int why = errno, result = inner->close(fd);
    if (faults->interrupt) faults->interrupted = false;
    return bad ? fail(why) : result;
}

static int bad_mkdir(const char *path)
{
    return trouble(MKDIR) ? -1 : inner->mkdir(path);
}

static int bad_rename(const char *from, const char *to)
{
    return trouble(RENAME) ? -1 : inner->rename(from, to);
}

static int bad_symlink(const char *to, const char *path)
{
    return trouble(SYMLINK) ? -1 : inner->symlink(to, path);
}

static int bad_unlink(const char *path)
{
    return trouble(UNLINK) ? -1 : inner->unlink(path);
}

static int bad_rmdir(const char *path)
{
    return trouble(RMDIR) ? -1 : inner->rmdir(path);
}

static int bad_list(const char *path, void (*each)(void *, const char *),
                    void *arg)
{
    return trouble(LIST) ? -1 : inner->list(path, each, arg);
}

static const Os with_faults = {
    bad_open, bad_read, bad_write, bad_fsync, bad_close, bad_mkdir,
    bad_rename, bad_symlink, bad_unlink, bad_rmdir, bad_list
};

static void *shared(size_t n)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) { perror("mmap"); exit(71); }
    return p;
}

static void begin(const Os *calls, Faults f)
{
    if (!faults) faults = shared(sizeof *faults);
    inner = calls;
    os = &with_faults;
    *faults = f;
}

void faults_in_memory(Faults f)
{
    if (!fs) fs = shared(sizeof *fs);
    memset(fs, 0, sizeof *fs);
    new_node(DIR_NODE);
    mem_mkdir("out");
    fs_sync();
    begin(&in_memory, f);
}

void faults_on_disk(Faults f) { begin(&os_posix, f); }

int in_child(void (*f)(void *), void *arg, bool quiet)
{
    int how;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (quiet) freopen("/dev/null", "w", stderr);
        f(arg);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

/* -- a checkpoint to lose ------------------------------------------------ */

const char *const small_names[SMALL_FILES + 1] = {
    "model.bin", "config.json", "MANIFEST"
};

void small_publish(const char *out, long step)
{
    char model[64], config[32], list[MANIFEST_TEXT], name[STEP_NAME];
    Sum sum[SMALL_FILES];
    Piece piece[] = {{model, 40}, {config, 0}, {list, 0}};
    DiskFile file[SMALL_FILES + 1];
    for (int i = 0; i < 40; i++) model[i] = (char)(step * 7 + i * i);
    piece[1].n = (size_t)snprintf(config, sizeof config, "{\"step\": %ld}\n",
                                  step);
    for (int i = 0; i <= SMALL_FILES; i++)
        file[i] = (DiskFile){small_names[i], &piece[i], 1};
    for (int i = 0; i < SMALL_FILES; i++) {
        sum[i] = (Sum){.name = small_names[i], .n = piece[i].n};
        sha256(piece[i].data, piece[i].n, sum[i].hash);
    }
    piece[2].n = manifest_text(sum, SMALL_FILES, list);
    step_name(name, step);
    disk_publish(out, name, file, SMALL_FILES + 1);
}

bool small_whole(const char *dir)
{
    Arena a = {0};
    char path[DISK_PATH], error[MANIFEST_ERROR];
    Sum sum[SMALL_FILES];
    char *bytes = NULL;
    size_t n = 0;
    for (int i = 0; i <= SMALL_FILES; i++) {
        disk_path(path, dir, small_names[i]);
        if (!(bytes = disk_try_read(&a, path, &n))) break;
        if (i == SMALL_FILES) break;
        sum[i] = (Sum){.name = small_names[i], .n = n};
        sha256(bytes, n, sum[i].hash);
    }
    bool whole = bytes && manifest_check(bytes, n, sum, SMALL_FILES, error)
                          == MANIFEST_RIGHT;
    arena_free(&a);
    return whole;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void put_tree(Arena *a, FILE *f, const char *dir)
{
    char path[DISK_PATH];
    const char **name;
    int count = 0;
    size_t n;
    if (!disk_names(a, dir, &name, &count) || !count) return;
    qsort(name, (size_t)count, sizeof *name, by_name);
    for (int i = 0; i < count; i++) {
        disk_path(path, dir, name[i]);
        char hex[SHA256_HEX], *bytes = disk_try_read(a, path, &n);
        if (bytes) sha256(bytes, n, hex);
        if (bytes) fprintf(f, " %s=%zu:%.6s", path, n, hex);
        else fprintf(f, " %s/", path), put_tree(a, f, path);
    }
}

char *tree_text(Arena *a, const char *dir)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    put_tree(a, f, dir);
    fclose(f);
    char *copy = memcpy(arena_alloc(a, n + 1), text, n + 1);
    free(text);
    return copy;
}
