/* SPDX-License-Identifier: Apache-2.0 */
/* The communicator of ranks that are threads of one process: making it, splitting it, ending it. Waiting, collective calls
 * and messages are in comm_threads_*.c; comm_threads.h explains the group.
 */
#include "dist/comm_threads.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void group_free(thread_group *g)
{
    if (g == NULL)
        return;
    for (int32_t r = 0; g->slots != NULL && r < g->size; r++)
        pthread_cond_destroy(&g->slots[r].wake);
    pthread_mutex_destroy(&g->mutex);
    gnti_free(g->pairs);
    gnti_free(g->slots);
    gnti_free(g);
}

static gnt_status group_create(int32_t size, thread_group **out)
{
    gnt_status st = GNT_OK;
    thread_group *g = NULL;
    pthread_condattr_t clock;

    GNT_TRY(gnti_calloc_array(&g, 1));
    pthread_mutex_init(&g->mutex, NULL);
    g->size = size;
    GNT_TRY(gnti_calloc_array(&g->slots, size));
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    for (int32_t r = 0; r < size; r++)
        pthread_cond_init(&g->slots[r].wake, &clock);
    pthread_condattr_destroy(&clock);
    GNT_TRY(gnti_calloc_array(&g->pairs, (int64_t)size * size));
    if (gethostname(g->host, sizeof g->host - 1) != 0)
        snprintf(g->host, sizeof g->host, "unknown");
    *out = g;
    g = NULL;
done:
    group_free(g);
    return st;
}

static void threads_free(gnti_comm *head)
{
    thread_comm *c = (thread_comm *)head;
    thread_group *g = c->group;
    thread_exchange *next = NULL;
    bool last = false;

    pthread_mutex_lock(&g->mutex);
    for (thread_exchange *x = c->exchanges; x != NULL; x = x->next)
        if (x->busy)
            thread_exchange_cancel(c, x);
    g->slots[head->rank].left = true;
    last = --g->num_alive == 0;
    thread_wake_all(g);
    pthread_mutex_unlock(&g->mutex);
    for (thread_exchange *x = c->exchanges; x != NULL; x = next) {
        next = x->next;
        gnti_free(x->halves);
        gnti_free(x->mail);
        gnti_free(x);
    }
    if (last)
        group_free(g);
    gnti_free(c);
}

static gnt_status threads_check(gnti_comm *head)
{
    thread_comm *c = (thread_comm *)head;
    const thread_wait w = thread_wait_begin("work of the device");
    bool aborted = false;

    pthread_mutex_lock(&c->group->mutex);
    aborted = c->group->aborted;
    pthread_mutex_unlock(&c->group->mutex);
    return aborted ? thread_give_up(c, &w, WAIT_ABORTED, head->rank) : GNT_OK;
}

static void threads_abort(gnti_comm *head)
{
    thread_comm *c = (thread_comm *)head;

    pthread_mutex_lock(&c->group->mutex);
    thread_abort_group(c->group, head->rank, head->reason);
    pthread_mutex_unlock(&c->group->mutex);
}

/* What a part inherits is the rank's own. */
static void inherit(gnti_comm *part, const gnti_comm *whole)
{
    part->time_limit = whole->time_limit;
    part->num_threads = whole->num_threads;
    part->virtual_seconds = whole->virtual_seconds;
    part->link = whole->link;
    for (int class = 0; class < GNTI_LINK_NUM_CLASSES; class ++)
        part->measured[class] = whole->measured[class];
}

static gnt_status threads_split(gnti_comm *head, int32_t color, int32_t key, gnti_comm **out)
{
    gnt_status st = GNT_OK;
    thread_call call = { .kind = CALL_SPLIT, .color = color, .key = key };

    GNT_TRY(thread_collective((thread_comm *)head, "split", &call));
    if (call.part != NULL)
        inherit(call.part, head);
    *out = call.part;
done:
    return st;
}

static const gnti_comm_table threads_table = {
    .name = "threads",
    .all_reduce = thread_all_reduce,
    .broadcast_start = thread_broadcast_start,
    .exchange_start = thread_exchange_start,
    .exchange_poll = thread_exchange_poll,
    .exchange_finish = thread_exchange_finish,
    .barrier = thread_barrier,
    .split = threads_split,
    .check = threads_check,
    .abort = threads_abort,
    .free = threads_free,
};

gnt_status gnti_comm_threads_create(int32_t size, gnti_comm **out)
{
    gnt_status st = GNT_OK;
    thread_group *g = NULL;
    thread_comm **made = NULL;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_CHECK(size >= 1 && size <= THREADS_MAX_RANKS, GNT_ERR_ARG,
              "a job of threads has 1 to %d ranks, not %d", (int)THREADS_MAX_RANKS, (int)size);
    GNT_TRY(group_create(size, &g));
    GNT_TRY(gnti_calloc_array(&made, size));
    for (int32_t r = 0; r < size; r++)
        GNT_TRY(gnti_calloc_array(&made[r], 1));
    for (int32_t r = 0; r < size; r++) {
        made[r]->head.table = &threads_table;
        made[r]->head.rank = r;
        made[r]->head.size = size;
        made[r]->head.time_limit = GNTI_COMM_TIME_LIMIT;
        made[r]->head.num_threads = 1;
        made[r]->group = g;
        out[r] = &made[r]->head;
        made[r] = NULL;
    }
    g->num_alive = size;
    g = NULL;
done:
    for (int32_t r = 0; made != NULL && r < size; r++)
        gnti_free(made[r]);
    gnti_free(made);
    group_free(g);
    return st;
}

static bool comes_before(const thread_group *g, int32_t a, int32_t b)
{
    const thread_call *x = &g->slots[a].call, *y = &g->slots[b].call;

    return x->key < y->key || (x->key == y->key && a < b);
}

/* How many ranks of its color there are, and in *before how many of them come before it. */
static int32_t count_color(const thread_group *g, int32_t rank, int32_t *before)
{
    int32_t size = 0;

    *before = 0;
    for (int32_t r = 0; r < g->size; r++) {
        if (g->slots[r].call.color != g->slots[rank].call.color)
            continue;
        size++;
        *before += comes_before(g, r, rank);
    }
    return size;
}

gnt_status thread_split(thread_group *g)
{
    gnt_status st = GNT_OK;
    gnti_comm **parts = NULL;
    int32_t place = 0;

    GNT_TRY(gnti_calloc_array(&parts, g->size));
    for (int32_t r = 0; r < g->size; r++)
        g->slots[r].call.part = NULL;
    for (int32_t r = 0; r < g->size; r++) {
        const int32_t size = count_color(g, r, &place);

        if (g->slots[r].call.color < 0 || g->slots[r].call.part != NULL)
            continue;
        GNT_TRY(gnti_comm_threads_create(size, parts));
        for (int32_t q = 0; q < g->size; q++)
            if (g->slots[q].call.color == g->slots[r].call.color) {
                (void)count_color(g, q, &place);
                g->slots[q].call.part = parts[place];
            }
    }
done:
    for (int32_t r = 0; st != GNT_OK && r < g->size; r++)
        gnti_comm_free(&g->slots[r].call.part);
    gnti_free(parts);
    return st;
}
