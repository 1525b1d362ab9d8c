/* The ops: what can be computed and differentiated. One file each in
 * src/ops/, where equations, forward, backward and spec stand together.
 *
 *   op             y                                 shapes
 *   embedding      y[b,t] = tok[ids[b,t]] + pos[t]   tok (V,C)  pos (T',C)
 *   linear         y = x W + b                       x (..,K)  W (K,M)  b (M)
 *   unembed        y = x E'                          x (..,C)  E (V,C)
 *   add            y = x + z                         equal
 *   mul            y = x z                           equal
 *   scale          y = c x                           c a constant
 *   gate           y = g x                           g (1), trained
 *   layernorm      y = g (x - mu)/sqrt(var + eps) + b    g, b (C)
 *   rmsnorm        y = g x / sqrt(mean x^2 + eps)    g (C)
 *   qk_norm        y = (rmsnorm q, rmsnorm k, v)     (..,3HD), by head; g (D)
 *   gelu           y = x sigmoid(2u), u = sqrt(2/pi)(x + .044715 x^3)
 *   relu           y = max(x, 0)
 *   softmax        y = exp(x) / sum exp(x)           over the last axis
 *   attention      y = softmax(q k' / sqrt(D)) v     (B,T,3HD) -> (B,T,HD)
 *   dropout        y = x m / (1 - p), m = 0 or 1
 *   cross_entropy  y = mean_n -log softmax(x_n)[id_n]    x (N,V) -> (1)
 *
 * B sequences of T tokens, C channels (width), H heads of D = C/H, V the
 * vocabulary, N rows, K and M inputs and outputs of a linear map.
 *
 * All take the tape first and return a new tensor of the step. Integers (ids)
 * are not copied: they stay as they are until tape_reset. A shape that does
 * not fit ends the program with one line (EXIT_INTERNAL). To add an op:
 * `make newop NAME=silu` (see README). */
#ifndef OPS_H
#define OPS_H

#include "tape.h"

Tensor *op_embedding(Tape *tp, Tensor *tok, Tensor *pos, const int *ids,
                     int B, int T);
/* b may be NULL: no bias */
Tensor *op_linear(Tape *tp, Tensor *x, Tensor *W, Tensor *b);
Tensor *op_unembed(Tape *tp, Tensor *x, Tensor *E);
Tensor *op_add(Tape *tp, Tensor *x, Tensor *z);
Tensor *op_mul(Tape *tp, Tensor *x, Tensor *z);
Tensor *op_scale(Tape *tp, Tensor *x, real c);
Tensor *op_gate(Tape *tp, Tensor *x, Tensor *g);
Tensor *op_layernorm(Tape *tp, Tensor *x, Tensor *g, Tensor *b, real eps);
Tensor *op_rmsnorm(Tape *tp, Tensor *x, Tensor *g, real eps);
/* x (..,3HD) as for attention, H heads */
Tensor *op_qk_norm(Tape *tp, Tensor *x, Tensor *gq, Tensor *gk, int H,
                   real eps);
Tensor *op_gelu(Tape *tp, Tensor *x);
Tensor *op_relu(Tape *tp, Tensor *x);
Tensor *op_softmax(Tape *tp, Tensor *x);
/* H heads; causal: token t sees tokens 0..t, else all T */
Tensor *op_attention(Tape *tp, Tensor *qkv, int H, bool causal);

/* Keys and values of n tokens that came before, and room for more. */
typedef struct {
    Tensor *kv;             /* (B,room,2HD): of each token k, then v */
    int n;
} Past;
/* The same of T tokens after the n, which they see, too; for a tape that does
 * not record. Their keys and values are put behind the n. */
Tensor *op_attention_past(Tape *tp, Tensor *qkv, int H, bool causal,
                          Past past);
/* 0 <= p < 1. Draws from tape->noise; x itself when the tape is not recording
 * (evaluation) or p is 0 */
Tensor *op_dropout(Tape *tp, Tensor *x, real p);
Tensor *op_cross_entropy(Tape *tp, Tensor *x, const int *ids);

#endif
