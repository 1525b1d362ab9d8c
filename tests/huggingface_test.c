/* Weights from and for Hugging Face's transformers. tests/golden/gpt2-tiny and
 * gpt1-tiny were recorded by tests/golden_hf.py; with the real libraries there
 * is tests/deep/interchange.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "disk.h"
#include "huggingface.h"
#include "test.h"

static Arena arena;
static char error[HF_ERROR];

static int placement(const char *name)
{
    int i = 0;
    while (strcmp(placements[i].name, name)) i++;
    return i;
}

/* What f(file, arg) writes, as text. */
static char *written(void (*f)(FILE *, const void *), const void *arg)
{
    char *text;
    size_t n;
    FILE *file = open_memstream(&text, &n);
    f(file, arg);
    fclose(file);
    return text;
}

static const Json *parse(const char *text)
{
    const Json *j = json_parse(&arena, text, strlen(text), error);
    EXPECT(j, "%s: %s", text, error);
    return j;
}

/* -- classes ------------------------------------------------------------ */

TEST(pre_and_post_have_a_class)
{
    const GPTConfig pre = {.placement = placement("pre")};
    const GPTConfig post = {.placement = placement("post")};
    GPTConfig c[7];
    static const char *const whys[] = {
        "--placement=peri has", "--placement=rezero has", "--norm=rmsnorm has",
        "--qk-norm has", "relu has", "a mask has", "width inside the MLP has"};
    const char *why, *class = hf_class(&pre, &why);
    EXPECT(class && !strcmp(class, "GPT2LMHeadModel") && !why, "pre");
    class = hf_class(&post, &why);
    EXPECT(class && !strcmp(class, "OpenAIGPTLMHeadModel") && !why, "post");
    for (int i = 0; i < 7; i++) c[i] = pre;
    c[0].placement = placement("peri");
    c[1].placement = placement("rezero");
    c[2].norm = RMSNORM;
    c[3].qk_norm = c[4].relu = c[5].unmasked = true;
    c[6].inner = 8;
    for (int i = 0; i < 7; i++)
        EXPECT(!hf_class(&c[i], &why) && strstr(why, whys[i])
               && strstr(why, "no counterpart"), "%s", why);
}

TEST(names_are_those_of_the_class)
{
    static const char *const names[][3] = {
        {"wte.weight", "transformer.wte.weight",
         "transformer.tokens_embed.weight"},
        {"wpe.weight", "transformer.wpe.weight",
         "transformer.positions_embed.weight"},
        {"h.12.attn.c_attn.bias", "transformer.h.12.attn.c_attn.bias",
         "transformer.h.12.attn.c_attn.bias"},
        {"ln_f.weight", "transformer.ln_f.weight", "transformer.ln_f.weight"},
        {"lm_head.weight", "lm_head.weight", "lm_head.weight"}};
    const GPTConfig c[] = {{.placement = placement("pre")},
                           {.placement = placement("post")},
                           {.placement = placement("peri")}};
    char name[HF_NAME];
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) {
            hf_name(&c[k], names[i][0], name);
            EXPECT(!strcmp(name, names[i][1 + k % 2]), "%s: %s", names[i][0],
                   name);
        }
}

/* -- config.json -------------------------------------------------------- */

static void write_config(FILE *f, const void *c)
{
    putc('{', f);
    hf_config_write(f, c);
    putc('}', f);
}

TEST(a_configuration_comes_back)
{
    static const char *const names[] = {"pre", "post"};
    for (int i = 0; i < 4; i++) {
        GPTConfig got = {0}, c = {
            .layers = 3, .width = 12, .heads = 4, .context = 9, .vocab = 65,
            .placement = placement(names[i / 2]), .tie = i % 2,
            .dropout = 0.1};
        char *text = written(write_config, &c);
        const Json *j = parse(text);
        double p[3];
        EXPECT(hf_config_read(j, &got, error), "%s", error);
        EXPECT(got.layers == 3 && got.width == 12 && got.heads == 4
               && got.context == 9 && got.vocab == 65 && got.tie == c.tie
               && got.placement == c.placement, "%s", text);
        EXPECT(json_real(json_get(j, "embd_pdrop"), p) && p[0] == 0.1
               && json_real(json_get(j, "resid_pdrop"), p + 1) && p[1] == 0.1
               && json_real(json_get(j, "attn_pdrop"), p + 2) && p[2] == 0,
               "%s", text);
        EXPECT(json_get(j, "bos_token_id")->kind == JSON_NULL, "%s", text);
        free(text);
    }
}

