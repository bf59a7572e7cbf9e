/* SPDX-License-Identifier: Apache-2.0 */
/* One stream of bytes over whatever holds them: a file, standard input ("-"), memory; plain, gzip, bzip2, xz,
 * zstd or lz4, told by content and never by the name's suffix; or the members of a zip archive one after the
 * other (npz).
 */
#ifndef GNTI_DATASETS_BYTE_SOURCE_H
#define GNTI_DATASETS_BYTE_SOURCE_H

#include "base/alloc.h"

typedef struct gnti_byte_source gnti_byte_source;

/* Opens a path ("-": standard input). ERR_IO when it cannot be read or is a folder, ERR_FORMAT when what
 * compresses it is damaged at its start. */
gnt_status gnti_byte_source_open(const char *path, gnti_byte_source **out);

/* The same over a caller's memory, which must outlive the source; `name` is for messages. */
gnt_status gnti_byte_source_open_memory(const char *name, const void *bytes, size_t num_bytes,
                                        gnti_byte_source **out);

/* Whether the content is a zip archive; then call next_member before next. */
bool gnti_byte_source_is_zip(const gnti_byte_source *source);

/* The name for messages, "standard input" for "-". */
const char *gnti_byte_source_name(const gnti_byte_source *source);

/* Moves to the next member of a zip; *member is NULL behind the last one and lent until the next call. */
gnt_status gnti_byte_source_next_member(gnti_byte_source *source, const char **member);

/* Lends the next block until the next call; 0 bytes at the end. ERR_FORMAT when compressed data is damaged or
 * cut. */
gnt_status gnti_byte_source_next(gnti_byte_source *source, const char **block, size_t *num_bytes);

/* Lends the block that `next` will give, without consuming it: for telling formats apart. */
gnt_status gnti_byte_source_peek(gnti_byte_source *source, const char **block, size_t *num_bytes);

void gnti_byte_source_free(gnti_byte_source **source);

/* "libarchive 3.6.2": the library that runs. */
const char *gnti_byte_source_library(void);

#endif
