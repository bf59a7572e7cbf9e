/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of views, used by dispatch.c alone: that a view lies inside its buffer, and its shape as text. */
#ifndef GNTI_KERNELS_VIEW_H
#define GNTI_KERNELS_VIEW_H

#include "kernels/backend.h"

enum { GNTI_VIEW_TEXT_BYTES = 96 };

size_t gnti_dtype_bytes(gnt_dtype dtype);

/* "2708 x 1433 (3 members)". */
const char *gnti_view_text(char out[GNTI_VIEW_TEXT_BYTES], const gnt_mat_view *v);

/* The view has a buffer of the stream's device and every element lies inside it. `op` and `name` go into the
 * text. */
gnt_status gnti_view_check(const gnt_stream *s, const char *op, const char *name, const gnt_mat_view *v);

/* rows, members and width of v are those wanted; a 1 in v passes where the bit of broadcast allows it. */
typedef enum gnti_view_broadcast {
    GNTI_VIEW_EXACT = 0,
    GNTI_VIEW_ONE_ROW = 1,
    GNTI_VIEW_ONE_MEMBER = 2,
    GNTI_VIEW_ONE_COLUMN = 4
} gnti_view_broadcast;
typedef struct gnti_view_shape {
    int64_t rows, members, width;
} gnti_view_shape;
gnt_status gnti_view_fits(const gnt_stream *s, const char *op, const char *name, const gnt_mat_view *v,
                          gnti_view_shape want, unsigned broadcast);

/* A buffer of the stream's device with at least so many bytes. */
gnt_status gnti_buffer_check(const gnt_stream *s, const char *op, const char *name, const gnt_buffer *buf,
                             size_t bytes);

#endif
