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
#define COLOR_BOTH   "#0072b2" /* up to the smaller of accuracy and confidence */
#define COLOR_MODEST "#8cc4ea" /* right more often than sure */
#define COLOR_SURE   "#e08a4a" /* sure more often than right */

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
}

static void draw_bin(gnti_text *t, const gnti_reliability_chart *c, int32_t b, int64_t most, double top)
{
    const double wide = (double)SIDE / c->num_bins, x = LEFT + wide * b + 1.0;
    const double right = fmin(fmax(c->accuracy[b], 0.0), 1.0), sure = fmin(fmax(c->confidence[b], 0.0), 1.0);
    const double low = fmin(right, sure), high = fmax(right, sure);
    const double rows = fmax((LOW - 8.0) * (double)c->count[b] / (double)most, 1.0);

    if (c->count[b] <= 0 || !isfinite(right + sure))
        return;
    gnti_svg_rect(t, x, top + SIDE * (1.0 - low), wide - 2.0, SIDE * low, 0.0, COLOR_BOTH);
    gnti_svg_rect(t, x, top + SIDE * (1.0 - high), wide - 2.0, SIDE * (high - low), 0.0,
                  right > sure ? COLOR_MODEST : COLOR_SURE);
    gnti_svg_line(t, x, top + SIDE * (1.0 - right), x + wide - 2.0, top + SIDE * (1.0 - right), GNTI_INK,
                  2.0);
    gnti_svg_rect(t, x, top + SIDE + LOW + 8.0 - rows, wide - 2.0, rows, 0.0, GNTI_INK_AXIS);
}

/* One line above the plot. */
static void draw_legend(gnti_text *t, double y)
{
    static const char *const colors[] = { NULL, COLOR_MODEST, COLOR_SURE };
    static const char *const words[] = { "accuracy", "underconfident", "overconfident" };
    static const double at[] = { 0.0, 90.0, 218.0 };

    for (int i = 0; i < 3; i++) {
        if (colors[i] == NULL)
            gnti_svg_line(t, LEFT + at[i], y - 4.0, LEFT + at[i] + 12.0, y - 4.0, GNTI_INK, 2.0);
        else
            gnti_svg_rect(t, LEFT + at[i], y - 9.0, 10.0, 10.0, 0.0, colors[i]);
        gnti_svg_text(t, LEFT + at[i] + 17.0, y, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START, words[i]);
    }
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
    draw_legend(&t, top - 10.0);
    if (most == 0)
        gnti_svg_text(&t, LEFT + 0.5 * SIDE, top + 0.5 * SIDE, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      "no values");
    GNT_TRY(gnti_svg_end(&t, WIDTH, height, out));
done:
    gnti_text_free(&t);
    return st;
}
