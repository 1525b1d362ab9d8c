#include <stdio.h>
#include <string.h>
#include "checkpoint.h"
#include "huggingface.h"

static void put_shapes(FILE *f, const GPT *m)
{
    fprintf(f, "tensors    N = 0 .. %d\n", m->config.layers - 1);
    for (int i = 0; i < m->nparam; i++) {
        const Param *p = &m->param[i];
        bool in_layer = !strncmp(p->name, "h.", 2);
        if (in_layer && strncmp(p->name, "h.0.", 4)) continue;
        fprintf(f, "           %s%-*s %s\n", in_layer ? "h.N." : "",
                in_layer ? 24 : 28, p->name + (in_layer ? 4 : 0),
                shape_text(p->t->shape));
    }
}

static void put_run(FILE *f, const Checkpoint *c)
{
    const Progress *p = &c->progress;
    const Json *corpus = json_get(c->config, "corpus");
    const char *hash = "";
    double characters = 0;
    json_string(json_get(corpus, "sha256"), &hash);
    json_real(json_get(corpus, "characters"), &characters);
    fprintf(f, "step       %ld of %d\nloss       %.4f", p->step,
            config.schedule.steps, p->loss);
    if (p->val_loss > 0) fprintf(f, "; validation %.4f", p->val_loss);
    if (p->best) fprintf(f, ", the lowest %.4f at step %ld", p->best_loss,
                         p->best);
    fprintf(f, "\ncorpus     ");
    json_write_string(f, config.data, strlen(config.data));
    fprintf(f, ", %.0f characters, SHA-256 %.64s\n", characters, hash);
}

void checkpoint_info(FILE *f, const Checkpoint *c, const GPT *m)
{
    const GPTConfig *g = &m->config;
    const char *why, *class = hf_class(g, &why);
    fprintf(f, "%s\n", c->dir);
    fprintf(f, c->foreign ? "written by another program: no checksums\n"
            : "written by plumb %s; the SHA-256 of all files is right\n",
            PLUMB_VERSION);
    if (!c->foreign) put_run(f, c);
    fprintf(f, "model      %s, %s%s; layers %d, width %d, heads %d, context "
            "%d, vocabulary %d%s\n           %ld parameters; transformers: "
            "%s\n", placements[g->placement].name,
            g->norm == RMSNORM ? "rmsnorm" : "layernorm",
            g->qk_norm ? ", qk-norm" : "", g->layers, g->width, g->heads,
            g->context, g->vocab, g->tie ? ", tied" : "", gpt_size(m),
            class ? class : why);
    put_shapes(f, m);
}
