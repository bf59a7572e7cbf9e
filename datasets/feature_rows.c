/* SPDX-License-Identifier: Apache-2.0 */
/* Feature rows: values appended in file order, sorted by column row by row at the end. Rows that are less
 * than a quarter full become CSR (8 bytes a value against 4 bytes a cell), the others a dense block.
 */
#include "datasets/feature_rows.h"

#include <math.h>
#include <string.h>

enum { DENSE_FROM = 4 }; /* dense when values * DENSE_FROM > cells */

gnt_status gnti_feature_rows_add(gnti_feature_rows *rows, int64_t column, float value)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(column >= 0 && column < INT32_MAX, GNT_ERR_LIMIT, "feature column %lld is outside 0..%d",
              (long long)column, INT32_MAX - 1);
    rows->width = gnti_max_i64(rows->width, column + 1);
    if (fpclassify(value) == FP_ZERO)
        goto done;
    GNT_TRY(gnti_grow_array(&rows->columns, &rows->column_capacity, rows->num_values + 1));
    GNT_TRY(gnti_grow_array(&rows->values, &rows->value_capacity, rows->num_values + 1));
    rows->columns[rows->num_values] = (int32_t)column;
    rows->values[rows->num_values++] = value;
done:
    return st;
}

gnt_status gnti_feature_rows_end(gnti_feature_rows *rows)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&rows->row_end, &rows->row_capacity, rows->num_rows + 1));
    rows->row_end[rows->num_rows++] = rows->num_values;
done:
    return st;
}

/* Nothing for a row that was not given: below 0, or behind the last. */
static void row_range(const gnti_feature_rows *rows, int64_t row, int64_t *begin, int64_t *end)
{
    const bool given = row >= 0 && row < rows->num_rows;

    *begin = given && row > 0 ? rows->row_end[row - 1] : 0;
    *end = given ? rows->row_end[row] : *begin;
}

/* Shell sort of one row by column, stable enough: equal columns are added, and addition of two floats
 * commutes. */
static void sort_row(int32_t *column, float *value, int64_t n)
{
    static const int64_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };

    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (int64_t i = gaps[g]; i < n; i++) {
            const int32_t c = column[i];
            const float v = value[i];
            int64_t j = i;

            for (; j >= gaps[g] && column[j - gaps[g]] > c; j -= gaps[g]) {
                column[j] = column[j - gaps[g]];
                value[j] = value[j - gaps[g]];
            }
            column[j] = c;
            value[j] = v;
        }
    }
}

/* Adds up equal neighbours of a sorted row; answers the new length. */
static int64_t merge_row(int32_t *column, float *value, int64_t n)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < n; i++) {
        if (kept > 0 && column[kept - 1] == column[i]) {
            value[kept - 1] += value[i];
            continue;
        }
        column[kept] = column[i];
        value[kept++] = value[i];
    }
    return kept;
}

static gnt_status build_sparse(const gnti_feature_rows *rows, const int64_t *row_of, int64_t num_nodes,
                               int64_t *num_repeated, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    int64_t at = 0;
    bool all_one = true;

    GNT_TRY(gnti_graph_alloc(num_nodes, rows->width, rows->num_values, true, &g));
    for (int64_t n = 0; n < num_nodes; n++) {
        int64_t begin, end, length;

        row_range(rows, row_of != NULL ? row_of[n] : n, &begin, &end);
        length = end - begin;
        g->offsets[n] = at;
        if (length == 0)
            continue;
        memcpy(g->columns + at, rows->columns + begin, (size_t)length * sizeof *g->columns);
        memcpy(g->weights + at, rows->values + begin, (size_t)length * sizeof *g->weights);
        sort_row(g->columns + at, g->weights + at, length);
        at += merge_row(g->columns + at, g->weights + at, length);
        *num_repeated += length - (at - g->offsets[n]);
    }
    g->offsets[num_nodes] = at;
    g->num_arcs = at;
    for (int64_t i = 0; i < at && all_one; i++)
        all_one = !(g->weights[i] < 1.0f) && !(g->weights[i] > 1.0f);
    if (all_one) {
        gnti_free(g->weights);
        g->weights = NULL;
    }
    *out = g;
    g = NULL; /* handed over */
done:
    gnti_graph_free(&g);
    return st;
}

static gnt_status spread(const gnti_graph *sparse, float **out)
{
    gnt_status st = GNT_OK;
    int64_t cells;
    float *dense = NULL;

    GNT_CHECK(!__builtin_mul_overflow(sparse->num_rows, sparse->num_cols, &cells), GNT_ERR_LIMIT,
              "%lld x %lld features do not fit", (long long)sparse->num_rows, (long long)sparse->num_cols);
    GNT_TRY(gnti_calloc_array(&dense, cells));
    for (int64_t r = 0; r < sparse->num_rows; r++)
        for (int64_t a = sparse->offsets[r]; a < sparse->offsets[r + 1]; a++)
            dense[r * sparse->num_cols + sparse->columns[a]] =
                sparse->weights != NULL ? sparse->weights[a] : 1.0f;
    *out = dense;
done:
    return st;
}

gnt_status gnti_feature_rows_finish(const gnti_feature_rows *rows, const int64_t *row_of, int64_t num_nodes,
                                    int64_t *num_repeated, gnti_features *out)
{
    gnt_status st = GNT_OK;
    gnti_graph *sparse = NULL;
    float *dense = NULL;

    GNT_TRY(build_sparse(rows, row_of, num_nodes, num_repeated, &sparse));
    if ((double)sparse->num_arcs * DENSE_FROM > (double)num_nodes * (double)rows->width)
        GNT_TRY(spread(sparse, &dense));
    *out = (gnti_features){ .rows = num_nodes, .width = rows->width };
    if (dense != NULL) {
        out->dense = dense;
    } else {
        out->sparse = sparse;
        sparse = NULL; /* handed over */
    }
done:
    gnti_graph_free(&sparse);
    return st;
}

void gnti_feature_rows_clear(gnti_feature_rows *rows)
{
    gnti_free(rows->row_end);
    gnti_free(rows->columns);
    gnti_free(rows->values);
    memset(rows, 0, sizeof *rows);
}
