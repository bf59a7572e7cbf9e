/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, one a member.
 *
 * Rows of c are cut into blocks that stay in the cache: a block is a single-threaded sgemm (OpenBLAS) and then its
 * epilogue; threads take blocks. A^T B, the gradient of a weight, sums over rows by the fixed tree: one sgemm a block of
 * 1024 rows. At GNTI_DET_BITWISE the product is our own: k ascending, multiply then add, vectors across columns, so the
 * same bits for every thread count, vector level and BLAS; B is packed to plain rows first. bfloat16 operands are
 * widened to scratch; sums are float32.
 */
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_tree.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>

enum { BLOCK_FLOATS = 128 * 1024, MIN_ROWS = 64, MAX_ROWS = 1024 };

/* An operand of one member as plain floats: element (r, c) at data[r * stride + c]. */
typedef struct operand {
    const float *data;
    int64_t stride;
} operand;

typedef struct work {
    const gnt_gemm_args *args;
    const cpu_kernels *kernels;
    bool own; /* our product, not BLAS */
    int64_t rows, inner, cols, block_rows;
    int64_t member;
    operand a, b;
    float *packed_b; /* own product: (inner, cols) */
    float *values;   /* (threads, block_rows, cols), when c cannot take the product itself */
} work;

void cpu_gemm_single_thread(void)
{
    openblas_set_num_threads(1); /* the threads are ours */
}

static operand operand_of(const gnt_mat_view *v, int64_t m, float *widened)
{
    if (v->dtype == GNT_F32)
        return (operand){ cpu_floats(v) + cpu_member_offset(v, m), v->row_stride };
    for (int64_t r = 0; r < v->rows; r++)
        cpu_load_floats(v, r, m, 0, v->width, widened + r * v->width);
    return (operand){ widened, v->width };
}

/* c (rows x cols, stride) = alpha op(a) op(b) + beta c; `first` is the first row of op(a). */
static void blas(const work *w, int64_t first, int64_t rows, float beta, float *c, int64_t stride)
{
    const gnt_gemm_args *a = w->args;
    const float *left = w->a.data + (a->trans_a ? first : first * w->a.stride);
    const blasint lda = (blasint)gnti_max_i64(w->a.stride, 1), ldb = (blasint)gnti_max_i64(w->b.stride, 1);

    cblas_sgemm(CblasRowMajor, a->trans_a ? CblasTrans : CblasNoTrans, a->trans_b ? CblasTrans : CblasNoTrans,
                (blasint)rows, (blasint)w->cols, (blasint)w->inner, a->alpha, left, lda, w->b.data, ldb, beta,
                c, (blasint)gnti_max_i64(stride, w->cols));
}

/* The same by our own product; only with beta 0. */
static void own_product(const work *w, int64_t first, int64_t rows, float *c, int64_t stride)
{
    const gnt_gemm_args *a = w->args;
    const bool packed = a->trans_b;
    const int64_t ra = a->trans_a ? 1 : w->a.stride, ka = a->trans_a ? w->a.stride : 1;

    w->kernels->product(c, stride, w->a.data + first * ra, ra, ka, packed ? w->packed_b : w->b.data,
                        packed ? w->cols : w->b.stride, rows, w->inner, w->cols, false);
    for (int64_t r = 0; r < rows && a->alpha != 1.0f; r++)
        w->kernels->scale_to(c + r * stride, c + r * stride, a->alpha, w->cols);
}

static void pack_b(const work *w)
{
    for (int64_t k = 0; k < w->inner; k++)
        for (int64_t j = 0; j < w->cols; j++)
            w->packed_b[k * w->cols + j] = w->b.data[j * w->b.stride + k];
}

/* The product goes straight to c: nothing has to see the old value or change its type afterwards. */
static bool is_direct(const work *w)
{
    const gnt_gemm_args *a = w->args;
    const bool old_kept =
        a->beta != 0.0f && (w->own || a->epilogue.row_scale != NULL || !cpu_epilogue_is_plain(&a->epilogue));

    return a->c.dtype == GNT_F32 && !old_kept;
}

