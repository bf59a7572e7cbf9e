/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: sums over rows by the fixed tree (cuda_tree.cuh), dot products of rows by 16 lanes, the order of the CPU's.
 *
 * Bytes moved: a and b once; DOT_ALL a float a row and member more. Instances: the tree of float.
 */
#include "kernels/cuda/cuda_tree.cuh"

static __global__ void sum_leaf(cuda_reduce_args a, tree_blocks b, int64_t count, float *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 1, a.a.width);
    const float *x = (const float *)a.a.data + member_offset(a.a, at.m) + at.c;
    const int64_t stride = a.a.row_stride;

    leaf_sum(l, sums, [=](int64_t r) { return x[r * stride]; });
}

static __global__ void dot_leaf(cuda_reduce_args a, tree_blocks b, int64_t count, float *sums)
{
    const leaf l = leaf_here(b, count);
    const tree_value at = value_at(l.inside ? l.j : 0, 1, a.a.width);
    const float *x = (const float *)a.a.data + member_offset(a.a, at.m) + at.c;
    const float *y = (const float *)a.b.data + member_offset(a.b, at.m) + at.c;
    const int64_t x_stride = a.a.row_stride, y_stride = a.b.row_stride;

    leaf_sum(l, sums, [=](int64_t r) { return x[r * x_stride] * y[r * y_stride]; });
}

/* A member a value: rows' dot products (rows, members) that lie behind each other. */
struct dots_args {
    const float *dots;
    int64_t members;
};

static __global__ void dots_leaf(dots_args a, tree_blocks b, int64_t count, float *sums)
{
    const leaf l = leaf_here(b, count);

    leaf_sum(l, sums, [=](int64_t r) { return a.dots[r * a.members + l.j]; });
}

/* 16 lanes a row; out (rows, members), or y. */
static __global__ void row_dots_kernel(cuda_reduce_args a, float *out)
{
    const int m = (int)blockIdx.y, lane = (int)threadIdx.x % 16, at_once = CUDA_THREADS / 16;
    const float *x = (const float *)a.a.data + member_offset(a.a, m);
    const float *z = (const float *)a.b.data + member_offset(a.b, m);

    for (int64_t r0 = (int64_t)blockIdx.x * at_once; r0 < a.a.rows; r0 += (int64_t)gridDim.x * at_once) {
        const int64_t r = r0 + threadIdx.x / 16;
        const bool inside = r < a.a.rows;
        const int64_t width = inside ? a.a.width : 0;
        float sum = 0.0f;

        for (int64_t c = lane; c < width; c += 16)
            sum += x[r * a.a.row_stride + c] * z[r * a.b.row_stride + c];
        sum = sum_sixteen(sum);
        if (!inside || lane != 0)
            continue;
        if (out != NULL) {
            out[r * a.y.members + m] = sum;
        } else {
            float *y = (float *)a.y.data + member_offset(a.y, m) + r * a.y.row_stride;

            *y = a.accumulate ? *y + sum : sum;
        }
    }
}

static __global__ void store_kernel(cuda_reduce_args a, const float *sums, int64_t count)
{
    const int64_t j = (int64_t)blockIdx.x * CUDA_THREADS + threadIdx.x;

    if (j >= count)
        return;
    const tree_value at = value_at(j, 1, a.y.width);
    float *y = (float *)a.y.data + member_offset(a.y, at.m) + at.c;

    *y = a.accumulate ? *y + sums[j] : sums[j];
}

static cudaError_t launch_row_dots(cudaStream_t stream, const cuda_reduce_args *a, float *out)
{
    if (a->a.rows == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t cfg = launch_of(stream, ceil_div(a->a.rows, CUDA_THREADS / 16), a->y.members);

    return cudaLaunchKernelEx(&cfg, row_dots_kernel, *a, out);
}

extern "C" size_t cuda_reduce_bytes(const cuda_reduce_args *a, const gnt_row_tree *tree)
{
    const size_t sums = tree_bytes(tree, a->a.rows, a->y.members * a->y.width, sizeof(float));

    if (a->kind == GNT_REDUCE_DOT_COLS)
        return 0;
    return sums + (a->kind == GNT_REDUCE_DOT_ALL ? (size_t)(a->a.rows * a->y.members) * sizeof(float) : 0);
}

extern "C" cudaError_t cuda_launch_reduce(cudaStream_t stream, const cuda_reduce_args *a,
                                          const gnt_row_tree *tree, void *scratch)
{
    const int64_t rows = a->a.rows, count = a->y.members * a->y.width;
    float *sums = (float *)scratch;
    cudaError_t e;

    if (count == 0)
        return cudaSuccess;
    if (a->kind == GNT_REDUCE_DOT_COLS)
        return launch_row_dots(stream, a, NULL);
    if (a->kind == GNT_REDUCE_SUM_ROWS) {
        e = launch_tree(stream, sum_leaf, *a, tree, rows, count, sums);
    } else if (a->kind == GNT_REDUCE_DOT_ROWS) {
        e = launch_tree(stream, dot_leaf, *a, tree, rows, count, sums);
    } else {
        float *dots = sums + tree_bytes(tree, rows, count, sizeof(float)) / sizeof(float);
        const dots_args d = { dots, a->y.members };

        e = launch_row_dots(stream, a, dots);
        if (e == cudaSuccess)
            e = launch_tree(stream, dots_leaf, d, tree, rows, count, sums);
    }
    if (e != cudaSuccess)
        return e;
    const cudaLaunchConfig_t cfg = launch_of(stream, ceil_div(count, CUDA_THREADS));

    return cudaLaunchKernelEx(&cfg, store_kernel, *a, (const float *)sums, count);
}
