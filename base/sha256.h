/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, fed in pieces, answered as 64 hexadecimal letters. */
#ifndef GNTI_BASE_SHA256_H
#define GNTI_BASE_SHA256_H

#include "base/check.h"

#include <stddef.h>

enum { GNTI_SHA256_HEX_BYTES = 65 };

typedef struct gnti_sha256 gnti_sha256;

gnt_status gnti_sha256_create(gnti_sha256 **out);
gnt_status gnti_sha256_update(gnti_sha256 *hash, const void *bytes, size_t count);
gnt_status gnti_sha256_finish(gnti_sha256 *hash, char out_hex[GNTI_SHA256_HEX_BYTES]); /* once */
void gnti_sha256_free(gnti_sha256 **hash);

/* The sum of one block of bytes. */
gnt_status gnti_sha256_of(const void *bytes, size_t count, char out_hex[GNTI_SHA256_HEX_BYTES]);

#endif
