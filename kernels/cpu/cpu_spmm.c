/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product: from views to jobs of one column tile, threads over chunks of rows, epilogues while
 * rows are in the cache, long rows in pieces.
 *
 * A *strip* is what one read of the indices serves: a block of members that lie side by side in x and y, or
 * one member. Tiles are the outer loop, so that the part of x that all rows gather from stays in the cache;
 * within a tile the threads take chunks of rows. Order of sums: backend.h; nothing here depends on the number
 * of threads.
 */
#include "kernels/cpu/cpu_spmm.h"

#include "base/clock.h"
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"

#include <string.h>

enum { BLOCK_ROWS = 16 }; /* rows between the product and its epilogue */

static const cpu_spmm_kernels *rows_of(gnti_isa isa)
{
#if defined(__x86_64__)
    if (isa == GNTI_ISA_AVX512)
        return &cpu_spmm_kernels_avx512;
    if (isa == GNTI_ISA_AVX2)
        return &cpu_spmm_kernels_avx2;
#endif
    (void)isa;
    return &cpu_spmm_kernels_portable;
}

static bool is_dense_column(const gnt_mat_view *v)
{
    return v == NULL || v->row_stride == 1 || v->rows <= 1;
}

/* Members of a block can be taken as one row: they touch each other in x and y alike. */
static bool blocks_are_rows(const gnt_spmm_args *a)
{
    const gnt_mat_view *x = &a->x, *y = &a->y;

    return y->members > 1 && x->members == y->members && x->block_members == y->block_members &&
           x->member_stride == x->width && y->member_stride == y->width && a->arc_weight == NULL &&
           (y->width % 4 == 0 ||
            cpu_epilogue_is_plain(&a->epilogue)); /* tiles start at a draw's first word */
}

static cpu_spmm_strip strip_at(const cpu_spmm_product *p, int64_t member, bool whole_block)
{
    const gnt_spmm_args *a = p->args;
    const int64_t left = a->y.members - member;
    cpu_spmm_strip s = { .first_member = member,
                         .num_members = whole_block ? gnti_min_i64(a->y.block_members, left) : 1 };

    s.width = s.num_members * a->y.width;
    s.x = cpu_floats(&a->x) + cpu_member_offset(&a->x, member);
    s.y = cpu_floats(&a->y) + cpu_member_offset(&a->y, member);
    s.weights = a->arc_weight != NULL ? cpu_floats(a->arc_weight) + cpu_member_offset(a->arc_weight, member)
                                      : p->graph->weights;
    return s;
}

static cpu_spmm_job job_of(const cpu_spmm_product *p, const cpu_spmm_strip *s, int64_t column, int64_t width)
{
    const gnt_spmm_args *a = p->args;

    return (cpu_spmm_job){ .offsets = p->graph->offsets,
                           .columns = p->graph->columns,
                           .num_arcs = p->graph->num_arcs,
                           .weights = s->weights,
                           .src_scale = a->src_scale != NULL ? cpu_floats(a->src_scale) : NULL,
                           .x = s->x + column,
                           .self_x = a->self_kind != GNT_SELF_NONE ? s->x + column : NULL,
                           .self = a->self_kind == GNT_SELF_VECTOR ? cpu_floats(a->self) : NULL,
                           .self_rows = a->x.rows,
                           .row_scale =
                               a->epilogue.row_scale != NULL ? cpu_floats(a->epilogue.row_scale) : NULL,
                           .alpha = a->alpha,
                           .y = s->y + column,
                           .x_stride = a->x.row_stride,
                           .y_stride = a->y.row_stride,
                           .width = width };
}

static void run_rows(const cpu_spmm_product *p, const cpu_spmm_job *j, int64_t first, int64_t end)
{
    const int64_t vectors = gnti_ceil_div(j->width, p->rows->vector_floats);
    const int scaled = j->weights != NULL || j->src_scale != NULL,
              tail = j->width % p->rows->vector_floats != 0;

    p->rows->rows[scaled][vectors - 1][tail](j, first, end);
}

