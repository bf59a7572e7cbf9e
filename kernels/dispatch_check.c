/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks, once for all backends: a kernel behind them may trust every shape, dtype and bound.
 *
 * M is the number of members of the output; an operand with one member broadcasts. What only the device knows
 * (a label in device memory, an index) is checked by the kernel itself. */
#include "kernels/dispatch_check.h"

#include "base/size.h"
#include "kernels/view.h"

#define SHAPE(r, m, w) ((gnti_view_shape){ (r), (m), (w) })

static bool is_float(gnt_dtype d)
{
    return d == GNT_F32 || d == GNT_BF16;
}

gnt_status gnti_check_dtype(const char *op, const char *name, const gnt_mat_view *v, gnt_dtype want)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(v->dtype == want, GNT_ERR_ARG, "%s: %s has the element type %d, not %d", op, name,
              (int)v->dtype, (int)want);
done:
    return st;
}

static gnt_status check_tree(const char *op, const gnt_row_tree *t, int64_t rows)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(t == NULL || t->num_rows == rows, GNT_ERR_ARG,
              "%s: the tree of sums has %lld rows, the operand %lld", op, (long long)t->num_rows,
              (long long)rows);
    GNT_CHECK(t == NULL || t->block_start != NULL || t->num_blocks == gnti_ceil_div(rows, GNTI_TREE_ROWS),
              GNT_ERR_ARG, "%s: the tree of sums has %lld blocks, %lld rows need %lld", op,
              (long long)t->num_blocks, (long long)rows, (long long)gnti_ceil_div(rows, GNTI_TREE_ROWS));
done:
    return st;
}

/* The step block has the hyper and all members, as far as the host can see it. */
gnt_status gnti_check_hyper(const gnt_stream *s, const char *op, const gnt_buffer *step, int32_t hyper,
                            int64_t members)
{
    gnt_status st = GNT_OK;
    const gnti_step_head *head;

    GNT_TRY(gnti_buffer_check(s, op, "the step block", step, sizeof(gnti_step_head)));
    head = gnt_buffer_host(step);
    GNT_CHECK(head == NULL || (hyper < head->num_hypers && members <= head->num_members), GNT_ERR_ARG,
              "%s: hyper %d of %lld members, the step block has %lld hypers of %lld members", op, hyper,
              (long long)members, (long long)head->num_hypers, (long long)head->num_members);
done:
    return st;
}

static gnt_status check_dropout(const gnt_stream *s, const char *op, const gnt_dropout *d,
                                const gnt_buffer *step, int64_t rows, int64_t members)
{
    gnt_status st = GNT_OK;

    if (d->hyper < 0)
        return GNT_OK;
    GNT_TRY(gnti_check_hyper(s, op, step, d->hyper, members));
    GNT_CHECK(d->ordinal < 4096, GNT_ERR_ARG, "%s: random op %u, the limit is 4095", op, d->ordinal);
    if (d->row_ids != NULL)
        GNT_TRY(
            gnti_buffer_check(s, op, "row_ids", d->row_ids, (size_t)(d->first_row + rows) * sizeof(int64_t)));
done:
    return st;
}

