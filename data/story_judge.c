/* Reading stories: what they cost, and how many of their sentences the
 * grammar can make. */
#include <string.h>
#include "kernels.h"
#include "story.h"

/* What follows the next newline, NULL if there is none. */
static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : NULL;
}

/* What follows the next empty line. */
static const char *next_story(const char *at, const char *end)
{
    at = next_line(at, end);
    while (at && at < end && *at != '\n')
        at = next_line(at, end);
    return at && at < end ? at + 1 : NULL;
}

double story_nats(const char *text, long n, long *chars)
{
    Grammar g;
    Derivation d;
    Memory m;
    const char *at = text, *end = text + n;
    double nats = 0;
    story_grammar(&g);
    *chars = 0;
    while (at && at < end) {
        grammar_forget(&m);
        long length = grammar_parse(&g, 0, at, end - at, &m, &d);
        if (length > 0) {
            nats += grammar_nats(&g, &d);
            *chars += length;
        }
        at = length > 0 ? at + length : next_story(at, end);
    }
    return nats;
}

/* The log of a positive double of any size: klog takes a float. */
static double log_of(double x)
{
    int exponent;
    double mantissa = frexp(x, &exponent);
    return (double)klog((real)mantissa) + 0x1.62e42fefa39efp-1 * exponent;
}

double story_window_nats(const char *text, long given, long n)
{
    Grammar g;
    story_grammar(&g);
    double before = grammar_window(&g, text, given);
    double all = grammar_window(&g, text, n);
    return all > 0 ? log_of(before) - log_of(all) : (double)INFINITY;
}

/* Is this a line of the language, given the words so far? If so, they are
 * joined by its own. */
static bool read_line(const Grammar *g, const char *line, long n, Memory *m)
{
    for (int s = 0; s < g->symbols; s++) {
        Memory with_line = *m;
        if (g->symbol[s].line &&
            grammar_parse(g, s, line, n, &with_line, NULL) == n) {
            *m = with_line;
            return true;
        }
    }
    return false;
}

/* A sentence that is right but for the words so far begins a new memory: a
 * hero who changes his name in the middle is one mistake, not many. */
static void judge_line(const Grammar *g, const char *line, long n, Memory *m,
                       StoryScore *score)
{
    score->sentences++;
    if (read_line(g, line, n, m)) {
        score->correct++;
        score->consistent++;
    } else {
        grammar_forget(m);
        score->correct += read_line(g, line, n, m);
    }
}

StoryScore story_judge(const char *text, long n)
{
    Grammar g;
    Memory m;
    StoryScore score = {0};
    const char *end = text + n, *story = NULL, *next;
    story_grammar(&g);
    grammar_forget(&m);
    for (const char *line = next_line(text, end); line; line = next) {
        next = next_line(line, end);
        if (!next) break;
        if (*line != '\n') {
            judge_line(&g, line, next - 1 - line, &m, &score);
            continue;
        }
        grammar_forget(&m);             /* an empty line ends a story */
        if (story) {
            score.stories++;
            score.whole += grammar_parse(&g, 0, story, next - story, &m,
                                         NULL) > 0;
            grammar_forget(&m);
        }
        story = next;
    }
    return score;
}
