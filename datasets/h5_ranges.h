/* SPDX-License-Identifier: Apache-2.0 */
/* Chosen rows of an array in a file, each to its own place in memory, in few reads and little memory. */
#ifndef GNTI_DATASETS_H5_RANGES_H
#define GNTI_DATASETS_H5_RANGES_H

#include "datasets/h5_value.h"

/* Rows first .. first + count - 1 of the file become rows to .. of the result. */
typedef struct gnti_h5_range {
    int64_t first, count, to;
} gnti_h5_range;

/* Answers range after range, ascending in the file and apart; false: no more. */
typedef struct gnti_h5_ranges {
    bool (*next)(void *user, gnti_h5_range *out);
    void *user;
    int64_t gap_bytes; /* ranges no further apart share a read */
} gnti_h5_ranges;

/* As I64, I32 or F32, checked and converted as in h5_value.h. width -1: as it is. Memory beyond out: 2 MiB (or one row). Ranges
 * that need no conversion and touch each other are read in slabs of up to 256 MiB straight into out. */
gnt_status gnti_h5_read_ranges(const gnti_h5 *file, const char *path, gnti_dtype_file wanted, int64_t width,
                               const gnti_h5_ranges *ranges, void *out);

#endif
