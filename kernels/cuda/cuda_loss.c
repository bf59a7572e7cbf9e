/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: arguments become plain addresses; a label outside the classes is written to the stream's fault record. */
#include "kernels/cuda/cuda.h"

gnt_status cuda_loss(gnt_stream *s, const gnt_loss_args *a)
{
    gnt_status st = GNT_OK;
    const bool softmax = a->kind == GNT_LOSS_SOFTMAX;
    const cuda_loss_args args = {
        .kind = a->kind,
        .logits = cuda_view_of(&a->logits),
        .weight = cuda_view_of(&a->weight),
        .target = cuda_view_of(softmax ? a->apart : &a->target),
        .class_weight = cuda_view_of(a->class_weight),
        .grad = cuda_view_of(a->grad),
        .labels = softmax ? cuda_address(a->labels, (size_t)a->first_row * sizeof(int32_t)) : NULL,
        .first_row = a->first_row,
        .norm_hyper = a->norm_hyper,
        .apart_hyper = a->apart_hyper,
        .stats = cuda_address(a->stats, a->stats_offset),
        .step = cuda_address(a->step, 0),
        .fault = s->fault
    };
    void *scratch = NULL;

    GNT_TRY(cuda_scratch(s, cuda_loss_bytes(&args, a->row_tree), &scratch));
    GNT_TRY_CUDA(cuda_launch_loss(s->stream, &args, a->row_tree, scratch));
done:
    return st;
}
