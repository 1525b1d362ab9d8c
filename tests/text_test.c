#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "die.h"
#include "disk.h"
#include "test.h"
#include "text.h"
#include "utf8.h"

static Arena arena;

typedef struct { const char *bytes; size_t n; bool newline_lf; } Input;

/* From a copy without a NUL: a sanitizer sees what is read behind the end. */
static Text text(const Input *in)
{
    char *copy = malloc(in->n ? in->n : 1);
    memcpy(copy, in->bytes, in->n);
    Text t = text_from_bytes(&arena, "x.txt", copy, in->n, in->newline_lf, 1);
    free(copy);
    return t;
}

static void read_it(void *in) { text(in); }

/* bytes, then enough for both parts */
static Text padded(const char *bytes, size_t n, bool newline_lf)
{
    static char buffer[64];
    memset(buffer, 'z', sizeof buffer);
    memcpy(buffer, bytes, n);
    return text(&(Input){buffer, sizeof buffer, newline_lf});
}

TEST(ids_count_characters_in_code_point_order)
{
    Text t = padded("ba\xc3\xa9\xf0\x9f\x98\x80\xe2\x82\xac" "a", 12, false);
    static const uint32_t code[] = {'a', 'b', 'z', 0xe9, 0x20ac, 0x1f600};
    static const int ids[] = {1, 0, 3, 5, 4, 0, 2};
    EXPECT(t.vocab == 6 && !memcmp(t.code, code, sizeof code), "%d", t.vocab);
    EXPECT(t.n == 64 - 6 && t.ntrain == 52, "%ld %ld", t.n, t.ntrain);
    EXPECT(!memcmp(t.ids, ids, sizeof ids), "%d %d %d", t.ids[0], t.ids[1],
           t.ids[2]);
}

TEST(newlines_are_kept_or_folded)
{
    Text kept = padded("a\r\n\rb\r\r\n", 8, false);
    Text lf = padded("a\r\n\rb\r\r\n", 8, true);
    EXPECT(kept.n == 64 && kept.code[1] == '\r', "%ld", kept.n);
    EXPECT(lf.n == 62 && lf.code[0] == '\n' && lf.code[1] == '\r', "%ld",
           lf.n);
    EXPECT(lf.ids[1] == 0 && lf.ids[2] == 1 && lf.ids[4] == 1
           && lf.ids[5] == 0, "only CR LF is folded");
    char last[64];
    memset(last, 'z', 64);
    last[63] = '\r';
    EXPECT(text(&(Input){last, 64, true}).n == 64, "CR at the end");
}

TEST(nul_is_a_character)
{
    Text t = padded("a\0b\0", 4, false);
    EXPECT(t.n == 64 && t.code[0] == 0 && t.ids[1] == 0 && t.ids[3] == 0,
           "%ld %u", t.n, (unsigned)t.code[0]);
}

static void with_mark(void *arg)
{
    char plain[SHA256_HEX];
    const char *bytes = arg;
    Text t = text(&(Input){bytes, strlen(bytes), false});
    sha256(bytes, strlen(bytes), plain);
    if (t.n == 21 && t.code[0] == 'a' && t.code[1] == 0xfeff
        && !strcmp(plain, t.sha256)) exit(0);
    exit(1);
}

/* Only at the start, and only one; the hash is that of the file. */
TEST(byte_order_mark_is_dropped_with_a_notice)
{
    EXPECT_DIES(0, with_mark, (void *)"\xef\xbb\xbf" "aaaaaaaaaa\xef\xbb\xbf"
                "aaaaaaaaaa", "x.txt: byte order mark dropped");
}

TEST(a_message_is_one_line)
{
    char s[] = "a\nb\x7f\tc \xc3\xa9\xe2\x82";
    utf8_one_line(s);
    EXPECT(!strcmp(s, "a?b??c \xc3\xa9"), "%s", s);
    *s = 0;
    utf8_one_line(s);
    EXPECT(!*s, "empty");
}

