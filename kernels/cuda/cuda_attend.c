/* SPDX-License-Identifier: Apache-2.0 */
/* Attention along arcs and its gradient: arguments become plain addresses, partial results of hubs lie in the stream's
 * scratch. */
#include "kernels/cuda/cuda.h"

static cuda_arc_dropout dropout_of(const gnt_arc_dropout *d)
{
    return (cuda_arc_dropout){ .hyper = d->hyper,
                               .ordinal = d->ordinal,
                               .src_ids = cuda_address(d->src_ids, 0),
                               .dst_ids = cuda_address(d->dst_ids, 0),
                               .step = cuda_address(d->step, 0) };
}

static gnt_status run(gnt_stream *s, cuda_attend_args *a)
{
    gnt_status st = GNT_OK;
    const size_t bytes = cuda_attend_bytes(a);
    void *scratch = NULL;

    if (bytes > 0)
        GNT_TRY(cuda_scratch(s, bytes, &scratch));
    if (bytes > 0) {
        a->partial = scratch;
        a->sides =
            a->partial + a->members * a->csr.num_pieces * (2 * a->heads + (int64_t)a->heads * a->width);
    }
    GNT_TRY_CUDA(cuda_launch_attend(s->stream, a));
done:
    return st;
}

gnt_status cuda_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a)
{
    cuda_attend_args args = { .csr = p->csr,
                              .pass = CUDA_ATTEND_FORWARD,
                              .heads = a->heads,
                              .width = (int32_t)(a->out.width / a->heads),
                              .members = a->out.members,
                              .slope = a->slope,
                              .alpha = a->alpha,
                              .beta = a->beta,
                              .h = cuda_view_of(&a->h),
                              .s_src = cuda_view_of(&a->s_src),
                              .s_dst = cuda_view_of(&a->s_dst),
                              .out = cuda_view_of(&a->out),
                              .soft = cuda_view_of(&a->soft),
                              .epilogue = cuda_epilogue_of(&a->epilogue),
                              .dropout = dropout_of(&a->dropout) };

    return run(s, &args);
}

gnt_status cuda_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a)
{
    cuda_attend_args args = { .csr = p->csr,
                              .pass = a->transposed ? CUDA_ATTEND_BY_COLUMNS : CUDA_ATTEND_BY_ROWS,
                              .heads = a->heads,
                              .width = (int32_t)(a->h.width / a->heads),
                              .members = a->transposed ? a->dh.members : a->stat.members,
                              .slope = a->slope,
                              .h = cuda_view_of(&a->h),
                              .s_src = cuda_view_of(&a->s_src),
                              .grad = cuda_view_of(&a->grad),
                              .stat = cuda_view_of(&a->stat),
                              .dropout = dropout_of(&a->dropout) };

    if (a->transposed) {
        args.dh = cuda_view_of(&a->dh);
        args.ds_src = cuda_view_of(&a->ds_src);
    } else {
        args.s_dst = cuda_view_of(&a->s_dst);
        args.soft = cuda_view_of(&a->soft);
        args.out = cuda_view_of(&a->out);
        args.ds_dst = cuda_view_of(&a->ds_dst);
    }
    return run(s, &args);
}