/* Entries [begin, end) of row r, unscaled; the self term belongs to the first piece. */
void cpu_spmm_run_piece(const cpu_spmm_product *p, const cpu_spmm_job *j, const cpu_spmm_piece *piece,
                        float *out)
{
    const int64_t at[2] = { piece->begin, piece->end };
    cpu_spmm_job sub = *j;

    sub.first = piece->row;
    sub.offsets = at;
    sub.row_scale = NULL;
    sub.alpha = 1.0f;
    sub.y = out;
    if (piece->begin != p->graph->offsets[piece->row])
        sub.self_x = NULL;
    run_rows(p, &sub, piece->row, piece->row + 1);
}

/* Epilogue of finished rows [first, first + n) in columns [column, column + width) of the strip. */
void cpu_spmm_finish_rows(const cpu_spmm_product *p, const cpu_spmm_strip *s, int64_t first, int64_t n,
                          int64_t column, int64_t width, const float *value, int64_t value_stride)
{
    const gnt_spmm_args *a = p->args;
    const int64_t one = a->y.width;

    for (int64_t m = column / one; m * one < column + width; m++) {
        const int64_t begin = gnti_max_i64(column, m * one),
                      end = gnti_min_i64(column + width, (m + 1) * one);
        const cpu_output_block block = { .member = s->first_member + m,
                                         .first_row = first,
                                         .num_rows = n,
                                         .first_column = begin - m * one,
                                         .width = end - begin,
                                         .value = value + (begin - column),
                                         .dst = s->y + first * a->y.row_stride + begin,
                                         .value_stride = value_stride,
                                         .dst_stride = a->y.row_stride,
                                         .beta = a->beta };

        cpu_epilogue_apply(p->kernels, &a->epilogue, &block);
    }
}

/* Rows of at most 4096 entries. */
static void short_rows(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                       int64_t column, int64_t first, int64_t end)
{
    float value[BLOCK_ROWS * CPU_SPMM_MAX_TILE];

    if (p->plain) {
        run_rows(p, j, first, end);
        return;
    }
    for (int64_t r = first; r < end; r += BLOCK_ROWS) {
        const int64_t n = gnti_min_i64(BLOCK_ROWS, end - r);
        cpu_spmm_job sub = *j;

        sub.first = r;
        sub.offsets = j->offsets + r;
        sub.y = value;
        sub.y_stride = j->width;
        run_rows(p, &sub, r, r + n);
        cpu_spmm_finish_rows(p, s, r, n, column, j->width, value, j->width);
    }
}

static void store_long_row(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                           int64_t column, int64_t r, const double *sum)
{
    const float factor = j->row_scale != NULL ? j->alpha * j->row_scale[r] : j->alpha;
    float value[CPU_SPMM_MAX_TILE];

    for (int64_t c = 0; c < j->width; c++)
        value[c] = factor * (float)sum[c];
    cpu_spmm_finish_rows(p, s, r, 1, column, j->width, value, j->width);
}

/* A row of more than 4096 entries: its pieces in order, added in double. */
void cpu_spmm_long_row(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                       int64_t column, int64_t r)
{
    const int64_t end = j->offsets[r + 1];
    double sum[CPU_SPMM_MAX_TILE] = { 0.0 };
    float part[CPU_SPMM_MAX_TILE];

    for (int64_t e = j->offsets[r]; e < end; e += GNTI_ROW_ENTRIES) {
        const cpu_spmm_piece piece = { r, e, gnti_min_i64(end, e + GNTI_ROW_ENTRIES) };

        cpu_spmm_run_piece(p, j, &piece, part);
        for (int64_t c = 0; c < j->width; c++)
            sum[c] += (double)part[c];
    }
    store_long_row(p, s, j, column, r, sum);
}

