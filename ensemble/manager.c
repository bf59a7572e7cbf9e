/* SPDX-License-Identifier: Apache-2.0 */
/* The manager's life cycle and its events.
 *
 * An event changes tasks and devices at once and marks what has to be thought over; thinking is left to gnti_manager_next, so that any
 * number of events of one moment cost one plan. What an event reports of an action that is void meanwhile is ignored.
 */
#include "ensemble/manager_state.h"

static gnt_status check_config(const gnti_manager_config *c)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(c->num_types >= 1, GNT_ERR_ARG, "a manager of %d types of devices", c->num_types);
    GNT_CHECK(c->policy >= 0 && c->policy < GNTI_NUM_POLICIES, GNT_ERR_ARG, "policy %d, there are %d",
              (int)c->policy, (int)GNTI_NUM_POLICIES);
    GNT_CHECK(c->retries >= 0 && c->patience >= 0.0 && c->round_seconds >= 0.0, GNT_ERR_ARG,
              "%d retries, a patience of %g and rounds of %g seconds: none may be negative", c->retries,
              c->patience, c->round_seconds);
done:
    return st;
}

gnt_status gnti_manager_create(const gnti_manager_config *config, gnti_manager **out)
{
    gnt_status st = GNT_OK;
    gnti_manager *m = NULL;

    GNT_TRY(check_config(config));
    GNT_TRY(gnti_calloc_bytes((void **)&m, sizeof *m));
    GNT_TRY(gnti_belief_create(&m->belief, config->num_types));
    GNT_TRY(gnti_calloc_array(&m->type_busy, config->num_types));
    m->config = *config;
    if (m->config.round_seconds <= 0.0)
        m->config.round_seconds = 360.0;
    m->started_at = NAN;
    m->plan_at = INFINITY;
    *out = m;
    m = NULL; /* handed over */
done:
    gnti_manager_free(&m);
    return st;
}

void gnti_manager_free(gnti_manager **out)
{
    gnti_manager *m = *out;

    if (m == NULL)
        return;
    for (int64_t i = 0; i < m->num_ids; i++)
        gnti_managed_task_free(&m->tasks[i]);
    for (int64_t d = 0; d < m->num_devices; d++)
        gnti_free(m->managed[d].tasks);
    gnti_free(m->tasks);
    gnti_free(m->active);
    gnti_free(m->view);
    gnti_free(m->devices);
    gnti_free(m->managed);
    gnti_belief_free(&m->belief);
    gnti_free(m->type_busy);
    gnti_free(m->wanting);
    gnti_free(m->queue);
    gnti_free(m->spans);
    gnti_free(m->presence);
    gnti_free(m);
    *out = NULL;
}

/* ---- devices ---- */

static gnt_status add_device(gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    const gnti_place_device *n = e->new_device;

    GNT_CHECK(n != NULL && e->device >= 0, GNT_ERR_ARG, "device %d is added without its terms", e->device);
    GNT_CHECK(n->type >= 0 && n->type < m->config.num_types, GNT_ERR_ARG,
              "device %d has type %d, there are %d", e->device, n->type, m->config.num_types);
    GNT_CHECK(e->device >= m->num_devices || !m->managed[e->device].here, GNT_ERR_ARG,
              "device %d is added but has not left", e->device);
    GNT_TRY(gnti_grow_array(&m->devices, &m->devices_capacity, (int64_t)e->device + 1));
    GNT_TRY(gnti_grow_array(&m->managed, &m->managed_capacity, (int64_t)e->device + 1));
    /* each device that is here leaves once, which needs no room later */
    GNT_TRY(gnti_grow_array(&m->presence, &m->presence_capacity,
                            m->num_presence + 2 * (e->device + 2) + m->num_devices));
    for (; m->num_devices <= e->device; m->num_devices++) {
        m->devices[m->num_devices] = (gnti_place_device){ 0 };
        m->managed[m->num_devices] = (gnti_managed_device){ 0 };
    }
    m->devices[e->device] = *n;
    m->devices[e->device].present = true;
    m->managed[e->device].type = n->type;
    m->managed[e->device].here = true;
    m->managed[e->device].here_since = m->now;
    gnti_manager_note_presence(m, n->type, 1);
    for (int64_t i = 0; i < m->num_active; i++) /* perhaps there is room now */
        if (m->active[i] >= 0)
            m->tasks[m->active[i]]->parked_at = NAN;
    m->num_parked = 0;
    gnti_manager_plan_now(m);
done:
    return st;
}

