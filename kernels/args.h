/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the math ops of the backend table: what an op computes, formulas, shapes, and what may be NULL.
 *
 * Views are include/gnntrain/op.h's. Random numbers: base/philox.h, hypers: kernels/step.h. Order of sums: over rows by a
 * fixed binary tree of blocks of 1024, along a row one accumulator per 4096 entries (docs/design.md). Every op has a slow
 * twin in cpu/ref_*.c.
 */
#ifndef GNTI_KERNELS_ARGS_H
#define GNTI_KERNELS_ARGS_H

#include <gnntrain/op.h>

#include "kernels/step.h"

/* What dispatch.c counts on every stream: calls, host seconds, and the work by cost.h. */
typedef enum gnti_op_kind {
    GNTI_OP_GEMM,
    GNTI_OP_SPMM,
    GNTI_OP_NORM,
    GNTI_OP_MAP,
    GNTI_OP_REDUCE,
    GNTI_OP_GATHER,
    GNTI_OP_LOSS,
    GNTI_OP_OPTIMIZER,
    GNTI_OP_CHAIN,
    GNTI_OP_ATTEND,
    GNTI_OP_NUM_KINDS
} gnti_op_kind;

/* The tree over row blocks: blocks [a, b) split at a + the largest power of two < b - a. block_start NULL: ranges of
 * 1024 rows; else (num_blocks + 1) first rows (chunks of a partition). */
enum { GNTI_TREE_ROWS = 1024, GNTI_ROW_ENTRIES = 4096 };
typedef struct gnt_row_tree {
    int64_t num_rows, num_blocks;
    const int64_t *block_start;
} gnt_row_tree;

typedef enum gnt_activation {
    GNT_ACT_NONE,
    GNT_ACT_RELU,
    GNT_ACT_ELU,
    GNT_ACT_LEAKY_RELU,
    GNT_ACT_SIGMOID,
    GNT_ACT_TANH
} gnt_activation;

/* Random keep of an element: hyper `hyper` of the step block holds p per member, keys too; row r draws with the id
 * row_ids[r] (int64 buffer), or r when row_ids is NULL. hyper < 0: no dropout. */
typedef struct gnt_dropout {
    int32_t hyper;
    uint32_t ordinal;
    const gnt_buffer *row_ids;
    int64_t first_row; /* row r of the views is row first_row + r here (a block of a chain) */
} gnt_dropout;

/* What is done to each value before it is stored, in this order; all zero with dropout.hyper = -1 means nothing:
 *   v = alpha row_scale[r] product + beta old; v += bias[c]; v = act(v); v = dropout(v);
 *   v *= gate_act'(gate) [and the gate's dropout factor]
 * (row_scale belongs to the product, so that gradients of scaled aggregations can be added up).
 * The gate is the *output* of an earlier activation (then dropout, if gate_dropout.hyper >= 0), so that a backward
 * product can pass through activation and dropout without an array of its own (RELU with dropout needs no draw: a kept
 * positive element is what is not 0 in the gate). The gate may be the output's own memory: each element is read before it is
 * written. */
typedef struct gnt_epilogue {
    const gnt_mat_view *row_scale; /* (rows, shared, 1) */
    const gnt_mat_view *bias;      /* (1, M, width) */
    gnt_activation act;
    float act_alpha; /* slope of LEAKY_RELU, alpha of ELU */
    gnt_dropout dropout;
    const gnt_mat_view *gate;
    gnt_activation gate_act;
    float gate_alpha;
    gnt_dropout gate_dropout;
    const gnt_buffer *step; /* step block; needed by dropout */
} gnt_epilogue;

#define GNT_EPILOGUE_NONE ((gnt_epilogue){ .dropout = { .hyper = -1 }, .gate_dropout = { .hyper = -1 } })

typedef struct gnt_gemm_args { /* c[m] = alpha op(a[m]) op(b[m]) + beta c[m]; a shared operand broadcasts */
    gnt_mat_view a, b, c;
    bool trans_a, trans_b;
    float alpha, beta;            /* constants of the program; what may change is a hyper */
    const gnt_row_tree *row_tree; /* the order of the sum over rows (trans_a); else NULL */
    gnt_epilogue epilogue;
} gnt_gemm_args;

/* A plan borrows the host CSR, which must live as long; devices copy what they need. rows are outputs. */
typedef struct gnti_choices gnti_choices; /* kernels/choices.h */
typedef struct gnt_spmm_plan_args {
    int64_t num_rows, num_cols, num_arcs;
    const int64_t *offsets;
    const int32_t *columns;
    const float *weights;       /* (num_arcs) or NULL: all 1 */
    int64_t first_row, end_row; /* a range of output rows; 0, num_rows: all */
    const int32_t *rows;        /* (num_listed) only these output rows, ascending; NULL: the range */
    int64_t num_listed;
    int64_t max_width; /* widest g * width */
    bool lasting;      /* for many products: worth a layout of its own */
    gnti_choices *
        choices; /* where a device that has several ways keeps which one it takes; NULL: it goes by its rule */
} gnt_spmm_plan_args;

