/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in of cuSPARSE against plain loops, and mistakes of its callers, each of which must be caught. */
#include "tests/hostcuda/hostcuda_case.h"

#include <cusparse.h>

#include <math.h>

enum { ROWS = 37, COLS = 29, MAX_NNZ = ROWS * 6, WIDTH = 5, LD = 7, MEMBERS = 3 };

typedef struct csr_case {
    int64_t nnz;
    int64_t wide[ROWS + 1];
    int32_t offsets[ROWS + 1], columns[MAX_NNZ];
    float values[MAX_NNZ];
} csr_case;

static csr_case random_csr(unsigned seed)
{
    csr_case m = { 0 };
    unsigned state = seed;

    for (int r = 0; r < ROWS; r++) {
        state = state * 1664525u + 1013904223u;
        const int degree = r % 5 == 0 ? 0 : (int)(state >> 24) % 7;
        for (int e = 0; e < degree; e++) {
            state = state * 1664525u + 1013904223u;
            m.columns[m.nnz++] = (int32_t)((state >> 16) % COLS);
        }
        m.offsets[r + 1] = (int32_t)m.nnz;
        m.wide[r + 1] = m.nnz;
    }
    case_fill(m.values, m.nnz, &state);
    return m;
}

typedef struct spmm_case {
    bool wide, trans_a, by_column, preprocess, on_device;
    int members;
    cusparseSpMMAlg_t algorithm;
    float alpha, beta;
} spmm_case;

/* c (out rows, members, WIDTH) from b (in rows, members, WIDTH), both with rows LD * members apart, side by side */
static int64_t at(const spmm_case *k, int64_t rows, int64_t member, int64_t r, int64_t c)
{
    return k->by_column ? member * rows * WIDTH + c * rows + r : r * LD * k->members + member * LD + c;
}

static void expected(const spmm_case *k, const csr_case *m, const float *b, float *c)
{
    const int64_t in = k->trans_a ? ROWS : COLS, out = k->trans_a ? COLS : ROWS;

    for (int64_t p = 0; p < k->members; p++)
        for (int64_t j = 0; j < WIDTH; j++) {
            float sums[ROWS + COLS] = { 0 };

            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t e = m->wide[r]; e < m->wide[r + 1]; e++) {
                    const int64_t from = k->trans_a ? r : m->columns[e];

                    sums[k->trans_a ? m->columns[e] : r] += m->values[e] * b[at(k, in, p, from, j)];
                }
            for (int64_t r = 0; r < out; r++) {
                float *to = &c[at(k, out, p, r, j)];

                *to = k->alpha * sums[r] + k->beta * *to;
            }
        }
}

static cusparseDnMatDescr_t dense(const spmm_case *k, int64_t rows, void *data)
{
    cusparseDnMatDescr_t d = NULL;

    CASE_OK(cusparseCreateDnMat(&d, rows, WIDTH, k->by_column ? rows : LD * k->members, data, CUDA_R_32F,
                                k->by_column ? CUSPARSE_ORDER_COL : CUSPARSE_ORDER_ROW));
    if (k->members > 1)
        CASE_OK(cusparseDnMatSetStridedBatch(d, k->members, k->by_column ? rows * WIDTH : LD));
    return d;
}

