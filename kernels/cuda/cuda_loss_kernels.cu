/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: value, gradient and statistics of a row by 16 lanes, one of (row, member); then the statistics are summed over rows
 * by the fixed tree in double.
 *
 * The lanes' order is the CPU's: lane l takes columns l, l + 16, ..., sums are float and added as a tree. The gradient may take
 * the logits' place: a lane reads the columns that it writes, the label's logit is read by all before. Between the kernels lie
 * 16 bytes a row and member. Bytes moved: logits, gradient, weight and label once (the row stays in the cache).
 */
#include "kernels/cuda/cuda_tree.cuh"

static constexpr int LOSS_LANES = 16, LOSS_ROWS = CUDA_THREADS / LOSS_LANES, LOSS_COUNTED = 1, LOSS_RIGHT = 2;

/* What a row adds to the statistics. */
struct row_loss {
    double loss; /* w l */
    float weight;
    int32_t flags;
};

/* One row and member, for one lane. */
struct loss_row {
    const float *z, *class_weight, *target; /* class_weight NULL: 1 */
    float *grad;                            /* NULL: none */
    float weight, factor;
    float gain;  /* of SOFTMAX with a target: how much it stays apart from it */
    int n, lane; /* n 0: not in the loss */
};

/* Smallest over 16 lanes. */
DEVICE int least_of_sixteen(int v)
{
#pragma unroll
    for (int half = 8; half > 0; half /= 2) {
        const int other = __shfl_xor_sync(ALL_LANES, v, half);

        v = other < v ? other : v;
    }
    return v;
}

/* Largest over 16 lanes; none of them is NaN unless all are. */
DEVICE float largest_of_sixteen(float v)
{
#pragma unroll
    for (int half = 8; half > 0; half /= 2) {
        const float other = __shfl_xor_sync(ALL_LANES, v, half);

        v = other > v ? other : v;
    }
    return v;
}

/* The gradient but for the label's part: of a softmax alone, e factor / sum; of one that stays apart, by this lane's columns. Answers
 * |p - h|. The exponentials are made anew where there is no gradient to keep them. */
DEVICE float apart_row(const loss_row &l, float top, float sum, float factor)
{
    const float scale = 1.0f / sum;
    float squares = 0.0f, dot = 0.0f, distance, share;

    for (int c = l.lane; c < l.n; c += LOSS_LANES) {
        const float e = l.grad != NULL ? l.grad[c] : cpu_exp(l.z[c] - top);
        const float p = e * scale, d = p - l.target[c];

        squares += d * d;
        dot += p * d;
    }
    distance = sqrtf(sum_sixteen(squares));
    dot = sum_sixteen(dot);
    share = factor * l.gain / (distance > 1e-8f ? distance : 1e-8f);
    for (int c = l.lane; c < l.n && l.grad != NULL; c += LOSS_LANES) {
        const float p = l.grad[c] * scale;

        l.grad[c] = p * (factor - share * (p - l.target[c] - dot));
    }
    return distance;
}

/* Every lane of the warp comes here, rows that do not count with n = 0. All rows have a target or none. */
DEVICE row_loss softmax_row(const loss_row &l, int label, bool apart)
{
    const float own = l.n > 0 ? l.z[label] : 0.0f,
                k = l.class_weight != NULL && l.n > 0 ? l.class_weight[label] : 1.0f;
    const float weight = l.weight * k, factor = l.factor * k;
    float top = l.n > 0 ? l.z[0] : 0.0f, sum = 0.0f;
    int best = l.n - 1;

    for (int c = l.lane; c < l.n; c += LOSS_LANES)
        top = l.z[c] > top ? l.z[c] : top;
    top = largest_of_sixteen(top);
    for (int c = l.lane; c < best; c += LOSS_LANES)
        best = l.z[c] >= top ? c : best;
    best = least_of_sixteen(best);
    for (int c = l.lane; c < l.n; c += LOSS_LANES) {
        const float e = cpu_exp(l.z[c] - top);

        sum += e;
        if (l.grad != NULL)
            l.grad[c] = e;
    }
    sum = sum_sixteen(sum);
    double loss = cpu_log((double)sum) + ((double)top - (double)own);

    if (apart)
        loss -= (double)l.gain * (double)apart_row(l, top, sum, factor);
    for (int c = l.lane; c < l.n && l.grad != NULL; c += LOSS_LANES)
        l.grad[c] = (apart ? l.grad[c] : factor / sum * l.grad[c]) - (c == label ? factor : 0.0f);
    return { (double)weight * loss, weight, LOSS_COUNTED | (best == label ? LOSS_RIGHT : 0) };
}

/* One column's loss; *slope is its derivative. */
template <int KIND> DEVICE float one_loss(float z, float t, float *slope)
{
    if (KIND == GNT_LOSS_BCE) {
        const float a = z < 0.0f ? z : -z;

        *slope = cpu_sigmoid(z) - t;
        return (z > 0.0f ? z : 0.0f) - z * t + cpu_log1p_unit(cpu_exp(a));
    }
    *slope = 2.0f * (z - t);
    return (z - t) * (z - t);
}

template <int KIND> DEVICE row_loss column_row(const loss_row &l)
{
    float sum = 0.0f;

    for (int c = l.lane; c < l.n; c += LOSS_LANES) {
        const float weight = l.class_weight != NULL ? l.class_weight[c] : 1.0f;
        float slope;

        sum += weight * one_loss<KIND>(l.z[c], l.target[c], &slope);
        if (l.grad != NULL)
            l.grad[c] = l.factor * weight * slope;
    }
    sum = sum_sixteen(sum);
    return { (double)l.weight * (double)sum, l.weight, LOSS_COUNTED };
}

