/* SPDX-License-Identifier: Apache-2.0 */
/* Moments in order of time, then of being pushed: a binary heap, so equal inputs give equal orders. */
#include "ensemble/simulate_state.h"

#include "base/alloc.h"

static bool comes_before(const gnti_moment *a, const gnti_moment *b)
{
    return a->time < b->time || (a->time <= b->time && a->sequence < b->sequence);
}

gnt_status gnti_moments_push(gnti_moments *h, gnti_moment_kind kind, double time, int32_t index,
                             int64_t version)
{
    gnt_status st = GNT_OK;
    const gnti_moment m = {
        .time = time, .sequence = h->sequence, .version = version, .kind = kind, .index = index
    };
    int64_t at = h->count;

    GNT_TRY(gnti_grow_array(&h->heap, &h->capacity, h->count + 1));
    for (; at > 0 && comes_before(&m, &h->heap[(at - 1) / 2]); at = (at - 1) / 2)
        h->heap[at] = h->heap[(at - 1) / 2];
    h->heap[at] = m;
    h->count++;
    h->sequence++;
done:
    return st;
}

bool gnti_moments_pop(gnti_moments *h, gnti_moment *out)
{
    gnti_moment last;
    int64_t at = 0;

    if (h->count == 0)
        return false;
    *out = h->heap[0];
    last = h->heap[--h->count];
    for (int64_t child = 1; child < h->count; child = 2 * at + 1) {
        if (child + 1 < h->count && comes_before(&h->heap[child + 1], &h->heap[child]))
            child++;
        if (!comes_before(&h->heap[child], &last))
            break;
        h->heap[at] = h->heap[child];
        at = child;
    }
    h->heap[at] = last;
    return true;
}

const gnti_moment *gnti_moments_peek(const gnti_moments *h)
{
    return h->count > 0 ? &h->heap[0] : NULL;
}
