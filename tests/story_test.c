/* The built-in corpus: that the computed entropy is what the writer's choices
 * cost, and windows are as frequent as computed; that the parser finds these
 * choices again, and takes what the writer writes and nothing else. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "story.h"
#include "test.h"

enum { MB = 1000000 };
static char text[MB + 4096];

/* ---- derivations and entropy ---- */

TEST(the_parser_recovers_the_choices)
{
    Grammar g;
    Derivation made, read;
    Memory m;
    long wrong = 0;
    story_grammar(&g);
    for (uint32_t story = 0; story < 3000; story++) {
        Rng noise = rng_new(77, RNG_STORY, story);
        long n = grammar_write(&g, &noise, text, sizeof text, &made);
        memcpy(text + n, "Once", 4);
        grammar_forget(&m);
        long length = grammar_parse(&g, 0, text, n + 4, &m, &read);
        wrong += length != n || read.choices != made.choices ||
                 memcmp(read.production, made.production,
                        sizeof(short) * (size_t)made.choices);
        wrong += grammar_parse(&g, 0, text, n - 1, &m, NULL) != -1;
    }
    EXPECT(wrong == 0, "%ld of 3000 stories were read otherwise", wrong);
}

TEST(every_line_of_the_page_is_used)
{
    Grammar g;
    Derivation d;
    long used[MAX_PRODUCTIONS] = {0};
    char story[4096];
    story_grammar(&g);
    for (uint32_t i = 0; i < 10000; i++) {
        Rng noise = rng_new(5, RNG_STORY, i);
        grammar_write(&g, &noise, story, sizeof story, &d);
        for (int k = 0; k < d.choices; k++) used[d.production[k]]++;
    }
    for (int k = 0; k < g.productions; k++)
        EXPECT(used[k] > 0, "never chosen: %s",
               g.part[g.production[k].part].text);
    test_say("%d symbols, %d productions, %d parts", g.symbols,
             g.productions, g.parts);
}

/* Let a story cost X nats and have Y characters. The estimate sum X / sum Y
 * of h = EX / EY has, by the delta method, the standard error
 * sqrt(mean (X - hY)^2 / stories) / mean Y. Five of these are exceeded by
 * chance once in two million seeds. */
TEST(entropy_is_what_the_choices_cost)
{
    Grammar g;
    Derivation d;
    char story[4096];
    double h = story_entropy(), cost = 0, squares = 0, chars = 0;
    uint32_t stories = 0;
    for (story_grammar(&g); chars < 4e6; stories++) {
        Rng noise = rng_new(STORY_SEED, RNG_STORY, stories);
        double y = (double)grammar_write(&g, &noise, story, sizeof story, &d);
        double x = grammar_nats(&g, &d);
        chars += y;
        cost += x;
        squares += (x - h * y) * (x - h * y);
    }
    double counted = cost / chars, error = sqrt(squares) / chars;
    EXPECT(fabs(counted - h) < 5 * error, "counted %.6f, computed %.6f, "
           "standard error %.6f", counted, h, error);
    EXPECT(error < 0.004 * h, "an entropy that is 2 %% wrong is seen");
    test_say("entropy %.6f nats per character; %u stories cost %.6f "
             "(standard error %.6f)", h, stories, counted, error);
}

TEST(a_text_costs_what_its_choices_cost)
{
    Grammar g;
    Derivation d;
    long n = 0, chars;
    double cost = 0;
    story_grammar(&g);
    for (uint32_t story = 0; n < MB; story++) {
        Rng noise = rng_new(3, RNG_STORY, story);
        n += grammar_write(&g, &noise, text + n, (long)sizeof text - n, &d);
        cost += grammar_nats(&g, &d);
    }
    double nats = story_nats(text, n, &chars);
    EXPECT(fabs(nats - cost) < 1e-6 * cost && chars == n, "%.9g nats for %ld "
           "characters, not %.9g for %ld", nats, chars, cost, n);
    nats = story_nats(text + 5, n - 5, &chars);
    EXPECT(nats < cost - 10 && nats > cost - 200 && chars < n - 100,
           "without the first story, of which the beginning is missing");
    nats = story_nats("Hugo lived.\n\nHu", 15, &chars);
    EXPECT(nats <= 0 && chars == 0, "no story");
}

