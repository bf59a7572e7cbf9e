/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuBLASLt: handles, heuristics, and the checks of a product: everything alive, shapes, leading
 * dimensions, batches, types, alignments that the heuristic was told, an algorithm that belongs to the problem, a workspace that
 * is large enough, the handle's device and stream. hostcuda_blas_product.cpp computes. What is not known here answers
 * NOT_SUPPORTED: mixed orders, an epilogue with rows first, types other than F32 and BF16.
 */
#include "tests/hostcuda/hostcuda_blas.h"

using hostcuda::broken;
using namespace hostcuda::blas;

struct cublasLtContext {
    int device;
};

namespace
{

hostcuda::live_set<cublasLtContext> handles;

cublasLtContext *context(cublasLtHandle_t handle)
{
    return reinterpret_cast<cublasLtContext *>(handle);
}

void check_layout(const layout &l, const char *call, const char *kind)
{
    const int64_t least = l.order == CUBLASLT_ORDER_ROW ? l.cols : l.rows;
    const int64_t lines = l.order == CUBLASLT_ORDER_ROW ? l.rows : l.cols;

    if (l.rows < 0 || l.cols < 0 || l.batch < 1)
        broken("%s: %s of %lld x %lld, batch of %d", call, kind, (long long)l.rows, (long long)l.cols,
               l.batch);
    if (l.ld < least)
        broken(
            "%s: wrong leading dimension of %s: %lld for %lld x %lld in %s order, it must be at least %lld",
            call, kind, (long long)l.ld, (long long)l.rows, (long long)l.cols,
            l.order == CUBLASLT_ORDER_ROW ? "row" : "column", (long long)least);
    if (l.batch > 1 && l.stride < 0)
        broken("%s: %s has a batch stride of %lld", call, kind, (long long)l.stride);
    if (kind[0] == 'D' && hostcuda::batch_overlaps(l.batch, l.stride, lines, least, l.ld))
        broken("%s: the %d matrices of D overlap: they are %lld elements apart", call, l.batch,
               (long long)l.stride);
}

struct problem {
    operation op;
    layout a, b, c, d;
};

problem get_problem(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
                    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                    const char *call)
{
    handles.check(context(handle), call, "handle");
    problem p = { get<operation>(op, OPERATION_MAGIC, call, "operation"),
                  get<layout>(a, LAYOUT_MAGIC, call, "layout of A"),
                  get<layout>(b, LAYOUT_MAGIC, call, "layout of B"),
                  get<layout>(c, LAYOUT_MAGIC, call, "layout of C"),
                  get<layout>(d, LAYOUT_MAGIC, call, "layout of D") };
    const bool ta = p.op.trans_a != CUBLAS_OP_N, tb = p.op.trans_b != CUBLAS_OP_N;
    const int64_t m = ta ? p.a.cols : p.a.rows, k = ta ? p.a.rows : p.a.cols;
    const int64_t bk = tb ? p.b.cols : p.b.rows, n = tb ? p.b.rows : p.b.cols;

    check_layout(p.a, call, "A");
    check_layout(p.b, call, "B");
    check_layout(p.c, call, "C");
    check_layout(p.d, call, "D");
    if (k != bk || p.d.rows != m || p.d.cols != n || p.c.rows != m || p.c.cols != n)
        broken("%s: shapes do not fit: op(A) %lld x %lld, op(B) %lld x %lld, C %lld x %lld, D %lld x %lld",
               call, (long long)m, (long long)k, (long long)bk, (long long)n, (long long)p.c.rows,
               (long long)p.c.cols, (long long)p.d.rows, (long long)p.d.cols);
    if (p.a.batch != p.d.batch || p.b.batch != p.d.batch || p.c.batch != p.d.batch)
        broken("%s: batches of %d, %d, %d and %d matrices", call, p.a.batch, p.b.batch, p.c.batch, p.d.batch);
    if (!p.op.has_bias_type)
        p.op.bias_type = p.d.type;
    return p;
}

bool is_supported(const problem &p)
{
    const bool plain = p.op.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    const bool known = plain || p.op.epilogue == CUBLASLT_EPILOGUE_RELU ||
                       p.op.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                       p.op.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS;
    const bool orders = p.a.order == p.d.order && p.b.order == p.d.order && p.c.order == p.d.order;
    const bool types = hostcuda::float_bytes(p.a.type) != 0 && p.a.type == p.b.type && p.c.type == p.d.type &&
                       (p.d.type == p.a.type || p.d.type == CUDA_R_32F) && p.op.scale_type == CUDA_R_32F;
    const bool compute = p.op.compute == CUBLAS_COMPUTE_32F || p.op.compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                         p.op.compute == CUBLAS_COMPUTE_32F_FAST_TF32;

    return known && orders && types && compute && p.d.rows > 0 && p.d.cols > 0 &&
           (plain || p.d.order == CUBLASLT_ORDER_COL);
}

void check_alignments(const product &p, const char *call)
{
    const void *const data[] = { p.data_a, p.data_b, p.data_c, p.data_d };
    static const char *const names[] = { "A", "B", "C", "D" };

    for (int i = 0; i < 4; i++)
        if (data[i] != nullptr)
            hostcuda::check_alignment(data[i], p.algo.alignment[i], call, names[i]);
    hostcuda::check_alignment(p.workspace, 16, call, "workspace");
    if ((p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
        hostcuda::check_alignment(p.op.bias, hostcuda::float_bytes(p.op.bias_type), call, "bias");
}

// The algorithm of a call: the caller's, which must have been asked for this problem, or the one without a workspace.
algorithm choose(const problem &q, const cublasLtMatmulAlgo_t *algo, size_t workspace_bytes, const char *call)
{
    algorithm chosen = best_algorithm(q.op, q.a, q.b, q.c, q.d);

    if (algo == nullptr) {
        for (uint32_t &alignment : chosen.alignment)
            alignment = 4;
        if (chosen.workspace_bytes > workspace_bytes)
            chosen.split = 0, chosen.workspace_bytes = 0;
        return chosen;
    }
    const algorithm asked = get<algorithm>(algo, chosen.magic, call, "algorithm");
    if (asked.problem != chosen.problem)
        broken("%s: the algorithm comes from a heuristic for another problem", call);
    if (asked.workspace_bytes > workspace_bytes)
        broken("%s: workspace too small: %zu bytes, the algorithm needs %llu", call, workspace_bytes,
               (unsigned long long)asked.workspace_bytes);
    return asked;
}

void check_pointers(product &p, const char *call)
{
    if (p.alpha_at == nullptr || p.beta_at == nullptr)
        broken("%s: alpha and beta must not be NULL", call);
    if (p.op.mode == CUBLASLT_POINTER_MODE_HOST) {
        hostcuda::check_host_range(p.alpha_at, sizeof(float), call, "alpha");
        hostcuda::check_host_range(p.beta_at, sizeof(float), call, "beta");
        p.alpha = *static_cast<const float *>(p.alpha_at);
        p.beta = *static_cast<const float *>(p.beta_at);
    } else if (p.op.mode != CUBLASLT_POINTER_MODE_DEVICE) {
        broken("%s: pointer mode %d is not known here", call, (int)p.op.mode);
    }
    if (p.data_a == nullptr || p.data_b == nullptr || p.data_d == nullptr)
        broken("%s: A, B and D must not be NULL", call);
    if (p.data_c == nullptr && p.beta != 0.0f)
        broken("%s: C is NULL and beta is not 0", call);
    if (p.data_c == p.data_d && (p.c.ld != p.d.ld || p.c.order != p.d.order || p.c.stride != p.d.stride))
        broken("%s: C and D share memory with leading dimensions %lld and %lld", call, (long long)p.c.ld,
               (long long)p.d.ld);
    if ((p.op.epilogue & CUBLASLT_EPILOGUE_BIAS) != 0 && p.op.bias == nullptr)
        broken("%s: the epilogue adds a bias, its pointer is NULL", call);
    check_alignments(p, call);
    hostcuda::check_ranges(p.device, ranges_of(p), call);
}

} // namespace

// ---- handles -------------------------------------------------------------------------------------------------------------

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    cublasLtContext *made = new cublasLtContext{ hostcuda::current_device() };

    handles.add(made);
    *handle = reinterpret_cast<cublasLtHandle_t>(made);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    handles.remove(context(handle), "cublasLtDestroy", "handle");
    delete context(handle);
    return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                                   : "CUBLAS_STATUS_EXECUTION_FAILED";
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_SUCCESS         ? "success"
           : status == CUBLAS_STATUS_NOT_SUPPORTED ? "the functionality requested is not supported"
                                                   : "the program failed to execute on the device";
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    return cublasLtGetStatusName(status);
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    return cublasLtGetStatusString(status);
}

// ---- the product ---------------------------------------------------------------------------------------------------------

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t op,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t wish, int capacity,
                                              cublasLtMatmulHeuristicResult_t *out, int *out_count)
{
    const char *call = "cublasLtMatmulAlgoGetHeuristic";
    const problem q = get_problem(handle, op, a, b, c, d, call);
    const preference p = get<preference>(wish, PREFERENCE_MAGIC, call, "preference");
    int count = 0;

    *out_count = 0;
    if (capacity <= 0)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_supported(q))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    algorithm choice = best_algorithm(q.op, q.a, q.b, q.c, q.d);
    std::memcpy(choice.alignment, p.alignment, sizeof choice.alignment);
    for (int split = choice.split ? 1 : 0; split >= 0 && count < capacity; split--) {
        if (split == 0)
            choice.split = 0, choice.workspace_bytes = 0;
        if (choice.workspace_bytes > p.workspace_bytes || (choice.split != 0 && p.reduction == 0))
            continue;
        cublasLtMatmulHeuristicResult_t result = {};
        put(&result.algo, choice);
        result.workspaceSize = static_cast<size_t>(choice.workspace_bytes);
        result.state = CUBLAS_STATUS_SUCCESS;
        result.wavesCount = 1.0f;
        out[count++] = result;
    }
    *out_count = count;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t op, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta, const void *C,
                              cublasLtMatrixLayout_t c, void *D, cublasLtMatrixLayout_t d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t workspace_bytes,
                              cudaStream_t stream)
{
    const char *call = "cublasLtMatmul";
    const problem q = get_problem(handle, op, a, b, c, d, call);

    hostcuda::check_stream(context(handle)->device, stream, call);
    if (!is_supported(q))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    product p = { context(handle)->device,
                  q.op,
                  q.a,
                  q.b,
                  q.c,
                  q.d,
                  A,
                  B,
                  C,
                  D,
                  alpha,
                  beta,
                  1.0f,
                  0.0f,
                  choose(q, algo, workspace_bytes, call),
                  workspace };
    check_pointers(p, call);
    const cudaError_t e = hostcuda::enqueue(stream, { call, [p] { return run(p); }, true });
    return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
