/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm: statistics over rows by the fixed tree in double, elements in float; the formulas and phases of
 * kernels/args.h. Layer norm's rows: cuda_layer_kernels.cu.
 *
 *   forward   sums of x, mean; sums of (x - mean)^2, rstd and running statistics; y
 *   backward  sums of dy and dy h, (members, 2, width): dbeta, dgamma; scaled in place to means of t and t h; dx
 * A thread of the element kernels keeps one quad of columns and walks down the rows, so that a column's statistics are read
 * once. Bytes moved: forward x three times and y, backward dy three times, x twice and dx.
 */
#include "kernels/cuda/cuda_norm.cuh"

/* ---- forward -------------------------------------------------------------------------------------------------------- */

static __global__ void sum_leaf(cuda_norm_args a, tree_blocks b, int64_t count, double *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 1, a.x.width);
    const float *x = row_of(a.x, 0, at.m) + at.c;
    const int64_t stride = a.x.row_stride;

    leaf_sum(l, sums, [=](int64_t r) { return (double)x[r * stride]; });
}

static __global__ void squares_leaf(cuda_norm_args a, tree_blocks b, int64_t count, double *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 1, a.x.width);
    const float *x = row_of(a.x, 0, at.m) + at.c;
    const double mean = (double)row_of(a.mean, 0, at.m)[at.c];
    const int64_t stride = a.x.row_stride;

    leaf_sum(l, sums, [=](int64_t r) {
        const double d = (double)x[r * stride] - mean;

        return d * d;
    });
}

