/* SPDX-License-Identifier: Apache-2.0 */
/* What the C files and the kernels of this folder share: argument structs of plain device addresses and integers, and the
 * launchers' prototypes. Read by the C compiler and by nvcc (or a C++ compiler, tests/hostcuda).
 *
 * A launcher queues the kernels of one op on the stream and answers the first launch's error; no rows are cudaSuccess. What a
 * struct holds must stay the same from step to step: a captured step is launched again with the arguments of its capture, and
 * all that changes is read from the step block (kernels/step.h). Formulas: kernels/args.h; scratch is the caller's, its size
 * is what cuda_<op>_bytes answers.
 */
#ifndef GNTI_KERNELS_CUDA_LAUNCH_H
#define GNTI_KERNELS_CUDA_LAUNCH_H

#include "kernels/args.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gnt_mat_view with the device address of its first element; data NULL: absent. (r, m, c) is at
 *   m / block_members * block_stride + r * row_stride + m % block_members * member_stride + c   elements behind data. */
typedef struct cuda_view {
    void *data;
    int64_t rows, members, block_members, width, row_stride, member_stride, block_stride;
    gnt_dtype dtype; /* F32 or BF16; I32 for winners */
} cuda_view;

/* gnt_dropout: hyper < 0: none. */
typedef struct cuda_dropout {
    int32_t hyper;
    uint32_t ordinal;
    const int64_t *row_ids; /* NULL: numbers of rows */
    int64_t first_row;
} cuda_dropout;

/* gnt_epilogue, its fields in the order of its formula. */
typedef struct cuda_epilogue {
    cuda_view row_scale, bias, gate;
    gnt_activation act, gate_act;
    float act_alpha, gate_alpha;
    cuda_dropout dropout, gate_dropout;
    const void *step; /* step block; NULL: no dropout */
} cuda_epilogue;

/* A kernel that meets a value it must refuse (a label, an index) writes here, the first one wins; stream_wait reads it. */
typedef enum cuda_fault_kind { CUDA_FAULT_NONE, CUDA_FAULT_LABEL, CUDA_FAULT_INDEX } cuda_fault_kind;
typedef struct cuda_fault {
    int32_t kind, reserved;
    int64_t row, value, limit; /* value is outside 0 .. limit - 1 */
} cuda_fault;

/* ---- the sparse ops ------------------------------------------------------------------------------------------------- */

/* The CSR of a plan on the device. Offsets are 32-bit where the arcs fit (offsets32), else 64-bit. Rows of more than
 * CUDA_HUB_ENTRIES entries are hubs, summed in pieces of at most GNTI_ROW_ENTRIES by other kernels than the rest: hub h has
 * the pieces hub_first[h] .. hub_first[h + 1] - 1, in the order of its entries. Only rows of the plan are listed. */
enum { CUDA_HUB_ENTRIES = 1024 };
typedef struct cuda_csr {
    int64_t num_rows, num_cols, num_arcs;
    const int32_t *offsets32; /* (num_rows + 1) or NULL */
    const int64_t *offsets64;
    const int32_t *columns; /* (num_arcs) */
    const float *weights;   /* (num_arcs) or NULL: all 1 */
    const int32_t *rows;    /* (num_work) the output rows, or NULL: first_row + i */
    int64_t first_row, num_work;
    int64_t num_hubs, num_pieces;
    const int32_t *hub_rows;  /* (num_hubs) ascending */
    const int32_t *hub_first; /* (num_hubs + 1) */
    const int32_t *piece_hub; /* (num_pieces) */
} cuda_csr;

/* gnt_spmm_args, all cases. partial: cuda_spmm_bytes, NULL when that is 0. */
typedef struct cuda_spmm_args {
    cuda_csr csr;
    gnt_spmm_reduce reduce;
    gnt_self_kind self_kind;
    cuda_view x, y, self, src_scale, arc_weight, arg;
    const int64_t *arg_ids;
    float alpha, beta;
    cuda_epilogue epilogue;
    float *partial;
} cuda_spmm_args;
size_t cuda_spmm_bytes(const cuda_spmm_args *a);
cudaError_t cuda_launch_spmm(cudaStream_t stream, const cuda_spmm_args *a);

/* y = epilogue(alpha row_scale product + beta y), for a product that a library stored: rows first_row .. or the listed ones.
 * The product may be y's own memory (beta is 0 then). */
typedef struct cuda_finish_args {
    cuda_view product, y;
    const int32_t *rows; /* (num_work) or NULL */
    int64_t first_row, num_work;
    float alpha, beta;
    cuda_epilogue epilogue;
} cuda_finish_args;
cudaError_t cuda_launch_finish(cudaStream_t stream, const cuda_finish_args *a);

