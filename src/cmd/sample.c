/* sample: text from the weights that a run saved. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "checkpoint.h"
#include "die.h"
#include "generate.h"
#include "kernels.h"

static const char *out = "out", *prompt = "";
static int tokens = 500, threads;
static uint64_t seed;
static Sampling how = {.temperature = 1};

static const Flag flags[] = {
    FLAG_STRING("out", "out_dir", &out, "directory that train wrote"),
    FLAG_STRING("prompt", "start", &prompt,
        "text to go on from; empty: a new line"),
    FLAG_INT("tokens", "max_new_tokens", &tokens, "[1,1000000]",
        "characters to write"),
    FLAG_REAL("temperature", NULL, &how.temperature, "[0,inf)",
        "above 1: more surprise, below: less; 0: the likeliest"),
    FLAG_INT("top-k", NULL, &how.top_k, "[0,1000000]",
        "draw among the k likeliest; 0: among all"),
    FLAG_SEED("seed", NULL, &seed, "another seed, another text"),
    FLAG_INT("threads", NULL, &threads, "[0,1024]", "0: one for each core"),
    FLAG_END
};

/* The model as it was saved, and its vocabulary. */
static void load(Arena *a, GPT *m, Text *text)
{
    Checkpoint c;
    checkpoint_open(a, out, &c);
    checkpoint_config(&c, CONFIG_ALL);
    gpt_new(m, config.model);
    checkpoint_weights(&c, m);
    *text = c.text;
    text->vocab = m->config.vocab;
}

/* Room for the prompt and the tokens to come; an empty prompt is a newline,
 * which is not printed. */
static int *encode_prompt(Arena *a, const Text *text, int *have)
{
    size_t n = strlen(prompt);
    int *ids = arena_alloc(a, sizeof(int) * (n + 1 + (size_t)tokens));
    *have = (int)text_encode(text, "--prompt", prompt, n, ids);
    if (n == 0) ids[(*have)++] = text_start(text);
    return ids;
}

int main(int argc, char **argv)
{
    static GPT model;
    static Text text;
    static Tape tape;
    static Arena arena;
    int have;
    thread_setup(argv);
    flags_parse(flags, "write text with a model that train has made", NULL,
                argc, argv);
    if (threads) thread_limit(threads);
    load(&arena, &model, &text);

    int *ids = encode_prompt(&arena, &text, &have);
    generate(&tape, &model, how, seed, ids, 1, have, have + tokens);
    fputs(prompt, stdout);
    for (int i = have; i < have + tokens; i++) {
        char bytes[4] = "";
        int n = text_decode(&text, ids[i], bytes);
        fwrite(bytes, 1, (size_t)n, stdout);
    }
    putchar('\n');
    if (fflush(stdout) || ferror(stdout))
        die(EXIT_IO, "stdout: cannot write: %s", strerror(errno));
    return 0;
}
