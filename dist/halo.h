/* SPDX-License-Identifier: Apache-2.0 */
/* Halo exchange of rows, and sums over the tree of row blocks that ranks share.
 *
 * A gnti_halo is one plan (partition/part.h) with the buffers of one widest row; start packs and sends own rows, finish waits
 * until the halo rows have landed behind them. Both are collective over the plan's peers, in the same order on every rank.
 */
#ifndef GNTI_DIST_HALO_H
#define GNTI_DIST_HALO_H

#include "dist/comm.h"
#include "partition/part.h"

typedef enum gnti_wire { GNTI_WIRE_F32, GNTI_WIRE_BF16 } gnti_wire;

typedef struct gnti_halo gnti_halo;

typedef struct gnti_halo_counters {
    int64_t exchanges, rows_sent, bytes_sent, bytes_received;
    double exposed_seconds;  /* waited in finish */
    double transfer_seconds; /* from start to the arrival of the last row, as far as it is known */
} gnti_halo_counters;

/* max_floats: the widest row (members x width) of any exchange. The plan must outlive it. */
gnt_status gnti_halo_create(gnti_comm *comm, const gnti_halo_plan *plan, gnti_wire wire, int64_t max_floats,
                            gnti_halo **out);
void gnti_halo_free(gnti_halo **h);

/* Rows of a block in host memory: num_own rows that are sent, num_halo rows behind them that are received. Row r of block b at
 * data + b * block_stride + r * row_stride (floats), floats wide. */
typedef struct gnti_halo_rows {
    float *data;
    int64_t num_blocks, block_stride, row_stride, floats;
} gnti_halo_rows;
/* Own rows are read before start returns; one exchange of a gnti_halo is under way at a time. dtype: F32, or I32/raw 4-byte
 * values that are never rounded when `raw`. */
gnt_status gnti_halo_start(gnti_halo *h, const gnti_halo_rows *rows, bool raw);
gnt_status gnti_halo_poll(gnti_halo *h, bool *out_done);
gnt_status gnti_halo_finish(gnti_halo *h);
void gnti_halo_get_counters(const gnti_halo *h, gnti_halo_counters *out);

/* ---- tree_sum.c: sums over all ranks in the order of the tree over chunks [0, K) ----------------------------------- */
/* The subtrees a rank owns whole: node i covers chunks [first[i], end[i]), ascending. A range of chunks gives few. */
typedef struct gnti_tree_roots {
    int32_t num_chunks, num_roots;
    int32_t *first, *end;
} gnti_tree_roots;
/* Where node [a, b) splits, b - a > 1: a + the largest power of two < b - a. */
static inline int32_t gnti_tree_split(int32_t a, int32_t b)
{
    int32_t half = 1;

    while (2 * (int64_t)half < (int64_t)b - a)
        half *= 2;
    return a + half;
}

/* owned: ascending chunk ids of the rank. */
gnt_status gnti_tree_roots_make(int32_t num_chunks, const int32_t *owned, int32_t num_owned,
                                gnti_tree_roots **out);
void gnti_tree_roots_free(gnti_tree_roots **roots);

typedef struct gnti_tree_sum gnti_tree_sum;
/* Collective: ranks tell each other their roots. by_rank: one root a rank, added in rank order (for levels below bitwise,
 * where each rank sums its rows as one tree); roots may be NULL then. */
gnt_status gnti_tree_sum_create(gnti_comm *comm, const gnti_tree_roots *roots, bool by_rank,
                                gnti_tree_sum **out);
void gnti_tree_sum_free(gnti_tree_sum **t);
/* roots (num_roots, count) of this rank, F32 or F64; out (count), the same bits on every rank. */
gnt_status gnti_tree_sum_run(gnti_tree_sum *t, const void *roots, int64_t count, gnt_dtype dtype, void *out);

#endif
