/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of a stream: what virtual devices charge and what explain and the trace show. */
#include "kernels/dispatch_count.h"

#include "base/size.h"
#include "kernels/cost.h"
#include "kernels/view.h"

void gnti_count(gnt_stream *s, gnti_op_kind kind, double seconds, double flops, double bytes)
{
    gnti_stream_head *head = (gnti_stream_head *)s;
    gnti_op_counter *c = &head->counters[kind];

    c->calls++;
    c->seconds += seconds;
    c->flops += flops;
    c->bytes += bytes;
    if (head->observe != NULL)
        head->observe(head->observer, kind, flops, bytes);
}

double gnti_view_values(const gnt_mat_view *v)
{
    return (double)v->rows * (double)v->members * (double)v->width;
}

void gnti_count_gemm(gnt_stream *s, const gnt_gemm_args *a, double seconds)
{
    const double inner = (double)(a->trans_a ? a->a.rows : a->a.width);

    gnti_count(s, GNTI_OP_GEMM, seconds, 2.0 * inner * gnti_view_values(&a->c),
               4.0 * (gnti_view_values(&a->a) + gnti_view_values(&a->b) + gnti_view_values(&a->c)));
}

void gnti_count_spmm(gnt_stream *s, const gnti_plan_head *plan, const gnt_spmm_args *a, double seconds)
{
    const bool weighted = plan->args.weights != NULL || a->arc_weight != NULL;
    const gnti_cost_device dev = gnti_cost_device_default(1);
    const gnti_cost cost = gnti_cost_spmm(&dev, plan->work_rows, plan->work_cols, plan->work_arcs,
                                          a->y.members * a->y.width, weighted, gnti_dtype_bytes(a->x.dtype));

    gnti_count(s, GNTI_OP_SPMM, seconds, cost.flops, cost.bytes);
}

void gnti_count_each(gnt_stream *s, gnti_op_kind kind, double values, double seconds)
{
    const gnti_cost_device dev = gnti_cost_device_default(1);
    const gnti_cost cost = gnti_cost_each(&dev, kind, values);

    gnti_count(s, kind, seconds, cost.flops, cost.bytes);
}

void gnti_count_map(gnt_stream *s, const gnt_map_args *a, double seconds)
{
    gnti_count_each(s, GNTI_OP_MAP, gnti_view_values(&a->y), seconds);
}

void gnti_count_reduce(gnt_stream *s, const gnt_reduce_args *a, double seconds)
{
    gnti_count_each(s, GNTI_OP_REDUCE, gnti_view_values(&a->a), seconds);
}
