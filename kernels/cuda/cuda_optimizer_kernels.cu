/* SPDX-License-Identifier: Apache-2.0 */
/* Optimisers over the packed arena of all parameters of all members: one launch for up to 64 segments.
 *
 * Work is cut into pieces of 2048 values of one member of one segment, a thread block each. First the pieces' sums of squares
 * in double, which also find what is not finite; a block a member adds them (thread t takes pieces t, t + 256, ..., then a
 * tree: the same order every time) and decides on clipping; then the update, the CPU's formulas. Learning rate, decay,
 * corrections, live members: from the step block. Bytes moved: gradients twice, weights and moments read and written once.
 */
#include "kernels/cuda/cuda_device.cuh"

#include <float.h>

static constexpr int PIECE = 2048;

struct segment {
    int64_t offset, count;
    int32_t decay_hyper, first_piece; /* of the model */
};

/* Segments first .. first + num - 1, and the pieces that are theirs. */
struct segment_batch {
    int32_t first, num, first_piece, num_pieces;
    segment list[CUDA_OPTIMIZER_SEGMENTS];
};

struct member_state {
    float clip;
    int32_t skip;
};

/* Scratch: what the three kernels hand on. num_pieces: of a member. */
struct optimizer_scratch {
    double *squares;     /* (members, pieces) */
    member_state *state; /* (members) */
    int32_t *owner;      /* (pieces) number of the segment */
    int64_t num_pieces;
};

/* The piece of this block: its segment in the batch, first value in the arena, count. */
struct piece {
    int segment;
    int64_t first, count, number;
};

DEVICE piece piece_here(const segment_batch &b)
{
    const int k = b.first_piece + (int)blockIdx.x, m = (int)blockIdx.y;
    int low = 0, high = b.num - 1;

    while (low <
           high) { /* the last segment that begins at k or before: empty ones begin where the next one does */
        const int middle = (low + high + 1) / 2;

        if (b.list[middle].first_piece <= k)
            low = middle;
        else
            high = middle - 1;
    }
    const int64_t at = (int64_t)(k - b.list[low].first_piece) * PIECE, left = b.list[low].count - at;

    return { low, b.list[low].offset + m * b.list[low].count + at, left < PIECE ? left : PIECE, k };
}

/* The sum of all threads' values, in thread 0. */
template <class T, class Join> DEVICE T block_join(T v, T *shared, const Join &join)
{
    shared[threadIdx.x] = v;
    __syncthreads();
    for (int half = CUDA_THREADS / 2; half > 0; half /= 2) {
        if ((int)threadIdx.x < half)
            shared[threadIdx.x] = join(shared[threadIdx.x], shared[threadIdx.x + half]);
        __syncthreads();
    }
    return shared[0];
}

static __global__ void squares_kernel(cuda_optimizer_args a, segment_batch b, optimizer_scratch s)
{
    __shared__ double shared[CUDA_THREADS];
    const piece p = piece_here(b);
    const int m = (int)blockIdx.y;
    double sum = 0.0;

#pragma unroll
    for (int i = 0; i < PIECE; i += CUDA_THREADS) {
        const int64_t k = i + (int)threadIdx.x;
        const double g = k < p.count ? (double)a.grads[p.first + k] : 0.0;

        sum += g * g;
    }
    sum = block_join(sum, shared, [](double x, double y) { return x + y; });
    if (threadIdx.x != 0)
        return;
    s.squares[m * s.num_pieces + p.number] = sum;
    if (m == 0)
        s.owner[p.number] = b.first + p.segment;
}

/* A block a member: norm, the first segment that is not finite, the clip factor. */
static __global__ void judge_kernel(cuda_optimizer_args a, optimizer_scratch s)
{
    __shared__ double sums[CUDA_THREADS];
    __shared__ int64_t pieces[CUDA_THREADS];
    const int m = (int)blockIdx.x;
    const gnti_step_head *step = (const gnti_step_head *)a.step;
    int64_t first = s.num_pieces;
    double sum = 0.0;

    for (int64_t k = threadIdx.x; k < s.num_pieces; k += CUDA_THREADS) {
        const double v = s.squares[m * s.num_pieces + k]; /* v - v is NaN when v is not finite */

        sum += v;
        first = v - v != 0.0 && k < first ? k : first;
    }
    sum = block_join(sum, sums, [](double x, double y) { return x + y; });
    first = block_join(first, pieces, [](int64_t x, int64_t y) { return x < y ? x : y; });
    if (threadIdx.x != 0)
        return;
    const bool live = gnti_step_live(step)[m] != 0;
    const double limit = a.clip_hyper >= 0 ? (double)gnti_step_hyper(step, a.clip_hyper)[m] : 0.0;
    const double norm = sqrt(sum), ratio = limit / (norm + 1e-6);
    const int32_t bad = live && first < s.num_pieces ? s.owner[first] + 1 : 0;

    a.bad[m] = bad;
    s.state[m].skip = !live || bad != 0;
    s.state[m].clip = limit > 0.0 && norm > limit ? (float)(ratio < 1.0 ? ratio : 1.0) : 1.0f;
}

/* cpu_adam's twin: the constants of a member and segment. */
struct rates {
    float decay, shrink, clip, momentum, rest1, rest2, rate, root_scale, eps;
};

