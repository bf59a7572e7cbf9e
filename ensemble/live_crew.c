/* SPDX-License-Identifier: Apache-2.0 */
/* A process in a round: its crew's communicator stands for the processes of the context while it trains the crew's groups, so trainers
 * see ranks of that crew alone. The first of a crew writes members' files; a crew of one process keeps failures of a group to itself,
 * in a larger one a failure that is not a member's ends the run as a lost rank does.
 */
#include "ensemble/live_past.h"
#include "ensemble/live_processes.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/team.h"

#include <stdio.h>
#include <string.h>

/* ---- what is filled -------------------------------------------------------------------------------------------------------- */

static gnt_status make_room(const gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int64_t members = run->spec->num_members;

    GNT_TRY(gnti_calloc_array(&r->fate, members + 1));
    GNT_TRY(gnti_calloc_array(&r->epoch, members + 1));
    GNT_TRY(gnti_calloc_array(&r->seconds, members + 1));
    GNT_TRY(gnti_calloc_array(&r->status, members + 1));
    GNT_TRY(gnti_calloc_array(&r->failure, members * GNTI_LIVE_TEXT_BYTES + 1));
    r->looked_at = gnti_clock_seconds();
    GNT_TRY(gnti_calloc_array(&r->begin, r->num_groups + 1));
    GNT_TRY(gnti_calloc_array(&r->end, r->num_groups + 1));
done:
    return st;
}

void gnti_live_round_clear(gnti_live_round *r)
{
    gnti_free(r->fate);
    gnti_free(r->epoch);
    gnti_free(r->seconds);
    gnti_free(r->status);
    gnti_free(r->failure);
    gnti_free(r->begin);
    gnti_free(r->end);
}

static void note_failure(gnti_live_round *r, int32_t m, gnt_status status, const char *text)
{
    char *to = r->failure + (int64_t)m * GNTI_LIVE_TEXT_BYTES;

    r->fate[m] = GNTI_LIVE_FATE_FAILED;
    r->status[m] = -(int32_t)status;
    memset(to, 0, GNTI_LIVE_TEXT_BYTES);
    memcpy(to, text, strnlen(text, GNTI_LIVE_TEXT_BYTES - 1));
}

/* ---- meanwhile ----------------------------------------------------------------------------------------------------------------- */

/* Ranks that are idle end a round after so many seconds when other groups could use them. */
static const double WORTH_WHILE = 10.0;

gnt_status gnti_live_round_look(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const bool rotates =
        run->spec->policy == GNTI_POLICY_MAX_MIN || run->spec->policy == GNTI_POLICY_LEAST_SERVICE;
    const int32_t working = run->num_working;

    if (run->world->rank != 0)
        return GNT_OK;
    GNT_TRY(gnti_live_take_requests(run));
    if (run->num_working != working)
        GNT_TRY(gnti_live_end_round(run, r));
    if (rotates && !r->over && r->num_groups > working &&
        gnti_live_now(run) - r->began_at > run->spec->round_seconds)
        GNT_TRY(gnti_live_end_round(run, r));
    GNT_TRY(gnti_live_show(run, false));
done:
    return st;
}

/* ---- a group ---------------------------------------------------------------------------------------------------------------- */

/* All of a crew stop after the same epoch. */
static gnt_status agree(const gnti_live *run, gnti_live_round *r, bool *stop)
{
    int32_t wants = gnti_live_should_stop(run) || gnti_live_round_is_over(run, r);
    const gnti_all_reduce_args a = { &wants, 1, GNT_I32, GNTI_COMM_MAX };
    const gnt_status st = run->crew->size > 1 ? gnti_comm_all_reduce(run->crew, &a) : GNT_OK;

    *stop = wants != 0;
    return st;
}

static gnt_status begin(gnti_live_task *t, bool *uneven)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = NULL;

    GNT_TRY(gnti_live_task_make(t, t->members, t->num_members, NULL, 0, &tr));
    GNT_TRY(gnti_live_task_begin(t, tr, uneven));
    tr = NULL;
done:
    gnt_trainer_free(&tr);
    return st;
}

/* To its end, to a stop, or to a failure, which is told in `failed` and is nobody else's. */
static gnt_status train(gnti_live_task *t, gnti_live_round *r, gnti_error_record *failed)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    gnti_live_report report = { 0 };
    bool uneven = false, stop = false;

    st = begin(t, &uneven);
    while (st == GNT_OK && !uneven && !stop && !report.over) {
        gnti_live_report_clear(&report);
        st = gnti_live_task_train(t, &report);
        if (st == GNT_OK && report.status != GNT_OK) {
            *failed = report.error;
            break;
        }
        if (st == GNT_OK)
            st = gnti_live_task_follow(t, &report);
        for (int32_t i = 0; i < report.num_failed; i++)
            note_failure(r, report.failed[i], GNT_ERR_NUMERIC, run->members[report.failed[i]].failure);
        if (st == GNT_OK)
            st = agree(run, r, &stop);
        gnti_live_task_seen(t);
        if (st == GNT_OK)
            st = gnti_live_round_look(run, r);
    }
    if (st == GNT_OK && stop && !report.over && failed->code == GNT_OK)
        st = gnti_live_task_save(t);
    if (st == GNT_ERR_NOMEM ||
        st == GNT_ERR_DEVICE_NOMEM) { /* a trainer that does not fit: as one that fails */
        *failed = *gnti_error_get();
        st = GNT_OK;
    }
    gnti_live_report_clear(&report);
    return st;
}

