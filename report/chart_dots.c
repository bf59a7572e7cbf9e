/* SPDX-License-Identifier: Apache-2.0 */
/* Points in rows, for values that lie close together: unlike bars they need no zero, so small differences show. Lines across all rows
 * have their names above, each on a line of its own.
 */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

enum { MAX_DOTS = 2000, NAME_LETTERS = 28, LINE_HIGH = 16, RIGHT = 28 };

typedef struct rows {
    double pitch, top, bottom;
    int32_t step; /* every step-th name is written */
} rows;

static double names_width(const gnti_dot_chart *c)
{
    double width = 20.0;
    char name[GNTI_SHORT_BYTES];

    for (int32_t i = 0; i < c->num_dots; i++) {
        gnti_shorten(c->dots[i].name == NULL ? "" : c->dots[i].name, NAME_LETTERS, name);
        width = fmax(width, gnti_text_width(name, 12));
    }
    return width;
}

static void draw_grid(gnti_text *t, const gnti_dot_chart *c, const gnti_axis *x, const rows *r)
{
    char label[GNTI_AXIS_LABEL_BYTES];

    for (int32_t i = 0; i < x->num_ticks; i++) {
        const double at = gnti_axis_pixel(x, x->ticks[i]);

        gnti_svg_line(t, at, r->top, at, r->bottom, GNTI_INK_GRID, 1.0);
        gnti_axis_label(x, x->ticks[i], label);
        gnti_svg_text(t, at, r->bottom + 16.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
    }
    if (c->value_label != NULL)
        gnti_svg_text(t, 0.5 * (x->from + x->to), r->bottom + 34.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->value_label);
}

static void value_text(const gnti_dot_chart *c, double value, char out[40])
{
    snprintf(out, 40, c->percent ? "%.2f %%" : "%.4g", c->percent ? 100.0 * value : value);
    for (char *p = out; *p != '\0'; p++)
        if (*p == ',')
            *p = '.';
}

static void draw_line(gnti_text *t, const gnti_dot_chart *c, const gnti_axis *x, const rows *r, int32_t i)
{
    const gnti_dot *line = &c->lines[i];
    const double at = gnti_axis_pixel(x, line->value), y = r->top - 8.0 - LINE_HIGH * (c->num_lines - 1 - i);
    char value[40], text[GNTI_SHORT_BYTES + 48], name[GNTI_SHORT_BYTES];

    if (!gnti_axis_shows(x, line->value))
        return;
    gnti_shorten(line->name == NULL ? "" : line->name, 40, name);
    value_text(c, line->value, value);
    snprintf(text, sizeof text, "%s %s", name, value);
    const double half = 0.5 * gnti_text_width(text, 11);

    gnti_svg_line(t, at, y + 4.0, at, r->bottom, gnti_palette(line->color), 2.0);
    gnti_svg_text(t, fmin(fmax(at, 16.0 + half), x->to + RIGHT - 8.0 - half), y, 11,
                  gnti_palette(line->color), GNTI_ANCHOR_MIDDLE, text);
}

static void draw_dot(gnti_text *t, const gnti_dot_chart *c, const gnti_axis *x, const rows *r, int32_t i)
{
    const gnti_dot *dot = &c->dots[i];
    const double y = r->top + r->pitch * (i + 0.5);
    char name[GNTI_SHORT_BYTES], value[40];

    if (i % r->step == 0) {
        gnti_shorten(dot->name == NULL ? "" : dot->name, NAME_LETTERS, name);
        gnti_svg_text(t, x->from - 10.0, y + 4.0, 12, GNTI_INK, GNTI_ANCHOR_END, name);
    }
    if (!gnti_axis_shows(x, dot->value))
        return;
    value_text(c, dot->value, value);
    gnti_text_append(t, "<circle");
    gnti_append_attribute(t, "cx", gnti_axis_pixel(x, dot->value));
    gnti_append_attribute(t, "cy", y);
    gnti_text_printf(t, " r=\"%s\" fill=\"%s\" stroke=\"%s\" stroke-width=\"1.5\"><title>",
                     r->pitch >= 12.0 ? "5" : "3", dot->hollow ? "#ffffff" : gnti_palette(dot->color),
                     gnti_palette(dot->color));
    gnti_append_escaped(t, dot->name == NULL ? "" : dot->name);
    gnti_text_printf(t, " %s</title></circle>\n", value);
}

gnt_status gnti_chart_dots(const gnti_dot_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    gnti_axis x = gnti_axis_begin(false, c->percent);
    const int32_t width = c->width > 0 ? c->width : 640;
    const int32_t titles = 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0);
    rows r = { 0 };

    GNT_CHECK(c->num_dots >= 0 && c->num_dots <= MAX_DOTS && c->num_lines >= 0, GNT_ERR_LIMIT,
              "%d points, at most %d are drawn", c->num_dots, MAX_DOTS);
    for (int32_t i = 0; i < c->num_dots; i++)
        gnti_axis_add(&x, c->dots[i].value);
    for (int32_t i = 0; i < c->num_lines; i++)
        gnti_axis_add(&x, c->lines[i].value);
    const bool empty = gnti_axis_is_empty(&x);

    gnti_axis_finish(&x, 6, false);
    x.from = 28.0 + names_width(c);
    x.to = (double)width - RIGHT;
    r.pitch = c->num_dots <= 50 ? 18.0 : fmax(900.0 / c->num_dots, 4.0);
    r.step = r.pitch >= 12.0 ? 1 : (int32_t)ceil(12.0 / r.pitch);
    r.top = titles + 10.0 + LINE_HIGH * c->num_lines;
    r.bottom = r.top + r.pitch * (c->num_dots > 0 ? c->num_dots : 1);
    const int32_t height = (int32_t)r.bottom + (c->value_label != NULL ? 46 : 28);

    gnti_svg_begin(&t, width, height, c->title, c->subtitle);
    draw_grid(&t, c, &x, &r);
    for (int32_t i = 0; i < c->num_lines; i++)
        draw_line(&t, c, &x, &r, i);
    for (int32_t i = 0; i < c->num_dots; i++)
        draw_dot(&t, c, &x, &r, i);
    if (empty)
        gnti_svg_text(&t, 0.5 * (x.from + x.to), r.top + 14.0, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_text_free(&t);
    return st;
}
