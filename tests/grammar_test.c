/* Grammars written as pages: that a text determines its derivation, so that
 * the entropy of the choices is the entropy of the text; entropy and windows
 * of pages small enough to do by hand; and the mistakes one can write. */
#include <math.h>
#include <string.h>
#include "die.h"
#include "story.h"
#include "test.h"

#define COMPILE(g, ...) do {                                            \
        static const Row rows[] = {__VA_ARGS__};                        \
        grammar_compile(g, rows, (int)(sizeof rows / sizeof rows[0]));  \
    } while (0)

/* ---- text determines derivation ---- */

/* A text still to be written: the rest of a letters part, then other parts,
 * then what was to follow the symbol that they belong to. */
typedef struct Rest {
    const Part *part;
    int parts, letter;          /* letter: how many of part[0] are written */
    bool capital;
    const struct Rest *below;
} Rest;

static Rest next(const Rest *r)
{
    return (Rest){r->part + 1, r->parts - 1, 0, false, r->below};
}

static Rest expand(const Grammar *g, const Rest *r, const Rest *after, int k)
{
    const Part *p = r->part;
    const Symbol *s = &g->symbol[p->symbol];
    const Production *q = &g->production[s->production + k];
    bool capital = r->capital || p->capital;
    if (s->forms == 1)
        return (Rest){g->part + q->part, q->parts, 0, capital, after};
    return (Rest){g->part + q->part + p->form, 1, 0, capital, after};
}

static char letter(const Rest *r)
{
    char c = r->part->text[r->letter];
    bool capital = r->capital && r->letter == 0 && c >= 'a' && c <= 'z';
    return (char)(capital ? c - 'a' + 'A' : c);
}

static bool same_reference(const Rest *a, const Rest *b)
{
    return a->part->kind != LETTERS && b->part->kind != LETTERS
        && a->part->symbol == b->part->symbol
        && a->part->form == b->part->form
        && (a->capital || a->part->capital) == (b->capital || b->part->capital);
}

/* Can one of the texts of a begin with one of b, or the other way round?
 * A word written again counts as any of its symbol: too many texts rather
 * than too few. Where both refer to the same thing, both texts go on
 * together, if texts of that thing are told apart: by induction from the
 * bottom of the page, they are. */
static bool overlap(const Grammar *g, const Rest *a, const Rest *b)
{
    while (a && a->parts == 0) a = a->below;
    while (b && b->parts == 0) b = b->below;
    if (!a || !b)
        return true;
    if (same_reference(a, b)) {
        Rest x = next(a), y = next(b);
        return overlap(g, &x, &y);
    }
    if (a->part->kind == LETTERS && b->part->kind == LETTERS) {
        Rest x = *a, y = *b;
        for (; letter(&x) == letter(&y); ) {
            bool end_x = ++x.letter == x.part->length;
            bool end_y = ++y.letter == y.part->length;
            if (end_x) x = next(&x);
            if (end_y) y = next(&y);
            if (end_x || end_y) return overlap(g, &x, &y);
        }
        return false;
    }
    if (a->part->kind == LETTERS) { const Rest *c = a; a = b; b = c; }
    const Rest after = next(a);
    for (int k = 0; k < g->symbol[a->part->symbol].productions; k++) {
        Rest x = expand(g, a, &after, k);
        if (overlap(g, &x, b)) return true;
    }
    return false;
}

static bool same_word(const Rest *a, const Rest *b)
{
    return a->part->length == b->part->length
        && !memcmp(a->part->text, b->part->text, (size_t)a->part->length);
}

/* How many pairs of productions are not told apart by their first letters.
 * A form that is only ever written again may be common to several words. */
static int ambiguous(const Grammar *g, bool say)
{
    bool chosen[MAX_SYMBOLS][16] = {{true}};
    int found = 0;
    for (const Part *p = g->part; p < g->part + g->parts; p++)
        if (p->kind == CHOOSE) chosen[p->symbol][p->form] = true;
    for (int s = 0; s < g->symbols; s++)
    for (int form = 0; form < g->symbol[s].forms; form++)
    for (int l = 0; l < g->symbol[s].productions; l++)
    for (int k = 0; k < l; k++) {
        Part p = {.kind = RECALL, .symbol = s, .form = form};
        Rest r = {&p, 1, 0, false, NULL};
        Rest a = expand(g, &r, NULL, k), b = expand(g, &r, NULL, l);
        if (!overlap(g, &a, &b)) continue;
        if (!chosen[s][form] && same_word(&a, &b)) continue;
        found++;
        if (say) test_say("%s: productions %d and %d", g->symbol[s].name, k,
                          l);
    }
    return found;
}