/* Rows [r, end) by one thread; rows that threads share, piece by piece, are left out. */
static void run_range(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                      int64_t column, int64_t r, int64_t end)
{
    const cpu_spmm_split *w = p->split;
    int64_t k = 0;

    while (k < w->num_long && w->long_row[k] < r)
        k++;
    for (; k < w->num_long && w->long_row[k] < end; k++) {
        short_rows(p, s, j, column, r, w->long_row[k]);
        r = w->long_row[k] + 1;
        if (j->offsets[r] - j->offsets[r - 1] <= p->shared_entries)
            cpu_spmm_long_row(p, s, j, column, r - 1);
    }
    short_rows(p, s, j, column, r, end);
}

/* Places [first, end) of the plan: a range of rows, or the runs of neighbouring rows in its list. */
static void run_places(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                       int64_t column, int64_t first, int64_t end)
{
    const int32_t *rows = p->graph->rows;

    if (rows == NULL) {
        run_range(p, s, j, column, first, end);
        return;
    }
    for (int64_t i = first; i < end;) {
        int64_t n = 1;

        while (i + n < end && rows[i + n] == rows[i] + n)
            n++;
        run_range(p, s, j, column, rows[i], rows[i] + n);
        i += n;
    }
}

void cpu_spmm_add_split_row(const cpu_spmm_product *p, const cpu_spmm_strip *s, const cpu_spmm_job *j,
                            int64_t column, int64_t i)
{
    const cpu_spmm_split *w = p->split;
    double sum[CPU_SPMM_MAX_TILE] = { 0.0 };

    for (int64_t k = w->split_first[i]; k < w->split_first[i + 1]; k++)
        for (int64_t c = 0; c < j->width; c++)
            sum[c] += (double)w->partial[k * CPU_SPMM_MAX_TILE + c];
    store_long_row(p, s, j, column, w->piece[w->split_first[i]].row, sum);
}

/* One tile of one strip, inside a parallel region: every thread comes here. */
static void run_tile(const cpu_spmm_product *p, const cpu_spmm_strip *s, int64_t column, int64_t width)
{
    const cpu_spmm_job j = job_of(p, s, column, width);
    const cpu_spmm_split *w = p->split;

#pragma omp for schedule(dynamic) nowait
    for (int64_t i = 0; i < w->num_chunks + w->num_pieces; i++) {
        if (i < w->num_pieces)
            cpu_spmm_run_piece(p, &j, &w->piece[i], w->partial + i * CPU_SPMM_MAX_TILE);
        else
            run_places(p, s, &j, column, w->chunk[i - w->num_pieces], w->chunk[i - w->num_pieces + 1]);
    }
    if (w->num_split == 0)
        return;
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t i = 0; i < w->num_split; i++)
        cpu_spmm_add_split_row(p, s, &j, column, i);
}

static void run_product(const cpu_spmm_product *p)
{
    const bool whole = blocks_are_rows(p->args);
    const int64_t step = whole ? p->args->y.block_members : 1,
                  limit = p->rows->vector_floats * p->rows->max_vectors;
    const int64_t tile = gnti_min_i64(p->tile, limit);

#pragma omp parallel num_threads(p->num_threads)
    for (int64_t m = 0; m < p->args->y.members; m += step) {
        const cpu_spmm_strip s = strip_at(p, m, whole);

        for (int64_t c = 0; c < s.width; c += tile)
            run_tile(p, &s, c, gnti_min_i64(tile, s.width - c));
    }
}

static bool is_plain(const gnt_spmm_args *a)
{
    return a->x.dtype == GNT_F32 && a->y.dtype == GNT_F32 && is_dense_column(a->self) &&
           is_dense_column(a->src_scale) && is_dense_column(a->arc_weight) &&
           is_dense_column(a->epilogue.row_scale);
}

bool cpu_spmm_is_fast(const gnt_spmm_args *a)
{
    return a->reduce == GNT_SPMM_SUM && a->arg == NULL && is_plain(a);
}

