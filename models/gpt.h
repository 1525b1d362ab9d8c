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

typedef struct {
    int  layers, width, heads, context, vocab;
    int  placement;         /* row of the table in placement.c */
    int  init;              /* enum Init: std of the branches' matrices */
    bool zero_init;         /* output projections of all branches start at 0 */
    bool residual_scale;    /* ... or scaled by 1/sqrt(2L) (GPT-2) */
    bool tie;               /* the head is the token embedding, transposed */
    double dropout;         /* on the embeddings and on each branch's output */
    uint64_t seed;
} GPTConfig;

typedef struct { Tensor *g, *b; } Norm;         /* gain, bias: (d) */
typedef struct { Tensor *W, *b; } Linear;       /* (in, out), (out) */

/* A branch F(x), and the norm N that the placement puts before or after it.
 *   attention   out(attend(in(x)))     in (d,3d)   out (d,d)
 *   MLP         out(gelu(in(x)))       in (d,4d)   out (4d,d) */
typedef struct {
    Norm   norm;
    Linear in, out;
    int    heads;           /* 0: an MLP */
    real   dropout;
} Sublayer;

/* How a branch is put on the residual stream: one row of placement.c. */
typedef struct {
    const char *name;
    Tensor *(*put)(Tape *tp, Tensor *x, const Sublayer *f);
    bool final_norm;        /* a norm between the last layer and the head */
} Placement;

extern const Placement placements[];    /* ends with a NULL name */

Tensor *apply(Tape *tp, const Sublayer *f, Tensor *x);      /* F(x) */
Tensor *norm(Tape *tp, Tensor *x, const Norm *n);           /* N(x) */

typedef struct {
    GPTConfig config;
    Tensor   *tok, *pos;    /* (V,d), (context,d) */
    Sublayer *branch;       /* 2L: attention, MLP, attention, ... */
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

/* Logits (B*T, V) of B sequences of T <= context tokens; ids[b*T + t]. */
Tensor *gpt_logits(Tape *tp, const GPT *m, const int *ids, int B, int T);

/* Mean cross-entropy in nats per token, against targets[b*T + t]. */
Tensor *gpt_loss(Tape *tp, const GPT *m, const int *ids, const int *targets,
                 int B, int T);

long gpt_size(const GPT *m);            /* number of trained reals */

#endif
