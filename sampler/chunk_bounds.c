/* SPDX-License-Identifier: Apache-2.0 */
/* The largest batch of q out of K chunks, so that memory is sized once. Features: the q chunks with most entries. Arcs: chunk k
 * brings those inside of it and those to q - 1 others, so no batch has more than
 *
 *     the q largest of  n_kk + (the q - 1 largest n_kj, j != k),     n_kj arcs from chunk k to chunk j
 * which random chunks come near to. O(m log m), once.
 */
#include "sampler/source_base.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int compare_counts(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Sorts the counts. */
static int64_t sum_largest(int64_t *counts, int64_t num, int64_t num_largest)
{
    int64_t sum = 0;

    if (num > 1)
        qsort(counts, (size_t)num, sizeof *counts, compare_counts);
    for (int64_t i = gnti_max_i64(num - num_largest, 0); i < num; i++)
        sum += counts[i];
    return sum;
}

/* Nodes by chunk: those of chunk k are node[first[k]] .. node[first[k + 1] - 1]. */
static void sort_nodes(const gnti_source_chunks *c, int64_t num_nodes, int64_t *first, int64_t *node)
{
    for (int64_t v = 0; v < num_nodes; v++)
        if (c->chunk_of[v] >= 0)
            first[c->chunk_of[v] + 1]++;
    for (int64_t k = 0; k < c->num_chunks; k++)
        first[k + 1] += first[k];
    for (int64_t v = 0; v < num_nodes; v++)
        if (c->chunk_of[v] >= 0)
            node[first[c->chunk_of[v]]++] = v;
    for (int64_t k = c->num_chunks; k > 0; k--) /* each start has moved to the next one */
        first[k] = first[k - 1];
    first[0] = 0;
}

/* What chunk k may bring; count (zeroed, and again at the end) and seen have room for all chunks. */
static int64_t arcs_of_chunk(const gnti_graph *g, const gnti_source_chunks *c, int32_t k, const int64_t *node,
                             int64_t num_nodes, int64_t *count, int64_t *seen)
{
    int64_t num = 0, inside;

    for (int64_t i = 0; i < num_nodes; i++)
        for (int64_t e = g->offsets[node[i]]; e < g->offsets[node[i] + 1]; e++) {
            const int32_t to = c->chunk_of[g->columns[e]];

            if (to >= 0 && count[to]++ == 0 && to != k)
                seen[num++] = to;
        }
    inside = count[k];
    count[k] = 0;
    for (int64_t i = 0; i < num; i++) {
        const int64_t to = seen[i];

        seen[i] = count[to];
        count[to] = 0;
    }
    return inside + sum_largest(seen, num, c->per_batch - 1);
}

gnt_status gnti_source_bound_arcs(const gnti_graph *graph, const gnti_source_chunks *chunks, int64_t *out)
{
    gnt_status st = GNT_OK;
    int64_t *first = NULL, *node = NULL, *count = NULL, *seen = NULL, *brings = NULL;
    const int64_t num = chunks->num_chunks;

    GNT_TRY(gnti_calloc_array(&first, num + 1));
    GNT_TRY(gnti_alloc_array(&node, graph->num_rows));
    GNT_TRY(gnti_calloc_array(&count, num));
    GNT_TRY(gnti_alloc_array(&seen, num));
    GNT_TRY(gnti_alloc_array(&brings, num));
    sort_nodes(chunks, graph->num_rows, first, node);
    for (int64_t k = 0; k < num; k++)
        brings[k] =
            arcs_of_chunk(graph, chunks, (int32_t)k, node + first[k], first[k + 1] - first[k], count, seen);
    *out = sum_largest(brings, num, chunks->per_batch);
done:
    gnti_free(first);
    gnti_free(node);
    gnti_free(count);
    gnti_free(seen);
    gnti_free(brings);
    return st;
}

gnt_status gnti_source_bound_entries(const gnti_graph *x, const gnti_source_chunks *chunks, int64_t *out)
{
    gnt_status st = GNT_OK;
    int64_t *count = NULL;

    GNT_TRY(gnti_calloc_array(&count, chunks->num_chunks));
    for (int64_t v = 0; v < x->num_rows; v++)
        if (chunks->chunk_of[v] >= 0)
            count[chunks->chunk_of[v]] += x->offsets[v + 1] - x->offsets[v];
    *out = sum_largest(count, chunks->num_chunks, chunks->per_batch);
done:
    gnti_free(count);
    return st;
}
