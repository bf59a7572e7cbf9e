/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products, one a member.
 *
 * Rows of c are cut into blocks that stay in the cache; a block is a product, then its epilogue, for each member in
 * turn (a shared A is read once); threads take blocks. A^T B, the gradient of a weight, sums over rows by the fixed tree:
 * a leaf of 1024 rows in steps that stay in the first cache. The product is our own (cpu_gemm_kernel.h) up to 512
 * columns, else single-threaded sgemm (OpenBLAS): measured on shapes of graph layers, k = 16..602, ours is 0.9 to 1.9
 * times its speed, for it packs no A. At GNTI_DET_BITWISE it is always ours, multiply then add, k ascending: the same bits
 * for every thread count, vector level and BLAS. bfloat16 operands are widened to scratch; sums are float32.
 */
#include "base/clock.h"
#include "base/size.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_gemm_zeros.h"
#include "kernels/cpu/cpu_tree.h"

#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <string.h>

enum { BLOCK_FLOATS = 64 * 1024, MIN_ROWS = 48, MAX_ROWS = 960, MAX_OWN_COLUMNS = 512 };
enum { STEP_FLOATS = 24 * 1024, MIN_STEP = 32, MAX_STEP = 256, GROUP_FLOATS = 1 << 20 };

/* An operand of one member as plain floats: element (r, c) at data[r * stride + c]. */
typedef struct operand {
    const float *data;
    int64_t stride;
} operand;

typedef struct work {
    const gnt_gemm_args *args;
    const cpu_kernels *kernels;
    const cpu_products *products, *picked; /* picked: for products that skip zeros */
    bool own, exact;
    bool zeros_a,
        zeros_b; /* of a tree sum: the operand whose zeros are skipped; with b sums lie transposed */
    int64_t rows, inner, cols, block_rows;
    int64_t first_member, num_members; /* of a tree sum */
    float *wide_a, *wide_b;            /* bfloat16 operands, all members */
    float *packed_b;                   /* panels of op(b), all members */
    float *values; /* (threads, block_rows, cols), when c cannot take the product itself */
} work;

void cpu_gemm_single_thread(void)
{
    openblas_set_num_threads(1); /* the threads are ours */
}

/* Processors that execute AVX-512 as two halves (AMD Zen 4) are quicker with AVX2 tiles, for those broadcast less. Both
 * fuse the same multiplies and adds in the same order. */
gnti_isa cpu_gemm_isa(gnti_isa best)
{
    enum { SIZE = 48, REPEATS = 12 };
    static const gnti_isa levels[2] = { GNTI_ISA_AVX2, GNTI_ISA_AVX512 };
    float a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
    double seconds[2] = { INFINITY, INFINITY };

    if (best != GNTI_ISA_AVX512)
        return best;
    for (int i = 0; i < SIZE * SIZE; i++)
        a[i] = b[i] = 1.0f;
    for (int i = 0; i < 2 * REPEATS; i++) {
        const cpu_products *p = cpu_products_of(levels[i % 2]);
        const cpu_product q = { .c = c,
                                .a = a,
                                .b = b,
                                .c_stride = SIZE,
                                .row_step = SIZE,
                                .inner_step = 1,
                                .b_stride = SIZE,
                                .panel_stride = p->panel,
                                .rows = SIZE,
                                .inner = SIZE,
                                .cols = SIZE };
        const double start = gnti_clock_seconds();

        p->fast(&q);
        seconds[i % 2] = fmin(seconds[i % 2], gnti_clock_seconds() - start);
    }
    return seconds[0] < seconds[1] ? GNTI_ISA_AVX2 : GNTI_ISA_AVX512;
}

static operand operand_of(const gnt_mat_view *v, int64_t m, const float *widened)
{
    if (v->dtype == GNT_F32)
        return (operand){ cpu_floats(v) + cpu_member_offset(v, m), v->row_stride };
    return (operand){ widened + (v->members == 1 ? 0 : m) * v->rows * v->width, v->width };
}