TEST(a_text_has_one_derivation)
{
    Grammar g;
    story_grammar(&g);
    EXPECT(ambiguous(&g, true) == 0, "texts of one begin with texts of "
           "another");
}

TEST(an_ambiguous_page_is_found_out)
{
    Grammar g;
    COMPILE(&g, {0, "s"}, {1, "<a>b"}, {0, "a"}, {1, "x"}, {1, "xb"});
    EXPECT(ambiguous(&g, false) == 1, "a word begins another");
    COMPILE(&g, {0, "s"}, {1, "<a>"}, {1, "<b>"},
                {0, "a"}, {1, "x"}, {1, "y"}, {0, "b"}, {1, "z"}, {1, "y."});
    EXPECT(ambiguous(&g, false) == 1, "behind two symbols");
    COMPILE(&g, {0, "s"}, {1, "<a> <A>."}, {1, "<a> <b>."},
                {0, "a"}, {1, "x"}, {1, "y"}, {0, "b"}, {1, "X"});
    EXPECT(ambiguous(&g, false) == 1, "by a capital");
    COMPILE(&g, {0, "s"}, {1, "<a> <A>."}, {1, "<a> <b>."},
                {0, "a"}, {1, "x"}, {1, "y"}, {0, "b"}, {1, "x"});
    EXPECT(ambiguous(&g, false) == 0, "not without one");
    COMPILE(&g, {0, "s"}, {1, "<a> and [he]"},
                {0, "a/he"}, {1, "x/he"}, {1, "y/he"}, {1, "z/she"});
    EXPECT(ambiguous(&g, false) == 0, "forms in common may be recalled");
    COMPILE(&g, {0, "s"}, {1, "<he>"},
                {0, "a/he"}, {1, "x/he"}, {1, "y/he"}, {1, "z/she"});
    EXPECT(ambiguous(&g, false) == 1, "but not chosen");
}

/* ---- by hand ---- */

TEST(entropy_of_pages_that_can_be_done_by_hand)
{
    Grammar g;
    COMPILE(&g, {0, "s"}, {1, "<coin><coin>."}, {0, "coin"}, {1, "a"},
                {1, "b"});
    EXPECT(fabs(grammar_entropy(&g, 0) - 2 * log(2)) < 1e-6, "two coins");
    EXPECT(fabs(grammar_length(&g, 0, 0) - 3) < 1e-12, "two coins");
    COMPILE(&g, {0, "s"}, {1, "x"}, {3, "y<coin>[coin]<Coin>"},
                {0, "coin"}, {1, "a"}, {2, "bcd"});
    double coin = log(3) - 2 * log(2) / 3, length = (1 + 2 * 3) / 3.;
    double h = log(4) - 3 * log(3) / 4 + 0.75 * 2 * coin;
    EXPECT(fabs(grammar_entropy(&g, 0) - h) < 1e-6, "got %.9g, not %.9g",
           grammar_entropy(&g, 0), h);
    h = 0.25 + 0.75 * (1 + 3 * length);
    EXPECT(fabs(grammar_length(&g, 0, 0) - h) < 1e-12, "got %.9g, not %.9g",
           grammar_length(&g, 0, 0), h);
    COMPILE(&g, {0, "s"}, {1, "<a>[he]"}, {0, "a/he"}, {1, "x/he"},
                {1, "y/they"});
    EXPECT(fabs(grammar_length(&g, 0, 0) - 4) < 1e-12, "1 + (2 + 4) / 2");
}

TEST(a_capital_is_only_the_first_letter)
{
    Grammar g;
    Memory m;
    char out[20];
    Rng noise = rng_new(0, RNG_TEST, 0);
    COMPILE(&g, {0, "s"}, {1, "<Pair> [word]."}, {0, "pair"},
                {1, "<word>x<word>"}, {0, "word"}, {1, "ab"});
    EXPECT(grammar_write(&g, &noise, out, 20, NULL) == 9 &&
           !memcmp(out, "Abxab ab.", 9), "%.9s", out);
    grammar_forget(&m);
    EXPECT(grammar_parse(&g, 0, "Abxab ab.", 9, &m, NULL) == 9, "it");
    EXPECT(grammar_parse(&g, 0, "Abxab ab.", 8, &m, NULL) == -1, "shorter");
    EXPECT(grammar_parse(&g, 0, "abxab ab.", 9, &m, NULL) == -1, "none");
    EXPECT(grammar_parse(&g, 0, "AbxAb ab.", 9, &m, NULL) == -1, "two");
    EXPECT(grammar_parse(&g, 0, "ABxab ab.", 9, &m, NULL) == -1, "all");
    EXPECT(fabs(grammar_window(&g, "Abxab", 5) - 1 / 9.) < 1e-15, "window");
}

