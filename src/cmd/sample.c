/* sample: text from the weights that a run saved. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "checkpoint.h"
#include "die.h"
#include "generate.h"
#include "kernels.h"

static const char *out = "out", *prompt = "", *info = "";
static int tokens = 500, samples = 1, threads;
static uint64_t seed;
static Sampling how = {.temperature = 1, .top_p = 1, .slide = 1};

static const Flag flags[] = {
    FLAG_STRING("out", "out_dir", &out,
        "a run, a checkpoint in it, or a model that transformers wrote"),
    FLAG_STRING("info", NULL, &info,
        "such a directory: prints what is in it, and writes no text"),
    FLAG_STRING("prompt", "start", &prompt,
        "text to go on from; empty: a new line"),
    FLAG_INT("tokens", "max_new_tokens", &tokens, "[1,1000000]",
        "characters to write"),
    FLAG_REAL("temperature", NULL, &how.temperature, "[0,inf)",
        "above 1: more surprise, below: less; 0: the likeliest"),
    FLAG_INT("top-k", NULL, &how.top_k, "[0,1000000]",
        "draw among the k likeliest; 0: among all"),
    FLAG_REAL("top-p", NULL, &how.top_p, "(0,1]",
        "draw among the likeliest that together have probability p"),
    FLAG_INT("samples", "num_samples", &samples, "[1,1000]",
        "texts, each drawn from noise of its own"),
    FLAG_INT("slide", NULL, &how.slide, "[1,1000000]",
        "tokens by which a full context moves on; more: faster"),
    FLAG_SEED("seed", NULL, &seed, "another seed, another text"),
    FLAG_INT("threads", NULL, &threads, "[0,1024]", "0: one for each core"),
    FLAG_END
};

/* The model as it was saved, and its vocabulary. With --info, what it is. */
static void load(Arena *a, GPT *m, Text *text)
{
    Checkpoint c;
    checkpoint_open(a, *info ? info : out, &c);
    checkpoint_config(&c, CONFIG_ALL);
    gpt_new(m, config.model);
    checkpoint_weights(&c, m);
    *text = c.text;
    text->vocab = m->config.vocab;
    if (*info) checkpoint_info(stdout, &c, m);
}

/* Without a tokenizer a text is numbers, with blanks between. */
static int encode_ids(const Text *text, int *ids)
{
    int have = 0;
    for (const char *s = prompt; *(s += strspn(s, " ")); have++) {
        char *end;
        long id = *s >= '0' && *s <= '9' ? strtol(s, &end, 10) : -1;
        if (id < 0 || id >= text->vocab || (*end && *end != ' '))
            die(EXIT_DATA, "--prompt: without a tokenizer.json it is token "
                "ids from 0 to %d, as \"5 17 3\", got \"%s\"",
                text->vocab - 1, prompt);
        ids[have] = (int)id;
        s = end;
    }
    return have;
}

/* Room for the prompt and the tokens to come, of each sample; an empty prompt
 * is a newline, which is not printed. Returns how long each will be. */
static int encode_prompt(Arena *a, const Text *text, int **ids)
{
    size_t n = strlen(prompt), room = n + 1 + (size_t)tokens;
    *ids = arena_alloc(a, sizeof **ids * room * (size_t)samples);
    int have = text->code
             ? (int)text_encode(text, "--prompt", prompt, n, *ids)
             : encode_ids(text, *ids);
    if (have == 0) (*ids)[have++] = text->code ? text_start(text) : 0;
    for (int b = 1; b < samples; b++)
        memcpy(*ids + (long)b * (have + tokens), *ids,
               sizeof **ids * (size_t)have);
    return have + tokens;
}

static void put(const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, stdout);
    if (ferror(stdout)) die_errno(EXIT_IO, "stdout", "cannot write");
}

static void put_token(const Text *text, int id)
{
    char bytes[32];
    int n = text->code ? text_decode(text, id, bytes)
                       : snprintf(bytes, sizeof bytes, " %d", id);
    put(bytes, (size_t)n);
}

/* The samples are written side by side: the first is seen as it comes, the
 * others when all are complete. */
static void write_samples(Writer *w, const Text *text, int *ids, int length)
{
    static Tape tape;
    put(prompt, strlen(prompt));
    for (int t = length - tokens; t < length; t++) {
        writer_next(&tape, w, ids, length, t);
        put_token(text, ids[t]);
    }
    for (int b = 1; b < samples; b++) {
        printf("\n--- sample %d\n", b + 1);
        put(prompt, strlen(prompt));
        for (int t = length - tokens; t < length; t++)
            put_token(text, ids[(long)b * length + t]);
    }
    put("\n", 1);
}

int main(int argc, char **argv)
{
    static GPT model;
    static Text text;
    static Arena arena;
    static Writer writer;
    int *ids;
    thread_setup(argv);
    flags_parse(flags, "write text with a model that train has made", NULL,
                argc, argv);
    if (threads) thread_limit(threads);
    load(&arena, &model, &text);
    if (*info) {
        flush_stdout();
        return 0;
    }
    if (samples > INT_MAX / (4 * model.config.width) / model.config.context)
        die(EXIT_USAGE, "--samples=%d is too many for a model of width %d and "
            "context %d: at most %d", samples, model.config.width,
            model.config.context, INT_MAX / (4 * model.config.width)
                                  / model.config.context);
    if (how.slide > model.config.context)
        die(EXIT_USAGE, "--slide: at most the context of the model, %d, got "
            "%d", model.config.context, how.slide);

    int length = encode_prompt(&arena, &text, &ids);
    writer_new(&writer, &arena, &model, how, seed, samples);
    if (isatty(STDOUT_FILENO)) setvbuf(stdout, NULL, _IONBF, 0);
    write_samples(&writer, &text, ids, length);
    flush_stdout();
    return 0;
}
