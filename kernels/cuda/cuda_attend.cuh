/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of attention share: a warp has one row (or one piece of a hub) of one member, and takes its arcs in chunks.
 *
 * A chunk's numbers by (arc, head) lie in the warp's shared memory: scores become weights there, 32 lanes side by side. Dot
 * products of a head are 8 lanes of the warp (column k of the head goes to lane k % 8, added as a tree), sums over arcs are
 * in the order of the arcs: both as the CPU does it, so results are the same bits. blockIdx.z is the member.
 */
#ifndef GNTI_KERNELS_CUDA_ATTEND_CUH
#define GNTI_KERNELS_CUDA_ATTEND_CUH

#include "kernels/cuda/cuda_device.cuh"

static constexpr int ATTEND_PAIRS = 256, ATTEND_ARCS = 32, ATTEND_HEADS = 64, ATTEND_TILE = 4 * CUDA_WARP,
                     ATTEND_DOT_LANES = 8;

/* Shared memory of a warp; pairs are (arc of the chunk, head) at arc * heads + head. */
struct attend_warp {
    float weight[ATTEND_PAIRS], keep[ATTEND_PAIRS], term[ATTEND_PAIRS];
    float top[ATTEND_HEADS], r[ATTEND_HEADS], side[ATTEND_HEADS];
    int32_t column[ATTEND_ARCS];
};

/* ---- rows and pieces ------------------------------------------------------------------------------------------------ */

struct attend_item {
    const int32_t *arcs; /* columns, without the row itself */
    int64_t begin;
    int row, n;          /* n: arcs, the row itself among them */
    int own, piece, hub; /* own 1: arc 0 is the row itself; piece, hub: -1 for a row */
    bool valid;
};

DEVICE int64_t attend_offset(const cuda_csr &g, int64_t r)
{
    return g.offsets32 != NULL ? g.offsets32[r] : g.offsets64[r];
}

/* Piece k of the hubs. */
DEVICE attend_item piece_item(const cuda_csr &g, int64_t k)
{
    attend_item t = {};
    const int hub = g.piece_hub[k], number = (int)k - g.hub_first[hub];

    t.row = g.hub_rows[hub];
    t.begin = attend_offset(g, t.row) + (int64_t)number * GNTI_ROW_ENTRIES;
    const int64_t left = attend_offset(g, t.row + 1) - t.begin;

    t.own = number == 0 && t.row < g.num_cols;
    t.n = t.own + (left < GNTI_ROW_ENTRIES ? (int)left : (int)GNTI_ROW_ENTRIES);
    t.arcs = g.columns + t.begin;
    t.piece = (int)k;
    t.hub = hub;
    t.valid = true;
    return t;
}

/* A whole row; not valid when it is a hub. */
DEVICE attend_item row_item(const cuda_csr &g, int row)
{
    attend_item t = {};

    t.row = row;
    t.begin = attend_offset(g, row);
    const int64_t entries = attend_offset(g, (int64_t)row + 1) - t.begin;

    t.own = row < g.num_cols;
    t.n = t.own + (int)entries;
    t.arcs = g.columns + t.begin;
    t.piece = t.hub = -1;
    t.valid = entries <= CUDA_HUB_ENTRIES;
    return t;
}

/* The item of this warp, valid false for none. */
DEVICE attend_item item_here(const cuda_attend_args &a, bool pieces)
{
    const int64_t k = (int64_t)blockIdx.x * CUDA_WARPS + threadIdx.x / CUDA_WARP;

    if (k >= (pieces ? a.csr.num_pieces : a.csr.num_work))
        return {};
    if (pieces)
        return piece_item(a.csr, k);
    return row_item(a.csr, a.csr.rows != NULL ? a.csr.rows[k] : (int)(a.csr.first_row + k));
}

DEVICE int arc_column(const attend_item &t, int i)
{
    return i < t.own ? t.row : t.arcs[i - t.own];
}

