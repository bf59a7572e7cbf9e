/* SPDX-License-Identifier: Apache-2.0 */
/* Random rows of a matrix in a file: ranges of one row each, those closer than 64 KiB in one read. */
#include "datasets/h5_ranges.h"

enum { GAP_BYTES = 64 << 10 };

typedef struct row_list {
    const int64_t *rows;
    int64_t num, next;
} row_list;

static bool next_row(void *user, gnti_h5_range *out)
{
    row_list *l = user;

    if (l->next == l->num)
        return false;
    *out = (gnti_h5_range){ l->rows[l->next], 1, l->next };
    l->next++;
    return true;
}

gnt_status gnti_h5_gather_floats(const gnti_h5 *file, const char *path, const int64_t *rows, int64_t num_rows,
                                 int64_t width, float *out)
{
    gnt_status st = GNT_OK;
    row_list list = { rows, num_rows, 0 };
    const gnti_h5_ranges ranges = { next_row, &list, GAP_BYTES };

    for (int64_t i = 0; i < num_rows; i++)
        GNT_CHECK(rows[i] >= 0 && (i == 0 || rows[i] > rows[i - 1]), GNT_ERR_ARG,
                  "row %lld at place %lld of '%s', rows must ascend from 0", (long long)rows[i], (long long)i,
                  path);
    GNT_TRY(gnti_h5_read_ranges(file, path, GNTI_FILE_F32, width, &ranges, out));
done:
    return st;
}
