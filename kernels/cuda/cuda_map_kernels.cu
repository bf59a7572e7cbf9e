/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise ops, the row gather, and the epilogue of a stored product.
 *
 * A thread takes quads of a row, the members of a block lie side by side, so that a warp reads 512 bytes in a row where rows
 * are that long. Bytes moved: each operand once, y once more when it accumulates; nothing else but row ids of a dropout and
 * the index of a gather. Instances: map_kernel for each gnt_map_kind, finish_kernel plain and not.
 */
#include "kernels/cuda/cuda_device.cuh"

/* b broadcasts where it has one row, one column or one member. */
DEVICE quad load_b(const cuda_view &b, int64_t r, int m, int c, int n)
{
    const int64_t at = member_offset(b, m) + (b.rows == 1 ? 0 : r * b.row_stride);
    quad q;

    if (b.width > 1)
        return load_quad(b, at + c, n);
    q.v[0] = q.v[1] = q.v[2] = q.v[3] = load_float(b, at);
    return q;
}

template <int KIND> DEVICE float map_value(const cuda_map_args &a, float x, float b)
{
    switch (KIND) {
    case GNT_MAP_FILL:
        return a.alpha;
    case GNT_MAP_COPY:
        return a.alpha * x;
    case GNT_MAP_ADD:
        return a.alpha * x + a.beta * b;
    case GNT_MAP_MUL:
        return a.alpha * x * b;
    case GNT_MAP_ACT:
        return activate(a.act, a.act_alpha, x);
    case GNT_MAP_ACT_GRAD:
        return activate_grad(a.act, a.act_alpha, b, 1.0f, x);
    default:
        return x;
    }
}

template <int KIND> static __global__ void map_kernel(cuda_map_args a, int lanes)
{
    each_quad(a.y, a.y.rows, lanes, [&](int64_t r, int m, int c, int n) {
        const int64_t at = member_offset(a.y, m) + r * a.y.row_stride + c;
        quad q = {}, b = {};

        if (KIND != GNT_MAP_FILL)
            q = load_quad(a.a, member_offset(a.a, m) + r * a.a.row_stride + c, n);
        if (KIND == GNT_MAP_ADD || KIND == GNT_MAP_MUL || KIND == GNT_MAP_ACT_GRAD)
            b = load_b(a.b, r, m, c, n);
        if (KIND == GNT_MAP_DROPOUT) {
            const draw d = draw_make(a.dropout.hyper, a.dropout.ordinal, a.step, m);

            if (d.active)
                drop_quad(d, a.dropout, r, c, &q);
        }
#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = map_value<KIND>(a, q.v[k], b.v[k]);
        if (a.accumulate) {
            const quad y = load_quad(a.y, at, n);

#pragma unroll
            for (int k = 0; k < 4; k++)
                q.v[k] = y.v[k] + q.v[k];
        }
        store_quad(a.y, at, n, q);
    });
}

/* Dropout of stored entries: a thread an entry and member, one of its four words is used. */
static __global__ void entries_kernel(cuda_map_args a)
{
    const int m = (int)blockIdx.y;
    const draw d = draw_make(a.dropout.hyper, a.dropout.ordinal, a.step, m);
    const float *x = (const float *)a.a.data + member_offset(a.a, m);
    float *y = (float *)a.y.data + member_offset(a.y, m);

    for (int64_t e = (int64_t)blockIdx.x * CUDA_THREADS + threadIdx.x; e < a.y.rows;
         e += (int64_t)gridDim.x * CUDA_THREADS) {
        const uint32_t column = (uint32_t)a.arc_columns[e];
        uint32_t word[4];

        gnti_draw_quad(d.key, GNTI_DRAW_DROPOUT, d.ordinal, d.step, row_id(a.dropout, a.arc_rows[e]),
                       column >> 2, word);
        const uint32_t low = column & 2 ? word[2] : word[0], high = column & 2 ? word[3] : word[1];
        const bool keep = !d.drop_all && (column & 1 ? high : low) >= d.threshold;
        const float v = keep ? x[e * a.a.row_stride] * d.scale : 0.0f;
        float *to = y + e * a.y.row_stride;

        *to = a.accumulate ? *to + v : v;
    }
}

