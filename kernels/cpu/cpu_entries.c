/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of the stored entries of a sparse matrix: entry (r, c) keeps or drops as the dense matrix would, one draw of
 * four words an entry. Serves the oracle as well: there is nothing to sum.
 */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_epilogue.h"

void cpu_map_entries(gnt_stream *s, const gnt_map_args *a)
{
    const gnt_device *dev = s->head.device;
    const gnti_step_head *step = (const gnti_step_head *)a->step->head.host;
    const int64_t *ids = a->dropout.row_ids != NULL ? a->dropout.row_ids->head.host : NULL;
    const int32_t *rows = a->arc_rows->head.host, *columns = a->arc_columns->head.host;

    for (int64_t m = 0; m < a->y.members; m++) {
        const float p = gnti_step_hyper(step, a->dropout.hyper)[m], scale = 1.0f / (1.0f - p);
        const uint64_t threshold = gnti_drop_threshold(p);
        const gnti_philox_key key = gnti_step_keys(step)[m];
        const float *x = cpu_floats(&a->a) + cpu_member_offset(&a->a, m);
        float *y = cpu_floats(&a->y) + cpu_member_offset(&a->y, m);

#pragma omp parallel for schedule(static) num_threads(dev->num_threads)
        for (int64_t e = 0; e < a->y.rows; e++) {
            const int64_t id = ids != NULL ? ids[rows[e]] : rows[e];
            const uint32_t column = (uint32_t)columns[e];
            uint32_t words[4];
            float v;

            gnti_draw_quad(key, GNTI_DRAW_DROPOUT, a->dropout.ordinal, (uint32_t)step->step, id, column >> 2,
                           words);
            v = words[column & 3] >= threshold ? x[e * a->a.row_stride] * scale : 0.0f;
            y[e * a->y.row_stride] = a->accumulate ? y[e * a->y.row_stride] + v : v;
        }
    }
}
