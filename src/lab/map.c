#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "chart.h"
#include "clock.h"
#include "die.h"
#include "kernels.h"
#include "map.h"
#include "setting.h"

enum { MOST = 8, CELLS = 2 * MOST * MOST * MOST };

/* One model of the grid. `key` is the line it leaves, up to its loss: by that
 * it is found again, so all that the loss depends on is in it. What train_on
 * does is "recipe": who changes that gives it another name. */
typedef struct {
    GPTConfig model;
    int warmup;
    char key[320];
    double loss;                /* NaN: not yet, or diverged */
    bool done;
} Cell;

typedef struct {
    int np, nd, nw;
    int placement[MOST], depth[MOST], warmup[MOST];
    Cell cell[CELLS];           /* row by row, as they are drawn */
    int rows, columns;
    const char *row[2 * MOST], *column[MOST * MOST];
    const char *layers[MOST * MOST], *warm[MOST * MOST];    /* its two parts */
    FILE *log;
} Map;

/* -- the grid ----------------------------------------------------------- */

static int placement_named(const char *list, const char *name, size_t n)
{
    for (int i = 0; placements[i].name; i++)
        if (strlen(placements[i].name) == n
            && !strncmp(placements[i].name, name, n)) return i;
    die(EXIT_USAGE, "--placements=%s: \"%.*s\" is none; ./train --help lists "
        "them", list, (int)n, name);
}

static int number(const char *flag, const char *list, const char *text,
                  size_t n, int least)
{
    char *end;
    long x = strtol(text, &end, 10);
    if (n == 0 || end != text + n || x < least || x > 1000000)
        die(EXIT_USAGE, "--%s=%s: \"%.*s\" is no whole number from %d to "
            "1000000", flag, list, (int)n, text, least);
    return (int)x;
}

/* The items between commas. least < 0: placements, else numbers from it on. */
static int read_list(const char *flag, const char *list, int least, int *out)
{
    int n = 0;
    for (const char *p = list;; p++) {
        size_t length = strcspn(p, ",");
        if (n == MOST)
            die(EXIT_USAGE, "--%s=%s: at most %d", flag, list, MOST);
        out[n++] = least < 0 ? placement_named(list, p, length)
                             : number(flag, list, p, length, least);
        p += length;
        if (!*p) return n;
    }
}

static const char *name(Arena *a, const char *format, const char *s, int x,
                        int y)
{
    char *text = arena_alloc(a, 64);
    snprintf(text, 64, format, s, x, y);
    return text;
}

static void cell_new(Cell *c, const MapPlan *plan, const Text *text,
                     int placement, bool zero, int depth, int warmup)
{
    c->model = (GPTConfig){.layers = depth, .width = 32, .heads = 4,
                           .context = MAP_CONTEXT, .placement = placement,
                           .zero_init = zero, .init = INIT_XAVIER,
                           .seed = 1};
    c->warmup = warmup;
    c->loss = NAN;
    snprintf(c->key, sizeof c->key, "{\"placement\":\"%s\",\"layers\":%d,"
             "\"warmup\":%d,\"zero_init\":%s,\"width\":%d,\"heads\":%d,"
             "\"context\":%d,\"init\":\"xavier\",\"seed\":%d,\"recipe\":\"S\","
             "\"steps\":%d,\"lr\":%.9g,\"corpus\":\"%.16s\",\"loss\":",
             placements[placement].name, depth, warmup, zero ? "true" : "false",
             c->model.width, c->model.heads, c->model.context,
             (int)c->model.seed, plan->steps, plan->rate, text->sha256);
}

/* Rows: placements, without and with zero-init (of gates there is no other).
 * Columns: depths, and in each the warmups. */
