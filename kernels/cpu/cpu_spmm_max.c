/* SPDX-License-Identifier: Apache-2.0 */
/* The largest term of each row with its source, and its gradient: from views to rows, threads over the plan's chunks. A row of
 * one member goes through the level's kernel in tiles of 256 columns, then through the epilogue. The gradient is a sum: entries in
 * order, one accumulator per 4096 of them, these in double, as in every sparse product. What the kernels do not take (bfloat16,
 * scales with a stride) is left to cpu_spmm_generic.c, whose bits these are.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_spmm.h"

typedef struct work {
    const gnt_spmm_plan *plan;
    const gnt_spmm_args *args;
    const cpu_kernels *pointwise;
    const cpu_spmm_kernels *rows;
    const int64_t *ids; /* what arg holds instead of columns (MAX) or rows (MAX_GRAD), or NULL */
} work;

enum { ROOM = CPU_SPMM_MAX_TILE + 16 }; /* kernels write whole vectors */

static const float *column_of(const gnt_mat_view *v)
{
    return v != NULL ? cpu_floats(v) : NULL;
}

static bool has_own(const gnt_spmm_args *a, int64_t r)
{
    if (a->self_kind == GNT_SELF_NONE || r >= a->x.rows)
        return false;
    return a->reduce != GNT_SPMM_MAX || a->self_kind == GNT_SELF_ONE || column_of(a->self)[r] != 0.0f;
}

/* Columns from c on of row r of member m, but for its entries. */
static cpu_spmm_max_job job_of(const work *w, int64_t r, int64_t m, int64_t c)
{
    const gnt_spmm_args *a = w->args;
    const gnt_spmm_plan_args *g = &w->plan->head.args;
    const int64_t key = w->ids != NULL ? w->ids[r] : r;
    cpu_spmm_max_job j = { .row = r,
                           .columns = g->columns,
                           .num_arcs = g->num_arcs,
                           .weights = g->weights,
                           .src_scale = column_of(a->src_scale),
                           .x = cpu_floats(&a->x) + cpu_member_offset(&a->x, m) + c,
                           .x_stride = a->x.row_stride,
                           .width = gnti_min_i64(CPU_SPMM_MAX_TILE, a->y.width - c),
                           .own = has_own(a, r),
                           .key = key <= INT32_MAX ? (int32_t)key : -2 /* nobody's */ };

    if (a->arc_weight != NULL)
        j.weights = cpu_floats(a->arc_weight) + cpu_member_offset(a->arc_weight, m);
    if (j.own)
        j.own_factor = (a->self_kind == GNT_SELF_VECTOR ? column_of(a->self)[r] : 1.0f) *
                       (j.src_scale != NULL ? j.src_scale[r] : 1.0f);
    if (a->reduce == GNT_SPMM_MAX_GRAD) {
        j.chosen =
            (const int32_t *)cpu_address(a->arg->buf, a->arg->offset) + cpu_member_offset(a->arg, m) + c;
        j.chosen_stride = a->arg->row_stride;
    }
    return j;
}

static void store_winners(const work *w, const cpu_spmm_max_job *j, int64_t m, int64_t c)
{
    const gnt_mat_view *arg = w->args->arg;
    int32_t *to = (int32_t *)cpu_address(arg->buf, arg->offset) + cpu_member_offset(arg, m) +
                  j->row * arg->row_stride + c;

    for (int64_t i = 0; i < j->width; i++)
        to[i] = w->ids != NULL && j->winner[i] >= 0 ? (int32_t)w->ids[j->winner[i]] : j->winner[i];
}

/* The epilogue of a row, from value. */
static void finish(const work *w, const cpu_spmm_max_job *j, int64_t m, int64_t c)
{
    const gnt_spmm_args *a = w->args;
    const gnt_mat_view *scale = a->epilogue.row_scale;
    const float factor = a->alpha * (scale != NULL ? column_of(scale)[j->row] : 1.0f);
    const cpu_output_block block = { .member = m,
                                     .first_row = j->row,
                                     .num_rows = 1,
                                     .first_column = c,
                                     .width = j->width,
                                     .value = j->value,
                                     .dst = cpu_floats(&a->y) + cpu_member_offset(&a->y, m) +
                                            j->row * a->y.row_stride + c,
                                     .value_stride = j->width,
                                     .dst_stride = a->y.row_stride,
                                     .beta = a->beta };

    for (int64_t i = 0; i < j->width; i++)
        j->value[i] = factor * (j->value[i] + 0.0f); /* no -0, as sums have none */
    cpu_epilogue_apply(w->pointwise, &a->epilogue, &block);
}

/* A gradient of more than 4096 entries: its pieces in order. */
static void add_pieces(const work *w, cpu_spmm_max_job *j, int64_t begin, int64_t end)
{
    double sum[CPU_SPMM_MAX_TILE] = { 0.0 };

    for (int64_t e = begin; e < end; e += GNTI_ROW_ENTRIES, j->own = false) {
        j->begin = e;
        j->end = gnti_min_i64(end, e + GNTI_ROW_ENTRIES);
        w->rows->max_grad(j);
        for (int64_t i = 0; i < j->width; i++)
            sum[i] += (double)j->value[i];
    }
    for (int64_t i = 0; i < j->width; i++)
        j->value[i] = (float)sum[i];
}

static void run_row(const work *w, int64_t r, int64_t m, int64_t c)
{
    const gnt_spmm_plan_args *g = &w->plan->head.args;
    float value[ROOM];
    int32_t winner[ROOM];
    cpu_spmm_max_job j = job_of(w, r, m, c);

    j.value = value;
    j.winner = winner;
    j.begin = g->offsets[r];
    j.end = g->offsets[r + 1];
    if (w->args->reduce == GNT_SPMM_MAX)
        w->rows->max(&j);
    else if (j.end - j.begin > GNTI_ROW_ENTRIES)
        add_pieces(w, &j, j.begin, j.end);
    else
        w->rows->max_grad(&j);
    if (w->args->reduce == GNT_SPMM_MAX && w->args->arg != NULL)
        store_winners(w, &j, m, c);
    finish(w, &j, m, c);
}

static void run_chunk(void *user, int64_t chunk, int32_t thread)
{
    const work *w = user;
    const cpu_spmm_split *split = w->plan->split;

    (void)thread;
    for (int64_t i = split->chunk[chunk]; i < split->chunk[chunk + 1]; i++)
        for (int64_t m = 0; m < w->args->y.members; m++)
            for (int64_t c = 0; c < w->args->y.width; c += CPU_SPMM_MAX_TILE)
                run_row(w, cpu_spmm_row(&w->plan->head.args, i), m, c);
}

void cpu_spmm_max(gnt_stream *s, const cpu_spmm_kernels *rows, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    const gnt_device *dev = s->head.device;
    const double values =
        (double)(p->head.work_arcs + p->head.work_rows) * (double)(a->y.members * a->y.width) / 2.0;
    work w = { p, a, cpu_kernels_of(dev->isa), rows, NULL };

    if (a->arg != NULL && a->arg_ids != NULL)
        w.ids = a->arg_ids->head.host;
    cpu_each(cpu_team(dev, values), p->split->num_chunks, &w, run_chunk);
}
