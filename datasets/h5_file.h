/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 files: the fence around the library. Behind it are h5_file.c and h5_data.c alone, and every failure of it becomes
 * our text.
 *
 * Objects are named by file and absolute path ("/nodes/x"); nothing of HDF5's stays open but the file. Files
 * are read without a lock (read-only folders, network file systems) and written to a temporary name that
 * commit renames, in the format bounds earliest..v110. Values are little-endian on disk; big-endian input is
 * converted by the library. The typed, checked and converting calls that readers want are in
 * datasets/h5_value.h.
 */
#ifndef GNTI_DATASETS_H5_FILE_H
#define GNTI_DATASETS_H5_FILE_H

#include "datasets/dataset.h"

#include <sys/types.h>

enum { GNTI_H5_MAX_RANK = 4 };

typedef struct gnti_h5 gnti_h5;

/* What is stored under a path, or the type class of an array. */
typedef enum gnti_h5_kind { GNTI_H5_NOTHING, GNTI_H5_GROUP, GNTI_H5_DATASET } gnti_h5_kind;
typedef enum gnti_h5_class {
    GNTI_H5_INT,   /* signed or unsigned, 1 to 8 bytes; booleans too */
    GNTI_H5_FLOAT, /* 4 or 8 bytes and others that convert to double */
    GNTI_H5_F16,   /* IEEE half */
    GNTI_H5_BF16,  /* upper half of a float */
    GNTI_H5_TEXT,  /* fixed or variable length */
    GNTI_H5_OTHER  /* compounds, references, ...: cannot be read */
} gnti_h5_class;

typedef struct gnti_h5_info {
    gnti_h5_class type;
    size_t item_bytes;
    bool is_unsigned;
    int32_t rank;                   /* 0: a single value */
    int64_t dims[GNTI_H5_MAX_RANK]; /* the rest is 1 */
    int64_t num_values;
    int64_t stored_bytes; /* 0: never written, all values are the fill value */
    bool fill_is_one, chunked;
    int32_t missing_filter; /* number of a filter that this library lacks, or 0 */
} gnti_h5_info;

/* ERR_IO when missing or unreadable, ERR_FORMAT when no HDF5 file, truncated or of a newer format. */
gnt_status gnti_h5_open(const char *path,
                        gnti_h5 **out); /* h5_probe.c: a child process tries the file first */
gnt_status gnti_h5_open_unfenced(const char *path,
                                 gnti_h5 **out); /* for files that cannot be damaged, and for it */
/* fork() while no other thread is in the library. A thread of the caller's that was just asking for the library's own lock leaves it
 * closed in the child, which then never comes out: such a child is ended and another one made. -1: none could be made. The child
 * must not log (gnti_log_end). */
pid_t gnti_h5_fork(void);

/* A new file that appears under `path` at commit only. commit keeps an old file as `previous` unless NULL; it
 * frees the handle whatever comes. close gives back a read file and abandons a new one; NULL is fine. */
gnt_status gnti_h5_create(const char *path, gnti_h5 **out);
gnt_status gnti_h5_commit(gnti_h5 **file, const char *previous);
void gnti_h5_close(gnti_h5 **file);
const char *gnti_h5_path(const gnti_h5 *file);
int64_t gnti_h5_bytes_read(const gnti_h5 *file); /* of numbers in datasets, as stored, since it was opened */

gnti_h5_kind gnti_h5_kind_of(const gnti_h5 *file, const char *path);

/* Member names of a group in ascending order, to be freed with gnti_h5_free_texts; none for a missing group.
 */
gnt_status gnti_h5_list(const gnti_h5 *file, const char *path, char ***names, int64_t *num_names);
void gnti_h5_free_texts(char ***texts, int64_t num_texts);

/* attribute NULL: the dataset itself. ERR_FORMAT when there is none of that name or it has too many
 * dimensions. */
gnt_status gnti_h5_inspect(const gnti_h5 *file, const char *path, const char *attribute, gnti_h5_info *out);
bool gnti_h5_has_attribute(const gnti_h5 *file, const char *path, const char *attribute);
gnt_status gnti_h5_list_attributes(const gnti_h5 *file, const char *path, char ***names, int64_t *num_names);

/* Rows first .. first + count - 1 along the first dimension, as `type` in memory (conversions between
 * integers saturate: see h5_value.h). GNTI_FILE_F16 and BF16 read the raw 16 bits. */
gnt_status gnti_h5_read_rows(const gnti_h5 *file, const char *path, gnti_dtype_file type, int64_t first,
                             int64_t count, void *out);
gnt_status gnti_h5_read_texts(const gnti_h5 *file, const char *path, char ***out, int64_t *num);

/* A whole attribute: integers, doubles (any number) or texts; a single value counts as one. */
gnt_status gnti_h5_read_attribute(const gnti_h5 *file, const char *path, const char *attribute,
                                  gnti_dtype_file type, void *out);
gnt_status gnti_h5_read_attribute_texts(const gnti_h5 *file, const char *path, const char *attribute,
                                        char ***out, int64_t *num);

/* Writing; groups above are made. make_dataset is contiguous; with fill_one it is chunked, filled with 1 and
 * takes no space until it is written. rank 0: one value. */
gnt_status gnti_h5_make_group(gnti_h5 *file, const char *path);
gnt_status gnti_h5_make_dataset(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, bool fill_one);
gnt_status gnti_h5_write_rows(gnti_h5 *file, const char *path, gnti_dtype_file type, int64_t first,
                              int64_t count, const void *data);
gnt_status gnti_h5_write_texts(gnti_h5 *file, const char *path, char *const *texts,
                               int64_t num); /* -1: one, scalar */
gnt_status gnti_h5_write_attribute(gnti_h5 *file, const char *path, const char *attribute,
                                   gnti_dtype_file type, const void *values,
                                   int64_t num); /* num -1: one, scalar; TEXT: char *const * */

/* "HDF5 library version 1.10.8": the one that we were built with (the library refuses to run as another). */
extern const char *const gnti_h5_version;

#endif
