/* probe: one step of training under the glass.
 *
 * Builds the model that the flags describe, or opens the one that a run saved,
 * puts a batch of the corpus through it, takes one step, and shows what passed
 * on the residual path: models/probe.h says what each number is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "checkpoint.h"
#include "config.h"
#include "die.h"
#include "jacobian.h"
#include "kernels.h"
#include "probe.h"
#include "svd.h"

static const char *from = "", *compare = "", *svg = "";
static bool json, jacobians;
static const Flag own[] = {
    FLAG_GROUP("The probe"),
    FLAG_STRING("from", NULL, &from,
        "the next step of a run or checkpoint; of several, as A,B, side by "
        "side"),
    FLAG_STRING("compare", NULL, &compare,
        "placements side by side, as pre,post: same seed, weights and batch"),
    FLAG_BOOL("jacobian", NULL, &jacobians,
        "the Jacobian of each sublayer and of the stack, on a small input"),
    FLAG_BOOL("json", NULL, &json, "for machines: one object a placement"),
    FLAG_STRING("svg", NULL, &svg,
        "a file to draw the gradient along the stream into"),
    FLAG_INT("threads", NULL, &config.threads, "[0,1024]",
        "0: as many as there are cores"),
    FLAG_END
};

/* A Jacobian's singular values, and delta = |J - I| */
typedef struct {
    double largest, median, smallest, mean_square, delta;
} Spectrum;

/* A model, and what the step showed. */
typedef struct {
    const char *name;       /* of the placement, or the directory */
    GPT    model;
    Probe *probe;
    double loss;
    int    tokens;          /* on which the Jacobians are */
    Spectrum *spectrum;     /* of 2L sublayers, and of the stack; or NULL */
} Look;

enum { MOST = 8,                /* placements side by side */
       BLOCK = 7 };             /* columns beside each other: the stream and
                                   its gradient; norm, weights, attention */
typedef struct { int n, placement[MOST]; char *dir[MOST]; } Chosen;

static const Flag *all_flags(void);
static Chosen chosen(Arena *a);
static void   look_at_start(Look *l, Arena *a, int placement);
static void   look_at_saved(Look *l, Arena *a, const char *dir);
static void   check_layers(const Look *l, int n);
static void   put_json(const Look *l);
static void   put_table(const Look *l);
static void   put_side_by_side(const Look *l, int n);
static void   put_jacobians(const Look *l);
static void   draw(Arena *a, const Look *l, int n);

int main(int argc, char **argv)
{
    static Arena arena;
    static Look looks[MOST];
    thread_setup(argv);
    flags_parse(all_flags(), "show the residual path, layer by layer", NULL,
                argc, argv);
    Chosen c = chosen(&arena);
    if (config.threads) thread_limit(config.threads);
    for (int i = 0; i < c.n; i++) {
        if (*from) look_at_saved(&looks[i], &arena, c.dir[i]);
        else look_at_start(&looks[i], &arena, c.placement[i]);
    }
    check_layers(looks, c.n);
    for (int i = 0; i < c.n && json; i++) put_json(&looks[i]);
    if (!json && c.n == 1) put_table(&looks[0]);
    if (!json && c.n > 1) put_side_by_side(looks, c.n);
    for (int i = 0; i < c.n && jacobians; i++)
        put_jacobians(&looks[i]);
    if (*svg) draw(&arena, looks, c.n);
    flush_stdout();
    return 0;
}

/* The command line. */

/* Those of train that describe a model, its training and its text; ours. */
static const Flag *all_flags(void)
{
    static Flag flags[FLAGS_MAX];
    int n = 0;
    for (const Flag *f = config_flags; f->value.any != &config.out; f++)
        flags[n++] = *f;
    for (const Flag *f = own; f < own + sizeof own / sizeof *own; f++)
        flags[n++] = *f;
    return flags;
}

static int find_placement(const char *name, size_t n)
{
    for (int i = 0; placements[i].name; i++)
        if (strlen(placements[i].name) == n
            && !strncmp(placements[i].name, name, n)) return i;
    die(EXIT_USAGE, "--compare=%s: \"%.*s\" is no placement; ./probe --help "
        "lists them", compare, (int)n, name);
}