static double at_random_place(const Grammar *g, const char *s)
{
    return grammar_window(g, s, (long)strlen(s));
}

TEST(windows_of_pages_that_can_be_done_by_hand)
{
    static const struct { const char *text; double p; } words[] = {
        {"x", 0.2}, {"y", 0.4}, {".", 0.4}, {"y.", 0.2}, {".x", 0.2},
        {".yy.", 0.2}, {".x.yy.x", 0.05}, {"yx", 0}, {"", 1}
    }, recalls[] = {                            /* fss.fss. ... */
        {"xx", 1 / 8.}, {"Xx", 1 / 16.}, {"yx", 0}, {"x.", 1 / 8.},
        {".Xy", 1 / 16.}, {"xyx", 0}, {"xyy.", 0}, {"Xyy.", 1 / 16.},
        {"yy.X", 1 / 16.}
    };
    Grammar g;
    COMPILE(&g, {0, "s"}, {1, "<a>."}, {0, "a"}, {1, "x"}, {1, "yy"});
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        EXPECT(fabs(at_random_place(&g, words[i].text) - words[i].p) < 1e-15,
               "%s: %g", words[i].text, at_random_place(&g, words[i].text));
    COMPILE(&g, {0, "s"}, {1, "<A><a>[a]."}, {0, "a"}, {1, "x"}, {1, "y"});
    for (size_t i = 0; i < sizeof recalls / sizeof recalls[0]; i++)
        EXPECT(fabs(at_random_place(&g, recalls[i].text) - recalls[i].p)
               < 1e-15, "%s: %g", recalls[i].text,
               at_random_place(&g, recalls[i].text));
}

/* ---- mistakes in a page ---- */

static void compile(void *rows)
{
    Grammar g;
    int n = 0;
    for (const Row *r = rows; r[n].text; ) n++;
    grammar_compile(&g, rows, n);
}

static void recall_before_choice(void *unused)
{
    Grammar g;
    char out[9];
    Rng noise = rng_new(0, RNG_STORY, 0);
    (void)unused;
    COMPILE(&g, {0, "s"}, {1, "[a] <a>"}, {0, "a"}, {1, "x"});
    grammar_write(&g, &noise, out, 9, NULL);
}

TEST(mistakes_in_a_page_are_named)
{
#define DIES(word, ...) \
    EXPECT_DIES(EXIT_INTERNAL, compile, ((Row[]){__VA_ARGS__, {0, NULL}}), \
                "grammar:", word)
    DIES("\"b\"", {0, "s"}, {1, "<b>"}, {0, "a"}, {1, "x"});
    DIES("<s>", {0, "s"}, {1, "x<s>"});
    DIES("<s>", {0, "s"}, {1, "x"}, {0, "a"}, {1, "<s>"});
    DIES("\"x\"", {0, "s"}, {1, "<a>"}, {0, "a/b"}, {1, "x"});
    DIES("\"x/y/z\"", {0, "s"}, {1, "<a>"}, {0, "a/b"}, {1, "x/y/z"});
    DIES("\"x <a\"", {0, "s"}, {1, "x <a"}, {0, "a"}, {1, "x"});
    DIES("\"x <>\"", {0, "s"}, {1, "x <>"}, {0, "a"}, {1, "x"});
    DIES("\"\"", {0, "s"}, {1, ""});
    DIES("head", {1, "x"}, {0, "s"}, {1, "x"});
    DIES("weight", {0, "s"}, {-1, "x"});
    DIES("nothing stands", {0, "s"}, {1, "<a>"}, {0, "a"});
    DIES("two things", {0, "s"}, {1, "<a>"}, {0, "a/b"}, {1, "x/y"},
         {0, "b"}, {1, "z"});
    DIES("[a]", {0, "s"}, {1, "<a> [a]"}, {0, "a"}, {1, "x<b>"},
         {0, "b"}, {1, "x"});
    EXPECT_DIES(EXIT_INTERNAL, recall_before_choice, NULL, "[a]");
}
