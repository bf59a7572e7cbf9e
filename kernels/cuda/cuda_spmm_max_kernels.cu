/* SPDX-License-Identifier: Apache-2.0 */
/* The largest term of a row with its source, and the gradient that goes back to the sources that won.
 *
 * Members one by one, a quad a thread as in the rows' kernel. The first of equal terms wins, a NaN wins over numbers and
 * stays. Hubs of MAX are walked by their threads alone; those of the gradient are the hub kernels'. Bytes moved: as the sum,
 * and 4 an element for the winners, per arc in the gradient.
 */
#include "kernels/cuda/cuda_spmm.cuh"

struct winners {
    float v[4];
    int32_t at[4]; /* -1: none yet */
};

DEVICE void take(winners *best, const quad &x, float weight, int64_t j)
{
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const float v = weight * x.v[k];

        if (best->at[k] < 0 || v > best->v[k] || (v != v && best->v[k] == best->v[k])) {
            best->v[k] = v;
            best->at[k] = (int32_t)j;
        }
    }
}

DEVICE void store_winners(const cuda_spmm_args &a, int64_t r, int m, int c, int n, const winners &best)
{
    int32_t *arg = (int32_t *)a.arg.data + member_offset(a.arg, m) + r * a.arg.row_stride + c;

#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < n)
            arg[k] = a.arg_ids != NULL && best.at[k] >= 0 ? (int32_t)a.arg_ids[best.at[k]] : best.at[k];
}

static __global__ void max_kernel(cuda_spmm_args a, strip_shape shape)
{
    const strip_lane l = strip_lane_here(a, shape);

    if (l.n <= 0)
        return;
    const int64_t x_at = member_offset(a.x, l.m) + l.c;
    const arc_weights weights = arc_weights_of(a, l.m);

    for (int64_t i = l.first; i < a.csr.num_work; i += l.step) {
        const int64_t r = csr_row(a.csr, i), end = csr_offset(a.csr, r + 1);
        winners best = { {}, { -1, -1, -1, -1 } };
        quad q;

        if (has_self(a, r) && (a.self_kind == GNT_SELF_ONE || load_scale(a.self, r) != 0.0f))
            take(&best, load_quad(a.x, x_at + r * a.x.row_stride, l.n), self_weight(a, r), r);
#pragma unroll 4
        for (int64_t e = csr_offset(a.csr, r); e < end; e++) {
            const int64_t j = a.csr.columns[e];

            take(&best, load_quad(a.x, x_at + j * a.x.row_stride, l.n), arc_weight(weights, e, j), j);
        }
        const float factor = row_factor(a.epilogue, a.alpha, r);

        if (a.arg.data != NULL)
            store_winners(a, r, l.m, l.c, l.n, best);
#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = factor * best.v[k];
        output_quad<false>(a.epilogue, a.beta, a.y, r, l.m, l.c, l.n, q);
    }
}

static __global__ void max_grad_kernel(cuda_spmm_args a, strip_shape shape)
{
    const strip_lane l = strip_lane_here(a, shape);

    if (l.n <= 0)
        return;
    const int64_t x_at = member_offset(a.x, l.m) + l.c;
    const arc_weights weights = arc_weights_of(a, l.m);

    for (int64_t i = l.first; i < a.csr.num_work; i += l.step) {
        const int64_t r = csr_row(a.csr, i), begin = csr_offset(a.csr, r), end = csr_offset(a.csr, r + 1);
        const int64_t id = winner_id(a, r);
        const auto add = [&](quad *sum, int64_t j, float w) {
            quad q = load_quad(a.x, x_at + j * a.x.row_stride, l.n);

            keep_won(a, id, j, l.m, l.c, l.n, &q);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum->v[k] += w * q.v[k];
        };
        quad sum = {};

        if (end - begin > CUDA_HUB_ENTRIES)
            continue;
        if (has_self(a, r))
            add(&sum, r, self_weight(a, r));
#pragma unroll 4
        for (int64_t e = begin; e < end; e++) {
            const int64_t j = a.csr.columns[e];

            add(&sum, j, arc_weight(weights, e, j));
        }
        const float factor = row_factor(a.epilogue, a.alpha, r);

#pragma unroll
        for (int k = 0; k < 4; k++)
            sum.v[k] = factor * sum.v[k];
        output_quad<false>(a.epilogue, a.beta, a.y, r, l.m, l.c, l.n, sum);
    }
}

cudaError_t launch_max(cudaStream_t stream, const cuda_spmm_args *a)
{
    const strip_shape s = strip_shape_of(a);
    const cudaLaunchConfig_t cfg = launch_strips(stream, a, s);

    return cudaLaunchKernelEx(&cfg, max_kernel, *a, s);
}

cudaError_t launch_max_grad(cudaStream_t stream, const cuda_spmm_args *a)
{
    const strip_shape s = strip_shape_of(a);
    const cudaLaunchConfig_t cfg = launch_strips(stream, a, s);

    return cudaLaunchKernelEx(&cfg, max_grad_kernel, *a, s);
}
