/* Files from anywhere: safetensors, config.json, tokenizer.json. Nothing may
 * crash, leak, or hang, and what is accepted lies within the file.
 *
 *   make build/fuzz-safetensors
 *   mkdir -p build/corpus/safetensors
 *   build/fuzz-safetensors -max_total_time=60 -rss_limit_mb=512 \
 *       build/corpus/safetensors tests/fuzz/safetensors
 *
 * The seeds are small on purpose; what it finds goes to build/corpus. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "huggingface.h"

static Arena arena;
static char error[HF_ERROR];

static void must(bool held) { if (!held) abort(); }

/* An error is one line, and there is one if and only if it failed. */
static void check_error(bool ok)
{
    must(ok || (*error && !strpbrk(error, "\n\r")));
    *error = 0;
}

static void weights(const char *bytes, size_t n)
{
    static GPT m;
    Safetensors s;
    if (!m.nparam)
        gpt_new(&m, (GPTConfig){.layers = 1, .width = 1, .heads = 1,
                                .context = 1, .vocab = 1});
    bool ok = safetensors_read(&arena, bytes, n, &s, error);
    check_error(ok);
    for (int i = 0; ok && i < s.n; i++) {
        const StoredTensor *t = &s.tensor[i];
        must(t->data >= bytes && t->bytes <= (size_t)(bytes + n - t->data));
        must(safetensors_find(&s, t->name) == t);
    }
    if (ok) check_error(hf_weights_read(&s, &m, error));
}

static void texts(const char *bytes, size_t n)
{
    GPTConfig c;
    Text t;
    char why[JSON_ERROR];
    const Json *j = json_parse(&arena, bytes, n, why);
    if (!j) return;
    bool ok = hf_config_read(j, &c, error);
    check_error(ok);
    if (ok) must(c.width % c.heads == 0 && c.vocab > 0 && c.layers > 0);
    ok = hf_tokenizer_read(&arena, j, &t, error);
    check_error(ok);
    for (int i = 0; ok && i < t.vocab; i++) must(t.code[i] <= 0x10ffff);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    weights((const char *)data, n);
    arena_reset(&arena);
    texts((const char *)data, n);
    arena_reset(&arena);
    return 0;
}