TEST(without_a_class_the_reason_is_written)
{
    const GPTConfig c = {.placement = placement("deepnorm")};
    GPTConfig got;
    const char *why;
    char *text = written(write_config, &c);
    EXPECT(json_string(json_get(parse(text), "interchange"), &why)
           && !strcmp(why, "--placement=deepnorm has no counterpart")
           && !strstr(text, "architectures"), "%s", text);
    EXPECT(!hf_config_read(parse(text), &got, error), "read as another");
    free(text);
}

TEST(absent_members_have_the_defaults_of_transformers)
{
    GPTConfig c = {0};
    EXPECT(hf_config_read(parse("{\"model_type\":\"gpt2\"}"), &c, error)
           && c.layers == 12 && c.width == 768 && c.heads == 12 && c.tie
           && c.context == 1024 && c.vocab == 50257
           && c.placement == placement("pre"), "%s", error);
    EXPECT(hf_config_read(parse("{\"model_type\":\"openai-gpt\"}"), &c, error)
           && c.layers == 12 && c.width == 768 && c.heads == 12 && c.tie
           && c.context == 512 && c.vocab == 40478
           && c.placement == placement("post"), "%s", error);
}

TEST(what_is_the_same_here_is_taken)
{
    static const char *const good[] = {
        "\"n_inner\":null", "\"n_inner\":3072", "\"n_embd\":96,\"n_inner\":384",
        "\"activation_function\":\"gelu_pytorch_tanh\"",
        "\"layer_norm_epsilon\":1e-5", "\"layer_norm_epsilon\":0.00001",
        "\"scale_attn_weights\":true", "\"add_cross_attention\":false",
        "\"scale_attn_by_inverse_layer_idx\":false", "\"afn\":\"relu\"",
        "\"n_layer\":10000", "\"n_positions\":1,\"vocab_size\":1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[200];
        GPTConfig c;
        snprintf(text, sizeof text, "{\"model_type\":\"gpt2\",%s}", good[i]);
        EXPECT(hf_config_read(parse(text), &c, error), "%s", error);
    }
}

