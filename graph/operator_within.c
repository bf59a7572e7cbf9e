/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a whole operator that some rows can be computed by: the rows, all that they reach, and the arcs between these, with the
 * whole's scales.
 *
 *   hops 0   the rows      hop k   in-neighbours of hop k - 1
 * A row at most hops - 1 away has all its arcs here, in the order of the whole, so its sums have the same bits; a row at the last
 * hop lacks some and is only read. So L products along arcs are right for the first rows and wrong further out.
 */
#include "graph/operator.h"

#include <string.h>

gnt_status gnti_operator_reach(const gnti_operator *whole, int64_t first, int64_t end, int32_t num_hops,
                               int64_t **nodes, int64_t *num_nodes)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = whole->forward;
    int64_t *queue = NULL, num = 0, from = 0;
    uint8_t *seen = NULL;

    GNT_CHECK(first >= 0 && first <= end && end <= whole->num_dst && num_hops >= 0, GNT_ERR_ARG,
              "rows %lld to %lld of %lld, %d hops", (long long)first, (long long)end,
              (long long)whole->num_dst, (int)num_hops);
    GNT_TRY(gnti_alloc_array(&queue, whole->num_src));
    GNT_TRY(gnti_calloc_array(&seen, whole->num_src));
    for (int64_t i = first; i < end; i++) {
        queue[num++] = i;
        seen[i] = 1;
    }
    for (int32_t hop = 0; hop < num_hops; hop++) {
        const int64_t last = num;

        for (; from < last; from++)
            for (int64_t a = g->offsets[queue[from]]; a < g->offsets[queue[from] + 1]; a++)
                if (seen[g->columns[a]] == 0) {
                    seen[g->columns[a]] = 1;
                    queue[num++] = g->columns[a];
                }
    }
    num = 0;
    for (int64_t i = 0; i < whole->num_src; i++) /* ascending, as sums go */
        if (seen[i] != 0)
            queue[num++] = i;
    *nodes = queue;
    *num_nodes = num;
    queue = NULL;
done:
    gnti_free(queue);
    gnti_free(seen);
    return st;
}

static gnt_status pick(const float *from, const int64_t *nodes, int64_t num, float **out)
{
    gnt_status st = GNT_OK;

    if (from == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(out, num));
    for (int64_t i = 0; i < num; i++)
        (*out)[i] = from[nodes[i]];
done:
    return st;
}

gnt_status gnti_operator_within(const gnti_operator *whole, const int64_t *nodes, int64_t num_nodes,
                                gnti_operator **out)
{
    gnt_status st = GNT_OK;
    gnti_operator *op = NULL;

    GNT_CHECK(whole->num_dst == whole->num_src, GNT_ERR_ARG,
              "rows of an operator of %lld destinations and %lld sources", (long long)whole->num_dst,
              (long long)whole->num_src);
    GNT_TRY(gnti_calloc_array(&op, 1));
    op->num_dst = op->num_src = num_nodes;
    op->symmetric = whole->symmetric;
    GNT_TRY(gnti_graph_subgraph(whole->forward, nodes, num_nodes, NULL, &op->owned_forward));
    op->forward = op->owned_forward;
    op->transposed = op->forward;
    if (!op->symmetric) {
        GNT_TRY(gnti_graph_transpose(op->forward, NULL, &op->owned_transposed));
        op->transposed = op->owned_transposed;
    }
    GNT_TRY(pick(whole->loop, nodes, num_nodes, &op->loop));
    GNT_TRY(pick(whole->self, nodes, num_nodes, &op->self));
    GNT_TRY(pick(whole->sym_scale, nodes, num_nodes, &op->sym_scale));
    GNT_TRY(pick(whole->mean_scale, nodes, num_nodes, &op->mean_scale));
    GNT_TRY(gnti_alloc_array(&op->owned_ids, num_nodes));
    for (int64_t i = 0; i < num_nodes; i++)
        op->owned_ids[i] = whole->src_ids != NULL ? whole->src_ids[nodes[i]] : nodes[i];
    op->src_ids = op->owned_ids;
    *out = op;
    op = NULL;
done:
    gnti_operator_free(&op);
    return st;
}
