/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the sparse product share: strips, rows, weights, the row's own term.
 *
 * A *strip* is what one read of the indices serves: a block of members that lie side by side in x and y, or one member.
 * Lane l of those that share a row has its quad l; a strip wider than 64 quads goes in tiles (blockIdx.y), blockIdx.z is the
 * strip.
 */
#ifndef GNTI_KERNELS_CUDA_SPMM_CUH
#define GNTI_KERNELS_CUDA_SPMM_CUH

#include "kernels/cuda/cuda_tree.cuh"

static constexpr int SPMM_LANES = 64, SPMM_AHEAD = 4;

struct strip_shape {
    int members, lanes; /* of a strip; threads of a row */
};

static inline bool strips_are_blocks(const cuda_spmm_args *a)
{
    const cuda_view *x = &a->x, *y = &a->y;

    return a->reduce == GNT_SPMM_SUM && y->members > 1 && x->members == y->members &&
           x->block_members == y->block_members && x->member_stride == x->width &&
           y->member_stride == y->width && a->arc_weight.data == NULL &&
           (y->width % 4 == 0 || epilogue_is_plain(&a->epilogue));
}

static inline int64_t strip_quads(const cuda_spmm_args *a, int64_t members)
{
    return ceil_div(members * a->y.width, 4);
}

static inline strip_shape strip_shape_of(const cuda_spmm_args *a)
{
    const int64_t g = a->y.block_members < a->y.members ? a->y.block_members : a->y.members;
    strip_shape s;

    s.members = strips_are_blocks(a) ? (int)g : 1;
    const int64_t quads = strip_quads(a, s.members), tiles = ceil_div(quads, SPMM_LANES);

    s.lanes = (int)ceil_div(quads, tiles);
    return s;
}

static inline cudaLaunchConfig_t launch_strips(cudaStream_t stream, const cuda_spmm_args *a, strip_shape s)
{
    return launch_of(stream, ceil_div(a->csr.num_work, CUDA_THREADS / s.lanes),
                     ceil_div(strip_quads(a, s.members), s.lanes), ceil_div(a->y.members, s.members));
}

/* A thread's place: strip, row of the block, quad. n <= 0: nothing to do. */
struct strip_lane {
    int m, c, n; /* first member, column of the strip, columns */
    int64_t first, step;
};

DEVICE strip_lane strip_lane_here(const cuda_spmm_args &a, const strip_shape &s)
{
    const int at_once = CUDA_THREADS / s.lanes, sub = (int)threadIdx.x / s.lanes;
    const int m = (int)blockIdx.z * s.members, left = (int)a.y.members - m;
    const int width = (left < s.members ? left : s.members) * (int)a.y.width;
    strip_lane l;

    l.m = m;
    l.c = 4 * ((int)blockIdx.y * s.lanes + (int)threadIdx.x - sub * s.lanes);
    l.n = sub < at_once ? (width - l.c < 4 ? width - l.c : 4) : 0;
    l.first = (int64_t)blockIdx.x * at_once + sub;
    l.step = (int64_t)gridDim.x * at_once;
    return l;
}

/* ---- rows ----------------------------------------------------------------------------------------------------------- */

DEVICE int64_t csr_row(const cuda_csr &g, int64_t place)
{
    return g.rows != NULL ? g.rows[place] : g.first_row + place;
}

DEVICE int64_t csr_offset(const cuda_csr &g, int64_t r)
{
    return g.offsets32 != NULL ? g.offsets32[r] : g.offsets64[r];
}

/* Weights of arcs and scales of sources; `any`: a term is not x_j alone. */
struct arc_weights {
    const float *weights, *scales; /* NULL: 1 */
    int64_t weight_stride, scale_stride;
    bool any;
};

DEVICE arc_weights arc_weights_of(const cuda_spmm_args &a, int m)
{
    const bool own = a.arc_weight.data != NULL;
    arc_weights w;

    w.weights = own ? (const float *)a.arc_weight.data + member_offset(a.arc_weight, m) : a.csr.weights;
    w.weight_stride = own ? a.arc_weight.row_stride : 1;
    w.scales = (const float *)a.src_scale.data;
    w.scale_stride = a.src_scale.row_stride;
    w.any = w.weights != NULL || w.scales != NULL;
    return w;
}

DEVICE float arc_weight(const arc_weights &w, int64_t e, int64_t j)
{
    const float s = w.scales != NULL ? w.scales[j * w.scale_stride] : 1.0f;

    return w.weights != NULL ? w.weights[e * w.weight_stride] * s : s;
}

/* Whether row r has a term of its own, and its weight. */
DEVICE bool has_self(const cuda_spmm_args &a, int64_t r)
{
    return a.self_kind != GNT_SELF_NONE && r < a.x.rows;
}

DEVICE float self_weight(const cuda_spmm_args &a, int64_t r)
{
    const float s = a.src_scale.data != NULL ? load_scale(a.src_scale, r) : 1.0f;

    return a.self_kind == GNT_SELF_VECTOR ? load_scale(a.self, r) * s : s;
}

/* MAX_GRAD: what the winners' array must hold for row r. */
DEVICE int64_t winner_id(const cuda_spmm_args &a, int64_t r)
{
    return a.arg_ids != NULL ? a.arg_ids[r] : r;
}

/* MAX_GRAD: clears what row `id` did not win of source row j. */
DEVICE void keep_won(const cuda_spmm_args &a, int64_t id, int64_t j, int m, int c, int n, quad *q)
{
    const int32_t *arg = (const int32_t *)a.arg.data + member_offset(a.arg, m) + j * a.arg.row_stride + c;

#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < n && arg[k] != id)
            q->v[k] = 0.0f;
}

/* cuda_spmm_hub_kernels.cu and cuda_spmm_max_kernels.cu */
cudaError_t launch_hubs(cudaStream_t stream, const cuda_spmm_args *a);
cudaError_t launch_max(cudaStream_t stream, const cuda_spmm_args *a);
cudaError_t launch_max_grad(cudaStream_t stream, const cuda_spmm_args *a);

#endif
