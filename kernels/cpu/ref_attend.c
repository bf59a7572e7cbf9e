/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's attention along arcs and its gradient: the formulas of args.h in double, one head of one row after the other,
 * the sum over all arcs where the kernels use what follows from it.
 */
#include "kernels/cpu/ref.h"

#include <math.h>

/* The rows of a plan: its range, or its list. */
static int64_t num_rows(const gnt_spmm_plan_args *g)
{
    return g->rows != NULL ? g->num_listed : g->end_row - g->first_row;
}

static int64_t row_at(const gnt_spmm_plan_args *g, int64_t i)
{
    return g->rows != NULL ? g->rows[i] : g->first_row + i;
}

/* Arcs of a row with its own first: entry -1 is row i itself (if it is a column too). */
static int64_t column_at(const gnt_spmm_plan_args *g, int64_t row, int64_t e)
{
    return e < g->offsets[row] ? row : g->columns[e];
}

static int64_t first_entry(const gnt_spmm_plan_args *g, int64_t row)
{
    return g->offsets[row] - (row < g->num_cols);
}

static int64_t id_of(const gnt_buffer *ids, int64_t r)
{
    return ids != NULL ? ((const int64_t *)ids->head.host)[r] : r;
}

/* 0 where the arc is dropped, else 1 / (1 - p); counters: docs/design.md. */
static double keep_factor(const gnt_arc_dropout *d, int64_t src, int64_t dst, int64_t m, int32_t head)
{
    const gnti_step_head *step;
    uint32_t counter[4], word[4];
    uint64_t from, to;
    float p;

    if (d->hyper < 0)
        return 1.0;
    step = ref_step(d->step);
    from = (uint64_t)id_of(d->src_ids, src);
    to = (uint64_t)id_of(d->dst_ids, dst);
    p = gnti_step_hyper(step, d->hyper)[m];
    counter[0] = (uint32_t)from;
    counter[1] = (uint32_t)to;
    counter[2] = (uint32_t)GNTI_DRAW_ARC_DROP << 28 | (uint32_t)(head >> 2) << 24 | d->ordinal << 12 |
                 ((uint32_t)(from >> 32) & 63u) << 6 | ((uint32_t)(to >> 32) & 63u);
    counter[3] = (uint32_t)step->step;
    gnti_philox(counter, gnti_step_keys(step)[m], word);
    return word[head & 3] < gnti_drop_threshold(p) ? 0.0 : 1.0 / (1.0 - (double)p);
}

static double leaky(double e, float slope)
{
    return e > 0.0 ? e : (double)slope * e;
}

static void attend_row(const gnt_spmm_plan_args *g, const gnt_attend_args *a, int64_t r, int64_t m,
                       int32_t head)
{
    const int64_t width = a->h.width / a->heads, first = first_entry(g, r), end = g->offsets[r + 1];
    const double s_dst = ref_get(&a->s_dst, r, m, head);
    double top = -INFINITY, sum = 0.0;

    for (int64_t e = first; e < end; e++) {
        const double l = leaky(s_dst + ref_get(&a->s_src, column_at(g, r, e), m, head), a->slope);

        top = l > top || isnan(l) ? l : top;
    }
    for (int64_t e = first; e < end; e++)
        sum += exp(leaky(s_dst + ref_get(&a->s_src, column_at(g, r, e), m, head), a->slope) - top);
    for (int64_t k = 0; k < width; k++) {
        const int64_t c = head * width + k;
        double out = 0.0;

        for (int64_t e = first; e < end; e++) {
            const int64_t j = column_at(g, r, e);
            const double l = leaky(s_dst + ref_get(&a->s_src, j, m, head), a->slope);

            out += keep_factor(&a->dropout, j, r, m, head) * exp(l - top) / sum * ref_get(&a->h, j, m, c);
        }
        ref_set(&a->out, r, m, c,
                ref_epilogue(&a->epilogue, out, (double)a->alpha, (double)a->beta, &a->out, r, m, c));
    }
    if (a->soft.buf != NULL) {
        ref_set(&a->soft, r, m, head, top);
        ref_set(&a->soft, r, m, a->heads + head, sum);
    }
}

