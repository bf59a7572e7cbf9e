/* SPDX-License-Identifier: Apache-2.0 */
/* The argument checks of dispatch.c, one a math op; each answers ERR_ARG with the op, the argument and both
 * shapes. */
#ifndef GNTI_KERNELS_DISPATCH_CHECK_H
#define GNTI_KERNELS_DISPATCH_CHECK_H

#include "kernels/backend.h"

gnt_status gnti_check_gemm(const gnt_stream *s, const gnt_gemm_args *a);
gnt_status gnti_check_spmm_plan(const gnt_spmm_plan_args *a);
gnt_status gnti_check_spmm(const gnt_stream *s, const gnti_plan_head *p, const gnt_spmm_args *a);
gnt_status gnti_check_norm(const gnt_stream *s, const gnt_norm_args *a);
gnt_status gnti_check_map(const gnt_stream *s, const gnt_map_args *a);
gnt_status gnti_check_reduce(const gnt_stream *s, const gnt_reduce_args *a);
gnt_status gnti_check_rows(const gnt_stream *s, const gnt_rows_args *a);
gnt_status gnti_check_loss(const gnt_stream *s, const gnt_loss_args *a);
gnt_status gnti_check_optimizer(const gnt_stream *s, const gnt_optimizer_args *a);

/* Parts of them. */
gnt_status gnti_check_dtype(const char *op, const char *name, const gnt_mat_view *v, gnt_dtype want);
gnt_status gnti_check_hyper(const gnt_stream *s, const char *op, const gnt_buffer *step, int32_t hyper,
                            int64_t members);
gnt_status gnti_check_epilogue(const gnt_stream *s, const char *op, const gnt_epilogue *e,
                               const gnt_mat_view *y);

#endif
