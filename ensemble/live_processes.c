/* SPDX-License-Identifier: Apache-2.0 */
/* The driver over MPI processes. Each process is a device; they meet in rounds:
 *
 *   the root (rank 0) forms groups of all members that could train, in the order of the policy, and crews of processes (live_round.c)
 *   every crew has a communicator of its own; it takes a group that nobody has taken, trains it to its end, and takes the next
 *     (live_crew.c). Who finds none ends the round when others have groups that could use it; so does a resize
 *   all share what became of every member; the root writes the journal
 * The next round has what waited for members, what failed and what was left, from checkpoints. A lost process ends all of them; the same
 * command resumes with as many as there are then. What every process decides it decides from the same shared numbers.
 */
#include "ensemble/live_past.h"
#include "ensemble/live_processes.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_root(const gnti_live *run)
{
    return run->world->rank == 0;
}

/* ---- sharing ----------------------------------------------------------------------------------------------------------- */

static gnt_status share_most(const gnti_live *run, void *data, int64_t count, gnt_dtype dtype)
{
    const gnti_all_reduce_args a = { data, count, dtype, GNTI_COMM_MAX };

    return count > 0 ? gnti_comm_all_reduce(run->world, &a) : GNT_OK;
}

/* ERR_PEER_LOST on those that did not fail themselves. */
static gnt_status share_status(const gnti_live *run, gnt_status st, const char *what)
{
    int32_t failed = st != GNT_OK;
    const gnti_error_record first = *gnti_error_get();
    const gnt_status told = share_most(run, &failed, 1, GNT_I32);

    if (st != GNT_OK) {
        (void)gnti_error_adopt(&first);
        return st;
    }
    if (told != GNT_OK)
        return told;
    return failed == 0 ? GNT_OK
                       : gnti_error_set(GNT_ERR_PEER_LOST, __FILE__, __LINE__, __func__,
                                        "another process failed to %s", what);
}

/* What the root knows of members when all begin. */
static gnt_status share_members(gnti_live *run, bool *complete)
{
    gnt_status st = GNT_OK;
    const int32_t num = run->spec->num_members;
    int64_t *rows = NULL;

    GNT_TRY(gnti_calloc_array(&rows, 2 * (int64_t)num + 1));
    rows[2 * num] = *complete;
    for (int32_t m = 0; m < num && is_root(run); m++) {
        rows[2 * m] = run->members[m].outcome;
        rows[2 * m + 1] = run->members[m].epoch;
    }
    GNT_TRY(gnti_comm_broadcast(run->world, 0, rows, (size_t)(2 * num + 1) * sizeof *rows));
    *complete = rows[2 * num] != 0;
    for (int32_t m = 0; m < num; m++) {
        run->members[m].outcome = (gnti_live_outcome)rows[2 * m];
        run->members[m].epoch = rows[2 * m + 1];
    }
done:
    gnti_free(rows);
    return st;
}

gnt_status gnti_live_open_processes(gnti_live *run, bool *complete)
{
    gnt_status st = GNT_OK;

    run->world->time_limit = run->config->wait_limit > 0.0 ? run->config->wait_limit : GNTI_COMM_TIME_LIMIT;
    st = is_root(run) ? gnti_live_open(run, complete) : GNT_OK; /* it has the folder's lock and the journal */
    GNT_TRY(share_status(run, st, "open the run folder"));
    if (!is_root(run))
        st = gnti_live_open_beside(run);
    GNT_TRY(share_status(run, st, "open the run folder"));
    GNT_TRY(share_members(run, complete));
done:
    return st;
}

/* ---- a round ------------------------------------------------------------------------------------------------------------- */

static gnt_status share_round(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const size_t members = (size_t)run->spec->num_members * sizeof(int32_t);

    GNT_TRY(gnti_comm_broadcast(run->world, 0, &r->num_groups, sizeof r->num_groups));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, r->crew_of, (size_t)run->world->size * sizeof(int32_t)));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, r->group_of, members));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, &r->divides, sizeof r->divides));
done:
    return st;
}

