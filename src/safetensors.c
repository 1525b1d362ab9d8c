#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "disk.h"
#include "json.h"
#include "safetensors.h"
#include "utf8.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensors are read and written as they lie in memory: little-endian"
#endif

enum { LENGTH = 8,              /* bytes that hold N */
       TEXT = 3 + SAFETENSORS_DIM * 21 };       /* a shape as text */

__attribute__((format(printf, 2, 3)))
static bool fail(char error[SAFETENSORS_ERROR], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, SAFETENSORS_ERROR, format, list);
    va_end(list);
    utf8_one_line(error);       /* names may hold anything */
    return false;
}

/* -- reading ------------------------------------------------------------ */

typedef struct {
    const char *data;           /* behind the header */
    size_t bytes;
    char *error;
} Data;

/* Every type of the specification, by its bits: some have less than 8. */
static const struct { const char *name; unsigned bits; } dtypes[] = {
    {"BOOL", 8}, {"U8", 8}, {"I8", 8}, {"U16", 16}, {"I16", 16}, {"U32", 32},
    {"I32", 32}, {"U64", 64}, {"I64", 64}, {"F16", 16}, {"BF16", 16},
    {"F32", 32}, {"F64", 64}, {"C64", 64}, {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F6_E2M3", 6},
    {"F6_E3M2", 6}, {"F4", 4},
};

/* Sets the type; its bits, or 0 with an error. */
static unsigned read_dtype(const Data *d, const Json *j, StoredTensor *t)
{
    const char *name;
    if (!json_string(json_get(j, "dtype"), &name))
        return fail(d->error, "%.96s: a string \"dtype\" is wanted", t->name);
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, name))
            return t->dtype = dtypes[i].name, dtypes[i].bits;
    return fail(d->error, "%.96s: unknown dtype %.20s", t->name, name);
}

/* Sets the shape, and *elements to the product of its axes. */
static bool read_shape(const Data *d, const Json *j, StoredTensor *t,
                       uint64_t *elements)
{
    const Json *shape = json_get(j, "shape");
    uint64_t n;
    if (!shape || shape->kind != JSON_ARRAY)
        return fail(d->error, "%.96s: an array \"shape\" is wanted", t->name);
    if (shape->n > SAFETENSORS_DIM)
        return fail(d->error, "%.96s: %zu axes, at most %d are read", t->name,
                    shape->n, SAFETENSORS_DIM);
    *elements = 1;
    for (const Json *axis = shape->child; axis; axis = axis->next) {
        if (!json_u64(axis, &n) || n > SIZE_MAX)
            return fail(d->error, "%.96s: an axis is no whole number of 64 "
                        "bits", t->name);
        if (n && *elements > UINT64_MAX / n)
            return fail(d->error, "%.96s: the product of the axes is beyond 64 "
                        "bits", t->name);
        t->dim[t->ndim++] = (size_t)n;
        *elements *= n;
    }
    return true;
}

/* Sets the place in the data. */
static bool read_range(const Data *d, const Json *j, StoredTensor *t)
{
    const Json *range = json_get(j, "data_offsets");
    uint64_t begin, end;
    if (!range || range->kind != JSON_ARRAY || range->n != 2
        || !json_u64(range->child, &begin)
        || !json_u64(range->child->next, &end))
        return fail(d->error, "%.96s: \"data_offsets\" of two whole numbers is "
                    "wanted", t->name);
    if (begin > end)
        return fail(d->error, "%.96s: its data end at %llu, before they begin "
                    "at %llu", t->name, (unsigned long long)end,
                    (unsigned long long)begin);
    if (end > d->bytes)
        return fail(d->error, "%.96s: its data end at %llu, those of the file "
                    "at %zu", t->name, (unsigned long long)end, d->bytes);
    t->data = d->data + begin;
    t->bytes = (size_t)(end - begin);
    return true;
}