DEVICE rates rates_of(const cuda_optimizer_args &a, const segment &g, int m, float clip)
{
    const gnti_step_head *step = (const gnti_step_head *)a.step;
    const float lr = gnti_step_hyper(step, a.lr_hyper)[m];
    rates q = {};

    q.decay = g.decay_hyper >= 0 ? gnti_step_hyper(step, g.decay_hyper)[m] : 0.0f;
    q.shrink = 1.0f;
    q.clip = clip;
    q.momentum = (float)a.beta1;
    q.rest1 = (float)(1.0 - a.beta1);
    q.rest2 = (float)(1.0 - a.beta2);
    q.rate = lr;
    q.eps = (float)a.eps;
    if (a.kind == GNT_OPTIMIZER_SGD)
        return q;
    q.rate = (float)((double)lr / (double)gnti_step_hyper(step, a.corr1_hyper)[m]);
    q.root_scale = (float)(1.0 / sqrt((double)gnti_step_hyper(step, a.corr2_hyper)[m]));
    if (a.kind == GNT_OPTIMIZER_ADAMW) {
        q.shrink = (float)(1.0 - (double)lr * (double)q.decay);
        q.decay = 0.0f;
    }
    return q;
}

DEVICE void adam(const rates &q, float *w, float g, float *m1, float *m2)
{
    const float grad = q.clip * g + q.decay * *w;
    const float square = grad * grad < FLT_MAX ? grad * grad : FLT_MAX;
    const float first = *m1 + q.rest1 * (grad - *m1), second = *m2 + q.rest2 * (square - *m2);

    *m1 = first;
    *m2 = second;
    *w = q.shrink * *w - q.rate * first / (sqrtf(second) * q.root_scale + q.eps);
}

DEVICE void sgd(const rates &q, bool nesterov, float *w, float g, float *m1)
{
    const float grad = q.clip * g + q.decay * *w;
    const float first = m1 != NULL ? q.momentum * *m1 + grad : grad;

    if (m1 != NULL)
        *m1 = first;
    *w -= q.rate * (nesterov ? grad + q.momentum * first : first);
}

template <bool ADAM>
static __global__ void update_kernel(cuda_optimizer_args a, segment_batch b, optimizer_scratch s)
{
    const piece p = piece_here(b);
    const int m = (int)blockIdx.y;
    const member_state state = s.state[m];

    if (state.skip)
        return;
    const rates q = rates_of(a, b.list[p.segment], m, state.clip);

#pragma unroll 4
    for (int64_t i = threadIdx.x; i < p.count; i += CUDA_THREADS) {
        const int64_t k = p.first + i;

        if (ADAM)
            adam(q, a.weights + k, a.grads[k], a.moment1 + k, a.moment2 + k);
        else
            sgd(q, a.nesterov, a.weights + k, a.grads[k], a.beta1 != 0.0 ? a.moment1 + k : NULL);
    }
}

/* ---- launches ------------------------------------------------------------------------------------------------------- */

static int64_t pieces_of(const gnt_param_segment *g)
{
    return ceil_div(g->count, PIECE);
}

/* The next segments, from batch->first + num on; piece: of the first of them. */
static segment_batch batch_at(const gnt_param_segment *segments, int32_t num_segments, int32_t first,
                              int64_t piece)
{
    segment_batch b = {};

    b.first = first;
    b.first_piece = (int32_t)piece;
    for (; b.num < CUDA_OPTIMIZER_SEGMENTS && first + b.num < num_segments; b.num++) {
        const gnt_param_segment *g = &segments[first + b.num];

        b.list[b.num] = { g->offset, g->count, g->decay_hyper, b.first_piece + b.num_pieces };
        b.num_pieces += (int32_t)pieces_of(g);
    }
    return b;
}

typedef void (*segment_kernel)(cuda_optimizer_args, segment_batch, optimizer_scratch);

static cudaError_t launch_segments(cudaStream_t stream, segment_kernel kernel, const cuda_optimizer_args *a,
                                   const gnt_param_segment *segments, int32_t num_segments,
                                   const optimizer_scratch &s)
{
    cudaError_t e = cudaSuccess;
    int64_t piece = 0;

    for (int32_t i = 0; i < num_segments && e == cudaSuccess; i += CUDA_OPTIMIZER_SEGMENTS) {
        const segment_batch b = batch_at(segments, num_segments, i, piece);
        const cudaLaunchConfig_t cfg = launch_of(stream, b.num_pieces, a->num_members);

        piece += b.num_pieces;
        if (b.num_pieces > 0)
            e = cudaLaunchKernelEx(&cfg, kernel, *a, b, s);
    }
    return e;
}

static int64_t all_pieces(const gnt_param_segment *segments, int32_t num_segments)
{
    int64_t pieces = 0;

    for (int32_t i = 0; i < num_segments; i++)
        pieces += pieces_of(&segments[i]);
    return pieces;
}

extern "C" size_t cuda_optimizer_bytes(const gnt_param_segment *segments, int32_t num_segments,
                                       int32_t num_members)
{
    const size_t pieces = (size_t)all_pieces(segments, num_segments), members = (size_t)num_members;

    return pieces * members * sizeof(double) + members * sizeof(member_state) + pieces * sizeof(int32_t);
}

extern "C" cudaError_t cuda_launch_optimizer(cudaStream_t stream, const cuda_optimizer_args *a,
                                             const gnt_param_segment *segments, int32_t num_segments,
                                             void *scratch)
{
    optimizer_scratch s = {};

    s.num_pieces = all_pieces(segments, num_segments);
    s.squares = (double *)scratch;
    s.state = (member_state *)(s.squares + s.num_pieces * a->num_members);
    s.owner = (int32_t *)(s.state + a->num_members);
    cudaError_t e = launch_segments(stream, squares_kernel, a, segments, num_segments, s);
    const cudaLaunchConfig_t cfg = launch_of(stream, a->num_members);

    if (e == cudaSuccess)
        e = cudaLaunchKernelEx(&cfg, judge_kernel, *a, s);
    if (e != cudaSuccess)
        return e;
    return launch_segments(stream, a->kind == GNT_OPTIMIZER_SGD ? update_kernel<false> : update_kernel<true>,
                           a, segments, num_segments, s);
}