/* ---- windows ---- */

static double at_random_place(const Grammar *g, const char *s)
{
    return grammar_window(g, s, (long)strlen(s));
}

/* P(s) is the sum over c of P(sc). */
TEST(windows_of_one_length_sum_to_one)
{
    static const char *const begin[] = {"", "e", "\n", "the ", "her", " f",
        "\nHe had a goat named ", "was so sad that ", "e lost their"};
    Grammar g;
    story_grammar(&g);
    for (size_t i = 0; i < sizeof begin / sizeof begin[0]; i++) {
        double sum = 0, whole = at_random_place(&g, begin[i]);
        for (int c = 1; c < 128; c++) {
            char longer[60];
            snprintf(longer, sizeof longer, "%s%c", begin[i], c);
            sum += at_random_place(&g, longer);
        }
        EXPECT(whole > 0, "%s", begin[i]);
        EXPECT(fabs(sum - whole) <= 1e-12 * whole, "%s: %.15g, not %.15g",
               begin[i], sum, whole);
    }
}

/* Occurrences in a story against its length: five standard errors, as for
 * the entropy. All strings are within one story. */
TEST(windows_are_as_frequent_as_they_should_be)
{
    static const char *const s[] = {"e", "th", "q", "Pip", "er m", "crow",
        "One", ",\" said the", " their ", "It was not", "her red",
        "?\" a", "\"May we have some plum", "was so sad that he",
        "g Mia lost her "};
    enum { N = sizeof s / sizeof s[0], STORIES = 20000 };
    Grammar g;
    double chars = 0, p[N], count[N] = {0}, squares[N] = {0};
    story_grammar(&g);
    for (int i = 0; i < N; i++) p[i] = at_random_place(&g, s[i]);
    for (uint32_t story = 0; story < STORIES; story++) {
        Rng noise = rng_new(8, RNG_STORY, story);
        long n = grammar_write(&g, &noise, text, 4096, NULL);
        text[n] = 0;
        chars += (double)n;
        for (int i = 0; i < N; i++) {
            int found = 0;
            for (char *at = text; (at = strstr(at, s[i])); at++) found++;
            count[i] += found;
            squares[i] += pow(found - p[i] * (double)n, 2);
        }
    }
    for (int i = 0; i < N; i++)
        EXPECT(fabs(count[i] - p[i] * chars) < 5 * sqrt(squares[i]) &&
               count[i] > 50, "%s: %g expected, %g found, standard error %g",
               s[i], p[i] * chars, count[i], sqrt(squares[i]));
}

/* After an empty line a story begins, and costs what its choices cost. */
TEST(a_window_that_is_a_story_costs_what_the_story_costs)
{
    Grammar g;
    Derivation d;
    story_grammar(&g);
    for (uint32_t story = 0; story < 20; story++) {
        Rng noise = rng_new(6, RNG_STORY, story);
        long n = 2 + grammar_write(&g, &noise, text + 2, 4096, &d);
        memcpy(text, "\n\n", 2);
        double nats = story_window_nats(text, 2, n);
        EXPECT(fabs(nats - grammar_nats(&g, &d)) < 1e-5, "%.9g, not %.9g",
               nats, grammar_nats(&g, &d));
        double parts = story_window_nats(text, 0, 2) + nats;
        EXPECT(fabs(story_window_nats(text, 0, n) - parts) < 1e-5, "chain "
               "rule");
    }
    EXPECT(isinf(story_window_nats("Tom lived by the sex", 1, 20)), "such a "
           "text does not exist");
}

