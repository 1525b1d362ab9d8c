/* A language of small stories. The page below is all there is to know of it:
 * grammar.c writes from it, computes its entropy and parses with it.
 *
 * Read it as a children's book in which the words in <> are chosen by dice
 * and the words in [] are chosen already: <Tom> is some child, [Tom] is that
 * child again, [he] its pronoun. The number before a line is its weight among
 * the lines under one head. To add a line, write it; the test says so if it
 * could be taken for another. */
#include <stddef.h>
#include "story.h"

/* The forms of the words that bend, in the order of their heads. */
#define HE    "/he/him/his/was/I/my"
#define SHE   "/she/her/her/was/I/my"
#define THEY  "/they/them/their/were/We/our"
#define ONE   "/it/it/is/was/this"
#define MANY  "/they/them/are/were/these"
#define ALONE "/its head/I/me/my/mine"
#define BOTH  "/their heads/we/us/our/ours"

static const Row page[] = {
/* ---- what happens: one sentence a line, an empty line at the end ---- */
{0, "story"},
    {1, "<home>\n<friend>\n<then>"},
{0, "then"},
    {3, "<plot>"}, {2, "<trait>\n<plot>"},
{0, "plot"},
    {4, "<loss>\n<worry>\n<search>"},
    {3, "<find>\n<puzzle>\n<meet>\n<yours>\n<owner>"},
    {3, "<cook>\n<knock>\n<in>\n<beg>\n<welcome>\n<guests>"},
    {3, "<wish>\n<set out>\n<meet>\n<tell>\n<far>\n<road>"},
    {2, "<awake>\n<count>\n<whisper>\n<hush>\n<dream>\n\n"},

{0, "search"},
    {1, "<look>\n<set out>\n<meet>\n<ask>\n<answer>"},
    {2, "<set out>\n<meet>\n<ask>\n<answer>"},
{0, "answer"},
    {1, "<seen>\n<there>\n<thanks>\n<close>\n\n"},
    {2, "<not seen>\n<meet>\n<ask>\n<seen>\n<there>\n<close>\n\n"},
{0, "owner"},
    {1, "<theirs>\n<joy>\n<close>\n\n"},
    {2, "<not theirs>\n<meet>\n<yours>\n<theirs>\n<joy>\n<close>\n\n"},
{0, "guests"},
    {1, "<eaten>\n<close>\n\n"},
    {2, "<knock>\n<in>\n<beg>\n<welcome>\n<eaten>\n<close>\n\n"},
{0, "road"},
    {2, "<arrive>\n<wonder>\n<close>\n\n"},
    {1, "<meet>\n<tell>\n<far>\n<arrive>\n<wonder>\n<close>\n\n"},

/* ---- who they are ---- */
{0, "home"},
    {3, "<Tom> lived <by the sea>."},
    {2, "Long ago <Tom> lived <by the sea>."},
    {2, "Once upon a time <Tom> lived <by the sea>."},
{0, "friend"},
    {2, "[He] had <a cat> named <Pip>."},
    {1, "[His] best friend was <a cat> named <Pip>."},
    {1, "With [him] lived <a cat> named <Pip>."},
{0, "trait"},
    {2, "[Pip] was <small> and <brave>."},
    {2, "The [cat] could <dance on one leg>."},

/* ---- something is lost ---- */
{0, "loss"},
    {2, "One <windy> <morning> [Tom] lost [his] <red> <boots>."},
    {1, "One <windy> <morning> [his] <red> <boots> [were] gone."},
{0, "worry"},
    {2, "\"Where [are] [my] [boots]?\" cried [Tom]."},
    {1, "\"[I] must find [them] before <supper>,\" said [Tom]."},
    {1, "[Tom] [was] so sad that [he] could not <eat>."},
{0, "look"},
    {2, "[They] [were] not <under the bed>."},
    {1, "[Pip] looked <under the bed>."},
{0, "ask"},
    {2, "\"Have you seen [my] [red] [boots]?\" asked [Tom]."},
    {1, "\"[Tom] lost [his] [boots],\" said [Pip]."},
{0, "not seen"},
    {2, "\"No,\" said the [fox]."},
    {2, "The [fox] shook [its head]."},
    {2, "\"[We] saw <a spider>, but no [boots],\" said the [fox]."},
{0, "seen"},
    {2, "\"[They] [are] <by the well>,\" said the [fox]."},
    {1, "\"Look <by the well>,\" said the [fox]."},
{0, "there"},
    {2, "And there [they] [were], as [red] as ever."},
    {1, "[Tom] [was] so happy that [he] <danced>."},
{0, "thanks"},
    {1, "\"Thank you,\" said [Tom]."},
    {1, "[Tom] gave the [fox] <a pear>."},

/* ---- something is found ---- */
{0, "find"},
    {2, "One <windy> <morning> [Tom] found somebody's <red> <boots>."},
    {1, "<By the well> [he] found somebody's <red> <boots>."},
{0, "puzzle"},
    {2, "\"Whose [boots] [are] [these]?\" asked [Tom]."},
    {1, "\"[They] [are] not mine,\" said [Pip]."},
{0, "yours"},
    {2, "\"[Are] [these] yours?\" asked [Tom]."},
    {1, "\"[Tom] found [these] [boots],\" said [Pip]."},
{0, "not theirs"},
    {1, "\"Not [ours],\" said the [fox]."},
    {1, "The [fox] shook [its head]."},
    {1, "\"[They] [are] too [red] for [us],\" said the [fox]."},
{0, "theirs"},
    {1, "\"Yes, [they] [are] [ours]!\" cried the [fox]."},
    {1, "\"[Our] [boots]!\" cried the [fox]."},
{0, "joy"},
    {1, "The [fox] <danced> and <danced>."},
    {1, "The [fox] gave [him] <a pear>."},

/* ---- somebody knocks ---- */
{0, "cook"},
    {1, "One <windy> <morning> [Tom] made <pea soup>."},
    {1, "It was cold, so [he] made <pea soup>."},
{0, "knock"},
    {1, "Knock, knock!"}, {1, "\"Who is there?\" asked [Tom]."},
{0, "in"},
    {1, "It was <a fox>."}, {1, "In came <a fox>."},
{0, "beg"},
    {1, "\"May [we] have some [pea soup]?\" asked the [fox]."},
    {1, "\"Nobody makes [pea soup] for [us],\" said the [fox]."},
{0, "welcome"},
    {1, "\"Come in,\" said [Tom]."},
    {1, "\"There is enough for all,\" said [Pip]."},
{0, "eaten"},
    {1, "Soon the [pea soup] was all gone."},
    {1, "They ate until the moon came up."},

/* ---- a long way ---- */
{0, "wish"},
    {1, "[Tom] wanted to see <the sea>."},
    {1, "\"[I] have never seen <the sea>,\" said [Tom]."},
{0, "tell"},
    {1, "\"Where are you going?\" asked the [fox]."},
    {1, "\"We want to see [the sea],\" said [Tom]."},
{0, "far"},
    {1, "\"It is still far,\" said the [fox]."},
    {1, "\"[We] saw [the sea] once,\" said the [fox]."},
    {1, "\"Go <over the hill>,\" said the [fox]."},
{0, "arrive"},
    {2, "At last they saw [the sea]."}, {1, "And there was [the sea]!"},
{0, "wonder"},
    {2, "It was <big> and <beautiful>."}, {1, "\"Oh,\" said [Pip]."},

/* ---- somebody cannot sleep ---- */
{0, "awake"},
    {1, "One <windy> night [Tom] could not sleep."},
    {1, "It was late, but [Tom] could not sleep."},
{0, "count"},
    {2, "[He] counted <sheep>."}, {1, "The [cat] sang about <sheep>."},
{0, "whisper"},
    {1, "\"Are you asleep?\" whispered [Tom]."},
{0, "hush"},
    {1, "\"Yes,\" said [Pip]."}, {1, "\"Not yet,\" said [Pip]."},
{0, "dream"},
    {1, "And [Tom] slept <like a stone>."},
    {1, "And [he] dreamed of <sheep>."},

/* ---- on the way, and home again ---- */
{0, "set out"},
    {1, "So [Tom] and [Pip] set off <over the hill>."},
    {1, "So they <walked> <over the hill>."},
{0, "meet"},
    {2, "<Over the hill> they met <a fox>."},
    {2, "[Tom] saw <a fox> <by the well>."},
    {1, "Soon <a fox> came along."},
{0, "close"},
    {2, "That night [Tom] slept <like a stone>."},
    {2, "\"Good night, [Pip],\" said [Tom]."},
    {1, "Then they all went home <over the hill>."},
    {1, "And if they have not stopped, they are <dancing> still."},

/* ---- words that bend ---- */
{0, "Tom/he/him/his/was/I/my"},
    {3, "Tom" HE}, {2, "Finn" HE}, {2, "Otto" HE},
    {3, "Mia" SHE}, {2, "Ada" SHE}, {2, "Nell" SHE},
    {2, "Kit and Meg" THEY}, {2, "Leo and June" THEY},
{0, "a cat/cat"},
    {3, "a cat/cat"}, {3, "a dog/dog"}, {2, "a goat/goat"},
    {2, "a goose/goose"}, {2, "a hen/hen"}, {2, "a mouse/mouse"},
{0, "Pip"},
    {3, "Pip"}, {3, "Bramble"}, {2, "Moss"}, {2, "Biscuit"}, {2, "Clover"},
    {2, "Pepper"},
{0, "a fox/fox/its head/we/us/our/ours"},
    {3, "a fox/fox" ALONE}, {3, "an owl/owl" ALONE},
    {2, "a badger/badger" ALONE}, {2, "a toad/toad" ALONE},
    {2, "a snail/snail" ALONE}, {2, "a bear/bear" ALONE},
    {2, "two crows/crows" BOTH}, {2, "three frogs/frogs" BOTH},
{0, "boots/they/them/are/were/these"},
    {3, "boots" MANY}, {2, "mittens" MANY}, {2, "marbles" MANY},
    {3, "kite" ONE}, {2, "hat" ONE}, {2, "drum" ONE}, {2, "lantern" ONE},
    {2, "teapot" ONE},

/* ---- words that do not ---- */
{0, "by the sea"},
    {3, "by the sea"}, {2, "on a hill"}, {2, "at the edge of the wood"},
    {2, "in a lighthouse"}, {2, "above the bakery"},
{0, "over the hill"},
    {3, "over the hill"}, {3, "through the wood"}, {2, "down the lane"},
    {2, "across the bridge"}, {2, "along the river"},
{0, "by the well"},
    {3, "by the well"}, {2, "under an oak"}, {2, "on a fence"},
    {2, "behind the barn"}, {2, "in the reeds"},
{0, "under the bed"},
    {2, "under the bed"}, {1, "in the kitchen"}, {1, "behind the door"},
{0, "windy"},
    {3, "windy"}, {2, "bright"}, {2, "foggy"}, {2, "frosty"},
{0, "morning"},
    {2, "morning"}, {1, "evening"}, {1, "day"},
{0, "red"},
    {3, "red"}, {3, "blue"}, {2, "green"}, {2, "yellow"}, {2, "golden"},
{0, "small"},
    {2, "small"}, {1, "round"}, {1, "old"},
{0, "brave"},
    {2, "brave"}, {1, "wise"}, {1, "clever"},
{0, "dance on one leg"},
    {1, "dance on one leg"}, {1, "count to seven"}, {1, "read a map"},
{0, "supper"},
    {1, "supper"}, {1, "dark"},
{0, "eat"},
    {1, "eat"}, {1, "speak"},
{0, "a spider"},
    {1, "a spider"}, {1, "a cloud"}, {1, "the moon"},
{0, "danced"},
    {1, "danced"}, {1, "sang"}, {1, "laughed"},
{0, "dancing"},
    {2, "dancing"}, {1, "walking"}, {1, "singing"},
{0, "a pear"},
    {1, "a pear"}, {1, "an apple"}, {1, "a kiss"},
{0, "pea soup"},
    {1, "pea soup"}, {1, "apple pie"}, {1, "plum cake"},
{0, "the sea"},
    {2, "the sea"}, {1, "the snow"}, {1, "the whale"}, {1, "the queen"},
{0, "big"},
    {1, "big"}, {1, "far away"},
{0, "beautiful"},
    {1, "old"}, {1, "beautiful"},
{0, "sheep"},
    {1, "sheep"}, {1, "stars"}, {1, "pancakes"},
{0, "like a stone"},
    {2, "like a stone"}, {1, "until noon"}, {1, "with one eye open"},
{0, "walked"},
    {1, "walked"}, {1, "ran"},
};

void story_grammar(Grammar *g)
{
    grammar_compile(g, page, (int)(sizeof page / sizeof page[0]));
}

void story_write(char *out, long n, uint64_t seed)
{
    Grammar g;
    story_grammar(&g);
    for (uint32_t story = 0; n > 0; story++) {
        Rng noise = rng_new(seed, RNG_STORY, story);
        long written = grammar_write(&g, &noise, out, n, NULL);
        out += written;
        n -= written;
    }
}

/* Stories are independent and of finite length, so by the law of large
 * numbers a character of an endless text has H(story) / E(length). */
double story_entropy(void)
{
    Grammar g;
    story_grammar(&g);
    return grammar_entropy(&g, 0) / grammar_length(&g, 0, 0);
}
