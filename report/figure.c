/* SPDX-License-Identifier: Apache-2.0 */
/* Several charts in one document: an SVG may stand inside another one, moved by its x and y. A row is as high as its
 * highest chart; charts of a row stand side by side, whatever is above them.
 */
#include "base/alloc.h"
#include "report/svg.h"

#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 8 };

static int32_t row_width(const gnti_svg *charts, int32_t num_charts, int32_t first, int32_t columns)
{
    int32_t width = 0;

    for (int32_t i = first; i < num_charts && i < first + columns; i++)
        width += charts[i].width;
    return width;
}

static int32_t row_height(const gnti_svg *charts, int32_t num_charts, int32_t first, int32_t columns)
{
    int32_t height = 0;

    for (int32_t i = first; i < num_charts && i < first + columns; i++)
        height = charts[i].height > height ? charts[i].height : height;
    return height;
}

gnt_status gnti_figure(const gnti_svg *charts, int32_t num_charts, int32_t columns, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    int32_t width = 0, height = 0, y = 0;

    GNT_CHECK(num_charts >= 0 && columns >= 1 && columns <= MAX_COLUMNS, GNT_ERR_ARG,
              "%d charts in %d columns", num_charts, columns);
    for (int32_t i = 0; i < num_charts; i += columns) {
        const int32_t row = row_width(charts, num_charts, i, columns);

        width = row > width ? row : width;
        height += row_height(charts, num_charts, i, columns);
    }
    gnti_svg_begin(&t, width, height, NULL, NULL);
    for (int32_t i = 0; i < num_charts; i += columns) {
        int32_t x = 0;

        for (int32_t c = 0; c < columns && i + c < num_charts; c++) {
            gnti_text_printf(&t, "<svg x=\"%d\" y=\"%d\"", x, y);
            gnti_text_append(&t, charts[i + c].text + strlen("<svg"));
            x += charts[i + c].width;
        }
        y += row_height(charts, num_charts, i, columns);
    }
    GNT_TRY(gnti_svg_end(&t, width, height, out));
done:
    gnti_text_free(&t);
    return st;
}
