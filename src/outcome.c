#include "outcome.h"

const char *outcome_verdict(const Text *t, double loss, Path path)
{
    static char words[256];
    double margin = 0.1 * (t->unigram - t->bigram);
    if (loss < t->bigram)
        return "trained: it knows more than pairs of characters";
    if (loss < t->unigram - margin)
        return "on its way: between single characters and pairs of them";
    if (loss > t->unigram + margin)
        return "hardly begun: it does not know yet how frequent characters "
               "are";
    if (path.left < 1e-3)
        snprintf(words, sizeof words, "stuck at the unigram level: of the "
                 "gradient %.0e is left before the first layer,\nand the "
                 "cosine between tokens is %.3f: they collapse onto each "
                 "other", path.left, path.cosine);
    else
        snprintf(words, sizeof words, "at the unigram level: it knows how "
                 "frequent characters are; the gradient\nstill reaches the "
                 "first layer, and more steps may tell");
    return words;
}

static void put_bar(FILE *f, const char *name, double nats, double longest)
{
    enum { WIDTH = 40 };
    int n = longest > 0 ? (int)(nats / longest * WIDTH + 0.5) : 0;
    fprintf(f, "  %-24s %7.4f  ", name, nats);
    for (int i = 0; i < n && i < WIDTH; i++) putc('#', f);
    putc('\n', f);
}

void outcome_print(FILE *f, const Text *t, double loss)
{
    double longest = t->uniform > loss ? t->uniform : loss;
    fprintf(f, "\nnats per character, on the whole validation part\n");
    put_bar(f, "every character alike", t->uniform, longest);
    put_bar(f, "single characters", t->unigram, longest);
    put_bar(f, "pairs of characters", t->bigram, longest);
    put_bar(f, "this model", loss, longest);
    if (t->entropy > 0)
        put_bar(f, "entropy of the language", t->entropy, longest);
}
