/* SPDX-License-Identifier: Apache-2.0 */
/* The step block: all that changes between runs of a program, one block that kernels read.
 *
 *   | int64 step | int64 num_hypers | int64 num_members | uint32 key[M][2] | float hyper[H][M] | uint8 live[M] |
 *
 * Row h of hyper is the id that gnt_builder_hyper answered; learning rate, decay and bias corrections are hypers too.
 * So a captured step stays valid: launch arguments never change.
 */
#ifndef GNTI_KERNELS_STEP_H
#define GNTI_KERNELS_STEP_H

#include "base/philox.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gnti_step_head {
    int64_t step, num_hypers, num_members;
} gnti_step_head;

GNTI_INLINE const gnti_philox_key *gnti_step_keys(const gnti_step_head *s)
{
    return (const gnti_philox_key *)(s + 1);
}

GNTI_INLINE const float *gnti_step_hyper(const gnti_step_head *s, int32_t hyper)
{
    return (const float *)(gnti_step_keys(s) + s->num_members) + (int64_t)hyper * s->num_members;
}

GNTI_INLINE const uint8_t *gnti_step_live(const gnti_step_head *s)
{
    return (const uint8_t *)gnti_step_hyper(s, (int32_t)s->num_hypers);
}

GNTI_INLINE size_t gnti_step_bytes(int64_t num_hypers, int64_t num_members)
{
    return sizeof(gnti_step_head) +
           (size_t)num_members * (sizeof(gnti_philox_key) + (size_t)num_hypers * sizeof(float) + 1);
}

/* step_block.c: the columns of some members, first to first + members - 1; `to` has room for them. */
void gnti_step_cut(const gnti_step_head *from, int64_t first, int64_t members, gnti_step_head *to);

#endif
