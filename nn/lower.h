/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions: what a node becomes once rows, buffers and offsets are known. Binding lowers all nodes again into the
 * same slots, so that it allocates nothing for shapes that it has seen; running walks the list.
 */
#ifndef GNTI_NN_LOWER_H
#define GNTI_NN_LOWER_H

#include "dist/device_halo.h"
#include "nn/ir.h"

typedef enum gnti_instr_kind {
    GNTI_INSTR_GEMM,
    GNTI_INSTR_SPMM,
    GNTI_INSTR_NORM,
    GNTI_INSTR_MAP,
    GNTI_INSTR_REDUCE,
    GNTI_INSTR_LOSS,
    GNTI_INSTR_UPDATE,
    GNTI_INSTR_CUSTOM,
    GNTI_INSTR_ATTEND,
    GNTI_INSTR_ATTEND_GRAD,
    GNTI_INSTR_NOTHING,
    /* from here: between ranks (nn/parts.h) */
    GNTI_INSTR_EXCHANGE,
    GNTI_INSTR_EXCHANGE_START,
    GNTI_INSTR_EXCHANGE_POLL,
    GNTI_INSTR_EXCHANGE_FINISH,
    GNTI_INSTR_SUM_RANKS,
    GNTI_INSTR_BROADCAST_START,
    GNTI_INSTR_BROADCAST_FINISH
} gnti_instr_kind;

enum { GNTI_INSTR_VIEWS = 16, GNTI_UNDER_WAY = 2 };

typedef struct gnti_exchange_args {
    gnti_halo *halo;
    int32_t slot; /* which of several at a time */
    gnti_halo_rows rows;
    gnti_device_halo *device; /* not NULL: rows are in a device's memory, in `view` */
    gnt_mat_view view;
    bool raw;
    const struct gnti_exchange_args *behind; /* POLL: looked at once this one has arrived, or NULL */
} gnti_exchange_args;

/* roots (num_roots, count) of this rank, summed over all into out; parts say which of them are gradients. */
typedef struct gnti_ranks_args {
    const gnti_lowering *lo;
    gnti_tree_sum *tree;
    const void *roots;
    void *out; /* host memory; to_device, when not NULL, gets a copy */
    gnt_buffer *to_device;
    gnti_group *group; /* not NULL: it adds up in the devices' memory, one root a rank; out is NULL */
    const gnt_buffer *roots_buffer; /* of roots */
    gnt_buffer *out_buffer;         /* of out */
    size_t out_offset;
    int64_t count;
    gnt_dtype dtype;
    const struct gnti_sum_part *parts;
    int64_t num_parts;
} gnti_ranks_args;

typedef struct gnti_broadcast_args {
    gnti_comm *comm;
    gnti_exchange **under_way;
    int32_t root;
    void *data, *own; /* own: blocks of rows to gather into data first, NULL: they are there */
    int64_t num_blocks;
    size_t block_bytes, own_stride;
} gnti_broadcast_args;

typedef struct gnti_instr {
    gnti_instr_kind kind;
    const gnti_node *node;
    const gnt_spmm_plan *plan;
    gnt_op_run custom;       /* CUSTOM */
    bool alone;              /* in no chain */
    int32_t slice;           /* number of the slice of members, 0: all */
    bool interior, boundary; /* the rows of a product in two goes that it has */
    gnt_row_tree tree;
    union {
        gnt_gemm_args gemm;
        gnt_spmm_args spmm;
        gnt_norm_args norm;
        gnt_map_args map;
        gnt_reduce_args reduce;
        gnt_loss_args loss;
        gnt_optimizer_args update;
        gnt_op_args custom;
        gnt_attend_args attend;
        gnt_attend_grad_args attend_grad;
        gnti_exchange_args exchange;
        gnti_ranks_args ranks;
        gnti_broadcast_args broadcast;
    } a;
    gnt_mat_view views[GNTI_INSTR_VIEWS]; /* what pointers in the arguments point to */
    const gnt_mat_view *grads[GNTI_CUSTOM_INPUTS];
} gnti_instr;