/* Epilogue of an output y. */
gnt_status gnti_check_epilogue(const gnt_stream *s, const char *op, const gnt_epilogue *e,
                               const gnt_mat_view *y)
{
    gnt_status st = GNT_OK;

    if (e->row_scale != NULL) {
        GNT_TRY(gnti_view_fits(s, op, "row_scale", e->row_scale, SHAPE(y->rows, 1, 1), GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype(op, "row_scale", e->row_scale, GNT_F32));
    }
    if (e->bias != NULL) {
        GNT_TRY(gnti_view_fits(s, op, "bias", e->bias, SHAPE(1, y->members, y->width), GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype(op, "bias", e->bias, GNT_F32));
    }
    if (e->gate != NULL) {
        GNT_TRY(gnti_view_fits(s, op, "gate", e->gate, SHAPE(y->rows, y->members, y->width),
                               GNTI_VIEW_ONE_MEMBER));
        GNT_CHECK(is_float(e->gate->dtype), GNT_ERR_ARG, "%s: gate must be float", op);
        GNT_TRY(check_dropout(s, op, &e->gate_dropout, e->step, y->rows, y->members));
    }
    GNT_TRY(check_dropout(s, op, &e->dropout, e->step, y->rows, y->members));
done:
    return st;
}

gnt_status gnti_check_gemm(const gnt_stream *s, const gnt_gemm_args *a)
{
    gnt_status st = GNT_OK;
    char left[GNTI_VIEW_TEXT_BYTES], right[GNTI_VIEW_TEXT_BYTES], result[GNTI_VIEW_TEXT_BYTES];
    const int64_t rows = a->trans_a ? a->a.width : a->a.rows, inner_a = a->trans_a ? a->a.rows : a->a.width;
    const int64_t cols = a->trans_b ? a->b.rows : a->b.width, inner_b = a->trans_b ? a->b.width : a->b.rows;

    GNT_TRY(gnti_view_check(s, "gemm", "a", &a->a));
    GNT_TRY(gnti_view_check(s, "gemm", "b", &a->b));
    GNT_TRY(gnti_view_check(s, "gemm", "c", &a->c));
    gnti_view_text(left, &a->a);
    gnti_view_text(right, &a->b);
    gnti_view_text(result, &a->c);
    GNT_CHECK(inner_a == inner_b, GNT_ERR_ARG,
              "gemm: a%s is %s, b%s is %s: the inner sizes %lld and %lld differ",
              a->trans_a ? " (transposed)" : "", left, a->trans_b ? " (transposed)" : "", right,
              (long long)inner_a, (long long)inner_b);
    GNT_CHECK(a->c.rows == rows && a->c.width == cols, GNT_ERR_ARG, "gemm: c is %s, the product %lld x %lld",
              result, (long long)rows, (long long)cols);
    GNT_CHECK((a->a.members == 1 || a->a.members == a->c.members) &&
                  (a->b.members == 1 || a->b.members == a->c.members),
              GNT_ERR_ARG, "gemm: members of a %s, b %s and c %s do not fit", left, right, result);
    GNT_CHECK(is_float(a->a.dtype) && is_float(a->b.dtype) && is_float(a->c.dtype), GNT_ERR_ARG,
              "gemm: operands must be float32 or bfloat16");
    GNT_TRY(check_tree("gemm", a->row_tree, inner_a));
    GNT_TRY(gnti_check_epilogue(s, "gemm", &a->epilogue, &a->c));
done:
    return st;
}

/* Ascending, so that no row is written twice. */
static gnt_status check_listed_rows(const gnt_spmm_plan_args *a)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(a->num_listed >= 0 && (a->rows != NULL || a->num_listed == 0), GNT_ERR_ARG,
              "spmm plan: %lld listed rows but no list", (long long)a->num_listed);
    for (int64_t i = 0; i < a->num_listed; i++) {
        GNT_CHECK(a->rows[i] >= 0 && a->rows[i] < a->num_rows, GNT_ERR_ARG,
                  "spmm plan: listed row %lld is %d of %lld", (long long)i, a->rows[i],
                  (long long)a->num_rows);
        GNT_CHECK(i == 0 || a->rows[i - 1] < a->rows[i], GNT_ERR_ARG,
                  "spmm plan: listed rows %d and %d do not ascend", a->rows[i - 1], a->rows[i]);
    }
done:
    return st;
}

gnt_status gnti_check_spmm_plan(const gnt_spmm_plan_args *a)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(a->num_rows >= 0 && a->num_cols >= 0 && a->num_arcs >= 0 && a->offsets != NULL, GNT_ERR_ARG,
              "spmm plan: %lld rows, %lld columns, %lld arcs", (long long)a->num_rows, (long long)a->num_cols,
              (long long)a->num_arcs);
    GNT_CHECK(a->num_cols <= INT32_MAX, GNT_ERR_LIMIT, "spmm plan: %lld columns, the limit is %d",
              (long long)a->num_cols, INT32_MAX);
    GNT_CHECK(a->columns != NULL || a->num_arcs == 0, GNT_ERR_ARG, "spmm plan: %lld arcs but no columns",
              (long long)a->num_arcs);
    GNT_CHECK(a->offsets[0] == 0 && a->offsets[a->num_rows] == a->num_arcs, GNT_ERR_ARG,
              "spmm plan: offsets go from %lld to %lld, arcs from 0 to %lld", (long long)a->offsets[0],
              (long long)a->offsets[a->num_rows], (long long)a->num_arcs);
    GNT_CHECK(a->first_row >= 0 && a->first_row <= a->end_row && a->end_row <= a->num_rows, GNT_ERR_ARG,
              "spmm plan: rows %lld to %lld of %lld", (long long)a->first_row, (long long)a->end_row,
              (long long)a->num_rows);
    GNT_CHECK(a->rows == NULL || (a->first_row == 0 && a->end_row == a->num_rows), GNT_ERR_ARG,
              "spmm plan: a list of rows and the range %lld to %lld", (long long)a->first_row,
              (long long)a->end_row);
    GNT_TRY(check_listed_rows(a));
    for (int64_t r = 0; r < a->num_rows; r++)
        GNT_CHECK(a->offsets[r] <= a->offsets[r + 1], GNT_ERR_ARG,
                  "spmm plan: offsets of row %lld go from %lld to %lld", (long long)r,
                  (long long)a->offsets[r], (long long)a->offsets[r + 1]);
    for (int64_t e = 0; e < a->num_arcs; e++)
        GNT_CHECK(a->columns[e] >= 0 && a->columns[e] < a->num_cols, GNT_ERR_ARG,
                  "spmm plan: arc %lld has column %d of %lld", (long long)e, a->columns[e],
                  (long long)a->num_cols);
done:
    return st;
}

