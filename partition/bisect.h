/* SPDX-License-Identifier: Apache-2.0 */
/* Our own bisection, for graphs that METIS would not coarsen (fewer than some hundred nodes a part) and for quotient graphs. */
#ifndef GNTI_PARTITION_BISECT_H
#define GNTI_PARTITION_BISECT_H

#include "partition/cut_graph.h"

typedef struct gnti_bisect_goal {
    double fraction;      /* of the work that side 0 should have, in (0, 1) */
    double slack;         /* by how much of the whole work it may differ */
    int32_t min_nodes[2]; /* of each side; their sum is at most num_nodes */
} gnti_bisect_goal;

/* side (num_nodes): 0 or 1. Work alone is balanced. Deterministic; no recursion, O(n + m) memory. */
gnt_status gnti_bisect(const gnti_cut_graph *g, const gnti_bisect_goal *goal, uint8_t *side);

/* Where a tree of bisections splits the chunks first .. end - 1 (at least two): between shares while there are several, at
 * first + the largest power of two below their number otherwise. share_chunks as in the targets (num_shares 0: none). */
int32_t gnti_tree_split(int32_t first, int32_t end, int32_t num_shares, const int32_t *share_chunks);

#endif
