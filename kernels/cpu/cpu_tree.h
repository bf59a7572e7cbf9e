/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows by the fixed tree over row blocks (backend.h), for any op: the caller gives a function that sums the
 * rows of one block; this adds the blocks' sums in the tree's order, on several threads.
 *
 * Work items are whole subtrees of 2^k blocks, so which thread takes which changes no bit. A subtree is reduced with a
 * stack: after block i as many entries are merged as i + 1 has trailing zero bits. Scratch of the stream: the roots of
 * the subtrees and a stack of k + 1 entries a thread.
 */
#ifndef GNTI_KERNELS_CPU_TREE_H
#define GNTI_KERNELS_CPU_TREE_H

#include "kernels/cpu/cpu_kernels.h"

typedef struct cpu_tree_sum_args {
    const gnt_row_tree *tree; /* NULL: ranges of 1024 rows */
    int64_t num_rows, count;  /* count: values of one sum */
    double work;              /* values read for all rows; decides about threads */
    bool in_double;           /* values are double, else float */
    /* Writes (does not add) the sums over rows [first, first + rows) to out; several threads call it at once. */
    void (*leaf)(void *user, int64_t first, int64_t rows, void *out);
    void *user;
} cpu_tree_sum_args;

/* *out: `count` sums in the stream's scratch, valid until its next op; all 0 without rows. */
gnt_status cpu_tree_sum(gnt_stream *s, const cpu_tree_sum_args *a, void **out);

#endif
