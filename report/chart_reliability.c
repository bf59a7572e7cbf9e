/* SPDX-License-Identifier: Apache-2.0 */
/* A reliability diagram (DeGroot, Fienberg, 1983; Niculescu-Mizil, Caruana, ICML 2005): accuracy over confidence, the diagonal that
 * perfect calibration would follow, and the rows of each bin below.
 */
#include "base/alloc.h"
#include "report/axis.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

enum {
    WIDTH = 420,
    LEFT = 62,
    RIGHT = 20,
    SIDE = WIDTH - LEFT - RIGHT,
    LOW = 56,
    BOTTOM = 44,
    MAX_BINS = 200
};
#define GAP_COLOR "#d55e00"

static void draw_grid(gnti_text *t, double top)
{
    char label[16];

    for (int i = 0; i <= 5; i++) {
        const double at = SIDE * i / 5.0;

        snprintf(label, sizeof label, "%d %%", 20 * i);
        gnti_svg_line(t, LEFT, top + SIDE - at, LEFT + SIDE, top + SIDE - at, GNTI_INK_GRID, 1.0);
        gnti_svg_text(t, LEFT - 8.0, top + SIDE - at + 4.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, label);
        gnti_svg_text(t, LEFT + at, top + SIDE + LOW + 24.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
    }
    gnti_svg_text(t, LEFT + 0.5 * SIDE, top + SIDE + LOW + 42.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                  "confidence");
    gnti_svg_text(t, LEFT, top - 8.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_START, "accuracy");
}

static void draw_gap(gnti_text *t, double x, double wide, double y1, double y2)
{
    gnti_text_append(t, "<rect");
    gnti_append_attribute(t, "x", x);
    gnti_append_attribute(t, "y", fmin(y1, y2));
    gnti_append_attribute(t, "width", wide);
    gnti_append_attribute(t, "height", fabs(y1 - y2));
    gnti_text_append(t, " fill=\"" GAP_COLOR "\" fill-opacity=\"0.25\" stroke=\"" GAP_COLOR
                        "\" stroke-width=\"1\"/>\n");
}

static void draw_bin(gnti_text *t, const gnti_reliability_chart *c, int32_t b, int64_t most, double top)
{
    const double wide = (double)SIDE / c->num_bins, x = LEFT + wide * b + 1.0;
    const double right = fmin(fmax(c->accuracy[b], 0.0), 1.0), sure = fmin(fmax(c->confidence[b], 0.0), 1.0);
    const double low_top = top + SIDE + 8.0;
    const double high = (LOW - 8.0) * (double)c->count[b] / (double)most;

    if (c->count[b] <= 0 || !isfinite(right + sure))
        return;
    gnti_svg_rect(t, x, top + SIDE * (1.0 - right), wide - 2.0, SIDE * right, 0.0, gnti_palette(0));
    draw_gap(t, x + 0.5, wide - 3.0, top + SIDE * (1.0 - right), top + SIDE * (1.0 - sure));
    gnti_svg_rect(t, x, low_top + LOW - 8.0 - fmax(high, 1.0), wide - 2.0, fmax(high, 1.0), 0.0,
                  GNTI_INK_AXIS);
}

static void draw_legend(gnti_text *t, double top)
{
    gnti_svg_rect(t, LEFT + 10.0, top + 8.0, 10.0, 10.0, 0.0, gnti_palette(0));
    gnti_svg_text(t, LEFT + 26.0, top + 17.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START, "accuracy of a bin");
    draw_gap(t, LEFT + 10.5, 9.0, top + 26.5, top + 35.5);
    gnti_svg_text(t, LEFT + 26.0, top + 35.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START, "gap to its confidence");
}

gnt_status gnti_chart_reliability(const gnti_reliability_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const int32_t titles = 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0);
    const int32_t height = titles + 22 + SIDE + LOW + BOTTOM + 8;
    const double top = titles + 22.0;
    int64_t most = 0;

    GNT_CHECK(c->num_bins >= 1 && c->num_bins <= MAX_BINS, GNT_ERR_LIMIT, "%d bins, from 1 to %d are drawn",
              c->num_bins, MAX_BINS);
    for (int32_t b = 0; b < c->num_bins; b++)
        most = c->count[b] > most ? c->count[b] : most;
    gnti_svg_begin(&t, WIDTH, height, c->title, c->subtitle);
    draw_grid(&t, top);
    for (int32_t b = 0; b < c->num_bins; b++)
        draw_bin(&t, c, b, most, top);
    gnti_text_printf(&t,
                     "<path d=\"M%d %.0f L%d %.0f\" fill=\"none\" stroke=\"" GNTI_INK
                     "\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\"/>\n",
                     LEFT, top + SIDE, LEFT + SIDE, top);
    gnti_svg_line(&t, LEFT, top + SIDE + LOW + 8.0, LEFT + SIDE, top + SIDE + LOW + 8.0, GNTI_INK_AXIS, 1.0);
    gnti_svg_text(&t, LEFT - 8.0, top + SIDE + 0.5 * LOW + 12.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, "rows");
    draw_legend(&t, top);
    if (most == 0)
        gnti_svg_text(&t, LEFT + 0.5 * SIDE, top + 0.5 * SIDE, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      "no values");
    GNT_TRY(gnti_svg_end(&t, WIDTH, height, out));
done:
    gnti_text_free(&t);
    return st;
}