static bool read_tensor(const Data *d, const Json *j, StoredTensor *t)
{
    uint64_t elements = 0;
    *t = (StoredTensor){.name = j->key};
    if (strlen(j->key) < j->nkey)
        return fail(d->error, "%.96s: a name with a NUL", t->name);
    if (j->kind != JSON_OBJECT)
        return fail(d->error, "%.96s: an object is wanted", t->name);
    unsigned bits = read_dtype(d, j, t);
    if (!bits || !read_shape(d, j, t, &elements) || !read_range(d, j, t))
        return false;
    if (elements > UINT64_MAX / bits || elements * bits % 8
        || elements * bits / 8 != t->bytes)
        return fail(d->error, "%.96s: %llu elements of %u bits are not its %zu "
                    "bytes", t->name, (unsigned long long)elements, bits,
                    t->bytes);
    return true;
}

/* __metadata__ is a map from strings to strings. */
static bool check_metadata(const Data *d, const Json *j)
{
    bool ok = j->kind == JSON_OBJECT;
    for (const Json *m = j->child; ok && m; m = m->next)
        ok = m->kind == JSON_STRING;
    return ok || fail(d->error, "__metadata__: an object of strings is wanted");
}

/* Of two at one place, the one without data comes first. */
static int by_place(const void *a, const void *b)
{
    const StoredTensor *x = a, *y = b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const StoredTensor *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* One after another, from the first byte of the data to the last. */
static bool check_ranges(const Data *d, const Safetensors *s)
{
    size_t at = 0, begin;
    for (int i = 0; i < s->n; i++, at = begin + s->tensor[i - 1].bytes) {
        begin = (size_t)(s->tensor[i].data - d->data);
        if (begin < at)
            return fail(d->error, "%.96s and %.96s overlap",
                        s->tensor[i - 1].name, s->tensor[i].name);
        if (begin > at)
            return fail(d->error, "%.96s: a hole of %zu bytes before its data",
                        s->tensor[i].name, begin - at);
    }
    return at == d->bytes || fail(d->error, "%zu bytes after the last tensor",
                                  d->bytes - at);
}

/* A tensor takes some 50 bytes of the header, so the table is bounded by it. */
static bool read_table(Arena *a, const Data *d, const Json *header,
                       Safetensors *s)
{
    StoredTensor *t = arena_alloc(a, header->n * sizeof *t);
    const StoredTensor **name = arena_alloc(a, header->n * sizeof *name);
    *s = (Safetensors){0, t, name};
    for (const Json *j = header->child; j; j = j->next) {
        bool metadata = !strcmp(j->key, "__metadata__");
        if (metadata && strlen(j->key) == j->nkey) {
            if (!check_metadata(d, j)) return false;
        } else if (!read_tensor(d, j, &t[s->n++])) {
            return false;
        }
    }
    qsort(t, (size_t)s->n, sizeof *t, by_place);
    for (int i = 0; i < s->n; i++) name[i] = &t[i];
    qsort(name, (size_t)s->n, sizeof *name, by_name);
    return check_ranges(d, s);
}

bool safetensors_read(Arena *a, const char *bytes, size_t n,
                      Safetensors *out, char error[SAFETENSORS_ERROR])
{
    uint64_t length;
    char why[JSON_ERROR];
    if (n < LENGTH)
        return fail(error, "%zu bytes; the length of the header takes %d", n,
                    LENGTH);
    memcpy(&length, bytes, LENGTH);
    if (length == 0) return fail(error, "the header has no bytes");
    if (length > SAFETENSORS_HEADER)
        return fail(error, "a header of %llu bytes, at most %d are allowed",
                    (unsigned long long)length, SAFETENSORS_HEADER);
    if (length > n - LENGTH)
        return fail(error, "a header of %llu bytes, the file ends after %zu",
                    (unsigned long long)length, n - LENGTH);
    if (bytes[LENGTH] != '{')
        return fail(error, "the header does not begin with '{'");
    const Json *header = json_parse(a, bytes + LENGTH, (size_t)length, why);
    if (!header) return fail(error, "header, %s", why);
    Data d = {bytes + LENGTH + length, n - LENGTH - (size_t)length, error};
    return read_table(a, &d, header, out);
}

const StoredTensor *safetensors_find(const Safetensors *s, const char *name)
{
    const StoredTensor wanted = {.name = name}, *w = &wanted;
    const StoredTensor *const *found = s->n ?
        bsearch(&w, s->by_name, (size_t)s->n, sizeof w, by_name) : NULL;
    return found ? *found : NULL;
}

static bool same_shape(const StoredTensor *t, Shape s)
{
    bool same = t->ndim == s.ndim;
    for (int i = 0; same && i < s.ndim; i++)
        same = t->dim[i] == (size_t)s.dim[i];
    return same;
}

static const char *axes(const StoredTensor *t, char text[TEXT])
{
    size_t at = (size_t)snprintf(text, TEXT, "(");
    for (int i = 0; i < t->ndim; i++)
        at += (size_t)snprintf(text + at, TEXT - at, "%s%zu", i ? "," : "",
                               t->dim[i]);
    snprintf(text + at, TEXT - at, ")");
    return text;
}

static void copy(real *to, const StoredTensor *from)
{
    size_t n = from->bytes / sizeof(float);
    if (!strcmp(from->dtype, sizeof(real) == 4 ? "F32" : "F64")) {
        memcpy(to, from->data, from->bytes);
        return;
    }
    for (size_t i = 0; i < n; i++) {    /* F32 into double: exact */
        float x;
        memcpy(&x, from->data + i * sizeof x, sizeof x);
        to[i] = (real)x;
    }
}

bool safetensors_fill(const StoredTensor *from, Param *p,
                      char error[SAFETENSORS_ERROR])
{
    bool wide = sizeof(real) == 8 && !strcmp(from->dtype, "F64");
    char text[TEXT];
    if (!same_shape(from, p->t->shape))
        return fail(error, "%.96s: its shape is %.96s, %s is wanted",
                    from->name, axes(from, text), shape_text(p->t->shape));
    if (strcmp(from->dtype, "F32") && !wide)
        return fail(error, "%.96s: its dtype is %s, F32 is wanted", from->name,
                    from->dtype);
    copy(p->t->data, from);
    return all_finite(size(p->t), p->t->data)
        || fail(error, "%.96s: a value is not finite", from->name);
}

/* -- writing ------------------------------------------------------------ */

static void write_tensor(FILE *f, const Param *p, size_t *at)
{
    Shape s = p->t->shape;
    size_t end = *at + sizeof(real) * (size_t)size(p->t);
    putc(',', f);
    json_write_string(f, p->name, strlen(p->name));
    fprintf(f, ":{\"dtype\":\"F%zu\",\"shape\":[", 8 * sizeof(real));
    for (int k = 0; k < s.ndim; k++)
        fprintf(f, "%s%d", k ? "," : "", s.dim[k]);
    fprintf(f, "],\"data_offsets\":[%zu,%zu]}", *at, end);
    *at = end;
}

char *safetensors_header(Arena *a, const Param *param, int nparam,
                         size_t *length)
{
    size_t at = 0;
    Draft draft;
    FILE *f = draft_open(&draft);
    fprintf(f, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (int i = 0; i < nparam; i++) write_tensor(f, &param[i], &at);
    putc('}', f);
    const Piece *text = draft_close(&draft, a, "a header of tensors").piece;
    uint64_t padded = (text->n + 7) / 8 * 8;
    char *header = arena_alloc(a, LENGTH + padded);
    memset(header, ' ', LENGTH + padded);
    memcpy(header, &padded, LENGTH);
    memcpy(header + LENGTH, text->data, text->n);
    *length = LENGTH + padded;
    return header;
}