/* What does not go together. */
static void check_choice(void)
{
    for (const Flag *f = config_flags; f->value.any != &config.out; f++)
        if (*from && f->kind != KIND_GROUP && flags_given(f->value.any))
            die(EXIT_USAGE, "--%s does not go with --from=%s, which has a "
                "configuration of its own", f->name, from);
    if (*from && *compare)
        die(EXIT_USAGE, "--compare=%s does not go with --from=%s: saved "
            "weights belong to one placement", compare, from);
    if (*compare && flags_given(&config.model.placement))
        die(EXIT_USAGE, "--placement does not go with --compare=%s, which "
            "names placements of its own", compare);
}

static Chosen chosen(Arena *a)
{
    Chosen c = {0};
    const char *list = *from ? from : compare;
    check_choice();
    if (!*list) return (Chosen){1, {config.model.placement}, {NULL}};
    for (const char *p = list; ; p++) {
        size_t n = strcspn(p, ",");
        if (c.n == MOST)
            die(EXIT_USAGE, "--%s takes %d %s at most", *from ? "from" :
                "compare", MOST, *from ? "directories" : "placements");
        if (!*from) c.placement[c.n] = find_placement(p, n);
        c.dir[c.n] = arena_alloc(a, n + 1);
        snprintf(c.dir[c.n++], n + 1, "%s", p);
        p += n;
        if (!*p) return c;
    }
}

/* One step. */

/* J (n,n) and scratch are overwritten. */
static Spectrum spectrum_of(int n, double *J, double *scratch, double *sv)
{
    Spectrum s = {0};
    memcpy(scratch, J, sizeof *J * (size_t)(n * n));
    for (int i = 0; i < n; i++) scratch[i * n + i] -= 1;
    singular_values(n, n, scratch, sv);
    s.delta = sv[0];
    singular_values(n, n, J, sv);
    for (int i = 0; i < n; i++) s.mean_square += sv[i] * sv[i] / n;
    s.largest = sv[0], s.median = sv[n / 2], s.smallest = sv[n - 1];
    return s;
}

/* Of each sublayer and of the stack, where the stream's first tokens are: as
 * many as make 128 rows, or one. */
static void measure_jacobians(Look *l, Arena *a)
{
    int d = config.model.width, L2 = 2 * config.model.layers;
    int T = d > 64 ? 1 : least(128 / d, config.model.context), n = T * d;
    double *J = arena_alloc(a, sizeof *J * (size_t)(n * n));
    double *scratch = arena_alloc(a, sizeof *J * (size_t)(n * n));
    double *sv = arena_alloc(a, sizeof *J * (size_t)n);
    l->tokens = T;
    l->spectrum = arena_alloc(a, sizeof *l->spectrum * (size_t)(L2 + 1));
    for (int i = 0; i <= L2; i++) {
        const real *x = l->model.stream[i < L2 ? i : 0]->data;
        gpt_jacobian(&l->model, x, T, i < L2 ? i : 0, i < L2 ? i + 1 : L2, J);
        l->spectrum[i] = spectrum_of(n, J, scratch, sv);
    }
}

/* The step that train would take now. */
static void look(Look *l, Arena *a, const Text *text, Optim *optim, int step)
{
    Tape tape = {.recording = true};
    int B = config.batch, T = config.model.context;
    size_t bytes = sizeof(int) * (size_t)(B * T);
    int *ids = arena_alloc(a, bytes), *targets = arena_alloc(a, bytes);
    uint64_t seed = config.model.seed;

    l->probe = probe_new(a, &l->model);
    tape.noise = rng_new(seed, RNG_DROPOUT, (uint32_t)step);
    text_batch(text, rng_new(seed, RNG_DATA, (uint32_t)step), 0, text->ntrain,
               B, T, ids, targets);
    Tensor *loss = gpt_loss(&tape, &l->model, ids, targets, B, T);
    l->loss = (double)loss->data[0];
    if (jacobians) measure_jacobians(l, a);
    probe_watch(l->probe, &tape);
    tape_backward(&tape, loss, NULL);
    probe_weights(l->probe);
    step = least(step, config.schedule.steps);  /* after it as at the end */
    optim_step(optim, schedule_rate(&config.schedule, step),
               clip_scale(config.grad_clip, grad_norm(optim)));
    probe_update(l->probe);
    arena_free(&tape.arena);
}