extern "C" cudaError_t cuda_launch_map(cudaStream_t stream, const cuda_map_args *a)
{
    if (a->y.rows == 0 || a->y.width == 0)
        return cudaSuccess;
    if (a->arc_rows != NULL) {
        const cudaLaunchConfig_t cfg = launch_of(stream, ceil_div(a->y.rows, CUDA_THREADS), a->y.members);

        return cudaLaunchKernelEx(&cfg, entries_kernel, *a);
    }
    const int lanes = row_lanes(&a->y);
    const cudaLaunchConfig_t cfg = launch_rows(stream, &a->y, a->y.rows);

    switch (a->kind) {
    case GNT_MAP_FILL:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_FILL>, *a, lanes);
    case GNT_MAP_COPY:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_COPY>, *a, lanes);
    case GNT_MAP_ADD:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_ADD>, *a, lanes);
    case GNT_MAP_MUL:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_MUL>, *a, lanes);
    case GNT_MAP_ACT:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_ACT>, *a, lanes);
    case GNT_MAP_ACT_GRAD:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_ACT_GRAD>, *a, lanes);
    case GNT_MAP_DROPOUT:
        return cudaLaunchKernelEx(&cfg, map_kernel<GNT_MAP_DROPOUT>, *a, lanes);
    }
    return cudaErrorInvalidValue;
}

/* ---- gather --------------------------------------------------------------------------------------------------------- */

static __global__ void gather_kernel(cuda_rows_args a, int lanes)
{
    each_quad(a.y, a.y.rows, lanes, [&](int64_t r, int m, int c, int n) {
        const int64_t from = a.index[r], at = member_offset(a.y, m) + r * a.y.row_stride + c;

        if (from < 0 || from >= a.x.rows) {
            note_fault(a.fault, CUDA_FAULT_INDEX, r, from, a.x.rows);
            return;
        }
        quad q = load_quad(a.x, member_offset(a.x, m) + from * a.x.row_stride + c, n);

        if (a.accumulate) {
            const quad y = load_quad(a.y, at, n);

#pragma unroll
            for (int k = 0; k < 4; k++)
                q.v[k] = y.v[k] + q.v[k];
        }
        store_quad(a.y, at, n, q);
    });
}

extern "C" cudaError_t cuda_launch_gather(cudaStream_t stream, const cuda_rows_args *a)
{
    if (a->y.rows == 0 || a->y.width == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t cfg = launch_rows(stream, &a->y, a->y.rows);

    return cudaLaunchKernelEx(&cfg, gather_kernel, *a, row_lanes(&a->y));
}

/* ---- epilogue of a stored product ----------------------------------------------------------------------------------- */

template <bool PLAIN> static __global__ void finish_kernel(cuda_finish_args a, int lanes)
{
    each_quad(a.y, a.num_work, lanes, [&](int64_t i, int m, int c, int n) {
        const int64_t r = a.rows != NULL ? a.rows[i] : a.first_row + i;
        const float factor = row_factor(a.epilogue, a.alpha, r);
        quad q = load_quad(a.product, member_offset(a.product, m) + r * a.product.row_stride + c, n);

#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = factor * q.v[k];
        output_quad<PLAIN>(a.epilogue, a.beta, a.y, r, m, c, n, q);
    });
}

extern "C" cudaError_t cuda_launch_finish(cudaStream_t stream, const cuda_finish_args *a)
{
    if (a->num_work == 0 || a->y.width == 0)
        return cudaSuccess;
    const cudaLaunchConfig_t cfg = launch_rows(stream, &a->y, a->num_work);

    return epilogue_is_plain(&a->epilogue)
               ? cudaLaunchKernelEx(&cfg, finish_kernel<true>, *a, row_lanes(&a->y))
               : cudaLaunchKernelEx(&cfg, finish_kernel<false>, *a, row_lanes(&a->y));
}
