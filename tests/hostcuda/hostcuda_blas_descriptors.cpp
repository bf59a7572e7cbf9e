/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuBLASLt: descriptors of matrices, operations and preferences, created or on the caller's stack. An attribute
 * that is not known here breaks a rule, so that nothing is set and ignored.
 */
#include "tests/hostcuda/hostcuda_blas.h"

#include <deque>
#include <memory>

using hostcuda::broken;
using namespace hostcuda::blas;

namespace
{

hostcuda::live_set<void> descriptors;

// The words stay for a while after the end, zeroed, so that whoever still uses them is told so.
template <class Opaque> void destroy(Opaque *what, const char *call, const char *kind)
{
    static std::mutex mutex;
    static std::deque<std::unique_ptr<Opaque>> ended;
    const std::lock_guard<std::mutex> guard(mutex);

    descriptors.remove(what, call, kind);
    std::memset(static_cast<void *>(what), 0, sizeof *what);
    ended.emplace_back(what);
    if (ended.size() > 1000)
        ended.pop_front();
}

template <class V> V value_of(const void *data, size_t bytes, const char *call)
{
    V value;

    if (data == nullptr || bytes != sizeof value)
        broken("%s: the attribute has %zu bytes, %zu were given", call, sizeof value, bytes);
    std::memcpy(&value, data, sizeof value);
    return value;
}

} // namespace

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t out, size_t size, cudaDataType type,
                                                 uint64_t rows, uint64_t cols, int64_t ld)
{
    const layout l = {
        LAYOUT_MAGIC, type, CUBLASLT_ORDER_COL, 1, static_cast<int64_t>(rows), static_cast<int64_t>(cols),
        ld,           0
    };

    if (size < sizeof *out)
        broken("cublasLtMatrixLayoutInit: %zu bytes", size);
    put(out, l);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    *out = new cublasLtMatrixLayoutOpaque_t;
    descriptors.add(*out);
    return cublasLtMatrixLayoutInit_internal(*out, sizeof **out, type, rows, cols, ld);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t what)
{
    destroy(what, "cublasLtMatrixLayoutDestroy", "layout");
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t what,
                                                cublasLtMatrixLayoutAttribute_t attribute, const void *data,
                                                size_t bytes)
{
    const char *call = "cublasLtMatrixLayoutSetAttribute";
    layout l = get<layout>(what, LAYOUT_MAGIC, call, "layout");

    switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        l.order = static_cast<cublasLtOrder_t>(value_of<int32_t>(data, bytes, call));
        if (l.order != CUBLASLT_ORDER_COL && l.order != CUBLASLT_ORDER_ROW)
            return CUBLAS_STATUS_NOT_SUPPORTED;
        break;
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
        l.type = static_cast<cudaDataType_t>(value_of<uint32_t>(data, bytes, call));
        break;
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
        l.rows = static_cast<int64_t>(value_of<uint64_t>(data, bytes, call));
        break;
    case CUBLASLT_MATRIX_LAYOUT_COLS:
        l.cols = static_cast<int64_t>(value_of<uint64_t>(data, bytes, call));
        break;
    case CUBLASLT_MATRIX_LAYOUT_LD:
        l.ld = value_of<int64_t>(data, bytes, call);
        break;
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        l.batch = value_of<int32_t>(data, bytes, call);
        break;
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        l.stride = value_of<int64_t>(data, bytes, call);
        break;
    default:
        broken("%s: attribute %d is not known here", call, (int)attribute);
    }
    put(what, l);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t out, size_t size,
                                               cublasComputeType_t compute, cudaDataType_t scale_type)
{
    operation op = {};

    if (size < sizeof *out)
        broken("cublasLtMatmulDescInit: %zu bytes", size);
    op.magic = OPERATION_MAGIC;
    op.compute = compute;
    op.scale_type = scale_type;
    op.mode = CUBLASLT_POINTER_MODE_HOST;
    op.trans_a = op.trans_b = CUBLAS_OP_N;
    op.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    put(out, op);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out, cublasComputeType_t compute,
                                        cudaDataType_t scale_type)
{
    *out = new cublasLtMatmulDescOpaque_t;
    descriptors.add(*out);
    return cublasLtMatmulDescInit_internal(*out, sizeof **out, compute, scale_type);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t what)
{
    destroy(what, "cublasLtMatmulDescDestroy", "operation");
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t what,
                                              cublasLtMatmulDescAttributes_t attribute, const void *data,
                                              size_t bytes)
{
    const char *call = "cublasLtMatmulDescSetAttribute";
    operation op = get<operation>(what, OPERATION_MAGIC, call, "operation");

    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        op.trans_a = static_cast<cublasOperation_t>(value_of<int32_t>(data, bytes, call));
        break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
        op.trans_b = static_cast<cublasOperation_t>(value_of<int32_t>(data, bytes, call));
        break;
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        op.mode = static_cast<cublasLtPointerMode_t>(value_of<int32_t>(data, bytes, call));
        break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        op.epilogue = static_cast<cublasLtEpilogue_t>(value_of<uint32_t>(data, bytes, call));
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        op.bias = value_of<const void *>(data, bytes, call);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
        op.bias_stride = value_of<int64_t>(data, bytes, call);
        break;
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
        op.bias_type = static_cast<cudaDataType_t>(value_of<int32_t>(data, bytes, call));
        op.has_bias_type = true;
        break;
    default:
        broken("%s: attribute %d is not known here", call, (int)attribute);
    }
    put(what, op);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t out, size_t size)
{
    const preference p = { PREFERENCE_MAGIC, { 256, 256, 256, 256 }, CUBLASLT_REDUCTION_SCHEME_MASK, 0 };

    if (size < sizeof *out)
        broken("cublasLtMatmulPreferenceInit: %zu bytes", size);
    put(out, p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    *out = new cublasLtMatmulPreferenceOpaque_t;
    descriptors.add(*out);
    return cublasLtMatmulPreferenceInit_internal(*out, sizeof **out);
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t what)
{
    destroy(what, "cublasLtMatmulPreferenceDestroy", "preference");
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t what,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void *data, size_t bytes)
{
    const char *call = "cublasLtMatmulPreferenceSetAttribute";
    preference p = get<preference>(what, PREFERENCE_MAGIC, call, "preference");

    switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
        p.workspace_bytes = value_of<uint64_t>(data, bytes, call);
        break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
        p.alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES] =
            value_of<uint32_t>(data, bytes, call);
        break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
        p.reduction = value_of<uint32_t>(data, bytes, call);
        break;
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
        (void)value_of<uint32_t>(data, bytes, call);
        break;
    default:
        broken("%s: attribute %d is not known here", call, (int)attribute);
    }
    put(what, p);
    return CUBLAS_STATUS_SUCCESS;
}
