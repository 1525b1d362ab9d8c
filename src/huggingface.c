#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include "huggingface.h"
#include "utf8.h"

__attribute__((format(printf, 2, 3)))
static bool fail(char error[HF_ERROR], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(error, HF_ERROR, format, list);
    va_end(list);
    utf8_one_line(error);       /* it quotes the file */
    return false;
}

/* -- classes ------------------------------------------------------------ */

/* A class of transformers: the placement it has, what it calls the embeddings
 * and the activation, and its defaults. Both classes' "gelu" is the tanh form:
 * what GPT-1 calls gelu, others call gelu_new. */
typedef struct {
    const char *placement, *class, *type, *tokens, *positions;
    const char *activation, *gelu, *gelu_too;
    uint64_t vocab, context;
} Class;

static const Class classes[] = {
    {"pre", "GPT2LMHeadModel", "gpt2", "wte", "wpe",
     "activation_function", "gelu_new", "gelu_pytorch_tanh", 50257, 1024},
    {"post", "OpenAIGPTLMHeadModel", "openai-gpt", "tokens_embed",
     "positions_embed", "afn", "gelu", "gelu", 40478, 512},
};
enum { CLASSES = sizeof classes / sizeof *classes };

static const Class *class_of(const GPTConfig *c, const char **why)
{
    static char buffer[80];
    const char *placement = placements[c->placement].name;
    *why = c->norm != LAYERNORM ? "--norm=rmsnorm has no counterpart"
         : c->qk_norm ? "--qk-norm has no counterpart"
         : c->relu ? "relu has no counterpart"
         : c->unmasked ? "attention without a mask has no counterpart"
         : c->inner ? "another width inside the MLP has no counterpart" : NULL;
    for (int i = 0; !*why && i < CLASSES; i++)
        if (!strcmp(classes[i].placement, placement)) return &classes[i];
    if (!*why) {
        snprintf(buffer, sizeof buffer, "--placement=%s has no counterpart",
                 placement);
        *why = buffer;
    }
    return NULL;
}

const char *hf_class(const GPTConfig *c, const char **why)
{
    const Class *class = class_of(c, why);
    return class ? class->class : NULL;
}

void hf_name(const GPTConfig *c, const char *name, char out[HF_NAME])
{
    const char *why;
    const Class *class = class_of(c, &why);
    const char *dot = strchr(name, '.'), *module = name;
    int n = (int)(dot - name);
    if (!class) class = &classes[0];
    if (!strncmp(name, "wte.", 4)) module = class->tokens;
    if (!strncmp(name, "wpe.", 4)) module = class->positions;
    if (module != name) n = (int)strlen(module);
    snprintf(out, HF_NAME, "%s%.*s%s",
             strncmp(name, "lm_head.", 8) ? "transformer." : "", n, module,
             dot);
}

/* -- config.json -------------------------------------------------------- */

/* A model_type that transformers does not know keeps it from guessing one
 * from the directory's name. Our dropout is theirs on the embeddings and on
 * the branches; the attention weights have none. */
void hf_config_write(FILE *f, const GPTConfig *c)
{
    const char *why;
    const Class *class = class_of(c, &why);
    if (!class) {
        fprintf(f, "\"model_type\": \"plumb\",\n\"interchange\": ");
        json_write_string(f, why, strlen(why));
        return;
    }
    fprintf(f, "\"architectures\": [\"%s\"],\n\"model_type\": \"%s\",\n"
            "\"vocab_size\": %d,\n\"n_positions\": %d,\n\"n_ctx\": %d,\n"
            "\"n_embd\": %d,\n\"n_layer\": %d,\n\"n_head\": %d,\n",
            class->class, class->type, c->vocab, c->context, c->context,
            c->width, c->layers, c->heads);
    fprintf(f, "\"%s\": \"%s\",\n\"layer_norm_epsilon\": 1e-05,\n"
            "\"scale_attn_weights\": true,\n\"embd_pdrop\": %.17g,\n"
            "\"resid_pdrop\": %.17g,\n\"attn_pdrop\": 0.0,\n",
            class->activation, class->gelu, c->dropout, c->dropout);
    fprintf(f, "\"bos_token_id\": null,\n\"eos_token_id\": null,\n"
            "\"tie_word_embeddings\": %s,\n\"torch_dtype\": \"float%zu\"",
            c->tie ? "true" : "false", 8 * sizeof(real));
}