/* gnt_arc_dropout, gnt_attend_args and gnt_attend_grad_args. partial, sides: behind each other in cuda_attend_bytes. */
typedef struct cuda_arc_dropout {
    int32_t hyper; /* < 0: none */
    uint32_t ordinal;
    const int64_t *src_ids, *dst_ids;
    const void *step;
} cuda_arc_dropout;
typedef enum cuda_attend_pass {
    CUDA_ATTEND_FORWARD,
    CUDA_ATTEND_BY_ROWS,
    CUDA_ATTEND_BY_COLUMNS
} cuda_attend_pass;
typedef struct cuda_attend_args {
    cuda_csr csr;
    cuda_attend_pass pass;
    int32_t heads, width; /* of a head */
    int64_t members;
    float slope, alpha, beta;
    cuda_view h, s_src, s_dst, out, soft; /* forward and by rows; by columns h and s_src */
    cuda_view grad, stat, ds_dst, dh, ds_src;
    cuda_epilogue epilogue;
    cuda_arc_dropout dropout;
    float *partial; /* (members, pieces, 2 heads + heads * width): max, sum, values of the pieces of hubs */
    float *sides;   /* (members, hubs, heads) by rows: 1 or -1 */
} cuda_attend_args;
size_t cuda_attend_bytes(const cuda_attend_args *a);
cudaError_t cuda_launch_attend(cudaStream_t stream, const cuda_attend_args *a);

/* ---- pointwise ops -------------------------------------------------------------------------------------------------- */

typedef struct cuda_map_args { /* gnt_map_args */
    gnt_map_kind kind;
    cuda_view a, b, y;
    float alpha, beta;
    gnt_activation act;
    float act_alpha;
    cuda_dropout dropout;
    const int32_t *arc_rows, *arc_columns;
    const void *step;
    bool accumulate;
} cuda_map_args;
cudaError_t cuda_launch_map(cudaStream_t stream, const cuda_map_args *a);

typedef struct cuda_rows_args { /* gnt_rows_args */
    cuda_view x, y;
    const int32_t *index;
    cuda_fault *fault;
    bool accumulate;
} cuda_rows_args;
cudaError_t cuda_launch_gather(cudaStream_t stream, const cuda_rows_args *a);

/* ---- sums over rows ------------------------------------------------------------------------------------------------- */

/* Sums over rows go by the fixed tree of args.h (cuda_tree.cuh); tree (host memory) NULL: blocks of 1024 rows. */
typedef struct cuda_reduce_args { /* gnt_reduce_args */
    gnt_reduce_kind kind;
    cuda_view a, b, y;
    bool accumulate;
} cuda_reduce_args;
size_t cuda_reduce_bytes(const cuda_reduce_args *a, const gnt_row_tree *tree);
cudaError_t cuda_launch_reduce(cudaStream_t stream, const cuda_reduce_args *a, const gnt_row_tree *tree,
                               void *scratch);

typedef struct cuda_norm_args { /* gnt_norm_args; running_* data NULL: none */
    gnt_norm_kind kind;
    bool backward, training, accumulate_dx;
    cuda_view x, y, gamma, beta, mean, rstd, running_mean, running_var;
    cuda_view dy, dx, dgamma, dbeta;
    float momentum, eps;
    const void *step; /* with momentum_hyper */
    int32_t momentum_hyper;
    gnt_norm_phase phase;
    double *sums; /* of the phases */
    int64_t total_rows;
} cuda_norm_args;
size_t cuda_norm_bytes(const cuda_norm_args *a, const gnt_row_tree *tree);
cudaError_t cuda_launch_norm(cudaStream_t stream, const cuda_norm_args *a, const gnt_row_tree *tree,
                             void *scratch);

typedef struct cuda_loss_args { /* gnt_loss_args */
    gnt_loss_kind kind;
    cuda_view logits, weight, target, class_weight,
        grad;              /* target: of SOFTMAX what it stays apart from, or data NULL */
    const int32_t *labels; /* of the views' row 0 */
    int64_t first_row;     /* its number in a fault */
    int32_t norm_hyper, apart_hyper;
    double *stats;
    const void *step;
    cuda_fault *fault;
} cuda_loss_args;
size_t cuda_loss_bytes(const cuda_loss_args *a, const gnt_row_tree *tree);
cudaError_t cuda_launch_loss(cudaStream_t stream, const cuda_loss_args *a, const gnt_row_tree *tree,
                             void *scratch);

/* ---- optimisers ----------------------------------------------------------------------------------------------------- */

/* gnt_optimizer_args. Segments travel as launch arguments, so many at a time. */
enum { CUDA_OPTIMIZER_SEGMENTS = 64 };
typedef struct cuda_optimizer_args {
    gnt_optimizer_kind kind;
    bool nesterov;
    double beta1, beta2, eps;
    float *weights, *moment1, *moment2;
    const float *grads;
    int32_t num_members;
    int32_t lr_hyper, corr1_hyper, corr2_hyper, clip_hyper;
    const void *step;
    int32_t *bad;
} cuda_optimizer_args;
size_t cuda_optimizer_bytes(const gnt_param_segment *segments, int32_t num_segments, int32_t num_members);
cudaError_t cuda_launch_optimizer(cudaStream_t stream, const cuda_optimizer_args *a,
                                  const gnt_param_segment *segments, int32_t num_segments, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
