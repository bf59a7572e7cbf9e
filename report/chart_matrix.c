/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix with names on both sides: the darker the larger, a scale beside it. Cells shrink as the names become many; numbers are
 * written while a cell has room for them, names while a line has.
 */
#include "base/alloc.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

enum { MAX_SIDE = 256, NAME_LETTERS = 20, NAME_HIGH = 12, SCALE_WIDE = 14, SCALE_ROOM = 86 };
#define TURN 0.7 /* of a turned name's width, its height: sin 45 degrees */

typedef struct grid {
    double cell, left, top, names; /* pixels; names: the widest one */
    double most;
    int32_t step; /* every step-th name is written */
} grid;

static void shorten(const gnti_matrix_chart *c, int32_t i, char out[GNTI_SHORT_BYTES])
{
    gnti_shorten(c->names[i] == NULL ? "" : c->names[i], NAME_LETTERS, out);
}

static grid measure(const gnti_matrix_chart *c, int32_t titles)
{
    grid g = { 0 };
    char name[GNTI_SHORT_BYTES];

    for (int32_t i = 0; i < c->side; i++) {
        shorten(c, i, name);
        g.names = fmax(g.names, gnti_text_width(name, 11));
    }
    for (int64_t i = 0; i < (int64_t)c->side * c->side; i++)
        g.most = isfinite(c->values[i]) ? fmax(g.most, c->values[i]) : g.most;
    g.cell = c->side <= 8 ? 46.0 : c->side <= 14 ? 38.0 : fmax(floor(520.0 / c->side), 3.0);
    g.step = g.cell >= NAME_HIGH ? 1 : (int32_t)ceil(NAME_HIGH / g.cell);
    g.left = 24.0 + g.names;
    g.top = titles + 12.0;
    return g;
}

static void value_text(const gnti_matrix_chart *c, double value, char out[32])
{
    snprintf(out, 32, c->percent ? "%.1f" : "%.3g", c->percent ? 100.0 * value : value);
    for (char *p = out; *p != '\0'; p++)
        if (*p == ',')
            *p = '.';
}

static void draw_cell(gnti_text *t, const gnti_matrix_chart *c, const grid *g, int32_t r, int32_t k)
{
    const double value = c->values[(int64_t)r * c->side + k];
    const double x = g->left + g->cell * k, y = g->top + g->cell * r;
    const double gap = g->cell >= 8.0 ? 1.0 : 0.0, strength = g->most > 0.0 ? value / g->most : 0.0;
    char color[8], number[32];

    if (!isfinite(value))
        return;
    gnti_shade(strength, color);
    gnti_svg_rect(t, x, y, g->cell - gap, g->cell - gap, 0.0, color);
    if (g->cell < 34.0)
        return;
    value_text(c, value, number);
    gnti_svg_text(t, x + 0.5 * (g->cell - gap), y + 0.5 * (g->cell - gap) + 4.0, 11,
                  strength > 0.55 ? "#ffffff" : GNTI_INK, GNTI_ANCHOR_MIDDLE, number);
}

static void draw_names(gnti_text *t, const gnti_matrix_chart *c, const grid *g)
{
    const double bottom = g->top + g->cell * c->side;
    char name[GNTI_SHORT_BYTES];

    for (int32_t i = 0; i < c->side; i += g->step) {
        const double middle = g->cell * (i + 0.5);

        shorten(c, i, name);
        gnti_svg_text(t, g->left - 8.0, g->top + middle + 4.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, name);
        gnti_text_append(t, "<g transform=\"translate(");
        gnti_append_coordinate(t, g->left + middle + 4.0);
        gnti_text_append(t, " ");
        gnti_append_coordinate(t, bottom + 12.0);
        gnti_text_append(t, ") rotate(-45)\">");
        gnti_svg_text(t, 0.0, 0.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, name);
        gnti_text_append(t, "</g>\n");
    }
}

/* From 0 below to the largest value above. */
static void draw_scale(gnti_text *t, const gnti_matrix_chart *c, const grid *g)
{
    const double x = g->left + g->cell * c->side + 22.0, high = fmin(g->cell * c->side, 160.0);
    char color[8], number[32], label[40];

    for (int i = 0; i < 20; i++) {
        gnti_shade((19.5 - i) / 20.0, color);
        gnti_svg_rect(t, x, g->top + high * i / 20.0, SCALE_WIDE, high / 20.0 + 0.5, 0.0, color);
    }
    value_text(c, g->most, number);
    snprintf(label, sizeof label, "%s%s", number, c->percent ? " %" : "");
    gnti_svg_text(t, x + SCALE_WIDE + 6.0, g->top + 10.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START, label);
    gnti_svg_text(t, x + SCALE_WIDE + 6.0, g->top + high, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START,
                  c->percent ? "0 %" : "0");
}

gnt_status gnti_chart_matrix(const gnti_matrix_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const int32_t titles = 14 + (c->title != NULL ? 22 : 0) + (c->subtitle != NULL ? 18 : 0);

    GNT_CHECK(c->side >= 0 && c->side <= MAX_SIDE, GNT_ERR_LIMIT, "a matrix of %d rows, at most %d are drawn",
              c->side, MAX_SIDE);
    const grid g = measure(c, titles);
    const double least = fmax(gnti_text_width(c->title == NULL ? "" : c->title, 15),
                              gnti_text_width(c->subtitle == NULL ? "" : c->subtitle, 12)) +
                         32.0;
    const int32_t width = (int32_t)fmax(g.left + g.cell * c->side + SCALE_ROOM, least);
    const int32_t height = (int32_t)(g.top + g.cell * c->side + TURN * g.names + 34.0);

    gnti_svg_begin(&t, width, height, c->title, c->subtitle);
    for (int32_t r = 0; r < c->side; r++)
        for (int32_t k = 0; k < c->side; k++)
            draw_cell(&t, c, &g, r, k);
    draw_names(&t, c, &g);
    if (c->side > 0)
        draw_scale(&t, c, &g);
    else
        gnti_svg_text(&t, 0.5 * width, g.top, 13, GNTI_INK_SOFT, GNTI_ANCHOR_MIDDLE, "no values");
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_text_free(&t);
    return st;
}
