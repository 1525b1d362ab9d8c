#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "die.h"
#include "flags.h"
#include "test.h"

static const char *const newlines[] = {"keep", "lf", NULL};
static const struct { const char *name; int norms; } placements[] = {
    {"pre", 1}, {"post", 2}, {"peri", 4}, {NULL, 0}
};

static int layers = 6, warmup = 100, shift = 0, newline, placement;
static uint64_t seed = 1;
static double lr = 1e-3, dropout = 0.1, eps = 1e-5;
static bool zero_init, bias = true;
static const char *out = "out", *prompt = "";

static const Flag flags[] = {
    FLAG_GROUP("Model"),
    FLAG_INT("layers", "n_layer", &layers, "[1,1000]", "blocks"),
    FLAG_CHOICE("placement", NULL, &placement, placements,
                "where the normalisation stands on the residual path"),
    FLAG_BOOL("zero-init", NULL, &zero_init, "branches start at 0"),
    FLAG_BOOL("bias", NULL, &bias, "biases"),
    FLAG_REAL("dropout", NULL, &dropout, "[0,1)", "share of units dropped"),
    FLAG_REAL("eps", NULL, &eps, "(0,inf)", "added to the variance"),
    FLAG_GROUP("Training"),
    FLAG_REAL("lr", "learning_rate", &lr, "[0,1e3]", "learning rate"),
    FLAG_INT("warmup", "warmup_iters", &warmup, "[0,1000000]", "steps"),
    FLAG_INT("shift", NULL, &shift, "[-5,5]", "a number with a sign"),
    FLAG_SEED("seed", NULL, &seed, "of all random numbers"),
    FLAG_CHOICE("newline", NULL, &newline, newlines, "line ends"),
    FLAG_STRING("out", "out_dir", &out, "output directory"),
    FLAG_STRING("prompt", NULL, &prompt, "text to begin with"),
    FLAG_END
};

typedef struct { const char *operands, *args[8]; } Line;

static int parse(const Line *line, char *argv[10])
{
    int argc = 1;
    argv[0] = (char *)"./train";
    for (; line->args[argc - 1]; argc++)
        argv[argc] = (char *)line->args[argc - 1];
    argv[argc] = NULL;
    return flags_parse(flags, "Trains a model.", line->operands, argc, argv);
}

static void run(void *line)
{
    char *argv[10];
    parse(line, argv);
}

static void accept(const char *a, const char *b, const char *c)
{
    char *argv[10];
    parse(&(Line){NULL, {a, b, c}}, argv);
}

#define REFUSED(text, ...) \
    EXPECT_DIES(EXIT_USAGE, run, &((Line){NULL, {__VA_ARGS__}}), text)

TEST(values_of_every_kind_are_set)
{
    accept("--layers=48", "--lr", ".5e-3");
    EXPECT(layers == 48 && lr == .5e-3, "%d %g", layers, lr);
    accept("--learning-rate=5E+0", "--dropout=0", "--eps=2.");
    EXPECT(lr == 5 && dropout == 0 && eps == 2, "%g %g", lr, dropout);
    accept("--seed=18446744073709551615", "--shift", "-5");
    EXPECT(seed == UINT64_MAX && shift == -5, "%d", shift);
    accept("--placement=peri", "--newline", "lf");
    EXPECT(placement == 2 && newline == 1, "%d %d", placement, newline);
    accept("--prompt=", "--out_dir=--x=y", NULL);
    EXPECT(!*prompt && !strcmp(out, "--x=y"), "%s %s", prompt, out);
    accept("--prompt", "-", NULL);
    EXPECT(!strcmp(prompt, "-"), "%s", prompt);
}

TEST(booleans_have_eight_spellings_and_a_negation)
{
    static const char *const yes[] = {"", "=true", "=yes", "=on", "=1"};
    static const char *const no[] = {"=false", "=no", "=off", "=0"};
    char text[32];
    for (int i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "--zero_init%s", yes[i]);
        zero_init = false;
        accept(text, NULL, NULL);
        EXPECT(zero_init, "%s", text);
    }
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "--zero-init%s", no[i]);
        zero_init = true;
        accept(text, NULL, NULL);
        EXPECT(!zero_init, "%s", text);
    }
    zero_init = true;
    accept("--no-zero_init", "--no_bias", "--layers=1");
    EXPECT(!zero_init && !bias, "%d %d", zero_init, bias);
    REFUSED("--no-bias", "--no-bias=true");
    REFUSED("--no-layers", "--no-layers");
    REFUSED("true or false", "--bias=2");
    REFUSED("\"false\"", "--bias", "false");
}

TEST(hyphen_and_underscore_are_alike)
{
    accept("--warmup-iters=7", "--n-layer", "9");
    EXPECT(warmup == 7 && layers == 9, "%d %d", warmup, layers);
}

