/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of scratch memory, and what a place holds of a task.
 *
 * With L lanes the sum of their sizes is least when the L - 1 smallest steps have a lane each and all others
 * share one: any lane's size is one of the steps, the largest among them, and no L - 1 others are smaller
 * than the smallest.
 */
#include "ensemble/place_memory.h"

#include "ensemble/place_state.h"

#include <math.h>

static int64_t datasets(const gnti_tenant *tenants, int32_t num)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < num; i++) {
        int64_t most = tenants[i].need.shared;
        bool first = true;

        for (int32_t j = 0; j < num; j++) {
            if (tenants[j].data != tenants[i].data)
                continue;
            first &= j >= i;
            most = tenants[j].need.shared > most ? tenants[j].need.shared : most;
        }
        sum += first ? most : 0;
    }
    return sum;
}

int64_t gnti_tenants_bytes(const gnti_tenant *tenants, int32_t num)
{
    int64_t sum = datasets(tenants, num);

    for (int32_t i = 0; i < num; i++) {
        bool largest = true; /* of its lane, the first of equals */

        for (int32_t j = 0; j < num; j++)
            if (tenants[j].lane == tenants[i].lane)
                largest &= tenants[j].need.scratch < tenants[i].need.scratch ||
                           (tenants[j].need.scratch == tenants[i].need.scratch && j >= i);
        sum += tenants[i].need.lasting + (largest ? tenants[i].need.scratch : 0);
    }
    return sum;
}

/* Tenants with a smaller step, or an equal one and a higher number: those get a lane before it. */
static int32_t rank_of(const gnti_tenant *tenants, int32_t num, int32_t at)
{
    int32_t rank = 0;

    for (int32_t j = 0; j < num; j++)
        rank += tenants[j].need.scratch < tenants[at].need.scratch ||
                (tenants[j].need.scratch == tenants[at].need.scratch && j > at);
    return rank;
}

int32_t gnti_tenants_lanes(gnti_tenant *tenants, int32_t num, int64_t bytes)
{
    for (int32_t lanes = num; lanes > 0; lanes--) {
        for (int32_t i = 0; i < num; i++) {
            const int32_t rank = rank_of(tenants, num, i);

            tenants[i].lane = rank < lanes - 1 ? rank + 1 : 0;
        }
        if (bytes == 0 || gnti_tenants_bytes(tenants, num) <= bytes)
            return lanes;
    }
    return 0;
}

gnti_place_need gnti_place_bytes(const gnti_place_input *in, int32_t task, const int32_t *devices,
                                 int32_t num, int32_t at)
{
    const gnti_place_task *t = &in->tasks[task];
    double sum = 0.0;

    for (int32_t i = 0; i < num; i++)
        sum += 1.0 / t->seconds[in->devices[devices[i]].type];
    const double part = num > 1 ? 1.0 / t->seconds[in->devices[devices[at]].type] / sum : 1.0;

    return (gnti_place_need){ gnti_gang_part(t->shared_bytes, part, num), t->lasting_bytes,
                              gnti_gang_part(t->scratch_bytes, part, num) };
}
