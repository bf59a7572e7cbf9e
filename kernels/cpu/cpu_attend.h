/* SPDX-License-Identifier: Apache-2.0 */
/* Attention along arcs on the processor: what the driver hands to the kernels of a level.
 *
 * A job is one member of one pass; a piece is at most 4096 entries of one row (and the row itself, its first arc) with that
 * row's operands and results. Kernels go through a piece in chunks of arcs: scores of all heads, exp, then rows. Sums take
 * the entries in order, one float32 accumulator each; dot products of a head use 8 lanes (column k of the head goes to lane
 * k % 8) that are added as a tree. No fused multiply-add: every level gives the same bits.
 */
#ifndef GNTI_KERNELS_CPU_ATTEND_H
#define GNTI_KERNELS_CPU_ATTEND_H

#include "kernels/cpu/cpu_kernels.h"

enum { CPU_ATTEND_HEADS = 64 };

/* One vector of columns of a row; none crosses a border of heads. */
typedef struct cpu_attend_vector {
    int32_t column, head, count;
} cpu_attend_vector;

typedef struct cpu_attend_job {
    const int32_t *columns;
    int64_t num_arcs; /* prefetches stop here */
    int32_t heads;
    int64_t width; /* of a head */
    float slope;
    const float *x;     /* rows that arcs read: h, or grad by columns */
    const float *score; /* s_src, or stat by columns */
    int64_t x_stride, score_stride;
    const cpu_attend_vector *vectors;
    int32_t num_vectors;
    bool whole; /* every vector is full */
    bool by_columns;
    cpu_draw draw; /* of arcs */
    const int64_t *src_ids, *dst_ids;
} cpu_attend_job;

typedef struct cpu_attend_piece {
    int64_t row, begin, end; /* entries */
    bool own;                /* the row itself comes first */
    const float *score;      /* (heads) s_dst, or s_src by columns */
    const float *top;        /* (heads) by rows: max_i */
    const float *inverse;    /* (heads) by rows: 1 / sum_i */
    const float *r;          /* (heads) by rows */
    const float *value;      /* (heads * width) grad_i by rows, h_j by columns */
    const float *side;       /* (heads) by rows: 1 sums arcs with e > 0, -1 the others */
    float *max;              /* (heads) forward */
    float *sum;              /* (heads) of exp, or of de */
    float *acc;              /* (heads * width) */
} cpu_attend_piece;

typedef struct cpu_attend_kernels {
    int32_t vector_floats;
    /* max, sum and acc = sum keep exp(l - max) h, not divided by sum yet */
    void (*forward)(const cpu_attend_job *j, const cpu_attend_piece *p);
    /* positive (heads): arcs with e > 0 */
    void (*count)(const cpu_attend_job *j, const cpu_attend_piece *p, int64_t *positive);
    /* sum = sum of a (keep da - r) over the arcs of the side */
    void (*by_row)(const cpu_attend_job *j, const cpu_attend_piece *p);
    void (*by_column)(const cpu_attend_job *j, const cpu_attend_piece *p);
    /* out (heads): per head the dot product of a and b; and y = a factor, factor (heads) */
    void (*dots)(const float *a, const float *b, int32_t heads, int64_t width, float *out);
    void (*scale)(const float *a, const float *factor, int32_t heads, int64_t width, float *y);
} cpu_attend_kernels;

extern const cpu_attend_kernels cpu_attend_kernels_portable, cpu_attend_kernels_avx2,
    cpu_attend_kernels_avx512;

gnt_status cpu_attend(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_args *a);
gnt_status cpu_attend_backward(gnt_stream *s, const gnt_spmm_plan *p, const gnt_attend_grad_args *a);

#endif
