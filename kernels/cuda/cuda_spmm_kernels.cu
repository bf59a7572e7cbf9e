/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse product y = epilogue(alpha A x + beta y), rows of at most CUDA_HUB_ENTRIES entries; longer ones:
 * cuda_spmm_hub_kernels.cu.
 *
 *   y_r = factor_r (self_r s_r x_r + sum_e w_e s_j x_j),  j = columns[e], entries in order, one accumulator a column
 *
 * As many threads share a row as the strip has quads (4 at width 16, 32 at 128), so that a warp gathers 512 bytes at once
 * whatever the width, from several rows if they are narrow; a thread has the sources of four arcs in flight. Bytes moved: 4 an
 * arc (4 more with weights), a row of x an arc as far as the caches miss, y once. Instances: rows_kernel for sources that are
 * aligned float, float, bfloat16, each with a plain epilogue and without.
 */
#include "kernels/cuda/cuda_spmm.cuh"

enum { SOURCE_ALIGNED, SOURCE_FLOAT, SOURCE_BF16 };

template <int SOURCE> DEVICE quad load_source(const void *x, int64_t at, int n)
{
    if constexpr (SOURCE == SOURCE_BF16) {
        return load_bf16((const uint16_t *)x + at, n);
    } else if constexpr (SOURCE == SOURCE_ALIGNED) {
        const float4 f = *(const float4 *)((const float *)x + at);

        return { { f.x, f.y, f.z, f.w } };
    } else {
        quad q;

#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = k < n ? ((const float *)x)[at + k] : 0.0f;
        return q;
    }
}

/* sum += w x_j over the entries [e, end). */
template <int SOURCE, bool WEIGHTED>
DEVICE void add_entries(const cuda_spmm_args &a, const arc_weights &weights, int64_t x_at, int n, int64_t e,
                        int64_t end, quad *sum)
{
    for (; e < end; e += SPMM_AHEAD) {
        quad v[SPMM_AHEAD];
        float w[SPMM_AHEAD];

#pragma unroll
        for (int i = 0; i < SPMM_AHEAD; i++) {
            const int64_t at = e + i < end ? e + i : e, j = a.csr.columns[at];

            v[i] = load_source<SOURCE>(a.x.data, x_at + j * a.x.row_stride, n);
            w[i] = WEIGHTED ? arc_weight(weights, at, j) : 1.0f;
        }
#pragma unroll
        for (int i = 0; i < SPMM_AHEAD; i++) {
            if (e + i >= end)
                continue;
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum->v[k] += WEIGHTED ? w[i] * v[i].v[k] : v[i].v[k];
        }
    }
}

template <int SOURCE, bool PLAIN> static __global__ void rows_kernel(cuda_spmm_args a, strip_shape shape)
{
    const strip_lane l = strip_lane_here(a, shape);

    if (l.n <= 0)
        return;
    const int64_t x_at = member_offset(a.x, l.m) + l.c;
    const arc_weights weights = arc_weights_of(a, l.m);
    const int m = PLAIN ? l.m : l.m + l.c / (int)a.y.width, c = PLAIN ? l.c : l.c % (int)a.y.width;

    for (int64_t i = l.first; i < a.csr.num_work; i += l.step) {
        const int64_t r = csr_row(a.csr, i), begin = csr_offset(a.csr, r), end = csr_offset(a.csr, r + 1);
        quad sum = {};

        if (end - begin > CUDA_HUB_ENTRIES)
            continue;
        if (has_self(a, r)) {
            const float w = self_weight(a, r);

            sum = load_source<SOURCE>(a.x.data, x_at + r * a.x.row_stride, l.n);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum.v[k] = w * sum.v[k];
        }
        if (weights.any)
            add_entries<SOURCE, true>(a, weights, x_at, l.n, begin, end, &sum);
        else
            add_entries<SOURCE, false>(a, weights, x_at, l.n, begin, end, &sum);
        const float factor = row_factor(a.epilogue, a.alpha, r);

#pragma unroll
        for (int k = 0; k < 4; k++)
            sum.v[k] = factor * sum.v[k];
        output_quad<PLAIN>(a.epilogue, a.beta, a.y, r, m, c, l.n, sum);
    }
}

/* Every quad of x is four floats at a multiple of 16 bytes. */
static bool sources_are_aligned(const cuda_spmm_args *a, const strip_shape &s)
{
    const int64_t last = a->y.members % s.members;

    return (uintptr_t)a->x.data % 16 == 0 && a->x.row_stride % 4 == 0 && s.members * a->y.width % 4 == 0 &&
           last * a->y.width % 4 == 0 &&
           (a->x.members == 1 ||
            (a->x.block_stride % 4 == 0 && (s.members > 1 || a->x.member_stride % 4 == 0)));
}

template <int SOURCE>
static cudaError_t launch_rows_of(const cudaLaunchConfig_t *cfg, const cuda_spmm_args *a,
                                  const strip_shape &s)
{
    return epilogue_is_plain(&a->epilogue) ? cudaLaunchKernelEx(cfg, rows_kernel<SOURCE, true>, *a, s)
                                           : cudaLaunchKernelEx(cfg, rows_kernel<SOURCE, false>, *a, s);
}

static cudaError_t launch_sum(cudaStream_t stream, const cuda_spmm_args *a)
{
    const strip_shape s = strip_shape_of(a);
    const cudaLaunchConfig_t cfg = launch_strips(stream, a, s);

    if (a->x.dtype == GNT_BF16)
        return launch_rows_of<SOURCE_BF16>(&cfg, a, s);
    return sources_are_aligned(a, s) ? launch_rows_of<SOURCE_ALIGNED>(&cfg, a, s)
                                     : launch_rows_of<SOURCE_FLOAT>(&cfg, a, s);
}

extern "C" size_t cuda_spmm_bytes(const cuda_spmm_args *a)
{
    return a->reduce == GNT_SPMM_MAX
               ? 0
               : (size_t)(a->csr.num_pieces * a->y.members * a->y.width) * sizeof(float);
}

/* Hubs go first: they take longest. */
extern "C" cudaError_t cuda_launch_spmm(cudaStream_t stream, const cuda_spmm_args *a)
{
    if (a->csr.num_work == 0 || a->y.width == 0 || a->y.members == 0)
        return cudaSuccess;
    if (a->reduce == GNT_SPMM_MAX)
        return launch_max(stream, a);
    const cudaError_t e = a->csr.num_hubs > 0 ? launch_hubs(stream, a) : cudaSuccess;

    if (e != cudaSuccess)
        return e;
    return a->reduce == GNT_SPMM_MAX_GRAD ? launch_max_grad(stream, a) : launch_sum(stream, a);
}
