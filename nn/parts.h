/* SPDX-License-Identifier: Apache-2.0 */
/* A program of one rank of several: what the pass `parts` has planned, what is bound, and the instructions that talk to other
 * ranks.
 *
 * Row spaces: the graph's one space has the rank's own rows. Two more, halo_space[0] of the forward and [1] of the backward
 * direction, have its halo rows behind them; a value whose halo_space is one of them keeps room for both in its memory.
 * Sums: a root is a subtree of the tree over chunks that the rank owns whole (at bitwise), or all its rows. Node outputs that
 * are sums over rows go to the block `partial`, one row of it a root and `extra` rows for adding up chunks; the group's
 * SUM_RANKS node turns them into sums over all ranks, in `result` or in the block of gradients.
 */
#ifndef GNTI_NN_PARTS_H
#define GNTI_NN_PARTS_H

#include "base/json.h"
#include "base/text.h"
#include "dist/halo.h"
#include "nn/ir.h"
#include "nn/lower.h"

enum { GNTI_FORWARD, GNTI_BACKWARD };
/* Interior rows are computed in so many pieces, with a look at the exchange between them. */
enum { GNTI_INTERIOR_PIECES = 4 };

/* One sum: floats [first, first + count) of each row of its group, and whose value it becomes. */
typedef struct gnti_sum_part {
    int32_t group, partial, value;
    int64_t first, count;
} gnti_sum_part;

typedef struct gnti_sum_group {
    int64_t first_part, num_parts; /* of the parts */
    int64_t count;                 /* floats of one row */
    int64_t first_result;          /* float in `result` */
    bool last;                     /* the loss statistics go with it */
} gnti_sum_group;

/* Rows that a product computes at once: interior pieces, then boundary. */
typedef struct gnti_row_split {
    gnt_spmm_plan *interior[GNTI_INTERIOR_PIECES], *boundary;
} gnti_row_split;

/* Broadcast of a layer's rows: the arcs of own rows from the rows of one rank. */
typedef struct gnti_tile {
    int64_t num_rows; /* of that rank */
    gnti_graph *arcs; /* own rows x its rows */
    gnt_spmm_plan *plan;
    gnt_buffer *sym, *mean; /* scales of its rows */
} gnti_tile;

typedef struct gnti_program_parts {
    bool on;
    gnti_dist_config dist;
    int32_t halo_space[2];
    int64_t num_exchanges[2]; /* planned: in each step, when bound */
    bool has_max;             /* winners are named by ids, which must fit */
    gnti_sum_part *sums;
    gnti_sum_group *groups;
    int64_t num_sums, sums_capacity, num_groups, groups_capacity;
    int64_t widest_group, num_results; /* floats */
    int64_t widest_norm;               /* doubles of a batch norm's sums */

    const gnti_part *part; /* bound; the rest follows from it */
    /* By direction, [1] may be [0], and how many are under way meanwhile; more than one where the program has such. */
    gnti_halo *halo[2][GNTI_UNDER_WAY];
    gnti_device_halo *device_halo[2][GNTI_UNDER_WAY]; /* of rows in a device's memory, else NULL */
    gnt_stream *talk;                                 /* what the group does; NULL: no group */
    gnti_tree_roots *roots;
    gnti_tree_sum *tree;
    int32_t num_roots, num_extra;
    int64_t *root_chunk;          /* (num_roots + 1) first own chunk of each root */
    int64_t *block_start;         /* first rows of chunks, each root from 0: num_own_chunks + num_roots */
    gnt_buffer *partial, *result; /* these and the next: host memory, unless a group adds them up */
    gnt_buffer *stats, *norm_partial, *norm_sums; /* doubles: (roots, M, 4), (roots, widest), (widest) */
    gnt_buffer *stats_result;                     /* (M, 4) doubles */
    gnti_strategy strategy;                       /* HALO or BROADCAST, once bound */
    gnti_tile *tiles[2];                          /* (num_tiles), [1] may be [0]; BROADCAST alone */
    int32_t num_tiles;
    gnt_buffer *stage[2];
    gnti_exchange *under_way[2];
    bool *overlaps; /* per node: an exchange that goes under the interior rows of the product behind it */
    gnti_row_split split[2], masked_split; /* plans of overlap */
    int64_t *arc_ids;                      /* of own rows and halo rows of the transpose; NULL: not needed */
    gnti_text note;                        /* strategy and why */
} gnti_program_parts;

/* ---- plan_parts.c -------------------------------------------------------------------------------------------------- */
gnt_status gnti_plan_parts(gnti_program *p);

/* ---- bind_parts.c: collective -------------------------------------------------------------------------------------- */
/* Rows of spaces, how rows travel, halo exchanges, sums; once operators are bound, tiles and plans of overlap. */
gnt_status gnti_bind_part(gnti_program *p, const gnti_part *part, const gnti_operator *const *adj);
gnt_status gnti_bind_travel(gnti_program *p);
void gnti_parts_unbind(gnti_program *p);
void gnti_parts_free(gnti_program *p);
/* Values of own rows, halo rows behind them filled from their owners. */
gnt_status gnti_parts_exchange_floats(gnti_program *p, int direction, float *values);
/* The largest of a number over all ranks; sums of numbers. */
gnt_status gnti_parts_max(gnti_program *p, int64_t *value);
gnt_status gnti_parts_sum(gnti_program *p, int64_t *values, int64_t count);
/* Plans of interior and boundary rows of a matrix. */
gnt_status gnti_make_split(gnti_program *p, const gnti_graph *g, const gnti_halo_plan *plan,
                           gnti_row_split *out);

