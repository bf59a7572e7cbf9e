/* SPDX-License-Identifier: Apache-2.0 */
/* Members that nobody trains become groups (fusion.h), groups become tasks of the manager.
 *
 * What a task holds of a device all the time (graph where that is copied there, weights, moments) lasts for planners; the memory of its
 * steps it has in common with all others there, who take turns (lanes.h).
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

gnti_live_task *gnti_live_find(const gnti_live *run, int64_t id)
{
    return id >= 0 && id < run->num_tasks ? run->tasks[id] : NULL;
}

void gnti_live_task_free(gnti_live_task **task)
{
    gnti_live_task *t = task != NULL ? *task : NULL;

    if (t == NULL)
        return;
    *task = NULL;
    gnt_trainer_free(&t->next);
    gnti_live_task_drop(t);
    gnt_model_free(&t->model);
    gnti_live_report_clear(&t->report);
    gnti_free(t->members);
    gnti_free(t->done);
    gnti_free(t->members_at_start);
    gnti_free(t->next_members);
    gnti_free(t->next_devices);
    gnti_free(t->order.devices);
    gnti_free(t->order.shares);
    gnti_free(t->devices);
    gnti_free(t);
}

void gnti_live_dissolve(gnti_live_task *t)
{
    if (t->over)
        return;
    t->over = true;
    for (int32_t i = 0; i < t->num_members; i++)
        t->run->members[t->members[i]].in_task = false;
    for (int32_t i = 0; i < t->num_devices; i++)
        gnti_lanes_part(t->run->devices[t->devices[i]].lanes, t->id);
}

/* One that waits for others is trained when they have ended; when one of them has failed it never will be. */
static gnt_status may_begin(gnti_live *run, int32_t m, bool *out)
{
    gnt_status st = GNT_OK;
    const gnti_member_range before = gnti_method_waits_for(run->spec, m);

    *out = true;
    for (int32_t b = before.first; b < before.first + before.num; b++) {
        *out = *out && run->members[b].outcome == GNTI_LIVE_ENDED;
        if (run->members[b].outcome != GNTI_LIVE_FAILED)
            continue;
        GNT_TRY(gnti_live_member_give_up(run, m, run->members[b].status,
                                         "the member that it builds on has failed"));
        break;
    }
done:
    return st;
}

bool gnti_live_all_done(const gnti_live *run)
{
    for (int32_t m = 0; m < run->spec->num_members; m++)
        if (run->members[m].outcome == GNTI_LIVE_PENDING)
            return false;
    return true;
}

/* ---- groups ------------------------------------------------------------------------------------------------------------ */

typedef struct choice {
    uint8_t *pending; /* (members) */
    int64_t *epochs, *capacity;
    double *speeds;
    int32_t num_devices, num;
} choice;

static void free_choice(choice *c)
{
    gnti_free(c->pending);
    gnti_free(c->epochs);
    gnti_free(c->capacity);
    gnti_free(c->speeds);
}

/* The devices that there are; all that there were, with all that they were said to hold, when members fit none of these: they wait
 * for one to come back. */
static void list_devices(const gnti_live *run, bool all, choice *c)
{
    c->num_devices = 0;
    for (int32_t d = 0; d < run->num_devices; d++)
        if (all || run->devices[d].present) {
            c->capacity[c->num_devices] = all ? run->devices[d].told_bytes : run->devices[d].bytes;
            c->speeds[c->num_devices++] = run->devices[d].speed;
        }
}

/* Who is to be grouped, for which devices. alone: those that failed among others, or all others. */
static gnt_status choose(gnti_live *run, const uint8_t *only, bool alone, choice *c)
{
    gnt_status st = GNT_OK;
    const int32_t num = run->spec->num_members;

    GNT_TRY(gnti_calloc_array(&c->pending, num + 1));
    GNT_TRY(gnti_calloc_array(&c->epochs, num + 1));
    GNT_TRY(gnti_calloc_array(&c->capacity, run->num_devices + 1));
    GNT_TRY(gnti_calloc_array(&c->speeds, run->num_devices + 1));
    for (int32_t m = 0; m < num; m++) {
        gnti_live_member *member = &run->members[m];
        bool ready = false;

        c->epochs[m] = member->epoch;
        if (member->outcome != GNTI_LIVE_PENDING || member->in_task || member->alone != alone ||
            (only != NULL && !only[m]))
            continue;
        GNT_TRY(may_begin(run, m, &ready));
        c->pending[m] = ready;
        c->num += ready;
    }
    list_devices(run, false, c);
    if (c->num_devices == 0)
        list_devices(run, true, c);
done:
    return st;
}

static gnt_status make_task(gnti_live *run, const gnti_fused_group *g, gnti_live_task **out)
{
    gnt_status st = GNT_OK;
    gnti_live_task *t = NULL;

    GNT_TRY(gnti_calloc_array(&t, 1));
    t->run = run;
    t->id = run->num_tasks;
    GNT_TRY(gnti_alloc_array(&t->members, g->num_members));
    GNT_TRY(gnti_calloc_array(&t->done, g->num_members));
    GNT_TRY(gnti_alloc_array(&t->next_members, g->num_members));
    memcpy(t->members, g->members, (size_t)g->num_members * sizeof *t->members);
    GNT_TRY(gnti_alloc_array(&t->members_at_start, g->num_members));
    memcpy(t->members_at_start, g->members, (size_t)g->num_members * sizeof *t->members);
    t->num_members = t->num_at_start = g->num_members;
    t->view = run->view_of[g->members[0]];
    t->epoch = t->first_epoch = g->epoch;
    for (int32_t i = 0; i < g->num_members; i++) {
        t->epochs = gnti_max_i64(t->epochs, run->spec->members[g->members[i]].train.epochs);
        run->members[g->members[i]].in_task = true;
    }
    gnti_live_task_seen(t);
    *out = t;
    t = NULL;
done:
    gnti_live_task_free(&t);
    return st;
}

