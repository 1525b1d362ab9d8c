#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "chart.h"
#include "die.h"
#include "report.h"
#include "runlog.h"
#include "test.h"

static char dir[2][64];
static const char *corpus = "same";     /* its hash, of the next new_run */

static void put(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");
    fputs(text, f);
    fclose(f);
}

/* A run, in dir[i], with these metrics. */
static void new_run(int i, const char *flags, const char *metrics)
{
    char path[128], text[1024];
    snprintf(dir[i], sizeof dir[i], "/tmp/plumb-report-XXXXXX");
    if (!mkdtemp(dir[i])) test_skip("no temporary directory");
    snprintf(text, sizeof text, "{\"configuration\": {%s},\n"
             "\"corpus\": {\"sha256\": \"%s\"},\n"
             "\"nats_per_character\": {\"uniform\": 3.5, \"unigram\": 3.0, "
             "\"bigram\": 2.5}}", flags, corpus);
    snprintf(path, sizeof path, "%s/config.json", dir[i]);
    put(path, text);
    snprintf(path, sizeof path, "%s/metrics.jsonl", dir[i]);
    put(path, metrics);
}

static void drop_run(int i)
{
    static const char *const names[] = {"config.json", "metrics.jsonl",
                                        "report.html", "report.html.tmp"};
    char path[128];
    for (size_t k = 0; k < 4; k++) {
        snprintf(path, sizeof path, "%s/%s", dir[i], names[k]);
        remove(path);
    }
    rmdir(dir[i]);
}

