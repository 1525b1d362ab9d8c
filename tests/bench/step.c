/* step L D H T B STEPS: the training steps of such a model on one
 * thread and nothing else, for valgrind to count. */
#include <stdio.h>
#include <stdlib.h>
#include "gpt.h"
#include "kernels.h"
#include "optim.h"

static int number(char **argv, int i) { return atoi(argv[i]); }

int main(int argc, char **argv)
{
    enum { VOCAB = 65 };
    if (argc != 7) {
        fprintf(stderr, "usage: step L D H T B STEPS\n");
        return 64;
    }
    int B = number(argv, 5), T = number(argv, 4), steps = number(argv, 6);
    GPT model;
    Optim optim;
    Arena arena = {0};
    Tape tape = {.recording = true};
    thread_limit(1);
    gpt_new(&model, (GPTConfig){
        .layers = number(argv, 1), .width = number(argv, 2),
        .heads = number(argv, 3), .context = T, .vocab = VOCAB});
    optim_new(&optim, (OptimConfig){.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8},
              model.param, model.nparam, &arena);
    int *ids = arena_alloc(&arena, sizeof *ids * (size_t)(B * T + 1));
    for (int i = 0; i <= B * T; i++) ids[i] = i * 7 % VOCAB;
    for (int s = 0; s < steps; s++) {
        tape_reset(&tape);
        Tensor *loss = gpt_loss(&tape, &model, ids, ids + 1, B, T);
        tape_backward(&tape, loss, NULL);
        optim_step(&optim, (real)1e-3, 1 / (1 + grad_norm(&optim)));
    }
    return 0;
}