typedef struct gnt_spmm_plan gnt_spmm_plan;

/* y_i = self_i s_i x_i + sum_j w_ij s_j x_j, then the epilogue (row_scale is the destination's scale).
 * s = src_scale or 1. The self term comes first; x_i is row i of x. MAX takes the largest term instead of the sum, the
 * first one on ties, 0 when there is none. */
typedef enum gnt_self_kind { GNT_SELF_NONE, GNT_SELF_ONE, GNT_SELF_VECTOR } gnt_self_kind;
/* Rows without their own row in x (x.rows <= i, bipartite blocks) have no self term. MAX with a self VECTOR: x_i takes part
 * where self_i != 0. MAX_GRAD, on the transposed plan: y_j = sum of the x_i (self, then arcs) with arg(i, m, c) == j;
 * arg, read here, is what MAX wrote (with arg_ids: arg(i, m, c) == arg_ids[j], so that ranks agree). x and y may have different g. */
typedef enum gnt_spmm_reduce { GNT_SPMM_SUM, GNT_SPMM_MAX, GNT_SPMM_MAX_GRAD } gnt_spmm_reduce;
typedef struct gnt_spmm_args { /* y = alpha A x + beta y, one read of A per block of members */
    gnt_mat_view x, y;
    gnt_spmm_reduce reduce;
    gnt_self_kind self_kind;
    const gnt_mat_view *self;       /* (rows, shared, 1) for VECTOR */
    const gnt_mat_view *src_scale;  /* (cols, shared, 1) or NULL */
    const gnt_mat_view *arc_weight; /* (arcs, M, 1), or NULL: the plan's weights */
    const gnt_mat_view *arg;        /* MAX: int32 winners' columns, -1 for an empty row; or NULL */
    const gnt_buffer *arg_ids;      /* int64 (cols; MAX_GRAD: rows): arg holds these, not columns; or NULL */
    float alpha, beta;
    gnt_epilogue epilogue;
} gnt_spmm_args;

/* Attention along arcs (Velickovic et al., ICLR 2018), without an array of arc size. Heads lie side by side in a row: h is
 * (columns, M, heads * width), scores s_src (columns, M, heads) and s_dst (rows, M, heads). Arcs run over those of row i and i
 * itself (its own first); arc weights are not read, a row without arcs attends to itself alone.
 *   e_ij = s_dst[i] + s_src[j], a_ij = softmax_j leaky_relu(e_ij, slope), 0 <= slope <= 1
 *   out_i = alpha sum_j keep_ij a_ij h_j + beta out_i, then the epilogue
 * keep_ij: dropout of arcs, drawn by (source id, destination id, head); 1 without a hyper. ids NULL: numbers of rows.
 * soft (rows, M, 2 heads) = max_i | sum_i of the softmax, for the backward passes; buf NULL: not kept. */
typedef struct gnt_arc_dropout {
    int32_t hyper; /* < 0: none */
    uint32_t ordinal;
    const gnt_buffer *src_ids, *dst_ids; /* int64 */
    const gnt_buffer *step;
} gnt_arc_dropout;
typedef struct gnt_attend_args {
    int32_t heads;
    float slope;
    gnt_mat_view h, s_src, s_dst, out, soft;
    float alpha, beta;
    gnt_epilogue epilogue;
    gnt_arc_dropout dropout;
} gnt_attend_args;

/* Its gradient in two passes, both recompute a_ij. grad is that of sum_j keep_ij a_ij h_j.
 *   by rows, the forward plan:      reads h, s_src, s_dst, soft, out, grad; r_i = <grad_i, out_i>;
 *                                   writes ds_dst_i = sum_j de_ij and stat (rows, M, 4 heads) = s_dst | max | 1 / sum | r
 *   by columns, the transposed one: reads grad and stat of the destinations, h and s_src of its own rows;
 *                                   writes dh_j = sum_i keep_ij a_ij grad_i and ds_src_j = sum_i de_ij
 * de_ij = a_ij (keep_ij <grad_i, h_j> - r_i) leaky_relu'(e_ij). Through arcs go h and s_src, then grad and stat. */
typedef struct gnt_attend_grad_args {
    bool transposed;
    int32_t heads;
    float slope;
    gnt_mat_view h, s_src, grad, stat; /* both; stat is written by rows, read by columns */
    gnt_mat_view s_dst, soft, out, ds_dst;
    gnt_mat_view dh, ds_src;
    gnt_arc_dropout dropout;
} gnt_attend_grad_args;