static void grid_new(Map *m, const MapPlan *plan, const Text *text,
                     Arena *a)
{
    m->np = read_list("placements", plan->placements, -1, m->placement);
    m->nd = read_list("depths", plan->depths, 1, m->depth);
    m->nw = read_list("warmups", plan->warmups, 0, m->warmup);
    for (int d = 0; d < m->nd; d++)
        for (int w = 0; w < m->nw; w++) {
            m->layers[m->columns] = name(a, "%s%d", "", m->depth[d], 0);
            m->warm[m->columns] = name(a, "%s%d", "", m->warmup[w], 0);
            m->column[m->columns++] = name(a, "%s%d, %d", "", m->depth[d],
                                           m->warmup[w]);
        }
    for (int r = 0; r < 2 * m->np; r++) {
        int p = m->placement[r / 2];
        if (r % 2 && placements[p].gated) continue;
        m->row[m->rows] = name(a, r % 2 ? "%s, zero" : "%s",
                               placements[p].name, 0, 0);
        for (int k = 0; k < m->columns; k++)
            cell_new(&m->cell[m->rows * m->columns + k], plan, text, p, r % 2,
                     m->depth[k / m->nw], m->warmup[k % m->nw]);
        m->rows++;
    }
}

/* -- the file ----------------------------------------------------------- */

/* What is there already, and the bytes up to the end of the last line. What
 * follows is one that a killed run did not finish: none. */
static long read_log(Map *m, const char *path)
{
    char line[512];
    long whole = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (!strchr(line, '\n')) continue;
        whole = ftell(f);
        for (int i = 0; i < m->rows * m->columns; i++) {
            Cell *c = &m->cell[i];
            size_t n = strlen(c->key);
            if (strncmp(line, c->key, n)) continue;
            c->done = true;
            c->loss = line[n] == 'n' ? NAN : strtod(line + n, NULL);
        }
    }
    if (f) fclose(f);
    return whole;
}

static const char *path_of(Arena *a, const char *dir, const char *file)
{
    char *path = arena_alloc(a, strlen(dir) + strlen(file) + 2);
    strcat(strcat(strcpy(path, dir), "/"), file);
    return path;
}

static void open_log(Map *m, const char *out, const char *path)
{
    if (mkdir(out, 0777) && errno != EEXIST)
        die(EXIT_CANTCREATE, "--out=%s: cannot create the directory: %s", out,
            strerror(errno));
    /* A torn line is cut off: with more behind it, or only a newline, the next
     * run would take it for one. */
    long whole = read_log(m, path);
    m->log = fopen(path, "a");
    if (!m->log || ftruncate(fileno(m->log), whole))
        die_errno(EXIT_CANTCREATE, path, "cannot write");
}

/* The scale of the colours is that of the text, so that two maps of it can be
 * compared: from its entropy, or where that is not known the best model, to
 * knowing single characters. */
static void draw(const Map *m, const MapPlan *plan, const Text *text, FILE *f)
{
    double value[CELLS], best = text->bigram;
    bool whole = true;
    char title[96];
    for (int i = 0; i < m->rows * m->columns; i++) {
        value[i] = m->cell[i].loss;
        whole &= isfinite(value[i]);
        best = fmin(best, value[i]);
    }
    snprintf(title, sizeof title, "Validation loss after %d steps, lr %g, one "
             "seed a cell", plan->steps, plan->rate);
    chart_map(f, &(ChartMap){
        title, "placement", "warmup", "nats", m->rows, m->columns, m->row,
        m->warm, value, .group_label = "layers", .group = m->layers,
        .low = text->entropy > 0 ? text->entropy : best, .high = text->unigram,
        .pinned = true, .level = {"unigram", text->unigram},
        .other = {"bigram", text->bigram}, .hole = whole ? NULL : "diverged"});
}

