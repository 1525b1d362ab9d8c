#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "safetensors.h"
#include "test.h"

static Arena arena;
static char error[SAFETENSORS_ERROR];
static Safetensors table;

/* N, the header, and so many bytes of data, 0 1 2 ...; *size in all. */
static char *file_of(const char *header, size_t length, size_t data,
                     size_t *size)
{
    uint64_t n = length;
    char *file = malloc(*size = sizeof n + length + data);
    memcpy(file, &n, sizeof n);
    memcpy(file + sizeof n, header, length);
    for (size_t i = 0; i < data; i++) file[sizeof n + length + i] = (char)i;
    return file;
}

/* From a copy that ends where the file does: a sanitizer sees what is read
 * behind it. Every byte of every tensor must be in the copy. */
static bool read_copy(const char *bytes, size_t n)
{
    size_t sum = 0;
    char *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    *error = 0;
    bool ok = safetensors_read(&arena, copy, n, &table, error);
    for (int i = 0; ok && i < table.n; i++) {
        const StoredTensor *t = &table.tensor[i];
        EXPECT(t->data >= copy + 8 && t->bytes <= n
               && t->data + t->bytes <= copy + n, "%s is not in the file",
               t->name);
        EXPECT(safetensors_find(&table, t->name) == t, "%s", t->name);
        sum += t->bytes;
    }
    EXPECT(!ok || sum < n, "%zu bytes of tensors in %zu", sum, n);
    EXPECT(ok == !*error, "%d, but \"%s\"", ok, error);
    free(copy);
    return ok;
}

static bool read_header(const char *header, size_t data)
{
    size_t n;
    char *file = file_of(header, strlen(header), data, &n);
    bool ok = read_copy(file, n);
    free(file);
    return ok;
}

#define F32(name, shape, from, to) "\"" name "\":{\"dtype\":\"F32\"," \
    "\"shape\":" shape ",\"data_offsets\":[" #from "," #to "]}"

TEST(tensors_are_listed_by_place)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\"},"
        F32("b", "[2,1]", 4, 12) ",\"a\":{\"shape\":[],\"extra\":1,"
        "\"dtype\":\"F32\",\"data_offsets\":[0,4]},"
        "\"none\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[4,4]},"
        "\"half\":{\"dtype\":\"F4\",\"shape\":[6],\"data_offsets\":[12,15]}}  ";
    const StoredTensor *t;
    size_t n;
    char *file = file_of(header, strlen(header), 15, &n);
    if (!EXPECT(safetensors_read(&arena, file, n, &table, error)
                && table.n == 4, "%s", error)) return;
    t = table.tensor;
    EXPECT(!strcmp(t[0].name, "a") && !t[0].ndim && t[0].bytes == 4, "scalar");
    EXPECT(!strcmp(t[1].name, "none") && t[1].ndim == 2 && !t[1].bytes
           && !strcmp(t[1].dtype, "F64") && t[1].dim[0] == 3
           && t[1].dim[1] == 0, "no elements");
    EXPECT(!strcmp(t[2].name, "b") && t[2].data[0] == 4 && t[2].bytes == 8,
           "b at %d", t[2].data[0]);
    EXPECT(safetensors_find(&table, "half") == &t[3]
           && !safetensors_find(&table, "c"), "find");
    free(file);
    EXPECT(read_header("{" F32("b", "[0]", 0, 0) "," F32("a", "[0]", 0, 0) ","
                       F32("c", "[1,0]", 0, 0) "}", 0) && table.n == 3
           && !strcmp(table.tensor[0].name, "a"), "three at one place");
    EXPECT(read_header("{}", 0) && !table.n && !safetensors_find(&table, "a"),
           "no tensors: %s", error);
}

