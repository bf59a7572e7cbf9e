/* SPDX-License-Identifier: Apache-2.0 */
/* What no schedule beats: a lower bound of the makespan.
 *
 * Give a second on type t any price y_t > 0. Task j, which keeps a share u_j of a device busy, pays at least
 * e_j u_j min_t y_t s_jt (an epoch takes s_jt seconds on type t, and a gang is never more efficient than its
 * devices alone), and C seconds of all devices are worth C sum_d y_t(d), so
 *   C >= sum_j e_j u_j min_t (y_t s_jt) / sum_d y_t(d)
 * for each price; related devices meet it with y_t = 1 / s_jt. Tried are the mean speeds of all tasks and
 * the speeds of single ones. The other bound is the longest task on the fastest devices that it may have.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define MOST_PRICES 8

typedef struct bound_run {
    const gnti_place_input *in;
    int32_t *count; /* (num_types) present */
    double *price;  /* (num_types) */
} bound_run;

static double work_bound(const bound_run *b)
{
    const gnti_place_input *in = b->in;
    double value = 0.0, work = 0.0;

    for (int32_t t = 0; t < in->num_types; t++)
        value += b->count[t] * b->price[t];
    for (int32_t j = 0; j < in->num_tasks; j++) {
        double least = INFINITY;

        for (int32_t t = 0; t < in->num_types; t++)
            if (b->count[t] > 0 && isfinite(in->tasks[j].seconds[t]))
                least = fmin(least, b->price[t] * in->tasks[j].seconds[t]);
        if (isfinite(least))
            work += in->tasks[j].epochs_left * least * (in->tasks[j].use > 0.0 ? in->tasks[j].use : 1.0);
    }
    return value > 0.0 ? work / value : 0.0;
}

/* The fastest devices first: the more, the faster, until overhead eats what one more brings. */
static double longest_bound(const bound_run *b, const gnti_place_task *task)
{
    const gnti_place_input *in = b->in;
    double sum = 0.0, fastest = 0.0, best = 0.0, last = INFINITY;
    int32_t k = 0;

    for (;;) {
        double next = 0.0;
        int32_t type = -1;

        for (int32_t t = 0; t < in->num_types; t++)
            if (b->count[t] > 0 && 1.0 / task->seconds[t] < last && 1.0 / task->seconds[t] > next) {
                next = 1.0 / task->seconds[t];
                type = t;
            }
        if (type < 0 || k >= task->max_devices)
            break;
        last = next;
        fastest = fmax(fastest, next);
        for (int32_t t = type; t < in->num_types; t++) /* types of equal speed */
            for (int32_t i = 0; 1.0 / task->seconds[t] == next && i < b->count[t] && k < task->max_devices;
                 i++) {
                sum += next;
                k++;
                best = fmax(best, gnti_gang_speed(task, sum, fastest, k));
            }
    }
    return best > 0.0 ? task->epochs_left / best : 0.0;
}

/* How fast the types are beside each task's best one, on average. */
static void mean_prices(bound_run *b)
{
    const gnti_place_input *in = b->in;

    for (int32_t j = 0; j < in->num_tasks; j++) {
        double least = INFINITY;

        for (int32_t t = 0; t < in->num_types; t++)
            least = b->count[t] > 0 ? fmin(least, in->tasks[j].seconds[t]) : least;
        for (int32_t t = 0; isfinite(least) && t < in->num_types; t++)
            b->price[t] += least / in->tasks[j].seconds[t];
    }
}

gnt_status gnti_placing_bound(const gnti_place_input *in, double *out)
{
    gnt_status st = GNT_OK;
    bound_run b = { .in = in };
    double bound = 0.0;

    GNT_TRY(gnti_calloc_array(&b.count, in->num_types));
    GNT_TRY(gnti_calloc_array(&b.price, in->num_types));
    for (int32_t d = 0; d < in->num_devices; d++)
        if (in->devices[d].present)
            b.count[in->devices[d].type]++;
    for (int32_t j = 0; j < in->num_tasks; j++)
        bound = fmax(bound, longest_bound(&b, &in->tasks[j]));
    mean_prices(&b);
    bound = fmax(bound, work_bound(&b));
    for (int32_t i = 0; i < MOST_PRICES && in->num_tasks > 0 && in->num_tasks <= GNTI_PLACE_FEW; i++) {
        const gnti_place_task *task = &in->tasks[(int64_t)i * in->num_tasks / MOST_PRICES];

        for (int32_t t = 0; t < in->num_types; t++)
            b.price[t] = isfinite(task->seconds[t]) ? 1.0 / task->seconds[t] : 0.0;
        bound = fmax(bound, work_bound(&b));
    }
    *out = bound;
done:
    gnti_free(b.count);
    gnti_free(b.price);
    return st;
}

double gnti_place_lower_bound(const gnti_place_input *in)
{
    double bound;

    return gnti_placing_bound(in, &bound) == GNT_OK ? bound : 0.0;
}
