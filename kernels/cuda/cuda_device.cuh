/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels share: elements of views four at a time, dropout draws, activations, the epilogue, and how work is laid
 * out. Every .cu file includes this first.
 *
 * A *quad* is four neighbouring columns of a row of a member, the first one a multiple of 4: one float4 where it is aligned,
 * and one draw of random words. Formulas and their order are those of kernels/cpu (no contraction: --fmad=false), so that
 * results are the same bits; the elementary functions are the very same source.
 */
#ifndef GNTI_KERNELS_CUDA_DEVICE_CUH
#define GNTI_KERNELS_CUDA_DEVICE_CUH

#define DEVICE             static __device__ __forceinline__
#define GNTI_INLINE        DEVICE
#define GNTI_INLINE_ALWAYS DEVICE

#include "kernels/cuda/cuda_launch.h"

#include "kernels/bf16.h"
#include "kernels/cpu/cpu_math.h"

static constexpr int CUDA_THREADS = 256, CUDA_WARP = 32, CUDA_WARPS = CUDA_THREADS / CUDA_WARP;
#define ALL_LANES 0xffffffffu

/* ---- launches (host) ------------------------------------------------------------------------------------------------ */

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline cudaLaunchConfig_t launch_of(cudaStream_t stream, int64_t x, int64_t y = 1, int64_t z = 1)
{
    cudaLaunchConfig_t cfg = {};

    cfg.gridDim = dim3((unsigned)(x < 1 << 30 ? x : 1 << 30), (unsigned)y, (unsigned)z);
    cfg.blockDim = dim3(CUDA_THREADS, 1, 1);
    cfg.stream = stream;
    return cfg;
}

/* ---- elements ------------------------------------------------------------------------------------------------------- */

/* First element of member m, in elements; a view of one member is shared by all. */
DEVICE int64_t member_offset(const cuda_view &v, int m)
{
    const int g = (int)v.block_members, block = m / g;

    return v.members == 1 ? 0 : block * v.block_stride + (m - block * g) * v.member_stride;
}

DEVICE float load_float(const cuda_view &v, int64_t at)
{
    return v.dtype == GNT_BF16 ? gnti_bf16_to_float(((const uint16_t *)v.data)[at])
                               : ((const float *)v.data)[at];
}

/* Element r of a column vector (shared, 1 wide, float). */
DEVICE float load_scale(const cuda_view &v, int64_t r)
{
    return ((const float *)v.data)[r * v.row_stride];
}

struct quad {
    float v[4];
};

DEVICE bool is_aligned(const void *p, unsigned bytes)
{
    return ((uintptr_t)p & (bytes - 1)) == 0;
}

