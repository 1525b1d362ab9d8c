#include <stdio.h>
#include <string.h>
#include "die.h"
#include "flags.h"
#include "manifest.h"

static const char title[] = "plumb " PLUMB_VERSION "\n";

static size_t put_line(char *to, const char *hash, size_t n, const char *name)
{
    CHECK(strlen(name) < MANIFEST_LINE / 2, "manifest: the name %s is too "
          "long", name);
    return (size_t)snprintf(to, MANIFEST_LINE, "%s %zu %s\n", hash, n, name);
}

/* It ends with its own sum, so that it is known which of the two is damaged:
 * a file, or what is said of it. */
size_t manifest_text(const Sum *sum, int n, char text[MANIFEST_TEXT])
{
    char own[SHA256_HEX];
    size_t length = (size_t)snprintf(text, MANIFEST_LINE, "%s", title);
    CHECK(n <= MANIFEST_FILES, "manifest: %d files, at most %d", n,
          MANIFEST_FILES);
    for (int i = 0; i < n; i++)
        length += put_line(text + length, sum[i].hash, sum[i].n, sum[i].name);
    sha256(text, length, own);
    return length + put_line(text + length, own, length, "MANIFEST");
}

static bool sums_itself(const char *bytes, size_t length)
{
    char own[SHA256_HEX], line[MANIFEST_LINE];
    size_t n = length;
    if (n) n--;
    while (n && bytes[n - 1] != '\n') n--;
    sha256(bytes, n, own);
    size_t last = put_line(line, own, n, "MANIFEST");
    return length - n == last && !memcmp(bytes + n, line, last);
}

/* Why the file with this sum is not what these lines begin with. */
static void explain(const Sum *sum, const char *lines, size_t n,
                    char error[MANIFEST_ERROR])
{
    char line[MANIFEST_LINE + 1], hash[SHA256_HEX] = "";
    size_t listed = 0;
    snprintf(line, sizeof line, "%.*s", (int)(n < MANIFEST_LINE ? n :
             MANIFEST_LINE), lines);
    sscanf(line, "%64s %zu", hash, &listed);
    if (listed != sum->n)
        snprintf(error, MANIFEST_ERROR, "%s: damaged: it has %zu bytes, "
                 "MANIFEST says %zu", sum->name, sum->n, listed);
    else
        snprintf(error, MANIFEST_ERROR, "%s: damaged: its SHA-256 is %.16s..., "
                 "MANIFEST says %.16s...", sum->name, sum->hash, hash);
}

ManifestState manifest_check(const char *bytes, size_t length, const Sum *sum,
                             int n, char error[MANIFEST_ERROR])
{
    char text[MANIFEST_TEXT], line[MANIFEST_LINE];
    size_t at = strlen(title);
    if (length == manifest_text(sum, n, text) && !memcmp(bytes, text, length))
        return MANIFEST_RIGHT;
    if (!sums_itself(bytes, length)) {
        snprintf(error, MANIFEST_ERROR, "MANIFEST: damaged: it does not have "
                 "the SHA-256 that stands at its end");
        return MANIFEST_DAMAGED;
    }
    if (length < at || memcmp(bytes, title, at)) {
        const char *end = memchr(bytes, '\n', length);
        snprintf(error, MANIFEST_ERROR, "MANIFEST: written by %.*s; this is "
                 "plumb %s, which opens only its own",
                 (int)(end - bytes < 64 ? end - bytes : 64), bytes,
                 PLUMB_VERSION);
        return MANIFEST_OF_ANOTHER_VERSION;
    }
    snprintf(error, MANIFEST_ERROR, "MANIFEST: lists other files");
    for (int i = 0; i < n; i++) {
        size_t m = put_line(line, sum[i].hash, sum[i].n, sum[i].name);
        if (length < at + m || memcmp(bytes + at, line, m)) {
            explain(&sum[i], bytes + at, length - at, error);
            break;
        }
        at += m;
    }
    return MANIFEST_DAMAGED;
}
