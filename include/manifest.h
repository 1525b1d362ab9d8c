/* MANIFEST: which files a checkpoint has, and that each is as it was written.
 *
 *     plumb VERSION
 *     SHA-256 BYTES NAME         of each file
 *     SHA-256 BYTES MANIFEST     of the lines above
 *
 * It is compared with the text that the files at hand would get, and never
 * parsed. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "sha256.h"

enum { MANIFEST_LINE = 192, MANIFEST_FILES = 8,
       MANIFEST_TEXT = (MANIFEST_FILES + 2) * MANIFEST_LINE,
       MANIFEST_ERROR = 512 };

typedef struct { const char *name; char hash[SHA256_HEX]; size_t n; } Sum;

/* The text for these n files, at most MANIFEST_FILES; returns its length. */
size_t manifest_text(const Sum *sum, int n, char text[MANIFEST_TEXT]);

/* Is this, in a directory of files with these sums, the MANIFEST? If not,
 * error names what is damaged, "model.safetensors: ...", or the version. */
typedef enum {
    MANIFEST_DAMAGED, MANIFEST_OF_ANOTHER_VERSION, MANIFEST_RIGHT
} ManifestState;
ManifestState manifest_check(const char *bytes, size_t length, const Sum *sum,
                             int n, char error[MANIFEST_ERROR]);

#endif
