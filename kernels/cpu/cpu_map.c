/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise ops and the row gather.
 *
 * Operands of one layout are walked as one row a block of members (and as one long row when nothing lies between rows);
 * otherwise member by member. bfloat16 operands pass through float32 buffers of 256 columns.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"

#include <stdatomic.h>
#include <string.h>

enum { CHUNK_FLOATS = 8192 };

static double view_values(const gnt_mat_view *v)
{
    return (double)v->rows * (double)v->members * (double)v->width;
}

static bool needs_b(gnt_map_kind kind)
{
    return kind == GNT_MAP_ADD || kind == GNT_MAP_MUL || kind == GNT_MAP_ACT_GRAD;
}

static bool same_layout(const gnt_mat_view *v, const gnt_mat_view *y)
{
    return v->dtype == GNT_F32 && v->members == y->members && v->rows == y->rows && v->width == y->width &&
           v->block_members == y->block_members && v->row_stride == y->row_stride &&
           v->member_stride == y->member_stride && v->block_stride == y->block_stride;
}

static cpu_map_row row_template(const gnt_map_args *a)
{
    return (cpu_map_row){ .kind = a->kind,
                          .b_step = 1,
                          .alpha = a->alpha,
                          .beta = a->beta,
                          .act = a->act,
                          .act_alpha = a->act_alpha,
                          .accumulate = a->accumulate };
}

/* All operands share y's layout: rows of whole blocks, or long rows without gaps. */
static void map_blocks(const gnt_device *dev, const gnt_map_args *a)
{
    const cpu_kernels *k = cpu_kernels_of(dev->isa);
    const gnt_mat_view *y = &a->y;
    const int64_t blocks = gnti_ceil_div(y->members, y->block_members);

    for (int64_t b = 0; b < blocks; b++) {
        const int64_t m = b * y->block_members, base = cpu_member_offset(y, m);
        const int64_t width = gnti_min_i64(y->block_members, y->members - m) * y->width;
        const bool gapless = y->row_stride == width;
        const int64_t step = gapless ? CHUNK_FLOATS : y->row_stride,
                      total = gapless ? y->rows * width : y->rows * step;

#pragma omp parallel for schedule(static) num_threads(cpu_team(dev, view_values(&a->y)))
        for (int64_t at = 0; at < total; at += step) {
            cpu_map_row row = row_template(a);

            row.width = gapless ? gnti_min_i64(step, total - at) : width;
            row.y = cpu_floats(y) + base + at;
            row.a = a->kind != GNT_MAP_FILL ? cpu_floats(&a->a) + base + at : NULL;
            row.b = needs_b(a->kind) ? cpu_floats(&a->b) + base + at : NULL;
            k->map(&row);
        }
    }
}

/* One row of one member through float32 buffers, whatever the dtypes and the shape of b. */
static void map_row(const cpu_kernels *k, const gnt_map_args *a, const cpu_draw *draw, int64_t r, int64_t m)
{
    const gnt_mat_view *b = &a->b;
    float x[CPU_TILE], other[CPU_TILE], y[CPU_TILE];

    for (int64_t c = 0; c < a->y.width; c += CPU_TILE) {
        cpu_map_row row = row_template(a);

        row.width = gnti_min_i64(CPU_TILE, a->y.width - c);
        row.y = y;
        row.a = x;
        row.b = other;
        if (a->kind != GNT_MAP_FILL)
            cpu_load_floats(&a->a, r, m, c, row.width, x);
        if (needs_b(a->kind)) {
            row.b_step = b->width == 1 ? 0 : 1;
            cpu_load_floats(b, b->rows == 1 ? 0 : r, m, b->width == 1 ? 0 : c, b->width == 1 ? 1 : row.width,
                            other);
        }
        if (a->accumulate)
            cpu_load_floats(&a->y, r, m, c, row.width, y);
        if (a->kind == GNT_MAP_DROPOUT && draw->active) {
            k->dropout(draw, r, c, x, y, row.width, a->accumulate);
        } else {
            if (a->kind == GNT_MAP_DROPOUT) {
                row.kind = GNT_MAP_COPY;
                row.alpha = 1.0f;
            }
            k->map(&row);
        }
        cpu_store_floats(&a->y, r, m, c, row.width, y);
    }
}

