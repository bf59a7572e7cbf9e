/* SPDX-License-Identifier: Apache-2.0 */
/* Random facts of chunks, from a seed. */
#include "tests/support/map_case.h"

#include <math.h>

double gnt_map_draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

gnti_chunk_facts *gnt_map_case(int32_t num_chunks, uint64_t seed, double spread)
{
    gnti_chunk_facts *f = NULL;
    int64_t num = 0;

    gnt_assert_ok(gnti_calloc_array(&f, 1));
    f->num_chunks = num_chunks;
    gnt_assert_ok(gnti_alloc_array(&f->cost, num_chunks));
    gnt_assert_ok(gnti_alloc_array(&f->bytes, num_chunks));
    gnt_assert_ok(gnti_calloc_array(&f->rows, num_chunks));
    gnt_assert_ok(gnti_calloc_array(&f->arcs, num_chunks));
    gnt_assert_ok(gnti_calloc_array(&f->offsets, num_chunks + 1));
    gnt_assert_ok(gnti_alloc_array(&f->neighbour, 4 * (int64_t)num_chunks));
    gnt_assert_ok(gnti_alloc_array(&f->halo_rows, 4 * (int64_t)num_chunks));
    for (int32_t p = 0; p < num_chunks; p++) {
        f->cost[p] = 1.0 + spread * (gnt_map_draw(&seed) - 0.5);
        f->bytes[p] = 1000.0 * (1.0 + spread * (gnt_map_draw(&seed) - 0.5));
        for (int32_t k = 0; k < 4; k++) {
            const int32_t r = k == 0 ? p - 1 : k == 1 ? p + 1 : (int32_t)(gnt_map_draw(&seed) * num_chunks);

            if (r < 0 || r >= num_chunks || r == p)
                continue;
            f->neighbour[num] = r;
            f->halo_rows[num++] = k < 2 ? 40.0 : floor(10.0 * gnt_map_draw(&seed));
        }
        f->offsets[p + 1] = num;
    }
    return f;
}
