/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of cuBLASLt against plain loops, and mistakes of its callers, each of which must be caught. */
#include "tests/hostcuda/hostcuda_case.h"

#include <cublasLt.h>

enum { M = 11, N = 6, K = 70, LD_EXTRA = 3, MEMBERS = 3, COUNT = (K + LD_EXTRA) * (K + LD_EXTRA) * MEMBERS };

typedef struct gemm_case {
    bool trans_a, trans_b, by_row, heuristic, separate_c;
    int members;
    int64_t bias_stride; /* of members */
    cublasLtEpilogue_t epilogue;
    float alpha, beta;
} gemm_case;

typedef struct shape {
    int64_t rows, cols, ld, stride;
    bool by_row;
} shape;

static shape shape_of(const gemm_case *k, int64_t rows, int64_t cols)
{
    shape s = { rows, cols, (k->by_row ? cols : rows) + LD_EXTRA, 0, k->by_row };

    s.stride = s.ld * (k->by_row ? rows : cols);
    return s;
}

static int64_t at(const shape *s, int64_t member, int64_t r, int64_t c)
{
    return member * s->stride + (s->by_row ? r * s->ld + c : c * s->ld + r);
}

static void expected(const gemm_case *k, const float *a, const float *b, const float *bias, const float *c,
                     float *d)
{
    const shape sa = shape_of(k, k->trans_a ? K : M, k->trans_a ? M : K);
    const shape sb = shape_of(k, k->trans_b ? N : K, k->trans_b ? K : N), sd = shape_of(k, M, N);

    for (int64_t p = 0; p < k->members; p++)
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++) {
                float v = 0;

                for (int64_t x = 0; x < K; x++)
                    v += a[k->trans_a ? at(&sa, p, x, i) : at(&sa, p, i, x)] *
                         b[k->trans_b ? at(&sb, p, j, x) : at(&sb, p, x, j)];
                v = k->alpha * v + k->beta * c[at(&sd, p, i, j)];
                if ((k->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
                    v += bias[p * k->bias_stride + i];
                if ((k->epilogue & CUBLASLT_EPILOGUE_RELU) != 0 && v < 0)
                    v = 0;
                d[at(&sd, p, i, j)] = v;
            }
}

static cublasLtMatrixLayout_t layout(const gemm_case *k, shape s)
{
    cublasLtMatrixLayout_t l = NULL;
    const int32_t order = s.by_row ? CUBLASLT_ORDER_ROW : CUBLASLT_ORDER_COL;

    CASE_OK(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, (uint64_t)s.rows, (uint64_t)s.cols, s.ld));
    CASE_OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order));
    CASE_OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &k->members,
                                             sizeof k->members));
    CASE_OK(cublasLtMatrixLayoutSetAttribute(l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &s.stride,
                                             sizeof s.stride));
    return l;
}

static cublasLtMatmulDesc_t operation(const gemm_case *k, const float *bias)
{
    cublasLtMatmulDesc_t op = NULL;
    const int32_t trans_a = k->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N,
                  trans_b = k->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint32_t epilogue = k->epilogue;

    CASE_OK(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    CASE_OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSA, &trans_a, sizeof trans_a));
    CASE_OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_TRANSB, &trans_b, sizeof trans_b));
    CASE_OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    CASE_OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    CASE_OK(cublasLtMatmulDescSetAttribute(op, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &k->bias_stride,
                                           sizeof k->bias_stride));
    return op;
}

static void run_gemm(const gemm_case *k, const float *a, const float *b, const float *bias, const float *c,
                     float *d)
{
    cudaStream_t s = case_stream(0);
    cublasLtHandle_t h = NULL;
    void *dev_a = case_device(a, COUNT * 4), *dev_b = case_device(b, COUNT * 4),
         *dev_d = case_device(c, COUNT * 4);
    void *dev_c = k->separate_c ? case_device(c, COUNT * 4) : dev_d, *workspace = NULL;
    float *dev_bias = case_device(bias, M * MEMBERS * 4);
    const shape sd = shape_of(k, M, N);
    cublasLtMatmulDesc_t op = operation(k, dev_bias);
    cublasLtMatrixLayout_t la = layout(k, shape_of(k, k->trans_a ? K : M, k->trans_a ? M : K));
    cublasLtMatrixLayout_t lb = layout(k, shape_of(k, k->trans_b ? N : K, k->trans_b ? K : N)),
                           ld = layout(k, sd);
    cublasLtMatmulPreference_t wish = NULL;
    cublasLtMatmulHeuristicResult_t found = { 0 };
    const uint64_t most = 1 << 20;
    int count = 0;

    CASE_OK(cublasLtCreate(&h));
    CASE_OK(cublasLtMatmulPreferenceCreate(&wish));
    CASE_OK(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                                 sizeof most));
    CASE_OK(cublasLtMatmulAlgoGetHeuristic(h, op, la, lb, ld, ld, wish, 1, &found, &count));
    assert_int_equal(count, 1);
    if (k->heuristic)
        workspace = case_device(NULL, found.workspaceSize);
    CASE_OK(cublasLtMatmul(h, op, &k->alpha, dev_a, la, dev_b, lb, &k->beta, dev_c, ld, dev_d, ld,
                           k->heuristic ? &found.algo : NULL, workspace,
                           k->heuristic ? found.workspaceSize : 0, s));
    CASE_OK(cudaStreamSynchronize(s));
    case_fetch(d, dev_d, COUNT * 4);
    CASE_OK(cublasLtMatmulPreferenceDestroy(wish));
    CASE_OK(cublasLtMatrixLayoutDestroy(la));
    CASE_OK(cublasLtMatrixLayoutDestroy(lb));
    CASE_OK(cublasLtMatrixLayoutDestroy(ld));
    CASE_OK(cublasLtMatmulDescDestroy(op));
    CASE_OK(cublasLtDestroy(h));
    CASE_OK(cudaStreamDestroy(s));
}

