/* SPDX-License-Identifier: Apache-2.0 */
/* Until placement itself is here: a task a device, first come, running ones stay. Weak, so that what comes takes its place.
 */
#include "base/alloc.h"
#include "ensemble/place.h"

#include <math.h>

#define WEAK __attribute__((weak))

static bool can_run(const gnti_place_input *in, int32_t task, int32_t d)
{
    const gnti_place_task *t = &in->tasks[task];
    const gnti_place_device *p = &in->devices[d];

    return p->present && isfinite(t->seconds[p->type]) &&
           (p->bytes == 0 || t->shared_bytes + t->lasting_bytes + t->scratch_bytes <= p->bytes);
}

WEAK bool gnti_place_fits(const gnti_place_input *in, int32_t task)
{
    for (int32_t d = 0; d < in->num_devices; d++)
        if (can_run(in, task, d))
            return true;
    return false;
}

WEAK double gnti_place_rate(const gnti_place_input *in, int32_t task, const int32_t *devices, int32_t num)
{
    const gnti_place_task *t = &in->tasks[task];
    const double k = num;
    double rate = 0.0;

    for (int32_t i = 0; i < num; i++)
        rate += 1.0 / t->seconds[in->devices[devices[i]].type];
    return rate / k / ((1.0 - t->serial) / k + t->serial + t->overhead * (k - 1.0));
}

WEAK gnti_place_need gnti_place_bytes(const gnti_place_input *in, int32_t task, const int32_t *devices,
                                      int32_t num, int32_t at)
{
    (void)devices, (void)num, (void)at;
    return (gnti_place_need){ in->tasks[task].shared_bytes, in->tasks[task].lasting_bytes,
                              in->tasks[task].scratch_bytes };
}

WEAK double gnti_place_lower_bound(const gnti_place_input *in)
{
    (void)in;
    return 0.0;
}

WEAK void gnti_place_plan_free(gnti_place_plan *p)
{
    gnti_free(p->first);
    gnti_free(p->device);
    gnti_free(p->share);
    gnti_free(p->lane);
    *p = (gnti_place_plan){ 0 };
}

WEAK gnt_status gnti_place(const gnti_place_input *in, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;
    gnti_place_plan p = { 0 };
    bool *taken = NULL;
    int32_t n = 0;

    for (int32_t i = 0; i < in->num_tasks; i++)
        GNT_CHECK(gnti_place_fits(in, i), GNT_ERR_NOMEM, "task %lld fits no device",
                  (long long)in->tasks[i].id);
    GNT_TRY(gnti_calloc_array(&taken, in->num_devices + 1));
    GNT_TRY(gnti_calloc_array(&p.first, (int64_t)in->num_tasks + 1));
    GNT_TRY(gnti_calloc_array(&p.device, in->num_devices + 1));
    GNT_TRY(gnti_calloc_array(&p.share, in->num_devices + 1));
    GNT_TRY(gnti_calloc_array(&p.lane, in->num_devices + 1));
    for (int32_t i = 0; i < in->num_tasks; i++)
        if (in->tasks[i].num_held > 0 && can_run(in, i, in->tasks[i].held[0]))
            taken[in->tasks[i].held[0]] = true;
    for (int32_t i = 0; i < in->num_tasks; i++) {
        int32_t d =
            in->tasks[i].num_held > 0 && can_run(in, i, in->tasks[i].held[0]) ? in->tasks[i].held[0] : 0;

        if (in->tasks[i].num_held == 0 || d != in->tasks[i].held[0])
            for (d = 0; d < in->num_devices && (taken[d] || !can_run(in, i, d));)
                d++;
        if (d < in->num_devices) {
            taken[d] = true;
            p.device[n] = d;
            p.share[n++] = 1.0;
        }
        p.first[i + 1] = n;
    }
    p.finish = INFINITY;
    *plan = p;
    p = (gnti_place_plan){ 0 };
done:
    gnti_place_plan_free(&p);
    gnti_free(taken);
    return st;
}
