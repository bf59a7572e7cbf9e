/* SPDX-License-Identifier: Apache-2.0 */
/* The tape: ops recorded once, differentiated and planned into a program that runs many times.
 *
 * Recording sees neither values nor row counts. A var lives in a row space; an adj maps a source space to a destination
 * space (one square space in full batch, a bipartite block a layer when sampled). gnt_aggregate crosses it, gnt_self
 * takes the destination's own rows, mixing spaces is a recording error. A failed op returns var 0, later ops pass it on,
 * and planning reports the first failure with layer, op and both shapes.
 */
#ifndef GNNTRAIN_TAPE_H
#define GNNTRAIN_TAPE_H

#include <gnntrain/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_tape gnt_tape;
typedef struct gnt_var {
    int32_t id;
} gnt_var; /* 0: a failed op */
typedef struct gnt_adj {
    int32_t id;
} gnt_adj;
typedef struct gnt_param {
    int32_t id;
} gnt_param; /* declared by a layer's build */
typedef struct gnt_hyper {
    int32_t id;
} gnt_hyper; /* an (M) vector of the step block */

typedef enum gnt_aggregate_kind {
    GNT_AGG_SUM,  /* sum over in-neighbours */
    GNT_AGG_MEAN, /* their mean, 0 without neighbours */
    GNT_AGG_SYM,  /* D~^-1/2 (A + I) D~^-1/2 (Kipf, Welling 2017) */
    GNT_AGG_MAX   /* element-wise maximum, 0 without neighbours */
} gnt_aggregate_kind;

/* The value of a parameter, (1, M, in * out) seen as a matrix (in, out). */
GNT_API gnt_var gnt_use(gnt_tape *t, gnt_param p);

/* h w: (rows, M, in) by (M, in, out). gnt_linear adds the bias row. */
GNT_API gnt_var gnt_matmul(gnt_tape *t, gnt_var h, gnt_var w);
GNT_API gnt_var gnt_linear(gnt_tape *t, gnt_var h, gnt_param w, gnt_param b);

/* Rows of h move along adj from its source to its destination space. Fetches halo rows it needs by itself. */
GNT_API gnt_var gnt_aggregate(gnt_tape *t, gnt_adj adj, gnt_aggregate_kind kind, gnt_var h);

/* Attention (Velickovic et al., 2018) along adj, heads side by side: h (source space, heads * width), s_src (source space,
 * heads), s_dst (destination space, heads); a head's result is sum_j a_ij h_j over the arcs into i and i itself, with
 * a_ij = softmax_j leaky_relu(s_dst[i] + s_src[j]), slope from 0 to 1. Arc weights are not read. dropout (id 0: none) drops
 * a_ij and scales the rest, nothing on an evaluation tape. At most 64 heads. */
GNT_API gnt_var gnt_attend(gnt_tape *t, gnt_adj adj, gnt_var h, gnt_var s_src, gnt_var s_dst, float slope,
                           gnt_hyper dropout);

/* Scores of heads: (rows, heads), each head's columns of h times those of a, (width of h, 1). */
GNT_API gnt_var gnt_head_dots(gnt_tape *t, gnt_var h, gnt_var a, int64_t heads);

/* The destination's own rows of h; h itself where the space is square. */
GNT_API gnt_var gnt_self(gnt_tape *t, gnt_adj adj, gnt_var h);

/* Element-wise; b may have one row (a bias), one column, or be (1, M, 1). */
GNT_API gnt_var gnt_add(gnt_tape *t, gnt_var a, gnt_var b);
GNT_API gnt_var gnt_mul(gnt_tape *t, gnt_var a, gnt_var b);

/* h times a var of one value per member, (1, M, 1); and times a constant. */
GNT_API gnt_var gnt_scale(gnt_tape *t, gnt_var h, gnt_var s);
GNT_API gnt_var gnt_scale_by(gnt_tape *t, gnt_var h, float s);

/* Columns side by side; columns first .. first + width - 1. */
GNT_API gnt_var gnt_concat(gnt_tape *t, gnt_var a, gnt_var b);
GNT_API gnt_var gnt_slice(gnt_tape *t, gnt_var h, int64_t first, int64_t width);

GNT_API gnt_var gnt_relu(gnt_tape *t, gnt_var h);
GNT_API gnt_var gnt_elu(gnt_tape *t, gnt_var h, float alpha);
GNT_API gnt_var gnt_leaky_relu(gnt_tape *t, gnt_var h, float slope);
GNT_API gnt_var gnt_sigmoid(gnt_tape *t, gnt_var h);
GNT_API gnt_var gnt_tanh(gnt_tape *t, gnt_var h);

/* Drops elements with probability p (a hyper) and scales the rest by 1 / (1 - p); nothing on an evaluation tape. */
GNT_API gnt_var gnt_dropout_by(gnt_tape *t, gnt_var h, gnt_hyper p);

/* gamma and beta (1, width). Running statistics (1, width) are state params (gnt_builder_state). */
GNT_API gnt_var gnt_batch_norm(gnt_tape *t, gnt_var h, gnt_param gamma, gnt_param beta,
                               gnt_param running_mean, gnt_param running_var);
GNT_API gnt_var gnt_layer_norm(gnt_tape *t, gnt_var h, gnt_param gamma, gnt_param beta);

/* A level-2 op; state must live as long as the program. */
GNT_API gnt_var gnt_custom(gnt_tape *t, const gnt_op_class *op, const void *state, const gnt_var *inputs,
                           int32_t num_inputs);

/* Width of a var (0 for a failed one). */
GNT_API int64_t gnt_width(const gnt_tape *t, gnt_var h);

#ifdef __cplusplus
}
#endif
#endif
