/* SPDX-License-Identifier: Apache-2.0 */
/* Idle devices run tasks that wait for others.
 *
 * A task whose turn on a device that takes r seconds for an epoch comes in w seconds does floor(w / s)
 * epochs on an idle one that takes s for each, which saves r each. Its move loses switch_epochs, and the
 * other device waits half an epoch of s for it: what remains is gained. The next plan finds it there, and
 * sends it on when its device is idle.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define MOST_LOOKED 64 /* waiting tasks that are asked whether they hold a device */

static bool is_worth(const gnti_placing *s, int32_t task, int32_t device)
{
    const double there = 1.0 / gnti_placing_speed(s, task, s->class_of[s->queued[task]]);
    const double speed = gnti_placing_speed(s, task, s->class_of[device]), here = 1.0 / speed;

    return speed > 0.0 && gnti_placing_holds(s, task, s->class_of[device], 1.0) &&
           floor(s->start[task] / here) * there > s->in->tasks[task].switch_epochs * there + 0.5 * here;
}

/* The first in the heap's top for which it is worth a try; the one that holds the device before all. -1: none. */
static int32_t borrowable(const gnti_placing *s, int32_t device, const int32_t *item, int32_t num)
{
    int32_t at = -1;

    for (int32_t i = 0; i < num && i < MOST_LOOKED; i++) {
        const gnti_place_task *t = &s->in->tasks[item[i]];
        const bool holds = t->num_held == 1 && t->held[0] == device;

        if ((at < 0 || holds || s->key[item[i]] < s->key[item[at]]) && is_worth(s, item[i], device))
            at = i;
        if (holds && at == i)
            break;
    }
    return at;
}

gnt_status gnti_placing_borrow(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    int32_t *item = NULL, num = 0, idle = gnti_placing_num_idle(s);

    if (idle == 0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&item, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        if (s->width[t] == 0 && s->queued[t] >= 0 && s->need[t] == 1)
            item[num++] = t;
    gnti_place_heapify(item, num, s->key);
    for (int32_t d = 0; num > 0 && idle > 0 && d < s->in->num_devices; d++) {
        if (s->class_of[d] < 0 || s->owner[d] >= 0 || s->hole[d] > 0.0)
            continue;
        const int32_t at = borrowable(s, d, item, num);

        idle--;
        if (at < 0)
            continue;
        const int32_t task = item[at];
        const double finish = s->finish[task];

        item[at] = item[--num];
        gnti_place_heapify(item, num, s->key);
        gnti_placing_give(s, task, d);
        s->finish[task] = fmin(finish, gnti_placing_left(s, task));
    }
done:
    gnti_free(item);
    return st;
}
