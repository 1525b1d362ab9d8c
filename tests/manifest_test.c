#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "faults.h"
#include "flags.h"
#include "manifest.h"
#include "test.h"

/* A checkpoint's files in memory, the MANIFEST last. Each has memory of just
 * its length, so that a sanitizer sees what is read beyond. */
enum { FILES = SMALL_FILES + 1, MANIFEST = SMALL_FILES };
typedef struct { char *bytes; size_t n; } Bytes;

static Bytes copy(const char *bytes, size_t n)
{
    Bytes b = {malloc(n + !n), n};
    if (n) memcpy(b.bytes, bytes, n);
    return b;
}

static void take(Bytes f[FILES])
{
    Arena a = {0};
    char path[DISK_PATH];
    faults_in_memory((Faults){0});
    small_publish("out", 250);
    for (int i = 0; i < FILES; i++) {
        size_t n;
        disk_path(path, "out/step-250", small_names[i]);
        const char *bytes = disk_read(&a, path, &n);
        f[i] = copy(bytes, n);
    }
    arena_free(&a);
}

static void drop(Bytes f[FILES])
{
    for (int i = 0; i < FILES; i++) free(f[i].bytes);
}

static bool check(const Bytes f[FILES], char error[MANIFEST_ERROR])
{
    Sum sum[SMALL_FILES];
    for (int i = 0; i < SMALL_FILES; i++) {
        sum[i] = (Sum){.name = small_names[i], .n = f[i].n};
        sha256(f[i].bytes, f[i].n, sum[i].hash);
    }
    return manifest_check(f[MANIFEST].bytes, f[MANIFEST].n, sum, SMALL_FILES,
                          error) == MANIFEST_RIGHT;
}

/* Refused, and the error begins with the text and is one line. */
static void refused(const Bytes f[FILES], const char *begin, const char *what)
{
    char error[MANIFEST_ERROR] = "";
    bool ok = check(f, error);
    EXPECT(!ok, "%s: taken for whole", what);
    EXPECT(!strncmp(error, begin, strlen(begin)), "%s: \"%s\" does not begin "
           "with \"%s\"", what, error, begin);
    EXPECT(!strchr(error, '\n'), "%s: %s", what, error);
}

static void damaged(const Bytes f[FILES], int file, const char *what)
{
    char begin[64];
    snprintf(begin, sizeof begin, "%s: damaged", small_names[file]);
    refused(f, begin, what);
}

TEST(every_bit_counts)
{
    Bytes f[FILES];
    char error[MANIFEST_ERROR], what[64];
    int tried = 0;
    take(f);
    EXPECT(check(f, error), "%s", error);
    for (int i = 0; i < FILES; i++)
        for (size_t bit = 0; bit < 8 * f[i].n; bit++, tried++) {
            snprintf(what, sizeof what, "%s, bit %zu", small_names[i], bit);
            f[i].bytes[bit / 8] ^= (char)(1 << bit % 8);
            damaged(f, i, what);
            f[i].bytes[bit / 8] ^= (char)(1 << bit % 8);
        }
    EXPECT(check(f, error), "%s", error);
    test_say("%d bits", tried);
    drop(f);
}

TEST(every_length_counts)
{
    Bytes f[FILES];
    char what[64];
    int tried = 0;
    take(f);
    for (int i = 0; i < FILES; i++) {
        Bytes whole = f[i];
        for (size_t n = 0; n <= whole.n + 1; n++, tried++) {
            if (n == whole.n) continue;
            snprintf(what, sizeof what, "%s, %zu bytes of %zu", small_names[i],
                     n, whole.n);
            f[i] = copy(whole.bytes, n < whole.n ? n : whole.n);
            if (n > whole.n) {
                f[i].bytes = realloc(f[i].bytes, n);
                f[i].bytes[f[i].n++] = '\n';
            }
            damaged(f, i, what);
            free(f[i].bytes);
        }
        f[i] = whole;
    }
    test_say("%d lengths", tried - FILES);
    drop(f);
}

TEST(files_in_each_others_place)
{
    Bytes f[FILES];
    take(f);
    Bytes first = f[0];
    f[0] = f[1], f[1] = first;
    damaged(f, 0, "exchanged");
    f[1] = f[0], f[0] = first;
    f[0].bytes[3] ^= 1, f[1].bytes[3] ^= 1;
    damaged(f, 0, "both changed");
    drop(f);
}

/* -- a MANIFEST that has its own right sum, and says something else ------ */

static void with(const char *lines, size_t n, const char *begin)
{
    Bytes f[FILES];
    char own[SHA256_HEX], line[MANIFEST_LINE], *text;
    take(f);
    sha256(lines, n, own);
    int last = snprintf(line, sizeof line, "%s %zu MANIFEST\n", own, n);
    free(f[MANIFEST].bytes);
    text = malloc(n + (size_t)last);
    if (n) memcpy(text, lines, n);
    memcpy(text + n, line, (size_t)last);
    f[MANIFEST] = (Bytes){text, n + (size_t)last};
    refused(f, begin, "lines changed");
    drop(f);
}

