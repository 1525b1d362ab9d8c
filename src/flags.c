#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "die.h"
#include "flags.h"
#include "json.h"

enum { WIDTH = 80, HELP_COLUMN = 26, PRINT_COLUMN = 10,
       LONGEST = 40 };          /* letters compared to find the nearest name */

static const Flag *table;       /* of the one command line, and its marks */
static bool given[FLAGS_MAX];

/* -- names -------------------------------------------------------------- */

static bool same(char a, char b)
{
    return (a == '_' ? '-' : a) == (b == '_' ? '-' : b);
}

static bool is_name(const char *name, const char *s, size_t n)
{
    if (!name || strlen(name) != n) return false;
    while (n && same(name[n - 1], s[n - 1])) n--;
    return n == 0;
}

const Flag *flags_find(const Flag *f, const char *s, size_t n)
{
    for (; f->kind; f++)
        if (f->kind != KIND_GROUP
            && (is_name(f->name, s, n) || is_name(f->alias, s, n))) return f;
    return NULL;
}

static int least(int a, int b) { return a < b ? a : b; }

/* Letters to insert, delete, replace or swap with the next, so that one name
 * becomes the other (optimal string alignment). */
static int distance(const char *a, size_t na, const char *b)
{
    int d[LONGEST + 1][LONGEST + 1];
    int n = (int)(na < LONGEST ? na : LONGEST);
    int m = (int)strnlen(b, LONGEST);
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            d[i][j] = i + j;
            if (!i || !j) continue;
            d[i][j] = least(d[i-1][j-1] + !same(a[i-1], b[j-1]),
                            least(d[i-1][j], d[i][j-1]) + 1);
            if (i > 1 && j > 1 && same(a[i-1], b[j-2]) && same(a[i-2], b[j-1]))
                d[i][j] = least(d[i][j], d[i-2][j-2] + 1);
        }
    return d[n][m];
}

_Noreturn static void unknown(const Flag *f, const char *arg)
{
    const char *name = arg + strspn(arg, "-"), *nearest = "help";
    size_t n = strcspn(name, "=");
    int smallest = distance(name, n, nearest);
    for (; f->kind; f++) {
        const char *names[] = {f->name, f->alias};
        for (int i = 0; i < 2 && f->kind != KIND_GROUP && names[i]; i++) {
            int d = distance(name, n, names[i]);
            if (d < smallest) smallest = d, nearest = names[i];
        }
    }
    if (!strcmp(arg, "-h"))
        die(EXIT_USAGE, "unknown flag -h: --help lists all flags");
    die(EXIT_USAGE, "unknown flag %.*s: the nearest is --%s (--help lists all)",
        (int)strcspn(arg, "="), arg, nearest);
}

/* -- values ------------------------------------------------------------- */

static const char *choice(const Flag *f, int i)
{
    const char *row = (const char *)f->choices + (size_t)i * f->stride;
    return *(const char *const *)(const void *)row;
}

static bool in_range(const char *range, double x)
{
    char *end;
    double lo = strtod(range + 1, &end), hi = strtod(end + 1, &end);
    return (*range == '[' ? x >= lo : x > lo)
        && (*end == ']' ? x <= hi : x < hi);
}

/* -?digits for an integer; for a real a point and an exponent as well. What
 * strtod takes beyond it (blanks, +, hex, inf, nan) is not a number here. */
static bool is_number(const char *s, bool real)
{
    const char *digits = "0123456789";
    s += *s == '-';
    size_t whole = strspn(s, digits), part = 0;
    s += whole;
    if (real && *s == '.') s += 1 + (part = strspn(s + 1, digits));
    if (whole + part == 0) return false;
    if (real && (*s == 'e' || *s == 'E')) {
        s += s[1] == '+' || s[1] == '-' ? 2 : 1;
        if (!*s) return false;
        s += strspn(s, digits);
    }
    return !*s;
}

static bool set_number(const Flag *f, const char *text)
{
    bool real = f->kind == KIND_REAL;
    double x = strtod(text, NULL), most = real ? DBL_MAX : INT_MAX;
    if (!is_number(text, real) || fabs(x) > most || !in_range(f->range, x))
        return false;
    if (real) *f->value.d = x;
    else *f->value.i = (int)x;
    return true;
}

static bool set_seed(uint64_t *u, const char *text)
{
    errno = 0;
    uint64_t seed = strtoull(text, NULL, 10);
    if (!is_number(text, false) || *text == '-' || errno) return false;
    return *u = seed, true;
}

