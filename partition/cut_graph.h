/* SPDX-License-Identifier: Apache-2.0 */
/* The graph that is cut: symmetric, without loops and repeats, nodes weighted by work. 32-bit throughout, since METIS' limits
 * are checked before one is made; its arrays may lie in the memory that the METIS program shares with us.
 */
#ifndef GNTI_PARTITION_CUT_GRAPH_H
#define GNTI_PARTITION_CUT_GRAPH_H

#include "partition/partition_internal.h"

enum { GNTI_CUT_MAX_WEIGHTS = 2 };

typedef struct gnti_cut_graph {
    int32_t num_nodes, num_arcs;
    int32_t num_weights; /* 1: work; 2: work and training nodes */
    int32_t *offsets;    /* (num_nodes + 1) */
    int32_t *columns;    /* (num_arcs) both directions of each edge */
    int32_t *weight;     /* (num_nodes, num_weights); work is at least 1 */
    int64_t *arc_weight; /* (num_arcs) NULL: all 1 */
    int32_t *node; /* (num_nodes) its number in the graph it was taken from, ascending; NULL: the same */
    int64_t total[GNTI_CUT_MAX_WEIGHTS];
    bool borrowed; /* all arrays but node belong to somebody else */
} gnti_cut_graph;

void gnti_cut_graph_free(gnti_cut_graph **g);
gnt_status gnti_cut_graph_alloc(int32_t num_nodes, int32_t num_arcs, int32_t num_weights,
                                gnti_cut_graph **out);

/* The cleaned union of a graph and its transpose, work rounded to integers. Isolated nodes are taken out unless fewer than
 * 2 K others are left: they are listed in *isolated (ascending), each of weight *isolated_weight. ERR_FORMAT: a row that
 * is not ascending; ERR_LIMIT: METIS' index width. */
gnt_status gnti_cut_graph_clean(const gnti_graph *graph, const gnti_partition_config *config,
                                int32_t num_chunks, gnti_cut_graph **out, int32_t **isolated,
                                int32_t *num_isolated, int32_t *isolated_weight);

/* The subgraph of the nodes whose label is `label`: nodes[0 .. piece->num_nodes - 1], ascending, local[nodes[i]] = i. piece
 * has room for the arcs, which the caller has counted; its totals are set. */
void gnti_cut_graph_induce(const gnti_cut_graph *g, const int32_t *label_of, int32_t label,
                           const int32_t *nodes, const int32_t *local, gnti_cut_graph *piece);

#endif
