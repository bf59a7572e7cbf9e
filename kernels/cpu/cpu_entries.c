/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of the stored entries of a sparse matrix: entry (r, c) keeps or drops as the dense matrix would, one draw of
 * four words an entry. Serves the oracle as well: there is nothing to sum.
 */
#include "base/size.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_epilogue.h"

enum { CHUNK_ENTRIES = 4096 };

void cpu_map_entries(gnt_stream *s, const gnt_map_args *a)
{
    const gnt_device *dev = s->head.device;
    const cpu_kernels *k = cpu_kernels_of(dev->isa);
    const int32_t *rows = a->arc_rows->head.host, *columns = a->arc_columns->head.host;

    for (int64_t m = 0; m < a->y.members; m++) {
        const cpu_draw draw = cpu_draw_make(&a->dropout, a->step, m);
        const float *x = cpu_floats(&a->a) + cpu_member_offset(&a->a, m);
        float *y = cpu_floats(&a->y) + cpu_member_offset(&a->y, m);

#pragma omp parallel for schedule(static) num_threads(dev->num_threads)
        for (int64_t e = 0; e < a->y.rows; e += CHUNK_ENTRIES) {
            const cpu_entries part = { .rows = rows + e,
                                       .columns = columns + e,
                                       .a = x + e * a->a.row_stride,
                                       .y = y + e * a->y.row_stride,
                                       .num = gnti_min_i64(CHUNK_ENTRIES, a->y.rows - e),
                                       .a_step = a->a.row_stride,
                                       .y_step = a->y.row_stride,
                                       .accumulate = a->accumulate };

            k->drop_entries(&draw, &part);
        }
    }
}
