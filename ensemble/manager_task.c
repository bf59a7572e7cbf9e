/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the manager: how it arrives and leaves, sits down on devices and stands up.
 *
 * A device lists a task from the moment when an action gives it to the task until the task has left: while it moves, both places are
 * taken. Sitting and standing write the bars of the Gantt chart, the busy seconds of devices and the service that tasks have had.
 */
#include "ensemble/manager_state.h"

/* With so many tasks and devices a plan costs as much as thousands of events, and the end of one task matters little. */
enum { MANY = 1000 };

static void plan_if_few(gnti_manager *m)
{
    if (m->num_live + m->num_devices < MANY)
        gnti_manager_plan_now(m);
    else
        gnti_manager_plan_soon(m, 1e-3);
}

/* ---- seats ---- */

gnt_status gnti_seat_reserve(gnti_seat *seat, int32_t num)
{
    gnt_status st = GNT_OK;
    const int32_t capacity = num > 4 ? num : 4;

    if (num <= seat->capacity)
        return GNT_OK;
    GNT_TRY(gnti_realloc_array(&seat->device, capacity));
    GNT_TRY(gnti_realloc_array(&seat->share, capacity));
    GNT_TRY(gnti_realloc_array(&seat->lane, capacity));
    GNT_TRY(gnti_realloc_array(&seat->need, capacity));
    seat->capacity = capacity;
done:
    return st;
}

static void free_seat(gnti_seat *seat)
{
    gnti_free(seat->device);
    gnti_free(seat->share);
    gnti_free(seat->lane);
    gnti_free(seat->need);
    *seat = (gnti_seat){ 0 };
}

int32_t gnti_seat_find(const gnti_seat *seat, int32_t device)
{
    for (int32_t i = 0; i < seat->num; i++)
        if (seat->device[i] == device)
            return i;
    return -1;
}

/* ---- life ---- */

void gnti_managed_task_free(gnti_managed_task **t)
{
    if (*t == NULL)
        return;
    gnti_free((*t)->profile);
    free_seat(&(*t)->held);
    free_seat(&(*t)->flight);
    free_seat(&(*t)->target);
    gnti_free(*t);
    *t = NULL;
}

gnti_managed_task *gnti_managed_find(const gnti_manager *m, int64_t id)
{
    gnti_managed_task *t = id >= 0 && id < m->num_ids ? m->tasks[id] : NULL;

    return t != NULL && t->slot >= 0 ? t : NULL;
}

static gnt_status check_task(const gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    const gnti_place_task *n = e->new_task;
    bool runs = false;

    GNT_CHECK(n != NULL && n->seconds != NULL, GNT_ERR_ARG, "task %lld arrives without its terms",
              (long long)e->task);
    GNT_CHECK(e->task >= 0 && e->task < GNTI_MANAGER_MAX_ID, GNT_ERR_LIMIT,
              "task %lld: ids of tasks are numbers from 0 to %d", (long long)e->task,
              GNTI_MANAGER_MAX_ID - 1);
    GNT_CHECK(e->task >= m->num_ids || m->tasks[e->task] == NULL, GNT_ERR_ARG, "task %lld arrives twice",
              (long long)e->task);
    GNT_CHECK(isfinite(n->epochs_left) && n->epochs_left >= 0.0, GNT_ERR_ARG,
              "task %lld has %g epochs to train", (long long)e->task, n->epochs_left);
    GNT_CHECK(n->max_devices >= 1, GNT_ERR_ARG, "task %lld may have %d devices, at least 1 is needed",
              (long long)e->task, n->max_devices);
    GNT_CHECK(n->weight > 0.0 && isfinite(n->weight), GNT_ERR_ARG, "task %lld has the weight %g",
              (long long)e->task, n->weight);
    for (int32_t k = 0; k < m->config.num_types; k++) {
        GNT_CHECK(n->seconds[k] > 0.0, GNT_ERR_ARG,
                  "task %lld needs %g seconds an epoch on devices of type %d", (long long)e->task,
                  n->seconds[k], k);
        runs = runs || isfinite(n->seconds[k]);
    }
    GNT_CHECK(runs, GNT_ERR_ARG, "task %lld runs on no type of device", (long long)e->task);
done:
    return st;
}

