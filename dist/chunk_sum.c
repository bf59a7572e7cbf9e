/* SPDX-License-Identifier: Apache-2.0 */
/* See chunk_sum.h. The recursion is as deep as the logarithm of the number of chunks. */
#include "dist/chunk_sum.h"

static double fold(const double *sums, int32_t first, int32_t end)
{
    int32_t half = 1;

    if (end - first == 1)
        return sums[first];
    while (2 * half < end - first)
        half *= 2;
    return fold(sums, first, first + half) + fold(sums, first + half, end);
}

gnt_status gnti_chunk_sum(gnti_comm *comm, double *sums, int32_t num_sums, int32_t num_chunks, double *out)
{
    gnt_status st = GNT_OK;
    const gnti_all_reduce_args args = {
        .data = sums, .count = (int64_t)num_sums * num_chunks, .dtype = GNT_F64, .op = GNTI_COMM_SUM
    };

    GNT_TRY(gnti_comm_all_reduce(comm, &args));
    for (int32_t i = 0; i < num_sums; i++)
        out[i] = num_chunks > 0 ? fold(sums + (int64_t)i * num_chunks, 0, num_chunks) : 0.0;
done:
    return st;
}
