#include <stdint.h>
#include <string.h>
#include "json.h"
#include "utf8.h"

void json_write_string(FILE *out, const char *bytes, size_t n)
{
    const char *escaped = "\"\\\b\f\n\r\t", *letter = "\"\\bfnrt", *e;
    uint32_t code;
    putc('"', out);
    for (size_t i = 0, length; i < n; i += length) {
        length = (size_t)utf8_decode(bytes + i, n - i, &code);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (code && code < 128 && (e = strchr(escaped, (int)code))) {
            fprintf(out, "\\%c", letter[e - escaped]);
        } else if (code < 32 || code == 127) {
            fprintf(out, "\\u%04x", (unsigned)code);
        } else {
            fwrite(bytes + i, 1, length, out);
        }
    }
    putc('"', out);
}