static void widen(const gnt_mat_view *v, float *out)
{
    for (int64_t m = 0; m < v->members && v->dtype != GNT_F32; m++)
        for (int64_t r = 0; r < v->rows; r++)
            cpu_load_floats(v, r, m, 0, v->width, out + (m * v->rows + r) * v->width);
}

static void run_product(const work *w, const cpu_product *q)
{
    if (w->exact)
        w->products->exact(q);
    else
        w->products->fast(q);
}

/* ---- op(a) b by blocks of rows ---- */

static int64_t packed_floats(const work *w)
{
    return gnti_ceil_div(w->cols, w->products->panel) * w->products->panel * w->inner;
}

/* op(b) of member m as panels: (panels, inner, panel columns). */
static void pack_b(const work *w, int64_t m)
{
    const gnt_gemm_args *a = w->args;
    const operand b = operand_of(&a->b, m, w->wide_b);
    const int64_t panel = w->products->panel;
    float *out = w->packed_b + m * packed_floats(w);

    for (int64_t j = 0; j < w->cols; j += panel)
        for (int64_t k = 0; k < w->inner; k++, out += panel)
            for (int64_t c = 0; c < gnti_min_i64(panel, w->cols - j); c++)
                out[c] = a->trans_b ? b.data[(j + c) * b.stride + k] : b.data[k * b.stride + j + c];
}

static void own_block(const work *w, int64_t m, int64_t first, int64_t rows, float *c, int64_t stride)
{
    const gnt_gemm_args *a = w->args;
    const operand left = operand_of(&a->a, m, w->wide_a);
    const int64_t panel = w->products->panel, b_members = a->b.members == 1 ? 0 : m;
    cpu_product q = { .c = c,
                      .b = w->packed_b + b_members * packed_floats(w),
                      .c_stride = stride,
                      .row_step = a->trans_a ? 1 : left.stride,
                      .inner_step = a->trans_a ? left.stride : 1,
                      .b_stride = panel,
                      .panel_stride = panel * w->inner,
                      .rows = rows,
                      .inner = w->inner,
                      .cols = w->cols };

    q.a = left.data + first * q.row_step;
    if (w->zeros_a) {
        const operand right = operand_of(&a->b, m, w->wide_b);

        q.b = right.data;
        q.b_stride = right.stride;
        cpu_zeros_product(w->picked, &q, w->exact);
    } else {
        run_product(w, &q);
    }
    for (int64_t r = 0; r < rows && a->alpha != 1.0f; r++)
        w->kernels->scale_to(c + r * stride, c + r * stride, a->alpha, w->cols);
}

static void blas_block(const work *w, int64_t m, int64_t first, int64_t rows, float beta, float *c,
                       int64_t stride)
{
    const gnt_gemm_args *a = w->args;
    const operand left = operand_of(&a->a, m, w->wide_a), right = operand_of(&a->b, m, w->wide_b);
    const float *p = left.data + (a->trans_a ? first : first * left.stride);

    cblas_sgemm(CblasRowMajor, a->trans_a ? CblasTrans : CblasNoTrans, a->trans_b ? CblasTrans : CblasNoTrans,
                (blasint)rows, (blasint)w->cols, (blasint)w->inner, a->alpha, p,
                (blasint)gnti_max_i64(left.stride, a->a.width), right.data,
                (blasint)gnti_max_i64(right.stride, a->b.width), beta, c,
                (blasint)gnti_max_i64(stride, w->cols));
}

/* The product goes straight to c: nothing has to see the old value or change its type afterwards. */
static bool is_direct(const work *w)
{
    const gnt_gemm_args *a = w->args;
    const bool takes_old =
        a->beta != 0.0f && (w->own || a->epilogue.row_scale != NULL || !cpu_epilogue_is_plain(&a->epilogue));
    const gnt_mat_view *gate = a->epilogue.gate;
    const bool over_gate = gate != NULL && gate->buf == a->c.buf && gate->offset == a->c.offset;

    return a->c.dtype == GNT_F32 && !takes_old && !over_gate;
}