gnt_status ref_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a)
{
    const gnt_spmm_plan_args *g = &p->head.args;

    (void)s;
    for (int64_t m = 0; m < a->out.members; m++)
        for (int64_t i = 0; i < num_rows(g); i++)
            for (int32_t head = 0; head < a->heads; head++)
                attend_row(g, a, row_at(g, i), m, head);
    return GNT_OK;
}

/* One arc, from j to i, of one head: a_ij, r_i and e_ij. */
typedef struct arc {
    int64_t j, i;
    double soft, r, e;
} arc;

/* de of the arc. */
static double arc_gradient(const gnt_attend_grad_args *a, const arc *at, int64_t m, int32_t head)
{
    const int64_t width = a->h.width / a->heads;
    double da = 0.0;

    for (int64_t c = head * width; c < (head + 1) * width; c++)
        da += ref_get(&a->grad, at->i, m, c) * ref_get(&a->h, at->j, m, c);
    return at->soft * (keep_factor(&a->dropout, at->j, at->i, m, head) * da - at->r) *
           (at->e > 0.0 ? 1.0 : (double)a->slope);
}

static void by_row(const gnt_spmm_plan_args *g, const gnt_attend_grad_args *a, int64_t i, int64_t m,
                   int32_t head)
{
    const int64_t width = a->h.width / a->heads, H = a->heads;
    const double s_dst = ref_get(&a->s_dst, i, m, head), top = ref_get(&a->soft, i, m, head),
                 sum = ref_get(&a->soft, i, m, H + head);
    double r = 0.0, u = 0.0;

    for (int64_t c = head * width; c < (head + 1) * width; c++)
        r += ref_get(&a->grad, i, m, c) * ref_get(&a->out, i, m, c);
    for (int64_t at = first_entry(g, i); at < g->offsets[i + 1]; at++) {
        const int64_t j = column_at(g, i, at);
        const double e = s_dst + ref_get(&a->s_src, j, m, head);

        u += arc_gradient(a, &(arc){ j, i, exp(leaky(e, a->slope) - top) / sum, r, e }, m, head);
    }
    ref_set(&a->ds_dst, i, m, head, u);
    ref_set(&a->stat, i, m, head, s_dst);
    ref_set(&a->stat, i, m, H + head, top);
    ref_set(&a->stat, i, m, 2 * H + head, 1.0 / sum);
    ref_set(&a->stat, i, m, 3 * H + head, r);
}

static void by_column(const gnt_spmm_plan_args *g, const gnt_attend_grad_args *a, int64_t j, int64_t m,
                      int32_t head)
{
    const int64_t width = a->h.width / a->heads, H = a->heads;
    const double s_src = ref_get(&a->s_src, j, m, head);
    double v = 0.0;

    for (int64_t c = head * width; c < (head + 1) * width; c++) {
        double dh = 0.0;

        for (int64_t at = first_entry(g, j); at < g->offsets[j + 1]; at++) {
            const int64_t i = column_at(g, j, at);
            const double e = ref_get(&a->stat, i, m, head) + s_src;
            const double soft = exp(leaky(e, a->slope) - ref_get(&a->stat, i, m, H + head)) *
                                ref_get(&a->stat, i, m, 2 * H + head);

            dh += keep_factor(&a->dropout, j, i, m, head) * soft * ref_get(&a->grad, i, m, c);
            if (c == head * width)
                v += arc_gradient(a, &(arc){ j, i, soft, ref_get(&a->stat, i, m, 3 * H + head), e }, m, head);
        }
        ref_set(&a->dh, j, m, c, dh);
    }
    ref_set(&a->ds_src, j, m, head, v);
}

gnt_status ref_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a)
{
    const gnt_spmm_plan_args *g = &p->head.args;
    const int64_t members = a->transposed ? a->dh.members : a->stat.members;

    (void)s;
    for (int64_t m = 0; m < members; m++)
        for (int64_t i = 0; i < num_rows(g); i++)
            for (int32_t head = 0; head < a->heads; head++)
                if (a->transposed)
                    by_column(g, a, row_at(g, i), m, head);
                else
                    by_row(g, a, row_at(g, i), m, head);
    return GNT_OK;
}
