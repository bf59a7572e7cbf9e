/* SPDX-License-Identifier: Apache-2.0 */
/* Collective calls of ranks that are threads. Every rank lays down what it brings; the last one to come finds all shares in
 * memory.
 *
 * Small sums are made by that last rank alone, under the mutex, so that the others wake once, with the answer in place. For a
 * large one every rank takes its slice of the values, adds all ranks' shares of it in rank order, and writes the sum back to
 * all of them: nothing is copied aside, and no slice is touched by two ranks. A rank that gives up before all have come takes
 * its share back; once all have come none gives up, since others read its memory.
 */
#include "dist/comm_threads.h"

#include "dist/reduce.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_BYTES = 4096, ALONE_BYTES = 128 * 1024 };

static const char *call_name(thread_call_kind kind)
{
    static const char *const names[] = { "a barrier", "an all-reduce", "a split" };

    return names[kind];
}

/* The sums of values first .. first + count - 1, written to every rank's share. */
static void reduce_slice(thread_group *g, int64_t first, int64_t count)
{
    const gnti_all_reduce_args *a = &g->slots[0].call.reduce;
    const size_t value = gnti_reduce_value_bytes(a->dtype);
    const int64_t step = BLOCK_BYTES / (int64_t)value;
    _Alignas(64) char sum[BLOCK_BYTES];

    for (int64_t i = first; i < first + count; i += step) {
        const int64_t n = gnti_min_i64(step, first + count - i);
        const size_t at = (size_t)i * value, bytes = (size_t)n * value;

        memcpy(sum, (const char *)a->data + at, bytes);
        for (int32_t r = 1; r < g->size; r++)
            gnti_reduce_into(sum, (const char *)g->slots[r].call.reduce.data + at, n, a->dtype, a->op);
        for (int32_t r = 0; r < g->size; r++)
            memcpy((char *)g->slots[r].call.reduce.data + at, sum, bytes);
    }
}

static bool works_alone(const thread_group *g)
{
    const gnti_all_reduce_args *a = &g->slots[0].call.reduce;

    return (double)a->count * (double)gnti_reduce_value_bytes(a->dtype) * (double)g->size <= ALONE_BYTES;
}

/* Whether all ranks made the same call; if not, the group ends with a text that names two that differ. */
static bool calls_agree(thread_group *g)
{
    const thread_call *a = &g->slots[0].call;
    char text[GNTI_COMM_REASON_BYTES];

    for (int32_t r = 1; r < g->size; r++) {
        const thread_call *b = &g->slots[r].call;

        if (a->kind == b->kind && a->reduce.count == b->reduce.count && a->reduce.dtype == b->reduce.dtype &&
            a->reduce.op == b->reduce.op)
            continue;
        snprintf(text, sizeof text,
                 "rank 0 calls %s of %lld values (type %d, operation %d), rank %d %s of %lld (%d, %d)",
                 call_name(a->kind), (long long)a->reduce.count, (int)a->reduce.dtype, (int)a->reduce.op,
                 (int)r, call_name(b->kind), (long long)b->reduce.count, (int)b->reduce.dtype,
                 (int)b->reduce.op);
        thread_abort_group(g, r, text);
        return false;
    }
    return true;
}

/* By the last rank to come. */
static void complete_call(thread_group *g)
{
    const thread_call *a = &g->slots[0].call;

    g->num_arrived = 0;
    g->num_working = 0;
    g->clock = 0.0;
    g->error.code = GNT_OK;
    for (int32_t r = 0; r < g->size; r++) {
        g->slots[r].arrived = false;
        g->clock = fmax(g->clock, g->slots[r].call.clock);
    }
    if (!calls_agree(g))
        return;
    if (a->kind == CALL_SPLIT && thread_split(g) != GNT_OK)
        g->error = *gnti_error_get();
    if (a->kind == CALL_REDUCE && works_alone(g))
        reduce_slice(g, 0, a->reduce.count);
    else if (a->kind == CALL_REDUCE)
        g->num_working = g->size;
    g->entered++;
    thread_wake_all(g);
}

