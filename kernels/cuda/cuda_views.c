/* SPDX-License-Identifier: Apache-2.0 */
/* From views of buffers to the structs of plain addresses that launchers take. */
#include "kernels/cuda/cuda.h"

void *cuda_address(const gnt_buffer *buf, size_t offset)
{
    return buf != NULL ? (char *)buf->device + offset : NULL;
}

cuda_view cuda_view_of(const gnt_mat_view *v)
{
    cuda_view view = { .data = NULL };

    if (v == NULL || v->buf == NULL)
        return view;
    view = (cuda_view){ .data = cuda_address(v->buf, v->offset),
                        .rows = v->rows,
                        .members = v->members,
                        .block_members = v->block_members,
                        .width = v->width,
                        .row_stride = v->row_stride,
                        .member_stride = v->member_stride,
                        .block_stride = v->block_stride,
                        .dtype = v->dtype };
    return view;
}

cuda_dropout cuda_dropout_of(const gnt_dropout *d)
{
    return (cuda_dropout){ .hyper = d->hyper,
                           .ordinal = d->ordinal,
                           .row_ids = cuda_address(d->row_ids, 0),
                           .first_row = d->first_row };
}

cuda_epilogue cuda_epilogue_of(const gnt_epilogue *e)
{
    return (cuda_epilogue){ .row_scale = cuda_view_of(e->row_scale),
                            .bias = cuda_view_of(e->bias),
                            .gate = cuda_view_of(e->gate),
                            .act = e->act,
                            .gate_act = e->gate_act,
                            .act_alpha = e->act_alpha,
                            .gate_alpha = e->gate_alpha,
                            .dropout = cuda_dropout_of(&e->dropout),
                            .gate_dropout = cuda_dropout_of(&e->gate_dropout),
                            .step = cuda_address(e->step, 0) };
}