typedef enum gnt_norm_kind { GNT_NORM_BATCH, GNT_NORM_LAYER } gnt_norm_kind;
/* A batch norm in training whose rows are spread over ranks goes in phases; between them the caller adds `sums` over ranks:
 *   forward   SUM (of x, M x width), MEAN (from sums), SQUARES (of x - mean, M x width), APPLY (rstd, running statistics, y)
 *   backward  SUM (of dy and dy h, M x 2 x width), APPLY (dgamma, dbeta, dx; overwrites sums) */
typedef enum gnt_norm_phase {
    GNT_NORM_WHOLE, /* all rows are here */
    GNT_NORM_SUM,
    GNT_NORM_MEAN,
    GNT_NORM_SQUARES,
    GNT_NORM_APPLY
} gnt_norm_phase;
/* y = gamma (x - mean) rstd + beta. BATCH: mean, rstd (1, M, width) over rows (Ioffe, Szegedy 2015), biased variance;
 * LAYER: (rows, M, 1) over columns (Ba, Kiros, Hinton 2016). training = false with BATCH: mean and var are read from
 * running_* (backward too). Running variance takes the unbiased one, as PyTorch. Backward: dx, dgamma, dbeta from dy, x
 * and the saved mean, rstd. gamma, beta, dgamma, dbeta with buf NULL: absent. */
typedef struct gnt_norm_args {
    gnt_norm_kind kind;
    bool backward, training;
    gnt_mat_view x, y, gamma, beta, mean, rstd;
    const gnt_mat_view *running_mean, *running_var; /* (1, M, width), updated when training, NULL: none */
    float momentum, eps;
    const gnt_buffer *step; /* with momentum_hyper */
    int32_t
        momentum_hyper; /* each member's momentum, in the place of the other; 0: none. A member's 0 leaves running_* alone */
    gnt_mat_view dy, dx, dgamma, dbeta;
    bool accumulate_dx;
    const gnt_row_tree *row_tree;
    gnt_norm_phase phase;
    gnt_buffer *sums; /* float64, written by SUM and SQUARES for these rows, read by MEAN and APPLY for all */
    size_t sums_offset;
    int64_t total_rows; /* of all ranks: MEAN, APPLY */
} gnt_norm_args;

typedef enum gnt_map_kind {
    GNT_MAP_FILL,     /* y = alpha */
    GNT_MAP_COPY,     /* y = alpha a */
    GNT_MAP_ADD,      /* y = alpha a + beta b */
    GNT_MAP_MUL,      /* y = alpha a b */
    GNT_MAP_ACT,      /* y = act(a) */
    GNT_MAP_ACT_GRAD, /* y = a act'(.), b is the activation's output */
    GNT_MAP_DROPOUT   /* y = keep a / (1 - p); forward and backward alike */
} gnt_map_kind;
/* A DROPOUT of the stored entries of a sparse matrix has one row an entry, width 1; entry e draws with the row id of
 * arc_rows[e] and column arc_columns[e] (int32), as the dense matrix would; a shared a gives a y of M members.
 * b broadcasts when it has one row, one column, or is shared by members. accumulate: y += instead of y =. */
typedef struct gnt_map_args {
    gnt_map_kind kind;
    gnt_mat_view a, b, y;
    float alpha, beta;
    gnt_activation act;
    float act_alpha;
    gnt_dropout dropout;
    const gnt_buffer *arc_rows, *arc_columns; /* NULL: an ordinary matrix */
    const gnt_buffer *step;
    bool accumulate;
} gnt_map_args;

typedef enum gnt_reduce_kind {
    GNT_REDUCE_SUM_ROWS, /* y (1, M, width) = sum_r a */
    GNT_REDUCE_DOT_ROWS, /* y (1, M, width) = sum_r a b */
    GNT_REDUCE_DOT_COLS, /* y (rows, M, 1)  = sum_c a b */
    GNT_REDUCE_DOT_ALL   /* y (1, M, 1)     = sum_r sum_c a b */
} gnt_reduce_kind;
typedef struct gnt_reduce_args {
    gnt_reduce_kind kind;
    gnt_mat_view a, b, y; /* b broadcasts as in gnt_map_args */
    const gnt_row_tree *row_tree;
    bool accumulate;
} gnt_reduce_args;

/* y[r] = x[index[r]], ERR_ARG when it lies outside x; index is an int32 buffer of y.rows. Its gradient is an spmm by the transposed index. */
typedef struct gnt_rows_args {
    gnt_mat_view x, y;
    const gnt_buffer *index;
    bool accumulate;
} gnt_rows_args;

