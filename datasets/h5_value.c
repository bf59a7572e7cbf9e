/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in HDF5 files: shapes and slabs; conversions are in h5_convert.c.
 *
 * A file may claim any size, so nothing is allocated for a claim that its stored bytes cannot back: beyond 64
 * MiB a dataset must have at least 1/1100 of its size in the file (deflate's best ratio is 1032).
 */
#include "datasets/h5_convert.h"

enum { SLAB_BYTES = 256 << 20, CLAIM_BYTES = 64 << 20, BEST_RATIO = 1100 };

size_t gnti_file_dtype_bytes(gnti_dtype_file type)
{
    switch (type) {
    case GNTI_FILE_U8:
        return 1;
    case GNTI_FILE_F16:
    case GNTI_FILE_BF16:
        return 2;
    case GNTI_FILE_I32:
    case GNTI_FILE_F32:
        return 4;
    case GNTI_FILE_I64:
    case GNTI_FILE_U64:
    case GNTI_FILE_F64:
        return 8;
    case GNTI_FILE_TEXT:
        break;
    }
    return sizeof(char *);
}

/* Types and filters that we cannot decode, and claims of values that are not there. */
static gnt_status check_readable(const gnti_h5 *file, const char *path, const gnti_h5_info *info)
{
    gnt_status st = GNT_OK;
    const double bytes = (double)info->num_values * (double)info->item_bytes;

    GNT_CHECK(info->type != GNTI_H5_OTHER, GNT_ERR_FORMAT,
              "'%s' of file '%s' is neither numbers nor texts: store integers, floats or strings", path,
              gnti_h5_path(file));
    GNT_CHECK(info->missing_filter == 0, GNT_ERR_FORMAT,
              "'%s' of file '%s' is compressed by filter %d%s, which this HDF5 library lacks: rewrite it "
              "with gzip or "
              "without compression (h5repack -f NONE)",
              path, gnti_h5_path(file), info->missing_filter, info->missing_filter == 32000 ? " (lzf)" : "");
    GNT_CHECK(bytes <= CLAIM_BYTES || bytes <= BEST_RATIO * (double)info->stored_bytes, GNT_ERR_FORMAT,
              "'%s' of file '%s' claims %lld values but only %lld bytes are stored", path, gnti_h5_path(file),
              (long long)info->num_values, (long long)info->stored_bytes);
done:
    return st;
}

/* Rows and width of a vector, a matrix or a single value. */
static void shape_of(const gnti_h5_info *info, int64_t *rows, int64_t *width)
{
    *rows = info->rank == 0 ? info->num_values : info->dims[0];
    *width = info->dims[1] * info->dims[2] * info->dims[3];
}

gnt_status gnti_h5_expect(const gnti_h5 *file, const char *path, int64_t rows, int64_t width,
                          gnti_h5_info *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    int64_t got_rows, got_width;

    GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
    GNT_TRY(check_readable(file, path, &info));
    shape_of(&info, &got_rows, &got_width);
    GNT_CHECK((rows < 0 || rows == got_rows) && (width < 0 || width == got_width || got_rows == 0),
              GNT_ERR_FORMAT, "'%s' of file '%s' has %lld rows of %lld values, expected %lld of %lld", path,
              gnti_h5_path(file), (long long)got_rows, (long long)got_width,
              (long long)(rows < 0 ? got_rows : rows), (long long)(width < 0 ? got_width : width));
    if (out != NULL)
        *out = info;
done:
    return st;
}

/* --- slabs: the rows of a dataset, some at a time, through a buffer when they must be converted --- */

typedef struct slabs {
    const gnti_h5 *file;
    const char *path;
    gnti_dtype_file type;
    int64_t rows, width, step; /* step: rows a slab */
} slabs;

static slabs slabs_over(const gnti_h5 *file, const char *path, gnti_dtype_file type, const gnti_h5_info *info)
{
    slabs s = { .file = file, .path = path, .type = type };

    shape_of(info, &s.rows, &s.width);
    s.step = gnti_max_i64(1, SLAB_BYTES / ((int64_t)gnti_file_dtype_bytes(type) * gnti_max_i64(1, s.width)));
    s.step = gnti_min_i64(s.step, gnti_max_i64(1, s.rows));
    return s;
}

static gnt_status read_straight(const slabs *s, void *out)
{
    gnt_status st = GNT_OK;
    const size_t row_bytes = gnti_file_dtype_bytes(s->type) * (size_t)s->width;

    for (int64_t first = 0; first < s->rows; first += s->step)
        GNT_TRY(gnti_h5_read_rows(s->file, s->path, s->type, first, gnti_min_i64(s->step, s->rows - first),
                                  (char *)out + (size_t)first * row_bytes));
done:
    return st;
}

static gnt_status read_converted(const slabs *s, const gnti_h5_numbers *n, void *out)
{
    gnt_status st = GNT_OK;
    const size_t out_row = gnti_file_dtype_bytes(n->wanted) * (size_t)s->width;
    void *buffer = NULL;
    size_t bytes;

    GNT_TRY(gnti_mul_size(gnti_file_dtype_bytes(s->type), (size_t)(s->step * s->width), &bytes));
    GNT_TRY(gnti_alloc_bytes(&buffer, bytes));
    for (int64_t first = 0; first < s->rows; first += s->step) {
        const int64_t count = gnti_min_i64(s->step, s->rows - first);

        GNT_TRY(gnti_h5_read_rows(s->file, s->path, s->type, first, count, buffer));
        GNT_TRY(gnti_h5_convert(n, buffer, first * s->width, count * s->width,
                                (char *)out + (size_t)first * out_row));
    }
done:
    gnti_free(buffer);
    return st;
}

static gnt_status read_numbers(const gnti_h5 *file, const char *path, gnti_dtype_file wanted,
                               const gnti_h5_info *info, void *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_numbers n;
    slabs s;

    GNT_TRY(gnti_h5_numbers_open(file, path, wanted, info, &n));
    s = slabs_over(file, path, n.stored, info);
    if (n.stored == wanted)
        GNT_TRY(read_straight(&s, out));
    else
        GNT_TRY(read_converted(&s, &n, out));
done:
    return st;
}

static gnt_status read_integers(const gnti_h5 *file, const char *path, gnti_dtype_file wanted, int64_t count,
                                void *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;

    GNT_TRY(gnti_h5_expect(file, path, -1, -1, &info));
    GNT_CHECK(info.num_values == count || info.type != GNTI_H5_INT, GNT_ERR_FORMAT,
              "'%s' of file '%s' has %lld values, expected %lld", path, gnti_h5_path(file),
              (long long)info.num_values, (long long)count);
    GNT_TRY(read_numbers(file, path, wanted, &info, out));
done:
    return st;
}

gnt_status gnti_h5_read_i64(const gnti_h5 *file, const char *path, int64_t count, int64_t *out)
{
    return read_integers(file, path, GNTI_FILE_I64, count, out);
}

gnt_status gnti_h5_read_i32(const gnti_h5 *file, const char *path, int64_t count, int32_t *out)
{
    return read_integers(file, path, GNTI_FILE_I32, count, out);
}

gnt_status gnti_h5_read_floats(const gnti_h5 *file, const char *path, int64_t rows, int64_t width, float *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;

    GNT_TRY(gnti_h5_expect(file, path, rows, width, &info));
    GNT_TRY(read_numbers(file, path, GNTI_FILE_F32, &info, out));
done:
    return st;
}

/* --- arrays as they are --- */

static gnti_dtype_file nearest_type(const gnti_h5_info *info)
{
    switch (info->type) {
    case GNTI_H5_INT:
        if (info->item_bytes == 1 && info->is_unsigned)
            return GNTI_FILE_U8;
        return info->item_bytes < 4 || (info->item_bytes == 4 && !info->is_unsigned) ? GNTI_FILE_I32
                                                                                     : GNTI_FILE_I64;
    case GNTI_H5_F16:
        return GNTI_FILE_F16;
    case GNTI_H5_BF16:
        return GNTI_FILE_BF16;
    case GNTI_H5_TEXT:
        return GNTI_FILE_TEXT;
    case GNTI_H5_FLOAT:
    case GNTI_H5_OTHER:
        break;
    }
    return info->item_bytes <= 4 ? GNTI_FILE_F32 : GNTI_FILE_F64;
}

void gnti_h5_free_values(gnti_dtype_file type, int64_t count, void **values)
{
    if (*values != NULL && type == GNTI_FILE_TEXT)
        for (int64_t i = 0; i < count; i++)
            gnti_free(((char **)*values)[i]);
    gnti_free(*values);
    *values = NULL;
}

gnt_status gnti_h5_read_values(const gnti_h5 *file, const char *path, gnti_dtype_file *type, int64_t *rows,
                               int64_t *width, void **out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    gnti_dtype_file as;
    slabs s;
    void *values = NULL;
    char **texts = NULL;
    int64_t num = 0;

    GNT_TRY(gnti_h5_expect(file, path, -1, -1, &info));
    as = nearest_type(&info);
    s = slabs_over(file, path, as, &info);
    if (as == GNTI_FILE_TEXT) {
        GNT_TRY(gnti_h5_read_texts(file, path, &texts, &num));
        values = texts;
    } else {
        GNT_TRY(gnti_array_bytes(&values, info.num_values, gnti_file_dtype_bytes(as), false));
        if (as == GNTI_FILE_I64)
            GNT_TRY(gnti_h5_read_i64(file, path, info.num_values, values));
        else
            GNT_TRY(read_straight(&s, values));
    }
    *type = as;
    *rows = s.rows;
    *width = s.width;
    *out = values;
    values = NULL;
done:
    gnti_free(values);
    return st;
}

gnt_status gnti_h5_write_values(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, const void *data)
{
    gnt_status st = GNT_OK;
    int64_t width = 1, step;

    GNT_TRY(gnti_h5_make_dataset(file, path, type, rank, dims, false));
    for (int i = 1; i < rank; i++)
        width *= dims[i];
    step = gnti_max_i64(1, SLAB_BYTES / ((int64_t)gnti_file_dtype_bytes(type) * gnti_max_i64(1, width)));
    for (int64_t first = 0; first < (rank == 0 ? 1 : dims[0]); first += step)
        GNT_TRY(
            gnti_h5_write_rows(file, path, type, first, rank == 0 ? 1 : gnti_min_i64(step, dims[0] - first),
                               (const char *)data + (size_t)(first * width) * gnti_file_dtype_bytes(type)));
done:
    return st;
}