static const char *all_of(FILE *f)
{
    static char text[1 << 20];
    rewind(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

/* The page of the first n runs. */
static const char *page(int n, bool running)
{
    char path[128], gone[136];
    snprintf(path, sizeof path, "%s/report.html", dir[0]);
    snprintf(gone, sizeof gone, "%s.tmp", path);
    report_write(path, (const char *const[]){dir[0], dir[1]}, n, running);
    EXPECT(access(gone, F_OK), "%s is left", gone);
    FILE *f = fopen(path, "r");
    return EXPECT(f, "%s", path) ? all_of(f) : "";
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++) n++;
    return n;
}

#define HAS(text, what) EXPECT(strstr(text, what), "%s", text)
#define HAS_NOT(text, what) EXPECT(!strstr(text, what), "%s", text)

#define LOOK "\"probe\":{\"stream\":[1,1.5,2],\"grad\":[0.1,0.2,0.3],"       \
    "\"cosine\":[0.5,null,0.7],\"update\":[0.001,null],\"entropy\":[1,null]}"
#define STEPS                                                                \
    "{\"step\":1,\"loss\":3.5,\"lr\":0.001,\"grad_norm\":2,"                 \
    "\"tokens_per_s\":1000," LOOK "}\n"                                      \
    "{\"step\":2,\"loss\":3.25,\"lr\":0.002,\"grad_norm\":1,"                \
    "\"tokens_per_s\":3000,\"val_loss\":3.125,"                              \
    "\"sample\":\"\\n<b>&amp;\\u0000\",\"verdict\":\"so & so\"," LOOK "}\n"
#define FLAGS "\"placement\": \"pre\", \"layers\": 1, \"steps\": 2, " \
    "\"data\": \"a<b>\", \"tie\": false"

TEST(text_is_escaped)
{
    FILE *f = tmpfile();
    chart_text(f, "<a href=\"x\">&amp; \xc3\xa9\x01\xff\x7f\xc2\x80.\t\n");
    const char *got = all_of(f);
    EXPECT(!strcmp(got, "&lt;a href=&quot;x&quot;&gt;&amp;amp; \xc3\xa9"
                        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd."
                        "\t\n"), "%s", got);
}

TEST(a_run_becomes_a_page)
{
    new_run(0, FLAGS, STEPS);
    const char *html = page(1, false);
    HAS(html, "<!DOCTYPE html>");
    HAS(html, "<title>pre, 1 layers</title>");
    HAS(html, "<span id=\"step\" data-value=\"2\">2</span>");
    HAS(html, "<span id=\"val-loss\" data-value=\"3.125\">3.1250</span>");
    HAS(html, "<span id=\"train-loss\" data-value=\"3.25\">");
    HAS(html, "<span id=\"speed\" data-value=\"2000\">2000</span>");
    HAS(html, "<span id=\"val-loss-whole\">");
    HAS(html, "<span id=\"verdict\">so &amp; so</span>");
    HAS(html, "<pre>\n\n&lt;b&gt;&amp;amp;\xef\xbf\xbd</pre>");
    HAS(html, "data a&lt;b&gt;");
    HAS(html, ">MLP 1</text>");
    HAS(html, ">end</text>");
    HAS_NOT(html, "<b>");
    HAS_NOT(html, "refresh");
    HAS_NOT(html, "<script");
    HAS_NOT(html, "nan");
    HAS_NOT(html, "inf\"");
    EXPECT(strstr(html, "</html>\n"), "whole");
    EXPECT(count(html, "<svg class") == count(html, "<title>") - 1, "%s",
           html);
    drop_run(0);
}

TEST(a_page_of_a_running_run_loads_itself_anew)
{
    new_run(0, FLAGS, "{\"step\":1,\"loss\":3.5}\n{\"step\":2,\"los");
    const char *html = page(1, true);
    HAS(html, "<meta http-equiv=\"refresh\" content=\"10\">");
    HAS(html, "<span id=\"verdict\">training: step 1 of 2</span>");
    HAS(html, "<span id=\"step\" data-value=\"1\">1</span>");
    HAS(page(1, false), "stopped before its end: step 1 of 2");
    drop_run(0);
}

TEST(a_run_without_steps_has_a_page)
{
    static const char *const metrics[] = {"", "{", "{}\n", "{\"step\":1}\n",
        "{\"step\":null,\"loss\":null,\"lr\":null,\"probe\":null}\n",
        "{\"step\":1,\"probe\":{}}\n[]\n3\n",
        "{\"step\":1,\"probe\":{\"grad\":[],\"stream\":[null,null],"
        "\"cosine\":7,\"update\":[null]}}\n",
        "{\"step\":1,\"loss\":1e308,\"lr\":-1e308,\"grad_norm\":1e-320}\n"
        "{\"step\":2,\"loss\":-1e308,\"lr\":1e308,\"grad_norm\":1e308}\n"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        new_run(0, "", metrics[i]);
        const char *html = page(1, true);
        HAS(html, "<span id=\"val-loss\">");
        HAS(html, "</html>\n");
        HAS_NOT(html, "nan");
        HAS_NOT(html, "inf\"");
        drop_run(0);
    }
}

TEST(runs_are_laid_over_each_other)
{
    new_run(0, FLAGS, STEPS);
    new_run(1, "\"placement\": \"post\", \"layers\": 1, \"steps\": 2",
            "{\"step\":1,\"loss\":3.4,\"val_loss\":3.3," LOOK "}\n");
    const char *html = page(2, false);
    HAS(html, "<title>/tmp/plumb-report-");
    HAS(html, "(post, 1 layers)</h2>");
    HAS(html, "<td data-flag=\"placement\">pre</td>"
              "<td data-flag=\"placement\">post</td>");
    HAS(html, "<td data-flag=\"data\">a&lt;b&gt;</td><td data-flag=\"data\">"
              "</td>");
    HAS_NOT(html, "data-flag=\"layers\"");
    HAS(html, "<span id=\"val-loss\" data-value=\"3.125\">");
    HAS(html, "<span id=\"val-loss-2\" data-value=\"3.3\">");
    EXPECT(count(html, "data-view=\"grad\"") == 2, "two maps");
    HAS(html, "data-overlay=\"grad\"");
    HAS(html, "data-overlay=\"stream\"");
    HAS(html, "data-overlay=\"cosine\"");
    HAS_NOT(html, "data-overlay=\"gain\"");          /* no run has it */
    EXPECT(count(html, "data-view=\"largest\"") == 1, "of all runs");
    EXPECT(count(html, "data-series=\"/tmp/plumb-report-") == 16, "%d",
           count(html, "data-series=\"/tmp/plumb-report-"));
    drop_run(0);
    drop_run(1);
}

#define GRAD(list) "{\"step\":1,\"loss\":3,\"probe\":{\"grad\":" list "}}\n"

TEST(maps_of_several_runs_have_one_range_of_colours)
{
    new_run(0, FLAGS, GRAD("[0.25,0.5,0.5]"));
    new_run(1, FLAGS, GRAD("[2,8,null]"));
    const char *html = page(2, false);
    EXPECT(count(html, "data-low=\"0.25\" data-high=\"8\"") == 2, "%s", html);
    HAS(page(1, false), "data-low=\"0.25\" data-high=\"0.5\"");
    drop_run(0);
    drop_run(1);
}

TEST(reference_lines_are_those_of_all_runs_or_of_none)
{
    new_run(0, FLAGS, STEPS);
    new_run(1, FLAGS, STEPS);
    const char *html = page(2, false);
    EXPECT(count(html, ">bigram</text>") == 2, "%s", html);
    HAS_NOT(html, "do not have the same text");
    drop_run(1);
    corpus = "another";
    new_run(1, FLAGS, STEPS);
    corpus = "same";
    html = page(2, false);
    HAS_NOT(html, ">bigram</text>");
    HAS(html, "do not have the same text");
    HAS(page(1, false), ">bigram</text>");
    drop_run(0);
    drop_run(1);
}

TEST(captions_hold_for_the_run)
{
    new_run(0, "\"warmup\": 0, \"schedule\": \"constant\", \"grad-clip\": 0",
            STEPS);
    const char *html = page(1, false);
    HAS(html, "No warmup; schedule constant.");
    HAS(html, "--grad-clip=0.");
    drop_run(0);
    new_run(0, "\"warmup\": 7, \"schedule\": \"<\", \"grad-clip\": 1.5",
            STEPS);
    html = page(1, false);
    HAS(html, "a warmup of 7 steps; from there on schedule &lt;.");
    HAS(html, "above --grad-clip=1.5, the gradient is scaled down");
    new_run(1, "\"warmup\": 8, \"schedule\": \"<\", \"grad-clip\": 1",
            STEPS);
    html = page(2, false);
    HAS(html, "The runs differ in --warmup or --schedule");
    HAS_NOT(html, "a warmup of 7");
    HAS_NOT(html, "--grad-clip=");
    drop_run(0);
    drop_run(1);
}

TEST(verdicts_are_told_apart)
{
    static const char *const verdict[][2] = {
        {"trained: it", "trained"}, {"stuck at", "stuck"},
        {"diverged at", "diverged"}, {"on its way", "open"}};
    for (int i = 0; i < 4; i++) {
        char line[128], want[64];
        snprintf(line, sizeof line, "{\"step\":1,\"verdict\":\"%s\"}\n",
                 verdict[i][0]);
        snprintf(want, sizeof want, "class=\"verdict %s\"", verdict[i][1]);
        new_run(0, FLAGS, line);
        HAS(page(1, false), want);
        drop_run(0);
    }
}

/* The gain of a sublayer, and a norm's, beside a gain_add of 2. */
static const char *page_of_gains(const char *gain, const char *gain_norm)
{
    char line[256];
    snprintf(line, sizeof line, "{\"step\":1,\"probe\":{\"gain\":[%s,null],"
             "\"gain_add\":[2,2],\"gain_norm\":[%s,1]}}\n", gain, gain_norm);
    new_run(0, FLAGS, line);
    return page(1, false);
}

TEST(a_gain_has_factors_where_the_norm_comes_after_the_sum)
{
    const char *html = page_of_gains("0.5", "0.25");
    HAS(html, "data-view=\"gain\"");
    HAS(html, "data-view=\"factors\"");
    HAS(html, "data-series=\"gain_norm\"");
    drop_run(0);
    html = page_of_gains("2", "0.25");
    HAS(html, "data-view=\"gain\"");
    HAS_NOT(html, "data-view=\"factors\"");
    drop_run(0);
}

TEST(a_loss_that_is_cut_off_is_marked)
{
    new_run(0, FLAGS, "{\"step\":1,\"loss\":3.5}\n{\"step\":2,\"loss\":6.75}"
            "\n{\"step\":3,\"loss\":3}\n");
    const char *html = page(1, false);
    HAS(html, "data-peak=\"6.75\"");
    HAS(html, ">6.75 at step 2</text>");
    drop_run(0);
    /* A line of 600 steps is drawn with 300 points: the peak is one step's. */
    char metrics[20000], *at = metrics;
    for (int i = 1; i <= 600; i++)
        at += sprintf(at, "{\"step\":%d,\"loss\":%g}\n", i,
                      i == 42 ? 6.75 : 3.5);
    new_run(0, FLAGS, metrics);
    html = page(1, false);
    HAS(html, ">6.75 at step 42</text>");
    drop_run(0);
    new_run(0, FLAGS, STEPS);
    HAS_NOT(page(1, false), "data-peak");
    drop_run(0);
}

TEST(deep_stacks_have_layer_numbers_at_an_even_stride)
{
    char metrics[4096], *at = metrics;
    at += sprintf(at, "{\"step\":1,\"probe\":{\"grad\":[0.001");
    for (int i = 1; i <= 96; i++) at += sprintf(at, ",%d.5e-7", 1 + i);
    at += sprintf(at, "],\"entropy\":[1]}}\n");
    new_run(0, "\"context\": 2", metrics);
    const char *html = page(1, false);
    for (int l = 5; l <= 45; l += 5) {
        char name[64];
        snprintf(name, sizeof name, "\"end\" class=\"\">%d</text>", l);
        HAS(html, name);
    }
    HAS(html, ">end</text>");
    HAS_NOT(html, ">attention 48<");
    HAS(html, ">2.5e-7</text>");            /* the ends of the colour bar */
    HAS(html, ">1e-3</text>");
    HAS_NOT(html, ">0.001</text>");
    HAS(html, ">0.347 uniform</text>");     /* (ln 1 + ln 2) / 2 */
    drop_run(0);
}

static void read_run(void *unused)
{
    Arena a = {0};
    (void)unused;
    runlog_read(&a, dir[0]);
}

static void write_page(void *file)
{
    report_write(file, (const char *const[]){dir[0]}, 1, false);
}

TEST(a_report_that_cannot_be_made_says_why)
{
    new_run(0, FLAGS, STEPS);
    EXPECT_DIES(EXIT_CANTCREATE, write_page, "/no/such/place/report.html",
                "/no/such/place/report.html.tmp: cannot write");
    drop_run(0);
    new_run(0, FLAGS, "{\"step\":1}\n{\"step\":1,}\n{}\n");
    EXPECT_DIES(EXIT_DATA, read_run, NULL, "metrics.jsonl: line 2: byte 10");
    drop_run(0);
    EXPECT_DIES(EXIT_NOINPUT, read_run, NULL, "config.json");
}

TEST(a_map_has_its_numbers_its_holes_and_its_bar)
{
    const char *const row[] = {"pre", "post<"}, *const column[] = {"6", "48"};
    const double value[] = {0.001, 1000, 0, NAN};
    FILE *f = tmpfile();
    chart_map(f, &(ChartMap){"t&t", "placement", "layers", "nats", 2, 2, row,
              column, value, .log = true});
    const char *svg = all_of(f);
    HAS(svg, "<title>t&amp;t</title>");
    HAS(svg, "data-low=\"0.001\" data-high=\"1000\"");
    HAS(svg, "class=\"on-dark\">0.001</text>");
    HAS(svg, "class=\"on-light\">1e3</text>");
    HAS(svg, ">post&lt;</text>");
    EXPECT(count(svg, "class=\"hole\"") == 1, "%s", svg);
    HAS(svg, "xmlns=\"http://www.w3.org/2000/svg\"");
}

TEST(a_map_of_a_given_scale_marks_it_and_names_its_holes)
{
    const char *const row[] = {"pre"}, *const column[] = {"6", "48"};
    const double value[] = {1e30, NAN};
    FILE *f = tmpfile();
    chart_map(f, &(ChartMap){"t", "placement", "layers", "nats", 1, 2, row,
              column, value, .low = 1, .high = 3, .pinned = true, .hole = "x",
              .level = {"unigram", 3}, .other = {"bigram", 2}});
    const char *svg = all_of(f);
    HAS(svg, "data-low=\"1\" data-high=\"3\"");
    HAS(svg, ">x</text>");
    HAS(svg, "class=\"on-light\">1e30</text>");   /* the last shade */
    HAS(svg, ">3 unigram</text>");
    HAS(svg, ">2 bigram</text>");
}

TEST(lines_have_axes_levels_and_a_legend)
{
    const double x[] = {1, 10, 100, 1000}, y[] = {4, NAN, 2, 1};
    FILE *f = tmpfile();
    chart_lines(f, &(Chart){"loss", "step", "nats", .y_ratio = 2},
                (ChartLine[]){{"a<", 4, x, y}, {NULL, 0, NULL, NULL}}, 2,
                (ChartLevel[]){{"ln V", 4.2}, {"floor", NAN}}, 2);
    const char *svg = all_of(f);
    HAS(svg, "data-series=\"a&lt;\" data-points=\"4\"");
    HAS(svg, ">ln V</text>");
    HAS_NOT(svg, ">floor</text>");
    HAS(svg, ">1000</text>");
    HAS(svg, ">200</text>");
    HAS(svg, ">3</text>");
    HAS_NOT(svg, "nan");
}

TEST(a_line_that_is_flat_looks_flat)
{
    const double x[] = {1, 2}, y[] = {1, 1.01};
    FILE *f = tmpfile();
    chart_lines(f, &(Chart){"t", "x", "y", .y_log = true, .y_ratio = 2},
                (ChartLine[]){{"a", 2, x, y}}, 1, NULL, 0);
    const char *svg = all_of(f);
    HAS(svg, ">0.8</text>");
    HAS(svg, ">1.4</text>");
}

TEST(a_map_of_groups_names_every_column_and_has_every_number)
{
    enum { N = 16 };
    static const char *const row[] = {"a long name"}, *const column[N] = {
        "0", "1000", "0", "1000", "0", "1000", "0", "1000", "0", "1000", "0",
        "1000", "0", "1000", "0", "1000"}, *const group[N] = {"6", "6", "12",
        "12", "24", "24", "48", "48", "96", "96", "192", "192", "384", "384",
        "768", "768"};
    double value[N];
    for (int i = 0; i < N; i++) value[i] = 1 + i * 0.25;
    FILE *f = tmpfile();
    chart_map(f, &(ChartMap){"t", "placement", "warmup", "nats", 1, N, row,
              column, value, .group_label = "layers", .group = group});
    const char *svg = all_of(f);
    EXPECT(count(svg, ">1000</text>") == N / 2, "%s", svg);
    EXPECT(count(svg, "v-4\"/>") == N / 2, "a bracket for each group: %s", svg);
    EXPECT(count(svg, "class=\"on-") == N, "%s", svg);
    HAS(svg, ">2.00</text>");
    HAS(svg, ">192</text>");
    HAS(svg, ">warmup</text>");
    HAS(svg, ">layers</text>");
    HAS_NOT(svg, "viewBox=\"0 0 400 ");
}
