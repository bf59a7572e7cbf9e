/* SPDX-License-Identifier: Apache-2.0 */
/* Gradient of attention by rows: ds_dst_i, and stat for the pass by columns (kernels/args.h).
 *
 * Since the terms a_ij (keep da_ij - r_i) of a row add up to 0, the arcs with e > 0 or those with e <= 0 are enough, whichever
 * are fewer (kernels/cpu/cpu_attend.c): the others' rows of h are not read. A row without a gradient reads none at all. A warp
 * a row: scores of a chunk by (arc, head), dot products by 8 lanes, then the terms are added in the order of the arcs. Bytes
 * moved: an arc's column and scores twice, its row of h once at most for the heads that want it; grad and out once.
 */
#include "kernels/cuda/cuda_attend.cuh"

/* r_h = <grad_h, out_h>, and whether there is a gradient at all. */
DEVICE bool begin_row(const cuda_attend_args &a, const attend_item &t, int m, attend_warp *w)
{
    const float *grad = attend_row(a.grad, t.row, m), *out = attend_row(a.out, t.row, m);
    const int lane = lane_id();
    bool any = false;

    for (int u = 0; u < a.heads; u += CUDA_WARP / ATTEND_DOT_LANES) {
        const int h = u + lane / ATTEND_DOT_LANES;
        const float dot = head_dot(grad + h * a.width, out + h * a.width, a.width, h < a.heads);

        if (h < a.heads && lane % ATTEND_DOT_LANES == 0)
            w->r[h] = dot;
    }
    for (int c = lane; c < a.heads * a.width; c += CUDA_WARP)
        any = any || grad[c] != 0.0f;
    __syncwarp();
    return __any_sync(ALL_LANES, any) != 0;
}

/* stat = s_dst | max | 1 / sum | r */
DEVICE void store_stat(const cuda_attend_args &a, const attend_item &t, int m, const attend_warp *w)
{
    const float *s_dst = attend_row(a.s_dst, t.row, m), *soft = attend_row(a.soft, t.row, m);
    float *stat = attend_row(a.stat, t.row, m);

    for (int h = lane_id(); h < a.heads; h += CUDA_WARP) {
        stat[h] = s_dst[h];
        stat[a.heads + h] = soft[h];
        stat[2 * a.heads + h] = 1.0f / soft[a.heads + h];
        stat[3 * a.heads + h] = w->r[h];
    }
}

/* The side with fewer arcs, per head: counted here, or found before for a hub. */
DEVICE void choose_sides(const cuda_attend_args &a, const attend_item &t, int m, attend_warp *w)
{
    const float *score = attend_row(a.s_src, 0, m), *own = attend_row(a.s_dst, t.row, m);

    if (t.hub >= 0) {
        for (int h = lane_id(); h < a.heads; h += CUDA_WARP)
            w->side[h] = a.sides[(m * a.csr.num_hubs + t.hub) * a.heads + h];
    } else {
        join_arcs(
            0, t.n, a.heads, 0,
            [&](int i, int h) {
                return own[h] + score[arc_column(t, i) * a.s_src.row_stride + h] > 0.0f ? 1 : 0;
            },
            [](int x, int y) { return x + y; },
            [&](int h, int v) { w->side[h] = 2 * v <= t.n ? 1.0f : -1.0f; });
    }
    __syncwarp();
}

/* exp(l - max) of the chunk's pairs; 0 on the side that is not wanted. */
DEVICE void find_weights(const cuda_attend_args &a, const attend_item &t, int m, int n, attend_warp *w)
{
    const float *score = attend_row(a.s_src, 0, m), *own = attend_row(a.s_dst, t.row, m),
                *top = attend_row(a.soft, t.row, m);

    each_pair(0, n, a.heads, [&](int i, int h) {
        const float e = own[h] + score[w->column[i] * a.s_src.row_stride + h], signed_e = e * w->side[h];
        /* side 1 takes e > 0, side -1 the others, 0 and NaN too */
        const bool wanted = w->side[h] > 0.0f ? signed_e > 0.0f : !(signed_e < 0.0f);

        w->weight[i * a.heads + h] = wanted ? cpu_exp(leaky(e, a.slope) - top[h]) : 0.0f;
    });
}

