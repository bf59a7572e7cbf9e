/* SPDX-License-Identifier: Apache-2.0 */
/* What lies in the memory shared with the METIS program: a head, requests, then their arrays at offsets in bytes from the start.
 * Both sides come from one build; the version in the head is compared all the same.
 *
 *   head | request 0 .. n-1 | request 0: offsets, columns, weights, targets, parts | request 1: ...
 */
#ifndef GNTI_PARTITION_PART_METIS_WIRE_H
#define GNTI_PARTITION_PART_METIS_WIRE_H

#include <stdint.h>

enum { GNTI_METIS_WIRE_VERSION = 1, GNTI_METIS_FD = 3, GNTI_METIS_MAX_WEIGHTS = 2 };

typedef struct gnti_metis_head {
    int32_t wire_version, num_requests;
    int64_t total_bytes;
    uint64_t memory_bytes; /* RLIMIT_AS of the program; 0: none */
    /* answered */
    int32_t done; /* 1: every request has its result */
    int32_t index_bits;
    char version[16];
} gnti_metis_head;

typedef struct gnti_metis_request {
    int32_t num_nodes, num_arcs, num_weights, num_parts;
    int32_t num_tries; /* seeds seed, seed + 1, ...: a vector each */
    int32_t seed;
    int32_t kway, volume; /* else recursive bisection of the cut */
    float tolerance[GNTI_METIS_MAX_WEIGHTS];
    int64_t offsets; /* int32 (num_nodes + 1) */
    int64_t columns; /* int32 (num_arcs) */
    int64_t weights; /* int32 (num_nodes, num_weights) */
    int64_t targets; /* float (num_parts, num_weights) */
    int64_t parts;   /* int32 (num_tries, num_nodes): the answer */
    int32_t result;  /* answered: METIS' code, 1 is success */
    int32_t unused;
} gnti_metis_request;

#endif
