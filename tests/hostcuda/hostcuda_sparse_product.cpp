/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuSPARSE: the product itself, plain loops. Before it, offsets and columns on the device must be those of the
 * matrix, and the buffer is written, so that whoever keeps something else there loses it. A preprocess leaves a signature in the
 * buffer, and later products look for it. Algorithms other than CSR_ALG3 add in an order that changes from run to run.
 */
#include "tests/hostcuda/hostcuda_sparse.h"

namespace hostcuda
{
namespace sparse
{

namespace
{

int64_t index_at(const void *data, bool wide, int64_t i)
{
    return wide ? static_cast<const int64_t *>(data)[i] : static_cast<const int32_t *>(data)[i];
}

// What a preprocess leaves at the buffer's head, and products check: two words made of the matrix.
struct signature {
    uint64_t first, second;
};
signature signature_of(const csr_matrix &a, cusparseSpMMAlg_t algorithm)
{
    uint64_t h = 0x9e3779b97f4a7c15u + static_cast<uint64_t>(algorithm);

    for (int64_t r = 0; r <= a.rows; r++)
        h = (h ^ static_cast<uint64_t>(index_at(a.offsets, a.wide_offsets, r))) * 0x100000001b3u;
    return { h, ~h * 3 };
}

void check_structure(const csr_matrix &a, int entry_of_batch)
{
    const char *call = "cusparseSpMM";
    const int64_t first = entry_of_batch * a.offsets_stride, entries = entry_of_batch * a.entries_stride;
    int64_t before = a.base;

    for (int64_t r = 0; r <= a.rows; r++) {
        const int64_t at = index_at(a.offsets, a.wide_offsets, first + r);
        if (at < before || at > a.nnz + a.base || (r == 0 && at != a.base))
            broken("%s: int overflow of offsets or a wrong one: offset %lld is %lld, between %lld and %lld "
                   "is right",
                   call, (long long)r, (long long)at, (long long)before, (long long)(a.nnz + a.base));
        before = at;
    }
    if (before != a.nnz + a.base)
        broken("%s: the last offset is %lld, the descriptor has %lld entries", call, (long long)before,
               (long long)a.nnz);
    for (int64_t e = 0; e < a.nnz; e++) {
        const int64_t column = index_at(a.columns, a.wide_columns, entries + e) - a.base;
        if (column < 0 || column >= a.cols)
            broken("%s: column %lld of entry %lld of a matrix of %lld columns", call, (long long)column,
                   (long long)e, (long long)a.cols);
    }
}

int64_t dense_index(const cusparseDnMatDescr &d, int64_t row, int64_t col)
{
    return d.order == CUSPARSE_ORDER_ROW ? row * d.ld + col : col * d.ld + row;
}

// sum over entries [from, end) of row r, added to row (width)
void add_entries(const product &p, int batch, int64_t from, int64_t end, int64_t width, float *row)
{
    const csr_matrix &a = p.a;
    const int64_t entries = batch * a.entries_stride, b_first = p.b.batch > 1 ? batch * p.b.stride : 0;

    for (int64_t e = from; e < end; e++) {
        const int64_t column = index_at(a.columns, a.wide_columns, entries + e) - a.base;
        const float value = load_float(a.values, a.type, entries + e);
        for (int64_t j = 0; j < width; j++) {
            const int64_t at = p.trans_b ? dense_index(p.b, j, column) : dense_index(p.b, column, j);
            row[j] += value * load_float(p.b.values, p.b.type, b_first + at);
        }
    }
}

void store_row(const product &p, int batch, int64_t r, const float *row)
{
    const int64_t c_first = p.c.batch > 1 ? batch * p.c.stride : 0;

    for (int64_t j = 0; j < p.c.cols; j++) {
        const int64_t at = c_first + dense_index(p.c, r, j);
        const float old = p.beta == 0.0f ? 0.0f : p.beta * load_float(p.c.values, p.c.type, at);
        store_float(p.c.values, p.c.type, at, p.alpha * row[j] + old);
    }
}

void multiply_plain(const product &p, int batch, bool repeatable)
{
    std::vector<float> sum, rest;
    const int64_t first = batch * p.a.offsets_stride;

    for (int64_t r = 0; r < p.a.rows; r++) {
        const int64_t from = index_at(p.a.offsets, p.a.wide_offsets, first + r) - p.a.base;
        const int64_t end = index_at(p.a.offsets, p.a.wide_offsets, first + r + 1) - p.a.base;
        const int64_t cut =
            repeatable || end - from < 2
                ? end
                : from + 1 + static_cast<int64_t>(random_below(static_cast<uint64_t>(end - from)));
        sum.assign(static_cast<size_t>(p.c.cols), 0.0f);
        rest.assign(static_cast<size_t>(p.c.cols), 0.0f);
        add_entries(p, batch, from, cut, p.c.cols, sum.data());
        add_entries(p, batch, cut, end, p.c.cols, rest.data());
        for (size_t j = 0; j < sum.size(); j++)
            sum[j] += rest[j];
        store_row(p, batch, r, sum.data());
    }
}

void multiply_transposed(const product &p, int batch)
{
    const int64_t width = p.c.cols, first = batch * p.a.offsets_stride, entries = batch * p.a.entries_stride;
    const int64_t b_first = p.b.batch > 1 ? batch * p.b.stride : 0;
    std::vector<float> sums(static_cast<size_t>(p.a.cols * width), 0.0f);

    for (int64_t r = 0; r < p.a.rows; r++)
        for (int64_t e = index_at(p.a.offsets, p.a.wide_offsets, first + r) - p.a.base;
             e < index_at(p.a.offsets, p.a.wide_offsets, first + r + 1) - p.a.base; e++) {
            const int64_t column = index_at(p.a.columns, p.a.wide_columns, entries + e) - p.a.base;
            const float value = load_float(p.a.values, p.a.type, entries + e);
            for (int64_t j = 0; j < width; j++) {
                const int64_t at = p.trans_b ? dense_index(p.b, j, r) : dense_index(p.b, r, j);
                sums[static_cast<size_t>(column * width + j)] +=
                    value * load_float(p.b.values, p.b.type, b_first + at);
            }
        }
    for (int64_t r = 0; r < p.a.cols; r++)
        store_row(p, batch, r, &sums[static_cast<size_t>(r * width)]);
}

} // namespace

int64_t dense_extent(const cusparseDnMatDescr &d)
{
    const int64_t lines = d.order == CUSPARSE_ORDER_ROW ? d.rows : d.cols;
    const int64_t length = d.order == CUSPARSE_ORDER_ROW ? d.cols : d.rows;
    const int64_t one = lines == 0 || length == 0 ? 0 : (lines - 1) * d.ld + length;

    return one == 0 ? 0 : (d.batch - 1) * d.stride + one;
}

size_t needed_bytes(const csr_matrix &a, cusparseSpMMAlg_t algorithm)
{
    const size_t rows = static_cast<size_t>(a.rows), nnz = static_cast<size_t>(a.nnz);

    if (algorithm == CUSPARSE_SPMM_CSR_ALG2)
        return 512 + rows / 8 * 8 + nnz / 64 * 8;
    return algorithm == CUSPARSE_SPMM_CSR_ALG3 ? 768 + nnz / 32 * 8 : 256 + rows / 64 * 8;
}

std::vector<range> ranges_of(const product &p)
{
    const csr_matrix &a = p.a;
    const size_t batch = static_cast<size_t>(a.batch - 1);
    const size_t offsets = static_cast<size_t>(a.rows + 1) + batch * static_cast<size_t>(a.offsets_stride);
    const size_t entries = static_cast<size_t>(a.nnz) + batch * static_cast<size_t>(a.entries_stride);
    std::vector<range> ranges = {
        { "offsets", a.offsets, offsets * (a.wide_offsets ? 8 : 4), false },
        { "columns", a.columns, entries * (a.wide_columns ? 8 : 4), false },
        { "values", a.values, entries * float_bytes(a.type), false },
        { "B", p.b.values, static_cast<size_t>(dense_extent(p.b)) * float_bytes(p.b.type), false },
        { "C", p.c.values, static_cast<size_t>(dense_extent(p.c)) * float_bytes(p.c.type), true },
        { "workspace", p.buffer, p.buffer_bytes, true },
    };

    if (p.scalars_on_device) {
        ranges.push_back({ "alpha", p.alpha_at, sizeof(float), false });
        ranges.push_back({ "beta", p.beta_at, sizeof(float), false });
    }
    return ranges;
}

result run_preprocess(const product &p)
{
    check_ranges(p.device, ranges_of(p), "cusparseSpMM_preprocess");
    for (int i = 0; i < p.a.batch; i++)
        check_structure(p.a, i);
    scribble(p.buffer, p.buffer_bytes);
    *static_cast<signature *>(p.buffer) = signature_of(p.a, p.algorithm);
    return result::done;
}

result run_product(product p)
{
    const signature *head = static_cast<const signature *>(p.buffer);

    check_ranges(p.device, ranges_of(p), "cusparseSpMM");
    if (p.scalars_on_device) {
        p.alpha = *static_cast<const float *>(p.alpha_at);
        p.beta = *static_cast<const float *>(p.beta_at);
    }
    for (int i = 0; i < p.a.batch; i++)
        check_structure(p.a, i);
    const signature right = signature_of(p.a, p.algorithm);
    if (p.is_preprocessed && (head->first != right.first || head->second != right.second))
        broken("cusparseSpMM: the buffer %p does not hold what cusparseSpMM_preprocess left there", p.buffer);
    scribble(static_cast<char *>(p.buffer) + sizeof(signature), p.buffer_bytes - sizeof(signature));
    if (!p.is_preprocessed)
        scribble(p.buffer, sizeof(signature));
    for (int i = 0; i < p.c.batch; i++) {
        if (p.trans_a)
            multiply_transposed(p, i);
        else
            multiply_plain(p, i, p.algorithm == CUSPARSE_SPMM_CSR_ALG3);
    }
    return result::done;
}

} // namespace sparse
} // namespace hostcuda
