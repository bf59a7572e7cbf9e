/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuSPARSE: handles, CSR and dense descriptors, and the checks of the generic product of the two: everything
 * alive, shapes, leading dimensions, batches, types, alignment, 32-bit offsets that can count the entries, a buffer that is large
 * enough, the handle's device and stream, and after a preprocess the same buffer again. hostcuda_sparse_product.cpp computes.
 */
#include "tests/hostcuda/hostcuda_sparse.h"

#include <memory>

using hostcuda::broken;
using namespace hostcuda::sparse;

namespace
{

hostcuda::live_set<cusparseContext> handles;
hostcuda::live_set<cusparseSpMatDescr> sparse_matrices;
hostcuda::live_set<cusparseDnMatDescr> dense_matrices;

void check_csr(const csr_matrix &m, const char *call)
{
    if (m.rows < 0 || m.cols < 0 || m.nnz < 0)
        broken("%s: a matrix of %lld x %lld with %lld entries", call, (long long)m.rows, (long long)m.cols,
               (long long)m.nnz);
    if (!m.wide_offsets && m.nnz + m.base > INT32_MAX)
        broken("%s: int overflow of offsets: 32-bit offsets cannot count %lld entries", call,
               (long long)m.nnz);
    if (!m.wide_columns && m.cols + m.base - 1 > INT32_MAX)
        broken("%s: int overflow of columns: 32-bit columns cannot name %lld", call, (long long)m.cols);
    if (m.wide_columns && !m.wide_offsets)
        broken("%s: 64-bit columns need 64-bit offsets", call);
    if (hostcuda::float_bytes(m.type) == 0)
        broken("%s: values of type %d are not known here", call, (int)m.type);
}

csr_matrix make_csr(int64_t rows, int64_t cols, int64_t nnz, const void *offsets, const void *columns,
                    const void *values, cusparseIndexType_t offsets_type, cusparseIndexType_t columns_type,
                    cusparseIndexBase_t base, cudaDataType type, const char *call)
{
    const csr_matrix m = { rows,
                           cols,
                           nnz,
                           offsets,
                           columns,
                           values,
                           offsets_type == CUSPARSE_INDEX_64I,
                           columns_type == CUSPARSE_INDEX_64I,
                           base == CUSPARSE_INDEX_BASE_ONE,
                           type,
                           1,
                           0,
                           0 };

    if (offsets_type == CUSPARSE_INDEX_16U || columns_type == CUSPARSE_INDEX_16U)
        broken("%s: 16-bit indices are not for CSR", call);
    check_csr(m, call);
    if (offsets == nullptr || (nnz > 0 && (columns == nullptr || values == nullptr)))
        broken("%s: offsets, columns and values must not be NULL (%p, %p, %p)", call, offsets, columns,
               values);
    return m;
}

void check_dense(const cusparseDnMatDescr &d, const char *call)
{
    const int64_t least = d.order == CUSPARSE_ORDER_ROW ? d.cols : d.rows;

    if (d.rows < 0 || d.cols < 0)
        broken("%s: a dense matrix of %lld x %lld", call, (long long)d.rows, (long long)d.cols);
    if (d.order != CUSPARSE_ORDER_ROW && d.order != CUSPARSE_ORDER_COL)
        broken("%s: no order %d", call, (int)d.order);
    if (d.ld < least)
        broken("%s: wrong leading dimension: %lld for %lld x %lld in %s order, it must be at least %lld",
               call, (long long)d.ld, (long long)d.rows, (long long)d.cols,
               d.order == CUSPARSE_ORDER_ROW ? "row" : "column", (long long)least);
    if (hostcuda::float_bytes(d.type) == 0)
        broken("%s: values of type %d are not known here", call, (int)d.type);
}

struct spmm_call {
    const char *name;
    cusparseHandle_t handle;
    cusparseOperation_t op_a, op_b;
    const void *alpha, *beta;
    cusparseConstSpMatDescr_t a;
    cusparseConstDnMatDescr_t b;
    cusparseDnMatDescr_t c;
    cudaDataType compute;
    cusparseSpMMAlg_t algorithm;
};

void check_shapes(const spmm_call &s)
{
    const bool ta = s.op_a != CUSPARSE_OPERATION_NON_TRANSPOSE,
               tb = s.op_b != CUSPARSE_OPERATION_NON_TRANSPOSE;
    const int64_t m = ta ? s.a->m.cols : s.a->m.rows, k = ta ? s.a->m.rows : s.a->m.cols;
    const int64_t bk = tb ? s.b->cols : s.b->rows, n = tb ? s.b->rows : s.b->cols;

    if (s.c->rows != m || s.c->cols != n || bk != k)
        broken("%s: shapes do not fit: op(A) %lld x %lld, op(B) %lld x %lld, C %lld x %lld", s.name,
               (long long)m, (long long)k, (long long)bk, (long long)n, (long long)s.c->rows,
               (long long)s.c->cols);
    check_dense(*s.b, s.name);
    check_dense(*s.c, s.name);
    const bool by_row = s.c->order == CUSPARSE_ORDER_ROW;
    if (hostcuda::batch_overlaps(s.c->batch, s.c->stride, by_row ? m : n, by_row ? n : m, s.c->ld))
        broken("%s: the %d matrices of C overlap: %lld elements apart", s.name, s.c->batch,
               (long long)s.c->stride);
    if ((s.b->batch != 1 && s.b->batch != s.c->batch) || (s.a->m.batch != 1 && s.a->m.batch != s.c->batch))
        broken("%s: batches of %d, %d and %d matrices", s.name, s.a->m.batch, s.b->batch, s.c->batch);
}

cusparseStatus_t check_call(const spmm_call &s)
{
    handles.check(s.handle, s.name, "handle");
    sparse_matrices.check(s.a, s.name, "sparse matrix");
    dense_matrices.check(s.b, s.name, "dense matrix B");
    dense_matrices.check(s.c, s.name, "dense matrix C");
    hostcuda::check_stream(s.handle->device, s.handle->stream, s.name);
    check_csr(s.a->m, s.name);
    check_shapes(s);
    if (s.alpha == nullptr || s.beta == nullptr)
        broken("%s: alpha and beta must not be NULL", s.name);
    if (s.handle->mode == CUSPARSE_POINTER_MODE_HOST) {
        hostcuda::check_host_range(s.alpha, sizeof(float), s.name, "alpha");
        hostcuda::check_host_range(s.beta, sizeof(float), s.name, "beta");
    }
    if (s.b->type != s.a->m.type || s.compute != CUDA_R_32F)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    if (s.c->type != s.b->type && s.c->type != CUDA_R_32F)
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    switch (s.algorithm) {
    case CUSPARSE_SPMM_ALG_DEFAULT:
    case CUSPARSE_SPMM_CSR_ALG1:
    case CUSPARSE_SPMM_CSR_ALG2:
        return CUSPARSE_STATUS_SUCCESS;
    case CUSPARSE_SPMM_CSR_ALG3: // one matrix, not transposed
        return s.op_a == CUSPARSE_OPERATION_NON_TRANSPOSE && s.c->batch == 1 ? CUSPARSE_STATUS_SUCCESS
                                                                             : CUSPARSE_STATUS_NOT_SUPPORTED;
    default:
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    }
}

/* The work's name, so that HOSTCUDA_SECONDS tells algorithms apart. */
const char *name_of(cusparseSpMMAlg_t algorithm)
{
    return algorithm == CUSPARSE_SPMM_CSR_ALG1   ? "cusparseSpMM_csr_alg1"
           : algorithm == CUSPARSE_SPMM_CSR_ALG2 ? "cusparseSpMM_csr_alg2"
           : algorithm == CUSPARSE_SPMM_CSR_ALG3 ? "cusparseSpMM_csr_alg3"
                                                 : "cusparseSpMM";
}

product make_product(const spmm_call &s, void *buffer)
{
    const size_t bytes = needed_bytes(s.a->m, s.algorithm);
    product p = { s.handle->device,
                  s.a->m,
                  *s.b,
                  *s.c,
                  s.op_a != CUSPARSE_OPERATION_NON_TRANSPOSE,
                  s.op_b != CUSPARSE_OPERATION_NON_TRANSPOSE,
                  s.algorithm,
                  s.handle->mode == CUSPARSE_POINTER_MODE_DEVICE,
                  s.alpha,
                  s.beta,
                  1.0f,
                  0.0f,
                  buffer,
                  bytes,
                  false };

    if (!p.scalars_on_device) {
        p.alpha = *static_cast<const float *>(s.alpha);
        p.beta = *static_cast<const float *>(s.beta);
    }
    if (buffer == nullptr)
        broken("%s: workspace too small: none, %zu bytes are needed", s.name, bytes);
    hostcuda::check_alignment(buffer, 16, s.name, "workspace");
    hostcuda::check_alignment(p.a.offsets, p.a.wide_offsets ? 8 : 4, s.name, "offsets");
    hostcuda::check_alignment(p.a.columns, p.a.wide_columns ? 8 : 4, s.name, "columns");
    hostcuda::check_alignment(p.a.values, hostcuda::float_bytes(p.a.type), s.name, "values");
    hostcuda::check_alignment(p.b.values, hostcuda::float_bytes(p.b.type), s.name, "B");
    hostcuda::check_alignment(p.c.values, hostcuda::float_bytes(p.c.type), s.name, "C");
    hostcuda::check_ranges(p.device, ranges_of(p), s.name);
    return p;
}

} // namespace

