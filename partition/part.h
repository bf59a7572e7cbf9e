/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a graph that one rank trains on: own rows, chunk by chunk in global order (chunk, id), then halo rows.
 *
 *   columns of op->forward:     own rows 0 .. num_own-1 | halo rows, by (owner rank, global order)
 *   columns of op->transposed:  own rows                | halo rows of the transpose (the same ones when symmetric)
 * The entries of a row are in global order, whatever their local numbers, so placement changes no sum. Degrees, and with them
 * sym_scale and mean_scale, are those of the whole graph (or of the induced training graph). Backward gathers: it fetches rows
 * of G along the transpose; nothing is ever scattered.
 */
#ifndef GNTI_PARTITION_PART_H
#define GNTI_PARTITION_PART_H

#include "graph/operator.h"
#include "partition/partition.h"

/* What a rank sends and receives in one direction. Peers ascend and never name the rank itself; peers without rows do not
 * occur. The rows received from peer i land at halo rows recv_ptr[i] .. recv_ptr[i + 1] - 1, in place. */
typedef struct gnti_halo_plan {
    int64_t num_own, num_halo;
    int32_t num_peers;
    int32_t *peer;      /* (num_peers) */
    int64_t *send_ptr;  /* (num_peers + 1) */
    int32_t *send_rows; /* (send_ptr[num_peers]) own rows, in the order of the receiver's halo rows */
    int64_t *recv_ptr;  /* (num_peers + 1) */
    /* Own rows whose arcs all end in own rows, and the others; both ascend. */
    int32_t *interior, *boundary;
    int64_t num_interior, num_boundary;
} gnti_halo_plan;

typedef struct gnti_part {
    int32_t rank, num_ranks, num_chunks; /* K */
    int64_t num_nodes;                   /* of the whole (or induced) graph */
    int64_t num_arcs;                    /* of the whole graph, without loops */
    int64_t num_own;
    int32_t num_own_chunks;
    int32_t *own_chunks;  /* (num_own_chunks), ascending; chunks without a row of this graph are listed too */
    int64_t *chunk_start; /* (num_own_chunks + 1) first own row of each */
    int64_t *ids; /* (num_own + forward->num_halo) rows of the imported dataset: keys of random numbers */
    gnti_operator *op;                  /* op->src_ids = ids */
    gnti_halo_plan *forward, *backward; /* backward == forward when op->symmetric */
} gnti_part;

/* What parts are cut from, all lent for the call. */
typedef struct gnti_part_source {
    const gnti_graph *graph; /* rows are sources */
    const gnti_partition *partition;
    const int32_t *owner; /* (K) rank of each chunk; a rank may own nothing */
    int32_t num_ranks;
    const int64_t *nodes; /* ascending rows: only their induced subgraph, degrees inside it; NULL: all */
    int64_t num_nodes;
    const int64_t *
        origin; /* (N) row of the imported dataset, a permutation (gnti_dataset_get_origin); NULL: the rows themselves */
} gnti_part_source;

/* All parts of a graph that lies in memory (ranks as threads, tests): parts (num_ranks). Equal to those that ranks load. */
gnt_status gnti_parts_make(const gnti_part_source *source, gnti_part **parts);
/* One of them, at the cost of one. */
gnt_status gnti_part_make(const gnti_part_source *source, int32_t rank, gnti_part **out);
void gnti_part_free(gnti_part **part);

#endif
