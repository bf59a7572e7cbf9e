/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and layer norm: arguments become plain addresses, the sums of the tree lie in the stream's scratch. */
#include "kernels/cuda/cuda.h"

static cuda_norm_args args_of(const gnt_norm_args *a)
{
    return (cuda_norm_args){ .kind = a->kind,
                             .backward = a->backward,
                             .training = a->training || a->kind == GNT_NORM_LAYER,
                             .accumulate_dx = a->accumulate_dx,
                             .x = cuda_view_of(&a->x),
                             .y = cuda_view_of(&a->y),
                             .gamma = cuda_view_of(&a->gamma),
                             .beta = cuda_view_of(&a->beta),
                             .mean = cuda_view_of(&a->mean),
                             .rstd = cuda_view_of(&a->rstd),
                             .running_mean = cuda_view_of(a->running_mean),
                             .running_var = cuda_view_of(a->running_var),
                             .dy = cuda_view_of(&a->dy),
                             .dx = cuda_view_of(&a->dx),
                             .dgamma = cuda_view_of(&a->dgamma),
                             .dbeta = cuda_view_of(&a->dbeta),
                             .momentum = a->momentum,
                             .eps = a->eps,
                             .step = a->momentum_hyper != 0 ? cuda_address(a->step, 0) : NULL,
                             .momentum_hyper = a->momentum_hyper,
                             .phase = a->phase,
                             .sums = cuda_address(a->sums, a->sums_offset),
                             .total_rows = a->total_rows };
}

gnt_status cuda_norm(gnt_stream *s, const gnt_norm_args *a)
{
    gnt_status st = GNT_OK;
    const cuda_norm_args args = args_of(a);
    const size_t bytes = cuda_norm_bytes(&args, a->row_tree);
    void *scratch = NULL;

    if (bytes > 0)
        GNT_TRY(cuda_scratch(s, bytes, &scratch));
    GNT_TRY_CUDA(cuda_launch_norm(s->stream, &args, a->row_tree, scratch));
done:
    return st;
}
