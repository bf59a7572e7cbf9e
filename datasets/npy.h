/* SPDX-License-Identifier: Apache-2.0 */
/* numpy arrays: the .npy format, and the members of an .npz by name. Members that hold pickled objects are
 * known but not read: nothing is ever executed.
 */
#ifndef GNTI_DATASETS_NPY_H
#define GNTI_DATASETS_NPY_H

#include "datasets/byte_source.h"
#include "datasets/string_table.h"

enum { GNTI_NPY_MAX_DIMENSIONS = 4 };

typedef struct gnti_npy {
    char *name; /* of the member, without ".npy" */
    char kind;  /* b i u f U S, O: pickled objects, not read */
    int item_bytes;
    bool swapped, fortran;
    int num_dimensions;
    int64_t shape[GNTI_NPY_MAX_DIMENSIONS], count;
    char *data; /* (count * item_bytes) as stored */
} gnti_npy;

typedef struct gnti_npz {
    gnti_npy *members;
    int64_t num_members;
    const char *source; /* name for messages */
} gnti_npz;

/* Reads all members. ERR_FORMAT names the member that is damaged. */
gnt_status gnti_npz_read(gnti_byte_source *source, gnti_npz *out);
void gnti_npz_clear(gnti_npz *npz);

/* A whole .npy file as the only member, named "array". */
gnt_status gnti_npy_read(gnti_byte_source *source, gnti_npz *out);

/* The header alone, of a .npy that lies in memory: out has no data, which starts at bytes + *data_at and may be shorter than the
 * shape says. ERR_FORMAT names `source`. */
gnt_status gnti_npy_read_head(const char *source, const void *bytes, size_t num_bytes, gnti_npy *out,
                              int64_t *data_at);

/* The member of that name; NULL: there is none. find_readable refuses one that holds pickled objects. */
const gnti_npy *gnti_npz_find(const gnti_npz *npz, const char *name);
gnt_status gnti_npz_find_readable(const gnti_npz *npz, const char *name, const gnti_npy **out);

/* Item i in C order, whatever the order and type stored. ERR_FORMAT for what the type cannot hold. */
gnt_status gnti_npy_i64(const gnti_npz *npz, const gnti_npy *array, int64_t i, int64_t *out);
gnt_status gnti_npy_float(const gnti_npz *npz, const gnti_npy *array, int64_t i, float *out);

/* Item i of kind U or S as UTF-8, lent until the next call with the same buffer; grows the buffer. */
gnt_status gnti_npy_text(const gnti_npy *array, int64_t i, char **buffer, int64_t *capacity);

#endif
