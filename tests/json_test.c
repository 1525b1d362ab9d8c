#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "test.h"

static Arena arena;
static char error[JSON_ERROR];

/* From a copy without a NUL: a sanitizer sees what is read behind the end. */
static const Json *parse(const char *text)
{
    size_t n = strlen(text);
    char *copy = malloc(n ? n : 1);
    memcpy(copy, text, n);
    *error = 0;
    const Json *j = json_parse(&arena, copy, n, error);
    free(copy);
    return j;
}

TEST(a_model_configuration_is_read)
{
    const Json *j = parse(" {\"n_layer\": 48,\t\"lr\":1e-3, \"tied\":false,\n"
                          "\"none\":null, \"arch\":[\"GPT2\",{}, []],"
                          "\"seed\":18446744073709551615 }\r\n");
    uint64_t u = 0;
    double x = 0;
    bool b = true;
    const char *s = NULL;
    if (!EXPECT(j && j->kind == JSON_OBJECT && j->n == 6, "%s", error)) return;
    EXPECT(json_u64(json_get(j, "n_layer"), &u) && u == 48, "n_layer");
    EXPECT(json_u64(json_get(j, "seed"), &u) && u == UINT64_MAX, "seed");
    EXPECT(json_real(json_get(j, "lr"), &x) && x == 1e-3, "%g", x);
    EXPECT(json_real(json_get(j, "n_layer"), &x) && x == 48, "%g", x);
    EXPECT(json_bool(json_get(j, "tied"), &b) && !b, "tied");
    EXPECT(json_get(j, "none")->kind == JSON_NULL, "null");
    const Json *arch = json_get(j, "arch");
    EXPECT(arch->kind == JSON_ARRAY && arch->n == 3, "%zu", arch->n);
    EXPECT(json_string(arch->child, &s) && !strcmp(s, "GPT2"), "%s", s);
    EXPECT(arch->child->next->kind == JSON_OBJECT, "object");
    EXPECT(arch->child->next->next->n == 0, "empty array");
    EXPECT(!arch->child->next->next->next, "three members");
    EXPECT(!json_get(j, "n_head") && !json_get(json_get(j, "x"), "y")
           && !json_get(arch, "x") && !json_get(arch->child->next, "x"),
           "absent");
    EXPECT(!json_u64(json_get(j, "lr"), &u) && !json_u64(arch, &u)
           && !json_bool(arch, &b) && !json_real(arch, &x)
           && !json_string(j, &s), "wrong kinds");
    EXPECT(!json_u64(NULL, &u) && !json_bool(NULL, &b)
           && !json_real(NULL, &x) && !json_string(NULL, &s), "absent");
}

TEST(numbers_have_one_form)
{
    static const char *const good[] = {"0", "-0", "10", "0.5", "-1.25e+10",
                                       "1E5", "0e0", "1e-999"};
    static const struct { const char *text; int at; } bad[] = {
        {"01", 1}, {"-", 1}, {"+1", 0}, {".5", 0}, {"1.", 2}, {"1e", 2},
        {"1e+", 3}, {"0x1", 1}, {"NaN", 0}, {"Infinity", 0}, {"--1", 1},
        {"1.e5", 2}, {"-x", 1}};
    char wanted[32];
    double x;
    uint64_t u;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const Json *j = parse(good[i]);
        EXPECT(j && j->kind == JSON_NUMBER && !strcmp(j->text, good[i])
               && json_real(j, &x) && x == strtod(good[i], NULL), "%s: %s",
               good[i], error);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(wanted, sizeof wanted, "byte %d: ", bad[i].at);
        EXPECT(!parse(bad[i].text) && strstr(error, wanted) == error,
               "%s: %s", bad[i].text, error);
    }
    EXPECT(parse("1e999") && !json_real(parse("1e999"), &x), "infinite");
    EXPECT(!json_u64(parse("18446744073709551616"), &u)
           && !json_u64(parse("-1"), &u) && !json_u64(parse("1.0"), &u),
           "not 64 bits");
}

TEST(strings_are_decoded)
{
    const Json *j = parse("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC"
                          "\\uD83D\\ude00\\u0000z\xc3\xa9\"");
    const char wanted[] = "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac"
                          "\xf0\x9f\x98\x80\0z\xc3\xa9";
    const char *s;
    if (!EXPECT(j && j->kind == JSON_STRING, "%s", error)) return;
    EXPECT(j->n == sizeof wanted - 1 && !memcmp(j->text, wanted, j->n + 1),
           "%zu: %s", j->n, j->text);
    EXPECT(!json_string(j, &s), "a NUL inside");
    EXPECT(json_string(parse("\"\""), &s) && !*s, "empty string");
    EXPECT(json_string(parse("\"\\ud800\\udc00\\udbff\\udfff\\ud7ff\\ue000\""),
                       &s) && !strcmp(s, "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"
                                         "\xed\x9f\xbf\xee\x80\x80"),
           "the ends of the surrogates: %s", s);
}

