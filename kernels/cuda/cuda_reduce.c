/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: arguments become plain addresses, the sums of the tree lie in the stream's scratch. */
#include "kernels/cuda/cuda.h"

gnt_status cuda_reduce(gnt_stream *s, const gnt_reduce_args *a)
{
    gnt_status st = GNT_OK;
    const cuda_reduce_args args = { .kind = a->kind,
                                    .a = cuda_view_of(&a->a),
                                    .b = cuda_view_of(a->kind != GNT_REDUCE_SUM_ROWS ? &a->b : NULL),
                                    .y = cuda_view_of(&a->y),
                                    .accumulate = a->accumulate };
    const size_t bytes = cuda_reduce_bytes(&args, a->row_tree);
    void *scratch = NULL;

    if (bytes > 0)
        GNT_TRY(cuda_scratch(s, bytes, &scratch));
    GNT_TRY_CUDA(cuda_launch_reduce(s->stream, &args, a->row_tree, scratch));
done:
    return st;
}
