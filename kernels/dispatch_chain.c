/* SPDX-License-Identifier: Apache-2.0 */
/* Chains through the table: every op is checked as if it stood alone, then that it works on the chain's rows. A backend
 * without chains runs the ops one after another, which is what a chain means: in several goes, all but the product late.
 */
#include "base/clock.h"
#include "kernels/backend.h"
#include "kernels/dispatch_check.h"
#include "kernels/dispatch_count.h"

bool gnti_device_has_chains(const gnt_device *dev)
{
    return ((const gnti_backend_head *)(const void *)dev)->backend->chain != NULL;
}

static gnt_status run_one(gnt_stream *s, const gnt_chain_op *op)
{
    switch (op->kind) {
    case GNTI_OP_GEMM:
        return gnti_gemm(s, op->a.gemm);
    case GNTI_OP_SPMM:
        return gnti_spmm(s, op->plan, op->a.spmm);
    case GNTI_OP_MAP:
        return gnti_map(s, op->a.map);
    default:
        return gnti_reduce(s, op->a.reduce);
    }
}

/* Rows that an op works on. */
static int64_t rows_of(const gnt_chain_op *op)
{
    switch (op->kind) {
    case GNTI_OP_GEMM:
        return op->a.gemm->trans_a ? op->a.gemm->a.rows : op->a.gemm->c.rows;
    case GNTI_OP_SPMM:
        return op->a.spmm->y.rows;
    case GNTI_OP_MAP:
        return op->a.map->y.rows;
    default:
        return op->a.reduce->a.rows;
    }
}

static gnt_status check_op(gnt_stream *s, const gnt_chain_op *op)
{
    switch (op->kind) {
    case GNTI_OP_GEMM:
        return gnti_check_gemm(s, op->a.gemm);
    case GNTI_OP_SPMM:
        return gnti_check_spmm(s, (const gnti_plan_head *)(const void *)op->plan, op->a.spmm);
    case GNTI_OP_MAP:
        return gnti_check_map(s, op->a.map);
    default:
        return gnti_check_reduce(s, op->a.reduce);
    }
}

int32_t gnti_chain_row_ops(const gnt_chain_args *a)
{
    int32_t n = 1;

    while (n < a->num_ops && ((a->ops[n].kind == GNTI_OP_MAP && a->ops[n].a.map->arc_rows == NULL) ||
                              (a->ops[n].kind == GNTI_OP_GEMM && !a->ops[n].a.gemm->trans_a)))
        n++;
    return n;
}

static gnt_status check_chain(gnt_stream *s, const gnt_chain_args *a)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(a->go == GNT_CHAIN_WHOLE ||
                  (a->num_ops > 0 && a->ops[0].kind == GNTI_OP_SPMM &&
                   ((const gnti_plan_head *)(const void *)a->ops[0].plan)->args.rows != NULL),
              GNT_ERR_ARG, "a chain in several goes begins with no product by a list of rows");
    for (int32_t i = 0; i < a->num_ops; i++) {
        const gnt_chain_op *op = &a->ops[i];

        GNT_CHECK(op->kind == GNTI_OP_GEMM || op->kind == GNTI_OP_SPMM || op->kind == GNTI_OP_MAP ||
                      op->kind == GNTI_OP_REDUCE,
                  GNT_ERR_ARG, "op %d of a chain is a %s", i, gnti_op_kind_name(op->kind));
        GNT_TRY(check_op(s, op));
        GNT_CHECK(rows_of(op) == a->num_rows, GNT_ERR_ARG, "op %d of a chain has %lld rows, the chain %lld",
                  i, (long long)rows_of(op), (long long)a->num_rows);
        GNT_CHECK(op->kind != GNTI_OP_REDUCE || op->a.reduce->kind == GNT_REDUCE_SUM_ROWS ||
                      op->a.reduce->kind == GNT_REDUCE_DOT_ROWS,
                  GNT_ERR_ARG, "op %d of a chain is not a sum over rows", i);
    }
done:
    return st;
}

/* The work goes to the kinds of the ops, the seconds to the chain. */
static void count_op(gnt_stream *s, const gnt_chain_op *op)
{
    switch (op->kind) {
    case GNTI_OP_GEMM:
        gnti_count_gemm(s, op->a.gemm, 0.0);
        return;
    case GNTI_OP_SPMM:
        gnti_count_spmm(s, (const gnti_plan_head *)(const void *)op->plan, op->a.spmm, 0.0);
        return;
    case GNTI_OP_MAP:
        gnti_count_map(s, op->a.map, 0.0);
        return;
    default:
        gnti_count_reduce(s, op->a.reduce, 0.0);
    }
}

/* A row op on so many of its rows. */
static void count_rows(gnt_stream *s, const gnt_chain_op *op, int64_t rows)
{
    if (rows == 0)
        return;
    if (op->kind == GNTI_OP_GEMM) {
        gnt_gemm_args a = *op->a.gemm;

        a.a.rows = a.c.rows = rows;
        gnti_count_gemm(s, &a, 0.0);
    } else {
        gnt_map_args a = *op->a.map;

        a.y.rows = rows;
        gnti_count_map(s, &a, 0.0);
    }
}

static void count_chain(gnt_stream *s, const gnt_chain_args *a)
{
    const gnti_plan_head *list = (const gnti_plan_head *)(const void *)a->ops[0].plan;
    const int32_t row_ops = a->go == GNT_CHAIN_WHOLE ? 0 : gnti_chain_row_ops(a);

    for (int32_t i = 0; i < a->num_ops; i++)
        if (i == 0 || (i >= row_ops && a->go != GNT_CHAIN_EARLY))
            count_op(s, &a->ops[i]);
        else if (i < row_ops)
            count_rows(s, &a->ops[i], a->go == GNT_CHAIN_EARLY ? list->whole_rows : list->touched_rows);
}

gnt_status gnti_chain(gnt_stream *s, const gnt_chain_args *a)
{
    gnt_status st = GNT_OK;
    const double start = gnti_clock_seconds();
    gnti_stream_head *head = (gnti_stream_head *)s;

    if (a->num_rows == 0 || head->backend->chain == NULL) {
        for (int32_t i = 0; i < (a->go == GNT_CHAIN_EARLY ? 1 : a->num_ops); i++)
            GNT_TRY(run_one(s, &a->ops[i]));
        return GNT_OK;
    }
    GNT_TRY(check_chain(s, a));
    GNT_TRY(head->backend->chain(s, a));
    count_chain(s, a);
    head->counters[GNTI_OP_CHAIN].calls++;
    head->counters[GNTI_OP_CHAIN].seconds += gnti_clock_seconds() - start;
done:
    return st;
}
