/* SPDX-License-Identifier: Apache-2.0 */
/* Layer norm: a warp a row and member; sums along a row in double, lane l takes columns l, l + 32, ..., then the lanes are
 * added as a tree (the CPU adds them in order; both are within 1e-15 of the sum). Sums over rows: cuda_tree.cuh.
 *
 * Bytes moved: forward x and y (x comes from the cache the second and third time), backward x and dy twice, dx once.
 */
#include "kernels/cuda/cuda_norm.cuh"

DEVICE double warp_sum(double v)
{
#pragma unroll
    for (int half = CUDA_WARP / 2; half > 0; half /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, half);
    return v;
}

/* The row of this warp; every lane comes to the same one. */
struct warp_row {
    int64_t r;
    int m, lane;
};

DEVICE warp_row warp_row_here(void)
{
    const int64_t warp = (int64_t)blockIdx.x * CUDA_WARPS + threadIdx.x / CUDA_WARP;

    return { warp, (int)blockIdx.y, (int)threadIdx.x % CUDA_WARP };
}

static __global__ void forward_kernel(cuda_norm_args a)
{
    const warp_row w = warp_row_here();

    if (w.r >= a.x.rows)
        return;
    const float *x = row_of(a.x, w.r, w.m);
    const int64_t width = a.x.width;
    double sum = 0.0, squares = 0.0;

    for (int64_t c = w.lane; c < width; c += CUDA_WARP)
        sum += (double)x[c];
    const double mean = warp_sum(sum) / (double)width;

    for (int64_t c = w.lane; c < width; c += CUDA_WARP)
        squares += ((double)x[c] - mean) * ((double)x[c] - mean);
    squares = warp_sum(squares);
    const float centre = (float)mean, rstd = (float)(1.0 / sqrt(squares / (double)width + (double)a.eps));
    const float *gamma = a.gamma.data != NULL ? row_of(a.gamma, 0, w.m) : NULL;
    const float *beta = a.beta.data != NULL ? row_of(a.beta, 0, w.m) : NULL;
    float *y = row_of(a.y, w.r, w.m);

    if (w.lane == 0) {
        *row_of(a.mean, w.r, w.m) = centre;
        *row_of(a.rstd, w.r, w.m) = rstd;
    }
    for (int64_t c = w.lane; c < width; c += CUDA_WARP)
        y[c] = (x[c] - centre) * rstd * (gamma != NULL ? gamma[c] : 1.0f) + (beta != NULL ? beta[c] : 0.0f);
}

static __global__ void gradient_leaf(cuda_norm_args a, tree_blocks b, int64_t count, double *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 2, a.x.width);
    const float *x = row_of(a.x, 0, at.m) + at.c, *dy = row_of(a.dy, 0, at.m) + at.c;
    const float *mean = row_of(a.mean, 0, at.m), *rstd = row_of(a.rstd, 0, at.m);
    const bool scaled = at.part == 1;

    leaf_sum(l, sums, [=](int64_t r) {
        const double g = (double)dy[r * a.dy.row_stride];
        const float h = (x[r * a.x.row_stride] - mean[r * a.mean.row_stride]) * rstd[r * a.rstd.row_stride];

        return scaled ? g * (double)h : g;
    });
}

static __global__ void input_kernel(cuda_norm_args a)
{
    const warp_row w = warp_row_here();

    if (w.r >= a.x.rows)
        return;
    const float *x = row_of(a.x, w.r, w.m), *dy = row_of(a.dy, w.r, w.m);
    const float *gamma = a.gamma.data != NULL ? row_of(a.gamma, 0, w.m) : NULL;
    const float mean = *row_of(a.mean, w.r, w.m), rstd = *row_of(a.rstd, w.r, w.m);
    const int64_t width = a.x.width;
    float *dx = row_of(a.dx, w.r, w.m);
    double t = 0.0, th = 0.0;

    for (int64_t c = w.lane; c < width; c += CUDA_WARP) {
        const double v = (double)dy[c] * (gamma != NULL ? (double)gamma[c] : 1.0);

        t += v;
        th += v * (double)((x[c] - mean) * rstd);
    }
    const float t_mean = (float)(warp_sum(t) / (double)width),
                th_mean = (float)(warp_sum(th) / (double)width);

    for (int64_t c = w.lane; c < width; c += CUDA_WARP) {
        const float h = (x[c] - mean) * rstd, g = dy[c] * (gamma != NULL ? gamma[c] : 1.0f);
        const float d = rstd * (g - t_mean - h * th_mean);

        dx[c] = a.accumulate_dx ? dx[c] + d : d;
    }
}

static cudaLaunchConfig_t launch_warps(cudaStream_t stream, const cuda_view *x)
{
    return launch_of(stream, ceil_div(x->rows, CUDA_WARPS), x->members);
}

cudaError_t launch_layer_forward(cudaStream_t stream, const cuda_norm_args *a)
{
    if (a->x.rows == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t cfg = launch_warps(stream, &a->x);

    return cudaLaunchKernelEx(&cfg, forward_kernel, *a);
}

cudaError_t launch_layer_gradient(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                                  double *sums)
{
    return launch_tree(stream, gradient_leaf, *a, tree, a->x.rows, 2 * a->x.members * a->x.width, sums);
}

cudaError_t launch_layer_input(cudaStream_t stream, const cuda_norm_args *a)
{
    const cudaLaunchConfig_t cfg = launch_warps(stream, &a->x);

    return cudaLaunchKernelEx(&cfg, input_kernel, *a);
}
