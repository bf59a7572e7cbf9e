/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise ops and the row gather: arguments become plain addresses, the rest is cuda_map_kernels.cu. */
#include "kernels/cuda/cuda.h"

gnt_status cuda_map(gnt_stream *s, const gnt_map_args *a)
{
    gnt_status st = GNT_OK;
    const bool has_a = a->kind != GNT_MAP_FILL;
    const bool has_b = a->kind == GNT_MAP_ADD || a->kind == GNT_MAP_MUL || a->kind == GNT_MAP_ACT_GRAD;
    const cuda_map_args args = { .kind = a->kind,
                                 .a = cuda_view_of(has_a ? &a->a : NULL),
                                 .b = cuda_view_of(has_b ? &a->b : NULL),
                                 .y = cuda_view_of(&a->y),
                                 .alpha = a->alpha,
                                 .beta = a->beta,
                                 .act = a->act,
                                 .act_alpha = a->act_alpha,
                                 .dropout = cuda_dropout_of(&a->dropout),
                                 .arc_rows = cuda_address(a->arc_rows, 0),
                                 .arc_columns = cuda_address(a->arc_columns, 0),
                                 .step = cuda_address(a->step, 0),
                                 .accumulate = a->accumulate };

    GNT_TRY_CUDA(cuda_launch_map(s->stream, &args));
done:
    return st;
}

gnt_status cuda_gather_rows(gnt_stream *s, const gnt_rows_args *a)
{
    gnt_status st = GNT_OK;
    const cuda_rows_args args = { .x = cuda_view_of(&a->x),
                                  .y = cuda_view_of(&a->y),
                                  .index = cuda_address(a->index, 0),
                                  .fault = s->fault,
                                  .accumulate = a->accumulate };

    GNT_TRY_CUDA(cuda_launch_gather(s->stream, &args));
done:
    return st;
}
