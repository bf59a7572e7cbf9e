/* SPDX-License-Identifier: Apache-2.0 */
/* The largest whole subtrees among the chunks of a rank: from the root of the tree over [0, K) down, until a node is owned
 * whole or not at all. A range of chunks gives at most 2 log2 K of them, scattered chunks up to one a chunk.
 */
#include "base/alloc.h"
#include "dist/halo.h"

static int32_t lower_bound(const int32_t *sorted, int32_t count, int32_t value)
{
    int32_t low = 0, high = count;

    while (low < high) {
        const int32_t mid = low + (high - low) / 2;

        if (sorted[mid] < value)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void find_roots(gnti_tree_roots *r, const int32_t *owned, int32_t num_owned, int32_t a, int32_t b)
{
    const int32_t held = lower_bound(owned, num_owned, b) - lower_bound(owned, num_owned, a);

    if (held == 0)
        return;
    if (held == b - a) {
        r->first[r->num_roots] = a;
        r->end[r->num_roots++] = b;
        return;
    }
    find_roots(r, owned, num_owned, a, gnti_tree_split(a, b));
    find_roots(r, owned, num_owned, gnti_tree_split(a, b), b);
}

gnt_status gnti_tree_roots_make(int32_t num_chunks, const int32_t *owned, int32_t num_owned,
                                gnti_tree_roots **out)
{
    gnt_status st = GNT_OK;
    gnti_tree_roots *r = NULL;

    for (int32_t i = 0; i < num_owned; i++)
        GNT_CHECK(owned[i] >= (i == 0 ? 0 : owned[i - 1] + 1) && owned[i] < num_chunks, GNT_ERR_ARG,
                  "chunk %d at place %d: chunks of a rank ascend from 0 to %d", (int)owned[i], (int)i,
                  (int)num_chunks - 1);
    GNT_TRY(gnti_calloc_array(&r, 1));
    r->num_chunks = num_chunks;
    GNT_TRY(gnti_alloc_array(&r->first, num_owned));
    GNT_TRY(gnti_alloc_array(&r->end, num_owned));
    find_roots(r, owned, num_owned, 0, num_chunks);
    *out = r;
    r = NULL;
done:
    gnti_tree_roots_free(&r);
    return st;
}

void gnti_tree_roots_free(gnti_tree_roots **roots)
{
    gnti_tree_roots *r = *roots;

    if (r == NULL)
        return;
    gnti_free(r->first);
    gnti_free(r->end);
    gnti_free(r);
    *roots = NULL;
}
