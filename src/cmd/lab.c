/* lab: what is claimed about the place of the norm, measured again.
 *
 * Each claim is a file of src/lab/, or a part of one; see include/lab.h. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "clock.h"
#include "config.h"
#include "die.h"
#include "flags.h"
#include "json.h"
#include "kernels.h"
#include "lab.h"
#include "map.h"
#include "report.h"

#define CLAIM(c) extern const Claim c;
#include "claim_list.h"
#undef CLAIM
#define CLAIM(c) &c,
static const Claim *const claims[] = {
#include "claim_list.h"
};
enum { CLAIMS = sizeof claims / sizeof *claims };
_Static_assert(SEEDS_MOST == 1000, "the range of --seeds");

static const char *out = "";
static MapPlan plan = {.placements = "pre,post,peri,deepnorm",
                       .depths = "6,12,24,48", .warmups = "0,100,1000",
                       /* twice the longest */
                       .steps = 2000, .rate = 3e-3};
static Lab lab = {.data = "data/tinyshakespeare.txt"};
static bool only_quick, with_training, list, json;
static int threads;

static const Flag flags[] = {
    FLAG_BOOL("quick", NULL, &only_quick, "only the claims at initialisation"),
    FLAG_BOOL("train", NULL, &with_training,
        "these and those about training (the default), and the text is needed"),
    FLAG_BOOL("list", NULL, &list, "list the claims and run none"),
    FLAG_BOOL("json", NULL, &json, "one JSON object for each claim"),
    FLAG_INT("seeds", NULL, &lab.seeds, "[0,1000]",
        "average over so many initialisations, where --list names a least "
        "number; of fewer a claim is skipped. 0: as many as it needs"),
    FLAG_STRING("data", NULL, &lab.data, "where tiny Shakespeare is"),
    FLAG_INT("threads", NULL, &threads, "[0,1024]", "0: one for each core"),
    FLAG_STRING("out", "o", &out,
        "of `lab map` a directory (map), of `lab report` a page (report.html)"),
    FLAG_GROUP("lab map"),
    FLAG_STRING("placements", NULL, &plan.placements, "rows of the map"),
    FLAG_STRING("depths", NULL, &plan.depths, "its columns: layers"),
    FLAG_STRING("warmups", NULL, &plan.warmups, "and in each these warmups"),
    FLAG_INT("steps", NULL, &plan.steps, "[1,1000000]", "of each model"),
    FLAG_REAL("lr", NULL, &plan.rate, "[1e-30,1e6]", "after the warmup"),
    FLAG_END
};

static void map(int n, char **more);
static void report(int n, char **dirs);
static void select_claims(bool chosen[CLAIMS], int n, char **ids);
static void progress(const char *what);
static void put_list(const bool chosen[CLAIMS]);
static void put_claim(const Claim *c, Verdict verdict, double seconds);
static void put_json(const Claim *c, Verdict verdict, double seconds);
static void put_summary(const int count[4], double seconds);

int main(int argc, char **argv)
{
    bool chosen[CLAIMS];
    int count[4] = {0};
    thread_setup(argv);
    int n = flags_parse(flags, "measure what is claimed about the place of "
                        "the norm", "[CLAIM ... | map | report RUN ...]",
                        argc, argv);
    if (threads) thread_limit(threads);
    if (n && !strcmp(argv[1], "map")) return map(n - 1, argv + 2), 0;
    if (n && !strcmp(argv[1], "report")) return report(n - 1, argv + 2), 0;
    select_claims(chosen, n, argv + 1);
    lab.data_wanted = with_training || flags_given(&lab.data);
    if (isatty(STDERR_FILENO)) lab.progress = progress;
    double start = now();
    if (list) put_list(chosen);
    for (int i = 0; i < CLAIMS && !list; i++) {
        if (!chosen[i]) continue;
        double begun = now();
        lab_progress(&lab, "%s", claims[i]->id);
        Verdict verdict = claim_run(claims[i], &lab);
        if (lab.progress) progress(NULL);
        (json ? put_json : put_claim)(claims[i], verdict, now() - begun);
        count[verdict]++;
        flush_stdout();
    }
    if (!list && !json) put_summary(count, now() - start);
    flush_stdout();
    return count[FAILS] ? 1 : 0;
}

/* The other two things to be had. */

static void map(int n, char **more)
{
    if (n) die(EXIT_USAGE, "lab map: what is %s? It takes flags only", *more);
    plan.out = *out ? out : "map";
    config.model.context = MAP_CONTEXT;
    if (flags_given(&lab.data)) config.data = lab.data;
    Text text = config_text(&lab.arena);
    map_draw(&lab, &plan, &text);
    flush_stdout();
}

static void report(int n, char **dirs)
{
    const char *page = *out ? out : "report.html";
    if (n == 0)
        die(EXIT_USAGE, "lab report: name the directories of one run or more");
    report_write(page, (const char *const *)dirs, n, false);
    printf("wrote %s\n", page);
    flush_stdout();
}

/* The claims named on the command line, or all; of these the quick ones, if no
 * others are wanted. */

static int claim_named(const char *id)
{
    static char known[16 * CLAIMS];
    size_t n = 0;
    for (int i = 0; i < CLAIMS; i++) {
        if (!strcasecmp(id, claims[i]->id)) return i;
        n += (size_t)snprintf(known + n, sizeof known - n, " %s",
                              claims[i]->id);
    }
    die(EXIT_USAGE, "there is no claim %s; there are%s", id, known);
}

