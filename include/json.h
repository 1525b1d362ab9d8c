/* JSON (RFC 8259), strictly: config.json, tokenizer.json, safetensors headers.
 *
 * The files come from anywhere. So nothing here ends the program (but for
 * want of memory): what is wrong comes back with its byte offset, and who
 * knows the file's name reports it. Refused beyond the grammar: a key twice
 * in an object, text that is no UTF-8, half a surrogate pair, and nesting
 * deeper than JSON_DEPTH. */
#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "arena.h"

enum { JSON_DEPTH = 64,
       JSON_ERROR = 96 };       /* bytes an error message needs at most */

typedef enum {
    JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
} JsonKind;

typedef struct Json Json;
struct Json {
    JsonKind kind;
    uint32_t at;                /* byte offset in the input */
    size_t n;                   /* string: bytes. array, object: members.
                                 * boolean: 0 or 1 */
    const char *text;           /* string: decoded. number: as it is written.
                                 * NUL-terminated; a string may hold NULs */
    const char *key;            /* of a member of an object: decoded */
    size_t nkey;
    Json *child, *next;         /* first member; the member after this one */
    Json **by_key;              /* object: its n members sorted by key */
};

/* Reads the one value in bytes[0..n), n < 2^32, which may be freed afterwards:
 * the result is all in the arena (at most 64 bytes for each byte of a large
 * input). NULL if it is not valid JSON: then error says what and where, as
 * "byte 17: ':' expected". */
const Json *json_parse(Arena *arena, const char *bytes, size_t n,
                       char error[JSON_ERROR]);

/* The member with this key. NULL if there is none, if the value is no object,
 * or no value at all (NULL): so look-ups chain, and the getters below take
 * what comes out. O(log n). */
const Json *json_get(const Json *object, const char *key);

/* True, and *out is set, if the value is there and of the kind: */
bool json_bool(const Json *j, bool *out);
bool json_real(const Json *j, double *out);     /* any number in range */
bool json_u64(const Json *j, uint64_t *out);    /* digits only, all kept */
bool json_string(const Json *j, const char **out);  /* without NUL inside */

/* Writes n bytes as a JSON string, quotes included. A byte that is not part
 * of well-formed UTF-8 becomes U+FFFD, so the output is always valid. */
void json_write_string(FILE *out, const char *bytes, size_t n);

#endif