static void test_equal_to_loops(void **state)
{
    (void)state;
    static const gemm_case cases[] = {
        { .members = 1, .epilogue = CUBLASLT_EPILOGUE_DEFAULT, .alpha = 1 },
        { .members = 1, .trans_a = true, .epilogue = CUBLASLT_EPILOGUE_BIAS, .alpha = 1, .heuristic = true },
        { .members = 1, .trans_b = true, .epilogue = CUBLASLT_EPILOGUE_RELU_BIAS, .alpha = -1, .beta = 2 },
        { .members = MEMBERS,
          .trans_a = true,
          .trans_b = true,
          .epilogue = CUBLASLT_EPILOGUE_RELU,
          .alpha = 2,
          .beta = 1,
          .heuristic = true,
          .separate_c = true },
        { .members = MEMBERS, .epilogue = CUBLASLT_EPILOGUE_BIAS, .alpha = 1, .bias_stride = M },
        { .members = MEMBERS,
          .by_row = true,
          .trans_a = true,
          .epilogue = CUBLASLT_EPILOGUE_DEFAULT,
          .alpha = 1,
          .beta = 1,
          .heuristic = true },
    };
    static float a[COUNT], b[COUNT], c[COUNT], d[COUNT], right[COUNT];
    hostcuda_counts counts;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned draw = (unsigned)i + 7;
        float bias[M * MEMBERS];

        case_reset("4M", (int)i + 1);
        case_fill(a, COUNT, &draw);
        case_fill(b, COUNT, &draw);
        case_fill(c, COUNT, &draw);
        case_fill(bias, M * MEMBERS, &draw);
        memcpy(right, c, sizeof right);
        expected(&cases[i], a, b, bias, c, right);
        run_gemm(&cases[i], a, b, bias, c, d);
        for (int64_t j = 0; j < COUNT; j++)
            if (d[j] != right[j])
                fail_msg("case %d: value %d is %g instead of %g", (int)i, (int)j, (double)d[j],
                         (double)right[j]);
        hostcuda_get_counts(&counts);
        assert_int_equal(counts.handles, 0);
    }
}

