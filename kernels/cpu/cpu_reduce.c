/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: sums over rows by the fixed tree, all members at once; sums along a row by 16 lanes. */
#include "base/size.h"
#include "kernels/cpu/cpu_tree.h"

#include <string.h>

typedef struct reduction {
    const gnt_reduce_args *args;
    const cpu_kernels *kernels;
} reduction;

static const float *row_of(const gnt_mat_view *v, int64_t m, int64_t r)
{
    return cpu_floats(v) + cpu_member_offset(v, m) + r * v->row_stride;
}

/* Sums of a block of rows: (M, y.width). */
static void sum_block(void *user, int64_t first, int64_t rows, void *out)
{
    const reduction *d = user;
    const gnt_reduce_args *a = d->args;
    float *sum = out;

    memset(sum, 0, (size_t)(a->y.members * a->y.width) * sizeof *sum);
    for (int64_t m = 0; m < a->y.members; m++, sum += a->y.width) {
        const float *x = row_of(&a->a, m, first);

        if (a->kind == GNT_REDUCE_SUM_ROWS) {
            d->kernels->sum_rows(sum, x, a->a.row_stride, rows, a->a.width);
        } else if (a->kind == GNT_REDUCE_DOT_ROWS) {
            d->kernels->dot_rows(sum, x, a->a.row_stride, row_of(&a->b, m, first), a->b.row_stride, rows,
                                 a->a.width);
        } else {
            for (int64_t r = 0; r < rows; r++)
                *sum += d->kernels->dot(x + r * a->a.row_stride, row_of(&a->b, m, first + r), a->a.width);
        }
    }
}

static void put(const gnt_reduce_args *a, int64_t r, int64_t m, int64_t c, float value)
{
    float *y = cpu_floats(&a->y) + cpu_member_offset(&a->y, m) + r * a->y.row_stride + c;

    *y = a->accumulate ? *y + value : value;
}

enum { ROWS_AT_ONCE = 64 };

static void dot_rows_of(void *user, int64_t i, int32_t thread)
{
    const reduction *d = user;
    const gnt_reduce_args *a = d->args;
    const int64_t end = gnti_min_i64(a->a.rows, (i + 1) * ROWS_AT_ONCE);

    (void)thread;
    for (int64_t r = i * ROWS_AT_ONCE; r < end; r++)
        for (int64_t m = 0; m < a->y.members; m++)
            put(a, r, m, 0, d->kernels->dot(row_of(&a->a, m, r), row_of(&a->b, m, r), a->a.width));
}

static void dot_columns(const gnt_device *dev, reduction *d)
{
    const gnt_reduce_args *a = d->args;
    const double values = (double)(a->a.rows * a->y.members) * (double)a->a.width;

    cpu_each(cpu_team(dev, values), gnti_ceil_div(a->a.rows, ROWS_AT_ONCE), d, dot_rows_of);
}

gnt_status cpu_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    gnt_status st = GNT_OK;
    reduction d = { a, cpu_kernels_of(s->head.device->isa) };
    const cpu_tree_sum_args sum = { .tree = a->row_tree,
                                    .num_rows = a->a.rows,
                                    .count = a->y.members * a->y.width,
                                    .work = (double)(a->a.rows * a->y.members) * (double)a->a.width,
                                    .leaf = sum_block,
                                    .user = &d };
    void *out = NULL;

    if (a->kind == GNT_REDUCE_DOT_COLS) {
        dot_columns(s->head.device, &d);
        return GNT_OK;
    }
    GNT_TRY(cpu_tree_sum(s, &sum, &out));
    for (int64_t m = 0; m < a->y.members; m++)
        for (int64_t c = 0; c < a->y.width; c++)
            put(a, 0, m, c, ((const float *)out)[m * a->y.width + c]);
done:
    return st;
}
