#include <string.h>
#include "die.h"
#include "tape.h"

struct Spare { struct Spare *next; long size; };    /* lies in the buffer */

void *tape_alloc(Tape *tp, size_t bytes)
{
    return arena_alloc(&tp->arena, bytes);
}

Tensor *tape_tensor(Tape *tp, Shape shape)
{
    return tensor_new(&tp->arena, shape);
}

Tensor *tape_record(Tape *tp, Node node)
{
    bool wanted = false;
    for (int i = 0; i < MAX_IN && node.in[i]; i++)
        wanted |= node.in[i]->wants_grad;
    if (!tp->recording || !wanted) return node.out;
    node.out->wants_grad = true;
    node.layer = tp->layer;
    node.prev = tp->last;
    tp->last = tape_alloc(tp, sizeof node);
    *tp->last = node;
    return node.out;
}

/* A gradient of zeros, in the buffer that came free last if it fits: that
 * one is still in the cache. */
static real *grad_new(Tape *tp, long n)
{
    struct Spare **s = &tp->spare;
    size_t bytes = (size_t)n * sizeof(real);
    void *buffer;
    while (*s && (*s)->size != n) s = &(*s)->next;
    if (*s) {
        buffer = *s;
        *s = (*s)->next;
    } else {
        buffer = tape_alloc(tp, bytes > sizeof **s ? bytes : sizeof **s);
    }
    return memset(buffer, 0, bytes);
}

static void grad_spare(Tape *tp, Tensor *x)
{
    struct Spare *s = (struct Spare *)(void *)x->grad;
    *s = (struct Spare){tp->spare, size(x)};
    tp->spare = s;
    x->grad = NULL;
}

static bool grads_finite(const Node *nd)
{
    for (int i = 0; i < MAX_IN && nd->in[i]; i++)
        if (nd->in[i]->grad && !all_finite(size(nd->in[i]), nd->in[i]->grad))
            return false;
    return true;
}

const Node *tape_backward(Tape *tp, Tensor *y, const real *dy)
{
    CHECK(dy || size(y) == 1, "backward: the loss is a scalar, got %s",
          shape_text(y->shape));
    CHECK(y->wants_grad, "backward: y was not computed from a parameter");
    if (!y->grad) y->grad = grad_new(tp, size(y));
    for (long i = 0; i < size(y); i++) y->grad[i] += dy ? dy[i] : 1;

    for (Node *nd = tp->last; nd; nd = nd->prev) {
        if (!nd->out->grad) continue;           /* y does not depend on it */
        /* Whatever uses nd->out came later on the tape and has been walked:
         * its gradient is complete. That of an input begins here, if this
         * is the input's last use. */
        for (int i = 0; i < MAX_IN && nd->in[i]; i++)
            if (nd->in[i]->wants_grad && !nd->in[i]->grad)
                nd->in[i]->grad = grad_new(tp, size(nd->in[i]));
        nd->backward(nd);
        if (tp->find_nonfinite && !grads_finite(nd)) return nd;
        grad_spare(tp, nd->out);                /* nothing reads it now */
    }
    return NULL;
}

const Node *tape_nonfinite(const Tape *tp)
{
    const Node *first = NULL;
    for (const Node *nd = tp->last; nd; nd = nd->prev)
        if (!all_finite(size(nd->out), nd->out->data)) first = nd;
    return first;
}

void tape_reset(Tape *tp)
{
    arena_reset(&tp->arena);
    tp->last = NULL;
    tp->spare = NULL;
    tp->layer = 0;
}