TEST(what_cannot_be_built_is_refused)
{
    static const char *const bad[][2] = {
        {"\"model_type\":\"llama\"", "model_type is llama, must be gpt2 or o"},
        {"\"n_layer\":3", "model_type is absent"},
        {"\"model_type\":7", "model_type is 7"},
        {"G\"activation_function\":\"gelu\"", "activation_function is gelu, "
         "must be gelu_new"},
        {"G\"activation_function\":null", "activation_function is null"},
        {"P\"afn\":\"gelu_new\"", "afn is gelu_new, must be gelu"},
        {"P\"afn\":\"relu\"", "afn is relu, must be gelu"},
        {"G\"n_inner\":7", "n_inner is 7, must be null or 3072"},
        {"G\"n_inner\":\"\\n\"", "n_inner is ?, must be null or 3072"},
        {"G\"layer_norm_epsilon\":1e-6", "layer_norm_epsilon is 1e-6, must be "
         "1e-05"},
        {"P\"layer_norm_epsilon\":null", "layer_norm_epsilon is null"},
        {"G\"scale_attn_by_inverse_layer_idx\":true",
         "scale_attn_by_inverse_layer_idx is true, must be false"},
        {"G\"add_cross_attention\":true", "add_cross_attention is true"},
        {"G\"scale_attn_weights\":false", "scale_attn_weights is false, must "
         "be true"},
        {"G\"scale_attn_weights\":1", "scale_attn_weights is 1, must be true"},
        {"G\"tie_word_embeddings\":{}", "tie_word_embeddings is an object"},
        {"G\"n_embd\":8", "n_embd is 8, must be a multiple of n_head, 12"},
        {"G\"n_layer\":0", "n_layer is 0, must be 1 to 10000"},
        {"G\"n_layer\":10001", "n_layer is 10001, must be 1 to 10000"},
        {"G\"n_embd\":16385", "n_embd is 16385, must be 1 to 16384"},
        {"G\"n_head\":1025", "n_head is 1025, must be 1 to 1024"},
        {"P\"n_positions\":65537", "n_positions is 65537, must be 1 to 65536"},
        {"P\"n_positions\":-1", "n_positions is -1"},
        {"P\"n_positions\":2.5", "n_positions is 2.5"},
        {"P\"n_positions\":[]", "n_positions is an array"},
        {"G\"vocab_size\":0", "vocab_size is 0, must be 1 to 1114112"},
        {"G\"vocab_size\":18446744073709551617", "must be 1 to 1114112"},
        {"G\"vocab_size\":1114112,\"n_embd\":12288", "vocab_size is 1114112, "
         "must be at most 174762 where n_embd is 12288"},
        {"G\"n_positions\":65536,\"n_embd\":12288", "n_positions is 65536, "
         "must be at most 43690 where n_embd is 12288"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *b = bad[i][0];
        char text[200];
        GPTConfig c;
        snprintf(text, sizeof text, "{%s%s}", *b == 'G' ?
                 "\"model_type\":\"gpt2\"," : *b == 'P' ?
                 "\"model_type\":\"openai-gpt\"," : "", b + (*b != '"'));
        EXPECT(!hf_config_read(parse(text), &c, error)
               && strstr(error, bad[i][1]), "%s: %s", text, error);
    }
    EXPECT(!hf_config_read(parse("[]"), &(GPTConfig){0}, error)
           && !hf_config_read(NULL, &(GPTConfig){0}, error), "an array");
}

/* -- tokenizer.json ----------------------------------------------------- */

static void write_tokenizer(FILE *f, const void *t)
{
    hf_tokenizer_write(f, t);
}

TEST(a_vocabulary_comes_back)
{
    static const uint32_t code[] = {0, '\t', '\n', '\r', ' ', '"', '/', '\\',
                                    0x7f, 0xa0, 0xe9, 0x301, 0xfeff, 0xffff,
                                    0x1f600, 0x10ffff};
    const Text t = {.vocab = sizeof code / sizeof *code, .code = code};
    Text got;
    char *text = written(write_tokenizer, &t);
    EXPECT(hf_tokenizer_read(&arena, parse(text), &got, error)
           && got.vocab == t.vocab && !memcmp(got.code, code, sizeof code),
           "%s", error);
    free(text);
}

static void write_tokenizer_config(FILE *f, const void *c)
{
    hf_tokenizer_config_write(f, c);
}

TEST(the_tokenizer_adds_nothing)
{
    const GPTConfig c = {.context = 64};
    char *text = written(write_tokenizer_config, &c);
    const Json *j = parse(text);
    uint64_t n = 0;
    bool clean = true;
    EXPECT(json_u64(json_get(j, "model_max_length"), &n) && n == 64
           && json_bool(json_get(j, "clean_up_tokenization_spaces"), &clean)
           && !clean && json_get(j, "unk_token")->kind == JSON_NULL, "%s",
           text);
    free(text);
}

TEST(a_vocabulary_may_be_in_any_order)
{
    Text t;
    int ids[3];
    EXPECT(hf_tokenizer_read(&arena, parse("{\"model\":{\"type\":\"BPE\","
           "\"vocab\":{\"b\":2,\"\xc3\xa9\":0,\"a\":1}}}"), &t, error)
           && t.vocab == 3 && t.code[0] == 0xe9 && t.code[1] == 'a'
           && t.code[2] == 'b', "%s", error);
    EXPECT(text_encode(&t, "x", "ba\xc3\xa9", 4, ids) == 3 && ids[0] == 2
           && ids[1] == 1 && ids[2] == 0, "%d %d %d", ids[0], ids[1], ids[2]);
}

TEST(other_tokenizers_are_refused)
{
#define BPE(rest) "{\"model\":{\"type\":\"BPE\"" rest "}}"
    static const char *const bad[][2] = {
        {"{}", "model.type is , must be BPE"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0}}}",
         "model.type is WordLevel, must be BPE"},
        {BPE(""), "model.vocab: an object"},
        {BPE(",\"vocab\":{}"), "model.vocab: an object"},
        {BPE(",\"vocab\":[\"a\"]"), "model.vocab: an object"},
        {BPE(",\"vocab\":{\"ab\":0}"), "\"ab\" is not a single character"},
        {BPE(",\"vocab\":{\"\":0}"), "\"\" is not a single character"},
        {BPE(",\"vocab\":{\"a\":1}"), "\"a\": its id must be 0 to 0"},
        {BPE(",\"vocab\":{\"a\":-0}"), "\"a\": its id must be 0 to 0"},
        {BPE(",\"vocab\":{\"a\":\"0\"}"), "\"a\": its id must be 0 to 0"},
        {BPE(",\"vocab\":{\"a\":1,\"b\":1}"), "\"b\": its id must be 0 to 1"},
        {BPE(",\"merges\":[\"a b\"]"), "merges is given, must be null or"},
        {BPE(",\"end_of_word_suffix\":\"</w>\""), "end_of_word_suffix is"},
        {"{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":"
         "\"BPE\"}}", "pre_tokenizer is given"},
        {"{\"added_tokens\":[{}],\"model\":{\"type\":\"BPE\"}}",
         "added_tokens is given"},
        {"{\"normalizer\":0,\"model\":{\"type\":\"BPE\"}}", "normalizer is"}};
    memset(arena_alloc(&arena, 1 << 20), 0xff, 1 << 20);
    arena_reset(&arena);        /* behind code[V] all looks free */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Text t;
        EXPECT(!hf_tokenizer_read(&arena, parse(bad[i][0]), &t, error)
               && strstr(error, bad[i][1]), "%s: %s", bad[i][0], error);
    }
}