static void scale_rows(const work *w, int64_t first, int64_t rows, float *value, int64_t stride)
{
    const gnt_mat_view *scale = w->args->epilogue.row_scale;

    for (int64_t r = 0; r < rows && scale != NULL; r++)
        w->kernels->scale_to(value + r * stride, value + r * stride,
                             cpu_floats(scale)[(first + r) * scale->row_stride], w->cols);
}

/* Epilogue and store of rows in bfloat16. */
static void store_narrow(const work *w, int64_t m, int64_t first, int64_t rows, const float *value)
{
    const gnt_mat_view *c = &w->args->c;
    float old[CPU_TILE];

    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < w->cols; j += CPU_TILE) {
            const int64_t n = gnti_min_i64(CPU_TILE, w->cols - j);
            const cpu_output_block block = { .member = m,
                                             .first_row = first + r,
                                             .num_rows = 1,
                                             .first_column = j,
                                             .width = n,
                                             .value = value + r * w->cols + j,
                                             .dst = old,
                                             .beta = w->args->beta };

            cpu_load_floats(c, first + r, m, j, n, old);
            cpu_epilogue_apply(w->kernels, &w->args->epilogue, &block);
            cpu_store_floats(c, first + r, m, j, n, old);
        }
}

static void run_block(const work *w, int64_t m, int64_t first, float *values)
{
    const gnt_gemm_args *a = w->args;
    const int64_t rows = gnti_min_i64(w->block_rows, w->rows - first);
    const bool direct = is_direct(w), narrow = a->c.dtype != GNT_F32;
    float *c = narrow ? NULL : cpu_floats(&a->c) + cpu_member_offset(&a->c, m) + first * a->c.row_stride;
    float *to = direct ? c : values;
    const int64_t stride = direct ? a->c.row_stride : w->cols;
    const cpu_output_block block = { .member = m,
                                     .first_row = first,
                                     .num_rows = rows,
                                     .width = w->cols,
                                     .value = to,
                                     .value_stride = stride,
                                     .dst = c,
                                     .dst_stride = a->c.row_stride,
                                     .beta = direct ? 0.0f : a->beta };

    if (w->own)
        own_block(w, m, first, rows, to, stride);
    else
        blas_block(w, m, first, rows, direct ? a->beta : 0.0f, to, stride);
    scale_rows(w, first, rows, to, stride);
    if (narrow)
        store_narrow(w, m, first, rows, values);
    else if (!direct || !cpu_epilogue_is_plain(&a->epilogue))
        cpu_epilogue_apply(w->kernels, &a->epilogue, &block);
}

static int64_t wide_floats(const gnt_mat_view *v)
{
    return v->dtype == GNT_F32 ? 0 : v->members * v->rows * v->width;
}

static void row_block(void *user, int64_t i, int32_t thread)
{
    const work *w = user;

    for (int64_t m = 0; m < w->args->c.members; m++)
        run_block(w, m, i * w->block_rows, w->values + thread * w->block_rows * w->cols);
}

static gnt_status by_row_blocks(gnt_stream *s, work *w)
{
    gnt_status st = GNT_OK;
    const gnt_gemm_args *a = w->args;
    const int32_t threads = s->head.device->num_threads;
    const double work_floats = (double)(w->rows * a->c.members) * (double)w->cols * (double)w->inner / 8.0;
    const int32_t team = cpu_team(s->head.device, work_floats);
    const int64_t fitting = BLOCK_FLOATS / gnti_max_i64(1, w->inner + w->cols);
    const int64_t pack = w->own ? a->b.members * packed_floats(w) : 0;
    int64_t values = 0;
    void *scratch = NULL;

    w->block_rows = gnti_max_i64(MIN_ROWS, gnti_min_i64(MAX_ROWS, fitting / MIN_ROWS * MIN_ROWS));
    if (!is_direct(w))
        values = threads * w->block_rows * w->cols;
    GNT_TRY(cpu_scratch(s, (size_t)(pack + wide_floats(&a->a) + wide_floats(&a->b) + values) * sizeof(float),
                        &scratch));
    w->packed_b = scratch;
    w->wide_a = w->packed_b + pack;
    w->wide_b = w->wide_a + wide_floats(&a->a);
    w->values = w->wide_b + wide_floats(&a->b);
    widen(&a->a, w->wide_a);
    widen(&a->b, w->wide_b);
    for (int64_t m = 0; m < a->b.members && w->own; m++)
        pack_b(w, m);
    if (w->own && !a->trans_a && !a->trans_b) {
        const operand left = operand_of(&a->a, 0, w->wide_a);

        w->zeros_a = cpu_zeros_pay(w->picked, left.data, left.stride, w->rows, w->inner, w->cols);
    }
    cpu_each(team, gnti_ceil_div(w->rows, w->block_rows), w, row_block);
done:
    return st;
}

