/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the stand-in for cuSPARSE share: descriptors as they are kept, and one product, all by value, so that a
 * queued product does not look at descriptors that have changed since.
 */
#ifndef GNT_HOSTCUDA_SPARSE_H
#define GNT_HOSTCUDA_SPARSE_H

#include "tests/hostcuda/hostcuda_library.h"

#include <cusparse.h>

struct cusparseContext {
    int device;
    cudaStream_t stream;
    cusparsePointerMode_t mode;
};

struct csr_matrix {
    int64_t rows, cols, nnz;
    const void *offsets, *columns, *values;
    bool wide_offsets, wide_columns;
    int64_t base;
    cudaDataType type;
    int batch;
    int64_t offsets_stride, entries_stride;
};

struct preprocessed {
    bool on;
    const void *buffer;
    cusparseSpMMAlg_t algorithm;
    cusparseOperation_t op_a, op_b;
};

struct cusparseSpMatDescr {
    csr_matrix m;
    mutable preprocessed ready;
};

struct cusparseDnMatDescr {
    int64_t rows, cols, ld;
    void *values;
    cudaDataType type;
    cusparseOrder_t order;
    int batch;
    int64_t stride;
};

namespace hostcuda
{
namespace sparse
{

struct product {
    int device;
    csr_matrix a;
    cusparseDnMatDescr b, c;
    bool trans_a, trans_b;
    cusparseSpMMAlg_t algorithm;
    bool scalars_on_device;
    const void *alpha_at, *beta_at;
    float alpha, beta;
    void *buffer;
    size_t buffer_bytes;
    bool is_preprocessed; // the buffer holds what a preprocess left
};

// Elements of a dense matrix, all of its batch, from the first to one behind the last.
int64_t dense_extent(const cusparseDnMatDescr &d);
// Bytes of the buffer.
size_t needed_bytes(const csr_matrix &a, cusparseSpMMAlg_t algorithm);
// Everything in device memory that the product touches.
std::vector<range> ranges_of(const product &p);
result run_preprocess(const product &p);
result run_product(product p);

} // namespace sparse
} // namespace hostcuda
#endif