TEST(errors_say_where)
{
    static const struct { const char *text, *error; } cases[] = {
        {"", "byte 0: value expected"},
        {"  ", "byte 2: value expected"},
        {"\xef\xbb\xbf{}", "byte 0: value expected"},
        {"{} x", "byte 3: end expected"},
        {"[1 2]", "byte 3: ',' or ']' expected"},
        {"[1,]", "byte 3: value expected"},
        {"[1", "byte 2: ',' or ']' expected"},
        {"{\"a\" 1}", "byte 5: ':' expected"},
        {"{\"a\":1,}", "byte 7: string expected"},
        {"{\"a\":1]", "byte 6: ',' or '}' expected"},
        {"{a:1}", "byte 1: string expected"},
        {"{\"a\":}", "byte 5: value expected"},
        {"{\"a\":1,\"b\":2, \"\\u0061\":3}", "byte 23: value for a key that "
         "has one already"},
        {"{\"\":1,\"\":2}", "byte 9: value for a key that has one already"},
        {"tru", "byte 0: value expected"},
        {"nul\\", "byte 0: value expected"},
        {"\"abc", "byte 4: string without end"},
        {"\"a\nb\"", "byte 2: control character in a string"},
        {"\"\\x\"", "byte 1: invalid escape"},
        {"\"\\", "byte 1: invalid escape"},
        {"\"\\u12g4\"", "byte 1: invalid escape"},
        {"\"\\u12", "byte 1: invalid escape"},
        {"\"..\\ud800\"", "byte 3: invalid escape"},
        {"\"\\ud800\\n\"", "byte 1: invalid escape"},
        {"\"\\ud800\\ud800\"", "byte 1: invalid escape"},
        {"\"\\udc00\\ud800\"", "byte 1: invalid escape"},
        {"\"a\xc0\x80\"", "byte 2: invalid UTF-8"},
        {"\"\xed\xa0\x80\"", "byte 1: invalid UTF-8"},
        {"\"\xe2\x82\"", "byte 1: invalid UTF-8"},
        {"\xff", "byte 0: value expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT(!parse(cases[i].text) && !strcmp(error, cases[i].error),
               "%s: \"%s\", not \"%s\"", cases[i].text, error,
               cases[i].error);
    EXPECT(!json_parse(&arena, "1\0", 2, error), "a NUL is no blank");
    EXPECT(!json_parse(&arena, "tr\0", 3, error), "a NUL ends nothing");
    EXPECT(!json_parse(&arena, "\"\\\0\"", 4, error), "a NUL is no escape");
    EXPECT(!json_parse(&arena, "\"\\u00\0" "0\"", 8, error), "nor a digit");
}

TEST(nesting_is_bounded)
{
    char text[2 * JSON_DEPTH + 3] = "";
    memset(text, '[', JSON_DEPTH);
    memset(text + JSON_DEPTH, ']', JSON_DEPTH);
    EXPECT(parse(text), "%s", error);
    memset(text, '[', JSON_DEPTH + 1);
    EXPECT(!parse(text) && !strcmp(error, "byte 64: nested too deeply"),
           "%s", error);
    const Json *wide = parse("[[],[],[[]]]");
    EXPECT(wide && wide->n == 3, "depth is not the count");
}

/* A megabyte of the text between [ and ]. */
static void fill(char *big, size_t n, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 1; i < n; i++) big[i] = text[(i - 1) % length];
    big[0] = '[';
    for (size_t i = n - 1; big[i] != ','; i--) big[i] = ' ';
    *strrchr(big, ',') = ']';
}

TEST(memory_is_proportional_to_the_input)
{
    static const char *const texts[] = {"0,", "\"\",", "{\"\":0},", "[],",
                                        "[{\"\":\"\"}],"};
    enum { N = 1 << 20 };
    char *big = calloc(N + 1, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Arena a = {0};
        fill(big, N, texts[i]);
        const Json *j = json_parse(&a, big, N, error);
        EXPECT(j && j->n >= (N - 1) / strlen(texts[i]) - 1, "%s: %s", texts[i],
               error);
        EXPECT(arena_size(&a) <= 64 << 20, "%s: %zu bytes", texts[i],
               arena_size(&a));
        arena_free(&a);
    }
    free(big);
}

TEST(an_object_may_have_very_many_keys)
{
    enum { MEMBERS = 50000 };
    char *big = malloc(MEMBERS * 16), key[16], *s = big;
    uint64_t u;
    for (int i = 0; i < MEMBERS; i++)
        s += sprintf(s, "%c\"%d\":%d", i ? ',' : '{', i, i);
    *s++ = '}';
    const Json *j = json_parse(&arena, big, (size_t)(s - big), error);
    free(big);                          /* the result does not need it */
    EXPECT(j && j->n == MEMBERS, "%s", error);
    for (int i = 0; j && i < MEMBERS; i++) {
        sprintf(key, "%d", i);
        if (!json_u64(json_get(j, key), &u) || u != (uint64_t)i) {
            EXPECT(false, "%s", key);
            break;
        }
    }
}

TEST(what_is_written_is_read_back)
{
    char bytes[256 + 4], text[4096] = "";
    int n = 0;
    for (int c = 0; c < 128; c++) bytes[n++] = (char)c;
    memcpy(bytes + n, "\xc3\xa9\xf0\x9f\x98\x80", 6);
    n += 6;
    FILE *f = tmpfile();
    json_write_string(f, bytes, (size_t)n);
    json_write_string(f, "\xff" " \xed\xa0\x80", 5);
    rewind(f);
    size_t size = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    char *second = strstr(text, "\"\"") + 1;
    const Json *j = json_parse(&arena, text, (size_t)(second - text), error);
    EXPECT(j && j->n == (size_t)n && !memcmp(j->text, bytes, j->n), "%s: %s",
           error, text);
    EXPECT(!strcmp(second, "\"\\ufffd \\ufffd\\ufffd\\ufffd\"")
           && size > 0, "%s", second);
}