static cpu_spmm_product product_of(const gnt_device *dev, const gnt_spmm_plan *plan, const gnt_spmm_args *a)
{
    return (cpu_spmm_product){ .graph = &plan->head.args,
                               .args = a,
                               .split = plan->split,
                               .kernels = cpu_kernels_of(dev->isa),
                               .rows = rows_of(dev->isa),
                               .plain = a->beta == 0.0f && cpu_epilogue_is_plain(&a->epilogue),
                               .shared_entries = plan->split->split_entries,
                               .num_threads = dev->num_threads };
}

/* Places [first, end) of the plan by the calling thread, long rows too. */
static void run_alone(cpu_spmm_product *p, int64_t first, int64_t end)
{
    const gnt_spmm_args *a = p->args;
    const bool whole = blocks_are_rows(a);
    const int64_t step = whole ? a->y.block_members : 1;
    const int64_t tile = gnti_min_i64(p->tile, p->rows->vector_floats * p->rows->max_vectors);

    p->shared_entries = INT64_MAX;
    for (int64_t m = 0; m < a->y.members; m += step) {
        const cpu_spmm_strip s = strip_at(p, m, whole);

        for (int64_t c = 0; c < s.width; c += tile) {
            const cpu_spmm_job j = job_of(p, &s, c, gnti_min_i64(tile, s.width - c));

            run_places(p, &s, &j, c, first, end);
        }
    }
}

int64_t cpu_spmm_place(const gnt_spmm_plan *plan, int64_t row)
{
    const gnt_spmm_plan_args *g = &plan->head.args;
    int64_t low = 0, high = g->num_listed;

    if (g->rows == NULL)
        return row;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;

        if (g->rows[mid] < row)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

void cpu_spmm_range(const gnt_device *dev, const gnt_spmm_plan *plan, const gnt_spmm_args *a, int64_t first,
                    int64_t end)
{
    cpu_spmm_product p = product_of(dev, plan, a);

    p.tile = CPU_SPMM_MAX_TILE;
    run_alone(&p, cpu_spmm_place(plan, first), cpu_spmm_place(plan, end));
}

static gnt_status product_by_blocks(gnt_stream *s, const cpu_spmm_product *p)
{
    gnt_status st = GNT_OK;
    const bool whole = blocks_are_rows(p->args);
    const int64_t step = whole ? p->args->y.block_members : 1;
    void *scratch = NULL;

    GNT_TRY(cpu_scratch(s, cpu_spmm_blocks_scratch(p), &scratch));
    for (int64_t m = 0; m < p->args->y.members; m += step) {
        const cpu_spmm_strip strip = strip_at(p, m, whole);

        cpu_spmm_by_blocks(p, &strip, scratch);
    }
done:
    return st;
}

gnt_status cpu_spmm(gnt_stream *s, const gnt_spmm_plan *plan, const gnt_spmm_args *a)
{
    const gnt_device *dev = s->head.device;
    const double values =
        (double)(plan->head.work_arcs + plan->head.work_rows) * (double)(a->y.members * a->y.width) / 2.0;
    const double start = gnti_clock_seconds();
    cpu_spmm_product p;
    int slot;

    if (!cpu_spmm_is_fast(a)) {
        if (a->reduce != GNT_SPMM_SUM && is_plain(a))
            cpu_spmm_max(s, rows_of(dev->isa), plan, a);
        else
            cpu_spmm_generic(s, plan, a);
        return GNT_OK;
    }
    p = product_of(dev, plan, a);
    p.num_threads = cpu_team(dev, values);
    if (cpu_spmm_has_blocks(plan, a))
        return product_by_blocks(s, &p);
    slot = cpu_spmm_choice_next(plan->split, a->y.width * (blocks_are_rows(a) ? a->y.block_members : 1),
                                &p.tile);
    if (p.num_threads == 1) /* no region for one thread: see cpu_each.c */
        run_alone(&p, plan->split->chunk[0], plan->split->chunk[plan->split->num_chunks]);
    else
        run_product(&p);
    cpu_spmm_choice_note(plan->split, slot, p.tile, gnti_clock_seconds() - start);
    return GNT_OK;
}
