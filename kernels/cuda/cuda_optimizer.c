/* SPDX-License-Identifier: Apache-2.0 */
/* Optimisers: arguments become plain addresses, what the kernels hand on lies in the stream's scratch. */
#include "kernels/cuda/cuda.h"

gnt_status cuda_optimizer_step(gnt_stream *s, const gnt_optimizer_args *a)
{
    gnt_status st = GNT_OK;
    const cuda_optimizer_args args = { .kind = a->kind,
                                       .nesterov = a->nesterov,
                                       .beta1 = a->beta1,
                                       .beta2 = a->beta2,
                                       .eps = a->eps,
                                       .weights = cuda_address(a->weights, 0),
                                       .grads = cuda_address(a->grads, 0),
                                       .moment1 = cuda_address(a->moment1, 0),
                                       .moment2 = cuda_address(a->moment2, 0),
                                       .num_members = a->num_members,
                                       .lr_hyper = a->lr_hyper,
                                       .corr1_hyper = a->corr1_hyper,
                                       .corr2_hyper = a->corr2_hyper,
                                       .clip_hyper = a->clip_hyper,
                                       .step = cuda_address(a->step, 0),
                                       .bad = cuda_address(a->bad, 0) };
    void *scratch = NULL;

    GNT_TRY(cuda_scratch(s, cuda_optimizer_bytes(a->segments, a->num_segments, a->num_members), &scratch));
    GNT_TRY_CUDA(cuda_launch_optimizer(s->stream, &args, a->segments, a->num_segments, scratch));
done:
    return st;
}