/* What is seen of the past lowers the cost, down to the entropy. */
TEST(a_longer_context_has_a_lower_floor)
{
    enum { WINDOWS = 100 };
    double floor[3] = {0}, h = story_entropy();
    story_write(text, MB, STORY_SEED);
    for (long i = 0; i < WINDOWS; i++)
        for (int j = 0, T = 16; j < 3; j++, T *= 8)
            floor[j] += story_window_nats(text + MB / WINDOWS * i, 1, T + 1)
                      / T / WINDOWS;
    EXPECT(floor[0] > 1.5 * floor[1] && floor[1] > 1.2 * floor[2] &&
           floor[2] > h, "%g %g %g", floor[0], floor[1], floor[2]);
    test_say("least loss in nats, context 16: %.3f, 128: %.3f, 1024: %.3f, "
             "all: %.3f", floor[0], floor[1], floor[2], h);
}

/* ---- writing ---- */

static uint64_t fnv1a(const char *s, long n)
{
    uint64_t h = 0xcbf29ce484222325;
    for (long i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3;
    return h;
}

TEST(the_same_seed_writes_the_same_bytes)
{
    static char again[MB];
    story_write(text, MB, STORY_SEED);
    story_write(again, MB, STORY_SEED);
    EXPECT(!memcmp(text, again, MB), "twice the same");
    EXPECT(fnv1a(text, MB) == 0x0b1e9104c8a501dc, "FNV-1a 0x%016llx",
           (unsigned long long)fnv1a(text, MB));
    for (long n = 0; n < 2000; n++) {
        memset(again, 'z', 2001);
        story_write(again, n, STORY_SEED);
        EXPECT(!memcmp(text, again, (size_t)n) && again[n] == 'z',
               "the first %ld bytes and no more", n);
    }
    story_write(again, MB, STORY_SEED + 1);
    EXPECT(memcmp(text, again, 200), "another seed");
    story_write(again, MB, STORY_SEED + ((uint64_t)1 << 40));
    EXPECT(memcmp(text, again, 200), "all 64 bits of the seed count");
}

TEST(the_text_is_pleasant_to_read)
{
    long count[128] = {0}, lines = 0, empty = 0, longest = 0, length = 0;
    int different = 0;
    bool ascii = true;
    story_write(text, MB, STORY_SEED);
    for (long i = 0; i < MB; i++) {
        unsigned char c = (unsigned char)text[i];
        ascii = ascii && c < 127 && (c == '\n' || c >= ' ');
        count[c & 127]++;
        if (c != '\n') { length++; continue; }
        if (length > longest) longest = length;
        empty += length == 0;
        lines += length > 0;
        length = 0;
    }
    for (int c = 0; c < 128; c++) different += count[c] > 0;
    EXPECT(ascii, "printable ASCII and newlines");
    EXPECT(different >= 40 && different <= 60, "%d characters", different);
    EXPECT(longest < 80, "a line of %ld characters", longest);
    EXPECT(count['"'] % 2 == 0 || text[MB - 1] != '\n', "quotes in pairs");
    test_say("%d characters; %.1f lines of %.1f characters a story, the "
             "longest %ld", different, (double)lines / (double)empty,
             (double)(MB - empty) / (double)lines, longest);
}

/* ---- judging ---- */

TEST(what_is_written_is_judged_right)
{
    story_write(text, MB, 11);
    StoryScore s = story_judge(text, MB);
    EXPECT(s.sentences > 20000 && s.correct == s.sentences &&
           s.consistent == s.sentences, "of %ld, %ld are correct and %ld "
           "consistent", s.sentences, s.correct, s.consistent);
    EXPECT(s.stories > 1000 && s.whole == s.stories, "of %ld stories %ld are "
           "whole", s.stories, s.whole);
    for (long i = 0; i < 500; i++) {
        s = story_judge(text + 37 * i, 900 + i);
        EXPECT(s.sentences > 10 && s.consistent == s.sentences &&
               s.whole == s.stories, "cut out at %ld: %ld of %ld", 37 * i,
               s.consistent, s.sentences);
    }
}

static StoryScore judge(const char *s)
{
    return story_judge(s, (long)strlen(s));
}

static StoryScore judge_one(const char *sentence)
{
    char line[200];
    snprintf(line, sizeof line, "\n%s\n", sentence);
    return judge(line);
}

static const char *const right[] = {
    "Tom lived by the sea.",
    "One windy morning Mia lost her red kite.",
    "Their best friend was a goat named Moss.",
    "They were not under the bed.",
    "It was not under the bed.",
    "\"Where are our boots?\" cried Kit and Meg.",
    "\"Where is my kite?\" cried Tom.",
    "Kit and Meg were so sad that they could not eat.",
    "The crows shook their heads.",
    "\"They are too red for us,\" said the frogs.",
    "\"Is this yours?\" asked Ada.",
    "Through the wood they met two crows.",
    "And there they were, as blue as ever."
};
static const char *const wrong[] = {
    "Mia was so sad that he could not eat.",            /* agreement */
    "Kit and Meg was so sad that they could not eat.",
    "One windy morning Mia lost his red kite.",
    "Kit and Meg saw a crows by the well.",
    "It were not under the bed.",
    "They was not under the bed.",
    "\"Where are my kite?\" cried Tom.",
    "\"Where is my boots?\" cried Tom.",
    "\"Where is our kite?\" cried Tom.",
    "\"Is these yours?\" asked Ada.",
    "The crows shook its head.",
    "The fox shook their heads.",
    "\"Not ours,\" said the fox.",
    "\"May we have some pea soup?\" asked the fox.",
    "She had an cat named Pip.",
    "\"Where is my kite? cried Tom.",             /* quotation */
    "Where is my kite?\" cried Tom.",
    "\"No\" said the fox.",
    "\"No,\" said the fox.\"",
    "'No,' said the fox.",
    "\"No,\" said a fox.",
    "Bob lived by the sea.",                        /* words */
    "Tom lived by the lake.",
    "Tom livd by the sea.",
    "Tom livved by the sea.",
    "Tom lived by the well.",
    "The cat shook its head.",
    "\"No,\" said the Tom.",
    "Tom  lived by the sea.",                       /* spacing */
    " Tom lived by the sea.",
    "Tom lived by the sea .",
    "Tom lived by the sea. ",
    "Tomlived by the sea.",
    "\"No,\"said the fox.",
    "Tom lived by the sea\t.",
    "Tom lived by the sea",                         /* the end */
    "Tom lived by the sea..",
    "Tom lived by the sea!",
    "Tom lived by the sea. He had a cat named Pip.",
    "Tom lived by",
    "lived by the sea.",
    ".",
    "tom lived by the sea.",                        /* capitals */
    "through the wood they met a fox.",
    "So they walked Through the wood.",
    "TOM lived by the sea.",
    "Lived Tom by the sea.",                        /* order */
    "Tom lived by the the sea.",
    "Tom lived lived by the sea.",
    "Tom lived by the \xc3\xa9tang."
};

TEST(single_sentences_are_judged)
{
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        StoryScore s = judge_one(right[i]);
        EXPECT(s.sentences == 1 && s.correct == 1, "%s", right[i]);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        StoryScore s = judge_one(wrong[i]);
        EXPECT(s.sentences == 1 && s.correct == 0, "%s", wrong[i]);
    }
}

