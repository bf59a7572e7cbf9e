/* SPDX-License-Identifier: Apache-2.0 */
/* Texts around HDF5 that need nothing of its library: growing name lists, fixed-length strings, remedies. */
#ifndef GNTI_DATASETS_H5_TEXT_H
#define GNTI_DATASETS_H5_TEXT_H

#include "datasets/h5_file.h"

typedef struct gnti_h5_names {
    char **names;
    int64_t num, capacity;
    gnt_status status; /* of the add that failed */
} gnti_h5_names;

/* False when memory ran out; status then says so. */
bool gnti_h5_names_add(gnti_h5_names *list, const char *name);

/* Copies (num) pieces of `bytes` bytes each, that end at a zero or at their size; trailing spaces go if
 * padded. */
gnt_status gnti_h5_copy_fixed(const char *all, size_t bytes, bool padded, int64_t num, char **texts);

/* All of UTF-8 without zero bytes, else ERR_FORMAT naming the first that is not. */
gnt_status gnti_h5_check_utf8(const gnti_h5 *file, const char *path, char *const *texts, int64_t num);

/* What to do about a cause that the library states, ": " in front; "" when we know nothing. */
const char *gnti_h5_remedy(const char *cause);

#endif