/* -- weights ------------------------------------------------------------ */

static const GPTConfig small = {.layers = 1, .width = 4, .heads = 2,
                                .context = 3, .vocab = 5};

/* n parameters in a file, which is then read. */
static Safetensors packed(const Param *param, int n)
{
    Safetensors s = {0};
    size_t length, at, bytes;
    char *header = safetensors_header(&arena, param, n, &length);
    bytes = at = length;
    for (int i = 0; i < n; i++)
        bytes += sizeof(real) * (size_t)size(param[i].t);
    char *file = memcpy(arena_alloc(&arena, bytes), header, length);
    for (int i = 0; i < n; i++) {
        bytes = sizeof(real) * (size_t)size(param[i].t);
        memcpy(file + at, param[i].t->data, bytes);
        at += bytes;
    }
    EXPECT(safetensors_read(&arena, file, at, &s, error), "%s", error);
    return s;
}

/* Its parameters under their names there, cut by so many letters at the
 * front; room for two more. */
static Param *renamed(const GPT *m, size_t cut)
{
    Param *p = arena_alloc(&arena, sizeof *p * (size_t)(m->nparam + 2));
    for (int i = 0; i < m->nparam; i++) {
        char name[HF_NAME];
        p[i] = m->param[i];
        hf_name(&m->config, p[i].name, name);
        bool prefix = !strncmp(name, "transformer.", 12);
        snprintf(p[i].name, sizeof p[i].name, "%.47s",
                 name + (prefix ? cut : 0));
    }
    return p;
}

static Param extra(const char *name, const real *data, int n)
{
    Param p = {.t = tensor_param(&arena, (Shape){1, {n}})};
    snprintf(p.name, sizeof p.name, "%s", name);
    if (data) memcpy(p.t->data, data, sizeof *data * (size_t)n);
    else for (int i = 0; i < n; i++) p.t->data[i] = 0;
    return p;
}

static void expect_loads(const char *what, const GPT *m, const Param *p, int n)
{
    GPT copy;
    GPTConfig c = m->config;
    Safetensors s = packed(p, n);
    c.seed++;
    gpt_new(&copy, c);
    EXPECT(hf_weights_read(&s, &copy, error), "%s: %s", what, error);
    for (int i = 0; i < m->nparam; i++)
        EXPECT(!memcmp(copy.param[i].t->data, m->param[i].t->data,
                       sizeof(real) * (size_t)size(m->param[i].t)),
               "%s: %s differs", what, m->param[i].name);
    gpt_free(&copy);
}

TEST(weights_come_back)
{
    for (int i = 0; placements[i].name; i++)
        for (int tie = 0; tie < 2; tie++) {
            GPT m;
            GPTConfig c = small;
            c.placement = i, c.tie = tie;
            gpt_new(&m, c);
            Param *p = renamed(&m, 0);
            expect_loads(placements[i].name, &m, p, m.nparam);
            p = renamed(&m, strlen("transformer."));
            expect_loads("without a prefix", &m, p, m.nparam);
            p[m.nparam] = extra("transformer.h.0.attn.bias", NULL, 9);
            p[m.nparam + 1] = extra("h.0.attn.masked_bias", NULL, 1);
            expect_loads("masks", &m, p, m.nparam + 2);
            p[m.nparam] = extra("position_ids", NULL, 3);
            if (tie)
                p[m.nparam + 1] = extra("lm_head.weight", m.tok->data, 20);
            expect_loads("a tied head", &m, p, m.nparam + 2);
            gpt_free(&m);
        }
}

