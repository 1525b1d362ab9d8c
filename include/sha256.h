/* SHA-256 (FIPS 180-4): of the corpus, of every file of a checkpoint, and of
 * the loss curve, whose hash is the answer key of an exercise. */
#ifndef SHA256_H
#define SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_HEX = 65 };       /* 64 lower-case digits and a NUL */

typedef struct {
    uint32_t h[8];
    uint64_t bytes;             /* taken so far */
    unsigned char block[64];    /* its last bytes % 64 wait here */
} Sha256;

/* A hash of nothing yet. */
void sha256_init(Sha256 *s);
void sha256_update(Sha256 *s, const void *data, size_t bytes);
/* The hash of all that was taken; s is used up. */
void sha256_final(Sha256 *s, char hex[SHA256_HEX]);

/* All at once. */
void sha256(const void *data, size_t bytes, char hex[SHA256_HEX]);

#endif
