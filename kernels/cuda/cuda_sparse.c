/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products by cuSPARSE's generic interface: Y = alpha A X + beta Y, row-major, one call a block of members.
 *
 * The library serves plans over all rows with weights of their own; an unweighted matrix would need a value an arc, which our
 * kernels do without. Descriptors, the work buffer and the analysis (preprocess) are made once for a width and its row strides,
 * and kept: each with a descriptor of the matrix of its own, for an analysis belongs to that and to its buffer. CSR_ALG3 is the
 * algorithm that gives equal bits from run to run; without determinism CSR_ALG2, which is meant for row-major operands.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

enum { MIN_COLUMNS = 16 }; /* narrower rows leave lanes of a warp idle there */

typedef struct sparse_entry {
    const gnt_stream *stream;
    int64_t columns, row_stride_x, row_stride_y;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t x, y;
    gnt_buffer *work;
    cusparseSpMMAlg_t algorithm;
} sparse_entry;

struct cuda_sparse {
    sparse_entry **list;
    int64_t count, capacity;
};

static void free_entry(sparse_entry *e)
{
    if (e == NULL)
        return;
    if (e->a != NULL)
        (void)cusparseDestroySpMat(e->a);
    if (e->x != NULL)
        (void)cusparseDestroyDnMat(e->x);
    if (e->y != NULL)
        (void)cusparseDestroyDnMat(e->y);
    if (e->work != NULL)
        cuda_free(e->work);
    gnti_free(e);
}

void cuda_sparse_free(struct cuda_sparse *sparse)
{
    if (sparse == NULL)
        return;
    for (int64_t i = 0; i < sparse->count; i++)
        free_entry(sparse->list[i]);
    gnti_free(sparse->list);
    gnti_free(sparse);
}

gnt_status cuda_sparse_create(struct cuda_sparse **out)
{
    return gnti_calloc_bytes((void **)out, sizeof **out);
}

/* Members of a block side by side: one matrix of all their columns. */
static bool is_closed(const gnt_mat_view *v)
{
    return v->dtype == GNT_F32 && (v->members == 1 || v->block_members == 1 || v->member_stride == v->width);
}

static int64_t block_of(const gnt_mat_view *v)
{
    return gnti_min_i64(v->block_members, v->members);
}

bool cuda_sparse_fits(const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    const cuda_csr *csr = &p->csr;

    return a->reduce == GNT_SPMM_SUM && a->self_kind == GNT_SELF_NONE && a->src_scale == NULL &&
           a->arc_weight == NULL && csr->weights != NULL && csr->rows == NULL &&
           csr->num_work == csr->num_rows && csr->offsets32 != NULL && csr->num_arcs > 0 &&
           a->x.members == a->y.members && block_of(&a->x) == block_of(&a->y) && is_closed(&a->x) &&
           is_closed(&a->y) && block_of(&a->y) * a->y.width >= MIN_COLUMNS &&
           !cuda_needs_own_product(&a->y, &a->epilogue, a->beta);
}

static gnt_status make_descriptors(const gnt_spmm_plan *p, const gnt_spmm_args *a, sparse_entry *e)
{
    gnt_status st = GNT_OK;
    const cuda_csr *csr = &p->csr;
    void *x = cuda_address(a->x.buf, a->x.offset), *y = cuda_address(a->y.buf, a->y.offset);

    /* the library takes pointers to what it only reads without const */
    GNT_TRY_CUSPARSE(cusparseCreateCsr(&e->a, csr->num_rows, csr->num_cols, csr->num_arcs,
                                       (void *)(uintptr_t)csr->offsets32, (void *)(uintptr_t)csr->columns,
                                       (void *)(uintptr_t)csr->weights, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    GNT_TRY_CUSPARSE(cusparseCreateDnMat(&e->x, csr->num_cols, e->columns, e->row_stride_x, x, CUDA_R_32F,
                                         CUSPARSE_ORDER_ROW));
    GNT_TRY_CUSPARSE(cusparseCreateDnMat(&e->y, csr->num_rows, e->columns, e->row_stride_y, y, CUDA_R_32F,
                                         CUSPARSE_ORDER_ROW));
done:
    return st;
}

/* Work buffer and analysis. */
static gnt_status prepare(gnt_stream *s, const gnt_spmm_args *a, sparse_entry *e)
{
    gnt_status st = GNT_OK;
    cusparseHandle_t handle = NULL;
    size_t bytes = 0;

    GNT_TRY(cuda_sparse_handle(s, &handle));
    GNT_TRY_CUSPARSE(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, e->a, e->x,
                                             &a->beta, e->y, CUDA_R_32F, e->algorithm, &bytes));
    GNT_TRY(cuda_alloc(s->head.device, bytes, &e->work));
    GNT_TRY_CUSPARSE(cusparseSpMM_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, e->a, e->x,
                                             &a->beta, e->y, CUDA_R_32F, e->algorithm, e->work->device));
done:
    return st;
}

static gnt_status make_entry(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a,
                             const sparse_entry *key, sparse_entry **out)
{
    gnt_status st = GNT_OK;
    sparse_entry *e = NULL;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "a sparse product was not analysed before its step was captured");
    GNT_TRY(gnti_grow_array(&p->sparse->list, &p->sparse->capacity, p->sparse->count + 1));
    GNT_TRY(gnti_calloc_bytes((void **)&e, sizeof *e));
    *e = *key;
    e->algorithm =
        s->head.device->determinism == GNTI_DET_OFF ? CUSPARSE_SPMM_CSR_ALG2 : CUSPARSE_SPMM_CSR_ALG3;
    GNT_TRY(make_descriptors(p, a, e));
    GNT_TRY(prepare(s, a, e));
    p->sparse->list[p->sparse->count++] = e;
    *out = e;
    e = NULL; /* handed over */
done:
    free_entry(e);
    return st;
}

static gnt_status find_entry(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, int64_t columns,
                             sparse_entry **out)
{
    const sparse_entry key = { .stream = s,
                               .columns = columns,
                               .row_stride_x = gnti_max_i64(a->x.row_stride, columns),
                               .row_stride_y = gnti_max_i64(a->y.row_stride, columns) };

    for (int64_t i = 0; i < p->sparse->count; i++) {
        sparse_entry *e = p->sparse->list[i];

        if (e->stream == s && e->columns == columns && e->row_stride_x == key.row_stride_x &&
            e->row_stride_y == key.row_stride_y) {
            *out = e;
            return GNT_OK;
        }
    }
    return make_entry(s, p, a, &key, out);
}

gnt_status cuda_sparse_run(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t g = block_of(&a->y);
    float *x = cuda_address(a->x.buf, a->x.offset), *y = cuda_address(a->y.buf, a->y.offset);

    for (int64_t m = 0; m < a->y.members; m += g) {
        const int64_t columns = gnti_min_i64(g, a->y.members - m) * a->y.width;
        sparse_entry *e = NULL;

        GNT_TRY(find_entry(s, p, a, columns, &e));
        GNT_TRY_CUSPARSE(cusparseDnMatSetValues(e->x, x + m / g * a->x.block_stride));
        GNT_TRY_CUSPARSE(cusparseDnMatSetValues(e->y, y + m / g * a->y.block_stride));
        GNT_TRY_CUSPARSE(cusparseSpMM(s->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, e->a, e->x, &a->beta, e->y,
                                      CUDA_R_32F, e->algorithm, e->work->device));
    }
done:
    return st;
}
