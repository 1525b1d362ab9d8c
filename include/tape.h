/* Tape: what was computed, in the order it was computed.
 *
 * An op computes its output at once and leaves a Node on the tape. An output
 * can only depend on what was there before it, so the order of creation is a
 * topological order of the graph, and the backward pass is one walk from the
 * last node to the first: no sort, no recursion, any depth.
 *
 * Gradients accumulate: backward functions add (+=) into the gradients of
 * their inputs, so a tensor used twice - the residual stream is, at every
 * layer - gets the sum over its uses, as the chain rule demands. */
#ifndef TAPE_H
#define TAPE_H

#include "rng.h"
#include "tensor.h"

enum { MAX_IN = 4 };

typedef struct Node Node;
struct Node {
    const char *op;                     /* the name, for messages */
    void (*backward)(const Node *);     /* adds to in[i]->grad if not NULL */
    Tensor *in[MAX_IN], *out;           /* the inputs first, then NULLs */
    void *saved;                        /* the op's own notes from forward */
    unsigned begins;                    /* bit i: backward adds to
                                           grad_so_far(in[i]). Otherwise a
                                           gradient begins with zeros, and
                                           is one more time through memory */
    double flops;                       /* of the forward pass, for the
                                           profile; backward: twice that */
    int layer;                          /* tape->layer at the time */
    Node *prev;
};

typedef struct Tape {
    Arena arena;            /* holds the step: outputs, notes, nodes */
    bool recording;         /* false: evaluation and sampling */
    bool find_nonfinite;    /* backward stops at the first bad gradient */
    int layer;              /* set by the model, copied into nodes; from 1;
                               0 is what comes before and after the layers */
    Rng noise;              /* dropout draws from it: a stream a step */
    Node *last;
    struct Profile *profile;    /* NULL: the time is not taken */
    void (*watch)(void *watcher, const Node *);     /* backward shows it each
                               node whose output's gradient is complete,
                               before the node passes it on; or NULL */
    void *watcher;
    struct Spare *spare;    /* gradient buffers to be used again */
} Tape;

/* Memory that lives until the next tape_reset. */
void   *tape_alloc(Tape *tp, size_t bytes);
Tensor *tape_tensor(Tape *tp, Shape shape);

/* Appends the node if the tape records and some input wants a gradient; its
 * output then wants one too. Returns the output. */
Tensor *tape_record(Tape *tp, Node node);

/* Reverse mode: with dy the gradient of the loss with respect to y (NULL: y
 * is the loss, a scalar, and dy is 1), adds to the gradient of every
 * parameter that y was computed from. An activation's gradient lives only
 * from its last use to its first; its buffer is then used again, so the
 * backward pass needs a few buffers, not one for every activation.
 * Returns NULL, or with find_nonfinite the node whose backward function was
 * the first to write a NaN or an infinity. */
const Node *tape_backward(Tape *tp, Tensor *y, const real *dy);

/* The first node, in order of creation, whose output is not finite. */
const Node *tape_nonfinite(const Tape *tp);

/* Forgets the step: nodes and their tensors are gone, memory is kept. */
void tape_reset(Tape *tp);

#endif
