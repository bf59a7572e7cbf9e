/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse products by cuSPARSE's generic interface: Y = alpha A X + beta Y, row-major, one call a block of members and a block of
 * rows (cuda_row_blocks.c: one, but for graphs of more arcs than a 32-bit offset counts).
 *
 * The library serves plans over all rows with weights of their own; an unweighted matrix would need a value an arc, which our
 * kernels do without. Descriptors, the work buffer and the analysis (preprocess) are made once for a way, a width and its row
 * strides, and kept: each with a descriptor of the matrix of its own, for an analysis belongs to that and to its buffer.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

enum { MIN_COLUMNS = 16 }; /* narrower rows leave lanes of a warp idle there */

typedef struct sparse_piece { /* of a block of rows */
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t y;
    gnt_buffer *work;
} sparse_piece;

typedef struct sparse_entry {
    const gnt_stream *stream;
    cuda_way way;
    int64_t columns, row_stride_x, row_stride_y;
    cusparseDnMatDescr_t x;
    sparse_piece *pieces; /* (row blocks) */
    int64_t num_pieces;
} sparse_entry;

struct cuda_sparse {
    sparse_entry **list;
    int64_t count, capacity;
    cuda_row_blocks blocks;
};

static cusparseSpMMAlg_t algorithm_of(cuda_way way)
{
    return way == CUDA_WAY_ALG1   ? CUSPARSE_SPMM_CSR_ALG1
           : way == CUDA_WAY_ALG2 ? CUSPARSE_SPMM_CSR_ALG2
                                  : CUSPARSE_SPMM_CSR_ALG3;
}

static void free_entry(sparse_entry *e)
{
    if (e == NULL)
        return;
    for (int64_t i = 0; i < e->num_pieces; i++) {
        const sparse_piece *k = &e->pieces[i];

        if (k->a != NULL)
            (void)cusparseDestroySpMat(k->a);
        if (k->y != NULL)
            (void)cusparseDestroyDnMat(k->y);
        if (k->work != NULL)
            cuda_free(k->work);
    }
    if (e->x != NULL)
        (void)cusparseDestroyDnMat(e->x);
    gnti_free(e->pieces);
    gnti_free(e);
}

void cuda_sparse_drop(const gnt_spmm_plan *p, cuda_way way)
{
    struct cuda_sparse *sparse = p->sparse;
    int64_t kept = 0;

    for (int64_t i = 0; i < sparse->count; i++) {
        if (sparse->list[i]->way == way)
            free_entry(sparse->list[i]);
        else
            sparse->list[kept++] = sparse->list[i];
    }
    sparse->count = kept;
}

void cuda_sparse_free(struct cuda_sparse *sparse)
{
    if (sparse == NULL)
        return;
    for (int64_t i = 0; i < sparse->count; i++)
        free_entry(sparse->list[i]);
    cuda_row_blocks_free(&sparse->blocks);
    gnti_free(sparse->list);
    gnti_free(sparse);
}

static bool has_all_rows(const gnt_spmm_plan *p)
{
    return p->csr.rows == NULL && p->csr.num_work == p->csr.num_rows;
}

gnt_status cuda_sparse_create(gnt_stream *s, gnt_spmm_plan *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_bytes((void **)&p->sparse, sizeof *p->sparse));
    if (p->csr.weights != NULL && has_all_rows(p))
        GNT_TRY(cuda_row_blocks_create(s, p, &p->sparse->blocks));
done:
    return st;
}

