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

static gnt_status check_nodes(const gnti_part_nodes *n)
{
    gnt_status st = GNT_OK;
    int64_t previous = -1;

    for (int64_t i = 0; n->nodes != NULL && i < n->num_nodes; i++) {
        GNT_CHECK(n->nodes[i] > previous && n->nodes[i] < n->partition->num_nodes, GNT_ERR_ARG,
                  "node %lld follows %lld in the nodes of an induced part, they must ascend below %lld",
                  (long long)n->nodes[i], (long long)previous, (long long)n->partition->num_nodes);
        previous = n->nodes[i];
    }
done:
    return st;
}

/* The chosen nodes in the order of their rows in the imported dataset. */
static gnt_status order_nodes(const gnti_part_nodes *n, int64_t *num, int64_t **out)
{
    gnt_status st = GNT_OK;
    const int64_t num_all = n->partition->num_nodes;
    int64_t *node = NULL, kept = 0;

    *num = n->nodes != NULL ? n->num_nodes : num_all;
    GNT_TRY(gnti_alloc_array(&node, n->origin != NULL ? num_all : *num));
    if (n->origin == NULL) {
        for (int64_t i = 0; i < *num; i++)
            node[i] = n->nodes != NULL ? n->nodes[i] : i;
    } else {
        for (int64_t i = 0; i < num_all; i++)
            node[i] = -1;
        for (int64_t i = 0; i < *num; i++)
            node[n->origin[n->nodes != NULL ? n->nodes[i] : i]] = n->nodes != NULL ? n->nodes[i] : i;
        for (int64_t i = 0; i < num_all; i++)
            if (node[i] >= 0)
                node[kept++] = node[i];
    }
    *out = node;
done:
    return st;
}

/* (chunk, row of the imported dataset), by counting; order: in ascending rows. */
static gnt_status place_nodes(const gnti_part_nodes *n, const int64_t *order, const gnti_part_layout *l,
                              int64_t *next, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *node_at = NULL;

    GNT_TRY(gnti_alloc_array(&node_at, l->num_nodes));
    for (int32_t c = 0; c < l->num_chunks; c++)
        next[c] = l->first[c];
    for (int64_t i = 0; i < l->num_nodes; i++) {
        const int64_t id = n->origin != NULL ? n->origin[order[i]] : order[i];

        node_at[next[n->partition->chunk_of[id]]++] = order[i];
    }
    *out = node_at;
done:
    return st;
}

gnt_status gnti_part_layout_of_nodes(const gnti_part_nodes *n, const int32_t *owner, int32_t num_ranks,
                                     gnti_part_layout **layout, int64_t **node_at)
{
    gnt_status st = GNT_OK;
    gnti_part_layout *l = NULL;
    int64_t *counts = NULL, *order = NULL, num = 0;

    GNT_TRY(check_nodes(n));
    GNT_TRY(order_nodes(n, &num, &order));
    GNT_TRY(gnti_calloc_array(&counts, n->partition->num_chunks));
    for (int64_t i = 0; i < num; i++)
        counts[n->partition->chunk_of[n->origin != NULL ? n->origin[order[i]] : order[i]]]++;
    GNT_TRY(gnti_part_layout_create(counts, owner, n->partition->num_chunks, num_ranks, &l));
    GNT_TRY(place_nodes(n, order, l, counts, node_at));
    *layout = l;
    l = NULL;
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
