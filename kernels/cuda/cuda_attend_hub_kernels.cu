/* SPDX-License-Identifier: Apache-2.0 */
/* Hubs of attention: which side of a hub's arcs the gradient by rows takes, and the sums of its pieces in order, in double;
 * forward they are scaled to the largest max. Then what a row does at its end. And the order of the launches of a pass.
 *
 * Bytes moved: scores of a hub's arcs once, the partial results of its pieces once.
 */
#include "kernels/cuda/cuda_attend.cuh"

/* A block a hub and member: 1 when at most half of the arcs have e > 0, else -1, per head. */
static __global__ void sides_kernel(cuda_attend_args a)
{
    __shared__ int counts[CUDA_WARPS][ATTEND_HEADS];
    const int m = (int)blockIdx.z, warp = (int)threadIdx.x / CUDA_WARP;
    const int64_t hub = blockIdx.x;
    const attend_item t = row_item(a.csr, a.csr.hub_rows[hub]);
    const float *score = attend_row(a.s_src, 0, m), *own = attend_row(a.s_dst, t.row, m);
    const int share = t.n / CUDA_WARPS + 1, first = warp * share;

    join_arcs(
        first, first + share < t.n ? first + share : t.n, a.heads, 0,
        [&](int i, int h) {
            return own[h] + score[arc_column(t, i) * a.s_src.row_stride + h] > 0.0f ? 1 : 0;
        },
        [](int x, int y) { return x + y; }, [&](int h, int v) { counts[warp][h] = v; });
    __syncthreads();
    for (int h = (int)threadIdx.x; h < a.heads; h += CUDA_THREADS) {
        int64_t positive = 0;

        for (int i = 0; i < CUDA_WARPS; i++)
            positive += counts[i][h];
        a.sides[(m * a.csr.num_hubs + hub) * a.heads + h] = 2 * positive <= t.n ? 1.0f : -1.0f;
    }
}

/* The sum of a hub's pieces for one head and column; column < 0: the head's alone. */
struct hub_sum {
    double sum, acc;
    float max;
};

DEVICE hub_sum add_pieces(const cuda_attend_args &a, int64_t hub, int m, int head, int column)
{
    hub_sum s = { 0.0, 0.0, -INFINITY };

    for (int k = a.csr.hub_first[hub]; k < a.csr.hub_first[hub + 1]; k++) {
        const float *p = partial_of(a, k, m);
        double scale = 1.0;

        if (a.pass == CUDA_ATTEND_FORWARD && p[head] > s.max) { /* what is there so far becomes smaller */
            const double less = (double)cpu_exp(s.max - p[head]);

            s.sum *= less;
            s.acc *= less;
            s.max = p[head];
        } else if (a.pass == CUDA_ATTEND_FORWARD) {
            scale = (double)cpu_exp(p[head] - s.max);
        }
        s.sum += scale * (double)p[a.heads + head];
        if (column >= 0)
            s.acc += scale * (double)p[2 * a.heads + column];
    }
    return s;
}

static __global__ void forward_kernel(cuda_attend_args a, int lanes)
{
    each_quad(a.out, a.csr.num_hubs, lanes, [&](int64_t hub, int m, int c, int n) {
        const int64_t r = a.csr.hub_rows[hub];
        const float factor = row_factor(a.epilogue, a.alpha, r);
        quad q = {};

        for (int k = 0; k < n; k++) {
            const int head = (c + k) / a.width;
            const hub_sum s = add_pieces(a, hub, m, head, c + k);

            q.v[k] = factor * ((float)s.acc * (1.0f / (float)s.sum));
            if (a.soft.data != NULL && (c + k) % a.width == 0) {
                attend_row(a.soft, r, m)[head] = s.max;
                attend_row(a.soft, r, m)[a.heads + head] = (float)s.sum;
            }
        }
        output_quad<false>(a.epilogue, a.beta, a.out, r, m, c, n, q);
    });
}

