/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of few doubles over the chunks of all ranks, the same bits for any number of ranks: each rank puts the sums of its
 * chunks into a vector of K (adding zeros changes nothing), and the chunks are folded along their tree, [a, b) split at a + the
 * largest power of two < b - a. For counts and losses of evaluation; gradients go by dist/halo.h.
 */
#ifndef GNTI_DIST_CHUNK_SUM_H
#define GNTI_DIST_CHUNK_SUM_H

#include "dist/comm.h"

/* sums (num_sums, num_chunks): 0 for chunks of others; afterwards those of all ranks. out (num_sums). Every rank calls this. */
gnt_status gnti_chunk_sum(gnti_comm *comm, double *sums, int32_t num_sums, int32_t num_chunks, double *out);

#endif
