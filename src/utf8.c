#include <string.h>
#include "utf8.h"

/* The number of leading ones says how many bytes there are. */
static int length(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xC0 ? 0 : lead < 0xE0 ? 2
         : lead < 0xF0 ? 3 : lead < 0xF8 ? 4 : 0;
}

int utf8_decode(const char *s, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *u = (const unsigned char *)s;
    int bytes = n ? length(*u) : 0;
    if (bytes == 0 || (size_t)bytes > n) return 0;
    uint32_t c = bytes == 1 ? *u : *u & (0x7Fu >> bytes);
    for (int i = 1; i < bytes; i++) {
        if ((u[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (u[i] & 0x3Fu);
    }
    if (c < least[bytes] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    *code = c;
    return bytes;
}

int utf8_encode(uint32_t code, char out[4])
{
    int bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (int i = bytes - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(bytes == 1 ? code : ((0xF00u >> bytes) & 0xFF) | code);
    return bytes;
}

void utf8_one_line(char *s)
{
    uint32_t code;
    int length;
    for (size_t n = strlen(s); n; n -= (size_t)length, s += length) {
        if (!(length = utf8_decode(s, n, &code))) break;
        if (code < 32 || code == 127) *s = '?';
    }
    *s = 0;
}
