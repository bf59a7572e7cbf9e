/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest remaining first, for the mean completion time.
 *
 * The shortest goes first where it ends first. A running task is pushed out by a waiting one only if it has
 * PUSH times as much left, so each is pushed out a few times at most however well or badly its length is
 * known, and the mean stays within a constant of SRPT's. Where tasks are fewer than devices, those that
 * speed up over several as s(k) = k^p: of m tasks the i-th by remaining work, longest first, should have
 * (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) of all devices (heSRPT: Berg, Vesilo, Harchol-Balter, 2020); p is
 * fitted to each curve at the most devices that it may have, and idle devices go to the shortest first, up
 * to that.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define MOST_POWER 0.95

/* The exponent of its speed-up at the most devices that it may have, 0: it has one at most. */
static double power_of(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int32_t k = t->max_devices < s->num_present ? t->max_devices : s->num_present;

    if (k < 2)
        return 0.0;
    return fmin(MOST_POWER, fmax(0.0, log(gnti_gang_speed(t, k, 1.0, k)) / log(k)));
}

/* 1 / (1 - p) for the mean exponent of the line. */
static double share_exponent(const gnti_placing *s, const int32_t *item, int32_t num)
{
    double power = 0.0, last = 0.0;
    const gnti_place_task *like = NULL;

    for (int32_t i = 0; i < num; i++) {
        const gnti_place_task *t = &s->in->tasks[item[i]];

        if (like == NULL || t->serial != like->serial || t->overhead != like->overhead ||
            t->max_devices != like->max_devices)
            last = power_of(s, item[i]);
        like = t;
        power += last;
    }
    return num > 0 ? 1.0 / (1.0 - power / num) : 1.0;
}

/* Devices that the n-th longest of num should have at most: idle ones go to the shortest first, up to that. */
static int32_t share_of(const gnti_placing *s, int32_t task, int32_t n, int32_t num, double exponent)
{
    const double share = pow((double)n / num, exponent) - pow((double)(n - 1) / num, exponent);
    const double most = fmin(s->in->tasks[task].max_devices, floor(share * s->num_present + 0.5));

    return (int32_t)fmax(s->need[task], most);
}

/* The most devices that each may grow to. */
static gnt_status limit(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    int32_t *item = NULL, num = 0;
    double exponent;

    GNT_TRY(gnti_alloc_array(&item, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->need[t] > 0)
            item[num++] = t;
    exponent = share_exponent(s, item, num);
    gnti_place_heapify(item, num, s->key);
    for (int32_t n = num; n > 0; n--) {
        const int32_t task = gnti_place_pop(item, n, s->key); /* the n-th longest */

        s->most[task] = share_of(s, task, n, num, exponent);
    }
done:
    gnti_free(item);
    return st;
}

gnt_status gnti_place_shortest(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    bool *leaves = NULL;
    double *cost = NULL;
    int32_t num;

    GNT_TRY(gnti_alloc_array(&leaves, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&cost, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        cost[t] = s->best[t] * s->need[t];
        gnti_placing_rank(s, t, cost[t]);
    }
    gnti_placing_keep_all(s, NULL);
    gnti_placing_shrink(s);
    GNT_TRY(gnti_placing_push(s, cost, gnti_placing_num_idle(s), leaves));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (leaves[t])
            gnti_placing_drop(s, t);
    num = gnti_placing_line(s);
    GNT_TRY(gnti_placing_list(s, num, num <= GNTI_PLACE_FEW));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] == 0 && s->queued[t] >= 0)
            s->key[t] = -s->start[t]; /* who waits longest gets furthest meanwhile */
    GNT_TRY(gnti_placing_borrow(s));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, cost[t]);
    if (gnti_placing_num_idle(s) > 0) {
        GNT_TRY(limit(s));
        GNT_TRY(gnti_placing_grow(s, false));
    }
done:
    gnti_free(leaves);
    gnti_free(cost);
    return st;
}
