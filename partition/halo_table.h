/* SPDX-License-Identifier: Apache-2.0 */
/* The running halo of a cut: for each boundary node how many neighbours it has in each adjacent part, so that the change of the
 * halo by a move is known before it is made.
 *
 *   halo = sum over v of |{parts other than part(v) among N(v)}|
 *   v moves from p to q: v itself counts [q adjacent] - [p adjacent] less; a neighbour u outside p loses p when v was its only
 *   neighbour there; a neighbour outside q gains q when it had none there.
 * Nodes whose neighbours all lie in their own part have no slots until that changes.
 */
#ifndef GNTI_PARTITION_HALO_TABLE_H
#define GNTI_PARTITION_HALO_TABLE_H

#include "partition/cut_graph.h"

typedef struct gnti_halo_slot {
    int32_t part, count;
} gnti_halo_slot;

typedef struct gnti_halo_table {
    const gnti_cut_graph *g;
    int32_t num_parts, max_parts;
    int32_t *part;          /* (n) lent; changed by moves */
    int64_t *start;         /* (n + 1) into slots */
    int32_t *used;          /* (n) slots in use, 0: all neighbours lie in part[v] */
    gnti_halo_slot *slots;  /* min(degree, max_parts) a node */
    int64_t halo, cut;      /* of the parts as they are; cut in edges */
    int64_t *work;          /* (num_parts, num_weights) */
    int32_t *count;         /* (num_parts) nodes */
    int64_t num_steps;      /* slots looked at so far: the measure of effort */
    int32_t *saved, missed; /* of the node weighed last */
} gnti_halo_table;

gnt_status gnti_halo_table_create(const gnti_cut_graph *g, int32_t max_parts, gnti_halo_table **out);
void gnti_halo_table_free(gnti_halo_table **t);

/* Starts over with a vector of num_parts <= max_parts parts, which is lent to the table. O(n + m). */
void gnti_halo_table_load(gnti_halo_table *t, int32_t num_parts, int32_t *part);

/* Neighbours of v in a part; whether some neighbour lies in another part than v. */
int32_t gnti_halo_neighbours(const gnti_halo_table *t, int32_t v, int32_t part);
static inline bool gnti_halo_is_boundary(const gnti_halo_table *t, int32_t v)
{
    return t->used[v] > 1 || (t->used[v] == 1 && t->slots[t->start[v]].part != t->part[v]);
}

/* Looks at v's neighbourhood; then gain tells by how much the halo falls when v moves to a part that is adjacent to it or
 * `extra` (-1: none). */
void gnti_halo_weigh(gnti_halo_table *t, int32_t v, int32_t extra);
int64_t gnti_halo_gain(const gnti_halo_table *t, int32_t v, int32_t to);

/* Moves v, which was weighed for `to` just now; everything follows. */
void gnti_halo_move(gnti_halo_table *t, int32_t v, int32_t to);

#endif
