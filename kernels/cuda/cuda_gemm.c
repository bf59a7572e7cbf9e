/* SPDX-License-Identifier: Apache-2.0 */
/* c[m] = epilogue(alpha op(a[m]) op(b[m]) + beta c[m]): strided batches of members, and what the library's epilogue lacks.
 *
 * Members follow each other at one distance inside a block, and over all blocks where a block has one member: such runs of
 * members are one batch. Bias and ReLU alone go into the library's epilogue. Everything else is done by one kernel behind the
 * product, in place; the product gets memory of its own where the old value of c is needed too, where c is bfloat16, and where
 * the gate lies in c's memory. Operands in bfloat16 are widened first.
 *
 * The library's sums over rows (trans_a) have its own order: equal from run to run on one device, not that of the row tree.
 */
#include "kernels/cuda/cuda_product.h"

#include "base/size.h"

#include <string.h>

/* Members from m on that every operand holds at one distance: up to the end of the smallest block that has several. */
static int64_t run_of(const cuda_view *v, int64_t m, int64_t run)
{
    if (v->data == NULL || v->members == 1 || v->block_members == 1)
        return run;
    return gnti_min_i64(run, v->block_members - m % v->block_members);
}

static int64_t distance(const cuda_view *v)
{
    return v->members == 1 ? 0 : v->block_members == 1 ? v->block_stride : v->member_stride;
}

static float *member_at(const cuda_view *v, int64_t m)
{
    const int64_t block = v->members == 1 ? 0 : m / v->block_members * v->block_stride;

    return (float *)v->data + block + (v->members == 1 ? 0 : m % v->block_members * v->member_stride);
}

static int64_t row_stride(const cuda_view *v)
{
    return gnti_max_i64(v->row_stride, gnti_max_i64(v->width, 1)); /* one row has no stride of its own */
}

typedef struct product_views {
    cuda_view a, b, c, bias; /* float32; c: where the product goes */
    bool relu;
    float alpha, beta;
} product_views;

static gnt_status run_batches(gnt_stream *s, const gnt_gemm_args *g, const product_views *v)
{
    gnt_status st = GNT_OK;
    const float factors[2] = { v->alpha, v->beta };
    const int64_t members = v->c.members;
    int64_t run;

    for (int64_t m = 0; m < members; m += run) {
        cuda_product p;

        memset(&p, 0, sizeof p);
        run = run_of(&v->c, m, run_of(&v->a, m, run_of(&v->b, m, members - m)));
        run = run_of(&v->bias, m, run);
        p.rows = v->c.rows;
        p.cols = v->c.width;
        p.inner = g->trans_a ? v->a.rows : v->a.width;
        p.row_stride_a = row_stride(&v->a);
        p.row_stride_b = row_stride(&v->b);
        p.row_stride_c = row_stride(&v->c);
        p.batch = (int32_t)run;
        p.stride_a = run > 1 ? distance(&v->a) : 0;
        p.stride_b = run > 1 ? distance(&v->b) : 0;
        p.stride_c = run > 1 ? distance(&v->c) : 0;
        p.trans_a = g->trans_a;
        p.trans_b = g->trans_b;
        p.has_bias = v->bias.data != NULL;
        p.stride_bias = p.has_bias && run > 1 ? distance(&v->bias) : 0;
        p.relu = v->relu;
        p.adds = v->beta != 0.0f;
        GNT_TRY(cuda_product_run(s, &p, member_at(&v->a, m), member_at(&v->b, m), member_at(&v->c, m),
                                 p.has_bias ? member_at(&v->bias, m) : NULL, factors));
    }
done:
    return st;
}

/* ---- operands that need memory of their own ---------------------------------------------------------------------------- */

static size_t closed_bytes(const gnt_mat_view *v)
{
    return gnti_round_up((size_t)(v->rows * v->members * v->width) * sizeof(float), 256);
}

/* (members, rows, width) float32, closed up. */
static cuda_view closed_view(const gnt_mat_view *v, void *data)
{
    return (cuda_view){ .data = data,
                        .rows = v->rows,
                        .members = v->members,
                        .block_members = 1,
                        .width = v->width,
                        .row_stride = v->width,
                        .member_stride = v->width,
                        .block_stride = v->rows * v->width,
                        .dtype = GNT_F32 };
}

