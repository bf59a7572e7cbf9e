/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share while a partition is made: targets, the methods behind gnti_partition_make, the order
 * of chunk ids along a tree, and METIS' limits. Everybody else sees partition.h only.
 *
 * A method fills chunk_of (N), which is the caller's, with values in 0 .. K-1; make.c has checked the configuration, hands
 * over targets, renumbers what a method left without an order, repairs empty chunks, measures and hashes.
 */
#ifndef GNTI_PARTITION_INTERNAL_H
#define GNTI_PARTITION_INTERNAL_H

#include "partition/partition.h"

/* What every chunk should weigh. Chunks share_chunks[s] .. share_chunks[s + 1] - 1 make up share s; without shares there is
 * one share of 1. */
typedef struct gnti_cut_targets {
    int32_t num_chunks, num_shares; /* num_shares >= 1 */
    double *chunk_share;            /* (K) sum 1: share / its number of chunks */
    double *share;                  /* (num_shares) sum 1 */
    int32_t *share_chunks;          /* (num_shares + 1) */
} gnti_cut_targets;

/* From a configuration for so many nodes; K >= 1. ERR_USAGE: more chunks than nodes, more shares than chunks (both name
 * --chunks), a share <= 0, shares that do not sum to 1 +- 0.01, a tolerance <= 1. */
gnt_status gnti_cut_targets_make(int64_t num_nodes, const gnti_partition_config *config,
                                 gnti_cut_targets **out);
void gnti_cut_targets_free(gnti_cut_targets **t);

/* ---- methods; chunk_of (N) ------------------------------------------------------------------------------------------ */
/* cut_metis.c. *method: "metis", or "bisect" when all pieces were too small for METIS, or "ldg" after a fallback. *notes
 * (may be NULL on input's side: no notes) gets members for the quality JSON. Ids follow the tree. */
gnt_status gnti_cut_metis(const gnti_graph *graph, const gnti_partition_config *config,
                          const gnti_cut_targets *t, int32_t *chunk_of, const char **method,
                          gnti_json *notes);
/* LDG and FENNEL over a graph in memory. Ids in any order. */
gnt_status gnti_cut_stream(const gnti_graph *graph, const gnti_partition_config *config,
                           const gnti_cut_targets *t, int32_t *chunk_of);
/* Gives every empty chunk a node of another one; K <= N. */
gnt_status gnti_fill_empty_chunks(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of);
/* Ranges of ids in proportion to the targets; chunk(v) = v K div N when they are equal. Ids are in order already. */
gnt_status gnti_cut_range(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of);
/* Ids in any order. */
gnt_status gnti_cut_random(int64_t num_nodes, const gnti_cut_targets *t, uint64_t seed, int32_t *chunk_of);
/* One chunk a line. *num_chunks is the largest + 1, or the configuration's if that is larger. ERR_FORMAT names file and line. */
gnt_status gnti_cut_file(const char *path, int64_t num_nodes, int32_t *num_chunks, int32_t *chunk_of);

/* ---- the quotient graph and the tree (tree_order.c) --------------------------------------------------------------------- */
/* Counts of arcs between chunks, added one by one; arcs inside a chunk count nothing. Either direction is the same. */
typedef struct gnti_quotient gnti_quotient;
gnt_status gnti_quotient_create(int32_t num_chunks, gnti_quotient **out);
gnt_status gnti_quotient_add(gnti_quotient *q, int32_t a, int32_t b, int64_t count);
void gnti_quotient_free(gnti_quotient **q);

/* rank (K): the id that each chunk gets, so that ids follow a tree of bisections of the quotient graph: first into the shares'
 * numbers of chunks (share_chunks as in the targets; NULL, 0: none), then halves. The same input gives the same ranks. */
gnt_status gnti_tree_order(gnti_quotient *q, int32_t num_shares, const int32_t *share_chunks, int32_t *rank);
/* Both at once for a graph in memory: renames chunk_of in place. */
gnt_status gnti_tree_renumber(const gnti_graph *graph, int32_t num_chunks, int32_t num_shares,
                              const int32_t *share_chunks, int32_t *chunk_of);

/* ---- what every maker ends with (partition.c) ---------------------------------------------------------------------------- */
/* Takes chunk_of over and stores shares; quality and graph_sha256 are left to the caller. Shares are left out when t has one. */
gnt_status gnti_partition_finish(int64_t num_nodes, const gnti_cut_targets *t, int32_t *chunk_of,
                                 const char *method, gnti_partition **out);

/* The vector of a dataset whose row i is row origin[i] of the imported one, in the rows of the imported one (partition_rewrite.c).
 * origin NULL: nothing to do. */
gnt_status gnti_vector_to_source(int64_t num_nodes, const int64_t *origin, int32_t **chunk_of);
/* The same for a partition, whose sum changes with it. */
gnt_status gnti_partition_to_source(gnti_partition *p, const int64_t *origin);

/* All counts zero (quality.c); freed with gnti_quality_free. */
gnt_status gnti_quality_alloc(int32_t num_parts, gnti_quality **out);

/* ---- METIS' program (part_metis.c) -------------------------------------------------------------------------------------- */
/* Version and index width ("5.1.0", 32) of the METIS behind the helper program. ERR_UNSUPPORTED: the program is missing or
 * does not answer; the text names where it was looked for. */
gnt_status gnti_metis_version(char version[16], int *index_bits);
/* ERR_LIMIT unless nodes, arcs (both directions) and a sum of weights fit the index width; names the width and the
 * alternatives. Looks at the counts alone, so it can be asked before the arcs are read. */
gnt_status gnti_metis_check_limits(int64_t num_nodes, int64_t num_arcs, double weight_sum);

#endif