static void scale_rows(const work *w, int64_t first, int64_t rows, float *value, int64_t stride)
{
    const gnt_mat_view *scale = w->args->epilogue.row_scale;

    for (int64_t r = 0; r < rows && scale != NULL; r++)
        w->kernels->scale_to(value + r * stride, value + r * stride,
                             cpu_floats(scale)[(first + r) * scale->row_stride], w->cols);
}

static void store_narrow(const work *w, int64_t first, int64_t rows, float *value)
{
    const gnt_mat_view *c = &w->args->c;
    float old[CPU_TILE];

    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < w->cols; j += CPU_TILE) {
            const int64_t n = gnti_min_i64(CPU_TILE, w->cols - j);
            const cpu_output_block block = { .member = w->member,
                                             .first_row = first + r,
                                             .num_rows = 1,
                                             .first_column = j,
                                             .width = n,
                                             .value = value + r * w->cols + j,
                                             .dst = old,
                                             .beta = w->args->beta };

            cpu_load_floats(c, first + r, w->member, j, n, old);
            cpu_epilogue_apply(w->kernels, &w->args->epilogue, &block);
            cpu_store_floats(c, first + r, w->member, j, n, old);
        }
}

static void run_block(const work *w, int64_t first, float *values)
{
    const gnt_gemm_args *a = w->args;
    const int64_t rows = gnti_min_i64(w->block_rows, w->rows - first);
    const bool direct = is_direct(w);
    float *c = cpu_floats(&a->c) + cpu_member_offset(&a->c, w->member) + first * a->c.row_stride;
    float *to = direct ? c : values;
    const int64_t stride = direct ? a->c.row_stride : w->cols;
    const cpu_output_block block = { .member = w->member,
                                     .first_row = first,
                                     .num_rows = rows,
                                     .width = w->cols,
                                     .value = to,
                                     .value_stride = stride,
                                     .dst = c,
                                     .dst_stride = a->c.row_stride,
                                     .beta = direct ? 0.0f : a->beta };

    if (w->own)
        own_product(w, first, rows, to, stride);
    else
        blas(w, first, rows, direct ? a->beta : 0.0f, to, stride);
    scale_rows(w, first, rows, to, stride);
    if (a->c.dtype != GNT_F32)
        store_narrow(w, first, rows, values);
    else if (!direct || !cpu_epilogue_is_plain(&a->epilogue))
        cpu_epilogue_apply(w->kernels, &a->epilogue, &block);
}

/* Floats of scratch: widened a and b, packed b, a block of values a thread. */
static gnt_status take_scratch(gnt_stream *s, work *w, float **wide_a, float **wide_b)
{
    gnt_status st = GNT_OK;
    const gnt_gemm_args *a = w->args;
    const int64_t threads = s->head.device->num_threads;
    const int64_t na = a->a.dtype == GNT_F32 ? 0 : a->a.rows * a->a.width;
    const int64_t nb = a->b.dtype == GNT_F32 ? 0 : a->b.rows * a->b.width;
    const int64_t pack = w->own && a->trans_b ? w->inner * w->cols : 0;
    const int64_t values = is_direct(w) ? 0 : threads * w->block_rows * w->cols;
    void *scratch = NULL;

    GNT_TRY(cpu_scratch(s, (size_t)(na + nb + pack + values) * sizeof(float), &scratch));
    *wide_a = scratch;
    *wide_b = *wide_a + na;
    w->packed_b = *wide_b + nb;
    w->values = w->packed_b + pack;
done:
    return st;
}