static void select_claims(bool chosen[CLAIMS], int n, char **ids)
{
    bool any = false;
    for (int i = 0; i < CLAIMS; i++) chosen[i] = n == 0;
    for (int i = 0; i < n; i++) chosen[claim_named(ids[i])] = true;
    for (int i = 0; i < CLAIMS; i++) {
        if (only_quick && !with_training) chosen[i] &= claims[i]->kind == quick;
        any |= chosen[i];
    }
    if (!any)
        die(EXIT_USAGE, "none of the claims named is --quick: they need "
            "training");
}

/* What is going on, on the terminal's last line; NULL wipes it. */
static void progress(const char *what)
{
    fprintf(stderr, "\r\033[K%.78s", what ? what : "");
    fflush(stderr);
}

/* For people. */

/* The text in lines of at most 80 columns, from column `left` on. */
static void put_words(int left, const char *text)
{
    int column = printf("%*s", left, "");
    for (; *text; text += strspn(text, " ")) {
        int n = (int)strcspn(text, " ");
        if (column > left && column + 1 + n > 80)
            column = printf("\n%*s", left, "") - 1;
        column += printf("%s%.*s", column > left ? " " : "", n, text);
        text += n;
    }
    putchar('\n');
}

static void put_list(const bool chosen[CLAIMS])
{
    for (int i = 0; i < CLAIMS; i++) {
        const Claim *c = claims[i];
        if (!chosen[i]) continue;
        printf("%-4s %-9s %s", c->id, c->kind == quick ? "quick" : "training",
               c->source);
        if (c->fewest) printf("; --seeds=%d or more", c->fewest);
        putchar('\n');
        put_words(15, c->claim);
    }
}

/* The interval, as one would write it. */
static const char *threshold(const Measurement *m)
{
    static char text[64];
    double middle = (m->low + m->high) / 2, half = (m->high - m->low) / 2;
    if (m->low == m->high)
        snprintf(text, sizeof text, "%.6g exactly", m->low);
    else if (isinf(m->high))
        snprintf(text, sizeof text, ">= %.6g", m->low);
    else if (isinf(m->low) || m->low == 0)
        snprintf(text, sizeof text, "<= %.6g", m->high);
    else if (half <= fabs(middle) / 100 || fabs(middle) < half / 100)
        snprintf(text, sizeof text, "%.6g +- %.1g", middle, half);
    else
        snprintf(text, sizeof text, "%.5g to %.5g", m->low, m->high);
    return text;
}

static void put_measurement(const Measurement *m)
{
    printf("     %-44s %9.5g", m->name, m->value);
    if (m->n && isfinite(m->error)) printf(" +- %.1g", m->error);
    if (m->n) printf(" (%d seed%s)", m->n, m->n > 1 ? "s" : "");
    printf("  claim: %s", threshold(m));
    if (m->seen) printf("  (seen: %s)", m->seen);
    if (verdict_of(m) != HOLDS)
        printf("  %s", verdict_names[verdict_of(m)]);
    putchar('\n');
    if (verdict_of(m) == DIFFERS) put_words(7, m->differs);
}

static void put_claim(const Claim *c, Verdict verdict, double seconds)
{
    printf("%-4s %s, %.1f s  (%s)\n", c->id, verdict_names[verdict], seconds,
           c->source);
    put_words(5, c->claim);
    if (verdict == SKIPPED) put_words(5, lab.skipped);
    else for (int i = 0; i < lab.n; i++) put_measurement(&lab.m[i]);
    putchar('\n');
}

static void put_summary(const int count[4], double seconds)
{
    printf("%d hold, %d differ, %d fail, %d skipped; %.0f s\n", count[HOLDS],
           count[DIFFERS], count[FAILS], count[SKIPPED], seconds);
}

/* For machines: an object in a line. */

static void put_text(const char *key, const char *text)
{
    printf(",\"%s\":", key);
    if (text) json_write_string(stdout, text, strlen(text));
    else fputs("null", stdout);
}

static void put_number(const char *key, double x)
{
    if (isfinite(x)) printf(",\"%s\":%.9g", key, x);
    else printf(",\"%s\":null", key);
}

static void put_json(const Claim *c, Verdict verdict, double seconds)
{
    printf("{\"id\":\"%s\"", c->id);
    put_text("kind", c->kind == quick ? "quick" : "training");
    put_text("claim", c->claim);
    put_text("source", c->source);
    put_text("verdict", verdict == FAILS ? "fails" : verdict_names[verdict]);
    put_text("skipped", lab.skipped);
    put_number("seconds", seconds);
    fputs(",\"measured\":[", stdout);
    for (int i = 0; i < lab.n && verdict != SKIPPED; i++) {
        const Measurement *m = &lab.m[i];
        fputs(i ? ",{\"name\":" : "{\"name\":", stdout);
        json_write_string(stdout, m->name, strlen(m->name));
        put_number("value", m->value);
        put_number("standard_error", m->n ? m->error : NAN);
        printf(",\"seeds\":%d", m->n);
        put_number("low", m->low);
        put_number("high", m->high);
        printf(",\"holds\":%s", verdict_of(m) == HOLDS ? "true" : "false");
        put_text("seen", m->seen);
        put_text("differs", m->differs);
        putchar('}');
    }
    puts("]}");
}

