/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds per epoch, learned from what was measured.
 *
 * Measured: s <- (s + measured) / 2, the first measurement replaces what was given. On a share of a device a measurement counts by its
 * quotient to what was expected there. On a gang it tells of the types that were not measured yet; when all were, of the serial share f:
 *   T = (1 - f) / sum r + (f + c (k - 1)) / max r,   r = 1 / seconds of each device
 * Not measured: given seconds x how far this task is off (over the types where it was measured, else as all are) x how far the type is
 * (manager_belief.c). So one task's epoch on a new device tells what all others will take there.
 */
#include "ensemble/manager_state.h"

static const double KEEP = 0.5;

double gnti_managed_epoch(const gnti_manager *m, const gnti_managed_task *t, const gnti_seat *seat)
{
    const gnti_place_input in = gnti_managed_alone(m, t);
    double share = 1.0, rate;

    if (seat->num == 0)
        return INFINITY;
    for (int32_t i = 0; i < seat->num; i++)
        share = seat->share[i] < share ? seat->share[i] : share;
    if (seat->num == 1)
        return t->planned[m->devices[seat->device[0]].type] / share;
    rate = gnti_place_rate(&in, 0, seat->device, seat->num);
    return rate > 0.0 ? 1.0 / (rate * share) : INFINITY;
}

/* Where the task was measured, other than on this type; -1: nowhere. */
static int32_t other_type(const gnti_manager *m, const gnti_managed_task *t, int32_t type)
{
    int32_t found = -1;

    for (int32_t k = 0; k < m->config.num_types; k++)
        if (k != type && t->measured[k] > 0.0 && (found < 0 || t->measured[k] > t->measured[found]))
            found = k;
    return found;
}

static double off_by(const gnti_managed_task *t, int32_t type)
{
    return log(t->seconds[type] / t->profile[type]);
}

/* The first epoch of a task on a type is news of the type. */
static void tell_belief(gnti_manager *m, const gnti_managed_task *t, int32_t type)
{
    const int32_t other = other_type(m, t, type);
    const double change =
        other < 0 ? gnti_belief_tell(&m->belief, type, off_by(t, type))
                  : gnti_belief_compare(&m->belief, type, other, off_by(t, type) - off_by(t, other));

    m->types_moved = m->types_moved || change > 0.02;
}

static void learn_device(gnti_manager *m, gnti_managed_task *t, double ratio)
{
    const int32_t device = t->held.device[0], type = m->managed[device].type;
    const bool first = t->measured[type] < 1.0;
    const double fresh = t->seconds[type] * ratio;

    if (!first && gnti_managed_device_is_off(m, device, log(ratio)))
        return;
    t->seconds[type] = first ? fresh : KEEP * t->seconds[type] + (1.0 - KEEP) * fresh;
    t->measured[type] += 1.0;
    if (first)
        tell_belief(m, t, type);
}

/* True when a type of the gang had not been measured; it is taken to be what makes the difference. */
static bool learn_types(const gnti_manager *m, gnti_managed_task *t, double ratio)
{
    bool any = false;

    for (int32_t i = 0; i < t->held.num; i++) {
        const int32_t type = m->managed[t->held.device[i]].type;

        if (t->measured[type] > 0.0)
            continue;
        t->seconds[type] *= ratio;
        t->measured[type] = 1e-3; /* less than an epoch of its own, which would replace it */
        any = true;
    }
    return any;
}

static void learn_serial(const gnti_manager *m, gnti_managed_task *t, double seconds)
{
    double sum = 0.0, fastest = 0.0, share = 1.0, serial;

    for (int32_t i = 0; i < t->held.num; i++) {
        const double r = 1.0 / t->planned[m->devices[t->held.device[i]].type];

        sum += r;
        fastest = r > fastest ? r : fastest;
        share = t->held.share[i] < share ? t->held.share[i] : share;
    }
    serial = (seconds * share - 1.0 / sum - t->terms.overhead * (t->held.num - 1) / fastest) /
             (1.0 / fastest - 1.0 / sum);
    serial = KEEP * t->terms.serial + (1.0 - KEEP) * serial;
    if (isfinite(serial))
        t->terms.serial = serial < 0.0 ? 0.0 : serial > 1.0 ? 1.0 : serial;
}

/* A plan that stands on other seconds than these may be worth making anew, but not at every epoch: a hundredth of what is left is
 * the least time between two. */
static void note_drift(gnti_manager *m, gnti_managed_task *t)
{
    const double seconds = gnti_managed_epoch(m, t, &t->held), off = seconds / t->planned_seconds;

    if (off < 1.25 && off > 0.8 && !m->types_moved)
        return;
    t->planned_seconds = seconds;
    gnti_manager_plan_soon(m, 0.01);
}

void gnti_managed_learn(gnti_manager *m, gnti_managed_task *t, double seconds)
{
    const double expected = gnti_managed_epoch(m, t, &t->held), ratio = seconds / expected;

    if (!(seconds > 0.0) || !isfinite(seconds) || !isfinite(expected) || !(ratio > 0.0) || !isfinite(ratio))
        return;
    if (t->held.num == 1)
        learn_device(m, t, ratio);
    else if (!learn_types(m, t, ratio))
        learn_serial(m, t, seconds);
    gnti_managed_predict(m, t);
    note_drift(m, t);
}

/* No news makes a prediction zero or infinite. */
static double limit(double logarithm)
{
    return logarithm < -100.0 ? -100.0 : logarithm > 100.0 ? 100.0 : logarithm;
}

void gnti_managed_predict(const gnti_manager *m, gnti_managed_task *t)
{
    double sum = 0.0, count = 0.0, own;

    for (int32_t k = 0; k < m->config.num_types; k++)
        if (t->measured[k] > 0.0) {
            sum += off_by(t, k) - gnti_belief_type(&m->belief, k);
            count += 1.0;
        }
    own = count > 0.0 ? sum / count : gnti_belief_level(&m->belief);
    for (int32_t k = 0; k < m->config.num_types; k++)
        if (t->measured[k] <= 0.0)
            t->seconds[k] = t->profile[k] * exp(limit(own + gnti_belief_type(&m->belief, k)));
    for (int32_t k = 0; k < gnti_manager_num_kinds(m); k++)
        t->planned[k] = gnti_kind_seconds(m, t, k);
}
