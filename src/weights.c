#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "sha256.h"
#include "weights.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "weights are read and written as they lie in memory: little-endian"
#endif

static const char *const DTYPE = sizeof(real) == 4 ? "F32" : "F64";

static size_t bytes_of(const Param *p)
{
    return sizeof(real) * (size_t)size(p->t);
}

/* The SHA-256 of the data, in hexadecimal. */
static void checksum(const Param *param, int nparam, char hex[SHA256_HEX])
{
    Sha256 s;
    sha256_init(&s);
    for (int i = 0; i < nparam; i++)
        sha256_update(&s, param[i].t->data, bytes_of(&param[i]));
    sha256_final(&s, hex);
}

/* The header for these parameters, padded with spaces so that the data
 * begins at a multiple of 8. malloc'd; its length in *length. */
static char *header(const Param *param, int nparam, const char *hex,
                    size_t *length)
{
    char *text;
    size_t at = 0;
    FILE *f = open_memstream(&text, length);
    if (!f) die(EXIT_MEMORY, "out of memory: the header of a weights file");
    fprintf(f, "{\"__metadata__\":{\"format\":\"pt\",\"sha256\":\"%s\"}", hex);
    for (int i = 0; i < nparam; i++) {
        Shape s = param[i].t->shape;
        fprintf(f, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", param[i].name,
                DTYPE);
        for (int k = 0; k < s.ndim; k++)
            fprintf(f, "%s%d", k ? "," : "", s.dim[k]);
        fprintf(f, "],\"data_offsets\":[%zu,%zu]}", at,
                at + bytes_of(&param[i]));
        at += bytes_of(&param[i]);
    }
    fputc('}', f);
    fflush(f);
    for (size_t n = *length; n % 8; n++) fputc(' ', f);
    if (fclose(f)) die(EXIT_MEMORY, "out of memory: the header of a weights "
                       "file");
    return text;
}

void weights_save(const char *path, const Param *param, int nparam)
{
    char temporary[4096], hex[SHA256_HEX];
    size_t length, ok;
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path)
        >= (int)sizeof temporary)
        die(EXIT_CANTCREATE, "%s: the path is too long", path);
    checksum(param, nparam, hex);
    char *text = header(param, nparam, hex, &length);
    uint64_t n = length;
    FILE *f = fopen(temporary, "wb");
    if (!f) die(EXIT_CANTCREATE, "%s: cannot create: %s", temporary,
                strerror(errno));
    ok = fwrite(&n, sizeof n, 1, f) && fwrite(text, length, 1, f);
    for (int i = 0; ok && i < nparam; i++)
        ok = fwrite(param[i].t->data, bytes_of(&param[i]), 1, f);
    ok = ok && !fflush(f) && !fsync(fileno(f));
    if (fclose(f) || !ok || rename(temporary, path)) {
        int why = errno;
        remove(temporary);
        die(EXIT_IO, "%s: cannot write: %s", path, strerror(why));
    }
    free(text);
}

/* Reads n bytes, or ends: the file is shorter than it must be. */
static void get(FILE *f, const char *path, void *to, size_t n)
{
    if (n && !fread(to, n, 1, f))
        die(ferror(f) ? EXIT_IO : EXIT_DATA, "%s: %s", path, ferror(f) ?
            strerror(errno) : "the file ends before the weights do");
}

/* A header is right if it is the one that these parameters would be written
 * with; only the checksum is the file's own. */
void weights_load(const char *path, Param *param, int nparam)
{
    char hex[SHA256_HEX] = "", blank[SHA256_HEX];
    size_t length, start = strlen("{\"__metadata__\":{\"format\":\"pt\","
                                  "\"sha256\":\"");
    uint64_t n;
    memset(blank, '0', sizeof blank - 1);
    blank[sizeof blank - 1] = 0;
    char *wanted = header(param, nparam, blank, &length);
    FILE *f = fopen(path, "rb");
    if (!f) die(EXIT_NOINPUT, "%s: cannot open: %s", path, strerror(errno));

    get(f, path, &n, sizeof n);
    char *given = malloc(length);
    if (!given) die(EXIT_MEMORY, "out of memory: %zu bytes", length);
    if (n == length) {
        get(f, path, given, length);
        memcpy(hex, given + start, sizeof hex - 1);
        memcpy(given + start, blank, sizeof blank - 1);
    }
    if (n != length || memcmp(given, wanted, length))
        die(EXIT_DATA, "%s: not the weights of this configuration: names or "
            "shapes differ", path);
    for (int i = 0; i < nparam; i++)
        get(f, path, param[i].t->data, bytes_of(&param[i]));
    if (fgetc(f) != EOF)
        die(EXIT_DATA, "%s: the file goes on after the weights", path);
    for (int i = 0; i < nparam; i++)
        if (!all_finite(size(param[i].t), param[i].t->data))
            die(EXIT_DATA, "%s: %s holds a value that is not finite", path,
                param[i].name);
    checksum(param, nparam, blank);
    if (memcmp(hex, blank, sizeof hex - 1))
        die(EXIT_DATA, "%s: damaged: SHA-256 of the data is %s, the file says "
            "%.64s", path, blank, hex);
    fclose(f);
    free(given);
    free(wanted);
}