typedef struct { const Json *config; char *error; } Reader;

/* "n_layer is 0, must be 1 to 10000" */
static bool refuse(const Reader *r, const char *name, const char *wanted)
{
    static const char *const kinds[] = {"null", "false", "a number",
                                        "a string", "an array", "an object"};
    const Json *j = json_get(r->config, name);
    const char *is = !j ? "absent" : j->kind == JSON_BOOL && j->n ? "true"
                   : kinds[j->kind];
    if (j && (j->kind == JSON_NUMBER || j->kind == JSON_STRING)) is = j->text;
    return fail(r->error, "%s is %.60s, must be %s", name, is, wanted);
}

static bool whole(const Reader *r, const char *name, uint64_t absent,
                  int most, int *out)
{
    char wanted[40];
    const Json *j = json_get(r->config, name);
    uint64_t n = absent;
    snprintf(wanted, sizeof wanted, "1 to %d", most);
    if ((j && !json_u64(j, &n)) || n < 1 || n > (uint64_t)most)
        return refuse(r, name, wanted);
    *out = (int)n;
    return true;
}

static bool boolean(const Reader *r, const char *name, bool absent, bool *out)
{
    const Json *j = json_get(r->config, name);
    *out = absent;
    return !j || json_bool(j, out) || refuse(r, name, "true or false");
}

/* A switch that has one position here, which is also its default. */
static bool only(const Reader *r, const char *name, bool wanted)
{
    bool is;
    return boolean(r, name, wanted, &is)
        && (is == wanted || refuse(r, name, wanted ? "true" : "false"));
}

static const Class *read_class(const Reader *r)
{
    const char *type = "";
    json_string(json_get(r->config, "model_type"), &type);
    for (int i = 0; i < CLASSES; i++)
        if (!strcmp(classes[i].type, type)) return &classes[i];
    refuse(r, "model_type", "gpt2 or openai-gpt");
    return NULL;
}

/* The limits are those of ./train's flags; V at most all characters there
 * are. int holds the elements of every tensor. */
static bool read_sizes(const Reader *r, const Class *class, GPTConfig *c)
{
    if (!whole(r, "vocab_size", class->vocab, 0x110000, &c->vocab)
        || !whole(r, "n_positions", class->context, 65536, &c->context)
        || !whole(r, "n_embd", 768, 16384, &c->width)
        || !whole(r, "n_layer", 12, 10000, &c->layers)
        || !whole(r, "n_head", 12, 1024, &c->heads)) return false;
    if (c->width % c->heads)
        return fail(r->error, "n_embd is %d, must be a multiple of n_head, %d",
                    c->width, c->heads);
    if (c->vocab > INT_MAX / c->width)
        return fail(r->error, "vocab_size is %d, must be at most %d where "
                    "n_embd is %d", c->vocab, INT_MAX / c->width, c->width);
    if (c->context > INT_MAX / (4 * c->width))
        return fail(r->error, "n_positions is %d, must be at most %d where "
                    "n_embd is %d", c->context, INT_MAX / (4 * c->width),
                    c->width);
    return true;
}

