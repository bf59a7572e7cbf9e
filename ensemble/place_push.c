/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits may push out who runs, if that one has PUSH times as much left: each is pushed out a few times
 * at most, however badly its length is known, and the mean completion stays within a constant of what
 * shortest remaining first would reach.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#define PUSH 2.0

gnt_status gnti_placing_push(gnti_placing *s, const double *cost, int32_t idle, bool *leaves)
{
    gnt_status st = GNT_OK;
    double *most = NULL;
    int32_t *item = NULL, *waits = NULL, num = 0, lining = 0;

    GNT_TRY(gnti_alloc_array(&most, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&item, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&waits, s->in->num_tasks));
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        leaves[t] = false;
        most[t] = -cost[t];
        if (s->width[t] > 0 && !s->in->tasks[t].foreground)
            item[num++] = t;
        else if (s->width[t] == 0 && s->need[t] > 0 && !gnti_placing_was_guest(s, t))
            waits[lining++] = t;
    }
    gnti_place_heapify(item, num, most);
    gnti_place_heapify(waits, lining, cost);
    while (num > 0 && lining > 0) {
        const int32_t task = gnti_place_pop(waits, lining--, cost);

        if (idle-- > 0)
            continue;
        if (cost[item[0]] <= PUSH * cost[task])
            break;
        leaves[gnti_place_pop(item, num--, most)] = true;
    }
done:
    gnti_free(most);
    gnti_free(item);
    gnti_free(waits);
    return st;
}