/* One character deleted, doubled or replaced: a few such sentences are
 * correct by chance, as when a song is sung a second time by somebody. */
TEST(a_changed_character_is_seen)
{
    Rng noise = rng_new(1, RNG_TEST, 0);
    int accepted = 0, tried = 0;
    story_write(text, 50000, STORY_SEED);
    text[50000] = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char other[100];
        size_t n = strlen(line), at = rng_below(&noise, (uint32_t)n);
        uint32_t way = rng_below(&noise, 3);
        if (line + n == text + 50000) break;
        char c = (char)('a' + rng_below(&noise, 26));
        if (way == 2 && c == line[at]) continue;
        snprintf(other, sizeof other, "%.*s%c%s", (int)at, line,
                 way == 0 ? '#' : way == 1 ? line[at] : c,
                 line + at + (way == 2));
        if (way == 0)
            memmove(other + at, other + at + 2, n - at);
        tried++;
        accepted += judge_one(other).correct != 0;
    }
    EXPECT(tried > 1000, "%d", tried);
    EXPECT(accepted < tried / 200, "%d of %d accepted", accepted, tried);
}

TEST(names_must_return)
{
    StoryScore s = judge("\nTom lived by the sea.\nHe had a cat named Pip.\n"
        "One windy morning Tom lost his red boots.\n"
        "\"I must find them before dark,\" said Tom.\n");
    EXPECT(s.sentences == 4 && s.consistent == 4, "%ld", s.consistent);
    s = judge("\nTom lived by the sea.\nShe had a cat named Pip.\n");
    EXPECT(s.correct == 2 && s.consistent == 1, "she is not Tom");
    s = judge("\nTom lived by the sea.\nHe had a cat named Pip.\n"
        "One windy morning Mia lost her red boots.\n");
    EXPECT(s.correct == 3 && s.consistent == 2, "Mia is not Tom");
    s = judge("\nTom lived by the sea.\nHe had a cat named Pip.\n"
        "One windy morning Tom lost his red boots.\n"
        "\"Where is my kite?\" cried Tom.\n");
    EXPECT(s.correct == 4 && s.consistent == 3, "a kite is not boots");
    s = judge("\nTom lived by the sea.\nHe had a cat named Pip.\n"
        "The dog could read a map.\n");
    EXPECT(s.correct == 3 && s.consistent == 2, "a dog is not a cat");
    s = judge("\nSoon a fox came along.\n\"Where are you going?\" asked the "
        "frogs.\n\nThe toad shook its head.\n");
    EXPECT(s.correct == 3 && s.consistent == 2, "frogs are no fox, but a new "
           "story may have a toad");
    s = judge("\nThe toad shook its head.\n\"No,\" said the fox.\n");
    EXPECT(s.correct == 2 && s.consistent == 1, "what was not introduced "
           "is remembered too");
    s = judge("\n\nTom lived by the sea.\nHe had a cat named Pip.\n"
        "One windy night Tom could not sleep.\nHe counted sheep.\n"
        "\"Are you asleep?\" whispered Tom.\n\"Yes,\" said Pip.\n"
        "And he dreamed of stars.\n\n\"Where is my hat?\" cried Mia.\n");
    EXPECT(s.consistent == 8 && s.whole == 1, "a whole story is forgotten");
}

