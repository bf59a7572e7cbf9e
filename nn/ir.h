/* SPDX-License-Identifier: Apache-2.0 */
/* What a tape records and passes rewrite: values and nodes in the order in which they run.
 *
 * A value is a dense block (rows, members, width) in single assignment: exactly one node writes it, or none when it is a
 * weight, the features or a vector of an operator. Its rows are those of a row space (space > 0) or fixed (space 0). A view
 * is columns (slice) or first rows (self) of another value. A node is one op with its attributes; the epilogue holds what
 * the fuse pass has moved into it. Ids of values start at 1; 0 means none.
 */
#ifndef GNTI_NN_IR_H
#define GNTI_NN_IR_H

#include "nn/program.h"

typedef enum gnti_op {
    GNTI_IR_NONE, /* removed by a pass */
    GNTI_IR_FILL, /* alpha everywhere */
    GNTI_IR_MATMUL,
    GNTI_IR_AGGREGATE,
    GNTI_IR_MAX_GRAD,
    GNTI_IR_ADD, /* alpha in0 + beta in1, in1 may broadcast */
    GNTI_IR_MUL,
    GNTI_IR_SCALE_BY, /* alpha in0 */
    GNTI_IR_ACT,
    GNTI_IR_ACT_GRAD, /* in0 act'(.), in1 is the activation's output */
    GNTI_IR_DROPOUT,
    GNTI_IR_SLICE,  /* a view of columns */
    GNTI_IR_PAD,    /* columns into a wider matrix of zeros */
    GNTI_IR_CONCAT, /* in0 | in1 */
    GNTI_IR_SELF,   /* a view of the destination's own rows */
    GNTI_IR_EXTEND, /* its gradient: zero rows below */
    GNTI_IR_REDUCE,
    GNTI_IR_NORM,      /* out: y, mean, rstd */
    GNTI_IR_NORM_GRAD, /* in: dy, x, gamma, mean, rstd; out: dx, dgamma, dbeta */
    GNTI_IR_LOSS,      /* out: the loss (no storage), gradient of the logits */
    GNTI_IR_CUSTOM,
    GNTI_IR_CUSTOM_GRAD,    /* in: inputs, y, dy; out: gradients of the inputs */
    GNTI_IR_SPARSE_MATMUL,  /* CSR features (or their transpose) times in0; in1: entries after dropout */
    GNTI_IR_SPARSE_DROPOUT, /* entries of the CSR features after dropout */
    GNTI_IR_HEAD_MASK,      /* (heads * width, heads): 1 where the row belongs to the head */
    GNTI_IR_ATTEND,         /* in: h, s_src, s_dst; out: y, soft */
    GNTI_IR_ATTEND_ROWS,    /* in: dy, h, s_src, s_dst, soft, y; out: ds_dst, stat */
    GNTI_IR_ATTEND_COLUMNS, /* in: dy, stat, h, s_src; out: dh, ds_src */
    GNTI_IR_EXCHANGE,  /* halo rows of in0 come from their owners; over parts alone, made by plan_parts.c */
    GNTI_IR_SUM_RANKS, /* partial sums of a group become sums over all ranks */
    GNTI_IR_UPDATE,
    GNTI_IR_COUNT
} gnti_op;

typedef enum gnti_storage {
    GNTI_IN_WORKSPACE,
    GNTI_IN_HOISTED,    /* written when bound, lives on */
    GNTI_IN_HOIST_TEMP, /* written and read only while binding */
    GNTI_IN_WEIGHTS,
    GNTI_IN_GRADS,
    GNTI_IN_FEATURES,
    GNTI_IN_OPERATOR, /* a vector of a bound operator */
    GNTI_IN_VIEW,     /* part of another value */
    GNTI_IN_NOTHING,  /* never stored */
    GNTI_IN_PARTIAL,  /* sums over own rows, one a root; param: group, offset: floats in it */
    GNTI_IN_SUMS      /* sums over all ranks */
} gnti_storage;

typedef enum gnti_vector {
    GNTI_VECTOR_LOOP,
    GNTI_VECTOR_SELF,
    GNTI_VECTOR_SYM,
    GNTI_VECTOR_MEAN,
    GNTI_VECTOR_SYM_T, /* of the rows that a part's transpose gathers */
    GNTI_VECTOR_MEAN_T,
    GNTI_NUM_VECTORS
} gnti_vector;