/* A cleared slot; NULL after a failed allocation, which the caller passes on. */
gnt_status gnti_lower_new(gnti_lowering *lo, gnti_instr_kind kind, const gnti_node *n, gnti_instr **out);
gnt_mat_view gnti_lower_view(const gnti_lowering *lo, int32_t value);
/* Columns first .. first + width - 1, and rows first .. first + rows - 1, of a view. */
gnt_mat_view gnti_view_columns(gnt_mat_view v, int64_t first, int64_t width);
gnt_mat_view gnti_view_rows(gnt_mat_view v, int64_t first, int64_t rows);
const gnti_value *gnti_lower_value(const gnti_lowering *lo, int32_t value);
/* Rows of a value as bound. */
int64_t gnti_lower_rows(const gnti_lowering *lo, int32_t value);
const gnt_buffer *gnti_lower_step(const gnti_lowering *lo);
bool gnti_lower_is_training(const gnti_lowering *lo);
int32_t gnti_lower_features(const gnti_lowering *lo); /* value of x */
int32_t gnti_lower_num_members(const gnti_lowering *lo);
const gnt_buffer *gnti_lower_ids(const gnti_lowering *lo,
                                 int32_t value); /* of its rows; NULL: their numbers */
/* Ids of the two ends of the arcs that a node goes along; NULL: their numbers. */
typedef struct gnti_arc_ids {
    const gnt_buffer *src, *dst;
} gnti_arc_ids;
gnti_arc_ids gnti_lower_arc_ids(const gnti_lowering *lo, const gnti_node *n);
gnt_dropout gnti_lower_dropout(const gnti_lowering *lo, int32_t hyper, uint32_t ordinal, int32_t value);
/* Fills the epilogue from a node; views go to the instruction's slots from `first` on. */
gnt_epilogue gnti_lower_epilogue(const gnti_lowering *lo, gnti_instr *in, const gnti_node *n, int first);
gnt_row_tree gnti_lower_tree(const gnti_lowering *lo, int32_t value);
/* y = alpha a (a copy between views). */
gnt_status gnti_lower_copy(gnti_lowering *lo, const gnti_node *n, gnt_mat_view a, gnt_mat_view y,
                           float alpha);
/* Before an op that adds to n->added: copies it to the output unless they share memory. */
gnt_status gnti_lower_added(gnti_lowering *lo, const gnti_node *n);

/* What is bound, for op_aggregate.c, op_sparse.c and op_loss.c. */
typedef struct gnti_lower_operator {
    const gnt_spmm_plan *forward, *transposed;
    bool has_loop, has_self;     /* vectors exist */
    const gnt_spmm_plan *masked; /* transposed, arcs from rows in the loss alone; NULL: none */
} gnti_lower_operator;
gnti_lower_operator gnti_lower_get_operator(const gnti_lowering *lo, int32_t adj);
/* The vector that an aggregation gathers: sym or mean, in its direction; rows as many as it has. */
gnt_mat_view gnti_lower_vector(const gnti_lowering *lo, int32_t adj, gnti_vector vector);
typedef struct gnti_lower_sparse {
    const gnt_spmm_plan *forward, *transposed;
    gnt_mat_view values, values_transposed; /* (entries, shared, 1) */
    const gnt_buffer *rows, *columns, *rows_transposed, *columns_transposed;
} gnti_lower_sparse;
gnti_lower_sparse gnti_lower_get_sparse(const gnti_lowering *lo);
void gnti_lower_loss_inputs(const gnti_lowering *lo, gnt_loss_args *a, gnti_instr *in);
void gnti_lower_update_inputs(const gnti_lowering *lo, gnt_optimizer_args *a);

/* The lower functions of the op table, each beside its op. */
gnt_status gnti_lower_fill(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_matmul(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_aggregate(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_max_grad(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_add_mul(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_scale_by(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_act(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_act_grad(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_dropout_op(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_nothing(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_pad(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_concat(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_extend(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_reduce(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_norm(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_norm_grad(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_loss(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_update(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_exchange(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_sum_ranks(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_custom(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_custom_grad(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_sparse_matmul(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_sparse_dropout(gnti_lowering *lo, const gnti_node *n);

gnt_status gnti_lower_head_mask(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_attend(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_attend_rows(gnti_lowering *lo, const gnti_node *n);
gnt_status gnti_lower_attend_columns(gnti_lowering *lo, const gnti_node *n);

void gnti_grad_matmul(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_aggregate(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_add(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_mul(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_scale_by(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_act(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_dropout(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_slice(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_concat(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_self(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_norm(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_attend(gnti_autodiff *ad, const gnti_node *n);
void gnti_grad_custom(gnti_autodiff *ad, const gnti_node *n);

#endif