static gnt_status widen(gnt_stream *s, const gnt_mat_view *v, char **at, cuda_view *out)
{
    gnt_status st = GNT_OK;
    cuda_map_args args;

    *out = cuda_view_of(v);
    if (v->dtype != GNT_BF16 || v->rows == 0 || v->width == 0)
        return GNT_OK;
    memset(&args, 0, sizeof args);
    args.kind = GNT_MAP_COPY;
    args.a = *out;
    args.y = closed_view(v, *at);
    args.alpha = 1.0f;
    args.dropout.hyper = -1;
    GNT_TRY_CUDA(cuda_launch_map(s->stream, &args));
    *out = args.y;
    *at += closed_bytes(v);
done:
    return st;
}

bool cuda_epilogue_is_none(const gnt_epilogue *e)
{
    return e->row_scale == NULL && e->bias == NULL && e->act == GNT_ACT_NONE && e->dropout.hyper < 0 &&
           e->gate == NULL;
}

static size_t end_of(const gnt_mat_view *v)
{
    const int64_t last = (v->members - 1) / v->block_members * v->block_stride +
                         (gnti_min_i64(v->members, v->block_members) - 1) * v->member_stride +
                         (v->rows - 1) * v->row_stride + v->width;

    return v->offset +
           (size_t)gnti_max_i64(last, 0) * (v->dtype == GNT_BF16 ? sizeof(uint16_t) : sizeof(float));
}

static bool views_overlap(const gnt_mat_view *a, const gnt_mat_view *b)
{
    return a->buf == b->buf && a->offset < end_of(b) && b->offset < end_of(a);
}

bool cuda_needs_own_product(const gnt_mat_view *y, const gnt_epilogue *e, float beta)
{
    return y->dtype != GNT_F32 || (beta != 0.0f && e->row_scale != NULL) ||
           (e->gate != NULL && views_overlap(e->gate, y));
}

static gnt_status finish(gnt_stream *s, const gnt_gemm_args *a, const cuda_view *product, bool own)
{
    gnt_status st = GNT_OK;
    cuda_finish_args args;

    memset(&args, 0, sizeof args);
    args.product = *product;
    args.y = cuda_view_of(&a->c);
    args.num_work = a->c.rows;
    args.alpha = own ? a->alpha : 1.0f;
    args.beta = own ? a->beta : 0.0f;
    args.epilogue = cuda_epilogue_of(&a->epilogue);
    GNT_TRY_CUDA(cuda_launch_finish(s->stream, &args));
done:
    return st;
}

gnt_status cuda_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    gnt_status st = GNT_OK;
    const gnt_epilogue *e = &a->epilogue;
    const int64_t inner = a->trans_a ? a->a.rows : a->a.width;
    const bool fused = e->row_scale == NULL && e->dropout.hyper < 0 && e->gate == NULL && inner > 0 &&
                       (e->act == GNT_ACT_NONE || e->act == GNT_ACT_RELU) && a->c.dtype == GNT_F32;
    const bool own = inner == 0 || cuda_needs_own_product(&a->c, e, a->beta);
    const size_t bytes = (a->a.dtype == GNT_BF16 ? closed_bytes(&a->a) : 0) +
                         (a->b.dtype == GNT_BF16 ? closed_bytes(&a->b) : 0) + (own ? closed_bytes(&a->c) : 0);
    product_views v = { .alpha = own ? 1.0f : a->alpha, .beta = own ? 0.0f : a->beta };
    char *scratch = NULL;

    if (bytes > 0)
        GNT_TRY(cuda_scratch(s, bytes, (void **)&scratch));
    GNT_TRY(widen(s, &a->a, &scratch, &v.a));
    GNT_TRY(widen(s, &a->b, &scratch, &v.b));
    v.c = own ? closed_view(&a->c, scratch) : cuda_view_of(&a->c);
    if (fused) {
        v.bias = cuda_view_of(e->bias);
        v.relu = e->act == GNT_ACT_RELU;
    }
    if (inner > 0)
        GNT_TRY(run_batches(s, a, &v));
    else
        GNT_TRY_CUDA(cudaMemsetAsync(v.c.data, 0, closed_bytes(&a->c), s->stream));
    if (own || (!fused && !cuda_epilogue_is_none(e)))
        GNT_TRY(finish(s, a, &v.c, own));
done:
    return st;
}