static __global__ void mean_kernel(cuda_norm_args a, const double *sums, int64_t count, double rows)
{
    const int64_t j = (int64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;
    const tree_value at = value_at(j, 1, a.x.width);

    if (j < count)
        row_of(a.mean, 0, at.m)[at.c] = (float)(sums[j] / (rows > 1.0 ? rows : 1.0));
}

static __global__ void rstd_kernel(cuda_norm_args a, const double *sums, int64_t count, double rows)
{
    const int64_t j = (int64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;

    if (j >= count)
        return;
    const tree_value at = value_at(j, 1, a.x.width);
    const double var = sums[j] / (rows > 1.0 ? rows : 1.0), k = (double)momentum_of(a, at.m);

    row_of(a.rstd, 0, at.m)[at.c] = (float)(1.0 / sqrt(var + (double)a.eps));
    if (a.running_mean.data == NULL || rows == 0.0 || k == 0.0)
        return;
    float *mean = row_of(a.running_mean, 0, at.m) + at.c, *old = row_of(a.running_var, 0, at.m) + at.c;
    const double unbiased = rows > 1.0 ? var * rows / (rows - 1.0) : var;

    *mean = (float)((1.0 - k) * (double)*mean + k * (double)row_of(a.mean, 0, at.m)[at.c]);
    *old = (float)((1.0 - k) * (double)*old + k * unbiased);
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

/* A quad of columns of a member, and the rows it walks. */
struct column_quad {
    int m, c, n;
    int64_t first, step;
};

/* 32 quads side by side, 8 rows a block, blockIdx.z the member. */
DEVICE column_quad column_quad_here(const cuda_view &x)
{
    const int lane = (int)threadIdx.x % CUDA_WARP, warp = (int)threadIdx.x / CUDA_WARP;
    column_quad q;

    q.m = (int)blockIdx.z;
    q.c = 4 * ((int)blockIdx.y * CUDA_WARP + lane);
    q.n = (int)x.width - q.c < 4 ? (int)x.width - q.c : 4;
    q.first = (int64_t)blockIdx.x * CUDA_WARPS + warp;
    q.step = (int64_t)gridDim.x * CUDA_WARPS;
    return q;
}

static inline cudaLaunchConfig_t launch_columns(cudaStream_t stream, const cuda_view *x)
{
    const int64_t blocks = ceil_div(x->rows, CUDA_WARPS * 4); /* at least 4 rows a thread */

    return launch_of(stream, blocks < 4096 ? blocks : 4096, ceil_div(x->width, 4 * CUDA_WARP), x->members);
}

/* Mean and rstd of a quad's columns, from this pass or, outside training, the running ones. */
DEVICE void load_statistics(const cuda_norm_args &a, const column_quad &at, quad *mean, quad *rstd)
{
    const bool fixed = !a.training;

    *mean = load_floats(row_of(fixed ? a.running_mean : a.mean, 0, at.m) + at.c, at.n);
    *rstd = load_floats(row_of(fixed ? a.running_var : a.rstd, 0, at.m) + at.c, at.n);
    for (int k = 0; fixed && k < 4; k++)
        rstd->v[k] = (float)(1.0 / sqrt((double)rstd->v[k] + (double)a.eps));
}

static __global__ void apply_kernel(cuda_norm_args a)
{
    const column_quad at = column_quad_here(a.x);
    quad mean, rstd;

    if (at.n <= 0)
        return;
    load_statistics(a, at, &mean, &rstd);
    const quad gamma = load_vector(a.gamma, at.m, at.c, at.n, 1.0f),
               beta = load_vector(a.beta, at.m, at.c, at.n, 0.0f);

    for (int64_t r = at.first; r < a.x.rows; r += at.step) {
        quad q = load_floats(row_of(a.x, r, at.m) + at.c, at.n);

#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = (q.v[k] - mean.v[k]) * rstd.v[k] * gamma.v[k] + beta.v[k];
        store_quad(a.y, member_offset(a.y, at.m) + r * a.y.row_stride + at.c, at.n, q);
    }
}

/* ---- backward ------------------------------------------------------------------------------------------------------- */

static __global__ void gradient_leaf(cuda_norm_args a, tree_blocks b, int64_t count, double *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 2, a.x.width);
    const float *x = row_of(a.x, 0, at.m) + at.c, *dy = row_of(a.dy, 0, at.m) + at.c;
    const int64_t x_stride = a.x.row_stride, dy_stride = a.dy.row_stride;
    const bool scaled = at.part == 1;
    const float mean = *(row_of(a.training ? a.mean : a.running_mean, 0, at.m) + at.c);
    float rstd = *(row_of(a.training ? a.rstd : a.running_var, 0, at.m) + at.c);

    if (!a.training)
        rstd = (float)(1.0 / sqrt((double)rstd + (double)a.eps));
    leaf_sum(l, sums, [=](int64_t r) {
        const double g = (double)dy[r * dy_stride];

        return scaled ? g * (double)((x[r * x_stride] - mean) * rstd) : g;
    });
}

/* dbeta and dgamma, and in place the means of t and t h. */
static __global__ void gradients_kernel(cuda_norm_args a, double *sums, int64_t count, double rows)
{
    const int64_t j = (int64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;

    if (j >= count)
        return;
    const tree_value at = value_at(j, 2, a.x.width);
    const cuda_view &to = at.part == 1 ? a.dgamma : a.dbeta;
    const double gamma = a.gamma.data != NULL ? (double)row_of(a.gamma, 0, at.m)[at.c] : 1.0;

    if (to.data != NULL)
        row_of(to, 0, at.m)[at.c] = (float)sums[j];
    sums[j] *= gamma / (rows > 1.0 ? rows : 1.0);
}

static __global__ void input_kernel(cuda_norm_args a, const double *means)
{
    const column_quad at = column_quad_here(a.x);
    quad mean, rstd, t_mean = {}, th_mean = {};

    if (at.n <= 0)
        return;
    load_statistics(a, at, &mean, &rstd);
    const quad gamma = load_vector(a.gamma, at.m, at.c, at.n, 1.0f);

    for (int k = 0; a.training && k < at.n; k++) {
        t_mean.v[k] = (float)means[2 * at.m * a.x.width + at.c + k];
        th_mean.v[k] = (float)means[(2 * at.m + 1) * a.x.width + at.c + k];
    }
    for (int64_t r = at.first; r < a.x.rows; r += at.step) {
        const int64_t to = member_offset(a.dx, at.m) + r * a.dx.row_stride + at.c;
        const quad x = load_floats(row_of(a.x, r, at.m) + at.c, at.n),
                   dy = load_floats(row_of(a.dy, r, at.m) + at.c, at.n);
        quad d = {};

        if (a.accumulate_dx)
            d = load_quad(a.dx, to, at.n);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const float h = (x.v[k] - mean.v[k]) * rstd.v[k];
            const float v = rstd.v[k] * (dy.v[k] * gamma.v[k] - t_mean.v[k] - h * th_mean.v[k]);

            d.v[k] = a.accumulate_dx ? d.v[k] + v : v;
        }
        store_quad(a.dx, to, at.n, d);
    }
}

/* ---- launches ------------------------------------------------------------------------------------------------------- */

static int64_t count_of(const cuda_norm_args *a)
{
    return a->x.members * a->x.width * (a->backward ? 2 : 1);
}

static double rows_of(const cuda_norm_args *a)
{
    return (double)(a->phase == GNT_NORM_WHOLE ? a->x.rows : a->total_rows);
}

/* A kernel with a thread a sum. */
template <class Kernel>
static cudaError_t launch_store(cudaStream_t stream, Kernel *kernel, const cuda_norm_args *a, double *sums)
{
    const cudaLaunchConfig_t cfg = launch_of(stream, ceil_div(count_of(a), CUDA_THREADS));

    return cudaLaunchKernelEx(&cfg, kernel, *a, sums, count_of(a), rows_of(a));
}

/* Mean and rstd of the rows here. */
static cudaError_t launch_statistics(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                                     double *sums)
{
    cudaError_t e = launch_tree(stream, sum_leaf, *a, tree, a->x.rows, count_of(a), sums);

    if (e == cudaSuccess)
        e = launch_store(stream, mean_kernel, a, sums);
    if (e == cudaSuccess)
        e = launch_tree(stream, squares_leaf, *a, tree, a->x.rows, count_of(a), sums);
    return e == cudaSuccess ? launch_store(stream, rstd_kernel, a, sums) : e;
}

static cudaError_t launch_forward(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                                  double *sums)
{
    cudaError_t e = cudaSuccess;

    if (a->phase == GNT_NORM_MEAN)
        return launch_store(stream, mean_kernel, a, a->sums);
    if (a->phase == GNT_NORM_SUM || a->phase == GNT_NORM_SQUARES)
        return launch_tree(stream, a->phase == GNT_NORM_SUM ? sum_leaf : squares_leaf, *a, tree, a->x.rows,
                           count_of(a), sums);
    if (a->phase == GNT_NORM_APPLY)
        e = launch_store(stream, rstd_kernel, a, a->sums);
    else if (a->training)
        e = launch_statistics(stream, a, tree, sums);
    if (e != cudaSuccess || a->x.rows == 0)
        return e;
    const cudaLaunchConfig_t cfg = launch_columns(stream, &a->x);

    return cudaLaunchKernelEx(&cfg, apply_kernel, *a);
}

static cudaError_t launch_backward(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                                   double *sums)
{
    const bool layer = a->kind == GNT_NORM_LAYER;
    cudaError_t e = cudaSuccess;

    if (a->phase != GNT_NORM_APPLY)
        e = layer ? launch_layer_gradient(stream, a, tree, sums)
                  : launch_tree(stream, gradient_leaf, *a, tree, a->x.rows, count_of(a), sums);
    else
        sums = a->sums;
    if (e != cudaSuccess || a->phase == GNT_NORM_SUM)
        return e;
    e = launch_store(stream, gradients_kernel, a, sums);
    if (e != cudaSuccess || a->dx.data == NULL || a->x.rows == 0)
        return e;
    const cudaLaunchConfig_t cfg = launch_columns(stream, &a->x);

    return layer ? launch_layer_input(stream, a)
                 : cudaLaunchKernelEx(&cfg, input_kernel, *a, (const double *)sums);
}

/* The tree works in scratch; the sums of a phase are copied to where the caller wants them. */
extern "C" size_t cuda_norm_bytes(const cuda_norm_args *a, const gnt_row_tree *tree)
{
    const bool sums = a->backward ? a->phase != GNT_NORM_APPLY
                                  : a->kind == GNT_NORM_BATCH && a->training && a->phase != GNT_NORM_MEAN &&
                                        a->phase != GNT_NORM_APPLY;

    return sums ? tree_bytes(tree, a->x.rows, count_of(a), sizeof(double)) : 0;
}

extern "C" cudaError_t cuda_launch_norm(cudaStream_t stream, const cuda_norm_args *a,
                                        const gnt_row_tree *tree, void *scratch)
{
    const bool keep = a->phase == GNT_NORM_SUM || a->phase == GNT_NORM_SQUARES;
    cudaError_t e;

    if (count_of(a) == 0)
        return cudaSuccess;
    if (!a->backward && a->kind == GNT_NORM_LAYER)
        return launch_layer_forward(stream, a);
    e = a->backward ? launch_backward(stream, a, tree, (double *)scratch)
                    : launch_forward(stream, a, tree, (double *)scratch);
    if (e != cudaSuccess || !keep)
        return e;
    return cudaMemcpyAsync(a->sums, scratch, (size_t)count_of(a) * sizeof(double), cudaMemcpyDefault, stream);
}
