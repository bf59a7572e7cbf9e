/* SPDX-License-Identifier: Apache-2.0 */
/* Integers are range-checked, halves widened, doubles narrowed; errors name the place in the file. */
#include "datasets/h5_convert.h"

#include "datasets/half.h"

#include <math.h>
#include <string.h>

static gnti_dtype_file stored_type(gnti_dtype_file wanted, const gnti_h5_info *info)
{
    if (wanted == GNTI_FILE_I64)
        return info->is_unsigned && info->item_bytes == 8 ? GNTI_FILE_U64 : GNTI_FILE_I64;
    if (wanted == GNTI_FILE_I32) {
        if (info->item_bytes < 4 || (info->item_bytes == 4 && !info->is_unsigned))
            return GNTI_FILE_I32;
        return info->is_unsigned ? GNTI_FILE_U64 : GNTI_FILE_I64;
    }
    if (info->type == GNTI_H5_F16 || info->type == GNTI_H5_BF16)
        return info->type == GNTI_H5_F16 ? GNTI_FILE_F16 : GNTI_FILE_BF16;
    return info->type == GNTI_H5_FLOAT && info->item_bytes == 4 ? GNTI_FILE_F32 : GNTI_FILE_F64;
}

gnt_status gnti_h5_numbers_open(const gnti_h5 *file, const char *path, gnti_dtype_file wanted,
                                const gnti_h5_info *info, gnti_h5_numbers *out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(info->type == GNTI_H5_INT || wanted == GNTI_FILE_F32, GNT_ERR_FORMAT,
              "'%s' of file '%s' must hold integers", path, gnti_h5_path(file));
    GNT_CHECK(info->type != GNTI_H5_TEXT, GNT_ERR_FORMAT, "'%s' of file '%s' must hold numbers", path,
              gnti_h5_path(file));
    out->file = file;
    out->path = path;
    out->wanted = wanted;
    out->stored = stored_type(wanted, info);
    out->rows = info->rank == 0 ? info->num_values : info->dims[0];
    out->width = info->dims[1] * info->dims[2] * info->dims[3];
    out->disk_row_bytes = info->item_bytes * (size_t)out->width;
done:
    return st;
}

static gnt_status from_u64(const gnti_h5_numbers *n, const uint64_t *from, int64_t first, int64_t count,
                           void *to)
{
    gnt_status st = GNT_OK;
    const bool narrow = n->wanted == GNTI_FILE_I32;
    const uint64_t most = narrow ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX;

    for (int64_t i = 0; i < count; i++) {
        GNT_CHECK(from[i] <= most, GNT_ERR_FORMAT,
                  "value %llu at place %lld of '%s' of file '%s' exceeds the signed %d-bit range",
                  (unsigned long long)from[i], (long long)(first + i), n->path, gnti_h5_path(n->file),
                  narrow ? 32 : 64);
        if (narrow)
            ((int32_t *)to)[i] = (int32_t)from[i];
        else
            ((int64_t *)to)[i] = (int64_t)from[i];
    }
done:
    return st;
}

static gnt_status i64_to_i32(const gnti_h5_numbers *n, const int64_t *from, int64_t first, int64_t count,
                             int32_t *to)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < count; i++) {
        GNT_CHECK(from[i] >= INT32_MIN && from[i] <= INT32_MAX, GNT_ERR_FORMAT,
                  "value %lld at place %lld of '%s' of file '%s' exceeds the signed 32-bit range",
                  (long long)from[i], (long long)(first + i), n->path, gnti_h5_path(n->file));
        to[i] = (int32_t)from[i];
    }
done:
    return st;
}

static gnt_status f64_to_f32(const gnti_h5_numbers *n, const double *from, int64_t first, int64_t count,
                             float *to)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)from[i];
        GNT_CHECK(isfinite(to[i]) || !isfinite(from[i]), GNT_ERR_FORMAT,
                  "value %g in row %lld of '%s' of file '%s' exceeds the float32 range: scale the column",
                  from[i], (long long)((first + i) / gnti_max_i64(1, n->width)), n->path,
                  gnti_h5_path(n->file));
    }
done:
    return st;
}

gnt_status gnti_h5_convert(const gnti_h5_numbers *n, const void *from, int64_t first, int64_t count, void *to)
{
    gnt_status st = GNT_OK;
    const uint16_t *half = from;
    float *out = to;

    if (n->stored == GNTI_FILE_U64) {
        GNT_TRY(from_u64(n, from, first, count, to));
    } else if (n->stored == GNTI_FILE_I64 && n->wanted == GNTI_FILE_I32) {
        GNT_TRY(i64_to_i32(n, from, first, count, to));
    } else if (n->stored == GNTI_FILE_F64) {
        GNT_TRY(f64_to_f32(n, from, first, count, to));
    } else if (n->stored == GNTI_FILE_F16 || n->stored == GNTI_FILE_BF16) {
        for (int64_t i = 0; i < count; i++)
            out[i] = n->stored == GNTI_FILE_F16 ? gnti_f16_to_float(half[i]) : gnti_bf16_to_float(half[i]);
    } else if (count > 0) {
        memcpy(to, from, (size_t)count * gnti_file_dtype_bytes(n->wanted));
    }
done:
    return st;
}