static void run_spmm(const spmm_case *k, const csr_case *m, const float *b, float *c, int64_t count_b,
                     int64_t count_c)
{
    const int64_t in = k->trans_a ? ROWS : COLS, out = k->trans_a ? COLS : ROWS;
    const cusparseOperation_t op =
        k->trans_a ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
    cudaStream_t s = case_stream(0);
    cusparseHandle_t h = NULL;
    cusparseSpMatDescr_t a = NULL;
    void *offsets =
        k->wide ? case_device(m->wide, sizeof m->wide) : case_device(m->offsets, sizeof m->offsets);
    void *columns = case_device(m->columns, sizeof m->columns);
    void *values = case_device(m->values, sizeof m->values);
    void *dev_b = case_device(b, (size_t)count_b * 4), *dev_c = case_device(c, (size_t)count_c * 4);
    const float scalars[2] = { k->alpha, k->beta };
    float *on_device = case_device(scalars, sizeof scalars);
    const float *alpha = k->on_device ? on_device : scalars, *beta = alpha + 1;
    void *buffer = NULL;
    size_t bytes = 0;

    CASE_OK(cusparseCreate(&h));
    CASE_OK(cusparseSetStream(h, s));
    CASE_OK(
        cusparseSetPointerMode(h, k->on_device ? CUSPARSE_POINTER_MODE_DEVICE : CUSPARSE_POINTER_MODE_HOST));
    CASE_OK(cusparseCreateCsr(&a, ROWS, COLS, m->nnz, offsets, columns, values,
                              k->wide ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    cusparseDnMatDescr_t mat_b = dense(k, in, dev_b), mat_c = dense(k, out, dev_c);
    CASE_OK(cusparseSpMM_bufferSize(h, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, mat_b, beta, mat_c,
                                    CUDA_R_32F, k->algorithm, &bytes));
    buffer = case_device(NULL, bytes);
    if (k->preprocess)
        CASE_OK(cusparseSpMM_preprocess(h, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, mat_b, beta, mat_c,
                                        CUDA_R_32F, k->algorithm, buffer));
    CASE_OK(cusparseSpMM(h, op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, a, mat_b, beta, mat_c, CUDA_R_32F,
                         k->algorithm, buffer));
    CASE_OK(cudaStreamSynchronize(s));
    case_fetch(c, dev_c, (size_t)count_c * 4);
    CASE_OK(cusparseDestroyDnMat(mat_b));
    CASE_OK(cusparseDestroyDnMat(mat_c));
    CASE_OK(cusparseDestroySpMat(a));
    CASE_OK(cusparseDestroy(h));
    CASE_OK(cudaStreamDestroy(s));
}

static void test_equal_to_loops(void **state)
{
    (void)state;
    static const spmm_case cases[] = {
        { .members = 1, .algorithm = CUSPARSE_SPMM_CSR_ALG3, .alpha = 1 },
        { .members = 1, .algorithm = CUSPARSE_SPMM_CSR_ALG3, .alpha = 2, .beta = -1, .preprocess = true },
        { .members = 1, .wide = true, .algorithm = CUSPARSE_SPMM_CSR_ALG2, .alpha = 1, .beta = 1 },
        { .members = MEMBERS, .algorithm = CUSPARSE_SPMM_CSR_ALG2, .alpha = -1, .preprocess = true },
        { .members = MEMBERS, .by_column = true, .algorithm = CUSPARSE_SPMM_CSR_ALG1, .alpha = 1, .beta = 2 },
        { .members = 1,
          .by_column = true,
          .on_device = true,
          .algorithm = CUSPARSE_SPMM_ALG_DEFAULT,
          .alpha = 3,
          .beta = 1 },
        { .members = 2, .trans_a = true, .algorithm = CUSPARSE_SPMM_CSR_ALG1, .alpha = 1, .beta = 1 },
    };
    hostcuda_counts counts;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spmm_case *k = &cases[i];
        const csr_case m = random_csr((unsigned)i + 1);
        enum { COUNT = (ROWS + COLS) * LD * MEMBERS };
        float b[COUNT], c[COUNT], right[COUNT];
        unsigned draw = (unsigned)i;

        case_reset("4M", (int)i + 1);
        case_fill(b, COUNT, &draw);
        case_fill(c, COUNT, &draw);
        memcpy(right, c, sizeof right);
        expected(k, &m, b, right);
        run_spmm(k, &m, b, c, COUNT, COUNT);
        for (int64_t j = 0; j < COUNT; j++)
            if (c[j] != right[j])
                fail_msg("case %d: value %d is %g instead of %g", (int)i, (int)j, (double)c[j],
                         (double)right[j]);
        hostcuda_get_counts(&counts);
        assert_int_equal(counts.handles, 0);
        assert_int_equal(counts.launches, k->preprocess ? 2 : 1);
    }
}

/* ---- planted mistakes ------------------------------------------------------------------------------------------------ */

enum {
    MISTAKE_NONE,
    SHORT_LINES,
    SHAPES,
    SHORT_BUFFER,
    NO_BUFFER,
    OTHER_BUFFER,
    SPOILT_BUFFER,
    TOO_MANY_ENTRIES,
    WRAPPED_OFFSET,
    WRONG_COLUMN,
    WRONG_STREAM,
    MEMORY_OF_ANOTHER,
    HOST_MEMORY,
    SHORT_OUTPUT,
    DEAD_MATRIX,
    DEAD_HANDLE,
    CROOKED,
    IN_PLACE,
    DEVICE_NOT_CURRENT
};

static void plant(void *user)
{
    const int mistake = *(int *)user;
    csr_case m = random_csr(5);
    float b[COLS * LD] = { 0 }, c[ROWS * LD] = { 0 };
    const float one = 1, zero = 0;
    cusparseHandle_t h = NULL;
    cusparseSpMatDescr_t a = NULL;
    cusparseDnMatDescr_t mat_b = NULL, mat_c = NULL;
    size_t bytes = 0;

    case_reset("4M,4M", 3);
    cudaStream_t other = case_stream(1);
    void *far = case_device(b, sizeof b);
    cudaStream_t s = case_stream(0);
    if (mistake == WRAPPED_OFFSET)
        m.offsets[3] = -4;
    if (mistake == WRONG_COLUMN)
        m.columns[7] = COLS;
    void *offsets = case_device(m.offsets, sizeof m.offsets),
         *columns = case_device(m.columns, sizeof m.columns);
    void *values = case_device(m.values, sizeof m.values);
    char *dev_b = case_device(c, sizeof c),
         *dev_c = case_device(c, sizeof c - (mistake == SHORT_OUTPUT ? 64 : 0));
    void *at_b = mistake == MEMORY_OF_ANOTHER ? far : mistake == HOST_MEMORY ? (void *)b : dev_b;
    CASE_OK(cusparseCreate(&h));
    CASE_OK(cusparseSetStream(h, mistake == WRONG_STREAM ? other : s));
    CASE_OK(cusparseCreateCsr(&a, ROWS, COLS, mistake == TOO_MANY_ENTRIES ? INT64_C(1) << 31 : m.nnz, offsets,
                              columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    CASE_OK(cusparseCreateDnMat(&mat_b, COLS, WIDTH, mistake == SHORT_LINES ? WIDTH - 1 : LD,
                                mistake == CROOKED ? (char *)at_b + 2 : at_b, CUDA_R_32F,
                                CUSPARSE_ORDER_ROW));
    CASE_OK(cusparseCreateDnMat(&mat_c, mistake == SHAPES ? ROWS - 1 : ROWS, WIDTH, LD,
                                mistake == IN_PLACE ? dev_b : dev_c, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    if (mistake == DEAD_MATRIX)
        CASE_OK(cusparseDestroyDnMat(mat_b));
    if (mistake == DEAD_HANDLE)
        CASE_OK(cusparseDestroy(h));
#define ARGUMENTS                                                                                            \
    h, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, mat_b, &zero, mat_c,     \
        CUDA_R_32F, CUSPARSE_SPMM_CSR_ALG2
    CASE_OK(cusparseSpMM_bufferSize(ARGUMENTS, &bytes));
    void *buffer = case_device(NULL, mistake == SHORT_BUFFER ? bytes - 8 : bytes),
         *spare = case_device(NULL, bytes);
    if (mistake == NO_BUFFER)
        buffer = NULL;
    CASE_OK(cusparseSpMM_preprocess(ARGUMENTS, buffer));
    if (mistake == SPOILT_BUFFER)
        CASE_OK(cudaMemsetAsync(buffer, 0, 16, s));
    if (mistake == DEVICE_NOT_CURRENT)
        CASE_OK(cudaSetDevice(1));
    CASE_OK(cusparseSpMM(ARGUMENTS, mistake == OTHER_BUFFER ? spare : buffer));
    CASE_OK(cudaStreamSynchronize(s));
}

static void test_mistakes_are_caught(void **state)
{
    (void)state;
    static const case_mistake list[] = {
        { SHORT_LINES, "wrong leading dimension" },
        { SHAPES, "shapes do not fit" },
        { SHORT_BUFFER, "workspace" },
        { NO_BUFFER, "workspace too small" },
        { OTHER_BUFFER, "preprocess was called with buffer" },
        { SPOILT_BUFFER, "does not hold what cusparseSpMM_preprocess left" },
        { TOO_MANY_ENTRIES, "int overflow of offsets" },
        { WRAPPED_OFFSET, "int overflow of offsets" },
        { WRONG_COLUMN, "column 29 of entry 7" },
        { WRONG_STREAM, "wrong stream" },
        { MEMORY_OF_ANOTHER, "B" },
        { HOST_MEMORY, "B" },
        { SHORT_OUTPUT, "C" },
        { DEAD_MATRIX, "dense matrix B" },
        { DEAD_HANDLE, "the handle" },
        { CROOKED, "not aligned to 4 bytes" },
        { IN_PLACE, "overlap" },
        { DEVICE_NOT_CURRENT, "device 1 is current" },
    };

    case_check_mistakes(plant, list, sizeof list / sizeof *list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_loops),
        cmocka_unit_test(test_mistakes_are_caught),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
