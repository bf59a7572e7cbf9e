/* SPDX-License-Identifier: Apache-2.0 */
/* What a device has room for: all who hold it or are under way to it, and one more who would like to.
 *
 * Who moves counts with the larger of where he is and where he goes. Shares add up (share x use) to 1, tasks to the device's lanes, at
 * most one is part of a gang; bytes are all weights, the largest scratch of each lane, and the largest data of each number.
 */
#include "ensemble/manager_state.h"

void gnti_seat_set_needs(const gnti_manager *m, const gnti_managed_task *t, gnti_seat *seat)
{
    const gnti_place_input in = gnti_managed_alone(m, t);

    for (int32_t i = 0; i < seat->num; i++)
        seat->need[i] = gnti_place_bytes(&in, 0, seat->device, seat->num, i);
}

/* What one task takes of the device. */
typedef struct portion {
    double busy;
    gnti_place_need need;
    int32_t lane, data;
    bool wide; /* one of several devices that it has */
} portion;

static void add_seat(const gnti_seat *seat, int32_t device, portion *p)
{
    const int32_t i = gnti_seat_find(seat, device);

    if (i < 0)
        return;
    p->busy = seat->share[i] > p->busy ? seat->share[i] : p->busy;
    p->need.shared = gnti_max_i64(p->need.shared, seat->need[i].shared);
    p->need.lasting = gnti_max_i64(p->need.lasting, seat->need[i].lasting);
    p->need.scratch = gnti_max_i64(p->need.scratch, seat->need[i].scratch);
    p->lane = seat->lane[i]; /* of the newest seat */
    p->wide = p->wide || seat->num > 1;
}

static portion portion_of(const gnti_managed_task *t, int32_t device, const gnti_seat *more)
{
    portion p = { .data = t->terms.data };

    add_seat(&t->held, device, &p);
    if (t->moving)
        add_seat(&t->flight, device, &p);
    if (more != NULL)
        add_seat(more, device, &p);
    p.busy *= gnti_managed_use(t);
    return p;
}

typedef struct load {
    double busy;
    int64_t bytes, num, num_wide;
} load;

/* Of data and scratch, which tasks share, only what is more than the largest among those before it. */
static void add_portion(const gnti_manager *m, int32_t device, int64_t before, const gnti_managed_task *more,
                        const gnti_seat *seat, const portion *p, load *l)
{
    int64_t shared = 0, scratch = 0;

    for (int64_t j = 0; j < before; j++) {
        const gnti_managed_task *u = m->tasks[m->managed[device].tasks[j]];
        const portion other = portion_of(u, device, u == more ? seat : NULL);

        if (other.data == p->data)
            shared = gnti_max_i64(shared, other.need.shared);
        if (other.lane == p->lane)
            scratch = gnti_max_i64(scratch, other.need.scratch);
    }
    l->busy += p->busy;
    l->bytes += p->need.lasting + gnti_max_i64(p->need.shared - shared, 0) +
                gnti_max_i64(p->need.scratch - scratch, 0);
    l->num++;
    l->num_wide += p->wide;
}

/* All of the device's list, with `more` on the seat beside them. */
static load load_of(const gnti_manager *m, int32_t device, const gnti_managed_task *more,
                    const gnti_seat *seat)
{
    const gnti_managed_device *managed = &m->managed[device];
    load l = { 0 };
    bool listed = more == NULL;

    for (int64_t k = 0; k <= managed->num_tasks; k++) {
        const gnti_managed_task *t = k < managed->num_tasks ? m->tasks[managed->tasks[k]]
                                     : listed               ? NULL
                                                            : more;
        portion p;

        if (t == NULL)
            break;
        listed = listed || t == more;
        p = portion_of(t, device, t == more ? seat : NULL);
        add_portion(m, device, k, more, seat, &p, &l);
    }
    return l;
}

bool gnti_manager_device_fits(const gnti_manager *m, int32_t device, const gnti_managed_task *more,
                              const gnti_seat *seat, const char **why)
{
    const gnti_place_device *d = &m->devices[device];
    const load l = load_of(m, device, more, seat);

    *why = l.busy > 1.0 + 1e-6                  ? "shares"
           : d->lanes > 0 && l.num > d->lanes   ? "tasks"
           : l.num_wide > 1                     ? "gangs"
           : d->bytes > 0 && l.bytes > d->bytes ? "bytes"
                                                : NULL;
    return *why == NULL;
}

/* ---- what turned out to be too small ---- */

void gnti_manager_device_short(gnti_manager *m, int32_t device)
{
    gnti_place_device *d = &m->devices[device];
    const load l = load_of(m, device, NULL, NULL);
    const int64_t bytes = gnti_max_i64(l.bytes - 1, 1);

    d->bytes = d->bytes == 0 || bytes < d->bytes ? bytes : d->bytes;
}

gnt_status gnti_manager_give_up_misfits(gnti_manager *m)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < m->num_active; i++) {
        gnti_managed_task *t = m->active[i] < 0 ? NULL : m->tasks[m->active[i]];
        const gnti_place_input in = t != NULL ? gnti_managed_alone(m, t) : (gnti_place_input){ 0 };

        if (t != NULL && isnan(t->parked_at) && !t->running && !t->moving && !gnti_place_fits(&in, 0))
            GNT_TRY(gnti_manager_give_up(m, t));
    }
    gnt_clear_error(); /* of those that do not fit */
done:
    return st;
}

int64_t gnti_manager_device_bytes(const gnti_manager *m, int32_t device)
{
    return device >= 0 && device < m->num_devices ? m->devices[device].bytes : 0;
}
