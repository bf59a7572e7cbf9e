/* SPDX-License-Identifier: Apache-2.0 */
/* What a chain works on at a time: a block of rows of a slice of members, cut out of an op's views.
 *
 * Members are apart in all they compute, so a block of rows goes through the whole chain slice by slice: what one member's
 * block has written is read again while it is in the cache, as in a run of that member alone. A slice is as many members as
 * lie side by side in memory (the largest g of the chain's views). It has a step block of its own, the columns of its members.
 */
#ifndef GNTI_KERNELS_CPU_CHAIN_PART_H
#define GNTI_KERNELS_CPU_CHAIN_PART_H

#include "kernels/cpu/cpu.h"

typedef struct cpu_part {
    int64_t first_row, rows;
    int64_t first_member, members; /* members 0: all */
    const gnt_buffer *step;        /* of the slice; NULL: the op's own */
} cpu_part;

/* Its rows and members, or its members alone (weights, biases). */
gnt_mat_view cpu_part_rows(gnt_mat_view v, const cpu_part *p);
gnt_mat_view cpu_part_members(gnt_mat_view v, const cpu_part *p);
/* The views live in slots. */
gnt_epilogue cpu_part_epilogue(const gnt_epilogue *e, const cpu_part *p, gnt_mat_view slots[3]);
/* Where a sum over its rows goes: (rows, M, width) member by member at `sum`, of which it has its members. buf is filled. */
gnt_mat_view cpu_part_sum(const gnt_mat_view *y, const cpu_part *p, float *sum, gnt_buffer *buf);

/* The slices of a chain: count 1 when all members go at once. */
typedef struct cpu_slices {
    int64_t count, members; /* of a slice; the last one may have fewer */
    int64_t all;
    const gnt_buffer *step; /* the program's, NULL: no op reads it */
} cpu_slices;
cpu_slices cpu_slices_of(const gnt_chain_args *a);
size_t cpu_slices_bytes(const cpu_slices *s); /* of the slices' step blocks and buffers */
/* Fills `room` and points every part's step into it; part (count), zero but for members. */
void cpu_slices_cut(const cpu_slices *s, void *room, cpu_part *part);

#endif