/* Tasks on it are off it; those on their way to it stay where they are. */
static void lose_device(gnti_manager *m, int32_t device)
{
    gnti_managed_device *d = &m->managed[device];

    m->devices[device].present = false;
    while (d->num_tasks > 0) {
        gnti_managed_task *t = m->tasks[d->tasks[d->num_tasks - 1]];

        if (gnti_seat_find(&t->held, device) < 0) {
            gnti_managed_cancel(m, t);
            continue;
        }
        gnti_managed_stand(m, t);
        t->may_fall = true;
        m->facts.num_lost++;
    }
    gnti_managed_device_gone(m, device);
    gnti_manager_plan_now(m);
}

static gnt_status device_event(gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;

    if (e->kind == GNTI_EVENT_DEVICE_ADDED)
        return add_device(m, e);
    GNT_CHECK(e->device >= 0 && e->device < m->num_devices, GNT_ERR_ARG,
              "device %d is lost, but there are %lld", e->device, (long long)m->num_devices);
    if (!m->managed[e->device].here)
        return GNT_OK; /* lost before */
    if (e->kind == GNTI_EVENT_DEVICE_LOST) {
        lose_device(m, e->device);
        return GNT_OK;
    }
    m->devices[e->device].present = false;
    m->managed[e->device].leaving = true;
    if (m->managed[e->device].num_tasks == 0)
        gnti_managed_device_gone(m, e->device);
    gnti_manager_plan_now(m);
done:
    return st;
}

/* ---- tasks ---- */

static void set_done(gnti_manager *m, gnti_managed_task *t, double epochs)
{
    m->done_epochs += epochs - t->epochs_done;
    t->epochs_done = epochs;
}

/* Whether it is of the action that gave the task what it holds, or of the one under way. */
static bool is_of_now(const gnti_managed_task *t, const gnti_event *e)
{
    return e->generation == 0 || e->generation == t->seated || (t->moving && e->generation == t->generation);
}

static gnt_status epoch_done(gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    gnt_status st = GNT_OK;

    if (!t->running || !is_of_now(t, e))
        return GNT_OK; /* it was taken off meanwhile */
    GNT_CHECK(e->epochs_done >= t->epochs_done || (t->may_fall && e->epochs_done >= 0.0), GNT_ERR_ARG,
              "task %lld reports %g epochs after %g", (long long)e->task, e->epochs_done, t->epochs_done);
    GNT_CHECK(e->epochs_done <= t->epochs_total * (1.0 + 1e-9), GNT_ERR_ARG,
              "task %lld reports %g epochs, it has %g", (long long)e->task, e->epochs_done, t->epochs_total);
    set_done(m, t, e->epochs_done);
    t->may_fall = false;
    t->boundary_at = m->now;
    gnti_managed_learn(m, t, e->seconds);
done:
    return st;
}

static gnt_status task_failed(gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    gnt_status st = GNT_OK;

    if (!is_of_now(t, e))
        return GNT_OK;
    GNT_CHECK(e->epochs_done >= 0.0 && e->epochs_done <= t->epochs_done, GNT_ERR_ARG,
              "task %lld fails and goes on from epoch %g, it is at %g", (long long)e->task, e->epochs_done,
              t->epochs_done);
    set_done(m, t, e->epochs_done);
    gnti_managed_stand(m, t);
    gnti_manager_plan_now(m);
    if (t->failures++ >= m->config.retries)
        return gnti_manager_give_up(m, t);
    m->facts.num_retries++;
done:
    return st;
}