static void expect_refused(GPT *m, const Param *p, int n, const char *why)
{
    Safetensors s = packed(p, n);
    EXPECT(!hf_weights_read(&s, m, error) && strstr(error, why), "%s: \"%s\"",
           why, error);
}

TEST(other_weights_are_refused)
{
    GPT m, other;
    GPTConfig c = small;
    c.tie = true;
    gpt_new(&m, c);
    c.context = 2;
    gpt_new(&other, c);
    Param *p = renamed(&m, 0);
    int n = m.nparam;
    expect_refused(&m, p + 1, n - 1, "transformer.wte.weight is missing");
    expect_refused(&m, p, n - 1, "transformer.ln_f.bias is missing");
    expect_refused(&m, p, 0, "is missing");
    p[n] = extra("transformer.h.1.ln_1.bias", NULL, 4);
    expect_refused(&m, p, n + 1, "h.1.ln_1.bias is no parameter of this");
    p[n] = extra("wte.weight", m.tok->data, 20);
    expect_refused(&m, p, n + 1, "wte.weight is no parameter of this model");
    p[n] = extra("lm_head.weight", NULL, 20);
    expect_refused(&m, p, n + 1, "lm_head.weight is not transformer.wte.weigh");
    p[n] = extra("lm_head.weight", NULL, 19);
    expect_refused(&m, p, n + 1, "lm_head.weight is not transformer.wte.weigh");
    expect_refused(&other, p, n, "wpe.weight: its shape is (3,4), (2,4) is");
    m.pos->data[3] = NAN;
    expect_refused(&m, p, n, "transformer.wpe.weight: a value is not finite");
    gpt_free(&m);
    gpt_free(&other);
}

/* -- what transformers computed ----------------------------------------- */

static const char *file(const char *model, const char *name, size_t *n)
{
    char path[80];
    snprintf(path, sizeof path, "tests/golden/%s/%s", model, name);
    return disk_read(&arena, path, n);
}

static void load(GPT *m, const char *model)
{
    size_t n;
    GPTConfig c = {0};
    Safetensors s;
    const char *bytes = file(model, "config.json", &n);
    const Json *j = json_parse(&arena, bytes, n, error);
    EXPECT(hf_config_read(j, &c, error), "%s: %s", model, error);
    gpt_new(m, c);
    bytes = file(model, "model.safetensors", &n);
    EXPECT(safetensors_read(&arena, bytes, n, &s, error)
           && hf_weights_read(&s, m, error), "%s: %s", model, error);
}

static void compare(const char *model, const char *place, bool tie)
{
    enum { T = 8, V = 12 };
    const double tolerance = sizeof(real) == 4 ? 1e-5 : 1e-12;
    GPT m;
    Tape tape = {0};
    int ids[T];
    size_t n;
    double worst = 0;
    load(&m, model);
    EXPECT(!strcmp(placements[m.config.placement].name, place)
           && m.config.tie == tie && m.config.vocab == V, "%s", model);
    const char *text = file(model, "logits.txt", &n);
    char *at = memcpy(arena_alloc(&arena, n + 1), text, n);
    at[n] = 0;
    for (int t = 0; t < T; t++) ids[t] = (int)strtol(at, &at, 10);
    const real *y = gpt_logits(&tape, &m, ids, 1, T)->data;
    for (int i = 0; i < T * V; i++) {
        double want = strtod(at, &at), off = fabs((double)y[i] - want);
        worst = fmax(worst, off);
        EXPECT(off <= tolerance, "%s, token %d, logit %d: %.9g, transformers "
               "has %.9g", model, i / V, i % V, (double)y[i], want);
    }
    test_say("%s: logits off transformers' by %.1e at most", model, worst);
    arena_free(&tape.arena);
    gpt_free(&m);
}

TEST(logits_are_those_of_transformers)
{
    compare("gpt2-tiny", "pre", false);
    compare("gpt1-tiny", "post", true);
}
