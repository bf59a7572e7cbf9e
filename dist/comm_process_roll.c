/* SPDX-License-Identifier: Apache-2.0 */
/* Who is still there: a rank asks all others, and each answers from whatever wait or look it is in, without coming to the same
 * call. So a loss that devices report without a name gets one, and a rank that merely computes is not blamed as long as it looks
 * now and then. A message to a rank stays under way at most once: who is gone takes none.
 */
#include "dist/comm_process.h"

#include "base/clock.h"

#include <time.h>

/* Sends a small notice, unless the last one of its kind is still under way. The mutex is held. */
static void send_once(process_job *job, const process_notice *n, int32_t rank, gnti_mpi_request *request,
                      bool *open)
{
    bool done = true;
    size_t received = 0;

    if (*open && job->mpi->test(request, &done, &received) == 0 && !done)
        return;
    *open = job->mpi->send(n, sizeof *n, rank, PROCESS_NOTICE_TAG, request) == 0;
}

void process_take_roll_notice(process_job *job, const process_notice *n)
{
    if (n->rank < 0 || n->rank >= job->facts.size)
        return;
    if (n->kind == PROCESS_ANSWERS) {
        job->is_there[n->rank] = true;
        return;
    }
    job->answers = (process_notice){ .kind = PROCESS_ANSWERS, .rank = job->facts.rank };
    send_once(job, &job->answers, n->rank, &job->answered[n->rank], &job->answers_open[n->rank]);
}

static void ask_all(process_comm *c)
{
    process_job *job = c->job;

    pthread_mutex_lock(&job->mutex);
    job->asks = (process_notice){ .kind = PROCESS_ASKS, .rank = job->facts.rank };
    for (int32_t r = 0; r < c->head.size && !job->broken; r++) {
        const int32_t world = c->world[r];

        job->is_there[world] = r == c->head.rank;
        if (r != c->head.rank)
            send_once(job, &job->asks, world, &job->asked[world], &job->asks_open[world]);
    }
    pthread_mutex_unlock(&job->mutex);
}

/* The first rank that has not answered, -1: all have. */
static int32_t who_is_missing(process_comm *c)
{
    int32_t missing = -1;

    pthread_mutex_lock(&c->job->mutex);
    for (int32_t r = 0; r < c->head.size && missing < 0; r++)
        if (!c->job->is_there[c->world[r]])
            missing = r;
    pthread_mutex_unlock(&c->job->mutex);
    return missing;
}

gnt_status process_ask(gnti_comm *head, double seconds)
{
    gnt_status st = GNT_OK;
    process_comm *c = (process_comm *)head;
    const process_wait w = process_wait_begin("a roll call");
    const struct timespec pause = { 0, 200000 };
    int32_t missing = -1;

    ask_all(c);
    while ((missing = who_is_missing(c)) >= 0 && gnti_clock_seconds() - w.began < seconds) {
        GNT_TRY(process_check_broken(c, &w)); /* takes answers in, and answers others */
        nanosleep(&pause, NULL);
    }
    GNT_CHECK(missing < 0, GNT_ERR_PEER_LOST, "rank %d of %d on host '%s' does not answer, asked for %.1f s",
              (int)missing, (int)head->size, c->job->hosts[c->world[missing]], seconds);
done:
    return st;
}
