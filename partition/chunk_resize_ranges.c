/* SPDX-License-Identifier: Apache-2.0 */
/* The first map of the new devices as a candidate for a resize: ranges have the least halo, and when devices double or halve
 * they move little more than must be moved. Devices of equal speed and memory trade ranges so that most bytes stay where they are;
 * the map is taken when it keeps the budget of moved load and is better in excess and price.
 */
#include "partition/chunk_resize.h"

#include <string.h>

/* Whether two devices can trade ranges. */
static bool is_same(const gnti_map_config *c, int32_t a, int32_t b)
{
    return c->devices[a].speed == c->devices[b].speed && c->devices[a].memory == c->devices[b].memory;
}

/* The free pair of range and like device that shares most bytes; answers whether there is one. */
static bool best_pair(const gnti_map_config *c, const double *shared, const int32_t *device_of,
                      const bool *taken, int32_t *range, int32_t *device)
{
    double most = -1.0;

    for (int32_t i = 0; i < c->num_devices; i++) {
        for (int32_t d = 0; d < c->num_devices && device_of[i] < 0; d++) {
            if (taken[d] || !is_same(c, i, d) || shared[(int64_t)i * c->num_devices + d] <= most)
                continue;
            most = shared[(int64_t)i * c->num_devices + d];
            *range = i;
            *device = d;
        }
    }
    return most >= 0.0;
}

gnt_status gnti_resize_trade(const gnti_resize *r, int32_t *map)
{
    gnt_status st = GNT_OK;
    const gnti_map_config *c = r->s.c;
    const int32_t num = c->num_devices;
    double *shared = NULL;
    int32_t *device_of = NULL, range = 0, device = 0;
    bool *taken = NULL;

    GNT_TRY(gnti_calloc_array(&shared, (int64_t)num * num));
    GNT_TRY(gnti_alloc_array(&device_of, num));
    GNT_TRY(gnti_calloc_array(&taken, num));
    for (int32_t d = 0; d < num; d++)
        device_of[d] = -1;
    for (int32_t p = 0; p < r->s.f->num_chunks; p++)
        if (r->home[p] >= 0)
            shared[(int64_t)map[p] * num + r->home[p]] += r->s.f->bytes[p];
    while (best_pair(c, shared, device_of, taken, &range, &device)) {
        device_of[range] = device;
        taken[device] = true;
    }
    for (int32_t p = 0; p < r->s.f->num_chunks; p++)
        map[p] = device_of[map[p]];
done:
    gnti_free(shared);
    gnti_free(device_of);
    gnti_free(taken);
    return st;
}

gnt_status gnti_resize_ranges(gnti_resize *r)
{
    gnt_status st = GNT_OK;
    const int32_t num_chunks = r->s.f->num_chunks;
    gnti_resize_change before, after;
    int32_t *map = NULL;

    if (r->halo_price <= 0.0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&map, num_chunks));
    if (gnti_chunk_map_ranges(r->s.f, r->s.c, map) != GNT_OK)
        goto done; /* no ranges keep the memory limits */
    GNT_TRY(gnti_resize_trade(r, map));
    before = gnti_resize_total(r);
    for (int32_t p = 0; p < num_chunks; p++) {
        const int32_t now = r->s.owner[p];

        gnti_resize_put(r, p, map[p]);
        map[p] = now;
    }
    after = gnti_resize_total(r);
    if (r->moved_load > r->budget || !gnti_resize_is_better(after, before))
        for (int32_t p = 0; p < num_chunks; p++)
            gnti_resize_put(r, p, map[p]);
done:
    gnti_free(map);
    return st;
}