static gnt_status run_group(gnti_live *run, gnti_live_round *r, int32_t group)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = run->tasks[r->first_task + group];
    gnti_error_record failed = { .code = GNT_OK };
    double *before = NULL;

    r->begin[group] = gnti_live_now(run);
    GNT_TRY(gnti_alloc_array(&before, run->spec->num_members));
    for (int32_t m = 0; m < run->spec->num_members; m++)
        before[m] = run->members[m].seconds;
    GNT_TRY(train(t, r, &failed));
    if (failed.code != GNT_OK && run->crew->size > 1)
        GNT_TRY(gnti_error_adopt(&failed));
    for (int32_t i = 0; i < t->num_at_start; i++) {
        const int32_t m = t->members_at_start[i];
        const gnti_live_member *member = &run->members[m];

        if (member->outcome == GNTI_LIVE_ENDED)
            r->fate[m] = strcmp(member->how, "ended") == 0 ? GNTI_LIVE_FATE_ENDED : GNTI_LIVE_FATE_EARLY;
        else if (failed.code != GNT_OK && r->fate[m] == GNTI_LIVE_FATE_LEFT)
            note_failure(r, m, failed.code, failed.text);
        r->epoch[m] = member->epoch;
        r->seconds[m] = member->seconds - before[m];
    }
done:
    gnti_live_task_drop(t);
    gnt_model_free(&t->model);
    gnti_free(before);
    r->end[group] = gnti_live_now(run);
    return st;
}

/* ---- a round ------------------------------------------------------------------------------------------------------------------ */

/* Tasks of all groups, the same numbers on every process; who has them is seen later. */
static gnt_status make_tasks(gnti_live *run, const gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int32_t num = run->spec->num_members;
    gnti_fused_group g = { 0 };

    GNT_TRY(gnti_alloc_array(&g.members, num + 1));
    for (int32_t group = 0; group < r->num_groups; group++) {
        gnti_live_task *t = NULL;

        g.num_members = 0;
        for (int32_t m = 0; m < num; m++)
            if (r->group_of[m] == group)
                g.members[g.num_members++] = m;
        g.epoch = run->members[g.members[0]].epoch;
        GNT_TRY(gnti_live_add_task(run, &g, &t));
    }
done:
    gnti_free(g.members);
    return st;
}

/* The next group that nobody has taken, -1: none is left. The first of the crew takes it for all. */
static gnt_status next_group(gnti_live *run, gnti_live_round *r, int32_t *group)
{
    gnt_status st = GNT_OK;
    bool taken = false;
    int32_t at = *group + 1;

    for (; run->crew->rank == 0 && at < r->num_groups && !taken; at += taken ? 0 : 1)
        if ((st = gnti_live_take_group(run, r, at, &taken)) != GNT_OK)
            break;
    GNT_TRY(st);
    if (run->crew->rank == 0 && (!taken || gnti_live_should_stop(run) || gnti_live_round_is_over(run, r)))
        at = -1;
    if (run->crew->size > 1)
        GNT_TRY(gnti_comm_broadcast(run->crew, 0, &at, sizeof at));
    *group = at;
done:
    return st;
}

/* With several processes a crew the crew's number is its group's. */
static gnt_status work(gnti_live *run, gnti_live_round *r, int32_t mine)
{
    gnt_status st = GNT_OK;
    int32_t group = -1;

    do {
        GNT_TRY(next_group(run, r, &group));
        if (group < 0)
            break;
        r->crew_of_group[group] = mine + 1;
        GNT_TRY(run_group(run, r, group));
    } while (true);
    if (run->crew->rank == 0) {
        GNT_TRY(gnti_live_crew_is_done(run, r, mine));
        if (r->divides && !gnti_live_should_stop(run) && gnti_live_now(run) - r->began_at > WORTH_WHILE &&
            !gnti_live_crews_are_done(run, r))
            GNT_TRY(gnti_live_end_round(run, r));
    }
done:
    return st;
}

