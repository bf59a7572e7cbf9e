/* SPDX-License-Identifier: Apache-2.0 */
/* Attention along arcs, forward (kernels/args.h): out_i = sum_j keep a_ij h_j, a_ij the softmax of leaky_relu(e_ij).
 *
 * leaky_relu is monotonic, so the largest score of a row is that of its largest s_src: it is found first, then every arc's
 * weight is exp(l - max) and sums need no rescaling. A warp a row and tile of 128 columns; lane l has the columns 4 l .. 4 l + 3
 * and adds sum and row in the order of the arcs, four rows of h in flight. Bytes moved: an arc's column twice, its scores
 * twice, its row of h once (as far as the caches miss); out and soft. Instances: aligned rows of h and others.
 */
#include "kernels/cuda/cuda_attend.cuh"

DEVICE void find_tops(const cuda_attend_args &a, const attend_item &t, int m, const attend_tile &tile,
                      attend_warp *w)
{
    const float *score = attend_row(a.s_src, 0, m) + tile.first_head,
                *own = attend_row(a.s_dst, t.row, m) + tile.first_head;

    join_arcs(
        0, t.n, tile.heads, -INFINITY,
        [&](int i, int h) { return score[arc_column(t, i) * a.s_src.row_stride + h]; },
        [](float x, float y) { return y > x ? y : x; },
        [&](int h, float v) { w->top[h] = leaky(own[h] + v, a.slope); });
    __syncwarp();
}

/* Weights of the chunk's arcs: exp(l - max). */
DEVICE void find_weights(const cuda_attend_args &a, const attend_item &t, int m, const attend_tile &tile,
                         int n, attend_warp *w)
{
    const float *score = attend_row(a.s_src, 0, m) + tile.first_head,
                *own = attend_row(a.s_dst, t.row, m) + tile.first_head;

    each_pair(0, n, tile.heads, [&](int i, int h) {
        const float e = own[h] + score[w->column[i] * a.s_src.row_stride + h];

        w->weight[i * tile.heads + h] = cpu_exp(leaky(e, a.slope) - w->top[h]);
    });
}

struct attend_sums {
    float sum[4];
    quad acc;
};

/* sum += weight, acc += weight keep h over the chunk. */
template <bool ALIGNED>
DEVICE void add_arcs(const cuda_attend_args &a, int m, const attend_tile &tile, int n, bool drops,
                     const attend_warp *w, attend_sums *s)
{
    const float *h = attend_row(a.h, 0, m);

#pragma unroll 4
    for (int i = 0; i < n; i++) {
        const quad x = tile_quad<ALIGNED>(h + w->column[i] * a.h.row_stride, tile);

#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int pair = i * tile.heads + tile.head[k];
            const float v = w->weight[pair];

            s->sum[k] += v;
            s->acc.v[k] += (drops ? v * w->keep[pair] : v) * x.v[k];
        }
    }
}

/* max and sum of the heads whose first column this lane has: into soft, or into a piece's partial results. */
DEVICE void store_heads(const cuda_attend_args &a, const attend_tile &tile, const attend_warp *w,
                        const attend_sums &s, float *to)
{
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < tile.n && (tile.c + k) % a.width == 0) {
            const int head = tile.first_head + tile.head[k];

            to[head] = w->top[tile.head[k]];
            to[a.heads + head] = s.sum[k];
        }
}

DEVICE void store_row(const cuda_attend_args &a, const attend_item &t, int m, const attend_tile &tile,
                      const attend_sums &s)
{
    const float factor = row_factor(a.epilogue, a.alpha, t.row);
    quad q;

#pragma unroll
    for (int k = 0; k < 4; k++)
        q.v[k] = factor * (s.acc.v[k] * (1.0f / s.sum[k]));
    output_quad<false>(a.epilogue, a.beta, a.out, t.row, m, tile.c, tile.n, q);
}

template <bool ALIGNED>
static __global__ void __launch_bounds__(CUDA_THREADS, 3) forward_kernel(cuda_attend_args a, bool pieces)
{
    __shared__ attend_warp shared[CUDA_WARPS];
    attend_warp *w = &shared[threadIdx.x / CUDA_WARP];
    const attend_item t = item_here(a, pieces);
    const int m = (int)blockIdx.z;
    const attend_tile tile = tile_here(a);
    const int chunk = ATTEND_PAIRS / tile.heads < ATTEND_ARCS ? ATTEND_PAIRS / tile.heads : (int)ATTEND_ARCS;
    const bool drops = a.dropout.hyper >= 0;
    attend_sums s = {};

    if (!t.valid)
        return;
    find_tops(a, t, m, tile, w);
    for (int at = 0; at < t.n; at += chunk) {
        const int n = t.n - at < chunk ? t.n - at : chunk;

        load_columns(t, at, n, w);
        find_weights(a, t, m, tile, n, w);
        if (drops)
            draw_keeps(a, t, n, tile.first_head, tile.heads, w);
        __syncwarp();
        add_arcs<ALIGNED>(a, m, tile, n, drops, w, &s);
        __syncwarp();
    }
    if (tile.n <= 0)
        return;
    if (!pieces) {
        store_row(a, t, m, tile, s);
        if (a.soft.data != NULL)
            store_heads(a, tile, w, s, attend_row(a.soft, t.row, m));
        return;
    }
    float *to = partial_of(a, t.piece, m);

    store_heads(a, tile, w, s, to);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < tile.n)
            to[2 * a.heads + tile.c + k] = s.acc.v[k];
}

cudaError_t launch_attend_forward(cudaStream_t stream, const cuda_attend_args *a, bool pieces)
{
    const cudaLaunchConfig_t cfg = launch_items(stream, a, pieces, attend_tiles(a));

    return rows_are_aligned(&a->h) ? cudaLaunchKernelEx(&cfg, forward_kernel<true>, *a, pieces)
                                   : cudaLaunchKernelEx(&cfg, forward_kernel<false>, *a, pieces);
}
