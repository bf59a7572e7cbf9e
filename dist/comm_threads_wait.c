/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting of ranks that are threads: 20 microseconds awake, for the other side is often just about done, then asleep, for
 * ranks share cores. Whoever finds that a rank is late or gone ends the group for all, so that nobody waits longer than one
 * time limit.
 */
#include "dist/comm_threads.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#define SPIN_SECONDS  20e-6
#define LONGEST_LIMIT 1e8 /* seconds; what a clock can take */

thread_wait thread_wait_begin(const char *operation)
{
    return (thread_wait){ operation, gnti_clock_seconds(), false };
}

void thread_wake(thread_group *g, int32_t rank)
{
    atomic_fetch_add(&g->slots[rank].events, 1);
    pthread_cond_signal(&g->slots[rank].wake);
}

void thread_wake_all(thread_group *g)
{
    for (int32_t r = 0; r < g->size; r++)
        thread_wake(g, r);
}

static void spin(thread_group *g, thread_slot *slot, unsigned seen)
{
    const double end = gnti_clock_seconds() + SPIN_SECONDS;

    pthread_mutex_unlock(&g->mutex);
    while (atomic_load(&slot->events) == seen && gnti_clock_seconds() < end)
        ;
    pthread_mutex_lock(&g->mutex);
}

static void sleep_until(thread_group *g, thread_slot *slot, double deadline)
{
    struct timespec t;

    t.tv_sec = (time_t)floor(deadline);
    t.tv_nsec = (long)((deadline - floor(deadline)) * 1e9);
    (void)pthread_cond_timedwait(&slot->wake, &g->mutex, &t);
}

thread_verdict thread_pause(thread_comm *c, thread_wait *w, int32_t missing)
{
    thread_group *g = c->group;
    thread_slot *slot = &g->slots[c->head.rank];
    const unsigned seen = atomic_load(&slot->events);
    const double limit = fmin(fmax(c->head.time_limit, 0.0), LONGEST_LIMIT);

    if (g->aborted)
        return WAIT_ABORTED;
    if (g->slots[missing].left)
        return WAIT_LEFT;
    if (gnti_clock_seconds() >= w->began + limit)
        return WAIT_LATE;
    if (!w->spun)
        spin(g, slot, seen);
    w->spun = true;
    if (atomic_load(&slot->events) == seen)
        sleep_until(g, slot, w->began + limit);
    return WAIT_GO_ON;
}

void thread_abort_group(thread_group *g, int32_t rank, const char *reason)
{
    if (g->aborted)
        return;
    g->aborted = true;
    g->aborted_by = rank;
    snprintf(g->reason, sizeof g->reason, "%s", reason);
    thread_wake_all(g);
}

gnt_status thread_give_up(thread_comm *c, const thread_wait *w, thread_verdict verdict, int32_t missing)
{
    gnt_status st = GNT_OK;
    const thread_group *g = c->group; /* reason and its rank do not change once aborted */
    const double waited = gnti_clock_seconds() - w->began;
    const int32_t rank = c->head.rank, size = c->head.size;

    if (verdict == WAIT_ABORTED)
        GNT_FAIL(GNT_ERR_PEER_LOST,
                 "%s: rank %d of %d on host '%s' stops after %.1f s, rank %d ended the job: %s", w->operation,
                 (int)rank, (int)size, g->host, waited, (int)g->aborted_by, g->reason);
    if (verdict == WAIT_LEFT)
        GNT_FAIL(GNT_ERR_PEER_LOST,
                 "%s: rank %d of %d on host '%s' has left the job (rank %d waited %.1f s for it)",
                 w->operation, (int)missing, (int)size, g->host, (int)rank, waited);
    GNT_FAIL(GNT_ERR_TIMEOUT, "%s: rank %d of %d on host '%s' did not answer within %.1f s (rank %d waited)",
             w->operation, (int)missing, (int)size, g->host, waited, (int)rank);
done:
    gnti_comm_abort(&c->head, verdict == WAIT_ABORTED ? g->reason : gnt_last_error());
    return st;
}