static void put_table(const Map *m, const MapPlan *plan, const Text *text,
                      FILE *f)
{
    fprintf(f, "validation loss, nats per character, after %d steps; one seed "
            "a cell; columns:\nlayers, warmup. Single characters: %.3f, pairs "
            "of them: %.3f", plan->steps, text->unigram, text->bigram);
    if (text->entropy > 0) fprintf(f, ", entropy: %.3f", text->entropy);
    fprintf(f, "\n\n%-16s", "");
    for (int k = 0; k < m->columns; k++) fprintf(f, " %9s", m->column[k]);
    fputc('\n', f);
    for (int i = 0; i < m->rows * m->columns; i++) {
        if (i % m->columns == 0) fprintf(f, "%-16s", m->row[i / m->columns]);
        if (isfinite(m->cell[i].loss)) fprintf(f, " %9.4g", m->cell[i].loss);
        else fprintf(f, " %9s", "diverged");
        if (i % m->columns == m->columns - 1) fputc('\n', f);
    }
    for (int w = 0; w < m->nw; w++)
        if (m->warmup[w] >= plan->steps)
            fprintf(f, "The warmup of %d is not over after %d steps.\n",
                    m->warmup[w], plan->steps);
}

/* A file that is opened to be written, and closed when it is. */
static FILE *file_new(const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f) die(EXIT_CANTCREATE, "%s: cannot write: %s", path,
                strerror(errno));
    return f;
}

static void file_done(FILE *f, const char *path)
{
    if (fflush(f) || ferror(f) || fclose(f))
        die_errno(EXIT_IO, path, "cannot write");
}

static void publish(const Map *m, const MapPlan *plan, const Text *text,
                    Arena *a)
{
    const char *svg = path_of(a, plan->out, "map.svg");
    const char *table = path_of(a, plan->out, "map.txt");
    FILE *f = file_new(svg);
    draw(m, plan, text, f);
    file_done(f, svg);
    f = file_new(table);
    put_table(m, plan, text, f);
    file_done(f, table);
    put_table(m, plan, text, stdout);
    printf("wrote %s and %s\n", svg, table);
}

/* -- the work ----------------------------------------------------------- */

static void train_cell(Lab *lab, Map *m, Cell *c, const MapPlan *plan,
                       const Text *text)
{
    Training how = {.steps = plan->steps, .warmup = c->warmup,
                    .rate = plan->rate};
    char loss[32] = "null";
    c->loss = train_on(lab, text, c->model, how);
    c->done = true;
    if (isfinite(c->loss)) snprintf(loss, sizeof loss, "%.9g", c->loss);
    /* one call a line: threads do not mix theirs */
    fprintf(m->log, "%s%s}\n", c->key, loss);
    fflush(m->log);
}

/* A deep model takes long: those come first, so that at the end no thread
 * waits for another. */
static int by_depth(const void *a, const void *b)
{
    const Cell *x = *(Cell *const *)a, *y = *(Cell *const *)b;
    int depth = y->model.layers - x->model.layers;
    return depth ? depth : (x > y) - (x < y);
}

/* Models end in an order of their own: `nth` is of those that are done. */
static void put_done(const Cell *c, int nth, int n, double seconds)
{
    printf("%4d of %d, %5.0f s: %s%s, %d layers, warmup %d: ", nth, n, seconds,
           placements[c->model.placement].name,
           c->model.zero_init ? ", zero-init" : "", c->model.layers,
           c->warmup);
    if (isfinite(c->loss)) printf("%.4g\n", c->loss);
    else puts("diverged");
    fflush(stdout);
}

void map_draw(Lab *lab, const MapPlan *plan, const Text *text)
{
    static Map m;
    static Cell *todo[CELLS];
    const char *log = path_of(&lab->arena, plan->out, "map.jsonl");
    atomic_int done = 0;
    int n = 0;
    grid_new(&m, plan, text, &lab->arena);
    open_log(&m, plan->out, log);
    for (int i = 0; i < m.rows * m.columns; i++)
        if (!m.cell[i].done) todo[n++] = &m.cell[i];
    printf("%d models, of which %d are in %s\n", m.rows * m.columns,
           m.rows * m.columns - n, log);
    fflush(stdout);
    qsort(todo, (size_t)n, sizeof *todo, by_depth);
    double start = now();
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < n; i++) {
        train_cell(lab, &m, todo[i], plan, text);
        put_done(todo[i], 1 + atomic_fetch_add(&done, 1), n, now() - start);
    }
    if (ferror(m.log) || fclose(m.log))
        die_errno(EXIT_IO, log, "cannot write");
    publish(&m, plan, text, &lab->arena);
}
