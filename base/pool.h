/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: memory of what is made anew again and again, such as the batches of an epoch. While a thread has entered a pool, its
 * blocks (base/alloc.h) come from there; freeing one, in or outside of the pool and in any thread, gives it back to its pool.
 *
 *   gnti_pool *before = gnti_pool_enter(pool);
 *   ... make the next batch ...
 *   gnti_pool_enter(before);
 * A request takes the smallest idle block that is large enough. One made because there is none is `growth` times as large as
 * asked: who knows that no later batch needs more than that many times the memory of the first asks the system once. Room
 * that is never touched takes no memory. Pages are never pooled.
 */
#ifndef GNTI_BASE_POOL_H
#define GNTI_BASE_POOL_H

#include "base/check.h"

#include <stddef.h>

typedef struct gnti_pool gnti_pool;

gnt_status gnti_pool_create(gnti_pool **out);
/* At least 1.5, as it is at first, and at most 1024. */
void gnti_pool_set_growth(gnti_pool *pool, double growth);
/* Blocks still in use stay valid and are freed as usual. */
void gnti_pool_free(gnti_pool **pool);
/* From now on this thread's blocks come from `pool` (NULL: from the system). Answers what it was before. */
gnti_pool *gnti_pool_enter(gnti_pool *pool);

/* ---- for base/alloc.c: the head of every block -------------------------------------------------------------------- */
typedef struct gnti_block {
    size_t bytes;            /* as asked for */
    size_t room;             /* of the whole block with its head; 0: no pool's */
    gnti_pool *pool;         /* NULL: the system's */
    struct gnti_block *next; /* while idle */
} gnti_block;

/* A block of `total` bytes with its head, aligned to 64, from this thread's pool or the system; NULL when there is no memory.
 * room and pool are set. */
gnti_block *gnti_block_take(size_t total);
void gnti_block_give(gnti_block *block);

#endif
