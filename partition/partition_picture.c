/* SPDX-License-Identifier: Apache-2.0 */
/* Draws what the quality of a partition counts; nothing is measured again. */
#include "partition/partition_picture.h"

#include "base/file.h"
#include "report/chart.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHARTS = 5 };

static gnt_status read_list(const gnti_json *list, int32_t count, double *out)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < count; i++)
        if (!gnti_json_to_number(gnti_json_at(list, i), &out[i]))
            out[i] = NAN;
    return st;
}

static gnt_status draw_columns(const gnti_partition *p, const char *key, const char *balance,
                               const char *title, int32_t color, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    gnti_column_chart chart = { .title = title, .x_label = "chunk", .count = p->num_chunks, .color = color };
    double *values = NULL, skew = NAN;
    char subtitle[64];

    GNT_TRY(gnti_alloc_array(&values, p->num_chunks));
    GNT_TRY(read_list(gnti_json_find(p->quality, key), p->num_chunks, values));
    GNT_TRY(gnti_json_get_number(p->quality, balance, &skew));
    snprintf(subtitle, sizeof subtitle, "largest over mean %d.%02d", (int)floor(skew),
             (int)floor(100.0 * (skew - floor(skew))));
    chart.values = values;
    chart.subtitle = subtitle;
    GNT_TRY(gnti_chart_columns(&chart, out));
done:
    gnti_free(values);
    return st;
}

static gnt_status draw_quotient(const gnti_partition *p, const gnti_json *send, gnti_svg *out)
{
    gnt_status st = GNT_OK;
    const int32_t k = p->num_chunks;
    double *values = NULL;
    const gnti_heat_chart names = { .title = "Rows sent from chunk to chunk",
                                    .subtitle = "near the diagonal: neighbours in the tree of cuts",
                                    .x_label = "to chunk",
                                    .y_label = "from chunk" };
    gnti_heat_chart chart = names;

    GNT_TRY(gnti_alloc_array(&values, (int64_t)k * k));
    for (int32_t r = 0; r < k; r++)
        GNT_TRY(read_list(gnti_json_at(send, r), k, values + (int64_t)r * k));
    chart.values = values;
    chart.side = k;
    GNT_TRY(gnti_chart_heat(&chart, out));
done:
    gnti_free(values);
    return st;
}

gnt_status gnti_partition_draw(const gnti_partition *p, const char *path)
{
    gnt_status st = GNT_OK;
    const gnti_json *send = gnti_json_find(p->quality, "send");
    gnti_svg charts[MAX_CHARTS] = { { 0 } }, figure = { 0 };
    int32_t num = 4;

    GNT_TRY(draw_columns(p, "nodes", "balance_nodes", "Nodes", 0, &charts[0]));
    GNT_TRY(draw_columns(p, "arcs", "balance_arcs", "Arcs", 1, &charts[1]));
    GNT_TRY(draw_columns(p, "halo", "balance_halo", "Halo: rows read from other chunks", 2, &charts[2]));
    GNT_TRY(draw_columns(p, "train_nodes", "balance_train_nodes", "Training nodes", 3, &charts[3]));
    if (gnti_json_is_array(send))
        GNT_TRY(draw_quotient(p, send, &charts[num++]));
    GNT_TRY(gnti_figure(charts, num, 2, &figure));
    GNT_TRY(gnti_file_write_all(path, figure.text, strlen(figure.text)));
done:
    for (int i = 0; i < MAX_CHARTS; i++)
        gnti_svg_free(&charts[i]);
    gnti_svg_free(&figure);
    return st;
}