static bool set_bool(bool *b, const char *text)
{
    static const char *const spelling[] = {"false", "true", "no", "yes",
                                           "off", "on", "0", "1"};
    for (int i = 0; i < 8; i++)
        if (!strcmp(text, spelling[i])) return *b = i & 1, true;
    return false;
}

static bool set_choice(const Flag *f, const char *text)
{
    for (int i = 0; choice(f, i); i++)
        if (!strcmp(text, choice(f, i))) return *f->value.i = i, true;
    return false;
}

bool flags_set(const Flag *f, const char *text)
{
    switch (f->kind) {
    case KIND_INT:
    case KIND_REAL:   return set_number(f, text);
    case KIND_SEED:   return set_seed(f->value.u, text);
    case KIND_BOOL:   return set_bool(f->value.b, text);
    case KIND_CHOICE: return set_choice(f, text);
    default:          return *f->value.s = text, true;
    }
}

const char *flags_text(const Flag *f, char buffer[FLAG_TEXT])
{
    switch (f->kind) {
    case KIND_BOOL:   return *f->value.b ? "true" : "false";
    case KIND_CHOICE: return choice(f, *f->value.i);
    case KIND_INT:    snprintf(buffer, FLAG_TEXT, "%d", *f->value.i); break;
    case KIND_SEED:
        snprintf(buffer, FLAG_TEXT, "%" PRIu64, *f->value.u);
        break;
    case KIND_REAL:     /* 17 digits where 9 do not give the value back */
        snprintf(buffer, FLAG_TEXT, "%.9g", *f->value.d);
        if (strtod(buffer, NULL) != *f->value.d)
            snprintf(buffer, FLAG_TEXT, "%.17g", *f->value.d);
        break;
    default:          return *f->value.s;
    }
    return buffer;
}

/* What the flag takes, in words. */
static const char *wanted(const Flag *f, char *buffer, size_t size)
{
    size_t n = 0;
    switch (f->kind) {
    case KIND_INT:  snprintf(buffer, size, "integer in %s", f->range); break;
    case KIND_REAL: snprintf(buffer, size, "number in %s", f->range); break;
    case KIND_SEED: return "integer in [0,2^64)";
    case KIND_BOOL: return "true or false";
    case KIND_CHOICE:
        for (int i = 0; choice(f, i) && n < size; i++)
            n += (size_t)snprintf(buffer + n, size - n, "%s%s",
                                  i ? " | " : "", choice(f, i));
        break;
    default:        return "text";
    }
    return buffer;
}

/* -- output ------------------------------------------------------------- */

/* Goes to a column, on the next line if it is passed already. */
static int indent(FILE *out, int column, int to)
{
    if (column >= to) putc('\n', out), column = 0;
    fprintf(out, "%*s", to - column, "");
    return to;
}

/* Prints words, wrapped between left and WIDTH; returns the column reached. */
static int words(FILE *out, int column, int left, const char *text)
{
    for (; *text; text += strspn(text, " ")) {
        int n = (int)strcspn(text, " ");
        if (column > left && column + 1 + n > WIDTH)
            column = indent(out, column, left);
        else if (column > left)
            column++, putc(' ', out);
        column += n;
        for (; n--; text++)
            putc(iscntrl((unsigned char)*text) ? '?' : *text, out);
    }
    return column;
}

static void help(const Flag *f)
{
    char text[1024], value[FLAG_TEXT], kind[512];
    if (f->kind == KIND_GROUP) { printf("\n%s\n", f->name); return; }
    int column = printf("  --%s=%s ", f->name, flags_text(f, value));
    column = indent(stdout, column, HELP_COLUMN);
    snprintf(text, sizeof text, "%s (%s%s%s)", f->help,
             wanted(f, kind, sizeof kind), f->alias ? "; also --" : "",
             f->alias ? f->alias : "");
    words(stdout, column, HELP_COLUMN, text);
    putchar('\n');
}

/* Before any flag is set, so that help shows the defaults. */
static void help_or_version(const Flag *flags, const char *about,
                            const char *operands, char **argv)
{
    char **arg = argv + 1;
    while (*arg && strcmp(*arg, "--") && strcmp(*arg, "--help")
           && strcmp(*arg, "--version")) arg++;
    if (!*arg || !strcmp(*arg, "--")) return;
    if (!strcmp(*arg, "--version")) {
        puts("plumb " PLUMB_VERSION);
    } else {
        printf("%s\n\nusage: %s [--flag=value ...]%s%s\n", about, *argv,
               operands ? " " : "", operands ? operands : "");
        printf("Each flag is shown with its default.\n");
        for (; flags->kind; flags++) help(flags);
    }
    flush_stdout();
    exit(0);
}