TEST(unknown_flags_are_refused_with_the_nearest_name)
{
    REFUSED("unknown flag --warmpu: the nearest is --warmup", "--warmpu=10");
    REFUSED("nearest is --n_layer", "--n-layers=4");
    REFUSED("nearest is --layers", "--Layers=4");
    REFUSED("nearest is --placement", "--placment", "pre");
    REFUSED("nearest is --lr", "--lt=1");
    REFUSED("nearest is --help", "--hepl");
    REFUSED("unknown flag -layers: the nearest is --layers", "-layers=4");
    REFUSED("unknown flag -xlayers", "-xlayers=4");
    REFUSED("unknown flag --: ", "--=4");
    REFUSED("unknown flag", "--xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
    REFUSED("unknown flag --lay:", "--lay=4");
}

static void nearest(void *name)
{
    static bool b;
    static const Flag near[] = {
        FLAG_BOOL("pxyq", "xyqr", &b, ""), FLAG_BOOL("p-q-r", NULL, &b, ""),
        FLAG_BOOL("prsq", "srqp", &b, ""), FLAG_BOOL("aabbcc", NULL, &b, ""),
        FLAG_BOOL("ccbbaa", NULL, &b, ""), FLAG_END
    };
    char *argv[] = {(char *)"x", name, NULL};
    flags_parse(near, "", NULL, 2, argv);
}

/* The right name is one letter away, an earlier one in the table two. */
TEST(a_letter_more_less_other_or_swapped_counts_one)
{
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--psrq", "nearest is --prsq ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--rsqp", "nearest is --srqp ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--srpq", "nearest is --srqp ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--prsxq", "nearest is --prsq ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--prq", "nearest is --prsq ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--p_q_", "nearest is --p-q-r ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--yqr", "nearest is --xyqr ");
    EXPECT_DIES(EXIT_USAGE, nearest, (void *)"--ccbba", "nearest is --ccbb");
}

TEST(values_are_wholly_a_number_and_in_range)
{
    static const char *const ints[] = {
        "4x", "1e3", "4.0", "", " 4", "4 ", "+4", "0x10", "0", "1001", "-1",
        "99999999999999999999", "nan", "inf"};
    static const char *const reals[] = {
        "nan", "inf", "-nan", "infinity", "0x1p-3", "1e", "1e+", "e5", ".",
        "", " 1", "1 ", "1,5", "1f", "--1", "1e999", "1000.1", "-1e-9",
        "1.2.3"};
    static const char *const seeds[] = {"18446744073709551616", "-1", "1.", ""};
    char text[64];
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        snprintf(text, sizeof text, "--layers=%s", ints[i]);
        REFUSED("integer in [1,1000]", text);
    }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        snprintf(text, sizeof text, "--lr=%s", reals[i]);
        REFUSED("number in [0,1e3]", text);
    }
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        snprintf(text, sizeof text, "--seed=%s", seeds[i]);
        REFUSED("[0,2^64)", text);
    }
    REFUSED("[0,1)", "--dropout=1");
    REFUSED("(0,inf)", "--eps=0");
    REFUSED("(0,inf)", "--eps=1e309");
    REFUSED("pre | post | peri", "--placement=pr");
    REFUSED("keep | lf", "--newline=");
    accept("--layers=1000", "--lr=1e3", "--dropout=.999");
    EXPECT(layers == 1000 && lr == 1e3, "%d %g", layers, lr);
}

TEST(a_value_is_never_the_next_flag)
{
    REFUSED("--warmup needs a value", "--warmup", "--layers=48");
    REFUSED("--warmup needs a value", "--warmup");
    REFUSED("--prompt needs a value", "--prompt", "--");
}

TEST(a_flag_is_given_once)
{
    REFUSED("--layers is given twice", "--layers=4", "--layers=4");
    REFUSED("--n_layer: --layers is given twice", "--layers=4", "--n_layer=4");
    REFUSED("--bias is given twice", "--bias", "--no-bias");
}

TEST(operands_are_refused_or_returned)
{
    char *argv[10];
    Line line = {"[CLAIM ...]", {"C4", "--layers=3", "-", "--", "--lr=2"}};
    REFUSED("unexpected argument \"C4\"", "--layers=3", "C4");
    REFUSED("unexpected argument \"C4\"", "--", "C4");
    EXPECT(parse(&line, argv) == 3, "one of three operands");
    EXPECT(!strcmp(argv[1], "C4") && !strcmp(argv[2], "-")
           && !strcmp(argv[3], "--lr=2"), "%s %s %s", argv[1], argv[2],
           argv[3]);
    EXPECT(layers == 3 && !flags_given(&lr), "%d", layers);
}

TEST(what_was_given_is_known)
{
    accept("--n_layer=6", "--no-bias", NULL);
    EXPECT(flags_given(&layers) && flags_given(&bias), "given");
    EXPECT(!flags_given(&lr) && !flags_given(&flags), "not given");
    EXPECT(flags_parse(flags, "", NULL, 0, (char *[]){NULL}) == 0, "no argv");
    EXPECT(!flags_given(&layers), "a new command line begins empty");
}

