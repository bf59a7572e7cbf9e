/* SPDX-License-Identifier: Apache-2.0 */
/* Shortest remaining first, for the mean completion time.
 *
 * Tasks of one device: the shortest on the fastest devices (SRPT). Tasks that speed up over several as s(k) = k^p: of m tasks the i-th
 * by remaining work, longest first, gets (i/m)^(1/(1-p)) - ((i-1)/m)^(1/(1-p)) of all devices (heSRPT: Berg, Vesilo, Harchol-Balter,
 * 2020); p is fitted to each task's curve at the most devices that it may have. Running tasks count as shorter by the share `gain` and
 * keep what they hold while that is within a quarter of what they should have, so that close ones do not push each other out.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define MOST_POWER 0.95
#define DEAD_BAND  0.25

/* The exponent of its speed-up at the most devices that it may have, 0: it has one at most. */
static double power_of(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int32_t k = t->max_devices < s->num_present ? t->max_devices : s->num_present;

    if (k < 2)
        return 0.0;
    return fmin(MOST_POWER, fmax(0.0, log(gnti_gang_speed(t, k, 1.0, k)) / log(k)));
}

static double remaining(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double left = s->best[task] * s->need[task];

    if (t->num_held > 0)
        left *= 1.0 - s->gain;
    return left;
}

/* 1 / (1 - p) for the mean exponent of the line. */
static double share_exponent(const gnti_placing *s, int32_t num)
{
    double power = 0.0, last = 0.0;
    const gnti_place_task *like = NULL;

    for (int32_t i = 0; i < num; i++) {
        const gnti_place_task *t = &s->in->tasks[s->order[i]];

        if (like == NULL || t->serial != like->serial || t->overhead != like->overhead ||
            t->max_devices != like->max_devices)
            last = power_of(s, s->order[i]);
        like = t;
        power += last;
    }
    return num > 0 ? 1.0 / (1.0 - power / num) : 1.0;
}

/* Devices that the n-th longest of num should have. */
static double share_of(const gnti_placing *s, int32_t task, int32_t n, int32_t num, double exponent)
{
    const double share = pow((double)n / num, exponent) - pow((double)(n - 1) / num, exponent);
    const double most = fmin(s->in->tasks[task].max_devices, s->num_present);

    return fmax(s->need[task], fmin(most, floor(share * s->num_present + 0.5)));
}

/* What it holds is near enough to what it should have and as fast as what is left. */
static bool may_stay(const gnti_placing *s, int32_t task, double want, const int32_t *left)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double slowest = INFINITY, sum = 0.0, best = 0.0;

    for (int32_t i = 0; i < t->num_held; i++) {
        const int32_t cls = s->class_of[t->held[i]];
        const double speed = cls >= 0 ? gnti_placing_speed(s, task, cls) : 0.0;

        if (cls < 0 || s->owner[t->held[i]] >= 0 || left[cls] <= 0 || speed == 0.0)
            return false;
        slowest = fmin(slowest, speed);
        sum += speed;
    }
    for (int32_t c = 0; c < s->num_classes; c++)
        if (left[c] > 0 && gnti_placing_holds(s, task, c, want > 1.0 ? 1.0 / want : 1.0))
            best = fmax(best, gnti_placing_speed(s, task, c));
    return t->num_held > 0 && fabs(t->num_held - want) <= fmax(want > 1.0, DEAD_BAND * want) &&
           sum / t->num_held >= best * (1.0 - s->gain);
}

/* The class on whose devices it is fastest, as many as it wants of those that shorter ones have left. */
static gnti_class_choice choose(const gnti_placing *s, int32_t task, double want, const int32_t *left)
{
    gnti_class_choice best = { 0, 0 };
    double most = 0.0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const double speed = gnti_placing_speed(s, task, c);
        const int32_t fewest = speed > 0.0 ? gnti_placing_fewest(s, task, c) : 0;
        const int32_t k = left[c] < (int32_t)want ? left[c] : (int32_t)want;
        const double gang =
            fewest > 0 && k >= fewest ? gnti_gang_speed(&s->in->tasks[task], speed * k, speed, k) : 0.0;

        if (gang > most) {
            most = gang;
            best = (gnti_class_choice){ c, k };
        }
    }
    return best;
}

static gnti_class_choice decide(const gnti_placing *s, int32_t task, double want, int32_t *left)
{
    const gnti_place_task *t = &s->in->tasks[task];
    gnti_class_choice c;

    if (may_stay(s, task, want, left)) {
        for (int32_t i = 0; i < t->num_held; i++)
            left[s->class_of[t->held[i]]]--;
        return (gnti_class_choice){ -1, t->num_held };
    }
    c = choose(s, task, want, left);
    if (c.width > 0)
        left[c.cls] -= c.width;
    return c;
}

gnt_status gnti_place_shortest(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    gnti_class_choice *choice = NULL;
    int32_t *left = NULL, num, from, free = s->num_present;
    double exponent;

    GNT_TRY(gnti_alloc_array(&choice, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&left, s->num_classes));
    for (int32_t c = 0; c < s->num_classes; c++)
        left[c] = s->classes[c].num;
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, remaining(s, t));
    num = gnti_placing_line(s);
    exponent = share_exponent(s, num);
    for (from = num; from > 0 && free > 0; from--) {
        const int32_t task = gnti_place_pop(s->order, from, s->key);

        choice[from - 1] = decide(s, task, share_of(s, task, from, num, exponent), left);
        free -= choice[from - 1].width;
    }
    GNT_TRY(gnti_placing_settle(s, from, num, choice));
    GNT_TRY(gnti_placing_list(s, gnti_placing_line(s), s->in->num_tasks <= GNTI_PLACE_FEW));
    GNT_TRY(gnti_placing_grow(s, false));
done:
    gnti_free(choice);
    gnti_free(left);
    return st;
}