void flags_print(FILE *out, const Flag *flags)
{
    char item[1024], text[FLAG_TEXT];
    int column = 0;
    bool any = false;
    for (const Flag *f = flags; f->kind; f++) {
        if (f->kind == KIND_GROUP) {
            if (f > flags) putc('\n', out);
            column = indent(out, fprintf(out, "%s", f->name), PRINT_COLUMN);
            continue;
        }
        bool mark = flags_given(f->value.any);
        snprintf(item, sizeof item, "%s=%s%s", f->name, flags_text(f, text),
                 mark ? "*" : "");
        column = words(out, column, PRINT_COLUMN, item);
        any |= mark;
    }
    fputs(any ? "\n* given on the command line\n" : "\n", out);
}

void flags_json(FILE *out, const Flag *flags)
{
    char buffer[FLAG_TEXT];
    const char *comma = "";
    for (const Flag *f = flags; f->kind; f++) {
        if (f->kind == KIND_GROUP) continue;
        const char *text = flags_text(f, buffer);
        fprintf(out, "%s  \"%s\": ", comma, f->name);
        if (f->kind == KIND_STRING || f->kind == KIND_CHOICE)
            json_write_string(out, text, strlen(text));
        else
            fputs(text, out);
        comma = ",\n";
    }
    putc('\n', out);
}

/* -- parsing ------------------------------------------------------------ */

bool flags_given(const void *value)
{
    for (const Flag *f = table; f && f->kind; f++)
        if (f->value.any == value) return given[f - table];
    return false;
}

/* The flag that arg[0..n) names, one letter with one dash. --no-NAME is NAME
 * with the value false. */
static const Flag *named(const Flag *flags, const char *arg, size_t n,
                         const char **value)
{
    const Flag *f = n == 2 ? flags_find(flags, arg + 1, 1)  /* -o */
                  : arg[1] == '-' ? flags_find(flags, arg + 2, n - 2) : NULL;
    if (f || *value || n <= 5 || !is_name("--no-", arg, 5)) return f;
    f = flags_find(flags, arg + 5, n - 5);
    if (!f || f->kind != KIND_BOOL) return NULL;
    return *value = "false", f;
}

/* Takes arg, and next if that is its value: then returns 1. */
static int take(const Flag *flags, const char *arg, const char *next)
{
    char text[512];
    int n = (int)strcspn(arg, "="), used = 0;
    const char *value = arg[n] ? arg + n + 1 : NULL;
    const Flag *f = named(flags, arg, (size_t)n, &value);
    if (!f) unknown(flags, arg);
    if (given[f - flags])
        die(EXIT_USAGE, "%.*s: --%s is given twice", n, arg, f->name);
    if (!value && f->kind == KIND_BOOL) value = "true";
    if (!value && next && strncmp(next, "--", 2)) value = next, used = 1;
    if (!value)
        die(EXIT_USAGE, "%s needs a value, as %s=VALUE: %s", arg, arg,
            wanted(f, text, sizeof text));
    if (!flags_set(f, value))
        die(EXIT_USAGE, "%.*s=%s: wanted %s", n, arg, value,
            wanted(f, text, sizeof text));
    given[f - flags] = true;
    return used;
}

int flags_parse(const Flag *flags, const char *about, const char *operands,
                int argc, char **argv)
{
    int rows = 0, count = 0;
    bool only = false;          /* after -- there are only operands */
    while (flags[rows].kind) rows++;
    CHECK(rows <= FLAGS_MAX, "flags: %d rows, at most %d", rows, FLAGS_MAX);
    table = flags;
    memset(given, 0, sizeof given);
    if (argc > 0) help_or_version(flags, about, operands, argv);
    for (int i = 1; i < argc; i++) {
        if (!only && !strcmp(argv[i], "--"))
            only = true;
        else if (!only && argv[i][0] == '-' && argv[i][1])
            i += take(flags, argv[i], argv[i + 1]);
        else if (operands)
            argv[++count] = argv[i];
        else
            die(EXIT_USAGE, "unexpected argument \"%s\": a flag is "
                "--NAME=VALUE", argv[i]);
    }
    return count;
}