static void look_at_start(Look *l, Arena *a, int placement)
{
    static Text text;       /* the same for all */
    Optim optim;
    if (!text.ids) {
        config_begin();
        config_check();
        text = config_text(a);
    }
    config.model.vocab = text.vocab;
    config.model.placement = placement;
    l->name = placements[placement].name;
    gpt_new(&l->model, config.model);
    optim_new(&optim, config.optim, l->model.param, l->model.nparam, a);
    look(l, a, &text, &optim, 1);
}

/* Of weights of transformers the optimiser has not begun, and the training is
 * that of the defaults. */
static void look_at_saved(Look *l, Arena *a, const char *dir)
{
    Checkpoint c;
    Optim optim;
    config_begin();
    checkpoint_open(a, dir, &c);
    checkpoint_config(&c, CONFIG_ALL);
    config_check();
    Text text = config_text(a);
    if (!c.text.code)
        die(EXIT_DATA, "%s has no tokenizer.json: it is not known which "
            "characters its tokens are", dir);
    text_renumber(a, &text, config.data, &c.text);
    l->name = strchr(from, ',') ? dir : placements[config.model.placement].name;
    gpt_new(&l->model, config.model);
    checkpoint_weights(&c, &l->model);
    optim_new(&optim, config.optim, l->model.param, l->model.nparam, a);
    if (!c.foreign) checkpoint_moments(&c, &optim, &l->model);
    look(l, a, &text, &optim, (int)c.progress.step + 1);
}

static void check_layers(const Look *l, int n)
{
    for (int i = 1; i < n; i++)
        if (l[i].probe->n != l->probe->n)
            die(EXIT_USAGE, "--from=%s: side by side they need as many layers: "
                "%s has %d, %s %d", from, l->name, l->probe->n / 2, l[i].name,
                l[i].probe->n / 2);
}

/* What it showed. */

static void put_json(const Look *l)
{
    printf("{\"placement\":\"%s\",\"loss\":%.9g,\"probe\":", l->name,
           l->loss);
    probe_json(stdout, l->probe);
    printf("}\n");
}

/* Sublayer i of n, or the end. */
static const char *place(int i, int n)
{
    static char text[32];
    snprintf(text, sizeof text, i == n ? "end" : "%d.%s", i / 2 + 1,
             i % 2 ? "mlp" : "att");
    return text;
}

static void put_number(double x, int width)
{
    if (isnan(x)) printf(" %*s", width, "");
    else if (x == 0 || (fabs(x) >= 0.01 && fabs(x) < 9999))
        printf(" %*.*f", width, fabs(x) < 100 ? 3 : 0, x);
    else printf(" %*.1e", width, x);
}

static double scale(double x) { return (double)klog((real)x); }

/* A bar on a scale of logarithms between the least and the largest. */
static void put_bar(double x, double least, double most)
{
    static const char full[] = "################";
    enum { WIDTH = sizeof full - 1 };
    double share = most > least ? scale(x / least) / scale(most / least) : 1;
    int n = x > 0 ? 1 + (int)(share * (WIDTH - 1) + 0.5) : 0;
    printf(" %-*.*s", WIDTH, n, full);
}

/* Of all the looks, so that their bars compare. */
static void range(const Look *l, int looks, const ProbeColumn *c,
                  double *least, double *most)
{
    *least = INFINITY, *most = 0;
    for (int k = 0; k < looks; k++)
        for (int i = 0; i <= l[k].probe->n; i++) {
            double x = probe_value(&l[k].probe->row[i], c);
            if (x > 0 && x < *least) *least = x;
            if (x > *most) *most = x;
        }
}

static const ProbeColumn *column(const char *name)
{
    const ProbeColumn *c = probe_columns;
    while (strcmp(c->name, name)) c++;
    return c;
}

/* The columns from c on, a block of them. */
static void put_block(const Probe *p, const ProbeColumn *c)
{
    printf("\n%-8s", "layer");
    for (int k = 0; k < BLOCK && c[k].name; k++) printf(" %9s", c[k].name);
    putchar('\n');
    for (int i = 0; i <= p->n; i++) {
        if (isnan(probe_value(&p->row[i], c)) && i == p->n) break;
        printf("%-8s", place(i, p->n));
        for (int k = 0; k < BLOCK && c[k].name; k++)
            put_number(probe_value(&p->row[i], &c[k]), 9);
        putchar('\n');
    }
}

