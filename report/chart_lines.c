/* SPDX-License-Identifier: Apache-2.0 */
/* Curves.
 *
 *     title, subtitle
 *     legend
 *     y ticks | grid, bands, lines, mark
 *             | x ticks, x label
 *
 * A curve of more points than two a pixel keeps the lowest and the highest of each pixel's points, in their
 * order, so that a spike is never lost.
 */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>

typedef struct line_frame {
    gnti_axis x, y;
    double left, right, top, bottom;
    int32_t width, height;
} line_frame;

static void scan_data(const gnti_line_chart *c, line_frame *f)
{
    f->x = gnti_axis_begin(false, false);
    f->x.whole = true; /* until a value is not */
    f->y = gnti_axis_begin(c->log_y, c->percent);
    for (int32_t s = 0; s < c->num_series; s++) {
        const gnti_series *line = &c->series[s];

        for (int64_t i = 0; i < line->count; i++) {
            if (!isfinite(line->x[i]))
                continue;
            if (gnti_axis_shows(&f->y, line->y[i]))
                gnti_axis_add(&f->x, line->x[i]);
            gnti_axis_add(&f->y, line->y[i]);
            if (line->low != NULL && line->high != NULL) {
                gnti_axis_add(&f->y, line->low[i]);
                gnti_axis_add(&f->y, line->high[i]);
            }
        }
    }
}

static double widest_label(const gnti_axis *axis)
{
    char label[GNTI_AXIS_LABEL_BYTES];
    double width = 0.0;

    for (int32_t i = 0; i < axis->num_ticks; i++) {
        gnti_axis_label(axis, axis->ticks[i], label);
        width = fmax(width, gnti_text_width(label, 11));
    }
    return width;
}

/* Rows of names with a stroke of their colour; answers the height used. */
static double draw_legend(gnti_text *t, const gnti_line_chart *c, double left, double right, double top)
{
    double x = left, y = top + 12.0;
    bool any = false;

    for (int32_t s = 0; s < c->num_series; s++) {
        char name[GNTI_SHORT_BYTES];
        double need;

        if (c->series[s].name == NULL)
            continue;
        gnti_shorten(c->series[s].name, 40, name);
        need = 26.0 + gnti_text_width(name, 12) + 18.0;
        if (any && x + need > right) {
            x = left;
            y += 18.0;
        }
        gnti_text_printf(t, "<g%s>", c->series[s].dashed ? " stroke-dasharray=\"5 3\"" : "");
        gnti_svg_line(t, x, y - 4.0, x + 20.0, y - 4.0, gnti_palette(s), 2.5);
        gnti_text_append(t, "</g>");
        gnti_svg_text(t, x + 26.0, y, 12, GNTI_INK, GNTI_ANCHOR_START, name);
        x += need;
        any = true;
    }
    return any ? y - top + 8.0 : 0.0;
}

