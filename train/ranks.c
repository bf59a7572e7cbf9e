/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads: workers that sleep until the trainer has something for all of them. The caller's thread is the first rank,
 * so a job of one rank starts no thread and costs nothing.
 */
#include "train/ranks.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 256 };

typedef struct worker {
    struct gnti_ranks *ranks;
    int32_t local;
    pthread_t thread;
    bool started;
    gnti_error_record error; /* of the newest call */
    gnt_status status;
} worker;

struct gnti_ranks {
    int32_t num_local, size;
    gnti_rank *rank; /* (num_local) */
    worker *workers; /* (num_local), 0 is the caller's */
    pthread_mutex_t lock;
    pthread_cond_t wake, ready;
    bool has_lock, ending;
    int64_t call;    /* number of the newest call */
    int32_t missing; /* workers that have not ended it */
    gnti_rank_fn fn;
    void *user;
};

/* "rank 1 of 4 on host 'a': " in front of the text, unless the exchange that failed has told it. */
static void name_rank(const gnti_rank *rank, int32_t size)
{
    char host[HOST_BYTES] = "?";

    if (strstr(gnti_error_get()->text, "on host '") != NULL)
        return;
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "?");
    gnti_error_prefix("rank %d of %d on host '%s': ", (int)rank->rank, (int)size, host);
}

static void run_call(worker *w, gnti_rank_fn fn, void *user)
{
    gnti_rank *rank = &w->ranks->rank[w->local];

    w->status = fn(rank, user);
    if (w->status == GNT_OK)
        return;
    if (w->status == GNT_ERR_DEVICE_LOST)
        name_rank(rank, w->ranks->size);
    w->error = *gnti_error_get();
    if (rank->comm != NULL)
        gnti_comm_abort(rank->comm, w->error.text);
    if (rank->group_comm != NULL) /* whoever waits for its device looks there */
        gnti_comm_abort(rank->group_comm, w->error.text);
}

static void *work(void *user)
{
    worker *w = user;
    gnti_ranks *ranks = w->ranks;
    int64_t seen = 0;

    pthread_mutex_lock(&ranks->lock);
    for (;;) {
        while (ranks->call == seen && !ranks->ending)
            pthread_cond_wait(&ranks->wake, &ranks->lock);
        if (ranks->ending)
            break;
        seen = ranks->call;
        pthread_mutex_unlock(&ranks->lock);
        run_call(w, ranks->fn, ranks->user);
        pthread_mutex_lock(&ranks->lock);
        if (--ranks->missing == 0)
            pthread_cond_signal(&ranks->ready);
    }
    pthread_mutex_unlock(&ranks->lock);
    return NULL;
}

/* The failure to report: the first by rank that is not merely the echo of another one's. */
static gnt_status report(gnti_ranks *ranks)
{
    const worker *first = NULL;

    for (int32_t i = 0; i < ranks->num_local; i++) {
        const worker *w = &ranks->workers[i];

        if (w->status == GNT_OK)
            continue;
        if (w->status != GNT_ERR_PEER_LOST) {
            first = w;
            break;
        }
        first = first != NULL ? first : w;
    }
    if (first == NULL)
        return GNT_OK;
    (void)gnti_error_adopt(&first->error); /* its text; a rank may have failed without one */
    return first->status;
}

gnt_status gnti_ranks_each(gnti_ranks *ranks, gnti_rank_fn fn, void *user)
{
    if (ranks->num_local == 1) {
        run_call(&ranks->workers[0], fn, user);
        return report(ranks);
    }
    pthread_mutex_lock(&ranks->lock);
    ranks->fn = fn;
    ranks->user = user;
    ranks->call++;
    ranks->missing = ranks->num_local - 1;
    pthread_cond_broadcast(&ranks->wake);
    pthread_mutex_unlock(&ranks->lock);
    run_call(&ranks->workers[0], fn, user);
    pthread_mutex_lock(&ranks->lock);
    while (ranks->missing > 0)
        pthread_cond_wait(&ranks->ready, &ranks->lock);
    pthread_mutex_unlock(&ranks->lock);
    return report(ranks);
}

