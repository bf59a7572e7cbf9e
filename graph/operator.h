/* SPDX-License-Identifier: Apache-2.0 */
/* Operators: what an aggregation multiplies with. Made once from a dataset's graph (or a part, or a sampled block).
 *
 * Rows are destinations, columns are sources; the destinations are the first num_dst rows of the source space, in
 * the same order (own rows before halo rows in a part, roots before new nodes in a block). Self loops are not among
 * the arcs: loop[i] is the weight of the stored loop of i, 0 where there is none (NULL: none at all).
 *   sum   y_i = loop_i x_i + sum_j w_ij x_j                   w = 1 when unweighted
 *   mean  y_i = mean_scale_i (loop_i x_i + sum_j w_ij x_j)    mean_scale = 1 / (weighted) degree, 0 without neighbours
 *   sym   y_i = t_i (self_i t_i x_i + sum_j w_ij t_j x_j)     t = (sum_j w_ij + self_i)^-1/2, self = loop or else 1
 * sym is D~^-1/2 (A + I) D~^-1/2 of Kipf and Welling (ICLR 2017); "+ I" adds only the loops that are missing.
 */
#ifndef GNTI_GRAPH_OPERATOR_H
#define GNTI_GRAPH_OPERATOR_H

#include "graph/graph.h"

typedef struct gnti_operator {
    int64_t num_dst, num_src;
    const gnti_graph *forward;    /* num_dst x num_src without loops */
    const gnti_graph *transposed; /* num_src x num_dst; == forward when symmetric and square */
    bool symmetric;               /* forward equals its transpose, weights included */
    float *loop;                  /* (num_dst) or NULL */
    float *self;                  /* (num_dst) loop or 1; NULL: all 1 */
    float *sym_scale;             /* (num_src) t, from global degrees */
    float *mean_scale;            /* (num_dst) */
    /* A part (partition/part.h): the transpose is num_dst x num_src_t, its columns are own rows and then its own halo rows. 0
     * and NULL elsewhere: num_src, sym_scale and mean_scale serve both directions. */
    int64_t num_src_t;
    float *sym_scale_t, *mean_scale_t; /* (num_src_t) */
    const int64_t *src_ids; /* (num_src) global node ids, keys of random numbers; NULL: row r is node r */
    gnti_graph *owned_forward, *owned_transposed;
    int64_t *owned_ids;
} gnti_operator;

/* From a square graph whose rows are sources (a dataset's), which must outlive the operator: a symmetric
 * graph without loops is not copied. A weighted degree <= 0 is ERR_FORMAT naming the node (none at all is
 * fine: t = 1, mean 0). */
gnt_status gnti_operator_create(const gnti_graph *sources, gnti_operator **out);

/* The operator of an induced subgraph (a cluster batch, an inductive training graph): degrees inside the
 * subgraph. Ascending nodes keep the order of sums. */
gnt_status gnti_operator_induced(const gnti_graph *sources, const int64_t *nodes, int64_t num_nodes,
                                 gnti_operator **out);

/* A bipartite block: destinations are roots[0..num_roots), sources are roots then, by ascending id, all their
 * other in-neighbours. Scales are the global ones of `whole`. Rows keep the entries' order in `whole`, so
 * columns are not ascending: a row is summed in the same order as in the whole graph. One block of a batch
 * with every neighbour. */
gnt_status gnti_operator_block(const gnti_operator *whole, const int64_t *roots, int64_t num_roots,
                               gnti_operator **out);

/* operator_within.c. The rows from which those from first to end - 1 can be computed by num_hops products along arcs: themselves
 * and all that they reach against the arcs, ascending; to be freed. */
gnt_status gnti_operator_reach(const gnti_operator *whole, int64_t first, int64_t end, int32_t num_hops,
                               int64_t **nodes, int64_t *num_nodes);
/* A square operator of these rows (ascending) and the arcs between them, with the scales that they have in `whole`: rows all of
 * whose arcs are there get the bits of the whole. */
gnt_status gnti_operator_within(const gnti_operator *whole, const int64_t *nodes, int64_t num_nodes,
                                gnti_operator **out);

/* sym_scale and mean_scale of the destinations, whose arrays are there, from forward, loop and self. What makers of operators
 * share; the same errors as create. */
gnt_status gnti_operator_fill_scales(gnti_operator *op);

void gnti_operator_free(gnti_operator **op);

#endif