/* TF32 is off unless asked for, and then seen in the bits. */
static void test_compute_types(void **state)
{
    (void)state;
    const cublasComputeType_t types[2] = { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
    float x = 1.0f + 1.0f / 8192.0f, one = 1.0f, zero = 0.0f, y[2];

    case_reset("4M", 1);
    cudaStream_t s = case_stream(0);
    for (int i = 0; i < 2; i++) {
        cublasLtHandle_t h = NULL;
        cublasLtMatmulDescOpaque_t op;
        cublasLtMatrixLayoutOpaque_t l;
        void *a = case_device(&x, 4), *b = case_device(&one, 4), *d = case_device(NULL, 4);

        CASE_OK(cublasLtCreate(&h));
        CASE_OK(cublasLtMatmulDescInit(&op, types[i], CUDA_R_32F));
        CASE_OK(cublasLtMatrixLayoutInit(&l, CUDA_R_32F, 1, 1, 1));
        CASE_OK(cublasLtMatmul(h, &op, &one, a, &l, b, &l, &zero, d, &l, d, &l, NULL, NULL, 0, s));
        CASE_OK(cudaStreamSynchronize(s));
        case_fetch(&y[i], d, 4);
        CASE_OK(cublasLtDestroy(h));
    }
    assert_true(y[0] == x);
    assert_true(y[1] == 1.0f);
}

/* ---- planted mistakes ------------------------------------------------------------------------------------------------ */

enum {
    MISTAKE_NONE,
    SHORT_LINES,
    SHAPES,
    BATCHES,
    OVERLAPPING_BATCH,
    SHORT_WORKSPACE,
    LYING_WORKSPACE,
    FOREIGN_ALGORITHM,
    CROOKED,
    NO_BIAS,
    SHORT_BIAS,
    WRONG_STREAM,
    MEMORY_OF_ANOTHER,
    SHORT_OUTPUT,
    IN_PLACE,
    DEAD_LAYOUT,
    DEAD_HANDLE,
    UNKNOWN_ATTRIBUTE,
    WRONG_ATTRIBUTE_SIZE
};

static void plant(void *user)
{
    const int mistake = *(int *)user;
    const gemm_case k = { .members = MEMBERS,
                          .epilogue = CUBLASLT_EPILOGUE_BIAS,
                          .alpha = 1,
                          .heuristic = true,
                          .bias_stride = M };
    shape sa = shape_of(&k, M, K), sb = shape_of(&k, K, N), sd = shape_of(&k, M, N);
    const size_t bytes_d = (size_t)(sd.stride * MEMBERS - LD_EXTRA) * 4;
    const uint64_t most = 1 << 20;
    cublasLtMatmulHeuristicResult_t found[2] = { 0 };
    cublasLtMatmulPreference_t wish = NULL;
    cublasLtHandle_t h = NULL;
    int count = 0;

    case_reset("4M,4M", 3);
    cudaStream_t other = case_stream(1);
    char *far = case_device(NULL, COUNT * 4);
    cudaStream_t s = case_stream(0);
    char *a = case_device(NULL, COUNT * 4), *b = case_device(NULL, COUNT * 4);
    char *d = case_device(NULL, mistake == SHORT_OUTPUT ? bytes_d - 4 : bytes_d);
    float *bias = case_device(NULL, (M * MEMBERS - (mistake == SHORT_BIAS)) * 4);
    CASE_OK(cublasLtCreate(&h));
    cublasLtMatmulDesc_t op = operation(&k, mistake == NO_BIAS ? NULL : bias);
    if (mistake == SHORT_LINES)
        sb.ld = K - 1;
    if (mistake == SHAPES)
        sb.cols = N + 1;
    if (mistake == OVERLAPPING_BATCH)
        sd.stride = sd.ld;
    cublasLtMatrixLayout_t la = layout(&k, sa), lb = layout(&k, sb), ld = layout(&k, sd);
    const int32_t two = 2;
    if (mistake == BATCHES)
        CASE_OK(cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &two, sizeof two));
    if (mistake == UNKNOWN_ATTRIBUTE)
        CASE_OK(
            cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, &most, sizeof most));
    if (mistake == WRONG_ATTRIBUTE_SIZE)
        CASE_OK(cublasLtMatrixLayoutSetAttribute(lb, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &most, sizeof most));
    CASE_OK(cublasLtMatmulPreferenceCreate(&wish));
    CASE_OK(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                                 sizeof most));
    CASE_OK(cublasLtMatmulAlgoGetHeuristic(h, op, la, lb, ld, ld, wish, 2, found, &count));
    assert_int_equal(count, 2);
    size_t bytes = found[0].workspaceSize;
    void *workspace = case_device(NULL, mistake == LYING_WORKSPACE ? bytes - 16 : bytes);
    if (mistake == SHORT_WORKSPACE)
        bytes -= 16;
    if (mistake == FOREIGN_ALGORITHM) {
        const int64_t ld_a = sa.ld + 1;
        CASE_OK(cublasLtMatrixLayoutSetAttribute(la, CUBLASLT_MATRIX_LAYOUT_LD, &ld_a, sizeof ld_a));
    }
    if (mistake == DEAD_LAYOUT)
        CASE_OK(cublasLtMatrixLayoutDestroy(lb));
    if (mistake == DEAD_HANDLE)
        CASE_OK(cublasLtDestroy(h));
    char *at_a = mistake == MEMORY_OF_ANOTHER ? far : mistake == CROOKED ? a + 16 : a;
    char *at_d = mistake == IN_PLACE ? b : d;
    CASE_OK(cublasLtMatmul(h, op, &k.alpha, at_a, la, b, lb, &k.beta, at_d, ld, at_d, ld, &found[0].algo,
                           workspace, bytes, mistake == WRONG_STREAM ? other : s));
    CASE_OK(cudaStreamSynchronize(s));
}

static void test_mistakes_are_caught(void **state)
{
    (void)state;
    static const case_mistake list[] = {
        { SHORT_LINES, "wrong leading dimension of B" },
        { SHAPES, "shapes do not fit" },
        { BATCHES, "batches of 3, 2, 3 and 3" },
        { OVERLAPPING_BATCH, "matrices of D overlap" },
        { SHORT_WORKSPACE, "workspace too small" },
        { LYING_WORKSPACE, "workspace" },
        { FOREIGN_ALGORITHM, "another problem" },
        { CROOKED, "A 0x" },
        { NO_BIAS, "adds a bias" },
        { SHORT_BIAS, "bias" },
        { WRONG_STREAM, "wrong stream" },
        { MEMORY_OF_ANOTHER, "A" },
        { SHORT_OUTPUT, "D" },
        { IN_PLACE, "overlap" },
        { DEAD_LAYOUT, "layout" },
        { DEAD_HANDLE, "handle" },
        { UNKNOWN_ATTRIBUTE, "is not known here" },
        { WRONG_ATTRIBUTE_SIZE, "the attribute has 4 bytes, 8 were given" },
    };

    case_check_mistakes(plant, list, sizeof list / sizeof *list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_loops),
        cmocka_unit_test(test_compute_types),
        cmocka_unit_test(test_mistakes_are_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
