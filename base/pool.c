/* SPDX-License-Identifier: Apache-2.0 */
/* Idle blocks form a list that ascends by size. The smallest block that is large enough is the right one: whatever set of
 * requests the blocks can serve at all, this order serves. A pool that was freed lives on until its last block comes back.
 * Under AddressSanitizer idle blocks and the rest behind a request are poisoned.
 */
#include "base/pool.h"

#include "base/alloc.h"
#include "base/poison.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { ALIGN_BYTES = 64 };
static const double LEAST_GROWTH = 1.5, MOST_GROWTH = 1024.0, MOST_ROOM = 0x1p46;

struct gnti_pool {
    pthread_mutex_t lock;
    gnti_block *idle;
    int64_t num_used; /* blocks that are not idle */
    double growth;
    bool closed;
};

static _Thread_local gnti_pool *g_pool;

gnt_status gnti_pool_create(gnti_pool **out)
{
    gnt_status st = GNT_OK;
    gnti_pool *before = gnti_pool_enter(NULL);
    gnti_pool *pool = NULL;

    GNT_TRY(gnti_calloc_array(&pool, 1));
    pthread_mutex_init(&pool->lock, NULL);
    pool->growth = LEAST_GROWTH;
    *out = pool;
done:
    gnti_pool_enter(before);
    return st;
}

void gnti_pool_set_growth(gnti_pool *pool, double growth)
{
    pool->growth = fmin(fmax(growth, LEAST_GROWTH), MOST_GROWTH);
}

static void destroy(gnti_pool *pool)
{
    pthread_mutex_destroy(&pool->lock);
    gnti_free(pool);
}

static void free_block(gnti_block *block)
{
    GNTI_UNPOISON(block, block->room);
    free(block);
}

void gnti_pool_free(gnti_pool **pool)
{
    gnti_pool *p = *pool;
    bool last;

    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    while (p->idle != NULL) {
        gnti_block *block = p->idle;

        p->idle = block->next;
        free_block(block);
    }
    p->closed = true;
    last = p->num_used == 0;
    pthread_mutex_unlock(&p->lock);
    if (last)
        destroy(p);
    *pool = NULL;
}

gnti_pool *gnti_pool_enter(gnti_pool *pool)
{
    gnti_pool *before = g_pool;

    g_pool = pool;
    return before;
}

static gnti_block *take_idle(gnti_pool *pool, size_t total)
{
    gnti_block **at, *block;

    pthread_mutex_lock(&pool->lock);
    for (at = &pool->idle; *at != NULL && (*at)->room < total; at = &(*at)->next)
        ;
    block = *at;
    if (block != NULL)
        *at = block->next;
    pool->num_used++; /* the caller brings a new one where there is none */
    pthread_mutex_unlock(&pool->lock);
    return block;
}

static void put_idle(gnti_pool *pool, gnti_block *block)
{
    gnti_block **at;
    bool last;

    pthread_mutex_lock(&pool->lock);
    if (block != NULL && !pool->closed) {
        for (at = &pool->idle; *at != NULL && (*at)->room < block->room; at = &(*at)->next)
            ;
        block->next = *at;
        *at = block;
        GNTI_POISON((char *)block + sizeof *block, block->room - sizeof *block);
        block = NULL;
    }
    last = --pool->num_used == 0 && pool->closed;
    pthread_mutex_unlock(&pool->lock);
    if (block != NULL)
        free_block(block);
    if (last)
        destroy(pool);
}

gnti_block *gnti_block_take(size_t total)
{
    gnti_pool *pool = g_pool;
    gnti_block *block = pool != NULL ? take_idle(pool, total) : NULL;

    if (block == NULL) {
        const double wanted = pool != NULL ? (double)total * pool->growth : 0.0;
        size_t room = wanted > 0.0 && wanted < MOST_ROOM ? gnti_round_up((size_t)wanted, ALIGN_BYTES) : total;

        block = aligned_alloc(ALIGN_BYTES, room);
        if (block == NULL && room > total)
            block = aligned_alloc(ALIGN_BYTES, room = total);
        if (block == NULL && pool != NULL)
            put_idle(pool, NULL);
        if (block == NULL)
            return NULL;
        block->room = room;
        block->pool = pool;
    }
    GNTI_UNPOISON(block, total);
    GNTI_POISON((char *)block + total, block->room - total);
    return block;
}

void gnti_block_give(gnti_block *block)
{
    if (block->pool != NULL)
        put_idle(block->pool, block);
    else
        free(block);
}
