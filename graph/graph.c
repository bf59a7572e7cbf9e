/* SPDX-License-Identifier: Apache-2.0 */
/* Life cycle, validation and degrees of host graphs.
 *
 * A graph is three arrays (offsets, columns, weights). Validation is what stands between a file and every
 * loop that trusts these arrays, so it tests offsets first: no column is looked at before all offsets are
 * known to lie in range.
 */
#include "graph/graph.h"

#include <math.h>

gnt_status gnti_graph_alloc(int64_t num_rows, int64_t num_cols, int64_t num_arcs, bool weighted,
                            gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;

    GNT_CHECK(num_rows >= 0 && num_cols >= 0 && num_arcs >= 0, GNT_ERR_ARG,
              "graph of %lld x %lld with %lld arcs", (long long)num_rows, (long long)num_cols,
              (long long)num_arcs);
    GNT_CHECK(num_cols <= INT32_MAX, GNT_ERR_LIMIT,
              "%lld columns exceed the limit of %d of one graph: cut the graph into parts",
              (long long)num_cols, INT32_MAX);
    GNT_CHECK(num_rows < INT64_MAX, GNT_ERR_LIMIT, "%lld rows are too many", (long long)num_rows);
    GNT_TRY(gnti_calloc_array(&g, 1));
    g->num_rows = num_rows;
    g->num_cols = num_cols;
    g->num_arcs = num_arcs;
    GNT_TRY(gnti_calloc_array(&g->offsets, num_rows + 1));
    GNT_TRY(gnti_alloc_array(&g->columns, num_arcs));
    if (weighted)
        GNT_TRY(gnti_alloc_array(&g->weights, num_arcs));
    *out = g;
    g = NULL;
done:
    gnti_graph_free(&g);
    return st;
}

void gnti_graph_free(gnti_graph **graph)
{
    gnti_graph *g;

    if (graph == NULL || *graph == NULL)
        return;
    g = *graph;
    if (!g->borrowed) {
        gnti_free(g->offsets);
        gnti_free(g->columns);
        gnti_free(g->weights);
    }
    gnti_free(g);
    *graph = NULL;
}

static gnt_status check_offsets(const gnti_graph *g)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(g->offsets[0] == 0, GNT_ERR_FORMAT, "indptr starts at %lld, expected 0",
              (long long)g->offsets[0]);
    for (int64_t r = 0; r < g->num_rows; r++)
        GNT_CHECK(g->offsets[r] <= g->offsets[r + 1], GNT_ERR_FORMAT,
                  "indptr not monotone at row %lld: %lld is followed by %lld", (long long)r,
                  (long long)g->offsets[r], (long long)g->offsets[r + 1]);
    GNT_CHECK(g->offsets[g->num_rows] == g->num_arcs, GNT_ERR_FORMAT,
              "indptr ends at %lld but there are %lld arcs", (long long)g->offsets[g->num_rows],
              (long long)g->num_arcs);
done:
    return st;
}

static gnt_status check_row(const gnti_graph *g, int64_t row)
{
    gnt_status st = GNT_OK;
    int64_t previous = -1;

    for (int64_t a = g->offsets[row]; a < g->offsets[row + 1]; a++) {
        const int64_t c = g->columns[a];

        GNT_CHECK(c >= 0 && c < g->num_cols, GNT_ERR_FORMAT,
                  "row %lld names column %lld, columns are 0 .. %lld", (long long)row, (long long)c,
                  (long long)g->num_cols - 1);
        GNT_CHECK(c != previous, GNT_ERR_FORMAT, "row %lld names column %lld twice", (long long)row,
                  (long long)c);
        GNT_CHECK(c > previous, GNT_ERR_FORMAT, "row %lld is not sorted: column %lld follows %lld",
                  (long long)row, (long long)c, (long long)previous);
        GNT_CHECK(g->weights == NULL || isfinite(g->weights[a]), GNT_ERR_FORMAT,
                  "the arc from %lld to %lld has the weight %g, weights must be finite", (long long)row,
                  (long long)c, (double)g->weights[a]);
        previous = c;
    }
done:
    return st;
}

gnt_status gnti_graph_validate(const gnti_graph *graph)
{
    gnt_status st = GNT_OK;

    GNT_TRY(check_offsets(graph));
    for (int64_t r = 0; r < graph->num_rows; r++)
        GNT_TRY(check_row(graph, r));
done:
    return st;
}

gnt_status gnti_graph_degrees(const gnti_graph *graph, double **out)
{
    gnt_status st = GNT_OK;
    double *degree = NULL;

    GNT_TRY(gnti_alloc_array(&degree, graph->num_rows));
    for (int64_t r = 0; r < graph->num_rows; r++) {
        const int64_t begin = graph->offsets[r], end = graph->offsets[r + 1];
        double sum = (double)(end - begin);

        if (graph->weights != NULL) {
            sum = 0.0;
            for (int64_t a = begin; a < end; a++)
                sum += (double)graph->weights[a];
        }
        degree[r] = sum;
    }
    *out = degree;
done:
    return st;
}
