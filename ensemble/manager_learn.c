/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds per epoch, learned from what was measured.
 *
 * Measured: s <- (s + measured) / 2, the first measurement replaces what was given. A measurement on a gang, or on a share of a device,
 * counts by its quotient to what was expected there; when single devices were measured before, a gang tells of the speed-up
 * instead: serial share f from 1 / S = (1 - f) / k + f + c (k - 1).
 * Not measured: given seconds x how far this task is off (over the types where it was measured) x how far the type is off (mean over
 * tasks of log(measured / given)). So one task's epoch on a new device tells what all others will take there.
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
        return t->seconds[m->devices[seat->device[0]].type] / share;
    rate = gnti_place_rate(&in, 0, seat->device, seat->num);
    return rate > 0.0 ? 1.0 / (rate * share) : INFINITY;
}

/* What a type's first measurement of a task says about the type. */
static void learn_type(gnti_manager *m, int32_t type, double log_ratio)
{
    const double count = m->type_count[type], weight = 1.0 / (count + 1.0);
    const double moved = (weight > 0.05 ? weight : 0.05) * (log_ratio - m->type_log[type]);

    m->type_log[type] += moved;
    m->type_count[type] = count + 1.0;
    m->types_moved = m->types_moved || fabs(moved) > 0.01;
}

/* The gang is as fast as it should be when single devices are and the serial share is right. */
static void learn_serial(gnti_managed_task *t, int32_t num, double ratio)
{
    const double k = num, c = t->terms.overhead;
    const double inverse = (1.0 - t->terms.serial) / k + t->terms.serial + c * (k - 1.0);
    const double serial = (inverse * ratio - 1.0 / k - c * (k - 1.0)) / (1.0 - 1.0 / k);
    const double mean = KEEP * t->terms.serial + (1.0 - KEEP) * serial;

    t->terms.serial = mean < 0.0 ? 0.0 : mean > 1.0 ? 1.0 : mean;
}

/* Each type of the seat has been measured. */
static bool is_known(const gnti_manager *m, const gnti_managed_task *t)
{
    for (int32_t i = 0; i < t->held.num; i++)
        if (t->measured[m->devices[t->held.device[i]].type] <= 0.0)
            return false;
    return true;
}

static bool was_told(const gnti_manager *m, const gnti_seat *seat, int32_t i)
{
    for (int32_t j = 0; j < i; j++)
        if (m->devices[seat->device[j]].type == m->devices[seat->device[i]].type)
            return true;
    return false;
}

static void learn_seconds(gnti_manager *m, gnti_managed_task *t, double ratio)
{
    for (int32_t i = 0; i < t->held.num; i++) {
        const int32_t type = m->devices[t->held.device[i]].type;
        const bool first = t->measured[type] <= 0.0;
        const double fresh = t->seconds[type] * ratio;

        if (was_told(m, &t->held, i) || !isfinite(fresh))
            continue;
        t->seconds[type] = first ? fresh : KEEP * t->seconds[type] + (1.0 - KEEP) * fresh;
        t->measured[type] += 1.0;
        if (first)
            learn_type(m, type, log(fresh / t->profile[type]));
    }
}

/* A plan that stands on other seconds than these may be worth making anew, but not at every epoch: a hundredth of what is left is
 * the least time between two. */
static void note_drift(gnti_manager *m, gnti_managed_task *t)
{
    const double seconds = gnti_managed_epoch(m, t, &t->held), off = seconds / t->planned_seconds;
    double gap = 0.01 * m->planned_finish;

    if (off < 1.25 && off > 0.8 && !m->types_moved)
        return;
    t->planned_seconds = seconds;
    gap = isfinite(gap) && gap > 0.0 ? gap : 0.0;
    if (!isfinite(m->drift_at))
        m->drift_at = m->planned_at + gap > m->now ? m->planned_at + gap : m->now;
}

void gnti_managed_learn(gnti_manager *m, gnti_managed_task *t, double seconds)
{
    const double expected = gnti_managed_epoch(m, t, &t->held), ratio = seconds / expected;

    if (!(seconds > 0.0) || !isfinite(seconds) || !isfinite(expected) || !(ratio > 0.0))
        return;
    if (t->held.num > 1 && is_known(m, t))
        learn_serial(t, t->held.num, ratio);
    else
        learn_seconds(m, t, ratio);
    gnti_managed_predict(m, t);
    note_drift(m, t);
}

/* Mean over the types where it is known of log(learned / given), the type's own share taken out. */
static double own_log(const gnti_manager *m, const gnti_managed_task *t)
{
    double sum = 0.0, count = 0.0;

    for (int32_t k = 0; k < m->config.num_types; k++)
        if (t->measured[k] > 0.0) {
            sum += log(t->seconds[k] / t->profile[k]) - m->type_log[k];
            count += 1.0;
        }
    return count > 0.0 ? sum / count : 0.0;
}

void gnti_managed_predict(const gnti_manager *m, gnti_managed_task *t)
{
    const double own = own_log(m, t);
    double sum = 0.0, count = 0.0;

    for (int32_t k = 0; k < m->config.num_types; k++)
        if (m->type_count[k] > 0.0) {
            sum += m->type_log[k];
            count += 1.0;
        }
    for (int32_t k = 0; k < m->config.num_types; k++) {
        const double of_type = m->type_count[k] > 0.0 ? m->type_log[k] : count > 0.0 ? sum / count : 0.0;

        if (t->measured[k] <= 0.0)
            t->seconds[k] = t->profile[k] * exp(own + of_type);
    }
}
