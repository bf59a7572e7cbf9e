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

/* A loop over pieces of y: whole blocks of members, rows of a member, or what one gathers. */
typedef struct map_loop {
    const gnt_map_args *args;
    const cpu_kernels *kernels;
    int64_t base, step, total, width; /* map_blocks: elements of y */
    bool gapless;
    int64_t member;
    cpu_draw draw;
    gnt_epilogue epilogue;
} map_loop;

enum { ROWS_AT_ONCE = 64 };

static void map_piece(void *user, int64_t i, int32_t thread)
{
    const map_loop *l = user;
    const gnt_map_args *a = l->args;
    const int64_t at = i * l->step;
    cpu_map_row row = row_template(a);

    (void)thread;
    row.width = l->gapless ? gnti_min_i64(l->step, l->total - at) : l->width;
    row.y = cpu_floats(&a->y) + l->base + at;
    row.a = a->kind != GNT_MAP_FILL ? cpu_floats(&a->a) + l->base + at : NULL;
    row.b = needs_b(a->kind) ? cpu_floats(&a->b) + l->base + at : NULL;
    l->kernels->map(&row);
}

/* All operands share y's layout: rows of whole blocks, or long rows without gaps. */
static void map_blocks(const gnt_device *dev, const gnt_map_args *a)
{
    const gnt_mat_view *y = &a->y;
    const int64_t blocks = gnti_ceil_div(y->members, y->block_members);

    for (int64_t b = 0; b < blocks; b++) {
        const int64_t m = b * y->block_members;
        map_loop l = { .args = a, .kernels = cpu_kernels_of(dev->isa), .base = cpu_member_offset(y, m) };

        l.width = gnti_min_i64(y->block_members, y->members - m) * y->width;
        l.gapless = y->row_stride == l.width;
        l.step = l.gapless ? CHUNK_FLOATS : y->row_stride;
        l.total = y->rows * (l.gapless ? l.width : l.step);
        cpu_each(cpu_team(dev, view_values(y)), gnti_ceil_div(l.total, l.step), &l, map_piece);
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

static void map_rows(void *user, int64_t i, int32_t thread)
{
    const map_loop *l = user;
    const int64_t end = gnti_min_i64(l->args->y.rows, (i + 1) * ROWS_AT_ONCE);

    (void)thread;
    for (int64_t r = i * ROWS_AT_ONCE; r < end; r++)
        map_row(l->kernels, l->args, &l->draw, r, l->member);
}

static void dropout_rows(void *user, int64_t i, int32_t thread)
{
    const map_loop *l = user;
    const gnt_mat_view *x = &l->args->a, *y = &l->args->y;
    const int64_t r = i * ROWS_AT_ONCE;
    const cpu_output_block block = { .member = l->member,
                                     .first_row = r,
                                     .num_rows = gnti_min_i64(ROWS_AT_ONCE, y->rows - r),
                                     .width = y->width,
                                     .value =
                                         cpu_floats(x) + cpu_member_offset(x, l->member) + r * x->row_stride,
                                     .dst =
                                         cpu_floats(y) + cpu_member_offset(y, l->member) + r * y->row_stride,
                                     .value_stride = x->row_stride,
                                     .dst_stride = y->row_stride };

    (void)thread;
    cpu_epilogue_apply(l->kernels, &l->epilogue, &block);
}

/* Member by member, rows in blocks; `plain_dropout`: draws of several short rows fill the vectors. */
static void map_members(const gnt_device *dev, const gnt_map_args *a, bool plain_dropout)
{
    const int64_t blocks = gnti_ceil_div(a->y.rows, ROWS_AT_ONCE);
    map_loop l = { .args = a, .kernels = cpu_kernels_of(dev->isa), .epilogue = GNT_EPILOGUE_NONE };

    l.epilogue.dropout = a->dropout;
    l.epilogue.step = a->step;
    for (int64_t m = 0; m < a->y.members; m++) {
        l.member = m;
        if (!plain_dropout && a->kind == GNT_MAP_DROPOUT)
            l.draw = cpu_draw_make(&a->dropout, a->step, m);
        cpu_each(cpu_team(dev, view_values(&a->y)), blocks, &l, plain_dropout ? dropout_rows : map_rows);
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
        map_members(dev, a, true);
    else if (blocks && a->kind != GNT_MAP_DROPOUT && (a->kind == GNT_MAP_FILL || same_layout(&a->a, y)) &&
             (!needs_b(a->kind) || same_layout(&a->b, y)))
        map_blocks(dev, a);
    else
        map_members(dev, a, false);
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

typedef struct gather {
    const gnt_rows_args *args;
    const cpu_kernels *kernels;
    const int32_t *index;
} gather;

static void gather_rows(void *user, int64_t i, int32_t thread)
{
    const gather *g = user;
    const int64_t end = gnti_min_i64(g->args->y.rows, (i + 1) * ROWS_AT_ONCE);

    (void)thread;
    for (int64_t r = i * ROWS_AT_ONCE; r < end; r++)
        for (int64_t m = 0; m < g->args->y.members; m++)
            gather_row(g->kernels, g->args, r, g->index[r], m);
}

gnt_status cpu_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_device *dev = s->head.device;
    const int32_t *index = a->index->head.host;
    gather g = { a, cpu_kernels_of(dev->isa), index };

    for (int64_t r = 0; r < a->y.rows; r++)
        GNT_CHECK(index[r] >= 0 && index[r] < a->x.rows, GNT_ERR_ARG, "gather: row %lld wants row %d of %lld",
                  (long long)r, index[r], (long long)a->x.rows);
    cpu_each(cpu_team(dev, view_values(&a->y)), gnti_ceil_div(a->y.rows, ROWS_AT_ONCE), &g, gather_rows);
done:
    return st;
}
