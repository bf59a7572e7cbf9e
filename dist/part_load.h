/* SPDX-License-Identifier: Apache-2.0 */
/* Loading by rank: each rank reads its own rows of a dataset file; no rank ever holds the whole graph or all features.
 *
 *   file in chunk order     (partition --rewrite, /chunks/first) a rank reads at most 1.1 times its own bytes, in few slabs
 *   any other               one pass over the arrays in slabs; at most own rows + 64 MiB of memory, beside 4 bytes a node
 *                           beyond 16 million nodes (the place of each node)
 * What others know (out-arcs from elsewhere, degrees and ids of halo rows, counts) comes by exchange.
 */
#ifndef GNTI_DIST_PART_LOAD_H
#define GNTI_DIST_PART_LOAD_H

#include "dist/comm.h"
#include "partition/local_data.h"

/* Every rank calls this with the same config; config->num_ranks must be comm->size. data: a header alone
 * (gnti_dataset_read_header) is read from its file by rank, a dataset in memory is cut (gnti_local_data_make): the result is the
 * same to the bit. A rank that fails aborts the communicator before it returns. ERR_FORMAT: damaged, or the partition is of
 * another graph. */
gnt_status gnti_local_data_load(const gnt_dataset *data, const gnti_local_config *config, gnti_comm *comm,
                                gnti_local_data **out);

/* The sum of a split of a header (gnti_split_sum, rows of the imported dataset), which one process can ask for alone. */
gnt_status gnti_load_split_sum(const gnt_dataset *head, const gnti_split *split, char out[65]);

#endif
