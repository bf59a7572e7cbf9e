/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that are slower (or faster) than their type: planners see types alone, so such a device gets a kind of its own.
 *
 * An epoch of a task that is known on the type, three times in a row off by more than 1.3 in the same direction, is the device's doing,
 * not the task's: these epochs teach nothing about the task. The device then goes to the kind (type, pace) of its pace, within 15 %, and
 * comes back the same way. Kinds 0 .. num_types - 1 are the types; the few beyond are handed out as needed, and when all are taken the
 * device gets the one of its type whose pace is nearest (Malleus, SIGMOD 2025, for devices of a gang).
 */
#include "ensemble/manager_state.h"

enum { TIMES = 3 };
#define OFF  0.2624 /* log 1.3 */
#define NEAR 0.14   /* log 1.15 */

int32_t gnti_manager_num_kinds(const gnti_manager *m)
{
    return m->config.num_types + GNTI_MANAGER_MAX_PACES;
}

double gnti_kind_seconds(const gnti_manager *m, const gnti_managed_task *t, int32_t kind)
{
    const gnti_pace *p = kind < m->config.num_types ? NULL : &m->paces[kind - m->config.num_types];

    if (p == NULL)
        return t->seconds[kind];
    return p->users == 0 ? INFINITY : t->seconds[p->type] * exp(p->log_pace);
}

static double log_pace_of(const gnti_manager *m, int32_t kind)
{
    return kind < m->config.num_types ? 0.0 : m->paces[kind - m->config.num_types].log_pace;
}

/* The kind of this pace, or a new one, or the nearest. */
static int32_t find_kind(gnti_manager *m, int32_t type, double log_pace)
{
    int32_t nearest = type, unused = -1;
    double least = fabs(log_pace);

    for (int32_t i = 0; i < GNTI_MANAGER_MAX_PACES; i++) {
        const gnti_pace *p = &m->paces[i];
        const double apart = fabs(p->log_pace - log_pace);

        if (p->users == 0)
            unused = unused < 0 ? i : unused;
        else if (p->type == type && apart < least) {
            least = apart;
            nearest = m->config.num_types + i;
        }
    }
    if (least <= NEAR || unused < 0)
        return nearest;
    m->paces[unused] = (gnti_pace){ .type = type, .log_pace = log_pace };
    return m->config.num_types + unused;
}

static void use_kind(gnti_manager *m, int32_t kind, int32_t change)
{
    if (kind >= m->config.num_types)
        m->paces[kind - m->config.num_types].users += change;
}

void gnti_managed_device_forget(gnti_manager *m, int32_t device)
{
    use_kind(m, m->devices[device].type, -1);
    m->devices[device].type = m->managed[device].type;
    m->managed[device].off_times = 0;
}

static void set_pace(gnti_manager *m, int32_t device, double log_pace)
{
    const int32_t kind = find_kind(m, m->managed[device].type, log_pace);

    if (kind == m->devices[device].type)
        return;
    use_kind(m, kind, 1);
    use_kind(m, m->devices[device].type, -1);
    m->devices[device].type = kind;
    for (int64_t i = 0; i < m->num_active; i++)
        if (m->active[i] >= 0)
            gnti_managed_predict(m, m->tasks[m->active[i]]);
    gnti_manager_plan_now(m);
}

bool gnti_managed_device_is_off(gnti_manager *m, int32_t device, double log_ratio)
{
    gnti_managed_device *d = &m->managed[device];

    if (fabs(log_ratio) < OFF) {
        d->off_times = 0;
        return false;
    }
    if (d->off_times > 0 && (d->off_sum > 0.0) != (log_ratio > 0.0))
        d->off_times = 0;
    d->off_sum = (d->off_times > 0 ? d->off_sum : 0.0) + log_ratio;
    if (++d->off_times >= TIMES) {
        d->off_times = 0;
        set_pace(m, device, log_pace_of(m, m->devices[device].type) + d->off_sum / TIMES);
    }
    return true;
}
