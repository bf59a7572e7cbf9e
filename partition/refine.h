/* SPDX-License-Identifier: Apache-2.0 */
/* Making a cut better and legal: refinement for communication volume, and repair of parts that are empty or too heavy. Both work
 * on a loaded halo table and move nodes between its parts.
 */
#ifndef GNTI_PARTITION_REFINE_H
#define GNTI_PARTITION_REFINE_H

#include "partition/halo_table.h"

/* What a part should weigh and what it may; the bounds leave room for one mean node. */
typedef struct gnti_balance {
    int32_t num_parts, num_weights;
    double *target, *low, *high; /* (num_parts, num_weights) */
} gnti_balance;

/* share (num_parts) of the whole weight; tolerance (num_weights) above 1. */
gnt_status gnti_balance_make(const gnti_cut_graph *g, int32_t num_parts, const double *share,
                             const double *tolerance, gnti_balance **out);
void gnti_balance_free(gnti_balance **b);

/* The largest work of a part over its target; and whether some weight of some part is over its bound. */
double gnti_balance_worst(const gnti_balance *b, const gnti_halo_table *t, bool *over);

/* Whether v may move: its part stays above its lower bound and keeps a node, the other one below its upper bound. */
bool gnti_balance_allows(const gnti_balance *b, const gnti_halo_table *t, int32_t v, int32_t to);

/* Moves boundary nodes while the halo falls, or stays and the cut falls, or both stay and balance improves. group (num_parts):
 * nodes stay in the group of their part; NULL: one group. only (num_nodes): start from these nodes; NULL: all. At most
 * max_sweeps; the halo never rises. */
gnt_status gnti_refine_volume(gnti_halo_table *t, const gnti_balance *b, const int32_t *group,
                              const uint8_t *only, int max_sweeps);

/* The same for small graphs, through worse states to better ones (climb.c): O(n m) a pass. */
gnt_status gnti_refine_climb(gnti_halo_table *t, const gnti_balance *b, const int32_t *group);

/* Empty or nearly empty parts take a piece of the heaviest one, parts that are too heavy give nodes to others. Each node moves
 * at most twice for balance. Balance may stay bad (hubs); no part is empty afterwards while there are nodes enough. */
gnt_status gnti_repair(gnti_halo_table *t, const gnti_balance *b);

#endif
