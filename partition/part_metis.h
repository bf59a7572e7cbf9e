/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of graphs for the METIS program: made with room for all arrays, filled by the caller, run once.
 *
 * The arrays lie in memory that both processes map, so nothing is copied twice. Whatever happens to the program is an answer,
 * never a failure of the caller: run says in `failure` what it was.
 */
#ifndef GNTI_PARTITION_PART_METIS_H
#define GNTI_PARTITION_PART_METIS_H

#include "partition/cut_graph.h"
#include "partition/part_metis_wire.h"

enum { GNTI_METIS_FAILURE_BYTES = 256 };

typedef struct gnti_metis_batch gnti_metis_batch;

/* requests: sizes and options; offsets of arrays are set here. ERR_NOMEM: not enough memory to share. */
gnt_status gnti_metis_batch_create(const gnti_metis_request *requests, int32_t num_requests,
                                   gnti_metis_batch **out);
void gnti_metis_batch_free(gnti_metis_batch **batch);

/* Request i's graph (borrowed arrays, to be filled) and targets (num_parts, num_weights), to be filled too. */
gnt_status gnti_metis_batch_graph(gnti_metis_batch *batch, int32_t i, gnti_cut_graph **out);
float *gnti_metis_batch_targets(gnti_metis_batch *batch, int32_t i);
/* Its sizes and options; tolerances may still be set. */
gnti_metis_request *gnti_metis_batch_request(const gnti_metis_batch *batch, int32_t i);
/* The answer of a try; values are checked by run. */
const int32_t *gnti_metis_batch_parts(const gnti_metis_batch *batch, int32_t i, int32_t try_number);

typedef struct gnti_metis_limits {
    double seconds;      /* 0: 3600 */
    size_t memory_bytes; /* 0: what the machine has free */
} gnti_metis_limits;

/* failure: empty on success; else one phrase ("was killed by signal 9", "ran longer than 5 s", ...). */
gnt_status gnti_metis_batch_run(gnti_metis_batch *batch, const gnti_metis_limits *limits,
                                char failure[GNTI_METIS_FAILURE_BYTES]);

/* metis_program.c: runs the program over the shared descriptor, waits until it ends or the limit passes, then kills it. */
gnt_status gnti_metis_program_run(int fd, double seconds, char failure[GNTI_METIS_FAILURE_BYTES]);

/* What the program said about itself; empty before a run. */
const char *gnti_metis_batch_version(const gnti_metis_batch *batch, int *index_bits);

#endif
