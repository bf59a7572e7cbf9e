/* SPDX-License-Identifier: Apache-2.0 */
/* What METIS and our own cuts are fed: one row a node that has a neighbour, its neighbours once each, never itself.
 *
 * A graph that proves symmetric (one cursor a row: when rows are visited in ascending order, the partner of an arc is the next
 * one of its row that has not been asked for) is copied; any other one is merged with its transpose row by row. The work of a
 * node is arc_work degree + row_work with the degree of the training graph, the mean of both directions when directed, scaled
 * to integers whose sum stays far below 2^31.
 */
#include "partition/cut_graph.h"

#include <math.h>
#include <string.h>

gnt_status gnti_cut_graph_alloc(int32_t num_nodes, int32_t num_arcs, int32_t num_weights,
                                gnti_cut_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_cut_graph *g = NULL;

    GNT_TRY(gnti_calloc_array(&g, 1));
    g->num_nodes = num_nodes;
    g->num_arcs = num_arcs;
    g->num_weights = num_weights;
    GNT_TRY(gnti_alloc_array(&g->offsets, (int64_t)num_nodes + 1));
    GNT_TRY(gnti_alloc_array(&g->columns, num_arcs));
    GNT_TRY(gnti_alloc_array(&g->weight, (int64_t)num_nodes * num_weights));
    g->offsets[0] = 0;
    *out = g;
    g = NULL;
done:
    gnti_cut_graph_free(&g);
    return st;
}

void gnti_cut_graph_free(gnti_cut_graph **graph)
{
    gnti_cut_graph *g = *graph;

    if (g == NULL)
        return;
    if (!g->borrowed) {
        gnti_free(g->offsets);
        gnti_free(g->columns);
        gnti_free(g->weight);
        gnti_free(g->arc_weight);
    }
    gnti_free(g->node);
    gnti_free(g);
    *graph = NULL;
}

/* Both directions of the input while it is cleaned; back is NULL when the input is symmetric. */
typedef struct source {
    const gnti_graph *graph;
    gnti_graph *back;
    double arc_work, row_work, scale;
} source;

static gnt_status check_rows(const gnti_graph *g)
{
    gnt_status st = GNT_OK;

    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            GNT_CHECK(g->columns[a] >= 0 && g->columns[a] < g->num_rows, GNT_ERR_FORMAT,
                      "row %lld names node %d, the graph has %lld", (long long)r, g->columns[a],
                      (long long)g->num_rows);
            GNT_CHECK(a == g->offsets[r] || g->columns[a] >= g->columns[a - 1], GNT_ERR_FORMAT,
                      "row %lld is not ascending: %d after %d", (long long)r, g->columns[a],
                      g->columns[a - 1]);
        }
done:
    return st;
}

/* The next different neighbour of row r at or behind *a, not r itself; -1 at the row's end. */
static int32_t next_of(const gnti_graph *g, int64_t r, int64_t *a, int32_t last)
{
    if (g == NULL)
        return -1;
    while (*a < g->offsets[r + 1] && (g->columns[*a] == last || g->columns[*a] == r))
        ++*a;
    return *a < g->offsets[r + 1] ? g->columns[*a] : -1;
}

/* Writes the neighbours of r in either direction to out (NULL: only counts). Ascending. */
static int64_t merge_row(const source *s, int64_t r, int32_t *out)
{
    int64_t a = s->graph->offsets[r], b = s->back == NULL ? 0 : s->back->offsets[r], count = 0;

    for (int32_t last = -1;;) {
        const int32_t x = next_of(s->graph, r, &a, last), y = next_of(s->back, r, &b, last);

        if (x < 0 && y < 0)
            return count;
        last = x < 0 || (y >= 0 && y < x) ? y : x;
        if (out != NULL)
            out[count] = last;
        count++;
    }
}

static int64_t degree(const gnti_graph *g, int64_t r)
{
    int64_t count = 0;

    for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
        count += g->columns[a] != r && (a == g->offsets[r] || g->columns[a] != g->columns[a - 1]);
    return count;
}

static int32_t work_of(const source *s, int64_t r, int64_t num_neighbours)
{
    double d = (double)num_neighbours;

    if (s->back != NULL)
        d = 0.5 * (double)(degree(s->graph, r) + degree(s->back, r));
    return (int32_t)fmax(1.0, floor(s->scale * (s->arc_work * d + s->row_work) + 0.5));
}

/* Whole numbers stay as they are; others, and sums near 2^31, are scaled to a mean of 1000 or what fits. */
static gnt_status choose_scale(source *s, const gnti_partition_config *config)
{
    gnt_status st = GNT_OK;
    const double n = (double)s->graph->num_rows, bound = 1073741824.0;
    double sum;

    s->arc_work = config->arc_work;
    s->row_work = config->row_work;
    if (s->arc_work == 0.0 && s->row_work == 0.0)
        s->arc_work = s->row_work = 1.0;
    GNT_CHECK(s->arc_work >= 0.0 && s->row_work >= 0.0 && isfinite(s->arc_work) && isfinite(s->row_work),
              GNT_ERR_USAGE, "work of an arc is %g and of a row %g: neither may be negative", s->arc_work,
              s->row_work);
    sum = s->arc_work * (double)s->graph->num_arcs + s->row_work * n;
    s->scale = 1.0;
    if (floor(s->arc_work) != s->arc_work || floor(s->row_work) != s->row_work) {
        if (sum > 0.0)
            s->scale = fmin(1000.0 * n, bound) / sum;
        sum = bound;
    }
    GNT_TRY(gnti_metis_check_limits(s->graph->num_rows, s->graph->num_arcs, sum));
done:
    return st;
}

