/* SPDX-License-Identifier: Apache-2.0 */
/* Random rows of a matrix in a file. One read a row, or one selection of many points, costs far more than reading what
 * lies between: rows closer than 64 KiB share a read, so at worst the whole matrix is read once. Pieces of 1 MiB stay in
 * the cache; pieces of 32 MiB took five times as long, most of it page faults.
 */
#include "datasets/h5_value.h"

#include "datasets/half.h"

#include <string.h>

enum { SLAB_BYTES = 1 << 20, GAP_BYTES = 64 << 10 };

/* The matrix and the buffer that windows of it are read into, as `type`. */
typedef struct gather {
    const gnti_h5 *file;
    const char *path;
    gnti_dtype_file type;
    int64_t width, row_bytes;
    void *slab;
} gather;

/* How many of rows[0 .. num) one window takes. */
static int64_t window_of(const gather *g, const int64_t *rows, int64_t num)
{
    int64_t i = 1;

    while (i < num && (rows[i] - rows[i - 1]) * g->row_bytes <= GAP_BYTES + g->row_bytes &&
           (rows[i] - rows[0] + 1) * g->row_bytes <= SLAB_BYTES)
        i++;
    return i;
}

static void copy_row(const gather *g, int64_t at, float *out)
{
    const float *f32 = (const float *)g->slab + at * g->width;
    const uint16_t *half = (const uint16_t *)g->slab + at * g->width;

    if (g->type == GNTI_FILE_F32) {
        memcpy(out, f32, (size_t)g->row_bytes);
        return;
    }
    for (int64_t c = 0; c < g->width; c++)
        out[c] = g->type == GNTI_FILE_F16 ? gnti_f16_to_float(half[c]) : gnti_bf16_to_float(half[c]);
}

static gnt_status check_rows(const gather *g, const gnti_h5_info *info, const int64_t *rows, int64_t num)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < num; i++)
        GNT_CHECK(rows[i] >= 0 && rows[i] < info->dims[0] && (i == 0 || rows[i] > rows[i - 1]), GNT_ERR_ARG,
                  "row %lld at place %lld of '%s', rows must ascend in 0 .. %lld", (long long)rows[i],
                  (long long)i, g->path, (long long)info->dims[0] - 1);
done:
    return st;
}

gnt_status gnti_h5_gather_floats(const gnti_h5 *file, const char *path, const int64_t *rows, int64_t num_rows,
                                 int64_t width, float *out)
{
    gnt_status st = GNT_OK;
    gather g = { .file = file, .path = path, .type = GNTI_FILE_F32, .width = width };
    gnti_h5_info info;

    GNT_TRY(gnti_h5_expect(file, path, -1, width, &info));
    GNT_CHECK(info.type != GNTI_H5_TEXT, GNT_ERR_FORMAT, "'%s' of file '%s' must hold numbers", path,
              gnti_h5_path(file));
    if (info.type == GNTI_H5_F16 || info.type == GNTI_H5_BF16)
        g.type = info.type == GNTI_H5_F16 ? GNTI_FILE_F16 : GNTI_FILE_BF16;
    g.row_bytes = gnti_max_i64(1, width * (int64_t)gnti_file_dtype_bytes(g.type));
    GNT_TRY(check_rows(&g, &info, rows, num_rows));
    GNT_TRY(gnti_alloc_bytes(&g.slab, (size_t)gnti_max_i64(SLAB_BYTES, g.row_bytes)));
    for (int64_t i = 0, taken; i < num_rows; i += taken) {
        taken = window_of(&g, rows + i, num_rows - i);
        GNT_TRY(gnti_h5_read_rows(file, path, g.type, rows[i], rows[i + taken - 1] - rows[i] + 1, g.slab));
        for (int64_t k = i; k < i + taken; k++)
            copy_row(&g, rows[k] - rows[i], out + k * width);
    }
done:
    gnti_free(g.slab);
    return st;
}