TEST(utf8_is_strict)
{
    static const struct { const char *name, *bytes, *at; } cases[] = {
        {"a continuation byte alone", "ab\x80", "byte 2 (0x80)"},
        {"overlong in two bytes", "\xc0\x80", "byte 0 (0xc0)"},
        {"overlong in two bytes", "a\xc1\xbf", "byte 1 (0xc1)"},
        {"overlong in three bytes", "a\xe0\x9f\xbf", "byte 1 (0xe0)"},
        {"overlong in four bytes", "ab\xf0\x8f\xbf\xbf", "byte 2 (0xf0)"},
        {"the first surrogate", "\xed\xa0\x80", "byte 0 (0xed)"},
        {"the last surrogate", "a\xed\xbf\xbf", "byte 1 (0xed)"},
        {"U+110000", "abc\xf4\x90\x80\x80", "byte 3 (0xf4)"},
        {"a lead byte of more", "a\xf5\x80\x80\x80", "byte 1 (0xf5)"},
        {"five bytes", "a\xf8\x88\x80\x80\x80", "byte 1 (0xf8)"},
        {"0xFF", "\xc3\xa9\xff", "byte 2 (0xff)"},
        {"cut off by the end", "aa\xe2\x82", "byte 2 (0xe2)"},
        {"cut off by the end", "aa\xc3", "byte 2 (0xc3)"},
        {"cut off by the end", "\xf0\x9f\x98", "byte 0 (0xf0)"},
        {"cut off by a letter", "\xe2\x82" "abc", "byte 0 (0xe2)"},
        {"cut off by a letter", "\xc3" "abc", "byte 0 (0xc3)"},
        {"the first of two errors", "a\xff\xff", "byte 1 (0xff)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Input in = {cases[i].bytes, strlen(cases[i].bytes), false};
        test_dies(cases[i].name, (int)i, EXIT_DATA, read_it, &in,
                  (const char *[]){"x.txt: not UTF-8 at ", cases[i].at, NULL});
    }
}

TEST(the_ends_of_utf8_are_characters)
{
    static const char bytes[] = "\0\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f"
        "\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
    static const uint32_t code[] = {0, 'z', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff,
                                    0xe000, 0xffff, 0x10000, 0x10ffff};
    Text t = padded(bytes, sizeof bytes - 1, false);
    EXPECT(t.vocab == 11 && !memcmp(t.code, code, sizeof code), "%d", t.vocab);
    char out[64];
    size_t length = 0;
    for (int i = 0; i < 11; i++)
        length += (size_t)text_decode(&t, t.ids[i], out + length);
    EXPECT(!memcmp(out, bytes, sizeof bytes - 1), "%zu bytes", length);
}

static void short_text(void *arg)
{
    const int *n = arg;
    static char bytes[1000];
    memset(bytes, 'a', sizeof bytes);
    text_from_bytes(&arena, "x.txt", bytes, (size_t)n[0], false, n[1]);
}

TEST(a_text_shorter_than_the_context_says_what_it_needs)
{
    EXPECT_DIES(EXIT_DATA, short_text, ((int[]){0, 64}), "x.txt: ",
                "with 0 characters", "context of 64 needs 641");
    EXPECT_DIES(EXIT_DATA, short_text, ((int[]){1, 64}), "with 1 char", "641");
    EXPECT_DIES(EXIT_DATA, short_text, ((int[]){50, 64}), "with 50 char",
                "45 to train on and 5 to validate", "641");
    EXPECT_DIES(EXIT_DATA, short_text, ((int[]){640, 64}), "641");
    EXPECT_DIES(EXIT_DATA, short_text, ((int[]){10, 1}), "9 to train", "11");
    EXPECT_DIES(EXIT_INTERNAL, short_text, ((int[]){10, 0}), "context 0");
    short_text((int[]){641, 64});
    short_text((int[]){11, 1});
}

TEST(what_is_encoded_is_decoded_again)
{
    static const char bytes[] = "To be, \0or not: \xc3\xa9\xe2\x82\xac"
                                "\xf0\x9f\x98\x80\r\n\x7f";
    size_t n = sizeof bytes - 1, length = 0;
    Text t = padded(bytes, n, false);
    int ids[64];
    char out[256];
    long count = text_encode(&t, "--prompt", bytes, n, ids);
    EXPECT(count == (long)n - 6, "%ld", count);
    EXPECT(!memcmp(ids, t.ids, (size_t)count * sizeof *ids), "as in the text");
    for (long i = 0; i < count; i++)
        length += (size_t)text_decode(&t, ids[i], out + length);
    EXPECT(length == n && !memcmp(out, bytes, n), "%zu", length);
    EXPECT(text_encode(&t, "--prompt", "", 0, ids) == 0, "nothing");
}

static void prompt(void *arg)
{
    Text t = padded("abc", 3, false);
    int ids[64];
    text_encode(&t, "--prompt", arg, strlen(arg), ids);
}

static void decode(void *id)
{
    Text t = padded("abc", 3, false);
    char out[4];
    text_decode(&t, *(int *)id, out);
}

TEST(characters_outside_the_vocabulary_are_named)
{
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"ab\xc3\xa9", "--prompt: \xc3\xa9 "
                "U+00E9 at byte 2 is none of the 4 characters");
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"A", "--prompt: A U+0041 at byte 0");
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"a\n", "--prompt: U+000A at byte 1");
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"\xc2\x85", "--prompt: U+0085");
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"\xf0\x9f\x98\x80", "U+1F600");
    EXPECT_DIES(EXIT_DATA, prompt, (void *)"ab\xc3", "--prompt: not UTF-8 at "
                "byte 2");
    EXPECT_DIES(EXIT_INTERNAL, decode, ((int[]){-1}), "id -1");
    EXPECT_DIES(EXIT_INTERNAL, decode, ((int[]){4}), "id 4");
}