/* A thread a hub, member and column. */
static __global__ void by_columns_kernel(cuda_attend_args a)
{
    const int total = a.heads * a.width, m = (int)blockIdx.z,
              c = (int)blockIdx.y * CUDA_THREADS + (int)threadIdx.x;
    const int64_t hub = blockIdx.x, r = a.csr.hub_rows[hub];

    if (c >= total)
        return;
    const hub_sum s = add_pieces(a, hub, m, c / a.width, c);

    attend_row(a.dh, r, m)[c] = (float)s.acc;
    if (c % a.width == 0)
        attend_row(a.ds_src, r, m)[c / a.width] = (float)s.sum;
}

/* A thread a hub, member and head. */
static __global__ void by_rows_kernel(cuda_attend_args a)
{
    const int m = (int)blockIdx.z, h = (int)threadIdx.x;
    const int64_t hub = blockIdx.x, r = a.csr.hub_rows[hub];

    if (h >= a.heads)
        return;
    attend_row(a.ds_dst, r, m)[h] = a.sides[(m * a.csr.num_hubs + hub) * a.heads + h] * (1.0f - a.slope) *
                                    (float)add_pieces(a, hub, m, h, -1).sum;
}

static cudaError_t launch_pass(cudaStream_t stream, const cuda_attend_args *a, bool pieces)
{
    return a->pass == CUDA_ATTEND_FORWARD   ? launch_attend_forward(stream, a, pieces)
           : a->pass == CUDA_ATTEND_BY_ROWS ? launch_attend_by_rows(stream, a, pieces)
                                            : launch_attend_by_columns(stream, a, pieces);
}

/* What a row does at its end. */
static cudaError_t launch_sums(cudaStream_t stream, const cuda_attend_args *a)
{
    const int64_t hubs = a->csr.num_hubs, total = (int64_t)a->heads * a->width;

    if (a->pass == CUDA_ATTEND_FORWARD) {
        const cudaLaunchConfig_t cfg = launch_rows(stream, &a->out, hubs);

        return cudaLaunchKernelEx(&cfg, forward_kernel, *a, row_lanes(&a->out));
    }
    const bool by_rows = a->pass == CUDA_ATTEND_BY_ROWS;
    const cudaLaunchConfig_t cfg =
        launch_of(stream, hubs, by_rows ? 1 : ceil_div(total, CUDA_THREADS), a->members);

    return by_rows ? cudaLaunchKernelEx(&cfg, by_rows_kernel, *a)
                   : cudaLaunchKernelEx(&cfg, by_columns_kernel, *a);
}

static cudaError_t launch_hubs(cudaStream_t stream, const cuda_attend_args *a)
{
    const cudaLaunchConfig_t cfg = launch_of(stream, a->csr.num_hubs, 1, a->members);
    cudaError_t e = cudaSuccess;

    if (a->pass == CUDA_ATTEND_BY_ROWS)
        e = cudaLaunchKernelEx(&cfg, sides_kernel, *a);
    if (e == cudaSuccess)
        e = launch_pass(stream, a, true);
    return e == cudaSuccess ? launch_sums(stream, a) : e;
}

extern "C" size_t cuda_attend_bytes(const cuda_attend_args *a)
{
    const int64_t results = 2 * a->heads + (int64_t)a->heads * a->width;

    return (size_t)(a->members * (a->csr.num_pieces * results + a->csr.num_hubs * a->heads)) * sizeof(float);
}

/* Hubs go first: they take longest. */
extern "C" cudaError_t cuda_launch_attend(cudaStream_t stream, const cuda_attend_args *a)
{
    if (a->csr.num_work == 0 || a->members == 0)
        return cudaSuccess;
    const cudaError_t e = a->csr.num_hubs > 0 ? launch_hubs(stream, a) : cudaSuccess;

    return e != cudaSuccess ? e : launch_pass(stream, a, false);
}