/* What lies in an MLP, and what norms divide by. */
static bool read_layers(const Reader *r, const Class *class, int width)
{
    char wanted[40];
    const char *gelu = class->gelu;
    double eps = 1e-5;
    uint64_t inner;
    const Json *act = json_get(r->config, class->activation);
    const Json *in = json_get(r->config, "n_inner");
    const Json *e = json_get(r->config, "layer_norm_epsilon");
    if ((act && !json_string(act, &gelu))
        || (strcmp(gelu, class->gelu) && strcmp(gelu, class->gelu_too)))
        return refuse(r, class->activation, class->gelu);
    snprintf(wanted, sizeof wanted, "null or %d", 4 * width);
    if (in && in->kind != JSON_NULL
        && (!json_u64(in, &inner) || inner != 4 * (uint64_t)width))
        return refuse(r, "n_inner", wanted);
    if ((e && !json_real(e, &eps)) || (float)eps != (float)norm_eps)
        return refuse(r, "layer_norm_epsilon", "1e-05");
    return true;
}

bool hf_config_read(const Json *config, GPTConfig *c, char error[HF_ERROR])
{
    const Reader r = {config, error};
    if (!config || config->kind != JSON_OBJECT)
        return fail(error, "an object is wanted");
    const Class *class = read_class(&r);
    if (!class || !read_sizes(&r, class, c)
        || !read_layers(&r, class, c->width)
        || !boolean(&r, "tie_word_embeddings", true, &c->tie)
        || !only(&r, "scale_attn_weights", true)
        || !only(&r, "scale_attn_by_inverse_layer_idx", false)
        || !only(&r, "add_cross_attention", false)) return false;
    for (int i = 0; placements[i].name; i++)
        if (!strcmp(placements[i].name, class->placement)) c->placement = i;
    return true;
}

/* -- tokenizer.json ----------------------------------------------------- */

/* Without merges BPE leaves a text in its characters; with neither normalizer
 * nor pre_tokenizer none of them is changed or lost; Fuse joins them without
 * spaces. */
void hf_tokenizer_write(FILE *f, const Text *t)
{
    fprintf(f, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null"
            ",\n\"added_tokens\": [], \"normalizer\": null, \"pre_tokenizer\":"
            " null,\n\"post_processor\": null, \"decoder\": {\"type\": "
            "\"Fuse\"},\n\"model\": {\"type\": \"BPE\", \"dropout\": null, "
            "\"unk_token\": null,\n\"continuing_subword_prefix\": null, "
            "\"end_of_word_suffix\": null,\n\"fuse_unk\": false, "
            "\"byte_fallback\": false, \"ignore_merges\": false,\n"
            "\"merges\": [], \"vocab\": {");
    for (int i = 0; i < t->vocab; i++) {
        char bytes[4];
        int n = text_decode(t, i, bytes);
        fputs(i ? ",\n" : "\n", f);
        json_write_string(f, bytes, (size_t)n);
        fprintf(f, ": %d", i);
    }
    fprintf(f, "}}}\n");
}

void hf_tokenizer_config_write(FILE *f, const GPTConfig *c)
{
    fprintf(f, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
            "\"model_max_length\": %d,\n\"bos_token\": null, \"eos_token\": "
            "null, \"unk_token\": null, \"pad_token\": null,\n"
            "\"clean_up_tokenization_spaces\": false}\n", c->context);
}

/* A template that adds no token, as transformers writes it back. */
static bool adds_nothing(const Json *processor)
{
    const Json *special = json_get(processor, "special_tokens");
    const char *type;
    return json_string(json_get(processor, "type"), &type)
        && !strcmp(type, "TemplateProcessing") && special && !special->n;
}

/* These change what a text is encoded to, so there must be none. */
static bool check_pipeline(const Json *tokenizer, char error[HF_ERROR])
{
    static const char *const none[] = {
        "normalizer", "pre_tokenizer", "post_processor", "added_tokens",
        "continuing_subword_prefix", "end_of_word_suffix", "merges"};
    const Json *model = json_get(tokenizer, "model");
    const char *type = "";
    if (!json_string(json_get(model, "type"), &type) || strcmp(type, "BPE"))
        return fail(error, "model.type is %.40s, must be BPE", type);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const Json *j = json_get(i < 4 ? tokenizer : model, none[i]);
        if (j && j->kind != JSON_NULL && (j->kind == JSON_NUMBER || j->n)
            && !adds_nothing(j))
            return fail(error, "%s is given, must be null or empty: a token a "
                        "character (without this file a text is token ids)",
                        none[i]);
    }
    return true;
}