/* A device that is gone meanwhile is no matter; what waits for one waits on. */
static gnt_status task_short(gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    const bool on_its_way = t->moving && (e->generation == 0 || e->generation == t->generation);
    const gnti_seat *seat = on_its_way ? &t->flight : &t->held;

    if (!is_of_now(t, e) || seat->num == 0)
        return GNT_OK;
    GNT_CHECK(e->epochs_done >= 0.0 && e->epochs_done <= t->epochs_done, GNT_ERR_ARG,
              "task %lld does not fit and goes on from epoch %g, it is at %g", (long long)e->task,
              e->epochs_done, t->epochs_done);
    for (int32_t i = 0; i < seat->num; i++)
        gnti_manager_device_short(m, seat->device[i]);
    set_done(m, t, e->epochs_done);
    gnti_managed_stand(m, t);
    m->shrunk = true;
    gnti_manager_plan_now(m);
done:
    return st;
}

static gnt_status task_changed(gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(e->scale > 0.0 && e->scale <= 1.0, GNT_ERR_ARG,
              "task %lld shrinks to %g, that is not within (0, 1]", (long long)e->task, e->scale);
    gnti_managed_note_past(m, t, e->scale);
    for (int32_t k = 0; k < m->config.num_types; k++) {
        t->profile[k] *= e->scale;
        t->seconds[k] *= e->scale;
    }
    gnti_managed_predict(m, t);
    t->planned_seconds *= e->scale;
    t->terms.lasting_bytes = (int64_t)((double)t->terms.lasting_bytes * e->scale);
    t->terms.scratch_bytes = (int64_t)((double)t->terms.scratch_bytes * e->scale);
    gnti_seat_set_needs(m, t, &t->held);
    gnti_seat_set_needs(m, t, &t->flight);
    gnti_manager_plan_now(m);
done:
    return st;
}

static void task_ended(gnti_manager *m, gnti_managed_task *t)
{
    gnti_managed_leave(m, t);
    m->facts.num_ended++;
    m->sum_completion += m->now - t->arrived_at;
}

static void task_placed(gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    const double seconds = e->seconds > 0.0 ? e->seconds : 0.0;

    if (!t->moving || (e->generation != 0 && e->generation != t->generation))
        return; /* the action is void */
    m->facts.move_seconds += seconds;
    gnti_managed_sit(m, t, m->now - seconds, m->now);
    t->planned_seconds = gnti_managed_epoch(m, t, &t->held);
    m->freed = true;
}

static gnt_status task_event(gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    gnti_managed_task *t = gnti_managed_find(m, e->task);

    if (e->kind == GNTI_EVENT_TASK_ARRIVED)
        return gnti_managed_arrive(m, e);
    GNT_CHECK(e->task >= 0 && e->task < m->num_ids && m->tasks[e->task] != NULL, GNT_ERR_ARG,
              "task %lld has not arrived", (long long)e->task);
    if (t == NULL)
        return GNT_OK; /* it has ended */
    switch (e->kind) {
    case GNTI_EVENT_EPOCH_DONE:
        return epoch_done(m, t, e);
    case GNTI_EVENT_TASK_CHANGED:
        return task_changed(m, t, e);
    case GNTI_EVENT_TASK_FAILED:
        return task_failed(m, t, e);
    case GNTI_EVENT_TASK_SHORT:
        return task_short(m, t, e);
    case GNTI_EVENT_TASK_ENDED:
        task_ended(m, t);
        return GNT_OK;
    default:
        task_placed(m, t, e);
    }
done:
    return st;
}

gnt_status gnti_manager_event(gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(isfinite(e->time), GNT_ERR_ARG, "an event at %g seconds", e->time);
    if (e->time > m->now)
        m->now = e->time;
    switch (e->kind) {
    case GNTI_EVENT_DEVICE_ADDED:
    case GNTI_EVENT_DEVICE_LOST:
    case GNTI_EVENT_DEVICE_LEAVES:
        return device_event(m, e);
    case GNTI_EVENT_TICK:
        if (m->now >= gnti_manager_wants_tick(m))
            gnti_manager_plan_now(m);
        return GNT_OK;
    default:
        return task_event(m, e);
    }
done:
    return st;
}

bool gnti_manager_is_idle(const gnti_manager *m)
{
    return m->num_live == 0;
}

double gnti_manager_epoch_seconds(const gnti_manager *m, int64_t task, int32_t type)
{
    const bool known = task >= 0 && task < m->num_ids && m->tasks[task] != NULL;

    return known && type >= 0 && type < m->config.num_types ? m->tasks[task]->seconds[type] : (double)NAN;
}