/* "aababbabab" twice: 18 to train on, "ab" to validate. */
TEST(reference_lines_are_their_equations)
{
    const char *s = "aababbabab" "aababbabab";
    Text t = text(&(Input){s, 20, false});
    /* before "ab": a 9 times, b 9; after a: a 2, b 7 */
    double one = -log(9.1 / 18.2), two = -log(7.1 / 9.2);
    EXPECT(t.ntrain == 18 && t.vocab == 2, "%ld", t.ntrain);
    EXPECT(fabs(t.uniform - log(2)) < 1e-6, "%.9g", t.uniform);
    EXPECT(fabs(t.unigram - one) < 1e-6, "%.9g, not %.9g", t.unigram, one);
    EXPECT(fabs(t.bigram - two) < 1e-6, "%.9g, not %.9g", t.bigram, two);
    EXPECT(t.entropy == 0, "unknown");
}

TEST(one_character_is_no_surprise)
{
    Text t = padded("", 0, false);
    EXPECT(t.vocab == 1 && t.uniform == 0 && t.unigram == 0 && t.bigram == 0,
           "%g %g %g", t.uniform, t.unigram, t.bigram);
}

/* Every character another one: counts of pairs must not need V^2. */
TEST(a_large_vocabulary_is_no_trouble)
{
    enum { V = 100000 };
    char *bytes = malloc(4 * V), *s = bytes;
    for (int c = 0x10000; c < 0x10000 + V; c++) {
        *s++ = (char)(0xf0 | c >> 18);
        *s++ = (char)(0x80 | (c >> 12 & 63));
        *s++ = (char)(0x80 | (c >> 6 & 63));
        *s++ = (char)(0x80 | (c & 63));
    }
    Text t = text(&(Input){bytes, 4 * V, false});
    double wanted = -log(0.1 / (0.9 * V + 0.1 * V));
    EXPECT(t.vocab == V && t.ids[V - 1] == V - 1, "%d", t.vocab);
    EXPECT(fabs(t.unigram - wanted) < 1e-5, "%.9g", t.unigram);
    EXPECT(fabs(t.bigram - log(V)) < 1e-5, "%.9g", t.bigram);
    EXPECT(arena_size(&arena) < 8 << 20, "%zu", arena_size(&arena));
    free(bytes);
}