static void map_members(const gnt_device *dev, const gnt_map_args *a)
{
    const cpu_kernels *k = cpu_kernels_of(dev->isa);

    for (int64_t m = 0; m < a->y.members; m++) {
        const cpu_draw draw =
            a->kind == GNT_MAP_DROPOUT ? cpu_draw_make(&a->dropout, a->step, m) : (cpu_draw){ 0 };

#pragma omp parallel for schedule(static) num_threads(cpu_team(dev, view_values(&a->y)))
        for (int64_t r = 0; r < a->y.rows; r++)
            map_row(k, a, &draw, r, m);
    }
}

/* Dropout of float32 rows, 64 at a time: draws of several short rows fill the vectors. */
static void dropout_members(const gnt_device *dev, const gnt_map_args *a)
{
    enum { ROWS = 64 };
    const cpu_kernels *k = cpu_kernels_of(dev->isa);
    gnt_epilogue e = GNT_EPILOGUE_NONE;

    e.dropout = a->dropout;
    e.step = a->step;
    for (int64_t m = 0; m < a->y.members; m++) {
        const float *x = cpu_floats(&a->a) + cpu_member_offset(&a->a, m);
        float *y = cpu_floats(&a->y) + cpu_member_offset(&a->y, m);

#pragma omp parallel for schedule(static) num_threads(cpu_team(dev, view_values(&a->y)))
        for (int64_t r = 0; r < a->y.rows; r += ROWS) {
            const cpu_output_block block = { .member = m,
                                             .first_row = r,
                                             .num_rows = gnti_min_i64(ROWS, a->y.rows - r),
                                             .width = a->y.width,
                                             .value = x + r * a->a.row_stride,
                                             .dst = y + r * a->y.row_stride,
                                             .value_stride = a->a.row_stride,
                                             .dst_stride = a->y.row_stride };

            cpu_epilogue_apply(k, &e, &block);
        }
    }
}

gnt_status cpu_map(gnt_stream *s, const gnt_map_args *a)
{
    const gnt_device *dev = s->head.device;
    const gnt_mat_view *y = &a->y;
    const bool blocks = y->dtype == GNT_F32 && (y->block_members == 1 || y->member_stride == y->width);

    if (a->arc_rows != NULL)
        cpu_map_entries(s, a);
    else if (a->kind == GNT_MAP_DROPOUT && !a->accumulate && a->a.dtype == GNT_F32 && y->dtype == GNT_F32)
        dropout_members(dev, a);
    else if (blocks && a->kind != GNT_MAP_DROPOUT && (a->kind == GNT_MAP_FILL || same_layout(&a->a, y)) &&
             (!needs_b(a->kind) || same_layout(&a->b, y)))
        map_blocks(dev, a);
    else
        map_members(dev, a);
    return GNT_OK;
}

static void gather_row(const cpu_kernels *k, const gnt_rows_args *a, int64_t r, int64_t from, int64_t m)
{
    float x[CPU_TILE], y[CPU_TILE];

    for (int64_t c = 0; c < a->y.width; c += CPU_TILE) {
        const int64_t n = gnti_min_i64(CPU_TILE, a->y.width - c);

        cpu_load_floats(&a->x, from, m, c, n, x);
        if (a->accumulate) {
            cpu_load_floats(&a->y, r, m, c, n, y);
            k->add_to(y, x, n);
        }
        cpu_store_floats(&a->y, r, m, c, n, a->accumulate ? y : x);
    }
}

gnt_status cpu_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    const cpu_kernels *k = cpu_kernels_of(dev->isa);
    const int32_t *index = a->index->head.host;

    for (int64_t r = 0; r < a->y.rows; r++)
        GNT_CHECK(index[r] >= 0 && index[r] < a->x.rows, GNT_ERR_ARG, "gather: row %lld wants row %d of %lld",
                  (long long)r, index[r], (long long)a->x.rows);
#pragma omp parallel for schedule(static) num_threads(cpu_team(dev, view_values(&a->y)))
    for (int64_t r = 0; r < a->y.rows; r++)
        for (int64_t m = 0; m < a->y.members; m++)
            gather_row(k, a, r, index[r], m);
done:
    return st;
}
