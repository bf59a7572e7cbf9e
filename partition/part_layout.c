/* SPDX-License-Identifier: Apache-2.0 */
/* Positions in global order: a counting sort of the nodes by chunk, which keeps ids ascending inside a chunk. */
#include "partition/part_layout.h"

#include "base/alloc.h"

gnt_status gnti_part_layout_create(const int64_t *chunk_nodes, const int32_t *owner, int32_t num_chunks,
                                   int32_t num_ranks, gnti_part_layout **out)
{
    gnt_status st = GNT_OK;
    gnti_part_layout *l = NULL;

    GNT_CHECK(num_chunks >= 1 && num_ranks >= 1, GNT_ERR_ARG, "parts of %d chunks for %d ranks",
              (int)num_chunks, (int)num_ranks);
    GNT_TRY(gnti_calloc_array(&l, 1));
    GNT_TRY(gnti_alloc_array(&l->first, (int64_t)num_chunks + 1));
    GNT_TRY(gnti_alloc_array(&l->owner, num_chunks));
    l->num_chunks = num_chunks;
    l->num_ranks = num_ranks;
    l->first[0] = 0;
    for (int32_t c = 0; c < num_chunks; c++) {
        GNT_CHECK(owner[c] >= 0 && owner[c] < num_ranks, GNT_ERR_ARG,
                  "chunk %d belongs to rank %d, ranks are 0 .. %d", (int)c, (int)owner[c],
                  (int)num_ranks - 1);
        GNT_CHECK(chunk_nodes[c] >= 0 && chunk_nodes[c] <= INT32_MAX - l->first[c], GNT_ERR_LIMIT,
                  "chunk %d with %lld nodes behind %lld others exceeds the limit of %d nodes", (int)c,
                  (long long)chunk_nodes[c], (long long)l->first[c], INT32_MAX);
        l->owner[c] = owner[c];
        l->first[c + 1] = l->first[c] + chunk_nodes[c];
    }
    l->num_nodes = l->first[num_chunks];
    *out = l;
    l = NULL;
done:
    gnti_part_layout_free(&l);
    return st;
}

void gnti_part_layout_free(gnti_part_layout **layout)
{
    if (layout == NULL || *layout == NULL)
        return;
    gnti_free((*layout)->first);
    gnti_free((*layout)->owner);
    gnti_free(*layout);
    *layout = NULL;
}

static gnt_status check_nodes(const gnti_partition *p, const int64_t *nodes, int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    int64_t previous = -1;

    for (int64_t i = 0; i < num_nodes; i++) {
        GNT_CHECK(nodes[i] > previous && nodes[i] < p->num_nodes, GNT_ERR_ARG,
                  "node %lld follows %lld in the nodes of an induced part, they must ascend below %lld",
                  (long long)nodes[i], (long long)previous, (long long)p->num_nodes);
        previous = nodes[i];
    }
done:
    return st;
}

gnt_status gnti_part_layout_of_nodes(const gnti_partition *p, const int32_t *owner, int32_t num_ranks,
                                     const int64_t *nodes, int64_t num_nodes, gnti_part_layout **layout,
                                     int64_t **node_at)
{
    gnt_status st = GNT_OK;
    const int64_t num = nodes != NULL ? num_nodes : p->num_nodes;
    gnti_part_layout *l = NULL;
    int64_t *counts = NULL, *order = NULL;

    if (nodes != NULL)
        GNT_TRY(check_nodes(p, nodes, num_nodes));
    GNT_TRY(gnti_calloc_array(&counts, p->num_chunks));
    for (int64_t i = 0; i < num; i++)
        counts[p->chunk_of[nodes != NULL ? nodes[i] : i]]++;
    GNT_TRY(gnti_part_layout_create(counts, owner, p->num_chunks, num_ranks, &l));
    GNT_TRY(gnti_alloc_array(&order, num));
    for (int32_t c = 0; c < p->num_chunks; c++)
        counts[c] = l->first[c];
    for (int64_t i = 0; i < num; i++) {
        const int64_t v = nodes != NULL ? nodes[i] : i;

        order[counts[p->chunk_of[v]]++] = v;
    }
    *layout = l;
    *node_at = order;
    l = NULL;
    order = NULL;
done:
    gnti_free(counts);
    gnti_free(order);
    gnti_part_layout_free(&l);
    return st;
}

int32_t gnti_part_layout_chunk(const gnti_part_layout *layout, int64_t position)
{
    int32_t low = 0, high = layout->num_chunks; /* first[low] <= position < first[high] */

    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;

        if (layout->first[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int64_t gnti_part_layout_num_own(const gnti_part_layout *layout, int32_t rank)
{
    int64_t num = 0;

    for (int32_t c = 0; c < layout->num_chunks; c++)
        if (layout->owner[c] == rank)
            num += layout->first[c + 1] - layout->first[c];
    return num;
}
