#include <stdio.h>
#include <string.h>
#include "die.h"
#include "gpt.h"

const real norm_eps = (real)1e-5;

/* The forward pass. */

Tensor *norm(Tape *tp, Tensor *x, const Norm *n)
{
    return n->b ? op_layernorm(tp, x, n->g, n->b, norm_eps)
                : op_rmsnorm(tp, x, n->g, norm_eps);
}

static Tensor *attend(Tape *tp, const Sublayer *f, Tensor *qkv)
{
    if (f->q.g) qkv = op_qk_norm(tp, qkv, f->q.g, f->k.g, f->heads, norm_eps);
    return f->past
         ? op_attention_past(tp, qkv, f->heads, !f->unmasked, *f->past)
         : op_attention(tp, qkv, f->heads, !f->unmasked);
}

Tensor *apply(Tape *tp, const Sublayer *f, Tensor *x)
{
    Tensor *h = op_linear(tp, x, f->in.W, f->in.b);
    h = f->heads ? attend(tp, f, h) : f->relu ? op_relu(tp, h) : op_gelu(tp, h);
    h = op_linear(tp, h, f->out.W, f->out.b);
    return op_dropout(tp, h, f->dropout);
}

Tensor *gpt_layers(Tape *tp, const GPT *m, Tensor *x)
{
    const Placement *p = &placements[m->config.placement];
    for (int i = 0; i < 2 * m->config.layers; i++) {
        tp->layer = 1 + i / 2;
        m->stream[i] = x;
        x = p->put(tp, x, &m->branch[i]);
    }
    tp->layer = 0;
    return m->stream[2 * m->config.layers] = x;
}

Tensor *gpt_head(Tape *tp, const GPT *m, Tensor *x)
{
    if (m->last.g) x = norm(tp, x, &m->last);
    return op_unembed(tp, x, m->head);
}

Tensor *gpt_logits(Tape *tp, const GPT *m, const int *ids, int B, int T)
{
    tp->layer = 0;
    Tensor *x = op_embedding(tp, m->tok, m->pos, ids, B, T);
    x = gpt_layers(tp, m, op_dropout(tp, x, (real)m->config.dropout));
    return gpt_head(tp, m, x);
}

Tensor *gpt_loss(Tape *tp, const GPT *m, const int *ids, const int *targets,
                 int B, int T)
{
    return op_cross_entropy(tp, gpt_logits(tp, m, ids, B, T), targets);
}

/* The parameters and their initial values. `at` is where one belongs: a
 * module of a layer, or of the model where layer is MODEL. */

enum { MODEL = -1 };
typedef struct { int layer; const char *module; } Place;

/* Two sublayers a layer, of two norms and two linear maps with two tensors
 * each; the gate, the gains of q and k; wte, wpe, lm_head; ln_f with two. */
static int params_at_most(const GPTConfig *c) { return 19 * c->layers + 5; }

static Tensor *param(GPT *m, Shape shape, Place at, const char *kind)
{
    CHECK(m->nparam < params_at_most(&m->config), "gpt: %d parameters, room "
          "for no more", m->nparam);
    Param *p = &m->param[m->nparam++];
    *p = (Param){.t = tensor_param(&m->arena, shape), .decay = shape.ndim > 1};
    if (at.layer == MODEL)
        snprintf(p->name, sizeof p->name, "%s.%s", at.module, kind);
    else
        snprintf(p->name, sizeof p->name, "h.%d.%s.%s", at.layer, at.module,
                 kind);
    return p->t;
}

static Tensor *vector(GPT *m, int n, real value, Place at, const char *kind)
{
    Tensor *v = param(m, (Shape){1, {n}}, at, kind);
    for (int i = 0; i < n; i++) v->data[i] = value;
    return v;
}

/* W ~ N(0, std^2). Every matrix draws from a stream of its own, so that the
 * first layers start alike whatever the depth, the placement and the flags. */
static Tensor *matrix(GPT *m, int in, int out, real std, Place at)
{
    Tensor *W = param(m, (Shape){2, {in, out}}, at, "weight");
    Rng noise = rng_new(m->config.seed, RNG_INIT, m->nmatrix++);
    #pragma omp parallel for
    for (int i = 0; i < in; i++) {
        real *w = W->data + (long)i * out;
        rng_normals(&noise, (uint32_t)(i * out), out, w);
        for (int j = 0; j < out; j++) w[j] *= std;
    }
    return W;
}

static Norm norm_new(GPT *m, Place at)
{
    int d = m->config.width;
    Tensor *g = vector(m, d, 1, at, "weight");
    return (Norm){g, m->config.norm == RMSNORM ? NULL
                                               : vector(m, d, 0, at, "bias")};
}

static Linear linear_new(GPT *m, int in, int out, real std, Place at)
{
    Tensor *W = matrix(m, in, out, std, at);
    return (Linear){W, vector(m, out, 0, at, "bias")};
}

/* std of a matrix (in, out). W_Q, W_K and W_V stand side by side in one
 * tensor (d,3d), but each is a matrix (d,d) of its own. */
