/* SPDX-License-Identifier: Apache-2.0 */
/* Confusion matrix: a cell's shade is its share of the row (of the nodes that truly are of that class), so
 * that rare classes show as well as common ones; the number is the count. The rightmost column tells each
 * class' recall.
 */
#include "base/alloc.h"
#include "report/svg.h"

#include <math.h>
#include <stdio.h>

typedef struct matrix_frame {
    double left, top, cell;
    int32_t width, height, font;
} matrix_frame;

static const char *class_name(const gnti_confusion_chart *c, int32_t i, char out[GNTI_SHORT_BYTES])
{
    if (c->names != NULL && c->names[i] != NULL)
        gnti_shorten(c->names[i], 24, out);
    else
        snprintf(out, GNTI_SHORT_BYTES, "%d", i);
    return out;
}

static double widest_name(const gnti_confusion_chart *c, int32_t font)
{
    char name[GNTI_SHORT_BYTES];
    double width = 0.0;

    for (int32_t i = 0; i < c->num_classes; i++)
        width = fmax(width, gnti_text_width(class_name(c, i, name), font));
    return width;
}

static int64_t row_total(const gnti_confusion_chart *c, int32_t row)
{
    int64_t total = 0;

    for (int32_t k = 0; k < c->num_classes; k++)
        total += c->counts[(int64_t)row * c->num_classes + k];
    return total;
}

static void draw_cell(gnti_text *t, const matrix_frame *f, int32_t row, int32_t column, int64_t count,
                      int64_t total)
{
    const double share = total > 0 ? (double)count / (double)total : 0.0;
    const double x = f->left + f->cell * column, y = f->top + f->cell * row;
    char color[8], number[24];

    gnti_shade(sqrt(fmin(fmax(share, 0.0), 1.0)), color); /* small shares stay visible */
    gnti_svg_rect(t, x, y, f->cell - 1.0, f->cell - 1.0, 0.0, color);
    snprintf(number, sizeof number, "%lld", (long long)count);
    if (count != 0 && gnti_text_width(number, f->font) < f->cell - 2.0)
        gnti_svg_text(t, x + 0.5 * f->cell, y + 0.5 * f->cell + 0.36 * f->font, f->font,
                      share > 0.35 ? "#ffffff" : GNTI_INK, GNTI_ANCHOR_MIDDLE, number);
}

static void draw_row(gnti_text *t, const gnti_confusion_chart *c, const matrix_frame *f, int32_t row)
{
    const int64_t total = row_total(c, row);
    const int64_t right = c->counts[(int64_t)row * c->num_classes + row];
    const double y = f->top + f->cell * (row + 0.5) + 4.0;
    char text[GNTI_SHORT_BYTES];

    gnti_svg_text(t, f->left - 8.0, y, 11, GNTI_INK, GNTI_ANCHOR_END, class_name(c, row, text));
    for (int32_t k = 0; k < c->num_classes; k++)
        draw_cell(t, f, row, k, c->counts[(int64_t)row * c->num_classes + k], total);
    if (total > 0) {
        snprintf(text, sizeof text, "%d %%", (int)lround(100.0 * (double)right / (double)total));
        gnti_svg_text(t, f->left + f->cell * c->num_classes + 42.0, y, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END,
                      text);
    }
}

static void draw_column_names(gnti_text *t, const gnti_confusion_chart *c, const matrix_frame *f)
{
    char name[GNTI_SHORT_BYTES];

    for (int32_t k = 0; k < c->num_classes; k++) {
        gnti_text_append(t, "<g transform=\"translate(");
        gnti_append_coordinate(t, f->left + f->cell * (k + 0.5) + 4.0);
        gnti_text_append(t, " ");
        gnti_append_coordinate(t, f->top - 6.0);
        gnti_text_append(t, ") rotate(-60)\">");
        gnti_svg_text(t, 0.0, 0.0, 11, GNTI_INK, GNTI_ANCHOR_START, class_name(c, k, name));
        gnti_text_append(t, "</g>\n");
    }
}

static double cell_side(int32_t num_classes)
{
    return num_classes <= 8 ? 46.0 : num_classes <= 16 ? 34.0 : num_classes <= 40 ? 22.0 : 15.0;
}

gnt_status gnti_chart_confusion(const gnti_confusion_chart *c, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    matrix_frame f = { .cell = cell_side(c->num_classes), .font = c->num_classes <= 16 ? 11 : 9 };
    const double names = widest_name(c, 11);
    const double titles = 14.0 + (c->title != NULL ? 22.0 : 0.0) + (c->subtitle != NULL ? 18.0 : 0.0);

    GNT_CHECK(c->num_classes >= 0 && c->num_classes <= 1000, GNT_ERR_LIMIT,
              "a confusion matrix of %d classes, at most 1000 are drawn", c->num_classes);
    f.left = 40.0 + names;
    f.top = titles + 34.0 + 0.87 * names;
    f.width = (int32_t)lround(fmax(f.left + f.cell * c->num_classes + 64.0 + 0.5 * names, 360.0));
    f.height = (int32_t)lround(f.top + f.cell * c->num_classes + 20.0);
    gnti_svg_begin(&t, f.width, f.height, c->title, c->subtitle);
    if (c->num_classes == 0)
        gnti_svg_text(&t, 16.0, f.top, 13, GNTI_INK_SOFT, GNTI_ANCHOR_START, "no classes");
    else {
        gnti_svg_text(&t, f.left, titles + 12.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_START, "predicted class");
        gnti_svg_text(&t, f.left - 8.0, f.top - 8.0, 11, GNTI_INK_SOFT, GNTI_ANCHOR_END, "true class");
        gnti_svg_text(&t, f.left + f.cell * c->num_classes + 42.0, f.top - 8.0, 11, GNTI_INK_SOFT,
                      GNTI_ANCHOR_END, "right");
        draw_column_names(&t, c, &f);
    }
    for (int32_t row = 0; row < c->num_classes; row++)
        draw_row(&t, c, &f, row);
    GNT_TRY(gnti_svg_end(&t, f.width, f.height, out));
done:
    gnti_text_free(&t);
    return st;
}
