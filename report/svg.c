/* SPDX-License-Identifier: Apache-2.0 */
/* SVG pieces. Coordinates are written from integers (tenths of a pixel), so neither locale nor rounding of
 * printf can change a byte between machines.
 */
#include "report/svg.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Length of the well-formed UTF-8 sequence at p, 0 if there is none. */
static size_t utf8_length(const unsigned char *p)
{
    const size_t n = p[0] < 0x80             ? 1
                     : (p[0] & 0xe0) == 0xc0 ? 2
                     : (p[0] & 0xf0) == 0xe0 ? 3
                     : (p[0] & 0xf8) == 0xf0 ? 4
                                             : 0;

    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if (n == 2 && p[0] < 0xc2)
        return 0;
    if (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                   (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)))
        return 0; /* overlong, surrogates, no characters */
    if (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) || p[0] > 0xf4))
        return 0;
    return n;
}

void gnti_append_escaped(gnti_text *t, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p != '\0') {
        const size_t n = utf8_length(p);

        if (n == 0)
            gnti_text_append(t, "?");
        else if (*p == '&')
            gnti_text_append(t, "&amp;");
        else if (*p == '<')
            gnti_text_append(t, "&lt;");
        else if (*p == '>')
            gnti_text_append(t, "&gt;");
        else if (*p == '"')
            gnti_text_append(t, "&quot;");
        else if (*p == '\'')
            gnti_text_append(t, "&#39;");
        else if (*p >= 0x20 && *p != 0x7f)
            gnti_text_append_bytes(t, (const char *)p, n);
        else if (*p == '\t' || *p == '\n')
            gnti_text_append(t, " ");
        p += n == 0 ? 1 : n;
    }
}

void gnti_append_coordinate(gnti_text *t, double value)
{
    const double bounded = isfinite(value) ? fmin(fmax(value, -1e7), 1e7) : 0.0;
    const long long tenths = llround(bounded * 10.0);
    const long long size = tenths < 0 ? -tenths : tenths;

    gnti_text_printf(t, "%s%lld", tenths < 0 ? "-" : "", size / 10);
    if (size % 10 != 0)
        gnti_text_printf(t, ".%lld", size % 10);
}

void gnti_append_attribute(gnti_text *t, const char *name, double value)
{
    gnti_text_printf(t, " %s=\"", name);
    gnti_append_coordinate(t, value);
    gnti_text_append(t, "\"");
}

double gnti_svg_begin(gnti_text *t, int32_t width, int32_t height, const char *title, const char *subtitle)
{
    double y = 14.0;

    gnti_text_printf(
        t,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
        "font-family=\"'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif\">\n",
        width, height, width, height);
    gnti_svg_rect(t, 0, 0, width, height, 0.0, "#ffffff");
    if (title != NULL && title[0] != '\0') {
        gnti_text_append(t, "<g font-weight=\"bold\">");
        gnti_svg_text(t, 16.0, y + 12.0, 15, GNTI_INK, GNTI_ANCHOR_START, title);
        gnti_text_append(t, "</g>\n");
        y += 22.0;
    }
    if (subtitle != NULL && subtitle[0] != '\0') {
        gnti_svg_text(t, 16.0, y + 11.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_START, subtitle);
        y += 18.0;
    }
    return y;
}

gnt_status gnti_svg_end(gnti_text *t, int32_t width, int32_t height, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    char *text = NULL;

    gnti_text_append(t, "</svg>\n");
    GNT_TRY(gnti_text_take(t, &text));
    *out = (gnti_svg){ .text = text, .width = width, .height = height };
done:
    return st;
}

void gnti_svg_free(gnti_svg *svg)
{
    gnti_free(svg->text);
    *svg = (gnti_svg){ 0 };
}

void gnti_svg_text(gnti_text *t, double x, double y, int32_t size, const char *color, gnti_anchor anchor,
                   const char *text)
{
    static const char *const anchors[] = { "", " text-anchor=\"middle\"", " text-anchor=\"end\"" };

    gnti_text_append(t, "<text");
    gnti_append_attribute(t, "x", x);
    gnti_append_attribute(t, "y", y);
    gnti_text_printf(t, " font-size=\"%d\" fill=\"%s\"%s>", size, color, anchors[anchor]);
    gnti_append_escaped(t, text);
    gnti_text_append(t, "</text>\n");
}

void gnti_svg_line(gnti_text *t, double x1, double y1, double x2, double y2, const char *color, double width)
{
    gnti_text_append(t, "<line");
    gnti_append_attribute(t, "x1", x1);
    gnti_append_attribute(t, "y1", y1);
    gnti_append_attribute(t, "x2", x2);
    gnti_append_attribute(t, "y2", y2);
    gnti_append_attribute(t, "stroke-width", width);
    gnti_text_printf(t, " stroke=\"%s\"/>\n", color);
}

void gnti_svg_rect(gnti_text *t, double x, double y, double width, double height, double radius,
                   const char *color)
{
    gnti_text_append(t, "<rect");
    gnti_append_attribute(t, "x", x);
    gnti_append_attribute(t, "y", y);
    gnti_append_attribute(t, "width", width);
    gnti_append_attribute(t, "height", height);
    if (radius > 0.0)
        gnti_append_attribute(t, "rx", radius);
    gnti_text_printf(t, " fill=\"%s\"/>\n", color);
}

const char *gnti_palette(int32_t index)
{
    static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                          "#e69f00", "#56b4e9", "#5b4b8a" };
    const int32_t count = (int32_t)(sizeof colors / sizeof colors[0]);

    return colors[((index % count) + count) % count];
}

int32_t gnti_text_letters(const char *text)
{
    int32_t n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

double gnti_text_width(const char *text, int32_t size)
{
    return 0.6 * (double)size * (double)gnti_text_letters(text);
}

void gnti_shorten(const char *text, int32_t max_letters, char out[GNTI_SHORT_BYTES])
{
    const bool cut = gnti_text_letters(text) > max_letters;
    const int32_t keep = cut ? max_letters - 1 : max_letters;
    size_t bytes = 0;
    int32_t letters = 0;

    while (text[bytes] != '\0' && bytes < GNTI_SHORT_BYTES - 8) {
        letters += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (letters > keep)
            break;
        bytes++;
    }
    snprintf(out, GNTI_SHORT_BYTES, "%.*s%s", (int)bytes, text,
             cut || text[bytes] != '\0' ? "\xe2\x80\xa6" : "");
}

void gnti_shade(double strength, char out[8])
{
    const double s = fmin(fmax(strength, 0.0), 1.0);

    snprintf(out, 8, "#%02x%02x%02x", (unsigned)lround(247.0 - s * 247.0),
             (unsigned)lround(249.0 - s * (249.0 - 92.0)), (unsigned)lround(252.0 - s * (252.0 - 158.0)));
}