TEST(whole_stories_are_counted)
{
    long n = 20000;
    story_write(text, n, 4);
    while (text[n - 1] != '\n' || text[n - 2] != '\n') n--;
    StoryScore s = story_judge(text, n);
    EXPECT(s.stories > 20 && s.whole == s.stories, "all but the first");
    long stories = s.stories;
    text[n] = 0;
    char *line = strstr(text + 5000, "\n\n") + 2, *end = strchr(line, '\n');
    memmove(line, end + 1, (size_t)(text + n - end - 1));
    s = story_judge(text, n - (end + 1 - line));
    EXPECT(s.stories == stories && s.whole == stories - 1, "one without its "
           "first line: %ld of %ld", s.whole, s.stories);
}

TEST(texts_of_any_kind_are_judged)
{
    StoryScore s = story_judge("", 0);
    EXPECT(s.sentences == 0 && s.stories == 0, "nothing");
    s = judge("Tom lived by the sea.");
    EXPECT(s.sentences == 0, "no newline: nothing that is whole");
    s = judge("d by the sea.\nTom lived by the sea.\nHe ha");
    EXPECT(s.sentences == 1 && s.consistent == 1, "without both ends");
    s = judge("\n\n\n\n");
    EXPECT(s.sentences == 0 && s.stories == 2 && s.whole == 0, "empty");
    s = story_judge("\nTom\0lived by the sea.\n", 24);
    EXPECT(s.sentences == 1 && s.correct == 0, "NUL");
    Rng noise = rng_new(2, RNG_TEST, 0);
    for (int i = 0; i < 20000; i++) text[i] = (char)rng_below(&noise, 256);
    s = story_judge(text, 20000);
    EXPECT(s.sentences > 10 && s.correct == 0, "noise");
}