DEVICE const float *loss_operand(const cuda_view &v, int64_t r, int m)
{
    return v.data != NULL ? (const float *)v.data + member_offset(v, m) + r * v.row_stride : NULL;
}

DEVICE loss_row loss_row_at(const cuda_loss_args &a, int64_t r, int m, bool inside)
{
    loss_row l = {};

    l.lane = (int)threadIdx.x % LOSS_LANES;
    if (!inside)
        return l;
    l.z = loss_operand(a.logits, r, m);
    l.class_weight = loss_operand(a.class_weight, 0, m);
    l.target = loss_operand(a.target, r, m);
    l.grad = (float *)loss_operand(a.grad, r, m);
    l.weight = *loss_operand(a.weight, r, m);
    l.factor =
        l.grad != NULL ? l.weight * gnti_step_hyper((const gnti_step_head *)a.step, a.norm_hyper)[m] : 0.0f;
    l.gain = a.kind == GNT_LOSS_SOFTMAX && l.target != NULL
                 ? gnti_step_hyper((const gnti_step_head *)a.step, a.apart_hyper)[m]
                 : 0.0f;
    l.n = l.weight != 0.0f ? (int)a.logits.width : 0;
    return l;
}

template <int KIND> static __global__ void loss_kernel(cuda_loss_args a, row_loss *rows)
{
    const int m = (int)blockIdx.y;
    const int64_t r = (int64_t)blockIdx.x * LOSS_ROWS + threadIdx.x / LOSS_LANES;
    const bool inside = r < a.logits.rows;
    loss_row l = loss_row_at(a, r, m, inside);
    row_loss out = {};
    int label = 0;

    for (int c = l.lane; c < (int)a.logits.width && inside && l.n == 0 && l.grad != NULL; c += LOSS_LANES)
        l.grad[c] = 0.0f;
    if (KIND == GNT_LOSS_SOFTMAX && l.n > 0) {
        label = a.labels[r];
        if (label < 0 || label >= l.n) {
            if (l.lane == 0)
                note_fault(a.fault, CUDA_FAULT_LABEL, a.first_row + r, label, l.n);
            l.n = 0;
        }
    }
    if (KIND == GNT_LOSS_SOFTMAX)
        out = softmax_row(l, label, a.target.data != NULL);
    else
        out = column_row<KIND>(l);
    if (l.n == 0)
        out = {};
    if (inside && l.lane == 0)
        rows[r * a.logits.members + m] = out;
}

/* (members, 4): w l, w, w [right], 1. */
struct stats_args {
    const row_loss *rows;
    int64_t members;
};

static __global__ void stats_leaf(stats_args a, tree_blocks b, int64_t count, double *sums)
{
    const leaf l = leaf_here(b, count);
    const int64_t m = l.j / 4;
    const int part = (int)(l.j % 4);

    leaf_sum(l, sums, [=](int64_t r) {
        const row_loss row = a.rows[r * a.members + m];
        const double weight = (double)row.weight;

        return part == 0   ? row.loss
               : part == 1 ? weight
               : part == 2 ? ((row.flags & LOSS_RIGHT) != 0 ? weight : 0.0)
                           : ((row.flags & LOSS_COUNTED) != 0 ? 1.0 : 0.0);
    });
}

static cudaError_t launch_rows_of(cudaStream_t stream, const cuda_loss_args *a, row_loss *rows)
{
    const cudaLaunchConfig_t cfg = launch_of(stream, ceil_div(a->logits.rows, LOSS_ROWS), a->logits.members);

    if (a->logits.rows == 0)
        return cudaSuccess;
    if (a->kind == GNT_LOSS_SOFTMAX)
        return cudaLaunchKernelEx(&cfg, loss_kernel<GNT_LOSS_SOFTMAX>, *a, rows);
    return a->kind == GNT_LOSS_BCE ? cudaLaunchKernelEx(&cfg, loss_kernel<GNT_LOSS_BCE>, *a, rows)
                                   : cudaLaunchKernelEx(&cfg, loss_kernel<GNT_LOSS_MSE>, *a, rows);
}

/* The tree's sums, then the rows. */
extern "C" size_t cuda_loss_bytes(const cuda_loss_args *a, const gnt_row_tree *tree)
{
    return tree_bytes(tree, a->logits.rows, 4 * a->logits.members, sizeof(double)) +
           (size_t)(a->logits.rows * a->logits.members) * sizeof(row_loss);
}

extern "C" cudaError_t cuda_launch_loss(cudaStream_t stream, const cuda_loss_args *a,
                                        const gnt_row_tree *tree, void *scratch)
{
    const int64_t num_rows = a->logits.rows, count = 4 * a->logits.members;
    double *sums = (double *)scratch;
    row_loss *rows = (row_loss *)((char *)scratch + tree_bytes(tree, num_rows, count, sizeof(double)));
    const stats_args s = { rows, a->logits.members };
    cudaError_t e = launch_rows_of(stream, a, rows);

    if (e == cudaSuccess)
        e = launch_tree(stream, stats_leaf, s, tree, num_rows, count, sums);
    if (e != cudaSuccess)
        return e;
    /* stats may lie in memory that the host shares */
    return cudaMemcpyAsync(a->stats, sums, (size_t)count * sizeof(double), cudaMemcpyDefault, stream);
}
