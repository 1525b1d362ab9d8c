#include <string.h>
#include "die.h"
#include "profile.h"
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
    profile_op(tp->profile, tp->last, FORWARD);
    return node.out;
}

/* Room for a gradient: of the buffers of its size the one that came free last,
 * for that one is still in the cache. */
static real *grad_buffer(Tape *tp, long n)
{
    struct Spare **s = &tp->spare, *found;
    size_t bytes = (size_t)n * sizeof(real);
    while (*s && (*s)->size != n) s = &(*s)->next;
    if (!*s) return tape_alloc(tp, bytes > sizeof **s ? bytes : sizeof **s);
    found = *s;
    *s = found->next;
    return (real *)(void *)found;
}

/* Begins the gradient of input i, if this is the input's last use. */
static void grad_begin(Tape *tp, const Node *nd, int i)
{
    Tensor *x = nd->in[i];
    if (!x->wants_grad || x->grad) return;
    x->grad = grad_buffer(tp, size(x));
    x->fresh = nd->begins >> i & 1;
    for (int j = 0; j < MAX_IN && nd->in[j]; j++)
        if (j != i && nd->in[j] == x) x->fresh = false;     /* x + x */
    if (!x->fresh) memset(x->grad, 0, (size_t)size(x) * sizeof(real));
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
    long n = size(y);
    size_t bytes = (size_t)n * sizeof(real);
    if (!y->grad) y->grad = memset(grad_buffer(tp, n), 0, bytes);
    for (long i = 0; i < n; i++) y->grad[i] += dy ? dy[i] : 1;

    for (Node *nd = tp->last; nd; nd = nd->prev) {
        if (!nd->out->grad) continue;           /* y does not depend on it */
        /* Whatever uses nd->out came later on the tape and has been walked:
         * its gradient is complete. */
        if (tp->watch) tp->watch(tp->watcher, nd);
        for (int i = 0; i < MAX_IN && nd->in[i]; i++) grad_begin(tp, nd, i);
        nd->backward(nd);
        for (int i = 0; i < MAX_IN && nd->in[i]; i++) nd->in[i]->fresh = false;
        profile_op(tp->profile, nd, BACKWARD);
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