static gnt_status by_row_blocks(gnt_stream *s, work *w)
{
    gnt_status st = GNT_OK;
    const gnt_gemm_args *a = w->args;
    const int32_t team = cpu_team(s->head.device, (double)w->rows * (double)w->cols * (double)w->inner / 8.0);
    const int64_t fitting = BLOCK_FLOATS / gnti_max_i64(1, w->inner + w->cols);
    float *wide_a = NULL, *wide_b = NULL;

    w->block_rows = gnti_max_i64(MIN_ROWS, gnti_min_i64(MAX_ROWS, fitting / MIN_ROWS * MIN_ROWS));
    GNT_TRY(take_scratch(s, w, &wide_a, &wide_b));
    for (int64_t m = 0; m < a->c.members; m++) {
        w->member = m;
        w->a = operand_of(&a->a, m, wide_a);
        w->b = operand_of(&a->b, m, wide_b);
        if (w->own && a->trans_b)
            pack_b(w);
#pragma omp parallel for schedule(dynamic) num_threads(team)
        for (int64_t r = 0; r < w->rows; r += w->block_rows)
            run_block(w, r, w->values + (int64_t)omp_get_thread_num() * w->block_rows * w->cols);
    }
done:
    return st;
}

/* op(a) = a^T: the product of one block of rows, (rows of c, cols). */
static void tree_leaf(void *user, int64_t first, int64_t rows, void *out)
{
    const work *w = user;
    const float *a = w->a.data + first * w->a.stride, *b = w->b.data + first * w->b.stride;

    if (rows == 0) {
        memset(out, 0, (size_t)(w->rows * w->cols) * sizeof(float));
        return;
    }
    if (w->own) {
        w->kernels->product(out, w->cols, a, 1, w->a.stride, b, w->b.stride, w->rows, rows, w->cols, false);
        return;
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)w->rows, (blasint)w->cols, (blasint)rows,
                1.0f, a, (blasint)gnti_max_i64(w->a.stride, w->rows), b,
                (blasint)gnti_max_i64(w->b.stride, w->cols), 0.0f, out, (blasint)w->cols);
}

static void store_sum(const work *w, float *sum)
{
    const gnt_gemm_args *a = w->args;
    const cpu_output_block block = { .member = w->member,
                                     .num_rows = w->rows,
                                     .width = w->cols,
                                     .value = sum,
                                     .value_stride = w->cols,
                                     .dst = cpu_floats(&a->c) + cpu_member_offset(&a->c, w->member),
                                     .dst_stride = a->c.row_stride,
                                     .beta = a->beta };

    if (a->alpha != 1.0f)
        w->kernels->scale_to(sum, sum, a->alpha, w->rows * w->cols);
    scale_rows(w, 0, w->rows, sum, w->cols);
    cpu_epilogue_apply(w->kernels, &a->epilogue, &block);
}

static gnt_status by_tree(gnt_stream *s, work *w)
{
    gnt_status st = GNT_OK;
    const gnt_gemm_args *a = w->args;
    const cpu_tree_sum_args sum = { .tree = a->row_tree,
                                    .num_rows = w->inner,
                                    .count = w->rows * w->cols,
                                    .work = (double)w->inner * (double)(w->rows * w->cols) / 8.0,
                                    .leaf = tree_leaf,
                                    .user = w };

    for (int64_t m = 0; m < a->c.members; m++) {
        void *out = NULL;

        w->member = m;
        w->a = operand_of(&a->a, m, NULL);
        w->b = operand_of(&a->b, m, NULL);
        GNT_TRY(cpu_tree_sum(s, &sum, &out));
        store_sum(w, out);
    }
done:
    return st;
}

static bool fits_blas(const gnt_mat_view *v)
{
    return v->row_stride <= INT32_MAX && v->rows <= INT32_MAX && v->width <= INT32_MAX;
}

gnt_status cpu_gemm(gnt_stream *s, const gnt_gemm_args *a)
{
    const gnt_device *dev = s->head.device;
    const bool wide = a->a.dtype == GNT_F32 && a->b.dtype == GNT_F32 && a->c.dtype == GNT_F32;
    work w = { .args = a,
               .kernels = cpu_kernels_of(dev->isa),
               .own = dev->determinism == GNTI_DET_BITWISE || !fits_blas(&a->a) || !fits_blas(&a->b) ||
                      !fits_blas(&a->c),
               .rows = a->c.rows,
               .cols = a->c.width,
               .inner = a->trans_a ? a->a.rows : a->a.width };

    return a->trans_a && !a->trans_b && wide ? by_tree(s, &w) : by_row_blocks(s, &w);
}