/* ---- a^T b by the tree over rows ---- */

/* The leaf by an operand with zeros: A^T B, or (B^T A), which is its transpose. */
static void leaf_of_zeros(const work *w, const operand *left, const operand *right, int64_t rows, float *out)
{
    const operand *picked = w->zeros_b ? right : left, *other = w->zeros_b ? left : right;
    const cpu_product q = { .c = out,
                            .a = picked->data,
                            .b = other->data,
                            .c_stride = w->zeros_b ? w->rows : w->cols,
                            .row_step = 1,
                            .inner_step = picked->stride,
                            .b_stride = other->stride,
                            .rows = w->zeros_b ? w->cols : w->rows,
                            .inner = rows,
                            .cols = w->zeros_b ? w->rows : w->cols };

    cpu_zeros_product(w->picked, &q, w->exact);
}

static void all_leaves_of_zeros(const work *w, int64_t first, int64_t rows, float *out)
{
    for (int64_t i = 0; i < w->num_members; i++) {
        operand left = operand_of(&w->args->a, w->first_member + i, NULL);
        operand right = operand_of(&w->args->b, w->first_member + i, NULL);

        left.data += first * left.stride;
        right.data += first * right.stride;
        leaf_of_zeros(w, &left, &right, rows, out + i * w->rows * w->cols);
    }
}

/* Rows [first, first + rows) of all members of the group: (members, rows of c, cols). */
static void tree_leaf(void *user, int64_t first, int64_t rows, void *out)
{
    const work *w = user;
    const gnt_gemm_args *a = w->args;
    const int64_t fitting = STEP_FLOATS / gnti_max_i64(1, w->rows + w->cols) / 8 * 8;
    const int64_t step =
        w->own ? gnti_max_i64(MIN_STEP, gnti_min_i64(MAX_STEP, fitting)) : gnti_max_i64(rows, 1);

    if (rows > 0 && (w->zeros_a || w->zeros_b)) {
        all_leaves_of_zeros(w, first, rows, out);
        return;
    }
    memset(out, 0, (size_t)(w->num_members * w->rows * w->cols) * sizeof(float));
    for (int64_t r = first; r < first + rows; r += step)
        for (int64_t i = 0; i < w->num_members; i++) {
            const operand left = operand_of(&a->a, w->first_member + i, NULL);
            const operand right = operand_of(&a->b, w->first_member + i, NULL);
            const cpu_product q = { .c = (float *)out + i * w->rows * w->cols,
                                    .a = left.data + r * left.stride,
                                    .b = right.data + r * right.stride,
                                    .c_stride = w->cols,
                                    .row_step = 1,
                                    .inner_step = left.stride,
                                    .b_stride = right.stride,
                                    .panel_stride = w->products->panel,
                                    .rows = w->rows,
                                    .inner = gnti_min_i64(step, first + rows - r),
                                    .cols = w->cols,
                                    .accumulate = true };

            if (w->own)
                run_product(w, &q);
            else
                cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)w->rows, (blasint)w->cols,
                            (blasint)q.inner, 1.0f, q.a, (blasint)gnti_max_i64(left.stride, w->rows), q.b,
                            (blasint)gnti_max_i64(right.stride, w->cols), 1.0f, q.c, (blasint)w->cols);
        }
}

