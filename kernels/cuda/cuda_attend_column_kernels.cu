/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient of attention by columns, on the transposed plan: dh_j = sum_i keep a_ij grad_i and ds_src_j = sum_i de_ij.
 *
 * A warp a row j and tile of 128 columns. A chunk's weights come from stat of the arcs' other ends, then dot products <grad_i,
 * h_j> by 8 lanes for the heads that begin in this tile, then both sums in the order of the arcs. Chunks are short, so that
 * the rows of grad are still in the cache when they are read the second time. Bytes moved: an arc's column, its stat (16 a
 * head) and its row of grad once; h, dh and ds_src. Instances: aligned rows of grad and others.
 */
#include "kernels/cuda/cuda_attend.cuh"

static constexpr int COLUMN_PAIRS = 64, COLUMN_ARCS = 4;

/* weight = a_ij, term = leaky_relu'(e_ij) of the chunk's pairs. */
DEVICE void find_weights(const cuda_attend_args &a, const attend_item &t, int m, const attend_tile &tile,
                         int n, attend_warp *w)
{
    const float *own = attend_row(a.s_src, t.row, m) + tile.first_head,
                *stats = attend_row(a.stat, 0, m) + tile.first_head;

    each_pair(0, n, tile.heads, [&](int i, int h) {
        const float *stat = stats + w->column[i] * a.stat.row_stride + h, e = stat[0] + own[h];

        w->term[i * tile.heads + h] = e > 0.0f ? 1.0f : a.slope;
        w->weight[i * tile.heads + h] = cpu_exp(leaky(e, a.slope) - stat[a.heads]) * stat[2 * a.heads];
    });
}

/* term = de_ij, for heads that begin in this tile; weight becomes keep a_ij. */
DEVICE void find_terms(const cuda_attend_args &a, const attend_item &t, int m, const attend_tile &tile, int n,
                       bool drops, attend_warp *w)
{
    const float *value = attend_row(a.h, t.row, m), *grad = attend_row(a.grad, 0, m);
    const float *r = attend_row(a.stat, 0, m) + 3 * a.heads;
    const int lane = lane_id(), pairs = n * tile.heads, c0 = (int)blockIdx.y * ATTEND_TILE;

    for (int u = 0; u < pairs; u += CUDA_WARP / ATTEND_DOT_LANES) {
        const int pair = u + lane / ATTEND_DOT_LANES;
        const bool inside = pair < pairs;
        const int i = inside ? pair / tile.heads : 0,
                  head = tile.first_head + (inside ? pair - i * tile.heads : 0);
        const int64_t column = w->column[i];
        const float dot = head_dot(value + head * a.width, grad + column * a.grad.row_stride + head * a.width,
                                   a.width, inside && head * a.width >= c0);

        if (!inside || lane % ATTEND_DOT_LANES != 0)
            continue;
        const float weight = w->weight[pair], keep = drops ? w->keep[pair] : 1.0f;

        w->term[pair] = weight * (dot * keep - r[column * a.stat.row_stride + head]) * w->term[pair];
        w->weight[pair] = weight * keep;
    }
}

/* acc += weight grad over the chunk. */
template <bool ALIGNED>
DEVICE void add_arcs(const cuda_attend_args &a, int m, const attend_tile &tile, int n, const attend_warp *w,
                     quad *acc)
{
    const float *grad = attend_row(a.grad, 0, m);

#pragma unroll 4
    for (int i = 0; i < n; i++) {
        const quad x = tile_quad<ALIGNED>(grad + w->column[i] * a.grad.row_stride, tile);

#pragma unroll
        for (int k = 0; k < 4; k++)
            acc->v[k] += w->weight[i * tile.heads + tile.head[k]] * x.v[k];
    }
}

template <bool ALIGNED>
static __global__ void __launch_bounds__(CUDA_THREADS, 3) by_columns_kernel(cuda_attend_args a, bool pieces)
{
    __shared__ attend_warp shared[CUDA_WARPS];
    attend_warp *w = &shared[threadIdx.x / CUDA_WARP];
    const attend_item t = item_here(a, pieces);
    const int m = (int)blockIdx.z, lane = lane_id();
    const attend_tile tile = tile_here(a);
    const int few = COLUMN_PAIRS / tile.heads, least = few > COLUMN_ARCS ? few : (int)COLUMN_ARCS;
    const int chunk = least < ATTEND_ARCS ? least : (int)ATTEND_ARCS;
    const bool drops = a.dropout.hyper >= 0;
    float sum[ATTEND_HEADS / CUDA_WARP] = {};
    quad acc = {};

    if (!t.valid)
        return;
    for (int at = 0; at < t.n; at += chunk) {
        const int n = t.n - at < chunk ? t.n - at : chunk;

        load_columns(t, at, n, w);
        find_weights(a, t, m, tile, n, w);
        if (drops)
            draw_keeps(a, t, n, tile.first_head, tile.heads, w);
        __syncwarp();
        find_terms(a, t, m, tile, n, drops, w);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ATTEND_HEADS / CUDA_WARP; k++)
            for (int i = 0; i < n && lane + k * CUDA_WARP < tile.heads; i++)
                sum[k] += w->term[i * tile.heads + lane + k * CUDA_WARP];
        add_arcs<ALIGNED>(a, m, tile, n, w, &acc);
        __syncwarp();
    }
    float *partial = pieces ? partial_of(a, t.piece, m) : NULL;
    float *ds = pieces ? partial + a.heads : attend_row(a.ds_src, t.row, m);
    float *dh = pieces ? partial + 2 * a.heads : attend_row(a.dh, t.row, m);

#pragma unroll
    for (int k = 0; k < ATTEND_HEADS / CUDA_WARP; k++) {
        const int h = lane + k * CUDA_WARP, head = tile.first_head + h;

        if (h < tile.heads && head * a.width >= (int)blockIdx.y * ATTEND_TILE)
            ds[head] = sum[k];
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < tile.n)
            dh[tile.c + k] = acc.v[k];
}

cudaError_t launch_attend_by_columns(cudaStream_t stream, const cuda_attend_args *a, bool pieces)
{
    const cudaLaunchConfig_t cfg = launch_items(stream, a, pieces, attend_tiles(a));

    return rows_are_aligned(&a->grad) ? cudaLaunchKernelEx(&cfg, by_columns_kernel<true>, *a, pieces)
                                      : cudaLaunchKernelEx(&cfg, by_columns_kernel<false>, *a, pieces);
}