/* The first n of four floats, 0 behind them. */
DEVICE quad load_floats(const float *p, int n)
{
    quad q;

    if (n >= 4 && is_aligned(p, 16)) {
        const float4 f = *(const float4 *)p;

        q.v[0] = f.x;
        q.v[1] = f.y;
        q.v[2] = f.z;
        q.v[3] = f.w;
        return q;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        q.v[k] = k < n ? p[k] : 0.0f;
    return q;
}

DEVICE quad load_bf16(const uint16_t *p, int n)
{
    quad q;

    if (n >= 4 && is_aligned(p, 8)) {
        const ushort4 u = *(const ushort4 *)p;

        q.v[0] = gnti_bf16_to_float(u.x);
        q.v[1] = gnti_bf16_to_float(u.y);
        q.v[2] = gnti_bf16_to_float(u.z);
        q.v[3] = gnti_bf16_to_float(u.w);
        return q;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        q.v[k] = k < n ? gnti_bf16_to_float(p[k]) : 0.0f;
    return q;
}

DEVICE quad load_quad(const cuda_view &v, int64_t at, int n)
{
    return v.dtype == GNT_BF16 ? load_bf16((const uint16_t *)v.data + at, n)
                               : load_floats((const float *)v.data + at, n);
}

DEVICE void store_quad(const cuda_view &v, int64_t at, int n, const quad &q)
{
    if (v.dtype == GNT_BF16) {
        uint16_t *p = (uint16_t *)v.data + at;

#pragma unroll
        for (int k = 0; k < 4; k++)
            if (k < n)
                p[k] = gnti_bf16_from_float(q.v[k]);
        return;
    }
    float *p = (float *)v.data + at;

    if (n >= 4 && is_aligned(p, 16)) {
        *(float4 *)p = make_float4(q.v[0], q.v[1], q.v[2], q.v[3]);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (k < n)
            p[k] = q.v[k];
}

/* The first fault stays; other rows go on. */
DEVICE void note_fault(cuda_fault *f, cuda_fault_kind kind, int64_t row, int64_t value, int64_t limit)
{
    if (atomicCAS(&f->kind, CUDA_FAULT_NONE, (int32_t)kind) != CUDA_FAULT_NONE)
        return;
    f->row = row;
    f->value = value;
    f->limit = limit;
}

/* ---- rows of quads -------------------------------------------------------------------------------------------------- */

/* Quads of a row of a member, and of a block of members. */
static inline int64_t quads_of(const cuda_view *y)
{
    return (y->width + 3) / 4;
}

/* Threads side by side in a row of a block of members: as many as it has quads, at most a block. */
static inline int row_lanes(const cuda_view *y)
{
    const int64_t g = y->block_members < y->members ? y->block_members : y->members;
    const int64_t quads = g * quads_of(y);

    return (int)(quads < CUDA_THREADS ? (quads > 0 ? quads : 1) : CUDA_THREADS);
}

static inline cudaLaunchConfig_t launch_rows(cudaStream_t stream, const cuda_view *y, int64_t rows)
{
    return launch_of(stream, ceil_div(rows, CUDA_THREADS / row_lanes(y)),
                     ceil_div(y->members, y->block_members));
}

/* body(place, m, column, n) for every quad of `rows` rows of y, members of a block side by side; a launch of launch_rows. */
template <class Body> DEVICE void each_quad(const cuda_view &y, int64_t rows, int lanes, const Body &body)
{
    const int at_once = CUDA_THREADS / lanes, sub = (int)threadIdx.x / lanes,
              lane = (int)threadIdx.x - sub * lanes;
    const int width = (int)y.width, quads = (width + 3) / 4, g = (int)y.block_members;
    const int first = (int)blockIdx.y * g, left = (int)y.members - first, count = left < g ? left : g;

    if (sub >= at_once)
        return;
    for (int64_t r = (int64_t)blockIdx.x * at_once + sub; r < rows; r += (int64_t)gridDim.x * at_once)
        for (int q = lane; q < count * quads; q += lanes) {
            const int member = q / quads, c = 4 * (q - member * quads);

            body(r, first + member, c, width - c < 4 ? width - c : 4);
        }
}

/* ---- dropout -------------------------------------------------------------------------------------------------------- */

/* A dropout of one member, ready to draw: cpu_draw's twin. */
struct draw {
    bool active, drop_all;
    uint32_t threshold, ordinal, step;
    float scale;
    gnti_philox_key key;
};

DEVICE draw draw_make(int32_t hyper, uint32_t ordinal, const void *step, int m)
{
    const gnti_step_head *head = (const gnti_step_head *)step;
    draw d = {};

    if (hyper < 0)
        return d;
    const float p = gnti_step_hyper(head, hyper)[m];
    const uint64_t threshold = gnti_drop_threshold(p);

    d.active = threshold > 0;
    d.drop_all = threshold > 0xffffffffu;
    d.threshold = (uint32_t)threshold;
    d.ordinal = ordinal;
    d.step = (uint32_t)head->step;
    d.scale = 1.0f / (1.0f - p);
    d.key = gnti_step_keys(head)[m];
    return d;
}

DEVICE int64_t row_id(const cuda_dropout &from, int64_t r)
{
    return from.row_ids != NULL ? from.row_ids[from.first_row + r] : from.first_row + r;
}

/* v = keep ? v scale : 0 for the columns c .. c + 3 of row r. */
DEVICE void drop_quad(const draw &d, const cuda_dropout &from, int64_t r, int c, quad *q)
{
    uint32_t word[4];

    gnti_draw_quad(d.key, GNTI_DRAW_DROPOUT, d.ordinal, d.step, row_id(from, r), (uint32_t)c >> 2, word);
#pragma unroll
    for (int k = 0; k < 4; k++)
        q->v[k] = !d.drop_all && word[k] >= d.threshold ? q->v[k] * d.scale : 0.0f;
}

/* ---- activations ---------------------------------------------------------------------------------------------------- */

DEVICE float activate(gnt_activation act, float alpha, float v)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        return v < 0.0f ? 0.0f : v;
    case GNT_ACT_ELU:
        return v < 0.0f ? alpha * cpu_expm1(v) : v;
    case GNT_ACT_LEAKY_RELU:
        return v < 0.0f ? alpha * v : v;
    case GNT_ACT_SIGMOID:
        return cpu_sigmoid(v);
    case GNT_ACT_TANH:
        return cpu_tanh(v);
    }
    return v;
}

/* v act'(.) from the output o = back * stored. */
DEVICE float activate_grad(gnt_activation act, float alpha, float stored, float back, float v)
{
    switch (act) {
    case GNT_ACT_NONE:
        break;
    case GNT_ACT_RELU:
        return stored > 0.0f ? v : 0.0f;
    case GNT_ACT_ELU:
        return stored > 0.0f ? v : v * (stored * back + alpha);
    case GNT_ACT_LEAKY_RELU:
        return stored > 0.0f ? v : v * alpha;
    case GNT_ACT_SIGMOID:
        return v * (stored * back * (1.0f - stored * back));
    case GNT_ACT_TANH:
        return v * (1.0f - stored * back * (stored * back));
    }
    return v;
}

/* ---- epilogue ------------------------------------------------------------------------------------------------------- */

/* Nothing but alpha, row_scale and beta. */
static inline bool epilogue_is_plain(const cuda_epilogue *e)
{
    return e->bias.data == NULL && e->act == GNT_ACT_NONE && e->dropout.hyper < 0 && e->gate.data == NULL;
}

DEVICE float row_factor(const cuda_epilogue &e, float alpha, int64_t r)
{
    return e.row_scale.data != NULL ? alpha * load_scale(e.row_scale, r) : alpha;
}

DEVICE void gate_quad(const cuda_epilogue &e, int64_t r, int m, int c, int n, quad *q)
{
    const quad gate = load_quad(e.gate, member_offset(e.gate, m) + r * e.gate.row_stride + c, n);
    const draw d = draw_make(e.gate_dropout.hyper, e.gate_dropout.ordinal, e.step, m);
    const bool relu = e.gate_act == GNT_ACT_RELU;
    const float back = d.active && !relu ? 1.0f / d.scale : 1.0f;

#pragma unroll
    for (int k = 0; k < 4; k++) {
        q->v[k] = activate_grad(e.gate_act, e.gate_alpha, gate.v[k], back, q->v[k]);
        if (d.active && relu &&
            gate.v[k] > 0.0f) /* what was dropped is 0, and so is its gradient: no draw is needed */
            q->v[k] = q->v[k] * d.scale;
    }
    if (d.active && !relu)
        drop_quad(d, e.gate_dropout, r, c, q);
}

/* bias, activation, dropout and gate of a quad, after alpha, row_scale and beta. */
DEVICE void epilogue_quad(const cuda_epilogue &e, int64_t r, int m, int c, int n, quad *q)
{
    if (e.bias.data != NULL) {
        const quad bias = load_quad(e.bias, member_offset(e.bias, m) + c, n);

#pragma unroll
        for (int k = 0; k < 4; k++)
            q->v[k] += bias.v[k];
    }
    if (e.act != GNT_ACT_NONE) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            q->v[k] = activate(e.act, e.act_alpha, q->v[k]);
    }
    if (e.dropout.hyper >= 0) {
        const draw d = draw_make(e.dropout.hyper, e.dropout.ordinal, e.step, m);

        if (d.active)
            drop_quad(d, e.dropout, r, c, q);
    }
    if (e.gate.data != NULL)
        gate_quad(e, r, m, c, n, q);
}

/* Stores a finished product (alpha and row_scale are in it): beta, then the rest. PLAIN: beta only. The old value and the
 * gate, which may lie in y, are read before y is written. */
template <bool PLAIN>
DEVICE void output_quad(const cuda_epilogue &e, float beta, const cuda_view &y, int64_t r, int m, int c,
                        int n, quad q)
{
    const int64_t at = member_offset(y, m) + r * y.row_stride + c;

    if (beta != 0.0f) {
        const quad old = load_quad(y, at, n);

#pragma unroll
        for (int k = 0; k < 4; k++)
            q.v[k] = q.v[k] + beta * old.v[k];
    }
    if (!PLAIN)
        epilogue_quad(e, r, m, c, n, &q);
    store_quad(y, at, n, q);
}

#endif
