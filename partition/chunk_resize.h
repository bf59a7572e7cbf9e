/* SPDX-License-Identifier: Apache-2.0 */
/* A resize under way, between its halves: chunk_resize.c (pull, shed, place, search), chunk_resize_anneal.c,
 * chunk_resize_exact.c (branch and bound), chunk_resize_halo.c (moves for less halo). */
#ifndef GNTI_PARTITION_CHUNK_RESIZE_H
#define GNTI_PARTITION_CHUNK_RESIZE_H

#include "partition/map_state.h"

typedef struct gnti_resize {
    gnti_map_state s;
    int32_t *home;                 /* (K) device that holds the chunk now, -1: one that leaves */
    double *limit;                 /* (D) load */
    double all_limits;             /* their sum */
    double byte_price, halo_price; /* of a byte moved, of a halo row */
    double moved_bytes, moved_load, budget;
} gnti_resize;

/* Gives p to d and keeps the books of what has moved. Nobody's chunks count as moved. */
void gnti_resize_put(gnti_resize *r, int32_t p, int32_t d);

/* Whether p moves when d has it at the end. */
static inline bool gnti_resize_is_away(const gnti_resize *r, int32_t p, int32_t d)
{
    return d != r->home[p] || r->home[p] < 0;
}

typedef struct gnti_pooled {
    double cost, bytes;
    int32_t chunk;
} gnti_pooled;

/* Order of qsort: dear chunks first; where costs are equal, large ones. */
int gnti_pooled_compare(const void *a, const void *b);

/* What a map gains when p goes to d (and q, unless -1, to where p was): excess over limits, and price: bytes moved and halo, a
 * chunk's worth of bytes being 1. False when the budget of moved load forbids it. */
typedef struct gnti_resize_change {
    double excess, price;
} gnti_resize_change;
bool gnti_resize_weigh(const gnti_resize *r, int32_t p, int32_t d, int32_t q, gnti_resize_change *out);

/* Chains of moves that single moves and swaps miss: simulated annealing, seeded by nothing but the map. Keeps the map unless a
 * better one is found. Nothing without a price of halo. */
gnt_status gnti_resize_anneal(gnti_resize *r);

/* Of the whole map; and whether a is better: less excess, or the same at a lower price. */
gnti_resize_change gnti_resize_total(const gnti_resize *r);
bool gnti_resize_is_better(gnti_resize_change a, gnti_resize_change b);

/* Takes the ranges of a first map when they are better (chunk_resize_ranges.c). */
gnt_status gnti_resize_ranges(gnti_resize *r);

/* Looks for the map that moves fewest bytes within the limits; takes it when it is better with its halo counted too. */
gnt_status gnti_resize_exact(gnti_resize *r);

/* Single moves and swaps until none is better. */
void gnti_resize_search(gnti_resize *r);

/* Renames the devices of a map so that most bytes stay at home (chunk_resize_ranges.c). */
gnt_status gnti_resize_trade(const gnti_resize *r, int32_t *map);

/* Moves more than the budget where halo is far above a direct cut's (chunk_resize_halo.c). */
gnt_status gnti_resize_buy_halo(gnti_resize *r);

#endif
