/* A GPT-style decoder whose norms can stand in different places.
 *
 *   x_0 = tok[ids] + pos;  2L sublayers, attention and MLP in turn, each put
 *   on the residual stream by the placement;  logits = N(x) head', where
 *   some placements have a final norm N and some have not.
 *
 * B sequences, T tokens, d width, H heads, V vocabulary, L layers. Names and
 * the [in, out] orientation of the weights are GPT-2's (Radford et al. 2019).
 */
#ifndef GPT_H
#define GPT_H

#include <stdint.h>
#include "ops.h"
#include "param.h"

enum Init { INIT_XAVIER, INIT_FANIN, INIT_GPT2 };
enum NormKind { LAYERNORM, RMSNORM };

typedef struct {
    int  layers, width, heads, context, vocab;
    int  placement;         /* row of the table in placement.c */
    int  init;              /* enum Init: std of the branches' matrices */
    bool zero_init;         /* output projections of all branches start at 0 */
    bool residual_scale;    /* ... or scaled by 1/sqrt(2L) (GPT-2) */
    bool tie;               /* the head is the token embedding, transposed */
    int  norm;              /* enum NormKind */
    bool qk_norm;           /* queries and keys are normalised, head by head */
    bool unmasked;          /* attention sees what comes after, too */
    bool relu;              /* in the MLP, for gelu */
    int  inner;             /* width inside the MLP; 0: 4 width */
    double dropout;         /* on the embeddings and on each branch's output */
    uint64_t seed;
} GPTConfig;

typedef struct { Tensor *g, *b; } Norm;         /* gain, bias: (d). No bias:
                                                   rmsnorm. No gain: none */
typedef struct { Tensor *W, *b; } Linear;       /* (in, out), (out) */

/* A branch F(x), and what the placement needs to put it on the stream.
 *   attention   out(attend(in(x)))     in (d,3d)   out (d,d)
 *   MLP         out(gelu(in(x)))       in (d,4d)   out (4d,d) */
typedef struct {
    Norm   norm;            /* N */
    Norm   out_norm;        /* of the branch's output, where there are two */
    Tensor *gate;           /* g_l (1), one for both branches of a layer */
    real   factor;          /* a number of this depth; else 1 */
    Linear in, out;
    int    heads;           /* 0: an MLP */
    Norm   q, k;            /* gains (D) of qk_norm, or none */
    bool   unmasked, relu;
    real   dropout;
    const Past *past;       /* what an attention has seen; NULL: nothing, as
                               in training. See cache.h */
} Sublayer;

/* How a branch is put on the residual stream: one row of placement.c. L is
 * the number of layers, l = 1 .. L the layer. */
typedef struct {
    const char *name;
    Tensor *(*put)(Tape *tp, Tensor *x, const Sublayer *f);
    int  norms;             /* a sublayer: 0, 1, or 2, one on F's output */
    bool final_norm;        /* a norm between the last layer and the head */
    bool gated;             /* g_l is trained, and starts at 0 */
    real (*factor)(int L, int l);   /* NULL: 1 */
    real (*start)(int L);   /* V, O, W1, W2 start scaled by this; NULL: 1 */
} Placement;

extern const Placement placements[];    /* ends with a NULL name */

extern const real norm_eps;             /* in every norm, beside the variance */

Tensor *apply(Tape *tp, const Sublayer *f, Tensor *x);      /* F(x) */
Tensor *norm(Tape *tp, Tensor *x, const Norm *n);           /* N(x) */

typedef struct {
    GPTConfig config;
    Tensor   *tok, *pos;    /* (V,d), (context,d) */
    Sublayer *branch;       /* 2L: attention, MLP, attention, ... */
    Tensor  **stream;       /* 2L+1: what sublayer i found on the stream in the
                               last forward pass; the end of it. Until
                               tape_reset */
    Norm      last;         /* the final norm; g NULL where there is none */
    Tensor   *head;         /* (V,d); tok itself when tied */
    Param    *param;        /* every tensor that is trained, once */
    int       nparam;
    uint32_t  nmatrix;      /* of them matrices: the stream each draws from */
    Arena     arena;        /* holds it all */
} GPT;

/* Builds the model and draws its initial weights from (seed, RNG_INIT). */
void gpt_new(GPT *m, GPTConfig config);
void gpt_free(GPT *m);

/* x_2L, the stream after all layers, from x_0 (B,T,d). */
Tensor *gpt_layers(Tape *tp, const GPT *m, Tensor *x);

/* Logits (..,V) from rows of x_2L (..,d). */
Tensor *gpt_head(Tape *tp, const GPT *m, Tensor *x);

/* Logits (B*T, V) of B sequences of T <= context tokens; ids[b*T + t]. */
Tensor *gpt_logits(Tape *tp, const GPT *m, const int *ids, int B, int T);

/* Mean cross-entropy in nats per token, against targets[b*T + t]. */
Tensor *gpt_loss(Tape *tp, const GPT *m, const int *ids, const int *targets,
                 int B, int T);

long gpt_size(const GPT *m);            /* number of trained reals */

#endif
