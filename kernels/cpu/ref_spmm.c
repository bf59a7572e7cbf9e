/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's sparse product, sum or largest term: the definition in backend.h, one element after the other.
 */
#include "base/alloc.h"
#include "kernels/cpu/ref.h"

#include <math.h>

gnt_status ref_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    gnt_status st = GNT_OK;
    gnt_spmm_plan *p = NULL;

    GNT_TRY(gnti_calloc_bytes((void **)&p, sizeof *p));
    p->head.backend = s->head.backend;
    p->head.args = *a;
    *out = p;
done:
    return st;
}

void ref_spmm_plan_free(gnt_spmm_plan *p)
{
    gnti_free(p);
}

typedef struct reduction {
    gnt_spmm_reduce reduce;
    double value;
    int64_t winner; /* -1: no term yet */
} reduction;

static void take(reduction *r, double term, int64_t column)
{
    if (r->reduce != GNT_SPMM_MAX) {
        r->value += term;
    } else if (r->winner < 0 || term > r->value || (isnan(term) && !isnan(r->value))) {
        r->value = term;
        r->winner = column;
    }
}

static double source(const gnt_spmm_args *a, int64_t row, int64_t m, int64_t c)
{
    return ref_get(&a->x, row, m, c) * (a->src_scale != NULL ? ref_get(a->src_scale, row, 0, 0) : 1.0);
}

/* What arg holds for column i. */
static int64_t ref_id(const gnt_spmm_args *a, int64_t i)
{
    return a->arg_ids != NULL && i >= 0 ? ((const int64_t *)a->arg_ids->head.host)[i] : i;
}

/* Whether x_i counts for row r: MAX_GRAD takes only what r won. */
static bool counts(const gnt_spmm_args *a, int64_t r, int64_t i, int64_t m, int64_t c)
{
    const int32_t *arg;

    if (a->reduce != GNT_SPMM_MAX_GRAD)
        return true;
    arg = cpu_address(a->arg->buf, a->arg->offset);
    return arg[ref_index(a->arg, i, m, c)] == ref_id(a, r);
}

static bool has_self(const gnt_spmm_args *a, int64_t r)
{
    if (a->self_kind == GNT_SELF_NONE || r >= a->x.rows)
        return false;
    return a->reduce != GNT_SPMM_MAX || a->self_kind == GNT_SELF_ONE || ref_get(a->self, r, 0, 0) != 0.0;
}

static void element(const gnt_spmm_plan_args *g, const gnt_spmm_args *a, int64_t r, int64_t m, int64_t c)
{
    reduction sum = { a->reduce, 0.0, -1 };

    if (has_self(a, r) && counts(a, r, r, m, c))
        take(&sum, source(a, r, m, c) * (a->self_kind == GNT_SELF_VECTOR ? ref_get(a->self, r, 0, 0) : 1.0),
             r);
    for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++) {
        double w = g->weights != NULL ? (double)g->weights[e] : 1.0;

        if (a->arc_weight != NULL)
            w = ref_get(a->arc_weight, e, m, 0);
        if (counts(a, r, g->columns[e], m, c))
            take(&sum, w * source(a, g->columns[e], m, c), g->columns[e]);
    }
    if (a->arg != NULL && a->reduce == GNT_SPMM_MAX)
        ((int32_t *)cpu_address(a->arg->buf, a->arg->offset))[ref_index(a->arg, r, m, c)] =
            (int32_t)ref_id(a, sum.winner);
    ref_set(&a->y, r, m, c,
            ref_epilogue(&a->epilogue, sum.value, (double)a->alpha, (double)a->beta, &a->y, r, m, c));
}

gnt_status ref_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    const gnt_spmm_plan_args *g = &p->head.args;

    (void)s;
    for (int64_t m = 0; m < a->y.members; m++)
        for (int64_t i = g->rows != NULL ? 0 : g->first_row;
             i < (g->rows != NULL ? g->num_listed : g->end_row); i++)
            for (int64_t c = 0; c < a->y.width; c++)
                element(g, a, g->rows != NULL ? g->rows[i] : i, m, c);
    return GNT_OK;
}
