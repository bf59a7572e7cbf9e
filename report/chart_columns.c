/* SPDX-License-Identifier: Apache-2.0 */
/* Upright columns: how even many values are, at a glance. */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

enum { LEFT = 64, RIGHT = 16, BOTTOM = 40 };

/* Of the values that are numbers; NaN when there is none. */
static double mean_of(const gnti_column_chart *c)
{
    double sum = 0.0;
    int32_t count = 0;

    for (int32_t i = 0; i < c->count; i++) {
        if (!isfinite(c->values[i]))
            continue;
        sum += c->values[i];
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static void draw_y_axis(gnti_text *t, const gnti_axis *y, int32_t width)
{
    char label[GNTI_AXIS_LABEL_BYTES];

    for (int32_t i = 0; i < y->num_ticks; i++) {
        const double at = gnti_axis_pixel(y, y->ticks[i]);

        gnti_svg_line(t, LEFT, at, width - RIGHT, at, GNTI_INK_GRID, 1.0);
        gnti_axis_label(y, y->ticks[i], label);
        gnti_svg_text(t, LEFT - 8.0, at + 4.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, label);
    }
}

/* A number below the first column, the last one, and a few between. */
static void draw_x_axis(gnti_text *t, const gnti_column_chart *c, double pitch, double bottom, int32_t width)
{
    const int32_t step = c->count <= 8 ? 1 : c->count <= 16 ? 2 : (c->count + 7) / 8;
    char label[16];

    for (int32_t i = 0; i < c->count; i += step) {
        snprintf(label, sizeof label, "%d", i);
        gnti_svg_text(t, LEFT + pitch * (i + 0.5), bottom + 14.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      label);
    }
    if (c->x_label != NULL)
        gnti_svg_text(t, 0.5 * (LEFT + width - RIGHT), bottom + 30.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->x_label);
}

gnt_status gnti_chart_columns(const gnti_column_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    gnti_axis y = gnti_axis_begin(false, false);
    const int32_t width = c->width > 0 ? c->width : 420, height = c->height > 0 ? c->height : 200;
    const double mean = mean_of(c), pitch = (double)(width - LEFT - RIGHT) / (c->count > 0 ? c->count : 1);
    double top;

    GNT_CHECK(c->count >= 0, GNT_ERR_ARG, "%d columns", c->count);
    gnti_axis_add(&y, 0.0);
    for (int32_t i = 0; i < c->count; i++)
        gnti_axis_add(&y, c->values[i]);
    if (!(y.high > y.low))
        y.high = y.low + 1.0;
    gnti_axis_finish(&y, 4, false);
    top = gnti_svg_begin(&t, width, height, c->title, c->subtitle) + 8.0;
    y.from = height - BOTTOM;
    y.to = top;
    draw_y_axis(&t, &y, width);
    for (int32_t i = 0; i < c->count; i++) {
        const double at = isfinite(c->values[i]) ? gnti_axis_pixel(&y, c->values[i]) : y.from;
        const double zero = gnti_axis_pixel(&y, 0.0);

        if (isfinite(c->values[i]))
            gnti_svg_rect(&t, LEFT + pitch * i + 0.1 * pitch, fmin(at, zero), 0.8 * pitch, fabs(at - zero),
                          0.0, gnti_palette(c->color));
    }
    if (isfinite(mean) && gnti_axis_shows(&y, mean))
        gnti_svg_line(&t, LEFT, gnti_axis_pixel(&y, mean), width - RIGHT, gnti_axis_pixel(&y, mean), GNTI_INK,
                      1.0);
    draw_x_axis(&t, c, pitch, y.from, width);
    if (c->count == 0)
        gnti_svg_text(&t, 0.5 * width, 0.5 * height, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_text_free(&t);
    return st;
}
