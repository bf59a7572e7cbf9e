/* SPDX-License-Identifier: Apache-2.0 */
/* Dense products by cuBLASLt: descriptors, layouts and the algorithm are made once a shape and kept with the stream.
 *
 * Rows lie one after another here, columns do there: what is read as a column-major matrix is the transpose, and
 *   C = op(A) op(B)  is  C' = op(B)' op(A)',  so that the operands change places and nothing is moved.
 * The bias of a column of C is then that of a row of C', as the library's epilogue has it. Sums are float32: TF32 is never used.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda_product.h"

#include <string.h>

enum { WORKSPACE_BYTES = 32 << 20, MAX_ALIGNMENT = 256 };

typedef struct made_product {
    cuda_product key;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c; /* a: the first operand there, our b */
    cublasLtMatmulAlgo_t algo;
    size_t workspace_bytes;
} made_product;

struct cuda_product_cache {
    made_product **list;
    int64_t count, capacity;
};

static void free_made(made_product *m)
{
    if (m == NULL)
        return;
    if (m->desc != NULL)
        (void)cublasLtMatmulDescDestroy(m->desc);
    if (m->a != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->a);
    if (m->b != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->b);
    if (m->c != NULL)
        (void)cublasLtMatrixLayoutDestroy(m->c);
    gnti_free(m);
}

void cuda_products_free(struct cuda_product_cache *products)
{
    if (products == NULL)
        return;
    for (int64_t i = 0; i < products->count; i++)
        free_made(products->list[i]);
    gnti_free(products->list);
    gnti_free(products);
}

static int32_t alignment_of(const void *address)
{
    int32_t bytes = sizeof(float);

    while (bytes < MAX_ALIGNMENT && (uintptr_t)address % (uintptr_t)(2 * bytes) == 0)
        bytes *= 2;
    return bytes;
}

static gnt_status make_layout(int64_t rows, int64_t cols, int64_t row_stride, int32_t batch, int64_t stride,
                              cublasLtMatrixLayout_t *out)
{
    gnt_status st = GNT_OK;

    GNT_TRY_CUBLAS(cublasLtMatrixLayoutCreate(out, CUDA_R_32F, (uint64_t)cols, (uint64_t)rows, row_stride));
    GNT_TRY_CUBLAS(
        cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
    GNT_TRY_CUBLAS(cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                    &stride, sizeof stride));
done:
    return st;
}