static void load(void *path) { text_load(&arena, path, false, 64); }

TEST(files_that_cannot_be_read)
{
    EXPECT_DIES(EXIT_NOINPUT, load, (void *)"tests/no such file",
                "tests/no such file: cannot read: No such file");
    EXPECT_DIES(EXIT_NOINPUT, load, (void *)"tests",
                "tests: cannot read: Is a directory");
    EXPECT_DIES(EXIT_NOINPUT, load, (void *)"Makefile/x", "Not a directory");
    EXPECT_DIES(EXIT_DATA, load, (void *)"/dev/null", "with 0 characters");
    char name[500], loop[] = "/tmp/plumb-loop-XXXXXX";
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    EXPECT_DIES(EXIT_NOINPUT, load, name, "File name too long");
    close(mkstemp(loop));
    unlink(loop);
    if (symlink(loop, loop) == 0)
        EXPECT_DIES(EXIT_NOINPUT, load, loop, loop, "symbolic links");
    unlink(loop);
    if (!access("/proc/self/mem", R_OK))        /* has nothing at address 0 */
        EXPECT_DIES(EXIT_IO, load, (void *)"/proc/self/mem", "proc/self/mem: ");
}

TEST(a_file_is_read_whole)
{
    enum { N = (1 << 22) + 1 };         /* the first buffer and one more */
    char path[] = "/tmp/plumb-text-XXXXXX", *bytes = malloc(N);
    FILE *f = fdopen(mkstemp(path), "wb");
    size_t n;
    for (int i = 0; i < N; i++) bytes[i] = (char)(i * 31 >> 3 & 127);
    fwrite(bytes, 1, N - 1, f);
    fflush(f);
    char *read = disk_read(&arena, path, &n);
    EXPECT(n == N - 1 && !memcmp(read, bytes, n), "%zu", n);
    fwrite(bytes + N - 1, 1, 1, f);
    fclose(f);
    read = disk_read(&arena, path, &n);
    EXPECT(n == N && !memcmp(read, bytes, n), "%zu", n);
    Text t = text_load(&arena, path, false, 64);
    EXPECT(t.n == N && t.vocab == 128, "%ld %d", t.n, t.vocab);
    unlink(path);
    free(bytes);
}

TEST(tiny_shakespeare)
{
    const char *path = "data/tinyshakespeare.txt";
    if (access(path, R_OK)) path = "../shared/data/tinyshakespeare.txt";
    if (access(path, R_OK)) SKIP("no %s", path);
    Text t = text_load(&arena, path, false, 64);
    EXPECT(!strcmp(t.sha256, "86c4e6aa9db7c042ec79f339dcb96d42"
                             "b0075e16b8fc2e86bf0ca57e2dc565ed"), "%s",
           t.sha256);
    EXPECT(t.n == 1115394 && t.ntrain == 1003854 && t.vocab == 65,
           "%ld %ld %d", t.n, t.ntrain, t.vocab);
    EXPECT(t.ids[0] == 18 && t.ids[1] == 47, "First: %d", t.ids[0]);
    test_say("nats per character: uniform %.6f, unigram %.6f, bigram %.6f",
             t.uniform, t.unigram, t.bigram);
    EXPECT(fabs(t.uniform - 4.174387) < 2e-6, "%.9g", t.uniform);
    EXPECT(fabs(t.unigram - 3.347329) < 2e-6, "%.9g", t.unigram);
    EXPECT(fabs(t.bigram - 2.483830) < 2e-6, "%.9g", t.bigram);
}

TEST(a_sample_starts_after_a_newline_where_there_is_one)
{
    Text with = padded("\tb\na", 4, false), without = padded("ab", 2, false);
    EXPECT(with.code[text_start(&with)] == '\n', "%d", text_start(&with));
    EXPECT(text_start(&without) == 0, "%d", text_start(&without));
}
