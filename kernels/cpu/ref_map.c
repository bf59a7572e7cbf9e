/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle's pointwise ops, reductions and row gather. */
#include "kernels/cpu/ref.h"

static double mapped(const gnt_map_args *a, int64_t r, int64_t m, int64_t c)
{
    const double alpha = (double)a->alpha, beta = (double)a->beta;
    double keep;

    switch (a->kind) {
    case GNT_MAP_FILL:
        return alpha;
    case GNT_MAP_COPY:
        return alpha * ref_get(&a->a, r, m, c);
    case GNT_MAP_ADD:
        return alpha * ref_get(&a->a, r, m, c) + beta * ref_get(&a->b, r, m, c);
    case GNT_MAP_MUL:
        return alpha * ref_get(&a->a, r, m, c) * ref_get(&a->b, r, m, c);
    case GNT_MAP_ACT:
        return ref_act(a->act, (double)a->act_alpha, ref_get(&a->a, r, m, c));
    case GNT_MAP_ACT_GRAD:
        return ref_get(&a->a, r, m, c) * ref_act_grad(a->act, (double)a->act_alpha, ref_get(&a->b, r, m, c));
    case GNT_MAP_DROPOUT:
        keep = ref_keep_factor(&a->dropout, a->step, r, m, c);
        return keep == 0.0 ? 0.0 : ref_get(&a->a, r, m, c) * keep;
    }
    return 0.0;
}

gnt_status ref_map(gnt_stream *s, const gnt_map_args *a)
{
    if (a->arc_rows != NULL) {
        cpu_map_entries(s, a);
        return GNT_OK;
    }
    for (int64_t m = 0; m < a->y.members; m++)
        for (int64_t r = 0; r < a->y.rows; r++)
            for (int64_t c = 0; c < a->y.width; c++) {
                const double v = mapped(a, r, m, c);

                ref_set(&a->y, r, m, c, a->accumulate ? ref_get(&a->y, r, m, c) + v : v);
            }
    return GNT_OK;
}

static double term(const gnt_reduce_args *a, int64_t r, int64_t m, int64_t c)
{
    const double v = ref_get(&a->a, r, m, c);

    return a->kind == GNT_REDUCE_SUM_ROWS ? v : v * ref_get(&a->b, r, m, c);
}

gnt_status ref_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    const bool over_rows = a->kind != GNT_REDUCE_DOT_COLS;
    const bool all_columns = a->kind == GNT_REDUCE_DOT_COLS || a->kind == GNT_REDUCE_DOT_ALL;

    (void)s;
    for (int64_t m = 0; m < a->y.members; m++)
        for (int64_t i = 0; i < a->y.rows; i++)
            for (int64_t j = 0; j < a->y.width; j++) {
                const int64_t first_row = over_rows ? 0 : i, end_row = over_rows ? a->a.rows : i + 1;
                const int64_t first_col = all_columns ? 0 : j, end_col = all_columns ? a->a.width : j + 1;
                double sum = 0.0;

                for (int64_t r = first_row; r < end_row; r++)
                    for (int64_t c = first_col; c < end_col; c++)
                        sum += term(a, r, m, c);
                ref_set(&a->y, i, m, j, a->accumulate ? ref_get(&a->y, i, m, j) + sum : sum);
            }
    return GNT_OK;
}

gnt_status ref_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;
    const int32_t *index = a->index->head.host;

    (void)s;
    for (int64_t r = 0; r < a->y.rows; r++) {
        GNT_CHECK(index[r] >= 0 && index[r] < a->x.rows, GNT_ERR_ARG, "gather: row %lld wants row %d of %lld",
                  (long long)r, index[r], (long long)a->x.rows);
        for (int64_t m = 0; m < a->y.members; m++)
            for (int64_t c = 0; c < a->y.width; c++) {
                const double v = ref_get(&a->x, index[r], m, c);

                ref_set(&a->y, r, m, c, a->accumulate ? ref_get(&a->y, r, m, c) + v : v);
            }
    }
done:
    return st;
}
