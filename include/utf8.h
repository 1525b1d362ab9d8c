/* UTF-8 (RFC 3629), strictly: no overlong form, no surrogate, nothing above
 * U+10FFFF, no missing byte. So every text has one spelling only, and what
 * is decoded and encoded again is the same bytes. */
#ifndef UTF8_H
#define UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Reads the character that s[0..n) begins with into *code. Returns its bytes,
 * 1 to 4, or 0 if there is none that is well formed. */
int utf8_decode(const char *s, size_t n, uint32_t *code);

/* Writes a code point (<= U+10FFFF) and returns its bytes, 1 to 4. */
int utf8_encode(uint32_t code, char out[4]);

/* Makes one line of a message that quotes a file: a control character becomes
 * '?', and it ends before a character that is cut off. */
void utf8_one_line(char *s);

#endif