bool hf_tokenizer_read(Arena *a, const Json *tokenizer, Text *t,
                       char error[HF_ERROR])
{
    const Json *vocab = json_get(json_get(tokenizer, "model"), "vocab");
    uint64_t id;
    if (!check_pipeline(tokenizer, error)) return false;
    if (!vocab || vocab->kind != JSON_OBJECT || vocab->n == 0)
        return fail(error, "model.vocab: an object with members is wanted");
    size_t V = vocab->n, bytes = V * sizeof(uint32_t);
    uint32_t *code = memset(arena_alloc(a, bytes), 0xff, bytes);
    for (const Json *j = vocab->child; j; j = j->next) {
        uint32_t c;
        if ((size_t)utf8_decode(j->key, j->nkey, &c) != j->nkey || !j->nkey)
            return fail(error, "\"%.40s\" is not a single character", j->key);
        if (!json_u64(j, &id) || id >= V || code[id] != UINT32_MAX)
            return fail(error, "\"%s\": its id must be 0 to %zu, and no "
                        "other's", j->key, V - 1);
        code[id] = c;
    }
    *t = (Text){.vocab = (int)V, .code = code};
    return true;
}

/* -- weights ------------------------------------------------------------ */

static const char *without_prefix(const char *name)
{
    static const char prefix[] = "transformer.";
    size_t n = sizeof prefix - 1;
    return strncmp(name, prefix, n) ? name : name + n;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* Constants that older versions stored beside the weights. */
static bool is_constant(const char *name)
{
    return ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias")
        || !strcmp(without_prefix(name), "position_ids");
}

static const StoredTensor *find(const Safetensors *s, const char *name)
{
    const StoredTensor *t = safetensors_find(s, name);
    return t ? t : safetensors_find(s, without_prefix(name));
}

/* A tied head may be there as well, if it is the same. */
static bool check_head(const Safetensors *s, const GPT *m, bool *used,
                       char error[HF_ERROR])
{
    char name[HF_NAME];
    const StoredTensor *head = safetensors_find(s, "lm_head.weight"), *tok;
    if (!head || !m->config.tie) return true;
    hf_name(&m->config, "wte.weight", name);
    tok = find(s, name);
    used[head - s->tensor] = true;
    return (head->bytes == tok->bytes
            && !memcmp(head->data, tok->data, tok->bytes))
        || fail(error, "lm_head.weight is not %s, though the embeddings are "
                "tied", tok->name);
}

static bool fill(const Safetensors *s, GPT *m, bool *used,
                 char error[HF_ERROR])
{
    char name[HF_NAME];
    for (int i = 0; i < m->nparam; i++) {
        Param *p = &m->param[i];
        hf_name(&m->config, p->name, name);
        const StoredTensor *t = find(s, name);
        if (!t) return fail(error, "%s is missing", name);
        if (!safetensors_fill(t, p, error)) return false;
        used[t - s->tensor] = true;
    }
    if (!check_head(s, m, used, error)) return false;
    for (int i = 0; i < s->n; i++)
        if (!used[i] && !is_constant(s->tensor[i].name))
            return fail(error, "%.96s is no parameter of this model",
                        s->tensor[i].name);
    return true;
}

bool hf_weights_read(const Safetensors *s, GPT *m, char error[HF_ERROR])
{
    Arena scratch = {0};
    size_t n = (size_t)s->n * sizeof(bool);
    bool ok = fill(s, m, memset(arena_alloc(&scratch, n), 0, n), error);
    arena_free(&scratch);
    return ok;
}