typedef struct gnti_value {
    int32_t space;
    int32_t halo_space; /* its memory holds halo rows behind the own ones: rows of this space; 0: none */
    int64_t rows;       /* space 0 only */
    int64_t width;
    bool shared; /* one copy for all members */
    bool keep;   /* must still be there after a run */
    gnt_dtype dtype;
    gnti_storage storage;
    int32_t param;  /* WEIGHTS, GRADS: index */
    int32_t parent; /* VIEW: value it is part of */
    int64_t first_column;
    int32_t adj; /* OPERATOR */
    gnti_vector vector;
    int32_t block_members; /* g, set by planning */
    bool sliced;           /* has memory for the members of one slice, set when memory is laid out */
    int64_t offset;        /* bytes in its block, set by the memory pass */
} gnti_value;

/* Floats from one row of activations to the next, for rows of so many: rows of more than 16 begin at a cache line, so that a
 * gather of rows touches no more lines than it must; and no stride is a multiple of 256 bytes, which would bring a tile of
 * columns into few sets of the caches (measured: 64 columns 1.2, 128 and 256 columns 1.4 times slower). */
static inline int64_t gnti_padded_row(int64_t floats)
{
    const int64_t lines = (floats + 15) / 16;

    return floats <= 16 ? floats : 16 * (lines % 4 == 0 ? lines + 1 : lines);
}

/* The same for a value: features lie as the caller has them, parameters without gaps. */
static inline int64_t gnti_value_stride(const gnti_value *v)
{
    const int64_t floats = v->width * v->block_members;

    return v->space != 0 && v->storage != GNTI_IN_FEATURES ? gnti_padded_row(floats) : floats;
}

typedef struct gnti_epilogue_plan { /* see gnt_epilogue; ids of values and hypers, 0: none */
    int32_t row_scale, bias;
    gnt_activation act;
    float act_alpha;
    int32_t hyper;
    uint32_t ordinal;
    int32_t gate;
    gnt_activation gate_act;
    float gate_alpha;
    int32_t gate_hyper;
    uint32_t gate_ordinal;
} gnti_epilogue_plan;

enum { GNTI_NODE_INPUTS = 8, GNTI_NODE_OUTPUTS = 6, GNTI_CUSTOM_INPUTS = 6 };

typedef struct gnti_node {
    gnti_op op;
    int32_t num_in, num_out;
    int32_t in[GNTI_NODE_INPUTS];
    int32_t out[GNTI_NODE_OUTPUTS];
    int32_t layer;     /* from 1; 0: outside of layers */
    bool backward;     /* made by differentiation */
    bool hoisted;      /* runs when bound */
    float alpha, beta; /* of the product and of what it is added to */
    int32_t added;     /* value that the product is added to, beta times it; 0: none */
    bool trans_a, trans_b;
    int32_t adj;
    gnt_aggregate_kind aggregate;
    bool transposed;
    bool masked; /* the input is zero in rows outside of the loss */
    bool scaled; /* the source scale is already in the input */
    gnt_activation act;
    float act_alpha; /* of attention: the slope */
    int32_t hyper;   /* of dropout; of a batch norm the share of a batch in running statistics */
    uint32_t ordinal;
    int32_t reduce;       /* gnt_reduce_kind */
    int64_t first_column; /* of PAD */
    gnt_norm_kind norm;
    int32_t running_mean, running_var; /* values, 0: none */
    const gnt_op_class *custom;
    const void *custom_state;
    gnti_epilogue_plan epilogue;
    int32_t chain; /* nodes of one chain go block by block; 0: none */
    int32_t run;   /* nodes of one run go slice by slice of members; 0: none */
    int32_t group; /* of SUM_RANKS */
} gnti_node;

typedef struct gnti_adj_info {
    int32_t source, destination; /* spaces */
} gnti_adj_info;

typedef struct gnti_ir {
    gnti_value *values; /* values[0] is unused */
    int64_t num_values, values_capacity;
    gnti_node *nodes;
    int64_t num_nodes, nodes_capacity;
    gnti_adj_info *adjs; /* adjs[0] is unused */
    int64_t num_adjs, adjs_capacity;
    int32_t num_spaces;  /* spaces 1 .. num_spaces */
    int32_t entry_space; /* rows are the stored entries of sparse features; 0: none */
    int32_t num_members;
    bool training, sparse_x;
    int32_t x, logits, loss, loss_grad; /* values */
    gnti_loss_config loss_config;
    int32_t loss_norm, loss_apart; /* hypers */
    gnt_status status;             /* first failure while growing, sticky */
    int32_t layer;                 /* given to new nodes */
    gnti_node scratch;
} gnti_ir;

