/* logits DIR ID ...: what the model in DIR, of ours or of transformers, says
 * of these tokens: a line for each, with a number for each of the vocabulary.
 * tests/deep/interchange.py compares them with PyTorch's. */
#include <stdio.h>
#include <stdlib.h>
#include "die.h"
#include "disk.h"
#include "huggingface.h"

static const char *bytes_of(Arena *a, const char *dir, const char *name,
                            size_t *n)
{
    char path[DISK_PATH];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return disk_read(a, path, n);
}

int main(int argc, char **argv)
{
    static GPT m;
    static Arena arena;
    static Tape tape;
    char error[HF_ERROR];
    GPTConfig c = {0};
    Safetensors s;
    size_t n;
    int T = argc - 2;
    if (T < 1) die(EXIT_USAGE, "usage: logits DIR ID ...");
    const char *bytes = bytes_of(&arena, argv[1], "config.json", &n);
    const Json *config = json_parse(&arena, bytes, n, error);
    if (!config || !hf_config_read(config, &c, error))
        die(EXIT_DATA, "%s/config.json: %s", argv[1], error);
    gpt_new(&m, c);
    bytes = bytes_of(&arena, argv[1], "model.safetensors", &n);
    if (!safetensors_read(&arena, bytes, n, &s, error)
        || !hf_weights_read(&s, &m, error))
        die(EXIT_DATA, "%s/model.safetensors: %s", argv[1], error);

    int *ids = arena_alloc(&arena, sizeof *ids * (size_t)T);
    for (int t = 0; t < T; t++) ids[t] = atoi(argv[t + 2]);
    const real *y = gpt_logits(&tape, &m, ids, 1, T)->data;
    for (int t = 0; t < T; t++)
        for (int v = 0; v < c.vocab; v++)
            printf("%.9g%c", (double)y[t * c.vocab + v],
                   v < c.vocab - 1 ? ' ' : '\n');
    return fflush(stdout) ? EXIT_IO : 0;
}
