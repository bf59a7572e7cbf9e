/* SPDX-License-Identifier: Apache-2.0 */
/* Where each node of a partitioned graph lies: its position in global order (chunk, id), its chunk, its rank.
 *
 *   position   0 .. num_nodes-1 over the whole graph, or over the nodes of an induced one
 *   chunk      first[c] .. first[c + 1] - 1 are the positions of chunk c
 *   rank       owner[c]; its own rows are its chunks' positions one after the other, chunks ascending
 */
#ifndef GNTI_PARTITION_PART_LAYOUT_H
#define GNTI_PARTITION_PART_LAYOUT_H

#include "partition/partition.h"

typedef struct gnti_part_layout {
    int64_t num_nodes; /* positions */
    int32_t num_chunks, num_ranks;
    int64_t *first; /* (num_chunks + 1) */
    int32_t *owner; /* (num_chunks) */
} gnti_part_layout;

/* Chunks of the given sizes. ERR_ARG: an owner outside 0 .. num_ranks - 1, more nodes than 32-bit columns. */
gnt_status gnti_part_layout_create(const int64_t *chunk_nodes, const int32_t *owner, int32_t num_chunks,
                                   int32_t num_ranks, gnti_part_layout **out);
void gnti_part_layout_free(gnti_part_layout **layout);

/* Nodes in the order of their positions. nodes NULL: all of the partition; ERR_ARG: not ascending. origin (N): the row of the
 * imported dataset of each node, NULL: itself; it decides chunk and order. out (num_nodes). */
typedef struct gnti_part_nodes {
    const gnti_partition *partition;
    const int64_t *nodes, *origin;
    int64_t num_nodes;
} gnti_part_nodes;
gnt_status gnti_part_layout_of_nodes(const gnti_part_nodes *n, const int32_t *owner, int32_t num_ranks,
                                     gnti_part_layout **layout, int64_t **node_at);

/* The chunk of a position: O(log K). Empty chunks are never answered. */
int32_t gnti_part_layout_chunk(const gnti_part_layout *layout, int64_t position);

int64_t gnti_part_layout_num_own(const gnti_part_layout *layout, int32_t rank);

#endif
