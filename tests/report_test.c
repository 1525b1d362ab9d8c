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
             "\"nats_per_character\": {\"uniform\": 3.5, \"unigram\": 3.0, "
             "\"bigram\": 2.5}}", flags);
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
    EXPECT(count(html, "data-series=\"/tmp/plumb-report-") == 8, "%d",
           count(html, "data-series=\"/tmp/plumb-report-"));
    drop_run(0);
    drop_run(1);
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
              column, value, true, 0, 0, NULL, NULL, 0});
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
    ChartLevel mark[] = {{"floor", 1}, {"unigram", 3}};
    FILE *f = tmpfile();
    chart_map(f, &(ChartMap){"t", "placement", "layers", "nats", 1, 2, row,
              column, value, false, 1, 3, "x", mark, 2});
    const char *svg = all_of(f);
    HAS(svg, "data-low=\"1\" data-high=\"3\"");
    HAS(svg, ">x</text>");
    HAS(svg, "class=\"on-light\">1e30</text>");   /* the last shade */
    HAS(svg, ">unigram</text>");
}

TEST(lines_have_axes_levels_and_a_legend)
{
    const double x[] = {1, 10, 100, 1000}, y[] = {4, NAN, 2, 1};
    FILE *f = tmpfile();
    chart_lines(f, &(Chart){"loss", "step", "nats", .x_log = true},
                (ChartLine[]){{"a<", 4, x, y}, {NULL, 0, NULL, NULL}}, 2,
                (ChartLevel[]){{"ln V", 4.2}, {"floor", NAN}}, 2);
    const char *svg = all_of(f);
    HAS(svg, "data-series=\"a&lt;\" data-points=\"4\"");
    HAS(svg, ">ln V</text>");
    HAS_NOT(svg, ">floor</text>");
    HAS(svg, ">1000</text>");
    HAS(svg, ">100</text>");
    HAS(svg, ">3</text>");
    HAS_NOT(svg, "nan");
}
