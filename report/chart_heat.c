/* SPDX-License-Identifier: Apache-2.0 */
/* A square matrix as shades, the square root of a value over the largest one, so that small ones still show. */
#include "base/alloc.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

enum { MAX_CELLS = 256, SIDE = 360, LEFT = 64, BOTTOM = 44 };

/* The matrix in at most MAX_CELLS blocks a side; *cells of them. */
static gnt_status add_up(const gnti_heat_chart *c, double **out, int32_t *cells)
{
    gnt_status st = GNT_OK;
    const int32_t block = (c->side + MAX_CELLS - 1) / MAX_CELLS;
    double *sum = NULL;

    *cells = c->side > 0 ? (c->side + block - 1) / block : 0;
    GNT_TRY(gnti_calloc_array(&sum, (int64_t)*cells * *cells));
    for (int32_t r = 0; r < c->side; r++) {
        for (int32_t k = 0; k < c->side; k++) {
            const double value = c->values[(int64_t)r * c->side + k];

            if (value > 0.0 && isfinite(value))
                sum[(int64_t)(r / block) * *cells + k / block] += value;
        }
    }
    *out = sum;
done:
    return st;
}

static void draw_axes(gnti_text *t, const gnti_heat_chart *c, double top)
{
    const int32_t step = c->side <= 8 ? 1 : (c->side + 7) / 8;
    char label[16];

    for (int32_t i = 0; i < c->side; i += step) {
        const double at = (i + 0.5) / c->side * SIDE;

        snprintf(label, sizeof label, "%d", i);
        gnti_svg_text(t, LEFT + at, top + SIDE + 14.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, label);
        gnti_svg_text(t, LEFT - 6.0, top + at + 4.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, label);
    }
    if (c->x_label != NULL)
        gnti_svg_text(t, LEFT + 0.5 * SIDE, top + SIDE + 32.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      c->x_label);
    if (c->y_label != NULL)
        gnti_svg_text(t, LEFT, top - 6.0, 12, GNTI_INK_SOFT, GNTI_ANCHOR_START, c->y_label);
}

gnt_status gnti_chart_heat(const gnti_heat_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const int32_t width = LEFT + SIDE + 24;
    const int32_t titles = 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0);
    const int32_t height = titles + 24 + SIDE + BOTTOM;
    double *sum = NULL, most = 0.0, top, pitch;
    int32_t cells = 0;
    char color[8];

    GNT_CHECK(c->side >= 0, GNT_ERR_ARG, "a matrix of %d rows", c->side);
    GNT_TRY(add_up(c, &sum, &cells));
    for (int64_t i = 0; i < (int64_t)cells * cells; i++)
        most = fmax(most, sum[i]);
    top = gnti_svg_begin(&t, width, height, c->title, c->subtitle) + 24.0;
    pitch = cells > 0 ? (double)SIDE / cells : SIDE;
    gnti_svg_rect(&t, LEFT, top, SIDE, SIDE, 0.0, GNTI_INK_GRID);
    for (int32_t r = 0; r < cells; r++) {
        for (int32_t k = 0; k < cells; k++) {
            const double value = sum[(int64_t)r * cells + k];

            if (value <= 0.0)
                continue;
            gnti_shade(sqrt(value / most), color);
            gnti_svg_rect(&t, LEFT + pitch * k, top + pitch * r, pitch, pitch, 0.0, color);
        }
    }
    draw_axes(&t, c, top);
    if (c->side == 0)
        gnti_svg_text(&t, LEFT + 0.5 * SIDE, top + 0.5 * SIDE, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE,
                      "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_free(sum);
    gnti_text_free(&t);
    return st;
}
