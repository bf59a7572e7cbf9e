/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of one level besides the sparse product: serial functions on plain pointers, one table a
 * level.
 *
 * The same source (cpu_pointwise_kernel.h) is compiled for each level; each element, and each sum, is
 * computed by one order of operations, so all levels give the same bits. Threads, members and views are the
 * callers' business. Sums along a row use 16 lanes (element i goes to lane i % 16) that are added as a fixed
 * tree.
 */
#ifndef GNTI_KERNELS_CPU_KERNELS_H
#define GNTI_KERNELS_CPU_KERNELS_H

#include "kernels/cpu/cpu.h"

/* A dropout of one member, ready to draw. scale = 1 / (1 - p); active false: nothing is dropped. */
typedef struct cpu_draw {
    bool active, drop_all;
    uint32_t threshold, ordinal, step;
    float scale;
    gnti_philox_key key;
    const int64_t *row_ids; /* of row 0; NULL: row r has the id first_id + r */
    int64_t first_id;
} cpu_draw;

typedef struct cpu_entries {
    const int32_t *rows, *columns;
    const float *a;
    float *y;
    int64_t num, a_step, y_step;
    bool accumulate;
} cpu_entries;

enum { CPU_TILE = 256 }; /* columns that a kernel takes at once; also the size of its buffers on the stack */

/* Rows of one member, columns from first_column (a multiple of 4) on, at most CPU_TILE of them:
 *   v = value[i][c] + beta dst[i][c] + bias[c]; act; dropout; gate. Row i is row first_row + i of the tensor.
 */
typedef struct cpu_epilogue_block {
    float *dst;
    const float *value; /* may be dst */
    int64_t dst_stride, value_stride;
    int64_t first_row, num_rows, first_column, width;
    float beta;
    const float *bias; /* of first_column, or NULL */
    gnt_activation act;
    float act_alpha;
    cpu_draw dropout;
    const float *gate; /* of (first_row, first_column), or NULL */
    int64_t gate_stride;
    gnt_activation gate_act;
    float gate_alpha;
    cpu_draw gate_dropout;
} cpu_epilogue_block;

/* One row piece of a pointwise op: y = f(a, b), or y += f(a, b). */
typedef struct cpu_map_row {
    gnt_map_kind kind;
    float *y;
    const float *a, *b; /* b_step 0: one value for all columns */
    int64_t width, b_step;
    float alpha, beta;
    gnt_activation act;
    float act_alpha;
    bool accumulate;
} cpu_map_row;

typedef struct cpu_adam {
    float decay, shrink;                /* g += decay w; w *= shrink (AdamW: 1 - lr decay, else 1) */
    float clip, momentum, rest1, rest2; /* momentum: SGD's; rest: 1 - beta of Adam */
    float rate, root_scale, eps;        /* rate = lr / corr1, root_scale = 1 / sqrt(corr2) */
} cpu_adam;

typedef struct cpu_kernels {
    const char *name;
    /* Words of dropout draws: row i of num_rows has the id ids[i] (or first_row + i), quads first_quad ..;
     * out is (num_rows, 4 num_quads). */
    void (*draw_words)(const cpu_draw *d, int64_t first_row, int64_t num_rows, uint32_t first_quad,
                       uint32_t num_quads, uint32_t *out);
    /* Dropout of n stored entries, entry e at (rows[e], columns[e]). */
    void (*drop_entries)(const cpu_draw *d, const cpu_entries *e);
    void (*epilogue)(const cpu_epilogue_block *e);
    void (*map)(const cpu_map_row *m);
    /* y[c] = keep ? a[c] scale : 0, or +=: columns first_column (a multiple of 4) on of one row */
    void (*dropout)(const cpu_draw *d, int64_t row, int64_t first_column, const float *a, float *y,
                    int64_t width, bool accumulate);
    void (*add_to)(float *sum, const float *a, int64_t n);
    void (*sum_rows)(float *sum, const float *a, int64_t stride, int64_t rows, int64_t width);
    void (*dot_rows)(float *sum, const float *a, int64_t a_stride, const float *b, int64_t b_stride,
                     int64_t rows, int64_t width);
    float (*dot)(const float *a, const float *b, int64_t n);
    /* softmax: e[c] = exp(z[c] - top), *out_sum their sum, *out_best the first largest; answers top */
    float (*softmax)(const float *z, int64_t n, float *e, float *out_sum, int64_t *out_best);
    void (*scale_to)(float *y, const float *a, float factor, int64_t n);
    /* p[c] = e[c] scale; answers |p - h| and leaves e[c] = factor p (1 - gain (p - h - <p, p - h>) / |p - h|) */
    float (*apart)(float *e, float scale, const float *h, float factor, float gain, int64_t n);
    /* BCE or MSE of one row: grad (or NULL) = factor k_c dl/dz_c; answers sum_c k_c l_c; k NULL: 1 */
    float (*column_loss)(gnt_loss_kind kind, const float *z, const float *t, const float *k, float factor,
                         float *grad, int64_t n);
    void (*adam)(const cpu_adam *p, float *w, const float *g, float *m1, float *m2, int64_t n);
    void (*sgd)(const cpu_adam *p, bool nesterov, float *w, const float *g, float *m1, int64_t n);
    double (*squares)(const float *g,
                      int64_t n); /* sum of squares in double; not finite when an element is not */
} cpu_kernels;

extern const cpu_kernels cpu_kernels_portable, cpu_kernels_avx2, cpu_kernels_avx512;

const cpu_kernels *cpu_kernels_of(gnti_isa isa);

/* Dense product of a block: see cpu_gemm_kernel.h. */
typedef struct cpu_product {
    float *c;
    const float *a, *b;
    int64_t c_stride, row_step, inner_step, b_stride, panel_stride;
    int64_t rows, inner, cols;
    bool accumulate, more_b; /* more_b: as many rows of B follow, for those that skip zeros */
} cpu_product;

typedef struct cpu_products {
    int64_t panel; /* columns of a panel */
    void (*exact)(const cpu_product *q);
    void (*fast)(const cpu_product *q);
    /* Zeros skipped (cpu_gemm_zeros_kernel.h). Bit i of bits[r]: a[r * stride + i] is not 0, i < n <= 64; of bits[c], c < n:
     * a[i * stride + c] is not 0, rows <= 64, 64 words are written. Then c = or += A B of those elements. */
    void (*row_bits)(const float *a, int64_t stride, int64_t rows, int64_t n, uint64_t *bits);
    void (*column_bits)(const float *a, int64_t stride, int64_t rows, int64_t n, uint64_t *bits);
    void (*picked_exact)(const cpu_product *q, const uint64_t *bits);
    void (*picked_fast)(const cpu_product *q, const uint64_t *bits);
} cpu_products;

extern const cpu_products cpu_products_portable, cpu_products_avx2, cpu_products_avx512;

const cpu_products *cpu_products_of(gnti_isa isa);

#endif
