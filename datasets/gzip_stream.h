/* SPDX-License-Identifier: Apache-2.0 */
/* gzip with its checksums: libarchive decodes gzip but never compares the CRC-32 and the length behind each member, so a
 * changed bit could change an edge unseen. This is the only file that knows zlib.
 */
#ifndef GNTI_DATASETS_GZIP_STREAM_H
#define GNTI_DATASETS_GZIP_STREAM_H

#include "base/alloc.h"

typedef struct gnti_gzip_stream gnti_gzip_stream;

/* Over an open descriptor, or over memory (fd -1), both the caller's. What is not gzip passes through as it is. */
gnt_status gnti_gzip_stream_create(int fd, const void *memory, size_t memory_bytes, gnti_gzip_stream **out);
void gnti_gzip_stream_free(gnti_gzip_stream **stream);

/* Lends the next bytes until the next call; 0: the end; below 0: failed, text says why (errno is set when reading did). */
int64_t gnti_gzip_stream_read(gnti_gzip_stream *stream, const void **block, const char **text);

#endif
