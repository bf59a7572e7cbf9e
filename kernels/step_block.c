/* SPDX-License-Identifier: Apache-2.0 */
/* A step block of some members, for ops that do those alone: a member's key and hypers are the same in both. */
#include "kernels/step.h"

#include <string.h>

void gnti_step_cut(const gnti_step_head *from, int64_t first, int64_t members, gnti_step_head *to)
{
    *to = *from;
    to->num_members = members;
    memcpy((void *)(uintptr_t)gnti_step_keys(to), gnti_step_keys(from) + first,
           (size_t)members * sizeof(gnti_philox_key));
    for (int32_t h = 0; h < (int32_t)from->num_hypers; h++)
        memcpy((void *)(uintptr_t)gnti_step_hyper(to, h), gnti_step_hyper(from, h) + first,
               (size_t)members * sizeof(float));
    memcpy((void *)(uintptr_t)gnti_step_live(to), gnti_step_live(from) + first, (size_t)members);
}