static void put_table(const Look *l)
{
    const Probe *p = l->probe;
    const ProbeRow *first = p->row, *end = &p->row[p->n];
    printf("%s, %d layers, width %d; loss %.4f\n\n", l->name,
           l->model.config.layers, l->model.config.width, l->loss);
    for (const ProbeColumn *c = probe_columns; c->name; c++)
        printf("  %-10s %s\n", c->name, c->about);
    for (int n = 0; probe_columns[n].name; n++)
        if (n % BLOCK == 0) put_block(p, &probe_columns[n]);
    printf("\ngradient before the first sublayer over that after the last: "
           "%.2g\n", first->grad / end->grad);
    if (!isnan(end->cosine))            /* there is more than one token */
        printf("cosine between the tokens at the end: %.3f\n", end->cosine);
}

/* One quantity after the other, the placements as columns. */
static void put_side_by_side(const Look *l, int n)
{
    static const char *const shown[] = {"stream", "cosine", "grad",
                                        "grad_out", NULL};
    for (int s = 0; shown[s]; s++) {
        const ProbeColumn *c = column(shown[s]);
        double least, most;
        range(l, n, c, &least, &most);
        printf("%s%s: %s\n%-8s", s ? "\n" : "", c->name, c->about, "layer");
        for (int k = 0; k < n; k++) printf("    %-23.23s", l[k].name);
        putchar('\n');
        for (int i = 0; i <= l->probe->n; i++) {
            printf("%-8s", place(i, l->probe->n));
            for (int k = 0; k < n; k++) {
                double x = probe_value(&l[k].probe->row[i], c);
                put_number(x, 9);
                put_bar(x, least, most);
            }
            putchar('\n');
        }
    }
}

static void put_spectrum(const char *where, const Spectrum *s)
{
    printf(json ? "{\"place\":\"%s\",\"largest\":%.9g,\"median\":%.9g,"
           "\"smallest\":%.9g,\"mean_square\":%.9g,\"delta\":%.9g}\n"
           : "%-8s %10.4g %10.4g %10.4g %12.4g %10.4g\n", where, s->largest,
           s->median, s->smallest, s->mean_square, s->delta);
}

static void put_jacobians(const Look *l)
{
    int L2 = l->probe->n, T = l->tokens;
    double bound = 1;
    if (!json)
        printf("\n%s: Jacobians of the sublayers on %d token%s: singular "
               "values, delta = |J - I|\n%-8s %10s %10s %10s %12s %10s\n",
               l->name, T, T == 1 ? "" : "s", "layer", "largest", "median",
               "smallest", "mean square", "delta");
    for (int i = 0; i <= L2; i++) {
        put_spectrum(i < L2 ? place(i, L2) : "stack", &l->spectrum[i]);
        if (i < L2) bound *= 1 + l->spectrum[i].delta;
    }
    printf(json ? "{\"norm_of_product\":%.9g,\"bound\":%.9g}\n" :
           "|product| = %.4g <= product of (1 + delta) = %.4g\n",
           l->spectrum[L2].largest, bound);
}

/* A picture. */

static ChartLine gradient(Arena *a, const Look *l)
{
    int n = l->probe->n + 1;
    double *x = arena_alloc(a, (size_t)n * sizeof *x);
    double *y = arena_alloc(a, (size_t)n * sizeof *y);
    for (int i = 0; i < n; i++) {
        x[i] = i / 2.;
        y[i] = l->probe->row[i].grad;
    }
    return (ChartLine){l->name, n, x, y};
}

static void draw(Arena *a, const Look *l, int n)
{
    ChartLine line[MOST];
    FILE *f = fopen(svg, "w");
    if (!f) die(EXIT_CANTCREATE, "--svg=%s: cannot write: %s", svg,
                strerror(errno));
    for (int k = 0; k < n; k++) line[k] = gradient(a, &l[k]);
    chart_lines(f, &(Chart){"Gradient with respect to the stream", "layer",
                            .y_label = "norm", .y_log = true}, line, n,
                NULL, 0);
    if (fflush(f) || ferror(f) || fclose(f))
        die(EXIT_IO, "--svg=%s: cannot write: %s", svg, strerror(errno));
}
