/* SPDX-License-Identifier: Apache-2.0 */
/* From the numbers of a file to the type that is wanted: which type to read, and the conversions of our own (the library's
 * saturate in silence and are slow for 16-bit floats). */
#ifndef GNTI_DATASETS_H5_CONVERT_H
#define GNTI_DATASETS_H5_CONVERT_H

#include "datasets/h5_value.h"

/* Lent: file and path. */
typedef struct gnti_h5_numbers {
    const gnti_h5 *file;
    const char *path;
    gnti_dtype_file stored; /* what to read from the file */
    gnti_dtype_file wanted; /* I64, I32 or F32 */
    int64_t rows, width;
    size_t disk_row_bytes;
} gnti_h5_numbers;

/* ERR_FORMAT: no numbers, or floats where integers are wanted. */
gnt_status gnti_h5_numbers_open(const gnti_h5 *file, const char *path, gnti_dtype_file wanted,
                                const gnti_h5_info *info, gnti_h5_numbers *out);

/* count values, the first of which is value `first` of the dataset; what does not fit is ERR_FORMAT with its place. */
gnt_status gnti_h5_convert(const gnti_h5_numbers *n, const void *from, int64_t first, int64_t count,
                           void *to);

#endif
