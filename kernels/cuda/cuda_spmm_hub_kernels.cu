/* SPDX-License-Identifier: Apache-2.0 */
/* Hubs of the sparse product: rows of more than CUDA_HUB_ENTRIES entries, sums and gradients of largest terms.
 *
 * A thread block sums a piece of at most 4096 entries for 32 columns: eight warps fetch the sources of 128 arcs at once, one
 * warp adds them in order (ordered_sum). Then the pieces of a hub are added in order, in double, and the epilogue is done.
 * Bytes moved: as the rows' kernel, and a float a piece and column written and read. Instances: piece_kernel for sources of
 * float, bfloat16, and gradients; combine_kernel plain and not.
 */
#include "kernels/cuda/cuda_spmm.cuh"

enum { PIECE_FLOAT, PIECE_BF16, PIECE_GRAD };

/* A piece of a hub: its row and entries. */
struct piece {
    int64_t row, begin, end;
    bool first;
};

DEVICE piece piece_at(const cuda_csr &g, int64_t k)
{
    const int hub = g.piece_hub[k], number = (int)k - g.hub_first[hub];
    piece p;

    p.row = g.hub_rows[hub];
    p.begin = csr_offset(g, p.row) + (int64_t)number * GNTI_ROW_ENTRIES;
    p.end = csr_offset(g, p.row + 1);
    if (p.end - p.begin > GNTI_ROW_ENTRIES)
        p.end = p.begin + GNTI_ROW_ENTRIES;
    p.first = number == 0;
    return p;
}

template <int KIND> DEVICE float source(const cuda_spmm_args &a, int64_t at)
{
    if (KIND == PIECE_FLOAT)
        return ((const float *)a.x.data)[at];
    if (KIND == PIECE_BF16)
        return gnti_bf16_to_float(((const uint16_t *)a.x.data)[at]);
    return load_float(a.x, at);
}

/* blockIdx.y: 32 columns of the strip blockIdx.z, of `members` members that lie side by side. */
template <int KIND> static __global__ void piece_kernel(cuda_spmm_args a, int members)
{
    const piece p = piece_at(a.csr, blockIdx.x);
    const int m = (int)blockIdx.z * members, left = (int)a.y.members - m;
    const int width = (left < members ? left : members) * (int)a.y.width;
    const int c = (int)blockIdx.y * CUDA_WARP + (int)threadIdx.x % CUDA_WARP;
    const bool inside = c < width;
    const int64_t x_at = member_offset(a.x, m) + (inside ? c : 0),
                  id = KIND == PIECE_GRAD ? winner_id(a, p.row) : 0;
    const int32_t *arg =
        KIND == PIECE_GRAD ? (const int32_t *)a.arg.data + member_offset(a.arg, m) + c : NULL;
    const arc_weights weights = arc_weights_of(a, m);
    const auto term = [&](int64_t j) {
        const float v = source<KIND>(a, x_at + j * a.x.row_stride);

        return KIND == PIECE_GRAD && arg[j * a.arg.row_stride] != id ? 0.0f : v;
    };
    float sum = 0.0f;

    if (p.first && inside && has_self(a, p.row))
        sum = self_weight(a, p.row) * term(p.row);
    sum = ordered_sum<float>(sum, p.begin, p.end, inside, [&](int64_t e) {
        const int64_t j = a.csr.columns[e];

        return weights.any ? arc_weight(weights, e, j) * term(j) : term(j);
    });
    if (inside && threadIdx.x < CUDA_WARP)
        a.partial[blockIdx.x * (a.y.members * a.y.width) + m * a.y.width + c] = sum;
}

template <bool PLAIN> static __global__ void combine_kernel(cuda_spmm_args a, int lanes)
{
    each_quad(a.y, a.csr.num_hubs, lanes, [&](int64_t hub, int m, int c, int n) {
        const int64_t r = a.csr.hub_rows[hub], total = a.y.members * a.y.width;
        const float factor = row_factor(a.epilogue, a.alpha, r);
        double sum[4] = {};
        quad q;

        for (int64_t k = a.csr.hub_first[hub]; k < a.csr.hub_first[hub + 1]; k++) {
            const quad part = load_floats(a.partial + k * total + m * a.y.width + c, n);

#pragma unroll
            for (int i = 0; i < 4; i++)
                sum[i] += (double)part.v[i];
        }
#pragma unroll
        for (int i = 0; i < 4; i++)
            q.v[i] = factor * (float)sum[i];
        output_quad<PLAIN>(a.epilogue, a.beta, a.y, r, m, c, n, q);
    });
}

static cudaError_t launch_pieces(cudaStream_t stream, const cuda_spmm_args *a)
{
    const strip_shape s = strip_shape_of(a);
    const cudaLaunchConfig_t cfg =
        launch_of(stream, a->csr.num_pieces, ceil_div(s.members * a->y.width, CUDA_WARP),
                  ceil_div(a->y.members, s.members));

    if (a->reduce == GNT_SPMM_MAX_GRAD)
        return cudaLaunchKernelEx(&cfg, piece_kernel<PIECE_GRAD>, *a, s.members);
    return a->x.dtype == GNT_BF16 ? cudaLaunchKernelEx(&cfg, piece_kernel<PIECE_BF16>, *a, s.members)
                                  : cudaLaunchKernelEx(&cfg, piece_kernel<PIECE_FLOAT>, *a, s.members);
}

cudaError_t launch_hubs(cudaStream_t stream, const cuda_spmm_args *a)
{
    const cudaLaunchConfig_t cfg = launch_rows(stream, &a->y, a->csr.num_hubs);
    const cudaError_t e = launch_pieces(stream, a);

    if (e != cudaSuccess)
        return e;
    return epilogue_is_plain(&a->epilogue)
               ? cudaLaunchKernelEx(&cfg, combine_kernel<true>, *a, row_lanes(&a->y))
               : cudaLaunchKernelEx(&cfg, combine_kernel<false>, *a, row_lanes(&a->y));
}
