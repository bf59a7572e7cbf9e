/* SPDX-License-Identifier: Apache-2.0 */
/* The driver on a virtual clock: real training in one thread, in the order of virtual time, so that the same spec gives the same
 * schedule, byte for byte.
 *
 * An epoch is computed when it begins and reported when it ends, `seconds` of the devices' clocks later; its steps have an equal part
 * of these each, during which its devices are taken. Tasks that share a device ask for their turns before each step (lanes.h). Moves take place at ends of epochs; making a trainer costs nothing
 * here, handing states over what they take on the links of the devices (bandwidth, where they have one).
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

/* ---- orders ---------------------------------------------------------------------------------------------------------------- */

static gnt_status start_anew(gnti_live_task *t, bool *uneven)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = NULL;

    GNT_TRY(gnti_live_task_make(t, t->members, t->num_members, t->order.devices, t->order.num_devices, &tr));
    GNT_TRY(gnti_live_task_begin(t, tr, uneven));
    tr = NULL;
done:
    gnt_trainer_free(&tr);
    return st;
}

/* Outside of the lock. Beside the old trainer where there is room for both, as the driver on wall time does. */
static gnt_status change_place(gnti_live_task *t, bool *uneven)
{
    gnt_status st = GNT_OK;
    gnt_trainer *next = NULL;

    if (t->order.hold)
        return t->trainer != NULL ? gnti_live_task_hold(t) : GNT_OK;
    if (t->trainer == NULL)
        return start_anew(t, uneven);
    t->num_next = gnti_live_task_live(t, t->next_members);
    if (gnti_live_task_make(t, t->next_members, t->num_next, t->order.devices, t->order.num_devices, &next) ==
        GNT_OK) {
        GNT_TRY(gnti_live_task_move(t, next, t->next_members, t->num_next));
        next = NULL;
        return GNT_OK;
    }
    GNT_TRY(gnti_live_task_hold(t));
    GNT_TRY(start_anew(t, uneven));
done:
    gnt_trainer_free(&next);
    return st;
}

static gnt_status carry_out(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    bool uneven = false;
    gnti_error_record error;

    pthread_mutex_unlock(&run->lock);
    st = change_place(t, &uneven);
    error = *gnti_error_get();
    if (st != GNT_OK)
        gnti_live_task_drop(t);
    pthread_mutex_lock(&run->lock);
    if (st != GNT_OK) {
        const gnt_status failure = st;

        if (failure == GNT_ERR_DEVICE_LOST || failure == GNT_ERR_DEVICE_NOMEM)
            GNT_TRY(gnti_live_task_sit(t));
        t->order.pending = false;
        return gnti_live_task_failed(t, failure, error.text);
    }
    GNT_TRY(gnti_live_task_sit(t));
    GNT_TRY(gnti_live_event(
        run, (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED, .task = t->id, .generation = t->generation }));
    if (uneven)
        GNT_TRY(gnti_live_task_uneven(t));
    t->asked_at = run->now;
done:
    return st;
}

/* ---- epochs ---------------------------------------------------------------------------------------------------------------- */

/* It is its turn on all of its devices now. */
static bool may_begin(gnti_live_task *t)
{
    bool may = true;

    for (int32_t i = 0; i < t->num_devices; i++) {
        gnti_live_device *d = &t->run->devices[t->devices[i]];

        gnti_lanes_ask(d->lanes, t->id, t->run->now);
        may = gnti_lanes_may(d->lanes, t->id, t->run->now) && may;
    }
    return may;
}

static void begin_step(gnti_live_task *t)
{
    for (int32_t i = 0; i < t->num_devices; i++)
        gnti_lanes_begin(t->run->devices[t->devices[i]].lanes, t->id, t->run->now);
    t->in_step = true;
    t->ends_at = t->run->now + t->step_seconds;
}

static gnt_status begin_epoch(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;

    pthread_mutex_unlock(&run->lock);
    st = gnti_live_task_train(t, &t->report);
    if (st == GNT_OK)
        st = gnti_live_task_follow(t, &t->report);
    if (st == GNT_OK && (t->report.status != GNT_OK || t->report.over))
        gnti_live_task_drop(t);
    pthread_mutex_lock(&run->lock);
    t->in_epoch = true;
    t->steps_left = gnti_max_i64(t->report.num_steps, 1);
    t->step_seconds = t->report.seconds / (double)t->steps_left;
    begin_step(t);
    return st;
}