/* As gnt_trainer_resize. */
int32_t gnti_live_widest_gang(const gnti_live *run, int32_t member)
{
    const gnt_trainer_config *c = &run->spec->members[member].train;
    const bool cut = run->config->partition != NULL && run->config->partition[0] != 0;

    if (c->source != GNTI_SOURCE_WORD_FULL || run->views[run->view_of[member]].what.seed != 0)
        return 1;
    if (!cut && (gnti_context_determinism(run->ctx) == GNTI_DET_BITWISE || c->chunks < 2))
        return 1;
    return cut ? GNTI_LIVE_MAX_DEVICES : (int32_t)c->chunks;
}

/* What tasks with the same number have once on a device: graph and features of a view in host memory, which devices read in place. Others
 * have copies, each trainer its own. */
static int32_t shared_data(const gnti_live *run, const gnti_live_task *t)
{
    for (int32_t d = 0; d < run->num_devices; d++) {
        const gnt_backend *backend = NULL;

        if (gnti_backend_find(run->specs[d].backend, &backend) == GNT_OK && !backend->in_host_memory)
            return run->num_views + (int32_t)t->id;
    }
    return t->view;
}

static gnt_status tell_manager(gnti_live *run, const gnti_fused_group *g, gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    double *seconds = NULL;
    int64_t bytes = 0;
    gnti_place_task task = { .id = t->id,
                             .weight = 1.0,
                             .epochs_left = (double)gnti_max_i64(t->epochs - t->epoch, 1),
                             .serial = GNTI_GANG_SERIAL,
                             .overhead = GNTI_GANG_OVERHEAD,
                             .max_devices = gnti_live_widest_gang(run, t->members[0]),
                             .shared_bytes = g->shared_bytes,
                             .lasting_bytes = g->lasting_bytes,
                             .scratch_bytes = g->scratch_bytes,
                             .data = shared_data(run, t),
                             .foreground = run->spec->members[t->members[0]].foreground };

    GNT_TRY(gnti_calloc_array(&seconds, run->num_types));
    GNT_TRY(gnti_live_forecast(run, g, seconds, &bytes));
    task.seconds = seconds;
    if (bytes > 0) /* measured, steps included */
        task.lasting_bytes = gnti_max_i64(bytes - g->scratch_bytes, 0);
    GNT_TRY(gnti_live_event(
        run, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = t->id, .new_task = &task }));
done:
    gnti_free(seconds);
    return st;
}

static gnt_status group(const gnti_live *run, choice *c, int32_t most, gnti_fused_group **groups,
                        int32_t *num)
{
    gnt_status st;
    gnti_grouping g = { .spec = run->spec,
                        .epochs = c->epochs,
                        .pending = c->pending,
                        .speeds = c->speeds,
                        .capacity = c->capacity,
                        .num_devices = c->num_devices,
                        .max_members = most };

    if (c->num == 0)
        return GNT_OK;
    st = gnti_fused_groups_form(&g, run->data, groups, num);
    if (st == GNT_ERR_NOMEM && run->num_tasks > 0) {
        list_devices(run, true, c);
        g.num_devices = c->num_devices;
        st = gnti_fused_groups_form(&g, run->data, groups, num);
    }
    return st;
}

gnt_status gnti_live_add_task(gnti_live *run, const gnti_fused_group *g, gnti_live_task **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&run->tasks, &run->tasks_capacity, run->num_tasks + 1));
    GNT_TRY(make_task(run, g, out));
    run->tasks[run->num_tasks++] = *out;
done:
    return st;
}

/* Groups of those chosen; each becomes a task. */
static gnt_status form(gnti_live *run, choice *c, int32_t most)
{
    gnt_status st = GNT_OK;
    gnti_fused_group *groups = NULL;
    int32_t num = 0;

    GNT_TRY(group(run, c, most, &groups, &num));
    for (int32_t i = 0; i < num; i++) {
        gnti_live_task *t = NULL;

        GNT_TRY(gnti_live_add_task(run, &groups[i], &t));
        GNT_TRY(tell_manager(run, &groups[i], t));
    }
done:
    gnti_fused_groups_free(&groups, num);
    return st;
}

gnt_status gnti_live_arrive(gnti_live *run, const uint8_t *only, int32_t most)
{
    gnt_status st = GNT_OK;
    choice others = { 0 }, alone = { 0 };

    GNT_TRY(choose(run, only, false, &others));
    GNT_TRY(form(run, &others, most));
    GNT_TRY(choose(run, only, true, &alone));
    GNT_TRY(form(run, &alone, 1));
done:
    free_choice(&others);
    free_choice(&alone);
    return st;
}

gnt_status gnti_live_form_groups(gnti_live *run, gnti_fused_group **groups, int32_t *num)
{
    gnt_status st = GNT_OK;
    choice others = { 0 }, alone = { 0 };
    gnti_fused_group *more = NULL;
    int32_t num_more = 0;

    *num = 0;
    GNT_TRY(choose(run, NULL, false, &others));
    GNT_TRY(group(run, &others, 0, groups, num));
    GNT_TRY(choose(run, NULL, true, &alone));
    GNT_TRY(group(run, &alone, 1, &more, &num_more));
    if (num_more > 0) {
        GNT_TRY(gnti_realloc_array(groups, *num + num_more));
        memcpy(*groups + *num, more, (size_t)num_more * sizeof *more);
        *num += num_more;
        gnti_free(more); /* what its groups own was handed over */
        more = NULL;
    }
done:
    gnti_fused_groups_free(&more, num_more);
    free_choice(&others);
    free_choice(&alone);
    return st;
}
