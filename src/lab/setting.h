/* The settings in which the claims are checked.
 *
 *   X  Xiong et al. (2020), as simple as their proofs need it: 1 head, MLP of
 *      width d with ReLU, W_Q = W_K = 0, so that attention is the mean over
 *      all tokens, no mask; d = 64, T = 32
 *   R  a decoder as in the papers: causal, 4 heads, MLP of width 4d with
 *      ReLU; d = 64, T = 32
 *   S  a decoder as ./train has it, with GELU, and T = 64: tiny Shakespeare,
 *      B = 8, Adam (0.9, 0.98, 1e-8); no clipping, no decay, no schedule but
 *      the warmup
 *
 * Everywhere Xavier: W ~ N(0, 2/(in + out)); biases 0, gains 1. W_Q, W_K and
 * W_V count as a matrix (d,d) each. PyTorch's nn.MultiheadAttention takes them
 * as one, (d,3d), which is half the variance: a measurement with "W_QKV joint"
 * in its name (C8, C9) is of that convention. X and R have no text:
 * x_0 ~ N(0, I), B = 4, the targets are random; X's head is N(0, 1/d), R's the
 * model's own. */
#ifndef SETTING_H
#define SETTING_H

#include "lab.h"
#include "probe.h"

/* A model at its initial weights, one input, one tape. It must not move. */
typedef struct {
    GPT     model;
    int     L, d, T, B;
    Tensor *x0;             /* (B,T,d), a leaf: it has a gradient, too */
    int    *targets;        /* (B,T) */
    Probe  *probe;          /* what the last trial_step saw */
    Tape    tape;
    Arena   arena;
} Trial;

GPTConfig setting_x(const char *placement, int layers, int seed);
GPTConfig setting_r(const char *placement, int layers, int seed);
GPTConfig setting_s(const char *placement, int layers, int seed);

void trial_new(Trial *t, GPTConfig c, int B);
void trial_x(Trial *t, const char *placement, int layers, int seed);
void trial_r(Trial *t, const char *placement, int layers, int seed);
/* W_QKV as if drawn by the joint convention, see above. */
void joint_qkv(Trial *t);
void trial_free(Trial *t);

/* The stream after all layers, from x_0; with the final norm, where there is
 * one; and the mean cross-entropy. Each begins the tape anew. */
Tensor *trial_stream(Trial *t);
Tensor *trial_output(Trial *t);
Tensor *trial_loss(Trial *t);

/* The gradients of the loss, and t->probe->row. */
void trial_step(Trial *t);

/* After trial_step: |d W_2| of layer l = 1 .. L. */
double w2_gradient(const Trial *t, int l);

double mean_square(const Tensor *x);

/* The exponent a of the power law y = c x^a that fits best: the slope of the
 * least-squares line through (log x, log y). */
double exponent(int n, const double *x, const double *y);

/* S's training, on any text and of any model: the validation loss after it,
 * in nats per character; NaN if it diverged. Several threads may each train
 * one. And on tiny Shakespeare; NaN if that is not there (the claim is then
 * skipped). */
typedef struct { int steps, warmup; double rate, clip; } Training;
double train_on(Lab *lab, const Text *text, GPTConfig c, Training how);
double train_s(Lab *lab, GPTConfig c, Training how);

#endif