TEST(what_is_wrong_is_said)
{
    static const struct { const char *header; size_t data; const char *why; }
    bad[] = {
        {"[]", 0, "does not begin with '{'"},
        {" {}", 0, "does not begin with '{'"},
        {"{\"a\"}", 0, "header, byte 4: ':' expected"},
        {"{}x", 0, "header, byte 2: end expected"},
        {"{} {}", 0, "header, byte 3: end expected"},
        {"{" F32("a", "[1]", 0, 4) "," F32("a", "[1]", 4, 8) "}", 8,
         "a key that has one already"},
        {"{" F32("a", "[1]", 4, 0) "}", 4, "a: its data end at 0, before"},
        {"{" F32("a", "[2]", 0, 8) "," F32("b", "[2]", 4, 12) "}", 12,
         "a and b overlap"},
        {"{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 0, 4) "}", 4,
         "a and b overlap"},
        {"{" F32("a", "[1]", 0, 4) "," F32("b", "[1]", 8, 12) "}", 12,
         "b: a hole of 4 bytes"},
        {"{" F32("a", "[1]", 4, 8) "}", 8, "a: a hole of 4 bytes"},
        {"{" F32("a", "[1]", 0, 4) "}", 3, "its data end at 4, those of the "
         "file at 3"},
        {"{" F32("a", "[1]", 0, 4) "}", 5, "1 bytes after the last tensor"},
        {"{}", 1, "1 bytes after the last tensor"},
        {"{" F32("a", "[4294967296,4294967296]", 0, 4) "}", 4,
         "the product of the axes is beyond 64 bits"},
        {"{" F32("a", "[4611686018427387904]", 0, 0) "}", 0,
         "4611686018427387904 elements of 32 bits are not its 0 bytes"},
        {"{" F32("a", "[2]", 0, 4) "}", 4, "2 elements of 32 bits are not its "
         "4 bytes"},
        {"{\"a\":{\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,0]}}", 0,
         "1 elements of 4 bits are not its 0 bytes"},
        {"{" F32("a", "[-1]", 0, 4) "}", 4, "an axis is no whole number"},
        {"{" F32("a", "[1.0]", 0, 4) "}", 4, "an axis is no whole number"},
        {"{" F32("a", "[18446744073709551616]", 0, 4) "}", 4,
         "an axis is no whole number"},
        {"{" F32("a", "[[1]]", 0, 4) "}", 4, "an axis is no whole number"},
        {"{" F32("a", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4,
         "a: 9 axes, at most 8"},
        {"{" F32("a", "1", 0, 4) "}", 4, "an array \"shape\""},
        {"{" F32("a", "[1]", 0, 4.0) "}", 4, "two whole numbers"},
        {"{" F32("a", "[1]", -4, 0) "}", 4, "two whole numbers"},
        {"{" F32("a", "[1]", 0, 4e0) "}", 4, "two whole numbers"},
        {"{" F32("a", "[1]", 0, 18446744073709551616) "}", 4,
         "two whole numbers"},
        {"{" F32("a", "[1]", 0, 18446744073709551615) "}", 4,
         "its data end at 18446744073709551615"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4,
         "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "two whole numbers"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4,
         "an array \"shape\""},
        {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "a string \"dtype\""},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "unknown dtype F31"},
        {"{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         "a string \"dtype\""},
        {"{\"a\":[]}", 0, "a: an object is wanted"},
        {"{" F32("a\\u0000b", "[1]", 0, 4) "}", 4, "a: a name with a NUL"},
        {"{\"__metadata__\\u0000\":{}}", 0, "a name with a NUL"},
        {"{" F32("a\\nb", "[1]", 0, 8) "}", 8, "a?b: 1 elements"},
        {"{\"__metadata__\":{\"format\":1}}", 0, "__metadata__: an object of"},
        {"{\"__metadata__\":\"pt\"}", 0, "__metadata__: an object of strings"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        EXPECT(!read_header(bad[i].header, bad[i].data)
               && strstr(error, bad[i].why), "%s: \"%s\"", bad[i].header,
               error);
}

TEST(the_length_of_the_header_is_bounded)
{
    static const struct { uint64_t n; const char *why; } bad[] = {
        {0, "the header has no bytes"},
        {9, "a header of 9 bytes, the file ends after 8"},
        {100000000, "the file ends after 8"},
        {100000001, "at most 100000000 are allowed"},
        {UINT64_MAX, "at most 100000000 are allowed"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char file[17] = "01234567{}      ";
        memcpy(file, &bad[i].n, 8);
        EXPECT(!read_copy(file, 16) && strstr(error, bad[i].why), "%llu: %s",
               (unsigned long long)bad[i].n, error);
    }
}

/* Long names must not push the reason out of the message. */
TEST(a_long_name_is_cut)
{
    char header[600], name[400];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(header, sizeof header, "{\"%s\":1}", name);
    EXPECT(!read_header(header, 0) && strstr(error, "x: an object is wanted"),
           "%s", error);
}

/* -- written files ------------------------------------------------------ */

static Param param_of(const char *name, Shape shape, real from)
{
    Param p = {.t = tensor_param(&arena, shape)};
    snprintf(p.name, sizeof p.name, "%s", name);
    for (long i = 0; i < size(p.t); i++) p.t->data[i] = from + (real)i;
    return p;
}

/* Three tensors as this writes them; *n bytes. */
static char *written(size_t *n, Param param[3])
{
    size_t length, at;
    param[0] = param_of("h.0.ln_1.weight", (Shape){1, {3}}, 1);
    param[1] = param_of("a \"b\"", (Shape){2, {2, 2}}, -5);
    param[2] = param_of("c", (Shape){3, {1, 2, 1}}, (real)0.1);
    char *header = safetensors_header(&arena, param, 3, &length);
    *n = at = length;
    for (int i = 0; i < 3; i++)
        *n += sizeof(real) * (size_t)size(param[i].t);
    char *file = memcpy(malloc(*n), header, length);
    for (int i = 0; i < 3; i++) {
        size_t bytes = sizeof(real) * (size_t)size(param[i].t);
        memcpy(file + at, param[i].t->data, bytes);
        at += bytes;
    }
    return file;
}

TEST(what_is_written_is_read_back)
{
    Param param[3];
    size_t n;
    char *file = written(&n, param);
    const char *metadata = "{\"__metadata__\":{\"format\":\"pt\"}";
    EXPECT(!strncmp(file + 8, metadata, strlen(metadata)), "%.60s", file + 8);
    if (!EXPECT(safetensors_read(&arena, file, n, &table, error)
                && table.n == 3, "%s", error)) return;
    EXPECT((table.tensor[0].data - file) % 8 == 0, "data at a multiple of 8");
    for (int i = 0; i < 3; i++) {
        Param copy = {.t = tensor_param(&arena, param[i].t->shape)};
        const StoredTensor *t = safetensors_find(&table, param[i].name);
        EXPECT(t == &table.tensor[i], "%s", param[i].name);
        EXPECT(t && safetensors_fill(t, &copy, error)
               && !memcmp(copy.t->data, param[i].t->data,
                          sizeof(real) * (size_t)size(copy.t)), "%s", error);
    }
    free(file);
}

TEST(every_truncation_is_refused)
{
    Param param[3];
    size_t n;
    char *file = written(&n, param);
    EXPECT(read_copy(file, n), "%s", error);
    for (size_t k = 0; k < n; k++)
        EXPECT(!read_copy(file, k), "%zu of %zu bytes", k, n);
    free(file);
}

/* A flipped bit in a name, or F32 to I32, makes another valid file: but all
 * that it lists lies within it. */
TEST(a_flipped_bit_stays_within_bounds)
{
    Param param[3];
    size_t n, header;
    int accepted = 0;
    char *file = written(&n, param);
    header = n - sizeof(real) * 9;
    for (size_t bit = 0; bit < 8 * header; bit++) {
        file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
        accepted += read_copy(file, n);
        file[bit / 8] = (char)(file[bit / 8] ^ 1 << bit % 8);
        arena_reset(&arena);
    }
    EXPECT(accepted < (int)header, "%d of %zu", accepted, 8 * header);
    free(file);
}

TEST(only_what_fits_is_filled_in)
{
    static const struct { StoredTensor t; const char *why; } bad[] = {
        {{.ndim = 2, .dim = {3, 2}}, "shape is (3,2), (2,3) is wanted"},
        {{.ndim = 1, .dim = {6}}, "shape is (6), (2,3) is wanted"},
        {{.ndim = 0}, "shape is (), (2,3) is wanted"},
        {{.ndim = 2, .dim = {2, (size_t)1 << 32 | 3}}, "shape is (2,42949672"},
        {{.ndim = 2, .dim = {2, 3}, .dtype = "I32"}, "dtype is I32"},
        {{.ndim = 2, .dim = {2, 3}, .dtype = "F16"}, "dtype is F16"}};
    char data[25];
    Param p = {.t = tensor_param(&arena, (Shape){2, {2, 3}})};
    float x[6] = {1, -2, 3, (float)0.1, 5, 6};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        StoredTensor t = bad[i].t;
        t.name = "w", t.data = data, t.bytes = 24;
        if (!t.dtype) t.dtype = "F32";
        EXPECT(!safetensors_fill(&t, &p, error) && strstr(error, bad[i].why)
               && strstr(error, "w: ") == error, "%s", error);
    }
    StoredTensor t = {"w", "F32", 2, {2, 3}, data + 1, 24};
    for (int k = 0; k < 3; k++) {
        x[4] = k == 0 ? 5 : k == 1 ? NAN : -INFINITY;
        memcpy(data + 1, x, sizeof x);          /* at an odd address */
        bool ok = safetensors_fill(&t, &p, error);
        EXPECT(ok == (k == 0), "%d", k);
        EXPECT(p.t->data[3] == (real)x[3] && p.t->data[1] == -2, "copied");
        EXPECT(ok || strstr(error, "w: a value is not finite"), "%s", error);
    }
    t.dtype = "F64";
#ifndef REAL_DOUBLE
    EXPECT(!safetensors_fill(&t, &p, error) && strstr(error, "dtype is F64"),
           "%s", error);
#endif
}