static void draw_axes(gnti_text *t, const gnti_line_chart *c, const line_frame *f)
{
    char label[GNTI_AXIS_LABEL_BYTES];

    for (int32_t i = 0; i < f->y.num_ticks; i++) {
        const double y = gnti_axis_pixel(&f->y, f->y.ticks[i]);

        gnti_svg_line(t, f->left, y, f->right, y, GNTI_INK_GRID, 1.0);
        gnti_axis_label(&f->y, f->y.ticks[i], label);
        gnti_svg_text(t, f->left - 8.0, y + 4.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, label);
    }
    for (int32_t i = 0; i < f->x.num_ticks; i++) {
        const double x = gnti_axis_pixel(&f->x, f->x.ticks[i]);

        gnti_svg_line(t, x, f->bottom, x, f->bottom + 5.0, GNTI_INK_AXIS, 1.0);
        gnti_axis_label(&f->x, f->x.ticks[i], label);
        gnti_svg_text(t, x, f->bottom + 18.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
    }
    gnti_svg_line(t, f->left, f->bottom, f->right, f->bottom, GNTI_INK_AXIS, 1.0);
    if (c->x_label != NULL)
        gnti_svg_text(t, 0.5 * (f->left + f->right), f->bottom + 36.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->x_label);
    if (c->y_label != NULL) {
        gnti_text_append(t, "<g transform=\"translate(20 ");
        gnti_append_coordinate(t, 0.5 * (f->top + f->bottom));
        gnti_text_append(t, ") rotate(-90)\">");
        gnti_svg_text(t, 0.0, 0.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, c->y_label);
        gnti_text_append(t, "</g>\n");
    }
}

static void append_point(gnti_text *t, const line_frame *f, double x, double y, bool first)
{
    gnti_text_append(t, first ? "M" : "L");
    gnti_append_coordinate(t, gnti_axis_pixel(&f->x, x));
    gnti_text_append(t, " ");
    gnti_append_coordinate(t, gnti_axis_pixel(&f->y, y));
}

static bool shows(const line_frame *f, const gnti_series *s, int64_t i)
{
    return isfinite(s->x[i]) && gnti_axis_shows(&f->y, s->y[i]);
}

/* The points of [begin, end) that are drawn: all, or the lowest and highest of each group of `group`. */
static void append_run(gnti_text *t, const line_frame *f, const gnti_series *s, int64_t begin, int64_t end,
                       int64_t group)
{
    bool first = true;

    for (int64_t g = begin; g < end; g += group) {
        const int64_t stop = g + group < end ? g + group : end;
        int64_t low = g, high = g;

        for (int64_t i = g; i < stop; i++) {
            low = s->y[i] < s->y[low] ? i : low;
            high = s->y[i] > s->y[high] ? i : high;
        }
        append_point(t, f, s->x[low < high ? low : high], s->y[low < high ? low : high], first);
        if (low != high)
            append_point(t, f, s->x[low < high ? high : low], s->y[low < high ? high : low], false);
        first = false;
    }
}

/* A run of shown points is one path piece, a lone point a dot. */
static void draw_line(gnti_text *t, const line_frame *f, const gnti_series *s, int32_t index)
{
    const int64_t group = 1 + s->count / (2 * (int64_t)f->width);
    int64_t begin = 0;

    gnti_text_printf(t,
                     "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s d=\"",
                     gnti_palette(index), s->dashed ? " stroke-dasharray=\"5 3\"" : "");
    for (int64_t i = 0; i <= s->count; i++) {
        if (i < s->count && shows(f, s, i))
            continue;
        if (i - begin > 1)
            append_run(t, f, s, begin, i, group);
        begin = i + 1;
    }
    gnti_text_append(t, "\"/>\n");
    for (int64_t i = 0; i < s->count; i++) {
        if (!shows(f, s, i) || (i > 0 && shows(f, s, i - 1)) || (i + 1 < s->count && shows(f, s, i + 1)))
            continue;
        gnti_text_append(t, "<circle r=\"3\"");
        gnti_append_attribute(t, "cx", gnti_axis_pixel(&f->x, s->x[i]));
        gnti_append_attribute(t, "cy", gnti_axis_pixel(&f->y, s->y[i]));
        gnti_text_printf(t, " fill=\"%s\"/>\n", gnti_palette(index));
    }
}

static bool band_shows(const line_frame *f, const gnti_series *s, int64_t i)
{
    return isfinite(s->x[i]) && gnti_axis_shows(&f->y, s->low[i]) && gnti_axis_shows(&f->y, s->high[i]);
}

static void draw_band(gnti_text *t, const line_frame *f, const gnti_series *s, int32_t index)
{
    const int64_t stride = 1 + s->count / f->width;
    int64_t begin = 0;

    if (s->low == NULL || s->high == NULL)
        return;
    gnti_text_printf(t, "<path fill=\"%s\" fill-opacity=\"0.18\" d=\"", gnti_palette(index));
    for (int64_t i = 0; i <= s->count; i++) {
        if (i < s->count && band_shows(f, s, i))
            continue;
        for (int64_t k = begin; i - begin > 1 && k < i; k += stride)
            append_point(t, f, s->x[k], s->high[k], k == begin);
        for (int64_t k = begin + (i - 1 - begin) / stride * stride; i - begin > 1 && k >= begin; k -= stride)
            append_point(t, f, s->x[k], s->low[k], false);
        gnti_text_append(t, i - begin > 1 ? "Z" : "");
        begin = i + 1;
    }
    gnti_text_append(t, "\"/>\n");
}

static void draw_mark(gnti_text *t, const gnti_line_chart *c, const line_frame *f)
{
    const double x = gnti_axis_pixel(&f->x, c->mark_x);
    const gnti_anchor anchor = x < f->left + 60.0    ? GNTI_ANCHOR_START
                               : x > f->right - 60.0 ? GNTI_ANCHOR_END
                                                     : GNTI_ANCHOR_MIDDLE;

    if (!c->has_mark || !(c->mark_x >= f->x.low && c->mark_x <= f->x.high))
        return;
    gnti_text_append(t, "<g stroke-dasharray=\"2 3\">");
    gnti_svg_line(t, x, f->top, x, f->bottom, GNTI_INK_SOFT, 1.0);
    gnti_text_append(t, "</g>\n");
    if (c->mark_label != NULL)
        gnti_svg_text(t, x, f->top - 5.0, 11, GNTI_INK_SOFT, anchor, c->mark_label);
}

gnt_status gnti_chart_lines(const gnti_line_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    line_frame f = { .width = c->width > 0 ? c->width : 640, .height = c->height > 0 ? c->height : 360 };

    GNT_CHECK(c->num_series >= 0 && (c->num_series == 0 || c->series != NULL), GNT_ERR_ARG,
              "%d series without data", c->num_series);
    scan_data(c, &f);
    const bool empty = gnti_axis_is_empty(&f.y);

    gnti_axis_finish(&f.x, 8, true);
    gnti_axis_finish(&f.y, 6, false);
    f.left = 24.0 + widest_label(&f.y) + (c->y_label != NULL ? 20.0 : 0.0);
    f.right = (double)f.width - 22.0;
    f.top = gnti_svg_begin(&t, f.width, f.height, c->title, c->subtitle);
    f.top += draw_legend(&t, c, f.left, f.right, f.top) + (c->has_mark && c->mark_label != NULL ? 20.0 : 8.0);
    f.bottom = (double)f.height - (c->x_label != NULL ? 46.0 : 30.0);
    f.x.from = f.left;
    f.x.to = f.right;
    f.y.from = f.bottom;
    f.y.to = f.top;
    draw_axes(&t, c, &f);
    for (int32_t s = 0; s < c->num_series; s++)
        draw_band(&t, &f, &c->series[s], s);
    for (int32_t s = 0; s < c->num_series; s++)
        draw_line(&t, &f, &c->series[s], s);
    if (empty)
        gnti_svg_text(&t, 0.5 * (f.left + f.right), 0.5 * (f.top + f.bottom), 13, GNTI_INK_SOFT,
                      GNTI_ANCHOR_MIDDLE, "no values");
    else
        draw_mark(&t, c, &f);
    GNT_TRY(gnti_svg_end(&t, f.width, f.height, out));
done:
    gnti_text_free(&t);
    return st;
}
