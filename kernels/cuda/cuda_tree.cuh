/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows by the fixed tree (kernels/args.h): a thread block sums 32 values over the rows of one tree block, in the
 * order of the rows, then one kernel adds the tree blocks' sums in place.
 *
 *   sums (tree blocks, count): value j of block b is at b * count + j; row 0 is the result
 *
 * Rows go through shared memory 128 at a time: eight warps fetch 16 rows each, all at once, then one warp adds them in order,
 * so that one long chain of additions does not wait for memory. Bytes moved: the operand once, and 2 sums per 1024 rows.
 */
#ifndef GNTI_KERNELS_CUDA_TREE_CUH
#define GNTI_KERNELS_CUDA_TREE_CUH

#include "kernels/cuda/cuda_device.cuh"

static constexpr int TREE_STARTS = 256, LEAF_ROWS = 128, LEAF_FETCH = LEAF_ROWS / CUDA_WARPS, TREE_PAIRS = 4;

/* The tree blocks of one launch: first, first + 1, ...; given: block k of them begins at row start[k]. */
struct tree_blocks {
    int64_t num_rows, first;
    bool given;
    int64_t start[TREE_STARTS + 1];
};

static inline int64_t tree_blocks_of(const gnt_row_tree *tree, int64_t num_rows)
{
    return tree != NULL ? tree->num_blocks : ceil_div(num_rows, GNTI_TREE_ROWS);
}

/* ---- one tree block ------------------------------------------------------------------------------------------------- */

struct leaf {
    int64_t j, first, end, at; /* value, rows, place in the sums */
    bool inside;               /* j is one of them */
};

DEVICE leaf leaf_here(const tree_blocks &b, int64_t count)
{
    const int64_t k = blockIdx.x, block = b.first + k, first = block * GNTI_TREE_ROWS;
    leaf l;

    l.j = (int64_t)blockIdx.y * CUDA_WARP + threadIdx.x % CUDA_WARP;
    l.inside = l.j < count;
    l.first = b.given ? b.start[k] : first;
    l.end = b.given ? b.start[k + 1]
                    : (b.num_rows - first < GNTI_TREE_ROWS ? b.num_rows : first + GNTI_TREE_ROWS);
    l.at = block * count + l.j;
    return l;
}

/* sum + term(first) + ... + term(end - 1), in this order, for the value of each lane; warp 0 has it. Every thread of the block
 * comes here. */
template <class Sum, class Term>
DEVICE Sum ordered_sum(Sum sum, int64_t first, int64_t end, bool inside, const Term &term)
{
    __shared__ Sum tile[LEAF_ROWS][CUDA_WARP];
    const int lane = (int)threadIdx.x % CUDA_WARP, warp = (int)threadIdx.x / CUDA_WARP;

    for (int64_t r = first; r < end; r += LEAF_ROWS) {
        const int n = end - r < LEAF_ROWS ? (int)(end - r) : LEAF_ROWS;
        Sum v[LEAF_FETCH];

#pragma unroll
        for (int k = 0; k < LEAF_FETCH; k++) {
            const int i = k * CUDA_WARPS + warp;

            v[k] = inside && i < n ? (Sum)term(r + i) : (Sum)0;
        }
#pragma unroll
        for (int k = 0; k < LEAF_FETCH; k++)
            tile[k * CUDA_WARPS + warp][lane] = v[k];
        __syncthreads();
        if (warp == 0) {
#pragma unroll 8
            for (int i = 0; i < n; i++)
                sum += tile[i][lane];
        }
        __syncthreads();
    }
    return sum;
}

template <class Sum, class Term> DEVICE void leaf_sum(const leaf &l, Sum *sums, const Term &term)
{
    const Sum sum = ordered_sum<Sum>((Sum)0, l.first, l.end, l.inside, term);

    if (l.inside && threadIdx.x < CUDA_WARP)
        sums[l.at] = sum;
}

/* Value j of (members, parts * width): its member and column, part j / width % parts. */
struct tree_value {
    int m, part, c;
};

DEVICE tree_value value_at(int64_t j, int parts, int64_t width)
{
    const uint32_t row = (uint32_t)j / (uint32_t)width;
    tree_value v;

    v.m = (int)(row / (uint32_t)parts);
    v.part = (int)(row % (uint32_t)parts);
    v.c = (int)((uint32_t)j - row * (uint32_t)width);
    return v;
}