/* What f(arg) writes to stdout, in a child, which must end with 0. */
static const char *written(void (*f)(void *), void *arg)
{
    static char text[8192];
    FILE *file = tmpfile();
    int how;
    fflush(stdout);
    if (fork() == 0) {
        dup2(fileno(file), STDOUT_FILENO);
        f(arg);
        fflush(stdout);
        _exit(0);
    }
    wait(&how);
    EXPECT(how == 0, "ended with %x", (unsigned)how);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

TEST(help_shows_the_defaults_within_80_columns)
{
    Line line = {"[CLAIM ...]", {"--layers=4x", "--help"}};
    const char *text = written(run, &line), *s = text;
    EXPECT(strstr(text, "Trains a model.\n"), "%s", text);
    EXPECT(strstr(text, "usage: ./train [--flag=value ...] [CLAIM ...]\n"),
           "%s", text);
    EXPECT(strstr(text, "\nTraining\n  --lr=0.001              learning rate "
                  "(number in [0,1e3]; also\n                          "
                  "--learning_rate)\n"), "%s", text);
    EXPECT(strstr(text, "\n  --placement=pre         where the normalisation "
                  "stands on the residual path\n"
                  "                          (pre | post | peri)\n"), "%s",
           text);
    for (; *s; s += strcspn(s, "\n") + 1)
        EXPECT(strcspn(s, "\n") <= 80, "%.100s", s);
    line.args[1] = "--version";
    EXPECT(!strcmp(written(run, &line), "plumb " PLUMB_VERSION "\n"), "%s",
           text);
}

static void full(void *arg)
{
    if (freopen("/dev/full", "w", stdout)) run(arg);
}

TEST(a_full_device_is_an_error)
{
    if (access("/dev/full", W_OK)) SKIP("no /dev/full");
    EXPECT_DIES(EXIT_IO, full, &((Line){NULL, {"--help"}}), "stdout: ");
    EXPECT_DIES(EXIT_IO, full, &((Line){NULL, {"--version"}}), "stdout: ");
}

static void print(void *arg)
{
    run(arg);
    flags_print(stdout, flags);
}

static void json(void *arg)
{
    run(arg);
    flags_json(stdout, flags);
}

TEST(the_configuration_is_printed)
{
    Line line = {NULL, {"--layers=48", "--prompt=a\nb"}};
    const char *text = written(print, &line);
    EXPECT(!strcmp(text,
        "Model     layers=48* placement=pre zero-init=false bias=true "
        "dropout=0.1\n"
        "          eps=1e-05\n"
        "Training  lr=0.001 warmup=100 shift=0 seed=1 newline=keep out=out "
        "prompt=a?b*\n"
        "* given on the command line\n"), "%s", text);
    line.args[0] = NULL;
    text = written(print, &line);
    EXPECT(!strchr(text, '*'), "%s", text);
    const char *last = " prompt=12345678*\n*";          /* 80 columns */
    line = (Line){NULL, {"--prompt=12345678"}};
    text = written(print, &line);
    EXPECT(strstr(text, last), "%s", text);
    line.args[0] = "--prompt=123456789";
    text = written(print, &line);
    EXPECT(strstr(text, "out=out\n          prompt=123456789*\n"), "%s", text);
}

TEST(the_configuration_is_saved)
{
    Line line = {NULL, {"--seed=18446744073709551615", "--prompt=a\n\"\x01\xff",
                        "--placement=post", "--no-bias",
                        "--lr=0.33333333333333331"}};
    const char *text = written(json, &line);
    EXPECT(!strcmp(text,
        "  \"layers\": 6,\n  \"placement\": \"post\",\n"
        "  \"zero-init\": false,\n  \"bias\": false,\n"
        "  \"dropout\": 0.1,\n  \"eps\": 1e-05,\n"
        "  \"lr\": 0.33333333333333331,\n  \"warmup\": 100,\n"
        "  \"shift\": 0,\n  \"seed\": 18446744073709551615,\n"
        "  \"newline\": \"keep\",\n  \"out\": \"out\",\n"
        "  \"prompt\": \"a\\n\\\"\\u0001\\ufffd\"\n"), "%s", text);
}

TEST(a_saved_value_is_read_back_exactly)
{
    char text[FLAG_TEXT];
    for (const Flag *f = flags; f->kind; f++) {
        if (f->kind == KIND_GROUP) continue;
        EXPECT(flags_find(flags, f->name, strlen(f->name)) == f, "%s", f->name);
        EXPECT(flags_set(f, flags_text(f, text)), "%s", f->name);
    }
    for (lr = 1; lr > 1e-300; lr /= 3) {
        double before = lr;
        const Flag *f = flags_find(flags, "learning-rate", 13);
        EXPECT(flags_set(f, flags_text(f, text)) && lr == before, "%s", text);
    }
    EXPECT(!flags_find(flags, "Model", 5), "a heading is no flag");
}
