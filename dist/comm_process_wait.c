/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting of ranks that are processes. MPI moves data only inside its calls, so a wait is a loop of tests: 20 microseconds
 * without a pause, up to a millisecond giving the core to whoever wants it, then with short sleeps. Once a millisecond it
 * looks for a notice that another rank has ended the job.
 */
#include "dist/comm_process.h"

#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SPIN_SECONDS   20e-6
#define YIELD_SECONDS  1e-3
#define NOTICE_SECONDS 1e-3
#define FLUSH_SECONDS  0.2 /* for notices to leave */

process_wait process_wait_begin(const char *operation)
{
    const double now = gnti_clock_seconds();

    return (process_wait){ operation, now, now };
}

static void sleep_microseconds(long microseconds)
{
    const struct timespec t = { 0, microseconds * 1000 };

    nanosleep(&t, NULL);
}

/* Takes a notice in, if one has come. The mutex is held. */
static void look_for_notice(process_job *job)
{
    bool found = false, done = false;
    int32_t from = -1;
    size_t received = 0;
    gnti_mpi_request r = 0;
    process_notice n = { 0 };

    if (job->broken || job->mpi->probe(PROCESS_NOTICE_TAG, &found, &from) != 0 || !found)
        return;
    if (job->mpi->receive(&n, sizeof n, from, PROCESS_NOTICE_TAG, &r) != 0)
        return;
    while (job->mpi->test(&r, &done, &received) == 0 && !done)
        ; /* it was there, and it is small */
    n.reason[sizeof n.reason - 1] = '\0';
    n.rank = from;
    if (n.kind != PROCESS_ENDS_JOB) {
        process_take_roll_notice(job, &n);
        return;
    }
    job->notice = n;
    job->broken = true;
    job->mpi->set_broken(true);
}

void process_job_break(process_job *job, const char *reason)
{
    const double end = gnti_clock_seconds() + FLUSH_SECONDS;
    int32_t open = 0;

    pthread_mutex_lock(&job->mutex);
    if (job->broken) {
        pthread_mutex_unlock(&job->mutex);
        return;
    }
    job->broken = true;
    job->notice.kind = PROCESS_ENDS_JOB;
    job->notice.rank = job->facts.rank;
    snprintf(job->notice.reason, sizeof job->notice.reason, "%s", reason);
    for (int32_t r = 0; r < job->facts.size; r++)
        if (r != job->facts.rank)
            (void)job->mpi->send(&job->notice, sizeof job->notice, r, PROCESS_NOTICE_TAG, &job->notices[r]);
    do {
        open = 0;
        for (int32_t r = 0; r < job->facts.size; r++) {
            bool done = true;
            size_t received = 0;

            if (r != job->facts.rank && job->mpi->test(&job->notices[r], &done, &received) == 0 && !done)
                open++;
        }
        if (open > 0)
            sleep_microseconds(100);
    } while (open > 0 && gnti_clock_seconds() < end);
    job->mpi->set_broken(false);
    pthread_mutex_unlock(&job->mutex);
}

gnt_status process_check_broken(process_comm *c, const process_wait *w)
{
    gnt_status st = GNT_OK;
    process_job *job = c->job;
    bool broken = false;

    pthread_mutex_lock(&job->mutex);
    look_for_notice(job);
    broken = job->broken; /* the notice does not change any more */
    pthread_mutex_unlock(&job->mutex);
    GNT_CHECK(!broken, GNT_ERR_PEER_LOST,
              "%s: rank %d of %d on host '%s' stops after %.1f s, rank %d on host '%s' ended the job: %s",
              w->operation, (int)c->head.rank, (int)c->head.size, job->hosts[job->facts.rank],
              gnti_clock_seconds() - w->began, (int)job->notice.rank, job->hosts[job->notice.rank],
              job->notice.reason);
done:
    if (st != GNT_OK)
        gnti_comm_abort(&c->head, job->notice.reason);
    return st;
}

gnt_status process_wait_pause(process_comm *c, process_wait *w, int32_t missing)
{
    gnt_status st = GNT_OK;
    const double now = gnti_clock_seconds(), waited = now - w->began;

    if (now >= w->looked + NOTICE_SECONDS) {
        w->looked = now;
        GNT_TRY(process_check_broken(c, w));
    }
    if (waited >= c->head.time_limit)
        GNT_FAIL(GNT_ERR_TIMEOUT,
                 "%s: rank %d of %d on host '%s' did not answer within %.1f s (rank %d waited)", w->operation,
                 (int)missing, (int)c->head.size, c->job->hosts[c->world[missing]], waited,
                 (int)c->head.rank);
    if (waited > YIELD_SECONDS)
        sleep_microseconds(50);
    else if (waited > SPIN_SECONDS)
        sched_yield();
done:
    if (st != GNT_OK)
        gnti_comm_abort(&c->head, gnt_last_error());
    return st;
}

gnt_status process_mpi_error(process_comm *c, const char *operation, int32_t peer, int code)
{
    gnt_status st = GNT_OK;
    char text[GNTI_MPI_ERROR_BYTES];

    c->job->mpi->error_text(code, text);
    GNT_FAIL(GNT_ERR_PEER_LOST, "%s: message between rank %d and rank %d on host '%s' failed: %s", operation,
             (int)c->head.rank, (int)peer, c->job->hosts[c->world[peer]], text);
done:
    gnti_comm_abort(&c->head, gnt_last_error());
    return st;
}