DEVICE float *attend_row(const cuda_view &v, int64_t r, int m)
{
    return (float *)v.data + member_offset(v, m) + r * v.row_stride;
}

/* Place of an item's partial results: max, sum (heads), values (heads * width). */
DEVICE float *partial_of(const cuda_attend_args &a, int piece, int m)
{
    return a.partial + (m * a.csr.num_pieces + piece) * (2 * a.heads + a.heads * a.width);
}

/* ---- arcs by heads -------------------------------------------------------------------------------------------------- */

DEVICE int lane_id(void)
{
    return (int)threadIdx.x % CUDA_WARP;
}

/* Heads that lie side by side in the lanes: a power of two, so that a lane keeps its head. */
DEVICE int heads_at_once(int heads)
{
    int n = 1;

    while (n < heads && n < CUDA_WARP)
        n *= 2;
    return n;
}

/* body(arc, head) for arcs first .. end - 1 and all heads, by the lanes of the warp. */
template <class Body> DEVICE void each_pair(int first, int end, int heads, const Body &body)
{
    const int at_once = heads_at_once(heads), lane = lane_id();

    for (int h = lane % at_once; h < heads; h += at_once)
        for (int i = first + lane / at_once; i < end; i += CUDA_WARP / at_once)
            body(i, h);
}

/* put(head, v), v = join of start and term(arc, head) over arcs first .. end - 1, in any order. */
template <class T, class Term, class Join, class Put>
DEVICE void join_arcs(int first, int end, int heads, T start, const Term &term, const Join &join,
                      const Put &put)
{
    const int at_once = heads_at_once(heads), lane = lane_id();

    for (int base = 0; base < heads; base += at_once) {
        const int h = base + lane % at_once;
        T v = start;

#pragma unroll 4
        for (int i = first + lane / at_once; i < end; i += CUDA_WARP / at_once)
            if (h < heads)
                v = join(v, term(i, h));
        for (int other = at_once; other < CUDA_WARP; other *= 2)
            v = join(v, __shfl_xor_sync(ALL_LANES, v, other));
        if (h < heads && lane < at_once)
            put(h, v);
    }
}

DEVICE float leaky(float e, float slope)
{
    return e > 0.0f ? e : e * slope;
}

/* Columns of the chunk's arcs; the warp waits for them. */
DEVICE void load_columns(const attend_item &t, int at, int n, attend_warp *w)
{
    const int lane = lane_id();

    if (lane < n)
        w->column[lane] = arc_column(t, at + lane);
    __syncwarp();
}

/* <a_h, b_h> for unit u of four that the warp does at once: its 8 lanes get the sum. wanted false: 0, nothing is read. */
DEVICE float head_dot(const float *x, const float *y, int width, bool wanted)
{
    const int lane = (int)threadIdx.x % ATTEND_DOT_LANES, n = wanted ? width : 0;
    float sum = lane < n ? x[lane] * y[lane] : 0.0f;

#pragma unroll 4
    for (int k = lane + ATTEND_DOT_LANES; k < n; k += ATTEND_DOT_LANES)
        sum += x[k] * y[k];
#pragma unroll
    for (int half = ATTEND_DOT_LANES / 2; half > 0; half /= 2)
        sum += __shfl_xor_sync(ALL_LANES, sum, half);
    return sum;
}

/* ---- dropout of arcs ------------------------------------------------------------------------------------------------ */

/* keep of the chunk's pairs (1 where p is 0), heads first .. first + heads - 1: 0 or 1 / (1 - p), one draw for four heads. by_columns: the row
 * is the source. */
