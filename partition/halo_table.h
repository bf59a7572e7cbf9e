/* SPDX-License-Identifier: Apache-2.0 */
/* The running halo of a cut: for each boundary node how many neighbours it has in each adjacent part, so that the change of the
 * halo by a move is known before it is made.
 *
 *   halo = sum over v of |{parts other than part(v) among N(v)}|
 *   v moves from p to q: v itself counts [q adjacent] - [p adjacent] less; a neighbour u outside p loses p when v was its only
 *   neighbour there; a neighbour outside q gains q when it had none there.
 * Nodes whose neighbours all lie in their own part have no slots until that changes.
 *
 * Beside the slots each node has two masks over parts modulo 64: near (its own part and its adjacent ones) and once (parts of others
 * in which it has one neighbour). Up to 64 parts they tell gains exactly and for all parts at once, at a fraction of the cost;
 * above that they bound them, and most nodes of a sweep need no closer look.
 */
#ifndef GNTI_PARTITION_HALO_TABLE_H
#define GNTI_PARTITION_HALO_TABLE_H

#include "partition/cut_graph.h"

typedef struct gnti_halo_slot {
    int32_t part, count;
} gnti_halo_slot;

typedef struct gnti_halo_node {
    int32_t start, used; /* slots; used 0: all neighbours lie in part[v] */
} gnti_halo_node;

typedef struct gnti_halo_masks {
    uint64_t near, once;
} gnti_halo_masks;

typedef struct gnti_halo_table {
    const gnti_cut_graph *g;
    int32_t num_parts, max_parts;
    int32_t *part;         /* (n) lent; changed by moves */
    gnti_halo_slot *slots; /* min(degree, max_parts) a node, and one */
    gnti_halo_node *node;  /* (n) */
    gnti_halo_masks *mask; /* (n) apart from the slots: neighbours' masks are what is read most */
    uint8_t *short_part; /* (n) for loading: a part in a byte stays in the caches; NULL: there are too many */
    int64_t halo, cut;   /* of the parts as they are; cut in edges */
    int64_t *work;       /* (num_parts, num_weights) */
    int32_t *count;      /* (num_parts) nodes */
    int64_t num_steps;   /* neighbours and slots looked at so far: the measure of effort */
    int32_t *saved, missed; /* of the node weighed last; saved counts neighbours while loading */
    int32_t extra;
    bool here, extra_is_adjacent;
} gnti_halo_table;

gnt_status gnti_halo_table_create(const gnti_cut_graph *g, int32_t max_parts, gnti_halo_table **out);
void gnti_halo_table_free(gnti_halo_table **t);

/* Starts over with a vector of num_parts <= max_parts parts, which is lent to the table. O(n + m). */
void gnti_halo_table_load(gnti_halo_table *t, int32_t num_parts, int32_t *part);

/* Neighbours of v in a part; whether some neighbour lies in another part than v. */
int32_t gnti_halo_neighbours(const gnti_halo_table *t, int32_t v, int32_t part);
static inline bool gnti_halo_is_boundary(const gnti_halo_table *t, int32_t v)
{
    return t->node[v].used > 1 || (t->node[v].used == 1 && t->slots[t->node[v].start].part != t->part[v]);
}

/* The parts (bits, modulo 64) of `among` that v may move to without the halo rising; what is not in `all` need not be weighed.
 * exact: gain[i] are those by which it falls by i, and nothing need be weighed. O(degree). */
enum { GNTI_HALO_MASK_PARTS = 64, GNTI_HALO_SETS = 8 };
typedef struct gnti_halo_sets {
    uint64_t all, gain[GNTI_HALO_SETS];
    bool exact;
} gnti_halo_sets;
void gnti_halo_candidates(gnti_halo_table *t, int32_t v, uint64_t among, gnti_halo_sets *out);
int64_t gnti_halo_sets_gain(const gnti_halo_sets *s, int32_t part);

/* Looks at v's neighbourhood; then gain tells by how much the halo falls when v moves to a part that is adjacent to it and
 * `among` the bits given (all: UINT64_MAX), or to `extra` (-1: none). */
void gnti_halo_weigh(gnti_halo_table *t, int32_t v, uint64_t among, int32_t extra);
int64_t gnti_halo_gain(const gnti_halo_table *t, int32_t v, int32_t to);

/* Moves v, which was weighed for `to` just now; everything follows. */
void gnti_halo_move(gnti_halo_table *t, int32_t v, int32_t to);

#endif