gnt_status gnti_check_spmm(const gnt_stream *s, const gnti_plan_head *p, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    const gnti_view_shape y = SHAPE(p->args.num_rows, a->y.members, a->x.width);

    GNT_CHECK(p->backend == ((const gnti_stream_head *)s)->backend, GNT_ERR_ARG,
              "spmm: the plan is one of %s", p->backend->name);
    GNT_TRY(gnti_view_fits(s, "spmm", "y", &a->y, y, GNTI_VIEW_EXACT));
    GNT_TRY(gnti_view_fits(s, "spmm", "x", &a->x, SHAPE(p->args.num_cols, y.members, y.width),
                           GNTI_VIEW_ONE_MEMBER));
    GNT_CHECK(is_float(a->x.dtype) && is_float(a->y.dtype), GNT_ERR_ARG,
              "spmm: x and y must be float32 or bfloat16");
    if (a->self_kind == GNT_SELF_VECTOR) {
        GNT_CHECK(a->self != NULL, GNT_ERR_ARG, "spmm: self is missing");
        GNT_TRY(gnti_view_fits(s, "spmm", "self", a->self,
                               SHAPE(gnti_min_i64(y.rows, p->args.num_cols), 1, 1), GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype("spmm", "self", a->self, GNT_F32));
    }
    if (a->src_scale != NULL) {
        GNT_TRY(gnti_view_fits(s, "spmm", "src_scale", a->src_scale, SHAPE(p->args.num_cols, 1, 1),
                               GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype("spmm", "src_scale", a->src_scale, GNT_F32));
    }
    if (a->arc_weight != NULL) {
        GNT_TRY(gnti_view_fits(s, "spmm", "arc_weight", a->arc_weight, SHAPE(p->args.num_arcs, y.members, 1),
                               GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype("spmm", "arc_weight", a->arc_weight, GNT_F32));
    }
    GNT_CHECK(a->reduce != GNT_SPMM_MAX_GRAD || a->arg != NULL, GNT_ERR_ARG, "spmm: arg is missing");
    if (a->arg != NULL) {
        GNT_TRY(
            gnti_view_fits(s, "spmm", "arg", a->arg,
                           a->reduce == GNT_SPMM_MAX_GRAD ? SHAPE(p->args.num_cols, y.members, y.width) : y,
                           GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype("spmm", "arg", a->arg, GNT_I32));
    }
    if (a->arg != NULL && a->arg_ids != NULL)
        GNT_TRY(gnti_buffer_check(s, "spmm", "arg_ids", a->arg_ids,
                                  (size_t)(a->reduce == GNT_SPMM_MAX ? p->args.num_cols : y.rows) *
                                      sizeof(int64_t)));
    GNT_TRY(gnti_check_epilogue(s, "spmm", &a->epilogue, &a->y));
done:
    return st;
}

/* (1, M, width) vectors of a batch norm, (rows, M, 1) of a layer norm. */
static gnt_status check_norm_vectors(const gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const gnti_view_shape row = SHAPE(1, a->x.members, a->x.width);
    const gnti_view_shape stat = a->kind == GNT_NORM_BATCH ? row : SHAPE(a->x.rows, a->x.members, 1);
    const bool saved = a->kind == GNT_NORM_LAYER || a->training;

    if (saved) {
        GNT_TRY(gnti_view_fits(s, "norm", "mean", &a->mean, stat, GNTI_VIEW_EXACT));
        GNT_TRY(gnti_view_fits(s, "norm", "rstd", &a->rstd, stat, GNTI_VIEW_EXACT));
    } else {
        GNT_CHECK(a->running_mean != NULL && a->running_var != NULL, GNT_ERR_ARG,
                  "norm: batch norm outside training needs running_mean and running_var");
    }
    GNT_CHECK((a->running_mean == NULL) == (a->running_var == NULL), GNT_ERR_ARG,
              "norm: give both running_mean and running_var, or neither");
    if (a->running_mean != NULL) {
        GNT_TRY(gnti_view_fits(s, "norm", "running_mean", a->running_mean, row, GNTI_VIEW_EXACT));
        GNT_TRY(gnti_view_fits(s, "norm", "running_var", a->running_var, row, GNTI_VIEW_EXACT));
        if (a->momentum_hyper != 0)
            GNT_TRY(gnti_check_hyper(s, "norm", a->step, a->momentum_hyper, a->x.members));
    }
    if (a->gamma.buf != NULL)
        GNT_TRY(gnti_view_fits(s, "norm", "gamma", &a->gamma, row, GNTI_VIEW_ONE_MEMBER));
    if (a->beta.buf != NULL)
        GNT_TRY(gnti_view_fits(s, "norm", "beta", &a->beta, row, GNTI_VIEW_ONE_MEMBER));
    if (a->backward && a->dgamma.buf != NULL)
        GNT_TRY(gnti_view_fits(s, "norm", "dgamma", &a->dgamma, row, GNTI_VIEW_EXACT));
    if (a->backward && a->dbeta.buf != NULL)
        GNT_TRY(gnti_view_fits(s, "norm", "dbeta", &a->dbeta, row, GNTI_VIEW_EXACT));
done:
    return st;
}

gnt_status gnti_check_norm(const gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const gnti_view_shape full = SHAPE(a->x.rows, a->x.members, a->x.width);

    GNT_TRY(gnti_view_check(s, "norm", "x", &a->x));
    GNT_TRY(gnti_check_dtype("norm", "x", &a->x, GNT_F32));
    if (!a->backward) {
        GNT_TRY(gnti_view_fits(s, "norm", "y", &a->y, full, GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype("norm", "y", &a->y, GNT_F32));
    } else {
        GNT_TRY(gnti_view_fits(s, "norm", "dy", &a->dy, full, GNTI_VIEW_EXACT));
        if (a->dx.buf != NULL)
            GNT_TRY(gnti_view_fits(s, "norm", "dx", &a->dx, full, GNTI_VIEW_EXACT));
    }
    GNT_TRY(check_norm_vectors(s, a));
    GNT_TRY(check_tree("norm", a->row_tree, a->x.rows));
    if (a->phase != GNT_NORM_WHOLE) {
        const size_t sums = (size_t)(a->x.members * a->x.width) * (a->backward ? 2 : 1);

        GNT_CHECK(a->kind == GNT_NORM_BATCH && a->training, GNT_ERR_ARG,
                  "norm: only a batch norm in training has phases");
        GNT_CHECK(!a->backward || a->phase == GNT_NORM_SUM || a->phase == GNT_NORM_APPLY, GNT_ERR_ARG,
                  "norm: phase %d is none of the gradient's", (int)a->phase);
        GNT_CHECK(a->total_rows >= 0, GNT_ERR_ARG, "norm: %lld rows in total", (long long)a->total_rows);
        GNT_CHECK(a->sums_offset % sizeof(double) == 0, GNT_ERR_ARG, "norm: sums at byte %zu",
                  a->sums_offset);
        GNT_TRY(gnti_buffer_check(s, "norm", "sums", a->sums, a->sums_offset + sums * sizeof(double)));
    }
done:
    return st;
}

/* Places of the stored entries of a sparse matrix. */
static gnt_status check_entries(const gnt_stream *s, const gnt_map_args *a)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)a->y.rows * sizeof(int32_t);

    if (a->arc_rows == NULL)
        return GNT_OK;
    GNT_CHECK(a->arc_columns != NULL && a->y.width == 1, GNT_ERR_ARG,
              "map: entries need rows and columns and the width 1, not %lld", (long long)a->y.width);
    GNT_TRY(gnti_buffer_check(s, "map", "arc_rows", a->arc_rows, bytes));
    GNT_TRY(gnti_buffer_check(s, "map", "arc_columns", a->arc_columns, bytes));
done:
    return st;
}

gnt_status gnti_check_map(const gnt_stream *s, const gnt_map_args *a)
{
    gnt_status st = GNT_OK;
    const gnti_view_shape full = SHAPE(a->y.rows, a->y.members, a->y.width);
    const bool needs_a = a->kind != GNT_MAP_FILL;
    const bool needs_b = a->kind == GNT_MAP_ADD || a->kind == GNT_MAP_MUL || a->kind == GNT_MAP_ACT_GRAD;

    GNT_TRY(gnti_view_check(s, "map", "y", &a->y));
    GNT_CHECK(is_float(a->y.dtype), GNT_ERR_ARG, "map: y must be float32 or bfloat16");
    if (needs_a) {
        GNT_TRY(gnti_view_fits(s, "map", "a", &a->a, full, GNTI_VIEW_ONE_MEMBER));
        GNT_CHECK(is_float(a->a.dtype), GNT_ERR_ARG, "map: a must be float32 or bfloat16");
    }
    if (needs_b) {
        GNT_TRY(gnti_view_fits(s, "map", "b", &a->b, full,
                               GNTI_VIEW_ONE_MEMBER | GNTI_VIEW_ONE_ROW | GNTI_VIEW_ONE_COLUMN));
        GNT_CHECK(is_float(a->b.dtype), GNT_ERR_ARG, "map: b must be float32 or bfloat16");
    }
    if (a->kind == GNT_MAP_DROPOUT) {
        GNT_CHECK(a->dropout.hyper >= 0, GNT_ERR_ARG, "map: dropout without its hyper");
        GNT_TRY(
            check_dropout(s, "map", &a->dropout, a->step, a->arc_rows != NULL ? 0 : full.rows, full.members));
        GNT_TRY(check_entries(s, a));
    }
done:
    return st;
}

gnt_status gnti_check_reduce(const gnt_stream *s, const gnt_reduce_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t M = a->y.members;
    const bool rows_kept = a->kind == GNT_REDUCE_DOT_COLS;
    const bool one_column = a->kind == GNT_REDUCE_DOT_COLS || a->kind == GNT_REDUCE_DOT_ALL;
    const gnti_view_shape y = SHAPE(rows_kept ? a->a.rows : 1, M, one_column ? 1 : a->a.width);

    GNT_TRY(gnti_view_fits(s, "reduce", "a", &a->a, SHAPE(a->a.rows, M, a->a.width), GNTI_VIEW_ONE_MEMBER));
    if (a->kind != GNT_REDUCE_SUM_ROWS) {
        GNT_TRY(
            gnti_view_fits(s, "reduce", "b", &a->b, SHAPE(a->a.rows, M, a->a.width), GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype("reduce", "b", &a->b, GNT_F32));
    }
    GNT_TRY(gnti_view_fits(s, "reduce", "y", &a->y, y, GNTI_VIEW_EXACT));
    GNT_TRY(gnti_check_dtype("reduce", "a", &a->a, GNT_F32));
    GNT_TRY(gnti_check_dtype("reduce", "y", &a->y, GNT_F32));
    GNT_TRY(check_tree("reduce", a->row_tree, a->a.rows));
done:
    return st;
}

gnt_status gnti_check_rows(const gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_view_check(s, "gather", "y", &a->y));
    GNT_TRY(gnti_view_fits(s, "gather", "x", &a->x, SHAPE(a->x.rows, a->y.members, a->y.width),
                           GNTI_VIEW_ONE_MEMBER));
    GNT_CHECK(is_float(a->x.dtype) && is_float(a->y.dtype), GNT_ERR_ARG,
              "gather: x and y must be float32 or bfloat16");
    GNT_TRY(gnti_buffer_check(s, "gather", "index", a->index, (size_t)a->y.rows * sizeof(int32_t)));
done:
    return st;
}

gnt_status gnti_check_loss(const gnt_stream *s, const gnt_loss_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t rows = a->logits.rows, M = a->logits.members, classes = a->logits.width;

    GNT_TRY(gnti_view_check(s, "loss", "logits", &a->logits));
    GNT_TRY(gnti_check_dtype("loss", "logits", &a->logits, GNT_F32));
    GNT_CHECK(classes > 0, GNT_ERR_ARG, "loss: logits have no columns");
    GNT_CHECK(a->first_row >= 0, GNT_ERR_ARG, "loss: the first row is %lld", (long long)a->first_row);
    GNT_TRY(gnti_view_fits(s, "loss", "weight", &a->weight, SHAPE(rows, M, 1), GNTI_VIEW_ONE_MEMBER));
    GNT_TRY(gnti_check_dtype("loss", "weight", &a->weight, GNT_F32));
    if (a->kind == GNT_LOSS_SOFTMAX) {
        GNT_TRY(gnti_buffer_check(s, "loss", "labels", a->labels,
                                  (size_t)(a->first_row + rows) * sizeof(int32_t)));
    } else {
        GNT_TRY(
            gnti_view_fits(s, "loss", "target", &a->target, SHAPE(rows, M, classes), GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype("loss", "target", &a->target, GNT_F32));
    }
    if (a->class_weight != NULL) {
        GNT_TRY(gnti_view_fits(s, "loss", "class_weight", a->class_weight, SHAPE(1, M, classes),
                               GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype("loss", "class_weight", a->class_weight, GNT_F32));
    }
    if (a->apart != NULL) {
        GNT_CHECK(a->kind == GNT_LOSS_SOFTMAX, GNT_ERR_ARG, "loss: only softmax can stay apart");
        GNT_TRY(gnti_view_fits(s, "loss", "apart", a->apart, SHAPE(rows, M, classes), GNTI_VIEW_ONE_MEMBER));
        GNT_TRY(gnti_check_dtype("loss", "apart", a->apart, GNT_F32));
        GNT_TRY(gnti_check_hyper(s, "loss", a->step, a->apart_hyper, M));
        GNT_CHECK(a->apart_hyper >= 0, GNT_ERR_ARG, "loss: staying apart needs the hyper of its share");
    }
    if (a->grad != NULL) {
        GNT_TRY(gnti_view_fits(s, "loss", "grad", a->grad, SHAPE(rows, M, classes), GNTI_VIEW_EXACT));
        GNT_TRY(gnti_check_dtype("loss", "grad", a->grad, GNT_F32));
        GNT_TRY(gnti_check_hyper(s, "loss", a->step, a->norm_hyper, M));
        GNT_CHECK(a->norm_hyper >= 0, GNT_ERR_ARG, "loss: a gradient needs the hyper of its divisor");
    }
    GNT_TRY(
        gnti_buffer_check(s, "loss", "stats", a->stats, a->stats_offset + (size_t)M * 4 * sizeof(double)));
    GNT_TRY(check_tree("loss", a->row_tree, rows));
done:
    return st;
}

gnt_status gnti_check_optimizer(const gnt_stream *s, const gnt_optimizer_args *a)
{
    gnt_status st = GNT_OK;
    int64_t end = 0;
    const char *op = "optimizer";
    const bool adam = a->kind != GNT_OPTIMIZER_SGD;

    GNT_CHECK(a->num_members >= 1 && a->num_segments >= 0, GNT_ERR_ARG,
              "optimizer: %d segments of %d members", a->num_segments, a->num_members);
    for (int32_t i = 0; i < a->num_segments; i++) {
        const gnt_param_segment *g = &a->segments[i];

        GNT_CHECK(g->offset >= 0 && g->count >= 0, GNT_ERR_ARG,
                  "optimizer: segment %d has %lld floats at %lld", i, (long long)g->count,
                  (long long)g->offset);
        end = gnti_max_i64(end, g->offset + g->count * a->num_members);
    }
    GNT_TRY(gnti_buffer_check(s, op, "weights", a->weights, (size_t)end * sizeof(float)));
    GNT_TRY(gnti_buffer_check(s, op, "grads", a->grads, (size_t)end * sizeof(float)));
    if (adam || a->beta1 != 0.0f)
        GNT_TRY(gnti_buffer_check(s, op, "moment1", a->moment1, (size_t)end * sizeof(float)));
    if (adam)
        GNT_TRY(gnti_buffer_check(s, op, "moment2", a->moment2, (size_t)end * sizeof(float)));
    GNT_TRY(gnti_check_hyper(s, op, a->step, a->lr_hyper, a->num_members));
    GNT_TRY(gnti_buffer_check(s, op, "bad", a->bad, (size_t)a->num_members * sizeof(int32_t)));
    GNT_CHECK(a->lr_hyper >= 0 && (!adam || (a->corr1_hyper >= 0 && a->corr2_hyper >= 0)), GNT_ERR_ARG,
              "optimizer: hypers of the learning rate and of the corrections are needed");
done:
    return st;
}