void gnti_ir_free(gnti_ir *ir);
gnt_status gnti_ir_copy(const gnti_ir *from, gnti_ir *to);

/* New things; after a failed allocation they answer 0 or a scratch node, and ir->status tells. A node pointer is good
 * until the next node is added. */
int32_t gnti_ir_value(gnti_ir *ir, int32_t space, int64_t rows, int64_t width, bool shared);
int32_t gnti_ir_like(gnti_ir *ir, int32_t value, int64_t width); /* same rows and members */
int32_t gnti_ir_vector(gnti_ir *ir, int32_t adj, gnti_vector vector);
int32_t gnti_ir_space(gnti_ir *ir);
gnti_node *gnti_ir_node(gnti_ir *ir, gnti_op op, int32_t in0, int32_t in1, int32_t out);
gnti_node *gnti_ir_insert(gnti_ir *ir, int64_t at, gnti_op op, int32_t in0, int32_t in1, int32_t out);

/* Whether a value lies in memory that a program may overwrite once it is no longer needed. */
bool gnti_value_is_temporary(const gnti_value *v);
/* The value that really holds the memory of a view. */
int32_t gnti_ir_root(const gnti_ir *ir, int32_t value);
bool gnti_ir_same_shape(const gnti_ir *ir, int32_t a, int32_t b);

/* All values that a node reads, epilogue and added value too; answers how many. */
enum { GNTI_NODE_READS = GNTI_NODE_INPUTS + 6 };
int gnti_node_reads(const gnti_node *n, int32_t out[GNTI_NODE_READS]);
/* Outputs whose sum over rows lacks the rows of other ranks: bit k for out[k]; 0: none. */
uint32_t gnti_node_row_sums(const gnti_ir *ir, const gnti_node *n);
void gnti_node_replace(gnti_node *n, int32_t from, int32_t to);

/* Per value: its writer, number of reads, last reader (node numbers, -1: none); views count for their root as well. */
typedef struct gnti_uses {
    int64_t writer, last;
    int32_t reads;
} gnti_uses;
gnt_status gnti_ir_uses(const gnti_ir *ir, gnti_uses **out);

/* Removes nodes whose results nobody reads, and closes gaps. */
gnt_status gnti_ir_remove_dead(gnti_ir *ir);
void gnti_ir_close_gaps(gnti_ir *ir);

/* ---- one entry an op (op_table.c) ---------------------------------------------------------------------------- */
typedef struct gnti_autodiff gnti_autodiff;
typedef struct gnti_lowering gnti_lowering;

typedef struct gnti_op_info {
    const char *name;
    void (*gradient)(gnti_autodiff *ad, const gnti_node *n); /* NULL: none passes */
    gnt_status (*lower)(gnti_lowering *lo, const gnti_node *n);
    bool in_place; /* the output may take the memory of in[0], or of in[1] of the same shape */
    bool varies;   /* never hoisted, whatever its inputs */
    bool epilogue; /* takes bias, activation, dropout, gate, and adds to a value */
    uint8_t
        gathers; /* bit k: in[k] is read along arcs, so its halo rows are needed (of the transpose if n->transposed) */
} gnti_op_info;

const gnti_op_info *gnti_op_get_info(gnti_op op);

/* ---- differentiation (autodiff.c) ---------------------------------------------------------------------------- */
struct gnti_autodiff {
    gnti_ir *ir;
    int32_t *grad; /* per forward value: its gradient so far */
    bool *wanted;  /* per forward value: depends on a parameter */
};

/* The gradient of the node's output (0: none); and one more contribution to a value's gradient. */
int32_t gnti_autodiff_of(const gnti_autodiff *ad, int32_t value);
bool gnti_autodiff_wants(const gnti_autodiff *ad, int32_t value);
void gnti_autodiff_add(gnti_autodiff *ad, int32_t value, int32_t gradient);
/* sum of g over what the shape of `like` broadcasts, times other if that is not 0 */
int32_t gnti_autodiff_reduce(gnti_autodiff *ad, int32_t g, int32_t other, int32_t like);

/* Appends the backward nodes of ir->loss; weights' gradients end in GRADS. */
gnt_status gnti_autodiff_run(gnti_ir *ir);

/* op_custom.c: an op's kernels for a backend, NULL ones when it has none; for how many backends but its first. */
gnt_op_kernels gnti_custom_kernels(const gnt_op_class *op, const char *backend);
int32_t gnti_custom_num_more(const gnt_op_class *op);

#endif