/* c = alpha sum^T, by squares that stay in the cache. */
static void store_transposed(const work *w, int64_t m, const float *sum)
{
    enum { SQUARE = 16 };
    const gnt_mat_view *c = &w->args->c;
    float *to = cpu_floats(c) + cpu_member_offset(c, m);

    for (int64_t r0 = 0; r0 < w->rows; r0 += SQUARE)
        for (int64_t j0 = 0; j0 < w->cols; j0 += SQUARE)
            for (int64_t r = r0; r < gnti_min_i64(w->rows, r0 + SQUARE); r++)
                for (int64_t j = j0; j < gnti_min_i64(w->cols, j0 + SQUARE); j++)
                    to[r * c->row_stride + j] = w->args->alpha * sum[j * w->rows + r];
}

static void store_sum(const work *w, int64_t m, float *sum)
{
    const gnt_gemm_args *a = w->args;
    const cpu_output_block block = { .member = m,
                                     .num_rows = w->rows,
                                     .width = w->cols,
                                     .value = sum,
                                     .value_stride = w->cols,
                                     .dst = cpu_floats(&a->c) + cpu_member_offset(&a->c, m),
                                     .dst_stride = a->c.row_stride,
                                     .beta = a->beta };

    if (a->alpha != 1.0f)
        w->kernels->scale_to(sum, sum, a->alpha, w->rows * w->cols);
    scale_rows(w, 0, w->rows, sum, w->cols);
    cpu_epilogue_apply(w->kernels, &a->epilogue, &block);
}

/* Whether zeros of A or B are worth skipping; B's where nothing but the sum goes to c. */
static void judge_zeros(work *w)
{
    const gnt_gemm_args *a = w->args;
    const operand left = operand_of(&a->a, 0, NULL), right = operand_of(&a->b, 0, NULL);

    if (!w->own || w->inner == 0)
        return;
    w->zeros_a = cpu_zeros_pay(w->picked, left.data, left.stride, w->inner, w->rows, w->cols);
    w->zeros_b = !w->zeros_a && a->beta == 0.0f && a->epilogue.row_scale == NULL &&
                 cpu_epilogue_is_plain(&a->epilogue) &&
                 cpu_zeros_pay(w->picked, right.data, right.stride, w->inner, w->cols, w->rows);
}

static gnt_status by_tree(gnt_stream *s, work *w)
{
    gnt_status st = GNT_OK;
    const gnt_gemm_args *a = w->args;
    const int64_t one = w->rows * w->cols, group = gnti_max_i64(1, GROUP_FLOATS / gnti_max_i64(1, one));

    judge_zeros(w);
    for (int64_t m = 0; m < a->c.members; m += group) {
        const int64_t n = gnti_min_i64(group, a->c.members - m);
        const cpu_tree_sum_args sum = { .tree = a->row_tree,
                                        .num_rows = w->inner,
                                        .count = n * one,
                                        .work = (double)w->inner * (double)(n * one) / 8.0,
                                        .leaf = tree_leaf,
                                        .user = w };
        void *out = NULL;

        w->first_member = m;
        w->num_members = n;
        GNT_TRY(cpu_tree_sum(s, &sum, &out));
        for (int64_t i = 0; i < n; i++)
            if (w->zeros_b)
                store_transposed(w, m + i, (float *)out + i * one);
            else
                store_sum(w, m + i, (float *)out + i * one);
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
    const bool floats = a->a.dtype == GNT_F32 && a->b.dtype == GNT_F32 && a->c.dtype == GNT_F32;
    const bool blas = fits_blas(&a->a) && fits_blas(&a->b) && fits_blas(&a->c);
    work w = { .args = a,
               .kernels = cpu_kernels_of(dev->isa),
               .products = cpu_products_of(dev->product_isa),
               .picked = cpu_products_of(dev->isa),
               .exact = dev->determinism == GNTI_DET_BITWISE,
               .rows = a->c.rows,
               .cols = a->c.width,
               .inner = a->trans_a ? a->a.rows : a->a.width };

    w.own = w.exact || !blas || (w.cols <= MAX_OWN_COLUMNS && dev->isa != GNTI_ISA_PORTABLE);
    return a->trans_a && !a->trans_b && floats ? by_tree(s, &w) : by_row_blocks(s, &w);
}
