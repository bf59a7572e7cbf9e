/* SPDX-License-Identifier: Apache-2.0 */
/* Horizontal bars from zero, with the value behind each and a whisker for the deviation. Names
 * stand beside their bar, so that long ones are read without turning the head.
 */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BAR_PITCH = 40, BAR_HEIGHT = 24 };

/* "81.5 %", "81.5 ± 0.4 %", "0.42". */
static void value_text(const gnti_bar_chart *c, const gnti_bar *bar, char out[96])
{
    const double scale = c->percent ? 100.0 : 1.0;
    char number[32], deviation[40] = "";

    if (!isfinite(bar->value)) {
        snprintf(out, 96, "no value");
        return;
    }
    snprintf(number, sizeof number, c->percent ? "%.1f" : "%.4g", bar->value * scale);
    if (isfinite(bar->deviation) && bar->deviation > 0.0)
        snprintf(deviation, sizeof deviation, c->percent ? " \xc2\xb1 %.1f" : " \xc2\xb1 %.2g",
                 bar->deviation * scale);
    snprintf(out, 96, "%s%s%s", number, deviation, c->percent ? " %" : "");
    for (char *p = out; *p != '\0'; p++)
        if (*p == ',')
            *p = '.';
}

static double spread(const gnti_bar *bar)
{
    return isfinite(bar->deviation) && bar->deviation > 0.0 ? bar->deviation : 0.0;
}

static void draw_bar(gnti_text *t, const gnti_bar_chart *c, const gnti_axis *axis, int32_t i, double y)
{
    const gnti_bar *bar = &c->bars[i];
    const double zero = gnti_axis_pixel(axis, 0.0);
    const double tip = isfinite(bar->value) ? gnti_axis_pixel(axis, bar->value) : zero;
    const double middle = y + 0.5 * BAR_HEIGHT;
    double end = fmax(tip, zero);
    char name[GNTI_SHORT_BYTES], value[96];

    gnti_shorten(bar->name == NULL ? "" : bar->name, 28, name);
    gnti_svg_text(t, axis->from - 10.0, middle + 4.0, 12, GNTI_INK, GNTI_ANCHOR_END, name);
    gnti_svg_rect(t, fmin(tip, zero), y, fabs(tip - zero), BAR_HEIGHT, 2.0, gnti_palette(bar->color));
    if (isfinite(bar->value) && spread(bar) > 0.0) {
        const double low = gnti_axis_pixel(axis, bar->value - spread(bar));
        const double high = gnti_axis_pixel(axis, bar->value + spread(bar));

        gnti_svg_line(t, low, middle, high, middle, GNTI_INK, 1.5);
        gnti_svg_line(t, low, middle - 5.0, low, middle + 5.0, GNTI_INK, 1.5);
        gnti_svg_line(t, high, middle - 5.0, high, middle + 5.0, GNTI_INK, 1.5);
        end = fmax(end, high);
    }
    value_text(c, bar, value);
    gnti_text_append(t, "<g font-weight=\"bold\">");
    gnti_svg_text(t, end + 8.0, middle + 4.0, 12, GNTI_INK, GNTI_ANCHOR_START, value);
    gnti_text_append(t, "</g>");
}

static void draw_grid(gnti_text *t, const gnti_bar_chart *c, const gnti_axis *axis, double top, double bottom)
{
    char label[GNTI_AXIS_LABEL_BYTES];

    for (int32_t i = 0; i < axis->num_ticks; i++) {
        const double x = gnti_axis_pixel(axis, axis->ticks[i]);

        gnti_svg_line(t, x, top, x, bottom, GNTI_INK_GRID, 1.0);
        gnti_axis_label(axis, axis->ticks[i], label);
        gnti_svg_text(t, x, bottom + 16.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
    }
    if (c->value_label != NULL)
        gnti_svg_text(t, 0.5 * (axis->from + axis->to), bottom + 34.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->value_label);
}

gnt_status gnti_chart_bars(const gnti_bar_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    gnti_axis axis = gnti_axis_begin(false, c->percent);
    const int32_t width = c->width > 0 ? c->width : 640;
    double names = 0.0, values = 0.0, top, bottom;
    char text[GNTI_SHORT_BYTES], value[96];

    GNT_CHECK(c->num_bars >= 0 && c->num_bars <= 1000, GNT_ERR_LIMIT, "%d bars, at most 1000 are drawn",
              c->num_bars);
    gnti_axis_add(&axis, 0.0);
    for (int32_t i = 0; i < c->num_bars; i++) {
        gnti_axis_add(&axis, c->bars[i].value - spread(&c->bars[i]));
        gnti_axis_add(&axis, c->bars[i].value + spread(&c->bars[i]));
        gnti_shorten(c->bars[i].name == NULL ? "" : c->bars[i].name, 28, text);
        names = fmax(names, gnti_text_width(text, 12));
        value_text(c, &c->bars[i], value);
        values = fmax(values, gnti_text_width(value, 12));
    }
    if (!(axis.high > axis.low))
        axis.high = c->percent ? 1.0 : axis.low + 1.0;
    gnti_axis_finish(&axis, 6, false);
    axis.from = 28.0 + names;
    axis.to = (double)width - 24.0 - values;
    const int32_t titles = 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0);
    const int32_t height =
        titles + 8 + BAR_PITCH * (c->num_bars > 0 ? c->num_bars : 1) + (c->value_label != NULL ? 48 : 30);

    top = gnti_svg_begin(&t, width, height, c->title, c->subtitle) + 8.0;
    bottom = (double)height - (c->value_label != NULL ? 46.0 : 28.0);
    draw_grid(&t, c, &axis, top, bottom);
    for (int32_t i = 0; i < c->num_bars; i++)
        draw_bar(&t, c, &axis, i, top + BAR_PITCH * i + 0.5 * (BAR_PITCH - BAR_HEIGHT));
    gnti_svg_line(&t, gnti_axis_pixel(&axis, 0.0), top, gnti_axis_pixel(&axis, 0.0), bottom, GNTI_INK_AXIS,
                  1.0);
    if (c->num_bars == 0)
        gnti_svg_text(&t, 0.5 * (axis.from + axis.to), top + 24.0, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_text_free(&t);
    return st;
}
