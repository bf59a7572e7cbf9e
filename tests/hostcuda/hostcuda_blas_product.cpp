/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuBLASLt: the product, plain loops. Algorithms with a workspace add two halves of the sum over k, as split-k
 * kernels do, and write all of the workspace, so that whoever keeps something else there loses it.
 */
#include "tests/hostcuda/hostcuda_blas.h"

#include <algorithm>

namespace hostcuda
{
namespace blas
{

namespace
{

int64_t index_of(const layout &l, int64_t batch, int64_t row, int64_t col)
{
    const int64_t first = l.batch > 1 ? batch * l.stride : 0;

    return first + (l.order == CUBLASLT_ORDER_ROW ? row * l.ld + col : col * l.ld + row);
}

// What the tensor cores see of a float in TF32: ten bits behind the point.
float round_operand(float value, cublasComputeType_t compute)
{
    uint32_t bits = 0;

    if (compute != CUBLAS_COMPUTE_32F_FAST_TF32)
        return value;
    std::memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0x1000u) & ~0x1fffu;
    std::memcpy(&value, &bits, sizeof bits);
    return value;
}

float sum_over(const product &p, int64_t batch, int64_t i, int64_t j, int64_t from, int64_t end)
{
    const bool ta = p.op.trans_a != CUBLAS_OP_N, tb = p.op.trans_b != CUBLAS_OP_N;
    float sum = 0.0f;

    for (int64_t k = from; k < end; k++) {
        const int64_t at_a = ta ? index_of(p.a, batch, k, i) : index_of(p.a, batch, i, k);
        const int64_t at_b = tb ? index_of(p.b, batch, j, k) : index_of(p.b, batch, k, j);
        sum += round_operand(load_float(p.data_a, p.a.type, at_a), p.op.compute) *
               round_operand(load_float(p.data_b, p.b.type, at_b), p.op.compute);
    }
    return sum;
}

float finish(const product &p, int64_t batch, int64_t i, float value)
{
    const bool bias = (p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0;
    const bool relu = (p.op.epilogue & CUBLASLT_EPILOGUE_RELU) != 0;

    if (bias)
        value += load_float(p.op.bias, p.op.bias_type, batch * p.op.bias_stride + i);
    return relu && !(value > 0.0f) ? (value == value ? 0.0f : value) : value;
}

void multiply(const product &p, int64_t batch)
{
    const int64_t depth = p.op.trans_a != CUBLAS_OP_N ? p.a.rows : p.a.cols;
    const int64_t half = p.algo.split ? depth / 2 : depth;

    for (int64_t i = 0; i < p.d.rows; i++)
        for (int64_t j = 0; j < p.d.cols; j++) {
            const float sum = sum_over(p, batch, i, j, 0, half) +
                              (half < depth ? sum_over(p, batch, i, j, half, depth) : 0.0f);
            float value = p.alpha * sum;
            if (p.beta != 0.0f)
                value += p.beta * load_float(p.data_c, p.c.type, index_of(p.c, batch, i, j));
            store_float(p.data_d, p.d.type, index_of(p.d, batch, i, j), finish(p, batch, i, value));
        }
}

} // namespace

int64_t extent(const layout &l)
{
    const int64_t lines = l.order == CUBLASLT_ORDER_ROW ? l.rows : l.cols;
    const int64_t length = l.order == CUBLASLT_ORDER_ROW ? l.cols : l.rows;

    if (lines == 0 || length == 0)
        return 0;
    return (l.batch - 1) * l.stride + (lines - 1) * l.ld + length;
}

uint64_t hash_problem(const operation &op, const layout &a, const layout &b, const layout &c, const layout &d)
{
    uint64_t h = 0xcbf29ce484222325u;
    const auto mix = [&h](int64_t v) { h = (h ^ static_cast<uint64_t>(v)) * 0x100000001b3u; };

    for (const layout *l : { &a, &b, &c, &d })
        for (const int64_t v : { static_cast<int64_t>(l->type), static_cast<int64_t>(l->order),
                                 static_cast<int64_t>(l->batch), l->rows, l->cols, l->ld, l->stride })
            mix(v);
    mix(op.compute);
    mix(op.trans_a);
    mix(op.trans_b);
    mix(op.epilogue);
    return h;
}

algorithm best_algorithm(const operation &op, const layout &a, const layout &b, const layout &c,
                         const layout &d)
{
    algorithm best = { ALGORITHM_MAGIC, { 256, 256, 256, 256 }, 0, hash_problem(op, a, b, c, d), 0 };
    const int64_t depth = op.trans_a != CUBLAS_OP_N ? a.rows : a.cols;

    // long sums of few values are split, as the library does
    if (depth >= 32 && d.rows * d.cols <= depth * 64) {
        best.split = 1;
        best.workspace_bytes = static_cast<uint64_t>(d.rows * d.cols * d.batch) * 4 + 256;
    }
    return best;
}

std::vector<range> ranges_of(const product &p)
{
    const auto bytes = [](const layout &l) { return static_cast<size_t>(extent(l)) * float_bytes(l.type); };
    std::vector<range> ranges = {
        { "A", p.data_a, bytes(p.a), false },
        { "B", p.data_b, bytes(p.b), false },
        { "D", p.data_d, bytes(p.d), true },
        { "workspace", p.workspace, static_cast<size_t>(p.algo.workspace_bytes), true },
    };

    if (p.data_c != nullptr)
        ranges.push_back({ "C", p.data_c, bytes(p.c), false });
    if ((p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
        const int64_t length = p.d.rows + (p.d.batch - 1) * p.op.bias_stride;
        ranges.push_back(
            { "bias", p.op.bias, static_cast<size_t>(length) * float_bytes(p.op.bias_type), false });
    }
    if (p.op.mode == CUBLASLT_POINTER_MODE_DEVICE) {
        ranges.push_back({ "alpha", p.alpha_at, sizeof(float), false });
        ranges.push_back({ "beta", p.beta_at, sizeof(float), false });
    }
    return ranges;
}

result run(product p)
{
    check_ranges(p.device, ranges_of(p), "cublasLtMatmul");
    if (p.op.mode == CUBLASLT_POINTER_MODE_DEVICE) {
        p.alpha = *static_cast<const float *>(p.alpha_at);
        p.beta = *static_cast<const float *>(p.beta_at);
    }
    scribble(p.workspace, static_cast<size_t>(p.algo.workspace_bytes));
    for (int64_t batch = 0; batch < p.d.batch; batch++)
        multiply(p, batch);
    return result::done;
}

} // namespace blas
} // namespace hostcuda