DEVICE void draw_keeps(const cuda_attend_args &a, const attend_item &t, int n, int first, int heads,
                       attend_warp *w)
{
    const draw d = draw_make(a.dropout.hyper, a.dropout.ordinal, a.dropout.step, (int)blockIdx.z);
    const bool by_columns = a.pass == CUDA_ATTEND_BY_COLUMNS;
    const int quad0 = first / 4, quads = (first + heads - 1) / 4 - quad0 + 1;

    for (int p = lane_id(); p < n * quads; p += CUDA_WARP) {
        const int i = p / quads, quad = quad0 + p % quads;
        const int64_t other = w->column[i], src = by_columns ? t.row : other,
                      dst = by_columns ? other : t.row;
        const uint64_t from = (uint64_t)(a.dropout.src_ids != NULL ? a.dropout.src_ids[src] : src),
                       to = (uint64_t)(a.dropout.dst_ids != NULL ? a.dropout.dst_ids[dst] : dst);
        const uint32_t counter[4] = { (uint32_t)from, (uint32_t)to,
                                      (uint32_t)GNTI_DRAW_ARC_DROP << 28 | (uint32_t)quad << 24 |
                                          d.ordinal << 12 | ((uint32_t)(from >> 32) & 63u) << 6 |
                                          ((uint32_t)(to >> 32) & 63u),
                                      d.step };
        uint32_t word[4];

        gnti_philox(counter, d.key, word);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int h = 4 * quad + k - first;

            if (h >= 0 && h < heads)
                w->keep[i * heads + h] = !d.drop_all && word[k] >= d.threshold ? d.scale : 0.0f;
        }
    }
}

/* ---- a tile of columns ---------------------------------------------------------------------------------------------- */

/* Columns 4 l .. 4 l + 3 of the tile blockIdx.y for lane l, and the heads that the tile touches. */
struct attend_tile {
    int c, n;              /* the lane's quad; n <= 0: none */
    int first_head, heads; /* of the tile */
    int head[4];           /* of the quad's columns, counted from first_head */
};

DEVICE attend_tile tile_here(const cuda_attend_args &a)
{
    const int total = a.heads * a.width, c0 = (int)blockIdx.y * ATTEND_TILE;
    const int last = (c0 + ATTEND_TILE < total ? c0 + ATTEND_TILE : total) - 1;
    attend_tile t;

    t.c = c0 + 4 * lane_id();
    t.n = total - t.c < 4 ? total - t.c : 4;
    t.first_head = c0 / a.width;
    t.heads = last / a.width - t.first_head + 1;
#pragma unroll
    for (int k = 0; k < 4; k++)
        t.head[k] = (k < t.n ? t.c + k : last) / a.width - t.first_head;
    return t;
}

/* The lane's quad of a row; ALIGNED: every quad is four floats at a multiple of 16 bytes. */
template <bool ALIGNED> DEVICE quad tile_quad(const float *row, const attend_tile &t)
{
    if constexpr (ALIGNED) {
        if (t.n <= 0)
            return {};
        const float4 f = *(const float4 *)(row + t.c);

        return { { f.x, f.y, f.z, f.w } };
    } else {
        quad q;

#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = k < t.n ? row[t.c + k] : 0.0f;
        return q;
    }
}

static inline bool rows_are_aligned(const cuda_view *v)
{
    return (uintptr_t)v->data % 16 == 0 && v->width % 4 == 0 && v->row_stride % 4 == 0 &&
           (v->members == 1 || (v->member_stride % 4 == 0 && v->block_stride % 4 == 0));
}

static inline cudaLaunchConfig_t launch_items(cudaStream_t stream, const cuda_attend_args *a, bool pieces,
                                              int64_t tiles)
{
    return launch_of(stream, ceil_div(pieces ? a->csr.num_pieces : a->csr.num_work, CUDA_WARPS), tiles,
                     a->members);
}

static inline int64_t attend_tiles(const cuda_attend_args *a)
{
    return ceil_div((int64_t)a->heads * a->width, ATTEND_TILE);
}

/* One pass over rows, or over pieces of hubs; what is left of hubs behind it. */
cudaError_t launch_attend_forward(cudaStream_t stream, const cuda_attend_args *a, bool pieces);
cudaError_t launch_attend_by_rows(cudaStream_t stream, const cuda_attend_args *a, bool pieces);
cudaError_t launch_attend_by_columns(cudaStream_t stream, const cuda_attend_args *a, bool pieces);

#endif
