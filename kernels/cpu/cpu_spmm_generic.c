/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product for the rare cases: bfloat16 operands, scales with a stride; largest terms with such (cpu_spmm_max.c).
 *
 * Plain loops over tiles of 256 columns of one row and member; operands are widened to float32 as they are
 * read. The order of sums is that of the row kernels: entries in order, one accumulator per 4096 of them,
 * these in double.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_spmm.h"

#include <math.h>

typedef struct row_sum {
    float part[CPU_SPMM_MAX_TILE];
    double sum[CPU_SPMM_MAX_TILE];
    int32_t winner[CPU_SPMM_MAX_TILE];
    int64_t width;
    bool max;
    const gnt_mat_view *won; /* MAX_GRAD: sources that won; NULL: no such filter */
    const int64_t *ids;      /* of columns, that arg holds instead of them; NULL: columns */
    int64_t row;
} row_sum;

static float scalar(const gnt_mat_view *v, int64_t r, int64_t m)
{
    float out = 1.0f;

    if (v != NULL)
        cpu_load_floats(v, r, m, 0, 1, &out);
    return out;
}

static void flush(row_sum *s)
{
    for (int64_t c = 0; c < s->width; c++) {
        s->sum[c] += (double)s->part[c];
        s->part[c] = 0.0f;
    }
}

static void take(row_sum *s, const float *term, float weight, int64_t column)
{
    for (int64_t c = 0; c < s->width; c++) {
        const float v = weight * term[c];

        if (!s->max) {
            s->part[c] += v;
        } else if (s->winner[c] < 0 || v > s->part[c] || (isnan(v) && !isnan(s->part[c]))) {
            s->part[c] = v;
            s->winner[c] = (int32_t)column;
        }
    }
}

/* Clears what row s->row did not win of source row `from`. */
static void keep_won(const row_sum *s, int64_t from, int64_t m, int64_t c, float *x)
{
    const int32_t *won = (const int32_t *)cpu_address(s->won->buf, s->won->offset) +
                         cpu_member_offset(s->won, m) + from * s->won->row_stride + c;

    for (int64_t i = 0; i < s->width; i++)
        if (won[i] != (s->ids != NULL ? s->ids[s->row] : s->row))
            x[i] = 0.0f;
}

static void sum_row(const gnt_spmm_plan_args *g, const gnt_spmm_args *a, int64_t r, int64_t m, int64_t c,
                    row_sum *s)
{
    float x[CPU_SPMM_MAX_TILE];

    for (int64_t i = 0; i < s->width; i++) {
        s->part[i] = 0.0f;
        s->sum[i] = 0.0;
        s->winner[i] = -1;
    }
    if (a->self_kind != GNT_SELF_NONE && r < a->x.rows &&
        (!s->max || a->self_kind == GNT_SELF_ONE || scalar(a->self, r, 0) != 0.0f)) {
        cpu_load_floats(&a->x, r, m, c, s->width, x);
        if (s->won != NULL)
            keep_won(s, r, m, c, x);
        take(s, x,
             scalar(a->self_kind == GNT_SELF_VECTOR ? a->self : NULL, r, 0) * scalar(a->src_scale, r, 0), r);
    }
    for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++) {
        const int32_t column = g->columns[e];
        float w = g->weights != NULL ? g->weights[e] : 1.0f;

        if (a->arc_weight != NULL)
            w = scalar(a->arc_weight, e, m);
        if (!s->max && e > g->offsets[r] && (e - g->offsets[r]) % GNTI_ROW_ENTRIES == 0)
            flush(s);
        cpu_load_floats(&a->x, column, m, c, s->width, x);
        if (s->won != NULL)
            keep_won(s, column, m, c, x);
        take(s, x, w * scalar(a->src_scale, column, 0), column);
    }
    flush(s);
}

static void store_row(const gnt_spmm_args *a, const cpu_kernels *k, int64_t r, int64_t m, int64_t c,
                      row_sum *s)
{
    const float factor = a->alpha * scalar(a->epilogue.row_scale, r, 0);
    float value[CPU_SPMM_MAX_TILE], old[CPU_SPMM_MAX_TILE];
    const cpu_output_block block = { .member = m,
                                     .first_row = r,
                                     .num_rows = 1,
                                     .first_column = c,
                                     .width = s->width,
                                     .value = value,
                                     .dst = old,
                                     .beta = a->beta };

    for (int64_t i = 0; i < s->width; i++)
        value[i] = factor * (float)s->sum[i];
    if (a->beta != 0.0f)
        cpu_load_floats(&a->y, r, m, c, s->width, old);
    cpu_epilogue_apply(k, &a->epilogue, &block);
    cpu_store_floats(&a->y, r, m, c, s->width, old);
    if (a->arg != NULL && s->max) {
        int32_t *arg = (int32_t *)cpu_address(a->arg->buf, a->arg->offset) + cpu_member_offset(a->arg, m) +
                       r * a->arg->row_stride + c;

        for (int64_t i = 0; i < s->width; i++)
            arg[i] = s->ids != NULL && s->winner[i] >= 0 ? (int32_t)s->ids[s->winner[i]] : s->winner[i];
    }
}

typedef struct generic_work {
    const gnt_spmm_plan *plan;
    const gnt_spmm_args *args;
    const cpu_kernels *kernels;
} generic_work;

static void run_row(const generic_work *w, int64_t r)
{
    const gnt_spmm_args *a = w->args;

    for (int64_t m = 0; m < a->y.members; m++)
        for (int64_t c = 0; c < a->y.width; c += CPU_SPMM_MAX_TILE) {
            row_sum sum;

            sum.max = a->reduce == GNT_SPMM_MAX;
            sum.won = a->reduce == GNT_SPMM_MAX_GRAD ? a->arg : NULL;
            sum.ids = a->arg_ids != NULL ? a->arg_ids->head.host : NULL;
            sum.row = r;
            sum.width = gnti_min_i64(CPU_SPMM_MAX_TILE, a->y.width - c);
            sum_row(&w->plan->head.args, a, r, m, c, &sum);
            store_row(a, w->kernels, r, m, c, &sum);
        }
}

static void run_chunk(void *user, int64_t chunk, int32_t thread)
{
    const generic_work *w = user;
    const cpu_spmm_split *split = w->plan->split;

    (void)thread;
    for (int64_t i = split->chunk[chunk]; i < split->chunk[chunk + 1]; i++)
        run_row(w, cpu_spmm_row(&w->plan->head.args, i));
}

void cpu_spmm_generic(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    const gnt_device *dev = s->head.device;
    const double values =
        (double)(p->head.work_arcs + p->head.work_rows) * (double)(a->y.members * a->y.width);
    generic_work w = { p, a, cpu_kernels_of(dev->isa) };

    cpu_each(cpu_team(dev, values), p->split->num_chunks, &w, run_chunk);
}