static real branch_std(const GPTConfig *c, int in, int out)
{
    switch (c->init) {
    case INIT_XAVIER: return sqrt((real)2 / (real)(in + out));
    case INIT_FANIN:  return sqrt((real)1 / (real)in);
    default:          return (real)0.02;
    }
}

static void scale_columns(Tensor *W, int from, real c)
{
    for (int i = 0; i < rows(W); i++)
        for (int j = from; j < cols(W); j++)
            W->data[(long)i * cols(W) + j] *= c;
}

/* F's two linear maps, and what lies between them. */
static void branch_new(GPT *m, Sublayer *f, int layer, int heads)
{
    const GPTConfig *c = &m->config;
    const Placement *p = &placements[c->placement];
    int d = c->width, inner = heads ? d : c->inner ? c->inner : 4 * d;
    real in_std = branch_std(c, d, inner), out_std = branch_std(c, inner, d);
    Place in = {layer, heads ? "attn.c_attn" : "mlp.c_fc"};
    Place out = {layer, heads ? "attn.c_proj" : "mlp.c_proj"};
    real start = p->start ? p->start(c->layers) : 1;

    if (c->residual_scale) out_std /= sqrt((real)(2 * c->layers));
    if (c->zero_init && p->norms < 2) out_std = 0;
    f->heads = heads, f->unmasked = c->unmasked, f->relu = c->relu;
    f->dropout = (real)c->dropout;
    f->in = linear_new(m, d, heads ? 3 * d : inner, in_std, in);
    scale_columns(f->in.W, heads ? 2 * d : 0, start);
    if (heads && c->qk_norm) {
        f->q.g = vector(m, d / heads, 1, (Place){layer, "attn.q"}, "weight");
        f->k.g = vector(m, d / heads, 1, (Place){layer, "attn.k"}, "weight");
    }
    f->out = linear_new(m, inner, d, start * out_std, out);
}

/* Sublayer i: its branch, and what the placement needs besides. With a norm
 * on the branch's output that norm's gain is what zero_init starts at 0: of
 * a branch of 0 it would multiply the gradient by 1/sqrt(eps) = 316. */
static void sublayer_new(GPT *m, int i)
{
    const GPTConfig *c = &m->config;
    const Placement *p = &placements[c->placement];
    Sublayer *f = &m->branch[i];
    int layer = i / 2, mlp = i % 2;
    f->factor = p->factor ? p->factor(c->layers, layer + 1) : 1;
    if (p->norms > 0)
        f->norm = norm_new(m, (Place){layer, mlp ? "ln_2" : "ln_1"});
    branch_new(m, f, layer, mlp ? 0 : c->heads);
    if (p->norms > 1) {
        const char *name = mlp ? "ln_2.out" : "ln_1.out";
        f->out_norm = norm_new(m, (Place){layer, name});
        if (c->zero_init) scale_columns(f->out_norm.g, 0, 0);
    }
    if (p->gated)
        f->gate = mlp ? f[-1].gate : vector(m, 1, 0, (Place){layer, "gate"},
                                            "weight");
}

/* Embeddings: their sum, the stream, starts with variance 1. The head: std
 * 1/4 / sqrt(d) gives logits of variance 1/16 on a stream of variance 1, and
 * a first loss of about log V + 1/32. Tied, both have the head's std, and
 * the positions supply the rest of the variance. */
static void embeddings_new(GPT *m)
{
    const GPTConfig *c = &m->config;
    real head = (real)0.25 / sqrt((real)c->width);
    real tok = c->tie ? head : sqrt((real)0.5);
    m->tok = matrix(m, c->vocab, c->width, tok, (Place){MODEL, "wte"});
    m->pos = matrix(m, c->context, c->width, sqrt(1 - tok * tok),
                    (Place){MODEL, "wpe"});
    m->head = c->tie ? m->tok : matrix(m, c->vocab, c->width, head,
                                       (Place){MODEL, "lm_head"});
}

void gpt_new(GPT *m, GPTConfig config)
{
    const GPTConfig *c = &config;
    CHECK(c->heads >= 1 && c->width % c->heads == 0,
          "gpt: the width is a multiple of the heads, got %d and %d",
          c->width, c->heads);
    *m = (GPT){.config = config};
    m->param = arena_alloc(&m->arena, (size_t)params_at_most(c)
                                      * sizeof *m->param);
    size_t n = 2 * (size_t)c->layers, bytes = n * sizeof *m->branch;
    m->stream = arena_alloc(&m->arena, (n + 1) * sizeof *m->stream);
    m->branch = memset(arena_alloc(&m->arena, bytes), 0, bytes);
    embeddings_new(m);
    for (int i = 0; i < 2 * c->layers; i++) sublayer_new(m, i);
    if (placements[c->placement].final_norm)
        m->last = norm_new(m, (Place){MODEL, "ln_f"});
}

void gpt_free(GPT *m) { arena_free(&m->arena); }

long gpt_size(const GPT *m)
{
    long n = 0;
    for (int i = 0; i < m->nparam; i++) n += size(m->param[i].t);
    return n;
}
