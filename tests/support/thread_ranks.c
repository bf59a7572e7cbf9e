/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as ranks: see thread_ranks.h. */
#include "thread_ranks.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>

typedef struct rank_thread {
    pthread_t thread;
    gnti_comm *comm;
    gnt_rank_fn run;
    void *user;
    bool must_work;
    gnt_rank_result result;
} rank_thread;

static void *run_rank(void *user)
{
    rank_thread *t = user;
    const double began = gnti_clock_seconds();

    t->result.status = t->run(t->comm, t->user);
    t->result.seconds = gnti_clock_seconds() - began;
    snprintf(t->result.text, sizeof t->result.text, "%s", t->result.status == GNT_OK ? "" : gnt_last_error());
    if (t->result.status != GNT_OK && t->must_work)
        gnti_comm_abort(t->comm, t->result.text);
    return NULL;
}

void gnt_ranks_run(int32_t size, double time_limit, gnt_rank_fn run, void *user, gnt_rank_result *results)
{
    gnti_comm *comms[GNT_RANKS_MAX] = { 0 };
    rank_thread threads[GNT_RANKS_MAX] = { 0 };

    assert_true(size <= GNT_RANKS_MAX);
    gnt_assert_ok(gnti_comm_threads_create(size, comms));
    for (int32_t r = 0; r < size; r++) {
        if (time_limit > 0.0)
            comms[r]->time_limit = time_limit;
        threads[r] =
            (rank_thread){ .comm = comms[r], .run = run, .user = user, .must_work = results == NULL };
    }
    for (int32_t r = 0; r < size; r++)
        assert_int_equal(pthread_create(&threads[r].thread, NULL, run_rank, &threads[r]), 0);
    for (int32_t r = 0; r < size; r++)
        assert_int_equal(pthread_join(threads[r].thread, NULL), 0);
    for (int32_t r = 0; r < size; r++)
        gnti_comm_free(&comms[r]);
    for (int32_t r = 0; r < size; r++) {
        if (results != NULL)
            results[r] = threads[r].result;
        else if (threads[r].result.status != GNT_OK)
            fail_msg("rank %d of %d: %s: %s", (int)r, (int)size, gnt_status_name(threads[r].result.status),
                     threads[r].result.text);
    }
}
