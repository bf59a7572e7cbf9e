/* SPDX-License-Identifier: Apache-2.0 */
/* Transposition and the proof of symmetry.
 *
 * The transpose counts the columns, turns the counts into offsets and scatters row by row, so its rows come
 * out sorted even when those of the input are not: two transpositions sort the rows of a graph in O(n + m).
 *
 * Symmetry needs no transpose: when rows are visited in ascending order, the entry (c, r) that answers (r, c)
 * must be the first one of row c that has not been asked for yet, so one cursor a row is enough.
 */
#include "graph/graph.h"

/* next[c] = where the next arc of row c of the transpose goes. */
static void scatter(const gnti_graph *g, int64_t *next, gnti_graph *t, int64_t *arc)
{
    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            const int64_t to = next[g->columns[a]]++;

            t->columns[to] = (int32_t)r;
            if (g->weights != NULL)
                t->weights[to] = g->weights[a];
            if (arc != NULL)
                arc[to] = a;
        }
    }
}

gnt_status gnti_graph_transpose(const gnti_graph *graph, int64_t **arc, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *t = NULL;
    int64_t *next = NULL, *map = NULL;

    GNT_TRY(gnti_graph_alloc(graph->num_cols, graph->num_rows, graph->num_arcs, graph->weights != NULL, &t));
    GNT_TRY(gnti_alloc_array(&next, graph->num_cols));
    if (arc != NULL)
        GNT_TRY(gnti_alloc_array(&map, graph->num_arcs));
    for (int64_t a = 0; a < graph->num_arcs; a++)
        t->offsets[graph->columns[a] + 1]++;
    for (int64_t c = 0; c < graph->num_cols; c++) {
        next[c] = t->offsets[c];
        t->offsets[c + 1] += t->offsets[c];
    }
    scatter(graph, next, t, map);
    *out = t;
    t = NULL;
    if (arc != NULL) {
        *arc = map;
        map = NULL;
    }
done:
    gnti_free(map);
    gnti_free(next);
    gnti_graph_free(&t);
    return st;
}

static bool answers(const gnti_graph *g, int64_t *cursor, int64_t row)
{
    for (int64_t a = g->offsets[row]; a < g->offsets[row + 1]; a++) {
        const int32_t c = g->columns[a];
        const int64_t b = cursor[c]++;

        if (b >= g->offsets[c + 1] || g->columns[b] != row)
            return false;
        if (g->weights != NULL && g->weights[a] != g->weights[b])
            return false;
    }
    return true;
}

gnt_status gnti_graph_is_symmetric(const gnti_graph *graph, bool *out)
{
    gnt_status st = GNT_OK;
    int64_t *cursor = NULL;
    bool same = graph->num_rows == graph->num_cols;

    if (same) {
        GNT_TRY(gnti_alloc_array(&cursor, graph->num_rows));
        for (int64_t r = 0; r < graph->num_rows; r++)
            cursor[r] = graph->offsets[r];
        for (int64_t r = 0; r < graph->num_rows && same; r++)
            same = answers(graph, cursor, r);
    }
    *out = same; /* every arc found its own partner, so nothing is left over */
done:
    gnti_free(cursor);
    return st;
}