/* The lines of the right MANIFEST but its last. */
static char *right_lines(size_t line[FILES + 1])
{
    static char text[MANIFEST_TEXT];
    Bytes f[FILES];
    size_t n = 0;
    take(f);
    memcpy(text, f[MANIFEST].bytes, f[MANIFEST].n);
    for (int i = 0; i <= SMALL_FILES; i++) {
        n += strcspn(text + n, "\n") + 1;
        line[i] = n;
    }
    text[n] = 0;
    drop(f);
    return text;
}

TEST(another_version_is_named)
{
    size_t at[FILES + 1];
    char text[MANIFEST_TEXT], begin[128];
    static const char *const others[] = {
        "plumb 0.1", "plumb 99.0.1-rc", "plumb " PLUMB_VERSION "x", "PLUMB 0",
        "", ("a line that is longer than any version's name has ever been "
             "and will be, one hopes, in the years to come")
    };
    const char *lines = right_lines(at);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int n = snprintf(text, sizeof text, "%s\n%s", others[i],
                         lines + at[0]);
        snprintf(begin, sizeof begin, "MANIFEST: written by %.60s",
                 others[i]);
        with(text, (size_t)n, begin);
    }
}

TEST(lines_that_are_missing_or_too_many)
{
    size_t at[FILES + 1];
    char text[2 * MANIFEST_TEXT];
    const char *lines = right_lines(at);
    size_t n = strlen(lines);
    with(lines, at[0], "model.bin: damaged");
    with(lines, at[1], "config.json: damaged");
    with(lines, 0, "MANIFEST: ");
    with("\n", 1, "MANIFEST: ");
    with(lines, n - 1, "MANIFEST: damaged");       /* no line of its own */
    snprintf(text, sizeof text, "%s%s", lines, lines + at[1]);
    with(text, strlen(text), "MANIFEST: lists other files");
    snprintf(text, sizeof text, "%s\n", lines);
    with(text, strlen(text), "MANIFEST: lists other files");
    snprintf(text, sizeof text, "%.*s%s", (int)at[0], lines, lines + at[1]);
    with(text, strlen(text), "model.bin: damaged");
    snprintf(text, sizeof text, "%.*s%s%.*s", (int)at[0], lines,
             lines + at[1], (int)(at[1] - at[0]), lines + at[0]);
    with(text, strlen(text), "model.bin: damaged");
}

TEST(bytes_that_no_manifest_has)
{
    size_t at[FILES + 1], large = 1 << 20;
    char text[MANIFEST_TEXT], *many = malloc(large);
    const char *lines = right_lines(at);
    size_t n = strlen(lines);
    for (size_t i = 0; i < n; i++) {
        memcpy(text, lines, n);
        text[i] = 0;
        with(text, n, i < at[0] ? "MANIFEST: written by "
                    : i < at[1] ? "model.bin: damaged"
                    : i < n - 1 ? "config.json: damaged"
                                : "MANIFEST: damaged");
    }
    static const int fill[] = {0, '\n', 'x', ' ', 255};
    for (int i = 0; i < 5; i++) {
        Bytes f[FILES];
        memset(many, fill[i], large);
        with(many, large, "MANIFEST: ");
        take(f);
        free(f[MANIFEST].bytes);
        f[MANIFEST] = copy(many, large);
        damaged(f, MANIFEST, "a megabyte");
        drop(f);
    }
    for (size_t i = 0; i + n <= large; i += n) memcpy(many + i, lines, n);
    with(many, large / n * n, "MANIFEST: lists other files");
    free(many);
}

/* -- what it says -------------------------------------------------------- */

TEST(as_many_files_as_there_may_be)
{
    static const char *const names[MANIFEST_FILES] = {
        "a", "b", "c", "d", "e", "f", "g", "h"
    };
    Sum sum[MANIFEST_FILES];
    char text[MANIFEST_TEXT], error[MANIFEST_ERROR];
    for (int n = 0; n <= MANIFEST_FILES; n++) {
        for (int i = 0; i < n; i++) {
            sum[i] = (Sum){.name = names[i], .n = SIZE_MAX - (size_t)i};
            sha256(names[i], 1, sum[i].hash);
        }
        size_t length = manifest_text(sum, n, text);
        EXPECT(length == strlen(text) && length < MANIFEST_TEXT, "%zu",
               length);
        EXPECT(manifest_check(text, length, sum, n, error) == MANIFEST_RIGHT,
               "%s", error);
        if (n) sum[n - 1].n--;
        EXPECT(!n || manifest_check(text, length, sum, n, error)
                     != MANIFEST_RIGHT, "%d", n);
    }
}