gnt_status gnti_ranks_create(int32_t num_local, int32_t first, int32_t size, gnti_ranks **out)
{
    gnt_status st = GNT_OK;
    gnti_ranks *ranks = NULL;

    GNT_TRY(gnti_calloc_array(&ranks, 1));
    ranks->num_local = num_local;
    ranks->size = size;
    GNT_TRY(gnti_calloc_array(&ranks->rank, num_local));
    GNT_TRY(gnti_calloc_array(&ranks->workers, num_local));
    pthread_mutex_init(&ranks->lock, NULL);
    pthread_cond_init(&ranks->wake, NULL);
    pthread_cond_init(&ranks->ready, NULL);
    ranks->has_lock = true;
    for (int32_t i = 0; i < num_local; i++) {
        worker *w = &ranks->workers[i];

        ranks->rank[i].local = i;
        ranks->rank[i].rank = first + i;
        w->ranks = ranks;
        w->local = i;
        if (i == 0)
            continue;
        GNT_CHECK(pthread_create(&w->thread, NULL, work, w) == 0, GNT_ERR_LIMIT,
                  "cannot start a thread for rank %d of %d: use fewer devices", (int)i, (int)num_local);
        w->started = true;
    }
    *out = ranks;
    ranks = NULL;
done:
    gnti_ranks_free(&ranks);
    return st;
}

static void free_rank(gnti_rank *r)
{
    gnti_scorer_free(&r->scorer);
    gnti_evaluator_free(&r->evaluator);
    gnti_program_free(&r->program);
    gnti_params_free(&r->params);
    gnti_source_free(&r->source);
    gnti_model_features_free(&r->features);
    gnti_local_data_free(&r->rows);
    gnti_free(r->weight);
    gnti_free(r->member_weight);
    gnti_free(r->apart);
    gnti_sync_free(&r->sync);
    gnti_rank_leave_group(r);
    gnti_comm_free(&r->comm);
    gnti_virtual_free(&r->clock);
    gnti_trace_free(&r->trace);
    if (r->owns_device)
        gnti_device_close(&r->device);
    gnti_free(r->stats);
    gnti_free(r->bad);
    gnti_free(r->live);
    gnti_free(r->failed);
    gnti_free(r->dropout);
    gnti_free(r->decay);
    gnti_free(r->logits);
}

/* On the rank's thread, for ranks of a group leave together: what uses it goes first. */
static gnt_status leave(gnti_rank *rank, void *user)
{
    (void)user;
    gnti_scorer_free(&rank->scorer);
    gnti_evaluator_free(&rank->evaluator);
    gnti_program_free(&rank->program);
    gnti_rank_leave_group(rank);
    return GNT_OK;
}

static void leave_groups(gnti_ranks *ranks)
{
    bool any = false;

    for (int32_t i = 0; ranks->rank != NULL && i < ranks->num_local; i++)
        any = any || ranks->rank[i].group != NULL;
    if (any)
        (void)gnti_ranks_each(ranks, leave, NULL);
}

void gnti_ranks_free(gnti_ranks **out)
{
    gnti_ranks *ranks = out != NULL ? *out : NULL;

    if (ranks == NULL)
        return;
    *out = NULL;
    leave_groups(ranks);
    if (ranks->has_lock) {
        pthread_mutex_lock(&ranks->lock);
        ranks->ending = true;
        pthread_cond_broadcast(&ranks->wake);
        pthread_mutex_unlock(&ranks->lock);
    }
    for (int32_t i = 0; ranks->workers != NULL && i < ranks->num_local; i++)
        if (ranks->workers[i].started)
            pthread_join(ranks->workers[i].thread, NULL);
    for (int32_t i = 0; ranks->rank != NULL && i < ranks->num_local; i++)
        free_rank(&ranks->rank[i]);
    if (ranks->has_lock) {
        pthread_mutex_destroy(&ranks->lock);
        pthread_cond_destroy(&ranks->wake);
        pthread_cond_destroy(&ranks->ready);
    }
    gnti_free(ranks->rank);
    gnti_free(ranks->workers);
    gnti_free(ranks);
}

int32_t gnti_ranks_local(const gnti_ranks *ranks)
{
    return ranks->num_local;
}

int32_t gnti_ranks_size(const gnti_ranks *ranks)
{
    return ranks->size;
}

gnti_rank *gnti_ranks_at(gnti_ranks *ranks, int32_t local)
{
    return &ranks->rank[local];
}
