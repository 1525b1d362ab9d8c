/* JSON (RFC 8259): config.json, tokenizer.json, safetensors headers. */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdio.h>

/* Writes n bytes as a JSON string, quotes included. A byte that is not part
 * of well-formed UTF-8 becomes U+FFFD, so the output is always valid. */
void json_write_string(FILE *out, const char *bytes, size_t n);

#endif