/* Room for the id in the table of tasks and for one more that is active. */
static gnt_status make_room(gnti_manager *m, int64_t id)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&m->tasks, &m->ids_capacity, id + 1));
    for (; m->num_ids <= id; m->num_ids++)
        m->tasks[m->num_ids] = NULL;
    GNT_TRY(gnti_grow_array(&m->active, &m->active_capacity, m->num_active + 1));
    GNT_TRY(gnti_grow_array(&m->view, &m->view_capacity, m->num_active + 1));
    GNT_TRY(gnti_grow_array(&m->wanting, &m->wanting_capacity, m->num_active + 1));
done:
    return st;
}

static void begin_task(const gnti_manager *m, gnti_managed_task *t, const gnti_event *e)
{
    const int32_t num_types = m->config.num_types, num_kinds = gnti_manager_num_kinds(m);

    t->terms = *e->new_task;
    t->seconds = t->profile + num_types;
    t->measured = t->profile + 2 * num_types;
    t->planned = t->profile + 3 * num_types;
    t->received = t->planned + num_kinds;
    t->past = t->received + num_kinds;
    for (int32_t k = 0; k < num_types; k++)
        t->profile[k] = e->new_task->seconds[k];
    t->terms.id = e->task;
    t->terms.arrival = m->now;
    t->terms.seconds = t->planned;
    t->terms.received = t->received;
    t->terms.held = NULL;
    t->terms.num_held = 0;
    t->epochs_total = t->terms.epochs_left;
    t->arrived_at = t->seated_since = t->serviced_at = m->now;
    t->parked_at = NAN;
}

gnt_status gnti_managed_arrive(gnti_manager *m, const gnti_event *e)
{
    gnt_status st = GNT_OK;
    gnti_managed_task *t = NULL;

    GNT_TRY(check_task(m, e));
    GNT_TRY(make_room(m, e->task));
    GNT_TRY(gnti_calloc_bytes((void **)&t, sizeof *t));
    GNT_TRY(gnti_calloc_array(&t->profile,
                              4 * (int64_t)m->config.num_types + 2 * (int64_t)gnti_manager_num_kinds(m)));
    begin_task(m, t, e);
    gnti_managed_predict(m, t);
    t->slot = (int32_t)m->num_active;
    m->active[m->num_active++] = (int32_t)e->task;
    m->num_live++;
    m->tasks[e->task] = t;
    m->arrived_epochs += t->epochs_total;
    m->facts.num_tasks++;
    if (isnan(m->started_at))
        m->started_at = m->now;
    plan_if_few(m);
    t = NULL; /* handed over */
done:
    gnti_managed_task_free(&t);
    return st;
}

void gnti_managed_leave(gnti_manager *m, gnti_managed_task *t)
{
    gnti_managed_stand(m, t);
    m->active[t->slot] = -1; /* the next plan closes the gap */
    m->num_live--;
    m->num_parked -= !isnan(t->parked_at);
    t->slot = -1;
    t->ended_at = m->now;
    m->dropped_epochs += t->epochs_total - t->epochs_done;
    m->facts.wait_seconds += m->now - t->seated_since;
    m->last_end = m->now;
    plan_if_few(m);
}

/* ---- devices ---- */

static void list_task(gnti_manager *m, int32_t device, int64_t id)
{
    gnti_managed_device *d = &m->managed[device];

    d->tasks[d->num_tasks++] = (int32_t)id; /* room was made when the action was issued */
}

static void unlist_task(gnti_manager *m, int32_t device, int64_t id)
{
    gnti_managed_device *d = &m->managed[device];

    for (int64_t i = 0; i < d->num_tasks; i++)
        if (d->tasks[i] == id) {
            memmove(d->tasks + i, d->tasks + i + 1, (size_t)(d->num_tasks - i - 1) * sizeof *d->tasks);
            d->num_tasks--;
            break;
        }
    m->freed = true;
    if (d->leaving && d->num_tasks == 0)
        gnti_managed_device_gone(m, device);
}

void gnti_managed_device_gone(gnti_manager *m, int32_t device)
{
    gnti_managed_device *d = &m->managed[device];

    if (!d->here)
        return;
    m->facts.joules += m->devices[device].idle_watts * gnti_managed_here(m, device);
    d->here = d->leaving = false;
    m->devices[device].present = false;
    gnti_managed_device_forget(m, device);
    gnti_manager_note_presence(m, d->type, -1);
}