/* What became of the members of this round, on every process; the root writes it down. */
static gnt_status share_outcomes(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int32_t num = run->spec->num_members, groups = r->num_groups;
    const int64_t text = GNTI_LIVE_TEXT_BYTES;

    GNT_TRY(share_most(run, r->fate, num, GNT_I32));
    GNT_TRY(share_most(run, r->crew_of_group, groups, GNT_I32));
    GNT_TRY(share_most(run, r->epoch, num, GNT_I64));
    GNT_TRY(share_most(run, r->seconds, num, GNT_F64));
    GNT_TRY(share_most(run, r->status, num, GNT_I32));
    GNT_TRY(share_most(run, r->failure, num * text, GNT_U8));
    GNT_TRY(share_most(run, r->begin, groups, GNT_F64));
    GNT_TRY(share_most(run, r->end, groups, GNT_F64));
    for (int32_t g = 0; g < groups; g++)
        if (r->crew_of_group[g] > 0)
            GNT_TRY(gnti_live_note_span(run, r, g));
    for (int32_t m = 0; m < num; m++) {
        run->members[m].in_task = false;
        if (r->group_of[m] >= 0 && r->crew_of_group[r->group_of[m]] > 0)
            GNT_TRY(gnti_live_settle(run, r, m));
    }
done:
    return st;
}

/* Until all crews are done, for as long as they train; the root looks after requests meanwhile. */
static gnt_status wait_for_crews(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const double limit = run->world->time_limit;
    const struct timespec moment = { 0, 20000000 };
    int32_t here = 1;

    while (is_root(run) && !gnti_live_crews_are_done(run, r)) {
        GNT_TRY(gnti_live_round_look(run, r));
        nanosleep(&moment, NULL);
    }
    run->world->time_limit = INFINITY; /* a process that is lost is told by whoever started it */
    st = share_most(run, &here, 1, GNT_I32);
    run->world->time_limit = limit;
done:
    return st;
}

static gnt_status do_round(gnti_live *run, bool *stop)
{
    gnt_status st = GNT_OK;
    gnti_live_round r = { .first_task = run->num_tasks, .began_at = gnti_live_now(run) };
    int32_t wants = 0;

    GNT_TRY(gnti_live_round_make(run, &r));
    st = is_root(run) ? gnti_live_round_plan(run, &r) : GNT_OK;
    GNT_TRY(share_status(run, st, "form groups"));
    GNT_TRY(share_round(run, &r));
    GNT_TRY(gnti_live_crew_round(run, &r));
    GNT_TRY(wait_for_crews(run, &r));
    GNT_TRY(share_outcomes(run, &r));
    if (is_root(run))
        GNT_TRY(gnti_live_clear_marks(run));
    wants = gnti_live_should_stop(run);
    GNT_TRY(share_most(run, &wants, 1, GNT_I32));
    *stop = wants != 0;
    GNT_CHECK(r.num_groups > 0 || gnti_live_all_done(run), GNT_ERR_INTERNAL,
              "members are left, but none of them can be trained");
done:
    gnti_live_round_free(&r);
    return st;
}

gnt_status gnti_live_drive_processes(gnti_live *run)
{
    gnt_status st = GNT_OK;
    bool stop = false;

    GNT_CHECK(run->config->devices == NULL ||
                  strcspn(run->config->devices, ";") == strlen(run->config->devices),
              GNT_ERR_USAGE,
              "--devices '%s' names several devices, but each of %d processes is one: name one or none",
              run->config->devices, (int)run->world->size);
    GNT_TRY(gnti_live_devices_are_processes(run));
    GNT_TRY(gnti_calloc_array(&run->tries, run->spec->num_members + 1));
    run->num_working = run->world->size;
    if (!gnti_live_all_done(run))
        GNT_TRY(gnti_live_note_process(run));
    st = is_root(run) ? gnti_live_clear_marks(run) : GNT_OK;
    GNT_TRY(share_status(run, st, "clear the run folder"));
    while (!gnti_live_all_done(run) && !stop)
        GNT_TRY(do_round(run, &stop));
done:
    if (st != GNT_OK)
        gnti_comm_abort(run->world, gnt_last_error());
    return st;
}
