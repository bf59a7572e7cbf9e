/* SPDX-License-Identifier: Apache-2.0 */
/* Values in HDF5 files: checked shapes and ranges, conversions of our own, attributes, sums for checkpoints.
 *
 * The library's conversions saturate in silence and are slow for 16-bit floats, so integers are range-checked
 * and halves converted here. Everything moves in slabs of at most 256 MiB. Errors name file, dataset and both
 * values.
 */
#ifndef GNTI_DATASETS_H5_VALUE_H
#define GNTI_DATASETS_H5_VALUE_H

#include "datasets/h5_file.h"

/* Fails unless the dataset exists, can be decoded and has rows x width values: a vector (N) or (N, 1) has
 * width 1, a single value is 1 x 1. -1 takes what there is; `out` may be NULL. */
gnt_status gnti_h5_expect(const gnti_h5 *file, const char *path, int64_t rows, int64_t width,
                          gnti_h5_info *out);

/* All values by row. Integers may have any width and sign on disk: what does not fit is ERR_FORMAT with its
 * place. read_floats takes every number type; a double beyond float32 is ERR_FORMAT. */
gnt_status gnti_h5_read_i64(const gnti_h5 *file, const char *path, int64_t count, int64_t *out);
gnt_status gnti_h5_read_i32(const gnti_h5 *file, const char *path, int64_t count, int32_t *out);
gnt_status gnti_h5_read_floats(const gnti_h5 *file, const char *path, int64_t rows, int64_t width,
                               float *out);

/* Chosen rows (ascending) of a float matrix: neighbouring rows are read together in slabs of at most 1 MiB, never as a
 * selection of points. Memory is the rows and one slab. */
gnt_status gnti_h5_gather_floats(const gnti_h5 *file, const char *path, const int64_t *rows, int64_t num_rows,
                                 int64_t width, float *out);

/* The whole dataset in the nearest of our types (raw halves stay raw, booleans become bytes, texts char *),
 * allocated. Free with gnti_h5_free_values. */
gnt_status gnti_h5_read_values(const gnti_h5 *file, const char *path, gnti_dtype_file *type, int64_t *rows,
                               int64_t *width, void **out);
void gnti_h5_free_values(gnti_dtype_file type, int64_t count, void **values);
size_t gnti_file_dtype_bytes(gnti_dtype_file type); /* of one value */

/* A new contiguous dataset with its values (TEXT: char *const *, rank 1). */
gnt_status gnti_h5_write_values(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, const void *data);

/* The same with a CRC-32 of the bytes in attribute "crc32"; reading it back fails with ERR_FORMAT when the
 * sum, the type or the shape is another one. */
gnt_status gnti_h5_write_summed(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                                const int64_t *dims, const void *data);
gnt_status gnti_h5_read_summed(const gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                               const int64_t *dims, void *out);
uint32_t gnti_crc32(uint32_t crc, const void *bytes, size_t count); /* start with 0 */

/* Single attributes. get: *found tells of a missing one (then *out is untouched); found NULL: it must be
 * there. A text must be freed. */
gnt_status gnti_h5_get_int(const gnti_h5 *file, const char *path, const char *attribute, bool *found,
                           int64_t *out);
gnt_status gnti_h5_get_text(const gnti_h5 *file, const char *path, const char *attribute, bool *found,
                            char **out);
gnt_status gnti_h5_set_int(gnti_h5 *file, const char *path, const char *attribute, int64_t value);
gnt_status gnti_h5_set_text(gnti_h5 *file, const char *path, const char *attribute, const char *value);

/* All attributes of an object but AnnData's encoding-*, as a JSON object: numbers, texts and lists of them
 * (others are dropped). NULL when there is none. set writes them back. */
gnt_status gnti_h5_get_attributes(const gnti_h5 *file, const char *path, char **json);
gnt_status gnti_h5_set_attributes(gnti_h5 *file, const char *path, const char *json);

/* The marks by which AnnData knows what an object is: "array" "0.2.0", "csr_matrix" "0.1.0", ... */
gnt_status gnti_h5_set_encoding(gnti_h5 *file, const char *path, const char *type, const char *version);

#endif
