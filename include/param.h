/* Param: a tensor that is trained, and its name: what the optimiser updates
 * and what a weights file holds. A model is, to both, an array of these. */
#ifndef PARAM_H
#define PARAM_H

#include "tensor.h"

typedef struct {
    char    name[96];       /* "h.0.attn.c_attn.weight" */
    Tensor *t;
    bool    decay;          /* a matrix; gains, biases, scalars do not decay */
} Param;

#endif