typedef enum gnt_loss_kind { GNT_LOSS_SOFTMAX, GNT_LOSS_BCE, GNT_LOSS_MSE } gnt_loss_kind;
/* Loss and its gradient in one pass. Row r of member m has the weight w = weight(r, m) [times class_weight of its
 * label], 0: not in the loss (and its label is not looked at, its gradient is 0). A label outside 0..C-1 with w > 0 is
 * ERR_ARG. BCE and MSE: l is the sum over columns of class_weight[c] l_c; nothing counts as right. grad = w (dl/dz) norm[m], with norm the hyper `norm_hyper` (1 / sum of weights, or 1 / (sum
 * of weights * C) for BCE and MSE). apart H (SOFTMAX) with g the hyper `apart_hyper` makes l less by g |p - H|_2, p the softmax: the
 * gradient has -g p (v - <p, v>) more, v = (p - H) / max(|p - H|, 1e-8) (EDDE, Zhang et al., ICDE 2020). stats (M, 4) float64: sum w l, sum w, sum w [argmax right], rows with w > 0; sums over rows by the tree. */
typedef struct gnt_loss_args {
    gnt_loss_kind kind;
    gnt_mat_view logits, weight;
    const gnt_buffer *labels; /* int32 for SOFTMAX: row r of the views has labels[first_row + r] */
    int64_t first_row;
    gnt_mat_view target;              /* (rows, shared, C) float for BCE, MSE */
    const gnt_mat_view *class_weight; /* (1, M or shared, C) or NULL */
    const gnt_mat_view *apart;        /* (rows, M or shared, C) or NULL */
    int32_t norm_hyper, apart_hyper;
    const gnt_mat_view *grad; /* NULL: loss only */
    gnt_buffer *stats;
    size_t stats_offset; /* bytes */
    const gnt_buffer *step;
    const gnt_row_tree *row_tree;
} gnt_loss_args;

/* One kernel over the packed arena of all parameters: segment s holds member m at offset + m * count (floats). */
typedef struct gnt_param_segment {
    int64_t offset, count;
    int32_t decay_hyper; /* -1: no decay */
} gnt_param_segment;
typedef enum gnt_optimizer_kind {
    GNT_OPTIMIZER_SGD,
    GNT_OPTIMIZER_ADAM,
    GNT_OPTIMIZER_ADAMW
} gnt_optimizer_kind;
/* Formulas as PyTorch (docs/models.md). corr1 = 1 - b1^t, corr2 = 1 - b2^t are hypers. Members with live 0 keep
 * weights and moments. bad (M) int32: 1 + segment of the first gradient that is not finite, else 0; that member keeps its
 * weights. clip_hyper: largest norm of a member's whole gradient, < 0: none, value 0: none. */
typedef struct gnt_optimizer_args {
    gnt_optimizer_kind kind;
    bool nesterov;
    double beta1, beta2, eps; /* as PyTorch: 1 - 0.999f is 1.3e-5 off. beta1 is the momentum of SGD */
    gnt_buffer *weights, *grads, *moment1, *moment2;
    const gnt_param_segment *segments;
    int32_t num_segments, num_members;
    int32_t lr_hyper, corr1_hyper, corr2_hyper, clip_hyper;
    const gnt_buffer *step;
    gnt_buffer *bad;
} gnt_optimizer_args;

typedef struct gnt_copy_args {
    gnt_buffer *dst;
    size_t dst_offset;
    const gnt_buffer *src;
    size_t src_offset, bytes;
} gnt_copy_args;

/* A chain: ops in order on the same num_rows rows, done block of rows by block, so that what one writes is still in the
 * cache when the next reads it. Results are those of the ops one after another. Allowed are GEMM and SPMM that write these
 * rows, MAP on them, and sums over them by the default tree: GEMM with trans_a, REDUCE to one row. No op reads a sum that the
 * chain makes, no SPMM gathers rows that it writes, and two views share memory only row by row. */
typedef struct gnt_chain_op {
    gnti_op_kind kind;
    const gnt_spmm_plan *plan; /* SPMM */
    union {
        const gnt_gemm_args *gemm;
        const gnt_spmm_args *spmm;
        const gnt_map_args *map;
        const gnt_reduce_args *reduce;
    } a;
} gnt_chain_op;
/* A chain in several goes, so that rows whose inputs are there need not wait for the others: its first op is an SPMM by a list of
 * rows. EARLY does the product for the listed rows, and where a block (GNTI_TREE_ROWS rows) is listed whole also the *row ops* behind
 * the product: those up to the first that gathers or sums over rows. LATE, with the list of all rows that no EARLY had, does what is
 * left. No block is divided between the lists of two EARLYs. */
typedef enum gnt_chain_go { GNT_CHAIN_WHOLE, GNT_CHAIN_EARLY, GNT_CHAIN_LATE } gnt_chain_go;
typedef struct gnt_chain_args {
    const gnt_chain_op *ops;
    int32_t num_ops;
    int64_t num_rows;
    gnt_chain_go go;
} gnt_chain_args;

#endif
