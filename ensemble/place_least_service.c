/* SPDX-License-Identifier: Apache-2.0 */
/* Least attained service, blind to types: in each round the devices go to those who had fewest
 * device-seconds (as Tiresias, NSDI 2019, does without its queues), whoever it is to the next device by
 * number that can run it. What max-min over types is compared with.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

/* The next idle devices of one class, or the next idle device, that hold it. */
static void take_next(gnti_placing *s, int32_t task)
{
    for (int32_t d = 0; d < s->in->num_devices; d++) {
        const int32_t cls = s->class_of[d];
        const int32_t k = cls >= 0 && s->owner[d] < 0 ? gnti_placing_fewest(s, task, cls) : 0;
        int32_t idle = 0;

        for (int32_t e = d; k > 0 && e < s->in->num_devices && idle < k; e++)
            idle += s->class_of[e] == cls && s->owner[e] < 0;
        if (k == 0 || idle < k)
            continue;
        for (int32_t e = d; s->width[task] < k; e++)
            if (s->class_of[e] == cls && s->owner[e] < 0)
                gnti_placing_give(s, task, e);
        return;
    }
}

gnt_status gnti_place_least_service(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    int32_t num, first, left = s->num_present;

    if (s->in->in_round)
        gnti_placing_keep_all(s, NULL);
    left = gnti_placing_num_idle(s);
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, gnti_placing_service(s, t));
    num = gnti_placing_line(s);
    gnti_place_heapify(s->order, num, s->key);
    for (first = num; first > 0 && left > 0; first--)
        left -= s->need[gnti_place_pop(s->order, first, s->key)];
    for (int32_t i = num - 1; i >= first; i--)
        if (s->in->tasks[s->order[i]].num_held > 0)
            gnti_placing_keep(s, s->order[i]);
    for (int32_t i = num - 1; i >= first; i--)
        if (s->width[s->order[i]] == 0)
            take_next(s, s->order[i]);
    GNT_TRY(gnti_placing_list(s, gnti_placing_line(s), s->in->num_tasks <= GNTI_PLACE_FEW));
    GNT_TRY(gnti_placing_borrow(s)); /* a turn is a round: nobody waits for another to end */
done:
    return st;
}
