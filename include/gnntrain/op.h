/* SPDX-License-Identifier: Apache-2.0 */
/* Raw views and user-written ops (level 2): an op with its own forward and backward on a backend's memory.
 *
 * Members are an axis: an activation has the shape (rows, M members, width), a parameter (M, in, out). A tensor lies in
 * blocks of g members; code goes through the view's strides and never assumes g.
 */
#ifndef GNNTRAIN_OP_H
#define GNNTRAIN_OP_H

#include <gnntrain/context.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gnt_dtype { GNT_F32, GNT_BF16, GNT_F64, GNT_I32, GNT_I64, GNT_U8 } gnt_dtype;

typedef struct gnt_device gnt_device;
typedef struct gnt_buffer gnt_buffer;
typedef struct gnt_stream gnt_stream;

/* A dense block that somebody else owns. (r, m, c) is at
 *   m / g * block_stride + r * row_stride + m % g * member_stride + c   elements behind offset (bytes), g = block_members.
 * Activations: member_stride = width, row_stride >= g * width. Parameters: g = 1, block_stride = in * out.
 * Shared by all members: members = 1 and member_stride = block_stride = 0; it broadcasts. */
typedef struct gnt_mat_view {
    gnt_buffer *buf;
    size_t offset;
    int64_t rows, members, block_members, width, row_stride, member_stride, block_stride;
    gnt_dtype dtype;
} gnt_mat_view;

/* Host address of a buffer of the CPU backend; NULL for device memory. */
GNT_API void *gnt_buffer_host(const gnt_buffer *buf);

/* The address that kernels of the buffer's backend use: host memory on "cpu", device memory on "cuda". A view's first element
 * lies `offset` bytes behind it. */
GNT_API void *gnt_buffer_address(const gnt_buffer *buf);

/* The backend's own stream, for kernels of your own: a cudaStream_t on "cuda", NULL on "cpu", where work is done at once. */
GNT_API void *gnt_stream_handle(const gnt_stream *stream);

/* The program's arguments to a level-2 op at run time. Every pointer is valid for this call only. */
typedef struct gnt_op_args {
    size_t struct_size;
    gnt_stream *stream; /* queue work here */
    const void *state;  /* the op's options, as given when it was recorded */
    int32_t num_inputs;
    const gnt_mat_view *in;       /* (num_inputs) */
    const gnt_mat_view *out;      /* forward writes it, backward reads it */
    const gnt_mat_view *out_grad; /* backward only */
    const gnt_mat_view *const
        *in_grad; /* backward only: written, not added to; NULL entries are not wanted */
} gnt_op_args;

/* Any status but GNT_OK ends the step with it. No call of the library but those above; ranks call it at the same time. */
typedef gnt_status (*gnt_op_run)(const gnt_op_args *args);

/* An op's kernels for one more backend. */
typedef struct gnt_op_kernels {
    const char *backend;
    gnt_op_run forward, backward;
} gnt_op_kernels;

typedef struct gnt_op_class {
    size_t struct_size;
    const char *name;
    int32_t num_inputs;
    /* Width of the output from the widths of the inputs; -1: the widths do not fit. Rows follow input 0. */
    int64_t (*width)(const void *state, const int64_t *in_widths);
    const char *backend; /* "cpu" */
    gnt_op_run forward, backward;
    const gnt_op_kernels *more; /* (num_more), lives as long as the class; NULL: that backend alone */
    int32_t num_more;
} gnt_op_class;

#ifdef __cplusplus
}
#endif
#endif