// ---- handles -------------------------------------------------------------------------------------------------------------

cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
    *handle = new cusparseContext{ hostcuda::current_device(), nullptr, CUSPARSE_POINTER_MODE_HOST };
    handles.add(*handle);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDestroy(cusparseHandle_t handle)
{
    handles.remove(handle, "cusparseDestroy", "handle");
    delete handle;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
    handles.check(handle, "cusparseSetStream", "handle");
    hostcuda::check_stream(handle->device, stream, "cusparseSetStream");
    handle->stream = stream;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
    handles.check(handle, "cusparseSetPointerMode", "handle");
    handle->mode = mode;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int *version)
{
    handles.check(handle, "cusparseGetVersion", "handle");
    *version = CUSPARSE_VERSION;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseGetProperty(libraryPropertyType type, int *value)
{
    *value = type == MAJOR_VERSION   ? CUSPARSE_VER_MAJOR
             : type == MINOR_VERSION ? CUSPARSE_VER_MINOR
                                     : CUSPARSE_VER_PATCH;
    return CUSPARSE_STATUS_SUCCESS;
}

const char *cusparseGetErrorName(cusparseStatus_t status)
{
    return status == CUSPARSE_STATUS_SUCCESS         ? "CUSPARSE_STATUS_SUCCESS"
           : status == CUSPARSE_STATUS_NOT_SUPPORTED ? "CUSPARSE_STATUS_NOT_SUPPORTED"
                                                     : "CUSPARSE_STATUS_EXECUTION_FAILED";
}

const char *cusparseGetErrorString(cusparseStatus_t status)
{
    return status == CUSPARSE_STATUS_SUCCESS         ? "success"
           : status == CUSPARSE_STATUS_NOT_SUPPORTED ? "operation not supported"
                                                     : "execution failed";
}

// ---- descriptors ---------------------------------------------------------------------------------------------------------

cusparseStatus_t cusparseCreateConstCsr(cusparseConstSpMatDescr_t *out, int64_t rows, int64_t cols,
                                        int64_t nnz, const void *offsets, const void *columns,
                                        const void *values, cusparseIndexType_t offsets_type,
                                        cusparseIndexType_t columns_type, cusparseIndexBase_t base,
                                        cudaDataType type)
{
    const csr_matrix m = make_csr(rows, cols, nnz, offsets, columns, values, offsets_type, columns_type, base,
                                  type, "cusparseCreateCsr");

    *out = new cusparseSpMatDescr{ m, {} };
    sparse_matrices.add(*out);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *out, int64_t rows, int64_t cols, int64_t nnz,
                                   void *offsets, void *columns, void *values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t columns_type,
                                   cusparseIndexBase_t base, cudaDataType type)
{
    cusparseConstSpMatDescr_t made = nullptr;
    const cusparseStatus_t st = cusparseCreateConstCsr(&made, rows, cols, nnz, offsets, columns, values,
                                                       offsets_type, columns_type, base, type);

    *out = const_cast<cusparseSpMatDescr_t>(made);
    return st;
}

cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix)
{
    sparse_matrices.remove(matrix, "cusparseDestroySpMat", "sparse matrix");
    delete matrix;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void *offsets, void *columns,
                                        void *values)
{
    sparse_matrices.check(matrix, "cusparseCsrSetPointers", "sparse matrix");
    matrix->m.offsets = offsets;
    matrix->m.columns = columns;
    matrix->m.values = values;
    matrix->ready = {};
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int count, int64_t offsets_stride,
                                            int64_t entries_stride)
{
    sparse_matrices.check(matrix, "cusparseCsrSetStridedBatch", "sparse matrix");
    if (count < 1 || offsets_stride < 0 || entries_stride < 0)
        broken("cusparseCsrSetStridedBatch: %d matrices, strides %lld and %lld", count,
               (long long)offsets_stride, (long long)entries_stride);
    matrix->m.batch = count;
    matrix->m.offsets_stride = count > 1 ? offsets_stride : 0;
    matrix->m.entries_stride = count > 1 ? entries_stride : 0;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t *out, int64_t rows, int64_t cols, int64_t ld,
                                     void *values, cudaDataType type, cusparseOrder_t order)
{
    const cusparseDnMatDescr d = { rows, cols, ld, values, type, order, 1, 0 };

    check_dense(d, "cusparseCreateDnMat");
    *out = new cusparseDnMatDescr(d);
    dense_matrices.add(*out);
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseCreateConstDnMat(cusparseConstDnMatDescr_t *out, int64_t rows, int64_t cols,
                                          int64_t ld, const void *values, cudaDataType type,
                                          cusparseOrder_t order)
{
    cusparseDnMatDescr_t made = nullptr;
    const cusparseStatus_t st =
        cusparseCreateDnMat(&made, rows, cols, ld, const_cast<void *>(values), type, order);

    *out = made;
    return st;
}

cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix)
{
    dense_matrices.remove(matrix, "cusparseDestroyDnMat", "dense matrix");
    delete matrix;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDnMatSetValues(cusparseDnMatDescr_t matrix, void *values)
{
    dense_matrices.check(matrix, "cusparseDnMatSetValues", "dense matrix");
    matrix->values = values;
    return CUSPARSE_STATUS_SUCCESS;
}

cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int count, int64_t stride)
{
    dense_matrices.check(matrix, "cusparseDnMatSetStridedBatch", "dense matrix");
    if (count < 1 || stride < 0)
        broken("cusparseDnMatSetStridedBatch: %d matrices, stride %lld", count, (long long)stride);
    matrix->batch = count;
    matrix->stride = stride;
    return CUSPARSE_STATUS_SUCCESS;
}