bool cuda_sparse_in_blocks(const gnt_spmm_plan *p)
{
    return p->csr.offsets32 == NULL;
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

int64_t cuda_sparse_columns(const gnt_spmm_args *a)
{
    return block_of(&a->y) * a->y.width;
}

const char *cuda_sparse_refuses(const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    if (a->reduce != GNT_SPMM_SUM)
        return "largest terms";
    if (p->csr.weights == NULL || a->arc_weight != NULL)
        return a->arc_weight != NULL ? "weights by member" : "no weights";
    if (a->self_kind != GNT_SELF_NONE || a->src_scale != NULL)
        return "self terms or scaled sources";
    if (!has_all_rows(p))
        return "some of the rows";
    if (p->sparse->blocks.count == 0)
        return p->csr.num_arcs == 0 ? "no arcs" : "a row of more arcs than 32 bits count";
    if (a->x.members != a->y.members || block_of(&a->x) != block_of(&a->y) || !is_closed(&a->x) ||
        !is_closed(&a->y))
        return "members that do not lie alike";
    if (cuda_sparse_columns(a) < MIN_COLUMNS)
        return "less than 16 columns";
    return cuda_needs_own_product(&a->y, &a->epilogue, a->beta) ? "an epilogue that reads the result" : NULL;
}

static gnt_status make_piece(const gnt_spmm_plan *p, const gnt_spmm_args *a, const cuda_row_block *b,
                             const sparse_entry *e, sparse_piece *k)
{
    gnt_status st = GNT_OK;
    const cuda_csr *csr = &p->csr;
    float *y = cuda_address(a->y.buf, a->y.offset);

    /* the library takes pointers to what it only reads without const */
    GNT_TRY_CUSPARSE(cusparseCreateCsr(
        &k->a, b->num_rows, csr->num_cols, b->num_arcs, (void *)(uintptr_t)b->offsets,
        (void *)(uintptr_t)(csr->columns + b->first_arc), (void *)(uintptr_t)(csr->weights + b->first_arc),
        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    GNT_TRY_CUSPARSE(cusparseCreateDnMat(&k->y, b->num_rows, e->columns, e->row_stride_y,
                                         y + b->first_row * e->row_stride_y, CUDA_R_32F, CUSPARSE_ORDER_ROW));
done:
    return st;
}

/* Work buffer and analysis. */
static gnt_status prepare(gnt_stream *s, const gnt_spmm_args *a, const sparse_entry *e, sparse_piece *k)
{
    gnt_status st = GNT_OK;
    const cusparseSpMMAlg_t algorithm = algorithm_of(e->way);
    cusparseHandle_t handle = NULL;
    size_t bytes = 0;

    GNT_TRY(cuda_sparse_handle(s, &handle));
    GNT_TRY_CUSPARSE(cusparseSpMM_bufferSize(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, k->a, e->x,
                                             &a->beta, k->y, CUDA_R_32F, algorithm, &bytes));
    GNT_TRY(cuda_alloc(s->head.device, bytes, &k->work));
    GNT_TRY_CUSPARSE(cusparseSpMM_preprocess(handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, k->a, e->x,
                                             &a->beta, k->y, CUDA_R_32F, algorithm, k->work->device));
done:
    return st;
}

static gnt_status make_entry(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a,
                             const sparse_entry *key, sparse_entry **out)
{
    gnt_status st = GNT_OK;
    const cuda_row_blocks *blocks = &p->sparse->blocks;
    sparse_entry *e = NULL;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "a sparse product was not analysed before its step was captured");
    GNT_TRY(gnti_grow_array(&p->sparse->list, &p->sparse->capacity, p->sparse->count + 1));
    GNT_TRY(gnti_calloc_bytes((void **)&e, sizeof *e));
    *e = *key;
    GNT_TRY(gnti_calloc_array(&e->pieces, blocks->count));
    e->num_pieces = blocks->count;
    GNT_TRY_CUSPARSE(cusparseCreateDnMat(&e->x, p->csr.num_cols, e->columns, e->row_stride_x,
                                         cuda_address(a->x.buf, a->x.offset), CUDA_R_32F,
                                         CUSPARSE_ORDER_ROW));
    for (int64_t i = 0; i < blocks->count; i++) {
        GNT_TRY(make_piece(p, a, &blocks->list[i], e, &e->pieces[i]));
        GNT_TRY(prepare(s, a, e, &e->pieces[i]));
    }
    p->sparse->list[p->sparse->count++] = e;
    *out = e;
    e = NULL; /* handed over */
done:
    free_entry(e);
    return st;
}

static gnt_status find_entry(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a,
                             const sparse_entry *key, sparse_entry **out)
{
    for (int64_t i = 0; i < p->sparse->count; i++) {
        sparse_entry *e = p->sparse->list[i];

        if (e->stream == s && e->way == key->way && e->columns == key->columns &&
            e->row_stride_x == key->row_stride_x && e->row_stride_y == key->row_stride_y) {
            *out = e;
            return GNT_OK;
        }
    }
    return make_entry(s, p, a, key, out);
}

/* All blocks of rows for one block of members. */
static gnt_status run_entry(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a,
                            const sparse_entry *e, float *x, float *y)
{
    gnt_status st = GNT_OK;

    GNT_TRY_CUSPARSE(cusparseDnMatSetValues(e->x, x));
    for (int64_t i = 0; i < e->num_pieces; i++) {
        const sparse_piece *k = &e->pieces[i];

        GNT_TRY_CUSPARSE(
            cusparseDnMatSetValues(k->y, y + p->sparse->blocks.list[i].first_row * e->row_stride_y));
        GNT_TRY_CUSPARSE(cusparseSpMM(s->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE, &a->alpha, k->a, e->x, &a->beta, k->y,
                                      CUDA_R_32F, algorithm_of(e->way), k->work->device));
    }
done:
    return st;
}

gnt_status cuda_sparse_run(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way way)
{
    gnt_status st = GNT_OK;
    const int64_t g = block_of(&a->y);
    float *x = cuda_address(a->x.buf, a->x.offset), *y = cuda_address(a->y.buf, a->y.offset);

    for (int64_t m = 0; m < a->y.members; m += g) {
        const int64_t columns = gnti_min_i64(g, a->y.members - m) * a->y.width;
        const sparse_entry key = { .stream = s,
                                   .way = way,
                                   .columns = columns,
                                   .row_stride_x = gnti_max_i64(a->x.row_stride, columns),
                                   .row_stride_y = gnti_max_i64(a->y.row_stride, columns) };
        sparse_entry *e = NULL;

        GNT_TRY(find_entry(s, p, a, &key, &e));
        GNT_TRY(run_entry(s, p, a, e, x + m / g * a->x.block_stride, y + m / g * a->y.block_stride));
    }
done:
    return st;
}
