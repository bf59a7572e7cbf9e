/* SPDX-License-Identifier: Apache-2.0 */
/* Views: bounds and shapes. The element farthest behind the offset is that of the last row, member and
 * column, for strides are never negative; it must lie inside the buffer. A member stride may be 0 only for
 * shared views. */
#include "kernels/view.h"

#include "base/size.h"

#include <stdio.h>

size_t gnti_dtype_bytes(gnt_dtype dtype)
{
    switch (dtype) {
    case GNT_F32:
    case GNT_I32:
        return 4;
    case GNT_BF16:
        return 2;
    case GNT_F64:
    case GNT_I64:
        return 8;
    case GNT_U8:
        return 1;
    }
    return 1;
}

const char *gnti_view_text(char out[GNTI_VIEW_TEXT_BYTES], const gnt_mat_view *v)
{
    snprintf(out, GNTI_VIEW_TEXT_BYTES, "%lld x %lld (%lld member%s)", (long long)v->rows,
             (long long)v->width, (long long)v->members, v->members == 1 ? "" : "s");
    return out;
}

gnt_status gnti_buffer_check(const gnt_stream *s, const char *op, const char *name, const gnt_buffer *buf,
                             size_t bytes)
{
    gnt_status st = GNT_OK;
    const gnti_buffer_head *head = (const gnti_buffer_head *)buf;
    const gnti_stream_head *stream = (const gnti_stream_head *)s;

    GNT_CHECK(buf != NULL, GNT_ERR_ARG, "%s: %s has no buffer", op, name);
    GNT_CHECK(head->backend == stream->backend, GNT_ERR_ARG, "%s: %s lies on a %s device, the stream on %s",
              op, name, head->backend->name, stream->backend->name);
    GNT_CHECK(bytes <= head->bytes, GNT_ERR_ARG, "%s: %s needs %zu bytes, its buffer has %zu", op, name,
              bytes, head->bytes);
done:
    return st;
}

/* Elements from the first to behind the last one; ERR_LIMIT beyond what 64 bits hold. */
static gnt_status view_extent(const gnt_mat_view *v, size_t *out)
{
    gnt_status st = GNT_OK;
    const int64_t blocks = (v->members - 1) / v->block_members;
    const int64_t inside = gnti_min_i64(v->members, v->block_members) - 1;
    size_t a, b, c, sum;

    GNT_TRY(gnti_mul_size((size_t)blocks, (size_t)v->block_stride, &a));
    GNT_TRY(gnti_mul_size((size_t)(v->rows - 1), (size_t)v->row_stride, &b));
    GNT_TRY(gnti_mul_size((size_t)inside, (size_t)v->member_stride, &c));
    GNT_TRY(gnti_add_size(a, b, &sum));
    GNT_TRY(gnti_add_size(sum, c, &sum));
    GNT_TRY(gnti_add_size(sum, (size_t)v->width, out));
done:
    return st;
}

gnt_status gnti_view_check(const gnt_stream *s, const char *op, const char *name, const gnt_mat_view *v)
{
    gnt_status st = GNT_OK;
    const size_t item = gnti_dtype_bytes(v->dtype);
    char shape[GNTI_VIEW_TEXT_BYTES];
    size_t count = 0, bytes;

    gnti_view_text(shape, v);
    GNT_CHECK(v->rows >= 0 && v->width >= 0 && v->members >= 1 && v->block_members >= 1, GNT_ERR_ARG,
              "%s: %s has the shape %s in blocks of %lld members", op, name, shape,
              (long long)v->block_members);
    GNT_CHECK(v->row_stride >= 0 && v->member_stride >= 0 && v->block_stride >= 0, GNT_ERR_ARG,
              "%s: %s has a negative stride", op, name);
    GNT_CHECK(v->rows <= 1 || v->row_stride >= v->width, GNT_ERR_ARG,
              "%s: rows of %s are %lld elements apart but have %lld", op, name, (long long)v->row_stride,
              (long long)v->width);
    GNT_CHECK(v->offset % item == 0, GNT_ERR_ARG, "%s: %s starts at byte %zu, not at a multiple of %zu", op,
              name, v->offset, item);
    if (v->rows > 0 && v->width > 0)
        GNT_TRY(view_extent(v, &count));
    GNT_TRY(gnti_mul_size(count, item, &bytes));
    GNT_TRY(gnti_add_size(bytes, v->offset, &bytes));
    GNT_TRY(gnti_buffer_check(s, op, name, v->buf, bytes));
done:
    return st;
}

static bool fits(int64_t have, int64_t want, bool one)
{
    return have == want || (one && have == 1);
}

gnt_status gnti_view_fits(const gnt_stream *s, const char *op, const char *name, const gnt_mat_view *v,
                          gnti_view_shape want, unsigned broadcast)
{
    gnt_status st = GNT_OK;
    char have[GNTI_VIEW_TEXT_BYTES];

    GNT_TRY(gnti_view_check(s, op, name, v));
    GNT_CHECK(fits(v->rows, want.rows, (broadcast & GNTI_VIEW_ONE_ROW) != 0) &&
                  fits(v->members, want.members, (broadcast & GNTI_VIEW_ONE_MEMBER) != 0) &&
                  fits(v->width, want.width, (broadcast & GNTI_VIEW_ONE_COLUMN) != 0),
              GNT_ERR_ARG, "%s: %s is %s but %lld x %lld (%lld members) is needed", op, name,
              gnti_view_text(have, v), (long long)want.rows, (long long)want.width, (long long)want.members);
done:
    return st;
}
