#include <stdlib.h>
#include <string.h>
#include "chart.h"
#include "draw.h"
#include "utf8.h"

/* -- the look ------------------------------------------------------------ */

static const char style[] =
    ".chart{display:block;width:100%;height:auto;"
    "font:12px system-ui,sans-serif;font-variant-numeric:tabular-nums}\n"
    ".chart text{fill:#444}"
    ".chart .title{fill:#111;font-size:14px;font-weight:600}\n"
    ".chart .on-dark{fill:#fff}.chart .on-light{fill:#000}"
    ".chart .paper{fill:#fff}.chart .hole{fill:#ddd}\n"
    ".chart .frame{stroke:#888}.chart .grid{stroke:#e3e3e3}"
    ".chart .level{stroke:#666;stroke-dasharray:1 3}\n"
    ".chart .line{fill:none;stroke-width:2;stroke-linejoin:round}"
    ".chart .dots{fill:none;stroke-width:5;stroke-linecap:round}\n"
    ".chart .c0{stroke:#0072b2}.chart .c1{stroke:#d55e00}"
    ".chart .c2{stroke:#009e73}.chart .c3{stroke:#cc79a7}\n"
    ".chart .c4{stroke:#e69f00}.chart .c5{stroke:#56b4e9}"
    ".chart .c6{stroke:#222}\n"
    ".chart .d1{stroke-dasharray:7 3}.chart .d2{stroke-dasharray:2 2}"
    ".chart .d3{stroke-dasharray:9 3 2 3}.chart .d4{stroke-dasharray:4 4}\n"
    "@media(prefers-color-scheme:dark){"
    ".chart text{fill:#bbb}.chart .title{fill:#eee}\n"
    ".chart .paper{fill:#1b1d21}.chart .hole{fill:#3a3d43}"
    ".chart .grid{stroke:#34373d}.chart .level{stroke:#999}\n"
    /* Lighter, or they are lost on the dark paper. */
    ".chart .c0{stroke:#56b4e9}.chart .c1{stroke:#f08030}"
    ".chart .c2{stroke:#20c090}.chart .c5{stroke:#4090e0}"
    ".chart .c6{stroke:#eee}}\n";

/* viridis at 0, 1/15, ..., 1 */
static const unsigned char viridis[][3] = {
    {68, 1, 84}, {72, 26, 108}, {71, 47, 125}, {65, 68, 135}, {57, 86, 140},
    {49, 104, 142}, {42, 120, 142}, {35, 136, 142}, {31, 152, 139},
    {34, 168, 132}, {53, 183, 121}, {84, 197, 104}, {122, 209, 81},
    {165, 219, 54}, {210, 226, 27}, {253, 231, 37}
};

void draw_fill(FILE *f, int shade)
{
    double at = (shade + 0.5) / SHADES * 15;
    int i = (int)at, c[3];
    if (shade == SHADES) {
        fputs("class=\"hole\"", f);
        return;
    }
    for (int k = 0; k < 3; k++)
        c[k] = viridis[i][k]
             + (int)((at - i) * (viridis[i + 1][k] - viridis[i][k]));
    fprintf(f, "fill=\"#%02x%02x%02x\"", (unsigned)c[0], (unsigned)c[1],
            (unsigned)c[2]);
}

/* -- text ---------------------------------------------------------------- */

void chart_text(FILE *f, const char *s)
{
    size_t n = strlen(s);
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = (size_t)utf8_decode(s + i, n - i, &code);
        bool control = (code < 32 && code != '\n' && code != '\t')
                     || (code >= 127 && code < 160) || code == 0xFFFE
                     || code == 0xFFFF;
        if (length == 0 || control) fputs("\xef\xbf\xbd", f);
        else if (code == '&') fputs("&amp;", f);
        else if (code == '<') fputs("&lt;", f);
        else if (code == '>') fputs("&gt;", f);
        else if (code == '"') fputs("&quot;", f);
        else fwrite(s + i, 1, length, f);
        if (length == 0) length = 1;
    }
}

void draw_text(FILE *f, double x, double y, const char *anchor,
               const char *class, const char *text)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">",
            x, y, anchor, class);
    chart_text(f, text);
    fputs("</text>\n", f);
}

double draw_wide(const char *s)         /* characters, not bytes */
{
    int n = 0;
    for (; *s; s++) n += (*s & 0xC0) != 0x80;
    return (double)n * LETTER;
}

double draw_widest(int n, const char *const *text)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        double w = text[i] ? draw_wide(text[i]) : 0;
        if (w > most) most = w;
    }
    return most;
}

const char *draw_number(double x, int digits, bool power, char out[NUMBER])
{
    if (power && x != 0) snprintf(out, NUMBER, "%.*e", digits - 1, x);
    else snprintf(out, NUMBER, "%.*g", digits, x);
    char *e = strchr(out, 'e'), *to = e;
    if (!e) return out;
    int exponent = atoi(e + 1);
    if (memchr(out, '.', (size_t)(e - out))) {
        while (to[-1] == '0') to--;
        to -= to[-1] == '.';
    }
    snprintf(to, NUMBER - (size_t)(to - out), "e%d", exponent);
    return out;
}

bool draw_powers(int n, const double *x, int digits)
{
    char text[NUMBER];
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= strchr(draw_number(x[i], digits, false, text), 'e') != NULL;
    return any;
}

/* -- elements ------------------------------------------------------------ */

void draw_line(FILE *f, const char *class, double x1, double y1, double x2,
               double y2)
{
    fprintf(f, "<path class=\"%s\" fill=\"none\" d=\"M%.1f %.1fL%.1f %.1f\"/>"
            "\n", class, x1, y1, x2, y2);
}

void draw_begin(FILE *f, const char *kind, const char *title, double width,
                double height)
{
    fprintf(f, "<svg class=\"chart\" data-kind=\"%s\" role=\"img\" xmlns="
            "\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\">\n"
            "<title>", kind, width, height);
    chart_text(f, title);
    fprintf(f, "</title>\n<style>%s</style>\n<rect class=\"paper\" "
            "width=\"%.0f\" height=\"%.0f\"/>\n", style, width, height);
    draw_text(f, EDGE, 20, "start", "title", title);
}