gnt_status gnti_managed_take_off(gnti_manager *m, gnti_managed_task *t)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < t->flight.num; i++) {
        gnti_managed_device *d = &m->managed[t->flight.device[i]];

        GNT_TRY(gnti_grow_array(&d->tasks, &d->capacity, d->num_tasks + 1));
    }
    /* each seat becomes a span, which needs no room later */
    GNT_TRY(gnti_grow_array(&m->spans, &m->spans_capacity, m->num_spans + m->num_seats + t->flight.num));
    m->num_seats += t->flight.num;
    for (int32_t i = 0; i < t->flight.num; i++)
        if (gnti_seat_find(&t->held, t->flight.device[i]) < 0)
            list_task(m, t->flight.device[i], t->terms.id);
    t->moving = true;
    m->num_moving++;
done:
    return st;
}

/* ---- sitting down and standing up ---- */

void gnti_managed_settle(const gnti_manager *m, gnti_managed_task *t)
{
    const double seconds = m->now - t->serviced_at;

    for (int32_t i = 0; i < t->held.num; i++)
        t->received[m->devices[t->held.device[i]].type] += seconds * t->held.share[i];
    t->serviced_at = m->now;
}

double gnti_managed_use(const gnti_managed_task *t)
{
    return t->terms.use > 0.0 ? t->terms.use : 1.0;
}

double gnti_managed_busy(const gnti_managed_task *t, int32_t k)
{
    return t->held.share[k] * gnti_managed_use(t);
}

static void close_spans(gnti_manager *m, gnti_managed_task *t, double at)
{
    const double end = at > t->seated_since ? at : t->seated_since;

    gnti_managed_settle(m, t);
    for (int32_t i = 0; i < t->held.num; i++) {
        const gnti_span span = { t->terms.id, t->held.device[i], t->seated_since, end, t->held.share[i] };

        const gnti_place_device *d = &m->devices[span.device];
        const double busy = gnti_managed_busy(t, i) * (end - span.begin);

        m->type_busy[m->managed[span.device].type] += busy;
        m->facts.joules += (d->busy_watts - d->idle_watts) * busy;
        if (end > span.begin)
            m->spans[m->num_spans++] = span;
    }
    m->num_seats -= t->held.num;
}

void gnti_managed_cancel(gnti_manager *m, gnti_managed_task *t)
{
    if (!t->moving)
        return;
    for (int32_t i = 0; i < t->flight.num; i++)
        if (gnti_seat_find(&t->held, t->flight.device[i]) < 0)
            unlist_task(m, t->flight.device[i], t->terms.id);
    m->num_seats -= t->flight.num;
    t->flight.num = 0;
    t->moving = false;
    t->answered = t->told = t->generation;
    m->num_moving--;
}

void gnti_managed_stand(gnti_manager *m, gnti_managed_task *t)
{
    gnti_managed_cancel(m, t);
    if (!t->running)
        return;
    close_spans(m, t, m->now);
    for (int32_t i = 0; i < t->held.num; i++)
        unlist_task(m, t->held.device[i], t->terms.id);
    t->held.num = 0;
    t->running = false;
    t->seated_since = m->now;
}

void gnti_managed_sit(gnti_manager *m, gnti_managed_task *t, double left_at, double sat_at)
{
    gnti_seat old = t->held;
    const bool same = old.num == t->flight.num &&
                      memcmp(old.device, t->flight.device, (size_t)old.num * sizeof *old.device) == 0;

    if (t->running)
        close_spans(m, t, left_at);
    else if (left_at > t->seated_since)
        m->facts.wait_seconds += left_at - t->seated_since;
    for (int32_t i = 0; i < old.num; i++)
        if (gnti_seat_find(&t->flight, old.device[i]) < 0)
            unlist_task(m, old.device[i], t->terms.id);
    m->facts.num_moves += t->has_run && t->flight.num > 0 && !same;
    t->held = t->flight;
    t->flight = old;
    t->flight.num = 0;
    t->running = t->held.num > 0;
    t->has_run = t->has_run || t->running;
    t->moving = false;
    t->answered = t->seated = t->generation;
    m->num_moving--;
    t->seated_since = t->running ? sat_at : left_at;
    t->serviced_at = sat_at;
    t->boundary_at = same ? t->boundary_at : sat_at; /* other shares: the epoch goes on */
}
