#include <stdlib.h>
#include <string.h>
#include "sha256.h"
#include "test.h"

static void expect(const char *text, const char *hash)
{
    char hex[SHA256_HEX];
    sha256(text, strlen(text), hex);
    EXPECT(!strcmp(hex, hash), "\"%s\": %s", text, hex);
}

TEST(vectors_of_fips_180_4)
{
    expect("", "e3b0c44298fc1c149afbf4c8996fb924"
               "27ae41e4649b934ca495991b7852b855");
    expect("abc", "ba7816bf8f01cfea414140de5dae2223"
                  "b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
           "248d6a61d20638b8e5c026930c3e6039"
           "a33ce45964ff2167f6ecedd419db06c1");
    expect("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
           "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
           "cf5b16a778af8380036ce59e7b049237"
           "0b249b11e8f07a51afac45037afee9d1");
}

TEST(a_million_letters)
{
    char hex[SHA256_HEX], *a = malloc(1000000);
    memset(a, 'a', 1000000);
    sha256(a, 1000000, hex);
    EXPECT(!strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67"
                        "f1809a48a497200e046d39ccc7112cd0"), "%s", hex);
    free(a);
}

/* Every length around the block and its padding, in pieces of every size. */
TEST(pieces_make_the_same_hash_as_the_whole)
{
    char text[200], whole[SHA256_HEX], pieces[SHA256_HEX];
    for (int i = 0; i < 200; i++) text[i] = (char)(i * 7);
    for (size_t n = 0; n <= 200; n++)
        for (size_t step = 1; step <= 130; step++) {
            Sha256 s;
            sha256_init(&s);
            for (size_t i = 0; i < n; i += step)
                sha256_update(&s, text + i, n - i < step ? n - i : step);
            sha256_final(&s, pieces);
            sha256(text, n, whole);
            EXPECT(!strcmp(whole, pieces), "%zu by %zu", n, step);
        }
}

/* Hash of the hashes of the first 0, 1, ... 199 bytes of 0, 1, 2, ...
 * (computed with Python's hashlib). */
TEST(every_length_of_padding)
{
    unsigned char text[200];
    char hex[SHA256_HEX];
    Sha256 all;
    sha256_init(&all);
    for (int i = 0; i < 200; i++) text[i] = (unsigned char)i;
    for (size_t n = 0; n < 200; n++) {
        sha256(text, n, hex);
        sha256_update(&all, hex, 64);
    }
    sha256_final(&all, hex);
    EXPECT(!strcmp(hex, "7a38a844c9e159de39f0862ee2e28569"
                        "a8250831150a3fbf0a59c001129b2fb2"), "%s", hex);
}