/* term = a (keep da - r) of the chunk's pairs. */
DEVICE void find_terms(const cuda_attend_args &a, const attend_item &t, int m, int n, bool drops,
                       attend_warp *w)
{
    const float *grad = attend_row(a.grad, t.row, m), *x = attend_row(a.h, 0, m);
    const float *sum = attend_row(a.soft, t.row, m) + a.heads;
    const int lane = lane_id();

    for (int u = 0; u < n * a.heads; u += CUDA_WARP / ATTEND_DOT_LANES) {
        const int pair = u + lane / ATTEND_DOT_LANES;
        const bool inside = pair < n * a.heads;
        const int i = inside ? pair / a.heads : 0, h = inside ? pair - i * a.heads : 0;
        const float weight = inside ? w->weight[pair] : 0.0f;
        const float dot = head_dot(grad + h * a.width, x + w->column[i] * a.h.row_stride + h * a.width,
                                   a.width, weight != 0.0f);

        if (inside && lane % ATTEND_DOT_LANES == 0)
            w->term[pair] = weight == 0.0f
                                ? 0.0f
                                : weight * (1.0f / sum[h]) * ((drops ? dot * w->keep[pair] : dot) - w->r[h]);
    }
}

static __global__ void __launch_bounds__(CUDA_THREADS, 3) by_rows_kernel(cuda_attend_args a, bool pieces)
{
    __shared__ attend_warp shared[CUDA_WARPS];
    attend_warp *w = &shared[threadIdx.x / CUDA_WARP];
    const attend_item t = item_here(a, pieces);
    const int m = (int)blockIdx.z, lane = lane_id();
    const int chunk = ATTEND_PAIRS / a.heads < ATTEND_ARCS ? ATTEND_PAIRS / a.heads : (int)ATTEND_ARCS;
    const bool drops = a.dropout.hyper >= 0;
    float sum[ATTEND_HEADS / CUDA_WARP] = {};

    if (!t.valid)
        return;
    const bool any = begin_row(a, t, m, w);

    if (!pieces || t.begin == attend_offset(a.csr, t.row))
        store_stat(a, t, m, w);
    choose_sides(a, t, m, w);
    for (int at = 0; at < t.n && any; at += chunk) {
        const int n = t.n - at < chunk ? t.n - at : chunk;

        load_columns(t, at, n, w);
        find_weights(a, t, m, n, w);
        if (drops)
            draw_keeps(a, t, n, 0, a.heads, w);
        __syncwarp();
        find_terms(a, t, m, n, drops, w);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < ATTEND_HEADS / CUDA_WARP; k++)
            for (int i = 0; i < n && lane + k * CUDA_WARP < a.heads; i++)
                sum[k] += w->term[i * a.heads + lane + k * CUDA_WARP];
        __syncwarp();
    }
    float *to = pieces ? partial_of(a, t.piece, m) + a.heads : attend_row(a.ds_dst, t.row, m);

#pragma unroll
    for (int k = 0; k < ATTEND_HEADS / CUDA_WARP; k++) {
        const int h = lane + k * CUDA_WARP;

        if (h < a.heads)
            to[h] = pieces ? sum[k] : any ? w->side[h] * (1.0f - a.slope) * sum[k] : 0.0f;
    }
}

cudaError_t launch_attend_by_rows(cudaStream_t stream, const cuda_attend_args *a, bool pieces)
{
    const cudaLaunchConfig_t cfg = launch_items(stream, a, pieces, 1);

    return cudaLaunchKernelEx(&cfg, by_rows_kernel, *a, pieces);
}
