/* SPDX-License-Identifier: Apache-2.0 */
/* One plan: the policy decides who owns what, guests fill what is left, and both are written down device by device.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

double gnti_placing_finish(const gnti_placing *s)
{
    double last = 0.0, waiting = 0.0, speed = 0.0;

    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        if (s->need[t] == 0)
            return INFINITY;
        if (isfinite(s->finish[t]))
            last = fmax(last, s->finish[t]);
        else
            waiting += s->best[t] * s->need[t];
    }
    for (int32_t d = 0; d < s->in->num_devices; d++)
        if (s->class_of[d] >= 0) {
            speed += 1.0;
            waiting += waiting > 0.0 && s->owner[d] >= 0 ? s->finish[s->owner[d]] : 0.0;
        }
    return fmax(last, speed > 0.0 ? waiting / speed : 0.0);
}

gnt_status gnti_placing_write(const gnti_placing *s, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;
    const int32_t num = s->in->num_tasks;
    gnti_place_plan p = { .finish = gnti_placing_finish(s) };

    GNT_TRY(gnti_calloc_array(&p.first, (int64_t)num + 1));
    for (int32_t t = 0; t < num; t++)
        p.first[t + 1] = p.first[t] + s->width[t] + (s->guest[t] >= 0);
    GNT_TRY(gnti_alloc_array(&p.device, p.first[num]));
    GNT_TRY(gnti_alloc_array(&p.share, p.first[num]));
    GNT_TRY(gnti_alloc_array(&p.lane, p.first[num]));
    GNT_TRY(gnti_alloc_array(&p.guest, num));
    for (int32_t t = 0; t < num; t++)
        p.guest[t] = s->guest[t] >= 0;
    for (int32_t d = 0; d < s->in->num_devices; d++) {
        const int32_t owner = s->owner[d];

        if (owner < 0)
            continue;
        p.device[p.first[owner]] = d; /* first moves on, and is put right below */
        p.share[p.first[owner]] = s->width[owner] == 1 ? s->share[owner] : 1.0;
        p.lane[p.first[owner]++] = s->width[owner] == 1 ? s->lane[owner] : 0;
    }
    for (int32_t t = num - 1; t >= 0; t--) {
        p.first[t] -= s->width[t];
        if (s->guest[t] >= 0) {
            p.device[p.first[t]] = s->guest[t];
            p.share[p.first[t]] = s->share[t];
            p.lane[p.first[t]] = s->lane[t];
        }
    }
    *plan = p;
    p = (gnti_place_plan){ 0 };
done:
    gnti_place_plan_free(&p);
    return st;
}

void gnti_place_plan_free(gnti_place_plan *plan)
{
    gnti_free(plan->first);
    gnti_free(plan->device);
    gnti_free(plan->share);
    gnti_free(plan->lane);
    gnti_free(plan->guest);
    *plan = (gnti_place_plan){ 0 };
}

gnt_status gnti_place_once(const gnti_place_input *in, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;
    gnti_placing s = { 0 };
    static gnt_status (*const policy[GNTI_NUM_POLICIES])(gnti_placing *) = {
        [GNTI_POLICY_MAKESPAN] = gnti_place_makespan, [GNTI_POLICY_FIRST_COME] = gnti_place_first_come,
        [GNTI_POLICY_SHORTEST] = gnti_place_shortest, [GNTI_POLICY_MAX_MIN] = gnti_place_max_min,
        [GNTI_POLICY_ENERGY] = gnti_place_energy,     [GNTI_POLICY_LEAST_SERVICE] = gnti_place_least_service,
    };

    *plan = (gnti_place_plan){ 0 };
    GNT_TRY(gnti_placing_open(&s, in));
    GNT_CHECK(policy[in->policy] != NULL, GNT_ERR_UNSUPPORTED, "policy %d is not built yet", (int)in->policy);
    GNT_TRY(policy[in->policy](&s));
    GNT_TRY(gnti_placing_guests(&s));
    GNT_TRY(gnti_placing_write(&s, plan));
done:
    gnti_placing_close(&s);
    return st;
}

gnt_status gnti_place(const gnti_place_input *in, gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_place_once(in, plan));
    if (in->num_tasks > 0 && in->num_tasks <= GNTI_PLACE_FEW)
        GNT_TRY(gnti_place_steady(in, plan));
done:
    return st;
}

bool gnti_place_fits(const gnti_place_input *in, int32_t task)
{
    gnti_place_input one = *in;
    gnti_placing s = { 0 };
    bool fits;

    one.tasks = &in->tasks[task];
    one.num_tasks = 1;
    fits = gnti_placing_open(&s, &one) == GNT_OK && s.need[0] > 0;
    gnti_placing_close(&s);
    return fits;
}

double gnti_place_rate(const gnti_place_input *in, int32_t task, const int32_t *devices, int32_t num)
{
    const gnti_place_task *t = &in->tasks[task];
    double sum = 0.0, fastest = 0.0;

    for (int32_t i = 0; i < num; i++) {
        const double seconds = t->seconds[in->devices[devices[i]].type];

        if (!in->devices[devices[i]].present || !isfinite(seconds))
            return 0.0;
        sum += 1.0 / seconds;
        fastest = fmax(fastest, 1.0 / seconds);
    }
    return num > 0 ? gnti_gang_speed(t, sum, fastest, num) : 0.0;
}