static gnt_status set_epilogue(made_product *m, const float *bias)
{
    gnt_status st = GNT_OK;
    const cuda_product *p = &m->key;
    const cublasLtEpilogue_t epilogue = p->has_bias
                                            ? (p->relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS)
                                            : (p->relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT);

    GNT_TRY_CUBLAS(
        cublasLtMatmulDescSetAttribute(m->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
    if (!p->has_bias)
        return GNT_OK;
    GNT_TRY_CUBLAS(
        cublasLtMatmulDescSetAttribute(m->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    GNT_TRY_CUBLAS(cublasLtMatmulDescSetAttribute(m->desc, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE,
                                                  &p->stride_bias, sizeof p->stride_bias));
done:
    return st;
}

static gnt_status make_descriptors(made_product *m)
{
    gnt_status st = GNT_OK;
    const cuda_product *p = &m->key;
    const cublasOperation_t first = p->trans_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                            second = p->trans_a ? CUBLAS_OP_T : CUBLAS_OP_N;

    GNT_TRY_CUBLAS(cublasLtMatmulDescCreate(&m->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    GNT_TRY_CUBLAS(
        cublasLtMatmulDescSetAttribute(m->desc, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    GNT_TRY_CUBLAS(
        cublasLtMatmulDescSetAttribute(m->desc, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    GNT_TRY(make_layout(p->trans_b ? p->cols : p->inner, p->trans_b ? p->inner : p->cols, p->row_stride_b,
                        p->batch, p->stride_b, &m->a));
    GNT_TRY(make_layout(p->trans_a ? p->inner : p->rows, p->trans_a ? p->rows : p->inner, p->row_stride_a,
                        p->batch, p->stride_a, &m->b));
    GNT_TRY(make_layout(p->rows, p->cols, p->row_stride_c, p->batch, p->stride_c, &m->c));
done:
    return st;
}

static gnt_status set_preference(cublasLtMatmulPreference_t pref, cublasLtMatmulPreferenceAttributes_t what,
                                 int32_t bytes)
{
    gnt_status st = GNT_OK;
    const uint32_t value = (uint32_t)bytes;

    GNT_TRY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(pref, what, &value, sizeof value));
done:
    return st;
}

/* The library's first proposal for what it is told of shapes, alignments and memory. */
static gnt_status choose_algorithm(cublasLtHandle_t blas, made_product *m)
{
    gnt_status st = GNT_OK;
    cublasLtMatmulPreference_t pref = NULL;
    cublasLtMatmulHeuristicResult_t result;
    const uint64_t workspace = WORKSPACE_BYTES;
    int found = 0;

    GNT_TRY_CUBLAS(cublasLtMatmulPreferenceCreate(&pref));
    GNT_TRY_CUBLAS(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                        &workspace, sizeof workspace));
    GNT_TRY(set_preference(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, m->key.align_b));
    GNT_TRY(set_preference(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, m->key.align_a));
    GNT_TRY(set_preference(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, m->key.align_c));
    GNT_TRY(set_preference(pref, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, m->key.align_c));
    memset(&result, 0, sizeof result);
    GNT_TRY_CUBLAS(
        cublasLtMatmulAlgoGetHeuristic(blas, m->desc, m->a, m->b, m->c, m->c, pref, 1, &result, &found));
    GNT_CHECK(found > 0, GNT_ERR_UNSUPPORTED,
              "cuBLASLt has no algorithm for %lld x %lld x %lld, %d at a time", (long long)m->key.rows,
              (long long)m->key.cols, (long long)m->key.inner, m->key.batch);
    m->algo = result.algo;
    m->workspace_bytes = result.workspaceSize;
done:
    if (pref != NULL)
        (void)cublasLtMatmulPreferenceDestroy(pref);
    return st;
}

static gnt_status find_product(gnt_stream *s, const cuda_product *p, made_product **out)
{
    gnt_status st = GNT_OK;
    made_product *m = NULL;
    cublasLtHandle_t blas = NULL;

    if (s->products == NULL)
        GNT_TRY(gnti_calloc_bytes((void **)&s->products, sizeof *s->products));
    for (int64_t i = 0; i < s->products->count; i++) {
        if (memcmp(&s->products->list[i]->key, p, sizeof *p) == 0) {
            *out = s->products->list[i];
            return GNT_OK;
        }
    }
    GNT_TRY(cuda_blas(s, &blas));
    GNT_TRY(gnti_grow_array(&s->products->list, &s->products->capacity, s->products->count + 1));
    GNT_TRY(gnti_calloc_bytes((void **)&m, sizeof *m));
    memcpy(&m->key, p, sizeof *p); /* with its padding: it is compared whole */
    GNT_TRY(make_descriptors(m));
    GNT_TRY(set_epilogue(m, NULL));
    GNT_TRY(choose_algorithm(blas, m));
    s->products->list[s->products->count++] = m;
    *out = m;
    m = NULL; /* handed over */
done:
    free_made(m);
    return st;
}

gnt_status cuda_product_run(gnt_stream *s, cuda_product *p, const float *a, const float *b, float *c,
                            const float *bias, const float factors[2])
{
    gnt_status st = GNT_OK;
    made_product *m = NULL;
    void *workspace = NULL;

    p->align_a = alignment_of(a);
    p->align_b = alignment_of(b);
    p->align_c = alignment_of(c);
    if (p->has_bias && alignment_of(bias) < p->align_c) /* the epilogue reads it as wide as it writes */
        p->align_c = alignment_of(bias);
    GNT_TRY(find_product(s, p, &m));
    if (p->has_bias)
        GNT_TRY(set_epilogue(m, bias));
    if (m->workspace_bytes > 0)
        GNT_TRY(cuda_workspace(s, m->workspace_bytes, &workspace));
    GNT_TRY_CUBLAS(cublasLtMatmul(s->blas, m->desc, &factors[0], b, m->a, a, m->b, &factors[1], c, m->c, c,
                                  m->c, &m->algo, workspace, m->workspace_bytes, s->stream));
done:
    return st;
}
