/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatch.c and dispatch_chain.c add to a stream's counters: work by the formulas of cost.h, and host seconds. */
#ifndef GNTI_KERNELS_DISPATCH_COUNT_H
#define GNTI_KERNELS_DISPATCH_COUNT_H

#include "kernels/backend.h"

/* One call of a kind. */
void gnti_count(gnt_stream *s, gnti_op_kind kind, double seconds, double flops, double bytes);
double gnti_view_values(const gnt_mat_view *v); /* rows x members x width */

void gnti_count_gemm(gnt_stream *s, const gnt_gemm_args *a, double seconds);
void gnti_count_spmm(gnt_stream *s, const gnti_plan_head *plan, const gnt_spmm_args *a, double seconds);
/* By gnti_cost_each. */
void gnti_count_each(gnt_stream *s, gnti_op_kind kind, double values, double seconds);
void gnti_count_map(gnt_stream *s, const gnt_map_args *a, double seconds);
void gnti_count_reduce(gnt_stream *s, const gnt_reduce_args *a, double seconds);

#endif
