#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "utf8.h"

/* Strings and numbers are copied to a pool as long as the input, each with a
 * NUL behind it. They fit: a string loses two quotes, no escape is shorter
 * than what it stands for, and behind a number comes something, or the end. */
typedef struct {
    Arena *arena;
    const char *s;
    size_t n, at;
    char *pool, *error;
    int depth;
} Parser;

static void *fail(Parser *p, const char *what)
{
    snprintf(p->error, JSON_ERROR, "byte %zu: %s", p->at, what);
    return NULL;
}

static int peek(const Parser *p)
{
    return p->at < p->n ? (unsigned char)p->s[p->at] : EOF;
}

static bool eat(Parser *p, char c)
{
    return peek(p) == c ? p->at++, true : false;
}

static void blanks(Parser *p)
{
    while (eat(p, ' ') || eat(p, '\t') || eat(p, '\n') || eat(p, '\r')) {}
}

/* -- strings ------------------------------------------------------------ */

/* The u and four digits of an escape; beyond 0xFFFF if they are not there. */
static uint32_t hex(Parser *p)
{
    uint32_t code = 0;
    if (!eat(p, 'u')) return UINT32_MAX;
    for (int i = 0; i < 4; i++, p->at++) {
        static const char alphabet[] = "0123456789abcdefABCDEF";
        int c = peek(p);
        const char *d = c > 0 ? strchr(alphabet, c) : NULL;
        if (!d) return UINT32_MAX;
        uint32_t digit = (uint32_t)(d - alphabet);
        code = code << 4 | (digit < 16 ? digit : digit - 6);
    }
    return code;
}

/* What stands behind a backslash. */
static bool escape(Parser *p)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    int c = peek(p);
    const char *e = c > 0 ? strchr(letters, c) : NULL;
    if (e) return p->at++, *p->pool++ = meant[e - letters], true;
    size_t start = p->at;
    uint32_t code = hex(p), low = 0xDC00;
    if (code >= 0xD800 && code < 0xDC00) {      /* the first of a pair */
        low = eat(p, '\\') ? hex(p) : UINT32_MAX;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        low = UINT32_MAX;
    }
    if (code == UINT32_MAX || low < 0xDC00 || low > 0xDFFF) {
        p->at = start - 1;
        return fail(p, "invalid escape"), false;
    }
    p->pool += utf8_encode(code, p->pool);
    return true;
}

static const char *string(Parser *p, size_t *n)
{
    const char *start = p->pool;
    if (!eat(p, '"')) return fail(p, "string expected");
    while (!eat(p, '"')) {
        uint32_t code;
        int length = utf8_decode(p->s + p->at, p->n - p->at, &code);
        if (p->at == p->n) return fail(p, "string without end");
        if (!length) return fail(p, "invalid UTF-8");
        if (code < 0x20) return fail(p, "control character in a string");
        if (eat(p, '\\')) {
            if (!escape(p)) return NULL;
            continue;
        }
        for (; length; length--) *p->pool++ = p->s[p->at++];
    }
    *n = (size_t)(p->pool - start);
    *p->pool++ = 0;
    return start;
}

/* -- values ------------------------------------------------------------- */

static bool digits(Parser *p)
{
    size_t start = p->at;
    while (peek(p) >= '0' && peek(p) <= '9') p->at++;
    return p->at > start;
}

static Json *number(Parser *p, Json *j)
{
    bool ok, zero;
    j->kind = JSON_NUMBER;
    j->text = p->pool;
    eat(p, '-');
    zero = eat(p, '0');                 /* no digit may follow a leading 0 */
    if (!(ok = zero || digits(p))) return fail(p, "value expected");
    if (eat(p, '.')) ok = digits(p);
    if (ok && (eat(p, 'e') || eat(p, 'E'))) {
        if (!eat(p, '+')) eat(p, '-');
        ok = digits(p);
    }
    if (!ok) return fail(p, "digit expected");
    for (size_t i = j->at; i < p->at; i++) *p->pool++ = p->s[i];
    *p->pool++ = 0;
    return j;
}

static Json *word(Parser *p, Json *j, JsonKind kind, const char *name)
{
    size_t n = strlen(name);
    if (p->n - p->at < n || memcmp(p->s + p->at, name, n))
        return fail(p, "value expected");
    p->at += n;
    j->kind = kind;
    j->n = *name == 't';
    return j;
}