/* ---- device_parts.c: rows and sums of a device whose memory the host does not see ------------------------------------- */
gnt_status gnti_bind_device_halo(gnti_program *p, int64_t widest, int32_t slot);
void gnti_device_halo_unbind(gnti_program *p);
/* Whether sums over ranks are added by the group, in the devices' memory. */
bool gnti_device_sums_by_group(const gnti_program *p);
/* A sum over ranks; gradients and statistics go to their places. */
gnt_status gnti_device_sum_run(const gnti_ranks_args *a);
/* Whether a step is queued whole: every rank is in the group, nobody measures or charges what it does. */
bool gnti_device_parts_are_queued(const gnti_program *p);
/* Until what is queued is done, other ranks' failures included. */
gnt_status gnti_device_finish(const gnti_program *p, const char *what);

/* ---- parts_strategy.c ----------------------------------------------------------------------------------------------- */
gnt_status gnti_choose_strategy(gnti_program *p);
gnt_status gnti_bind_overlap(gnti_program *p);
gnt_status gnti_bind_masked_overlap(gnti_program *p, const gnti_graph *arcs);
/* Whether the exchange node goes under the product behind it. */
bool gnti_parts_overlap(const gnti_program *p, const gnti_node *n);
/* Whether the node reads along arcs and can compute some rows before others. */
bool gnti_is_product(const gnti_node *n);
/* How many exchanges come right before node i for its sake; those that are hoisted do not count. */
int32_t gnti_exchanges_before(const gnti_ir *ir, int64_t i);

/* ---- broadcast.c ---------------------------------------------------------------------------------------------------- */
gnt_status gnti_bind_broadcast(gnti_program *p);
size_t gnti_broadcast_bytes(const gnti_program *p); /* of both buffers */
size_t
gnti_broadcast_row_bytes(const gnti_program *p); /* of both buffers, by row of the rank with most rows */
void gnti_broadcast_free(gnti_program *p);
gnt_status gnti_lower_broadcast(gnti_lowering *lo, const gnti_node *n, gnti_instr *in);
gnt_status gnti_broadcast_run(const gnti_instr *in);

/* ---- lowering ------------------------------------------------------------------------------------------------------ */
/* Own rows that one sum covers; without parts, all rows. */
typedef struct gnti_sum_root {
    int32_t slot; /* row of the block of partial sums */
    int64_t first, rows;
    gnt_row_tree tree;
} gnti_sum_root;
int32_t gnti_lower_num_roots(const gnti_lowering *lo, int32_t rows_of);
gnti_sum_root gnti_lower_root(const gnti_lowering *lo, int32_t rows_of, int32_t root);
/* The view of a sum: its slot, or the value itself. */
gnt_mat_view gnti_lower_sum(const gnti_lowering *lo, int32_t value, const gnti_sum_root *root);
/* Instructions of a node for the rows of each root; when `chunks`, for each chunk, whose sums are then added in the order of
 * the tree: for ops that know no tree, or round its sums. */
typedef gnt_status (*gnti_sum_leaf)(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root);
gnt_status gnti_lower_by_root(gnti_lowering *lo, const gnti_node *n, int32_t rows_of, bool chunks,
                              gnti_sum_leaf leaf);
/* A batch norm's sums: buffers of doubles by root and over all ranks, from one to the other, rows of all ranks. */
gnt_buffer *gnti_lower_norm_partial(const gnti_lowering *lo);
gnt_buffer *gnti_lower_norm_result(const gnti_lowering *lo);
gnt_status gnti_lower_norm_sums(gnti_lowering *lo, const gnti_node *n, int64_t count);
int64_t gnti_lower_total_rows(const gnti_lowering *lo);
bool gnti_lower_has_parts(const gnti_lowering *lo);
/* x of a product along arcs: own rows and halo rows. */
gnt_mat_view gnti_lower_gathered(const gnti_lowering *lo, int32_t value);
/* A product along arcs: at once, or interior rows, the end of the exchanges under way, boundary rows; or rank by rank. The
 * instruction is the last one made, whole; the others are copies of it. */
gnt_status gnti_lower_product(gnti_lowering *lo, const gnti_node *n, gnti_instr *in);
/* Address of a view's first element. */
void *gnti_lower_host(const gnt_mat_view *v);
/* One more of a product's instructions, with another plan. */
gnt_status gnti_lower_again(gnti_lowering *lo, const gnti_instr *in, const gnt_spmm_plan *plan,
                            gnti_instr **out);
/* Ends exchanges under way that no product has ended. */
gnt_status gnti_lower_end_exchanges(gnti_lowering *lo);

/* ---- explain_parts.c ------------------------------------------------------------------------------------------------ */
void gnti_explain_parts_text(const gnti_program *p, gnti_text *t);
gnt_status gnti_explain_parts_json(const gnti_program *p, gnti_json *root);

/* ---- instructions -------------------------------------------------------------------------------------------------- */
/* run_parts.c: a whole step. */
gnt_status gnti_parts_run_step(gnti_program *p, int64_t step);
bool gnti_instr_talks(const gnti_instr *in); /* to other ranks */
gnt_status gnti_parts_run(const gnti_instr *in);

#endif
