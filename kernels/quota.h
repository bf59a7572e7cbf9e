/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a device that several share, each of which opens it for itself: the allocator of each asks here too, so that all of
 * them together stay within the device. Any thread.
 */
#ifndef GNTI_KERNELS_QUOTA_H
#define GNTI_KERNELS_QUOTA_H

#include "kernels/backend.h"

#include <stdatomic.h>
#include <stdbool.h>

struct gnti_quota {
    size_t limit; /* 0: none, bytes are counted alone */
    atomic_size_t used, peak;
};

/* False: they do not fit, nothing is taken. NULL has room for everything. */
static inline bool gnti_quota_take(gnti_quota *q, size_t bytes)
{
    size_t before, peak;

    if (q == NULL)
        return true;
    before = atomic_fetch_add(&q->used, bytes);
    if (q->limit > 0 && (bytes > q->limit || before > q->limit - bytes)) {
        atomic_fetch_sub(&q->used, bytes);
        return false;
    }
    peak = atomic_load(&q->peak);
    while (before + bytes > peak && !atomic_compare_exchange_weak(&q->peak, &peak, before + bytes))
        ;
    return true;
}

static inline void gnti_quota_give(gnti_quota *q, size_t bytes)
{
    if (q != NULL)
        atomic_fetch_sub(&q->used, bytes);
}

#endif