static gnt_status find_back(source *s)
{
    gnt_status st = GNT_OK;
    const gnti_graph pattern = { .num_rows = s->graph->num_rows,
                                 .num_cols = s->graph->num_cols,
                                 .num_arcs = s->graph->num_arcs,
                                 .offsets = s->graph->offsets,
                                 .columns = s->graph->columns };
    bool symmetric;

    GNT_TRY(gnti_graph_is_symmetric(&pattern, &symmetric));
    if (!symmetric)
        GNT_TRY(gnti_graph_transpose(&pattern, NULL, &s->back));
done:
    return st;
}

/* Nodes, arcs and isolated nodes of the cleaned graph. */
static gnt_status count_rows(const source *s, int32_t num_chunks, int32_t *count, int64_t *num_arcs,
                             int32_t *num_isolated)
{
    gnt_status st = GNT_OK;

    *num_arcs = 0;
    *num_isolated = 0;
    for (int64_t r = 0; r < s->graph->num_rows; r++) {
        const int64_t n = merge_row(s, r, NULL);

        count[r] = (int32_t)n;
        *num_arcs += n;
        *num_isolated += n == 0;
    }
    if (s->graph->num_rows - *num_isolated < 2 * (int64_t)num_chunks)
        *num_isolated = 0;
    GNT_TRY(gnti_metis_check_limits(s->graph->num_rows, *num_arcs, 0.0));
done:
    return st;
}

static void fill(const source *s, const int32_t *count, const uint8_t *train, gnti_cut_graph *g,
                 int32_t *isolated)
{
    int32_t next = 0, alone = 0;

    for (int64_t r = 0; r < s->graph->num_rows; r++) {
        if (count[r] == 0 && isolated != NULL) {
            isolated[alone++] = (int32_t)r;
            continue;
        }
        g->node[next] = (int32_t)r;
        g->offsets[next + 1] = g->offsets[next] + (int32_t)merge_row(s, r, g->columns + g->offsets[next]);
        g->weight[(int64_t)next * g->num_weights] = work_of(s, r, count[r]);
        if (g->num_weights == 2)
            g->weight[2 * (int64_t)next + 1] = train[r] != 0;
        next++;
    }
    for (int32_t w = 0; w < g->num_weights; w++)
        for (int64_t v = 0; v < g->num_nodes; v++)
            g->total[w] += g->weight[v * g->num_weights + w];
}

/* Columns name rows of the input so far; makes them name nodes of g. */
static gnt_status renumber(gnti_cut_graph *g, int64_t num_rows)
{
    gnt_status st = GNT_OK;
    int32_t *local = NULL;

    GNT_TRY(gnti_alloc_array(&local, num_rows));
    for (int32_t v = 0; v < g->num_nodes; v++)
        local[g->node[v]] = v;
    for (int32_t a = 0; a < g->num_arcs; a++)
        g->columns[a] = local[g->columns[a]];
done:
    gnti_free(local);
    return st;
}

gnt_status gnti_cut_graph_clean(const gnti_graph *graph, const gnti_partition_config *config,
                                int32_t num_chunks, gnti_cut_graph **out, int32_t **isolated,
                                int32_t *num_isolated, int32_t *isolated_weight)
{
    gnt_status st = GNT_OK;
    source s = { .graph = graph };
    gnti_cut_graph *g = NULL;
    int32_t *count = NULL, *alone = NULL, num_alone = 0;
    int64_t num_arcs = 0;

    GNT_TRY(choose_scale(&s, config)); /* reads no arc */
    GNT_TRY(check_rows(graph));
    GNT_TRY(find_back(&s));
    GNT_TRY(gnti_alloc_array(&count, graph->num_rows));
    GNT_TRY(count_rows(&s, num_chunks, count, &num_arcs, &num_alone));
    GNT_TRY(gnti_cut_graph_alloc((int32_t)(graph->num_rows - num_alone), (int32_t)num_arcs,
                                 config->train != NULL ? 2 : 1, &g));
    GNT_TRY(gnti_alloc_array(&g->node, g->num_nodes));
    GNT_TRY(gnti_alloc_array(&alone, num_alone));
    fill(&s, count, config->train, g, num_alone > 0 ? alone : NULL);
    GNT_CHECK(g->total[0] < INT32_MAX, GNT_ERR_LIMIT,
              "the work of all nodes sums to %lld, the limit is %d: use smaller weights",
              (long long)g->total[0], INT32_MAX - 1);
    if (num_alone > 0)
        GNT_TRY(renumber(g, graph->num_rows));
    *isolated_weight = (int32_t)fmax(1.0, floor(s.scale * s.row_work + 0.5));
    *isolated = alone;
    *num_isolated = num_alone;
    *out = g;
    g = NULL;
    alone = NULL;
done:
    gnti_free(alone);
    gnti_free(count);
    gnti_graph_free(&s.back);
    gnti_cut_graph_free(&g);
    return st;
}

void gnti_cut_graph_induce(const gnti_cut_graph *g, const int32_t *label_of, int32_t label,
                           const int32_t *nodes, const int32_t *local, gnti_cut_graph *piece)
{
    int32_t next = 0;

    memset(piece->total, 0, sizeof piece->total);
    piece->offsets[0] = 0;
    for (int32_t i = 0; i < piece->num_nodes; i++) {
        const int32_t v = nodes[i];

        for (int32_t a = g->offsets[v]; a < g->offsets[v + 1]; a++)
            if (label_of[g->columns[a]] == label)
                piece->columns[next++] = local[g->columns[a]];
        piece->offsets[i + 1] = next;
        for (int32_t w = 0; w < piece->num_weights; w++) {
            piece->weight[(int64_t)i * piece->num_weights + w] = g->weight[(int64_t)v * g->num_weights + w];
            piece->total[w] += g->weight[(int64_t)v * g->num_weights + w];
        }
    }
}
