/* SPDX-License-Identifier: Apache-2.0 */
/* Moves: what the plan wants becomes actions, as far as the devices are free.
 *
 * A RUN is issued when, with everybody on the device's list and on the way to it, shares and bytes still fit. Who is blocked waits for
 * those who leave. A ring of tasks that wait for each other's devices is opened by holding one of its members: blocked tasks whose
 * blockers all move, or are themselves going to be free to, need no help; of the others the first running one is held.
 */
#include "ensemble/manager_state.h"

/* ---- the queue ---- */

gnt_status gnti_manager_push(gnti_manager *m, gnti_managed_task *t)
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

    GNT_TRY(gnti_manager_push(m, t));
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

/* ---- what a device has room for ---- */

/* What one task takes of a device: the larger of where it is and where it goes. */
static void take_of(const gnti_seat *seat, int32_t device, double *share, gnti_place_need *need)
{
    const int32_t i = gnti_seat_find(seat, device);

    if (i < 0)
        return;
    *share = seat->share[i] > *share ? seat->share[i] : *share;
    need->shared = gnti_max_i64(need->shared, seat->need[i].shared);
    need->lasting = gnti_max_i64(need->lasting, seat->need[i].lasting);
    need->scratch = gnti_max_i64(need->scratch, seat->need[i].scratch);
}

typedef struct load {
    double busy;
    int64_t lasting, num;
} load;

static int32_t lane_of(const gnti_managed_task *t, const gnti_seat *more, int32_t device)
{
    const gnti_seat *seats[3] = { more, t->moving ? &t->flight : NULL, &t->held };

    for (int i = 0; i < 3; i++) {
        const int32_t at = seats[i] == NULL ? -1 : gnti_seat_find(seats[i], device);

        if (at >= 0)
            return seats[i]->lane[at];
    }
    return 0;
}

/* Adds the k-th of the list; what it shares (data or scratch) counts only as far as it is the largest before it. */
static void add_task(const gnti_manager *m, int32_t device, int64_t k, const gnti_managed_task *more,
                     const gnti_seat *seat, load *l)
{
    const gnti_managed_device *d = &m->managed[device];
    const bool is_more = k == d->num_tasks;
    const gnti_managed_task *t = is_more ? more : m->tasks[d->tasks[k]];
    gnti_place_need need = { 0 };
    int64_t shared = 0, scratch = 0;
    double share = 0.0;

    take_of(&t->held, device, &share, &need);
    if (t->moving)
        take_of(&t->flight, device, &share, &need);
    if (t == more)
        take_of(seat, device, &share, &need);
    for (int64_t j = 0; j < k; j++) {
        const gnti_managed_task *u = m->tasks[d->tasks[j]];
        gnti_place_need other = { 0 };
        double none = 0.0;

        take_of(&u->held, device, &none, &other);
        if (u->moving)
            take_of(&u->flight, device, &none, &other);
        if (u == more)
            take_of(seat, device, &none, &other);
        if (u->terms.data == t->terms.data)
            shared = gnti_max_i64(shared, other.shared);
        if (lane_of(u, u == more ? seat : NULL, device) == lane_of(t, t == more ? seat : NULL, device))
            scratch = gnti_max_i64(scratch, other.scratch);
    }
    l->busy += share * gnti_managed_use(t);
    l->lasting +=
        need.lasting + gnti_max_i64(need.shared - shared, 0) + gnti_max_i64(need.scratch - scratch, 0);
    l->num++;
}

bool gnti_manager_device_fits(const gnti_manager *m, int32_t device, const gnti_managed_task *more,
                              const gnti_seat *seat, const char **why)
{
    const gnti_place_device *d = &m->devices[device];
    const gnti_managed_device *managed = &m->managed[device];
    load l = { 0 };
    bool listed = more == NULL;

    for (int64_t k = 0; k < managed->num_tasks; k++) {
        listed = listed || m->tasks[managed->tasks[k]] == more;
        add_task(m, device, k, more, seat, &l);
    }
    if (!listed)
        add_task(m, device, managed->num_tasks, more, seat, &l);
    *why = l.busy > 1.0 + 1e-6                    ? "shares"
           : d->lanes > 0 && l.num > d->lanes     ? "tasks"
           : d->bytes > 0 && l.lasting > d->bytes ? "bytes"
                                                  : NULL;
    return *why == NULL;
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

static void set_needs(const gnti_manager *m, const gnti_managed_task *t, gnti_seat *seat)
{
    const gnti_place_input in = gnti_managed_alone(m, t);

    for (int32_t i = 0; i < seat->num; i++)
        seat->need[i] = gnti_place_bytes(&in, 0, seat->device, seat->num, i);
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
    GNT_TRY(gnti_manager_push(m, t));
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
            set_needs(m, t, &t->target);
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
