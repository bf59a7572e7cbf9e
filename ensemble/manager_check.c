/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants of the manager, for tests and the simulator: what must hold after each event and each action.
 *
 * Nothing over-booked: on every device shares, tasks and bytes of all who hold it or are under way to it fit; lists of devices and seats
 * of tasks agree. Work conserved: epochs that arrived = done + left + dropped. Generations: none is answered that was not issued.
 */
#include "ensemble/manager_state.h"

static gnt_status check_device(const gnti_manager *m, int32_t d)
{
    gnt_status st = GNT_OK;
    const gnti_managed_device *managed = &m->managed[d];
    const char *why = NULL;

    GNT_CHECK(managed->here || managed->num_tasks == 0, GNT_ERR_INTERNAL,
              "device %d has left, but task %d is on it", d, managed->tasks[0]);
    GNT_CHECK(managed->here || !m->devices[d].present, GNT_ERR_INTERNAL,
              "device %d has left, but plans count on it", d);
    GNT_CHECK(gnti_manager_device_fits(m, d, NULL, NULL, &why), GNT_ERR_INTERNAL,
              "the %s of device %d are over-booked by %lld tasks", why, d, (long long)managed->num_tasks);
    for (int64_t i = 0; i < managed->num_tasks; i++) {
        const gnti_managed_task *t = m->tasks[managed->tasks[i]];

        GNT_CHECK(gnti_seat_find(&t->held, d) >= 0 || (t->moving && gnti_seat_find(&t->flight, d) >= 0),
                  GNT_ERR_INTERNAL, "device %d lists task %lld, which is neither there nor under way", d,
                  (long long)t->terms.id);
        for (int64_t j = 0; j < i; j++)
            GNT_CHECK(managed->tasks[j] != managed->tasks[i], GNT_ERR_INTERNAL,
                      "device %d lists task %d twice", d, managed->tasks[i]);
    }
done:
    return st;
}

static bool is_listed(const gnti_manager *m, int32_t device, int64_t id)
{
    const gnti_managed_device *d = &m->managed[device];

    for (int64_t i = 0; i < d->num_tasks; i++)
        if (d->tasks[i] == id)
            return true;
    return false;
}

static gnt_status check_seat(const gnti_manager *m, const gnti_managed_task *t, const gnti_seat *seat)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(seat->num <= t->terms.max_devices, GNT_ERR_INTERNAL,
              "task %lld has %d devices, %d are the most", (long long)t->terms.id, seat->num,
              t->terms.max_devices);
    for (int32_t i = 0; i < seat->num; i++) {
        GNT_CHECK(is_listed(m, seat->device[i], t->terms.id), GNT_ERR_INTERNAL,
                  "task %lld is on device %d, which does not list it", (long long)t->terms.id,
                  seat->device[i]);
        GNT_CHECK(i == 0 || seat->device[i - 1] < seat->device[i], GNT_ERR_INTERNAL,
                  "the devices of task %lld are not in order", (long long)t->terms.id);
        GNT_CHECK(isfinite(t->planned[m->devices[seat->device[i]].type]), GNT_ERR_INTERNAL,
                  "task %lld is on device %d, where it cannot run", (long long)t->terms.id, seat->device[i]);
    }
done:
    return st;
}

static gnt_status check_task(const gnti_manager *m, const gnti_managed_task *t, int64_t *seats)
{
    gnt_status st = GNT_OK;
    const long long id = t->terms.id;

    GNT_TRY(check_seat(m, t, &t->held));
    if (t->moving)
        GNT_TRY(check_seat(m, t, &t->flight));
    *seats += t->held.num + (t->moving ? t->flight.num : 0);
    GNT_CHECK(t->running == (t->held.num > 0), GNT_ERR_INTERNAL, "task %lld %s but has %d devices", id,
              t->running ? "runs" : "waits", t->held.num);
    GNT_CHECK(t->epochs_done >= 0.0 && t->epochs_done <= t->epochs_total * (1.0 + 1e-9), GNT_ERR_INTERNAL,
              "task %lld has trained %g of %g epochs", id, t->epochs_done, t->epochs_total);
    GNT_CHECK(t->told <= t->generation && t->answered <= t->generation &&
                  (t->moving ? t->answered < t->generation : t->answered == t->generation || t->given_up),
              GNT_ERR_INTERNAL, "task %lld: action %lld is the newest, %lld was told, %lld answered", id,
              (long long)t->generation, (long long)t->told, (long long)t->answered);
    GNT_CHECK(t->failures <= m->config.retries, GNT_ERR_INTERNAL,
              "task %lld is tried once more after %d failures", id, t->failures);
done:
    return st;
}

gnt_status gnti_manager_check(const gnti_manager *m)
{
    gnt_status st = GNT_OK;
    double left = 0.0, done = 0.0, slack;
    int64_t live = 0, seats = 0, moving = 0;

    for (int32_t d = 0; d < m->num_devices; d++)
        GNT_TRY(check_device(m, d));
    for (int64_t j = 0; j < m->num_ids; j++) {
        const gnti_managed_task *t = m->tasks[j];

        if (t == NULL)
            continue;
        done += t->epochs_done;
        if (t->slot < 0)
            continue;
        GNT_TRY(check_task(m, t, &seats));
        GNT_CHECK(t->slot < m->num_active && m->active[t->slot] == j, GNT_ERR_INTERNAL,
                  "task %lld is lost from the list of active tasks", (long long)j);
        left += t->epochs_total - t->epochs_done;
        live++;
        moving += t->moving;
    }
    GNT_CHECK(live == m->num_live && moving == m->num_moving && seats == m->num_seats, GNT_ERR_INTERNAL,
              "%lld tasks live, %lld move and %lld seats are taken, but %lld, %d and %lld are counted",
              (long long)live, (long long)moving, (long long)seats, (long long)m->num_live, m->num_moving,
              (long long)m->num_seats);
    slack = 1e-9 * (m->arrived_epochs + 1.0);
    GNT_CHECK(fabs(done + left + m->dropped_epochs - m->arrived_epochs) <= slack &&
                  fabs(done - m->done_epochs) <= slack,
              GNT_ERR_INTERNAL,
              "%g epochs arrived, but %g were done (%g are counted), %g are left and %g dropped",
              m->arrived_epochs, done, m->done_epochs, left, m->dropped_epochs);
done:
    return st;
}
