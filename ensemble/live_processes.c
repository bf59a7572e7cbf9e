/* SPDX-License-Identifier: Apache-2.0 */
/* The driver over MPI processes. Each process is a device; they meet in rounds:
 *
 *   the root (rank 0) forms groups of all members that could train and gives each to a crew of processes: longest first to the crew
 *     that is free earliest, or, where there are fewer groups than processes, more processes to the group with most work each
 *   every crew has a communicator of its own and trains its groups to their ends, one after the other (live_crew.c)
 *   all share what became of every member; the root writes the journal
 * The second round has what waited for members of the first, and what failed in it. Devices do not come or go: MPI has no such thing.
 * A lost process ends all of them within the time limit; the same command resumes with as many as there are then. What every process
 * decides it decides from the same shared numbers.
 */
#include "ensemble/live_processes.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static gnt_status make_round(const gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int32_t members = run->spec->num_members;

    GNT_TRY(gnti_calloc_array(&r->crew_of, run->world->size));
    GNT_TRY(gnti_calloc_array(&r->group_of, members + 1));
    GNT_TRY(gnti_calloc_array(&r->crew_of_group, members + 1));
done:
    return st;
}

static void free_round(gnti_live_round *r)
{
    gnti_free(r->crew_of);
    gnti_free(r->group_of);
    gnti_free(r->crew_of_group);
}

/* Seconds of what is left of a group, by forecast. */
static double work_of(const gnti_live *run, const gnti_fused_group *g)
{
    int64_t epochs = 1;

    for (int32_t i = 0; i < g->num_members; i++)
        epochs = gnti_max_i64(epochs, run->spec->members[g->members[i]].train.epochs - g->epoch);
    return (double)epochs * (g->epoch_seconds > 0.0 ? g->epoch_seconds : 1.0);
}

/* At least as many groups as processes: crews of one, longest group first. */
static gnt_status deal(const gnti_live *run, const double *work, int32_t num, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    double *load = NULL;
    uint8_t *given = NULL;

    GNT_TRY(gnti_calloc_array(&load, run->world->size));
    GNT_TRY(gnti_calloc_array(&given, num));
    for (int32_t p = 0; p < run->world->size; p++)
        r->crew_of[p] = p;
    for (int32_t i = 0; i < num; i++) {
        int32_t longest = -1, free = 0;

        for (int32_t g = 0; g < num; g++)
            if (!given[g] && (longest < 0 || work[g] > work[longest]))
                longest = g;
        for (int32_t p = 1; p < run->world->size; p++)
            free = load[p] < load[free] ? p : free;
        given[longest] = 1;
        load[free] += work[longest];
        r->crew_of_group[longest] = free;
    }
done:
    gnti_free(load);
    gnti_free(given);
    return st;
}

/* Fewer groups than processes: a crew a group. Processes that no group has room for stay idle (crew -1). */
static gnt_status widen(const gnti_live *run, const gnti_fused_group *groups, const double *work, int32_t num,
                        gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    int32_t *wide = NULL, next = 0;

    GNT_TRY(gnti_alloc_array(&wide, num));
    for (int32_t g = 0; g < num; g++)
        wide[g] = 1;
    for (int32_t left = run->world->size - num; left > 0; left--) {
        int32_t most = -1;

        for (int32_t g = 0; g < num; g++)
            if (wide[g] < gnti_live_widest_gang(run, groups[g].members[0]) &&
                (most < 0 || work[g] / wide[g] > work[most] / wide[most]))
                most = g;
        if (most < 0)
            break;
        wide[most]++;
    }
    for (int32_t p = 0; p < run->world->size; p++)
        r->crew_of[p] = -1;
    for (int32_t g = 0; g < num; g++) {
        r->crew_of_group[g] = g;
        for (int32_t i = 0; i < wide[g]; i++)
            r->crew_of[next++] = g;
    }
done:
    gnti_free(wide);
    return st;
}

/* By the root. */
static gnt_status plan(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    gnti_fused_group *groups = NULL;
    double *work = NULL;

    GNT_TRY(gnti_live_form_groups(run, &groups, &r->num_groups));
    GNT_TRY(gnti_alloc_array(&work, r->num_groups + 1));
    for (int32_t m = 0; m < run->spec->num_members; m++)
        r->group_of[m] = -1;
    for (int32_t g = 0; g < r->num_groups; g++) {
        work[g] = work_of(run, &groups[g]);
        for (int32_t i = 0; i < groups[g].num_members; i++)
            r->group_of[groups[g].members[i]] = g;
    }
    if (r->num_groups >= run->world->size)
        GNT_TRY(deal(run, work, r->num_groups, r));
    else
        GNT_TRY(widen(run, groups, work, r->num_groups, r));
done:
    gnti_fused_groups_free(&groups, r->num_groups);
    gnti_free(work);
    return st;
}

static gnt_status share_round(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const size_t members = (size_t)run->spec->num_members * sizeof(int32_t);

    GNT_TRY(gnti_comm_broadcast(run->world, 0, &r->num_groups, sizeof r->num_groups));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, r->crew_of, (size_t)run->world->size * sizeof(int32_t)));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, r->group_of, members));
    GNT_TRY(gnti_comm_broadcast(run->world, 0, r->crew_of_group, members));
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
    GNT_TRY(share_most(run, r->epoch, num, GNT_I64));
    GNT_TRY(share_most(run, r->seconds, num, GNT_F64));
    GNT_TRY(share_most(run, r->status, num, GNT_I32));
    GNT_TRY(share_most(run, r->failure, num * text, GNT_U8));
    GNT_TRY(share_most(run, r->begin, groups, GNT_F64));
    GNT_TRY(share_most(run, r->end, groups, GNT_F64));
    for (int32_t m = 0; m < num; m++)
        if (r->group_of[m] >= 0)
            GNT_TRY(gnti_live_settle(run, r, m));
    for (int32_t g = 0; g < groups; g++)
        GNT_TRY(gnti_live_note_span(run, r, g));
done:
    return st;
}

static gnt_status do_round(gnti_live *run, bool *stop)
{
    gnt_status st = GNT_OK;
    gnti_live_round r = { .first_task = run->num_tasks };
    int32_t wants = 0;

    GNT_TRY(make_round(run, &r));
    st = is_root(run) ? plan(run, &r) : GNT_OK;
    GNT_TRY(share_status(run, st, "form groups"));
    GNT_TRY(share_round(run, &r));
    GNT_TRY(gnti_live_crew_round(run, &r));
    GNT_TRY(share_outcomes(run, &r));
    wants = gnti_live_should_stop(run);
    GNT_TRY(share_most(run, &wants, 1, GNT_I32));
    *stop = wants != 0;
    GNT_CHECK(r.num_groups > 0 || gnti_live_all_done(run), GNT_ERR_INTERNAL,
              "members are left, but none of them can be trained");
done:
    gnti_live_round_clear(&r);
    free_round(&r);
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
    while (!gnti_live_all_done(run) && !stop)
        GNT_TRY(do_round(run, &stop));
done:
    if (st != GNT_OK)
        gnti_comm_abort(run->world, gnt_last_error());
    return st;
}
