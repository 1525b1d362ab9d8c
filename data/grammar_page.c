/* A page of text becomes symbols, productions and parts, and its mistakes
 * become messages. */
#include <string.h>
#include "die.h"
#include "grammar.h"

/* The reference that a name stands for; its kind is for the caller to say.
 * Names are compared without regard to a capital in front. */
static Part find(const Grammar *g, const char *name, int n, const char *row)
{
    for (int s = 0; s < g->symbols; s++) {
        const char *head = g->symbol[s].name;
        for (int form = 0; form < g->symbol[s].forms; form++) {
            int length = (int)strcspn(head, "/");
            bool capital = *name - 'A' + 'a' == *head;
            if (length == n && (*name == *head || capital) &&
                !memcmp(name + 1, head + 1, (size_t)n - 1))
                return (Part){.symbol = s, .form = form, .capital = capital};
            head += length + 1;
        }
    }
    die(EXIT_INTERNAL, "grammar: nothing is called \"%.*s\" in the row "
        "\"%s\"", n, name, row);
}

static Part *add_part(Grammar *g, Part p)
{
    CHECK(g->parts < MAX_PARTS, "grammar: more than %d parts; raise "
          "MAX_PARTS", MAX_PARTS);
    g->part[g->parts] = p;
    return &g->part[g->parts++];
}

/* Cuts a row's text at the references, or a word that bends at the slashes. */
static void cut(Grammar *g, int symbol, const char *row)
{
    bool bends = g->symbol[symbol].forms > 1;
    for (const char *t = row; *t; ) {
        int n = (int)strcspn(t, bends ? "/" : "<[");
        if (n > 0)
            add_part(g, (Part){.text = t, .length = n, .kind = LETTERS});
        t += n;
        if (*t == '/')
            t++;
        if (!*t || bends)
            continue;
        const char *end = strpbrk(t, "]>");
        CHECK(end && end > t + 1, "grammar: < or [ without its name in the row "
              "\"%s\"", row);
        Part *p = add_part(g, find(g, t + 1, (int)(end - t) - 1, row));
        p->kind = *t == '<' ? CHOOSE : RECALL;
        CHECK(p->kind == RECALL || p->symbol > symbol, "grammar: the row "
              "\"%s\" chooses <%s>, which does not stand below it", row,
              g->symbol[p->symbol].name);
        t = end + 1;
        if (*t == '\n')
            g->symbol[p->symbol].line = true;
    }
}

static void add_symbol(Grammar *g, const char *head)
{
    CHECK(g->symbols < MAX_SYMBOLS, "grammar: more than %d symbols; raise "
          "MAX_SYMBOLS", MAX_SYMBOLS);
    Symbol *s = &g->symbol[g->symbols++];
    *s = (Symbol){.name = head, .forms = 1};
    for (; *head; head++)
        s->forms += *head == '/';
}

/* Each name must find its own symbol: a second one would be out of reach. */
static void check_names(const Grammar *g)
{
    for (int s = 0; s < g->symbols; s++) {
        const char *name = g->symbol[s].name;
        for (int form = 0; form < g->symbol[s].forms; form++) {
            int n = (int)strcspn(name, "/");
            Part p = find(g, name, n, g->symbol[s].name);
            CHECK(p.symbol == s && p.form == form, "grammar: two things are "
                  "called \"%.*s\": in \"%s\" and in \"%s\"", n, name,
                  g->symbol[p.symbol].name, g->symbol[s].name);
            name += n + 1;
        }
    }
}

static void add_production(Grammar *g, int symbol, const Row *row)
{
    CHECK(symbol >= 0 && row->weight > 0, "grammar: the row \"%s\" needs a "
          "head before it and a weight above 0", row->text);
    CHECK(g->productions < MAX_PRODUCTIONS, "grammar: more than %d "
          "productions; raise MAX_PRODUCTIONS", MAX_PRODUCTIONS);
    Symbol *s = &g->symbol[symbol];
    Production *p = &g->production[g->productions++];
    *p = (Production){.weight = row->weight, .part = g->parts};
    cut(g, symbol, row->text);
    p->parts = g->parts - p->part;
    CHECK(p->parts > 0 && (s->forms == 1 || p->parts == s->forms), "grammar: "
          "the row \"%s\" needs the %d forms of \"%s\"", row->text,
          s->forms, s->name);
    if (s->productions++ == 0)
        s->production = g->productions - 1;
    s->weight += p->weight;
}

/* What is written again must be a word: letters, no choices of its own. And
 * a memory has 64 bits. */
static void check_recall(const Grammar *g, const Part *recall)
{
    const Symbol *s = &g->symbol[recall->symbol];
    const Production *p = g->production + s->production;
    CHECK(s->productions <= 64, "grammar: [%s] has %d productions, 64 are "
          "the most", s->name, s->productions);
    for (int k = 0; k < s->productions; k++)
        CHECK(p[k].parts == s->forms && g->part[p[k].part].kind == LETTERS,
              "grammar: [%s] is not a word: it chooses others", s->name);
}

void grammar_compile(Grammar *g, const Row *page, int rows)
{
    g->symbols = g->productions = g->parts = 0;
    for (int i = 0; i < rows; i++)      /* first: rows speak of what is below */
        if (page[i].weight == 0)
            add_symbol(g, page[i].text);
    check_names(g);
    for (int i = 0, symbol = -1; i < rows; i++) {
        if (page[i].weight == 0)
            symbol++;
        else
            add_production(g, symbol, &page[i]);
    }
    for (int s = 0; s < g->symbols; s++)
        CHECK(g->symbol[s].productions > 0, "grammar: nothing stands under "
              "\"%s\"", g->symbol[s].name);
    for (int i = 0; i < g->parts; i++)
        if (g->part[i].kind == RECALL)
            check_recall(g, &g->part[i]);
}