static int compare(const void *a, const void *b)
{
    const Json *x = *(Json *const *)a, *y = *(Json *const *)b;
    int order = memcmp(x->key, y->key, x->nkey < y->nkey ? x->nkey : y->nkey);
    return order ? order : (x->nkey > y->nkey) - (x->nkey < y->nkey);
}

/* Sorted, so that a doubled key shows, and finding one is fast, whatever keys
 * an object with a million members has. */
static Json *sort(Parser *p, Json *j)
{
    size_t i = 0;
    if (j->n == 0) return j;
    j->by_key = arena_alloc(p->arena, j->n * sizeof *j->by_key);
    for (Json *m = j->child; m; m = m->next) j->by_key[i++] = m;
    qsort(j->by_key, j->n, sizeof *j->by_key, compare);
    for (i = 1; i < j->n; i++)
        if (!compare(&j->by_key[i - 1], &j->by_key[i])) {
            uint32_t a = j->by_key[i - 1]->at, b = j->by_key[i]->at;
            p->at = a > b ? a : b;
            return fail(p, "value for a key that has one already");
        }
    return j;
}

static Json *value(Parser *p);

static Json *members(Parser *p, Json *j, char close)
{
    Json **last = &j->child;
    j->kind = close == '}' ? JSON_OBJECT : JSON_ARRAY;
    if (p->depth++ == JSON_DEPTH) return fail(p, "nested too deeply");
    p->at++;
    blanks(p);
    for (bool more = !eat(p, close); more; j->n++, last = &(*last)->next) {
        const char *key = NULL;
        size_t nkey = 0;
        if (close == '}') {
            blanks(p);
            if (!(key = string(p, &nkey))) return NULL;
            blanks(p);
            if (!eat(p, ':')) return fail(p, "':' expected");
        }
        if (!(*last = value(p))) return NULL;
        (*last)->key = key;
        (*last)->nkey = nkey;
        blanks(p);
        more = !eat(p, close);
        if (more && !eat(p, ','))
            return fail(p, close == '}' ? "',' or '}' expected"
                                        : "',' or ']' expected");
    }
    p->depth--;
    return close == '}' ? sort(p, j) : j;
}

static Json *value(Parser *p)
{
    Json *j = arena_alloc(p->arena, sizeof *j);
    blanks(p);
    *j = (Json){.at = (uint32_t)p->at};
    switch (peek(p)) {
    case '{': return members(p, j, '}');
    case '[': return members(p, j, ']');
    case 't': return word(p, j, JSON_BOOL, "true");
    case 'f': return word(p, j, JSON_BOOL, "false");
    case 'n': return word(p, j, JSON_NULL, "null");
    case '"':
        j->kind = JSON_STRING;
        return (j->text = string(p, &j->n)) ? j : NULL;
    default:  return number(p, j);
    }
}

const Json *json_parse(Arena *arena, const char *bytes, size_t n,
                       char error[JSON_ERROR])
{
    Parser p = {arena, bytes, n, 0, NULL, error, 0};
    if (n > UINT32_MAX) return fail(&p, "more than 4 GiB");
    p.pool = arena_alloc(arena, n + 1);
    Json *j = value(&p);
    blanks(&p);
    if (j && p.at < n) return fail(&p, "end expected");
    return j;
}

/* -- access ------------------------------------------------------------- */

const Json *json_get(const Json *object, const char *key)
{
    Json wanted = {.key = key, .nkey = strlen(key)}, *w = &wanted, **found;
    if (!object || object->kind != JSON_OBJECT || !object->n) return NULL;
    found = bsearch(&w, object->by_key, object->n, sizeof w, compare);
    return found ? *found : NULL;
}

bool json_bool(const Json *j, bool *out)
{
    return j && j->kind == JSON_BOOL ? *out = j->n, true : false;
}

bool json_real(const Json *j, double *out)
{
    double x = j && j->kind == JSON_NUMBER ? strtod(j->text, NULL) : INFINITY;
    return isinf(x) ? false : (*out = x, true);
}

bool json_u64(const Json *j, uint64_t *out)
{
    if (!j || j->kind != JSON_NUMBER) return false;
    errno = 0;
    uint64_t u = strtoull(j->text, NULL, 10);
    if (errno || strspn(j->text, "0123456789") < strlen(j->text)) return false;
    return *out = u, true;
}

bool json_string(const Json *j, const char **out)
{
    if (!j || j->kind != JSON_STRING || strlen(j->text) < j->n) return false;
    return *out = j->text, true;
}

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
