/* SPDX-License-Identifier: Apache-2.0 */
/* Moves: what the plan wants becomes actions, as far as the devices are free.
 *
 * A RUN is issued when, with everybody on the device's list and on the way to it, shares and bytes still fit. Who is blocked waits for
 * those who leave. A ring of tasks that wait for each other's devices is opened by holding one of its members: blocked tasks whose
 * blockers all move, or are themselves going to be free to, need no help; of the others the first running one is held.
 */
#include "ensemble/manager_state.h"

/* ---- the queue ---- */

/* An action waits for gnti_manager_next. */
static gnt_status push(gnti_manager *m, gnti_managed_task *t)
{
    gnt_status st = GNT_OK;

    if (m->queue_head == m->queue_length)
        m->queue_head = m->queue_length = 0;
    GNT_TRY(gnti_grow_array(&m->queue, &m->queue_capacity, m->queue_length + 1));
    m->queue[m->queue_length++] = (int32_t)t->terms.id;
    t->generation++;
done:
    return st;
}

gnt_status gnti_manager_give_up(gnti_manager *m, gnti_managed_task *t)
{
    gnt_status st = GNT_OK;

    GNT_TRY(push(m, t));
    t->given_up = true;
    t->wanting = false;
    gnti_managed_leave(m, t);
    t->told = t->generation - 1;
    m->facts.num_given_up++;
done:
    return st;
}

static bool take(gnti_manager *m, gnti_action *out)
{
    while (m->queue_head < m->queue_length) {
        gnti_managed_task *t = m->tasks[m->queue[m->queue_head++]];

        if (t->told == t->generation || !(t->moving || t->given_up))
            continue; /* void meanwhile */
        t->told = t->generation;
        *out = (gnti_action){ .kind = t->given_up         ? GNTI_ACTION_GIVE_UP
                                      : t->flight.num > 0 ? GNTI_ACTION_RUN
                                                          : GNTI_ACTION_HOLD,
                              .task = t->terms.id,
                              .generation = t->generation };
        if (!t->given_up) {
            out->devices = t->flight.device;
            out->shares = t->flight.share;
            out->lanes = t->flight.lane;
            out->num_devices = t->flight.num;
        }
        return true;
    }
    return false;
}

bool gnti_manager_next(gnti_manager *m, gnti_action *action)
{
    if (m->status == GNT_OK && m->now >= m->plan_at)
        m->status = gnti_manager_plan(m);
    if (m->status == GNT_OK && m->freed)
        m->status = gnti_manager_issue(m);
    return m->status == GNT_OK && take(m, action);
}

gnt_status gnti_manager_status(const gnti_manager *m)
{
    return m->status;
}

/* ---- issuing ---- */

static bool is_free(const gnti_manager *m, const gnti_managed_task *t)
{
    const char *why;

    for (int32_t i = 0; i < t->target.num; i++)
        if (!gnti_manager_device_fits(m, t->target.device[i], t, &t->target, &why))
            return false;
    return true;
}

/* The action to go to the target, or only to be held. */
static gnt_status issue(gnti_manager *m, gnti_managed_task *t, bool hold)
{
    gnt_status st = GNT_OK;

    if (hold) {
        t->flight.num = 0;
    } else {
        const gnti_seat seat = t->flight;

        t->flight = t->target;
        t->target = seat;
        t->target.num = 0;
        t->wanting = false;
    }
    GNT_TRY(gnti_managed_take_off(m, t));
    GNT_TRY(push(m, t));
done:
    return st;
}

/* Of a blocked task: nobody on its devices is blocked as well. */
static bool is_hopeful(const gnti_manager *m, const gnti_managed_task *t)
{
    for (int32_t i = 0; i < t->target.num; i++) {
        const gnti_managed_device *d = &m->managed[t->target.device[i]];

        for (int64_t k = 0; k < d->num_tasks; k++) {
            const gnti_managed_task *u = m->tasks[d->tasks[k]];

            if (u != t && u->wanting && !u->moving && !u->hopeful)
                return false;
        }
    }
    return true;
}

/* Finds who waits in a ring and holds its first member that runs. */
static gnt_status open_ring(gnti_manager *m)
{
    gnt_status st = GNT_OK;
    bool changed = true;

    while (changed) {
        changed = false;
        for (int64_t i = 0; i < m->num_wanting; i++) {
            gnti_managed_task *t = m->tasks[m->wanting[i]];

            if (t->hopeful || t->moving || !is_hopeful(m, t))
                continue;
            t->hopeful = changed = true;
        }
    }
    for (int64_t i = 0; i < m->num_wanting; i++) {
        gnti_managed_task *t = m->tasks[m->wanting[i]];

        if (!t->moving && !t->hopeful && t->running)
            return issue(m, t, true);
    }
    GNT_CHECK(m->num_moving > 0, GNT_ERR_INTERNAL,
              "task %d waits for devices that nobody leaves: the plan and what devices hold disagree",
              m->wanting[0]);
done:
    return st;
}

gnt_status gnti_manager_issue(gnti_manager *m)
{
    gnt_status st = GNT_OK;
    int64_t kept = 0;

    m->freed = false;
    for (int64_t i = 0; i < m->num_wanting; i++) {
        gnti_managed_task *t = m->tasks[m->wanting[i]];

        if (!t->wanting || t->slot < 0)
            continue;
        t->hopeful = false;
        if (!t->moving)
            gnti_seat_set_needs(m, t, &t->target);
        if (!t->moving && is_free(m, t))
            GNT_TRY(issue(m, t, false));
        else
            m->wanting[kept++] = m->wanting[i];
    }
    m->num_wanting = kept;
    if (kept > 0)
        GNT_TRY(open_ring(m));
done:
    return st;
}