gnt_status gnti_live_crew_round(gnti_live *run, gnti_live_round *r)
{
    gnt_status st = GNT_OK;
    const int32_t mine = r->crew_of[run->world->rank];
    gnti_comm *all = NULL;

    GNT_TRY(make_room(run, r));
    GNT_TRY(make_tasks(run, r));
    GNT_TRY(gnti_comm_split(run->world, mine, run->world->rank, &run->crew));
    if (run->crew == NULL)
        return GNT_OK;
    run->crew->time_limit = run->world->time_limit;
    all = gnti_context_swap_processes(run->ctx, run->crew->size > 1 ? run->crew : NULL);
    st = work(run, r, mine);
    (void)gnti_context_swap_processes(run->ctx, all);
done:
    gnti_comm_free(&run->crew);
    return st;
}

/* ---- afterwards ----------------------------------------------------------------------------------------------------------------- */

static gnt_status note_end(gnti_live *run, const gnti_live_round *r, int32_t m)
{
    gnti_live_member *member = &run->members[m];

    member->outcome = GNTI_LIVE_ENDED;
    member->how = r->fate[m] == GNTI_LIVE_FATE_ENDED ? "ended" : "stopped early";
    member->epochs_trained = r->epoch[m];
    return gnti_live_note_end(run, m, r->first_task + r->group_of[m]);
}

gnt_status gnti_live_settle(gnti_live *run, const gnti_live_round *r, int32_t m)
{
    gnt_status st = GNT_OK;
    gnti_live_member *member = &run->members[m];
    const char *text = r->failure + (int64_t)m * GNTI_LIVE_TEXT_BYTES;
    const bool was_mine = r->crew_of_group[r->group_of[m]] == r->crew_of[run->world->rank] + 1;

    member->in_task = false;
    member->epoch = gnti_max_i64(member->epoch, r->epoch[m]);
    if (!was_mine)
        member->seconds += r->seconds[m];
    if (r->fate[m] == GNTI_LIVE_FATE_ENDED || r->fate[m] == GNTI_LIVE_FATE_EARLY)
        return note_end(run, r, m);
    if (r->fate[m] != GNTI_LIVE_FATE_FAILED)
        return GNT_OK;
    GNT_TRY(gnti_live_note_failure(run, m, (gnt_status)-r->status[m], text));
    if (member->alone)
        run->tries[m]++;
    member->alone = true;
    if (run->tries[m] > run->spec->retries)
        GNT_TRY(gnti_live_member_give_up(run, m, member->status, text));
done:
    return st;
}

gnt_status gnti_live_note_span(gnti_live *run, const gnti_live_round *r, int32_t group)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = run->tasks[r->first_task + group];
    gnti_manager_facts *f = &run->facts;
    double idle, busy;

    GNT_TRY(gnti_alloc_array(&t->devices, run->world->size));
    t->capacity = run->world->size;
    for (int32_t p = 0; p < run->world->size; p++)
        if (r->crew_of[p] == r->crew_of_group[group] - 1)
            t->devices[t->num_devices++] = p;
    t->num_members = t->num_at_start; /* those that ended have left it */
    memcpy(t->members, t->members_at_start, (size_t)t->num_at_start * sizeof *t->members);
    t->epoch = t->first_epoch; /* the line tells of the begin */
    GNT_TRY(gnti_live_note_place(t, r->begin[group]));
    for (int32_t i = 0; i < t->num_devices; i++) {
        const gnti_span span = { t->id, t->devices[i], r->begin[group], r->end[group], 1.0 };

        GNT_TRY(gnti_live_note_span_line(run, &span));
        f->busy_speed_seconds += r->end[group] - r->begin[group];
    }
    f->mean_completion =
        (f->mean_completion * (double)f->num_ended + r->end[group]) / (double)(f->num_ended + 1);
    f->num_tasks++;
    f->num_ended++;
    f->makespan = r->end[group] > f->makespan ? r->end[group] : f->makespan;
    f->present_speed_seconds = f->makespan * run->world->size;
    f->lower_bound = f->busy_speed_seconds / run->world->size;
    gnti_pool_power(&run->specs[0], &idle, &busy);
    f->joules = idle * f->present_speed_seconds + (busy - idle) * f->busy_speed_seconds;
    run->tasks[r->first_task + group]->over = true;
done:
    return st;
}

gnt_status gnti_live_devices_are_processes(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *spec = NULL;
    int32_t num = 0;

    GNT_TRY(gnti_device_specs_parse(run->config->devices, &spec, &num));
    if (spec->threads == 0)
        GNT_TRY(gnti_team_threads(0, gnti_context_launch(run->ctx)->local_size, &spec->threads));
    GNT_TRY(gnti_calloc_array(&run->devices, run->world->size));
    GNT_TRY(gnti_calloc_array(&run->specs, run->world->size));
    for (int32_t p = 0; p < run->world->size; p++) {
        gnti_live_device *d = &run->devices[p];

        run->specs[p] = *spec; /* each process has such a device: its memory and its watts */

        *d = (gnti_live_device){ .present = true, .speed = 1.0 };
        snprintf(d->name, sizeof d->name, "process %d", (int)p);
    }
    run->num_devices = run->world->size;
    run->num_types = 1;
done:
    gnti_free(spec);
    return st;
}