/* ---- the tree ------------------------------------------------------------------------------------------------------- */

/* Blocks [a, b) split at a + the largest power of two below b - a: level by level that is i += i + step for every i that is a
 * multiple of 2 step. 32 values a thread block. */
template <class Sum> static __global__ void tree_kernel(Sum *sums, int64_t num_blocks, int64_t count)
{
    const int lane = (int)threadIdx.x % CUDA_WARP, warp = (int)threadIdx.x / CUDA_WARP;
    const int64_t j = (int64_t)blockIdx.x * CUDA_WARP + lane;
    const bool inside = j < count;

    if (num_blocks == 0 && inside && warp == 0)
        sums[j] = 0;
    for (int64_t step = 1; step < num_blocks; step *= 2) {
        for (int64_t p = warp; 2 * step * p + step < num_blocks; p += CUDA_WARPS * TREE_PAIRS) {
            Sum v[TREE_PAIRS];

#pragma unroll
            for (int k = 0; k < TREE_PAIRS; k++) {
                const int64_t i = 2 * step * (p + k * CUDA_WARPS);

                v[k] = inside && i + step < num_blocks ? sums[i * count + j] + sums[(i + step) * count + j]
                                                       : (Sum)0;
            }
#pragma unroll
            for (int k = 0; k < TREE_PAIRS; k++) {
                const int64_t i = 2 * step * (p + k * CUDA_WARPS);

                if (inside && i + step < num_blocks)
                    sums[i * count + j] = v[k];
            }
        }
        __syncthreads();
    }
}

/* Queues leaf(args, blocks, count, sums) over all tree blocks, then the tree. A given tree's first rows travel as launch
 * arguments, TREE_STARTS blocks at a time: they are in host memory. */
template <class Sum, class Args>
static inline cudaError_t launch_tree(cudaStream_t stream, void (*kernel)(Args, tree_blocks, int64_t, Sum *),
                                      const Args &args, const gnt_row_tree *tree, int64_t num_rows,
                                      int64_t count, Sum *sums)
{
    const int64_t num_blocks = tree_blocks_of(tree, num_rows), tiles = ceil_div(count, CUDA_WARP);
    tree_blocks b = {};
    cudaError_t e = cudaSuccess;

    if (count == 0)
        return cudaSuccess;
    b.num_rows = num_rows;
    b.given = tree != NULL && tree->block_start != NULL;
    for (int64_t n; b.first < num_blocks && e == cudaSuccess; b.first += n) {
        n = b.given && num_blocks - b.first > TREE_STARTS ? (int64_t)TREE_STARTS : num_blocks - b.first;
        for (int64_t k = 0; b.given && k <= n; k++)
            b.start[k] = tree->block_start[b.first + k];
        const cudaLaunchConfig_t cfg = launch_of(stream, n, tiles);

        e = cudaLaunchKernelEx(&cfg, kernel, args, b, count, sums);
    }
    if (e != cudaSuccess || num_blocks == 1)
        return e;
    const cudaLaunchConfig_t cfg = launch_of(stream, tiles);

    return cudaLaunchKernelEx(&cfg, tree_kernel<Sum>, sums, num_blocks, count);
}

/* Bytes of the sums of a tree, a multiple of 16. */
static inline size_t tree_bytes(const gnt_row_tree *tree, int64_t num_rows, int64_t count, size_t value_bytes)
{
    const int64_t blocks = tree_blocks_of(tree, num_rows);

    return (size_t)ceil_div((blocks > 0 ? blocks : 1) * count * (int64_t)value_bytes, 16) * 16;
}

/* ---- sums along a row ----------------------------------------------------------------------------------------------- */

/* 16 lanes added as 8 + 8, 4 + 4, 2 + 2, 1 + 1; each of them gets the sum. Every lane of the warp comes here. */
template <class Sum> DEVICE Sum sum_sixteen(Sum v)
{
#pragma unroll
    for (int half = 8; half > 0; half /= 2)
        v += __shfl_xor_sync(ALL_LANES, v, half);
    return v;
}

#endif
