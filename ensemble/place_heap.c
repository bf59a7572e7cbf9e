/* SPDX-License-Identifier: Apache-2.0 */
/* A binary heap of numbers with keys elsewhere; equal keys go by number, so that what comes out is a total order.
 */
#include "ensemble/place_state.h"

static bool before(const double *key, int32_t a, int32_t b)
{
    return key[a] < key[b] || (key[a] == key[b] && a < b);
}

static void swap(int32_t *item, int32_t a, int32_t b)
{
    const int32_t held = item[a];

    item[a] = item[b];
    item[b] = held;
}

void gnti_place_sift_down(int32_t *item, int32_t num, const double *key, int32_t at)
{
    for (;;) {
        int32_t least = at;

        for (int32_t child = 2 * at + 1; child <= 2 * at + 2 && child < num; child++)
            if (before(key, item[child], item[least]))
                least = child;
        if (least == at)
            return;
        swap(item, at, least);
        at = least;
    }
}

void gnti_place_sift_up(int32_t *item, const double *key, int32_t at)
{
    while (at > 0 && before(key, item[at], item[(at - 1) / 2])) {
        swap(item, at, (at - 1) / 2);
        at = (at - 1) / 2;
    }
}

void gnti_place_heapify(int32_t *item, int32_t num, const double *key)
{
    for (int32_t at = num / 2 - 1; at >= 0; at--)
        gnti_place_sift_down(item, num, key, at);
}

int32_t gnti_place_pop(int32_t *item, int32_t num, const double *key)
{
    swap(item, 0, num - 1);
    gnti_place_sift_down(item, num - 1, key, 0);
    return item[num - 1];
}