static int32_t first_missing(const thread_group *g)
{
    int32_t r = 0;

    while (r < g->size - 1 && g->slots[r].arrived)
        r++;
    return r;
}

/* Every rank has come: none can fail any more, so this waits for work alone. */
static void reduce_together(thread_comm *c)
{
    thread_group *g = c->group;
    const int64_t count = g->slots[0].call.reduce.count;
    const int64_t first = count / g->size * c->head.rank + gnti_min_i64(c->head.rank, count % g->size);
    const int64_t share = count / g->size + (c->head.rank < count % g->size);
    const uint64_t left = g->left;

    pthread_mutex_unlock(&g->mutex);
    reduce_slice(g, first, share);
    pthread_mutex_lock(&g->mutex);
    if (--g->num_working == 0) {
        g->left++;
        thread_wake_all(g);
    }
    while (g->left == left)
        pthread_cond_wait(&g->slots[c->head.rank].wake, &g->mutex);
}

gnt_status thread_collective(thread_comm *c, const char *operation, thread_call *call)
{
    gnt_status st = GNT_OK;
    thread_group *g = c->group;
    thread_slot *slot = &g->slots[c->head.rank];
    thread_wait w = thread_wait_begin(operation);
    thread_verdict verdict = WAIT_GO_ON;
    int32_t missing = 0;
    uint64_t entered = 0;

    call->clock = c->head.virtual_seconds != NULL ? *c->head.virtual_seconds : 0.0;
    pthread_mutex_lock(&g->mutex);
    entered = g->entered;
    slot->call = *call;
    if (!g->aborted) {
        slot->arrived = true;
        if (++g->num_arrived == g->size)
            complete_call(g);
    }
    while (g->entered == entered && verdict == WAIT_GO_ON) {
        missing = first_missing(g);
        verdict = thread_pause(c, &w, missing);
    }
    if (g->entered == entered) {
        g->num_arrived -= slot->arrived;
        slot->arrived = false;
    } else {
        verdict = WAIT_GO_ON;
        if (g->num_working > 0)
            reduce_together(c);
        call->part = slot->call.part;
        call->clock = g->clock;
        if (g->error.code != GNT_OK)
            st = gnti_error_adopt(&g->error);
    }
    pthread_mutex_unlock(&g->mutex);
    return verdict != WAIT_GO_ON ? thread_give_up(c, &w, verdict, missing) : st;
}

/* Once all have come: a tree up and down, and each value sent and received once less a share. */
static void set_clock(gnti_comm *c, double latest, double bytes)
{
    double levels = ceil(log2((double)c->size));

    if (c->virtual_seconds == NULL)
        return;
    latest += 2.0 * levels * c->link.latency;
    if (c->link.bytes_per_second > 0.0)
        latest += 2.0 * bytes * (c->size - 1) / c->size / c->link.bytes_per_second;
    *c->virtual_seconds = fmax(*c->virtual_seconds, latest);
}

gnt_status thread_all_reduce(gnti_comm *head, const gnti_all_reduce_args *a)
{
    gnt_status st = GNT_OK;
    thread_call call = { .kind = CALL_REDUCE, .reduce = *a };

    GNT_TRY(thread_collective((thread_comm *)head, "all-reduce", &call));
    set_clock(head, call.clock, (double)a->count * (double)gnti_reduce_value_bytes(a->dtype));
done:
    return st;
}

gnt_status thread_barrier(gnti_comm *head)
{
    gnt_status st = GNT_OK;
    thread_call call = { .kind = CALL_BARRIER };

    GNT_TRY(thread_collective((thread_comm *)head, "barrier", &call));
    set_clock(head, call.clock, 0.0);
done:
    return st;
}
