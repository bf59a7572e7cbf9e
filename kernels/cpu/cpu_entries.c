/* SPDX-License-Identifier: Apache-2.0 */
/* Dropout of the stored entries of a sparse matrix: entry (r, c) keeps or drops as the dense matrix would, one draw of
 * four words an entry. Serves the oracle as well: there is nothing to sum.
 */
#include "base/size.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_epilogue.h"

enum { CHUNK_ENTRIES = 4096 };

typedef struct entries_work {
    const gnt_map_args *args;
    const cpu_kernels *kernels;
    cpu_draw draw;
    int64_t member;
} entries_work;

static void drop_chunk(void *user, int64_t i, int32_t thread)
{
    const entries_work *w = user;
    const gnt_map_args *a = w->args;
    const int64_t e = i * CHUNK_ENTRIES;
    const cpu_entries part = {
        .rows = (const int32_t *)a->arc_rows->head.host + e,
        .columns = (const int32_t *)a->arc_columns->head.host + e,
        .a = cpu_floats(&a->a) + cpu_member_offset(&a->a, w->member) + e * a->a.row_stride,
        .y = cpu_floats(&a->y) + cpu_member_offset(&a->y, w->member) + e * a->y.row_stride,
        .num = gnti_min_i64(CHUNK_ENTRIES, a->y.rows - e),
        .a_step = a->a.row_stride,
        .y_step = a->y.row_stride,
        .accumulate = a->accumulate
    };

    (void)thread;
    w->kernels->drop_entries(&w->draw, &part);
}

void cpu_map_entries(gnt_stream *s, const gnt_map_args *a)
{
    const gnt_device *dev = s->head.device;
    const int32_t team = cpu_team(dev, 4.0 * (double)a->y.rows);
    entries_work w = { .args = a, .kernels = cpu_kernels_of(dev->isa) };

    for (int64_t m = 0; m < a->y.members; m++) {
        w.member = m;
        w.draw = cpu_draw_make(&a->dropout, a->step, m);
        cpu_each(team, gnti_ceil_div(a->y.rows, CHUNK_ENTRIES), &w, drop_chunk);
    }
}