// ---- the product ---------------------------------------------------------------------------------------------------------

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a,
                                         cusparseOperation_t op_b, const void *alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void *beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, size_t *bytes)
{
    const spmm_call s = {
        "cusparseSpMM_bufferSize", handle, op_a, op_b, alpha, beta, a, b, c, compute, algorithm
    };
    const cusparseStatus_t st = check_call(s);

    if (st == CUSPARSE_STATUS_SUCCESS)
        *bytes = needed_bytes(a->m, algorithm);
    return st;
}

cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a,
                                         cusparseOperation_t op_b, const void *alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void *beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, void *buffer)
{
    const spmm_call s = {
        "cusparseSpMM_preprocess", handle, op_a, op_b, alpha, beta, a, b, c, compute, algorithm
    };
    const cusparseStatus_t st = check_call(s);

    if (st != CUSPARSE_STATUS_SUCCESS)
        return st;
    const product p = make_product(s, buffer);
    a->ready = { true, buffer, algorithm, op_a, op_b };
    const cudaError_t e =
        hostcuda::enqueue(handle->stream, { s.name, [p] { return run_preprocess(p); }, true });
    return e == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void *alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void *beta, cusparseDnMatDescr_t c, cudaDataType compute,
                              cusparseSpMMAlg_t algorithm, void *buffer)
{
    const spmm_call s = { "cusparseSpMM", handle, op_a, op_b, alpha, beta, a, b, c, compute, algorithm };
    const cusparseStatus_t st = check_call(s);

    if (st != CUSPARSE_STATUS_SUCCESS)
        return st;
    product p = make_product(s, buffer);
    const preprocessed &r = a->ready;
    if (r.on && (r.buffer != buffer || r.algorithm != algorithm || r.op_a != op_a || r.op_b != op_b))
        broken("cusparseSpMM: preprocess was called with buffer %p, algorithm %d, operations %d and %d, now "
               "they are "
               "%p, %d, %d, %d",
               r.buffer, (int)r.algorithm, (int)r.op_a, (int)r.op_b, buffer, (int)algorithm, (int)op_a,
               (int)op_b);
    p.is_preprocessed = r.on;
    const double terms = (double)p.a.nnz * (double)p.c.cols * p.c.batch;
    const cudaError_t e = hostcuda::enqueue(
        handle->stream, { name_of(algorithm), [p] { return run_product(p); }, true, 2e-6 + 1e-10 * terms });
    return e == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}
