/* SPDX-License-Identifier: Apache-2.0 */
/* Which device predicts with which member, and in batches of how many rows: an allocation matrix (Pochelu, Petiton, Conche, 2022).
 *
 * A[d][m] is 0 (absent) or a batch; several members in a row share a device, several devices in a column are replicas that share the
 * rows. Valid: each column has an entry, the bytes of a row's entries fit the device. Worst-fit decreasing first, then at most `rounds`
 * rounds of one changed entry, the best of at most `tries` seeded neighbours, taken only when better.
 */
#ifndef GNTI_ENSEMBLE_ALLOCATE_H
#define GNTI_ENSEMBLE_ALLOCATE_H

#include "base/check.h"

#include <stdint.h>

typedef struct gnti_allocation_input {
    int32_t num_devices, num_members;
    const int64_t *capacity; /* (devices) bytes */
    /* seconds of a batch of b rows: fixed + b * row, on each device; bytes: fixed + b * row */
    const double *fixed_seconds, *row_seconds; /* (devices, members) */
    const int64_t *fixed_bytes, *row_bytes;    /* (members) */
    int32_t rounds, tries;                     /* 0: 10, 100 */
    uint64_t seed;
} gnti_allocation_input;

/* batch (devices, members). ERR_DEVICE_NOMEM names the member that fits nowhere, its bytes and the room there is. */
gnt_status gnti_allocate(const gnti_allocation_input *in, int32_t *batch);
/* Rows a second of the whole ensemble under a matrix: the slowest member's, when devices take turns among their entries. */
double gnti_allocation_rate(const gnti_allocation_input *in, const int32_t *batch);

#endif