static gnt_status end_epoch(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;

    t->in_epoch = false;
    t->report.shared = run->now - t->asked_at > 1.0001 * t->report.seconds;
    t->report.seconds = run->now - t->asked_at; /* its turns included */
    t->asked_at = run->now;
    GNT_TRY(gnti_live_take_report(t, &t->report));
done:
    gnti_live_report_clear(&t->report);
    return st;
}

static gnt_status end_step(gnti_live_task *t)
{
    for (int32_t i = 0; i < t->num_devices; i++)
        gnti_lanes_end(t->run->devices[t->devices[i]].lanes, t->id, t->run->now);
    t->in_step = false;
    return --t->steps_left == 0 ? end_epoch(t) : GNT_OK;
}

/* ---- time ------------------------------------------------------------------------------------------------------------------- */

/* All that can happen now, in the order of tasks, until nothing does. */
static gnt_status do_present(gnti_live *run)
{
    gnt_status st = GNT_OK;
    bool again = true;

    while (again) {
        gnti_action action;

        again = false;
        while (gnti_manager_next(run->manager, &action)) {
            GNT_TRY(gnti_live_take_action(run, &action));
            again = true;
        }
        GNT_TRY(gnti_manager_status(run->manager));
        for (int64_t i = 0; i < run->num_tasks; i++) {
            gnti_live_task *t = run->tasks[i];

            if (t->lost && !t->in_epoch) {
                gnti_live_task_drop(t);
                gnti_live_task_stand(t);
                t->lost = false;
                again = true;
            } else if (!t->over && !t->in_epoch && t->order.pending) {
                GNT_TRY(carry_out(t));
                again = true;
            }
        }
    }
    for (int64_t i = 0; i < run->num_tasks; i++) {
        gnti_live_task *t = run->tasks[i];

        if (t->in_epoch && !t->in_step && may_begin(t))
            begin_step(t);
        else if (!t->over && !t->in_epoch && !t->lost && t->trainer != NULL && may_begin(t))
            GNT_TRY(begin_epoch(t));
    }
done:
    return st;
}

/* When something happens next, INFINITY: never. */
static double next_time(gnti_live *run)
{
    double next = gnti_manager_wants_tick(run->manager);

    for (int64_t i = 0; i < run->num_tasks; i++)
        if (run->tasks[i]->in_step)
            next = fmin(next, run->tasks[i]->ends_at);
    for (int32_t d = 0; d < run->num_devices; d++)
        next = fmin(next, gnti_lanes_wakes(run->devices[d].lanes, run->now));
    return fmax(next, run->now);
}

/* All members have ended, and so has the time of their last epochs. */
static bool is_over(const gnti_live *run)
{
    for (int64_t i = 0; i < run->num_tasks; i++)
        if (run->tasks[i]->in_epoch)
            return false;
    return gnti_live_all_done(run);
}

static gnt_status step(gnti_live *run)
{
    gnt_status st = GNT_OK;
    double next;

    GNT_TRY(do_present(run));
    if (is_over(run))
        return GNT_OK;
    next = next_time(run);
    GNT_CHECK(isfinite(next), GNT_ERR_INTERNAL,
              "members are left, but nobody trains and nothing is waited for");
    run->now = next;
    if (run->now >= gnti_manager_wants_tick(run->manager))
        GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_TICK }));
    for (int64_t i = 0; i < run->num_tasks; i++)
        if (run->tasks[i]->in_step && run->tasks[i]->ends_at <= run->now)
            GNT_TRY(end_step(run->tasks[i]));
    GNT_TRY(gnti_live_take_requests(run));
    GNT_TRY(gnti_live_show(run, false));
done:
    return st;
}

static gnt_status save_all(gnti_live *run)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < run->num_tasks; i++)
        if (!run->tasks[i]->over && run->tasks[i]->trainer != NULL && !run->tasks[i]->lost)
            GNT_TRY(gnti_live_task_save(run->tasks[i]));
done:
    return st;
}

gnt_status gnti_live_drive_virtual(gnti_live *run)
{
    gnt_status st = GNT_OK;

    pthread_mutex_lock(&run->lock);
    while (!is_over(run) && !gnti_live_should_stop(run))
        GNT_TRY(step(run));
    GNT_TRY(save_all(run));
done:
    pthread_mutex_unlock(&run->lock);
    return st;
}
