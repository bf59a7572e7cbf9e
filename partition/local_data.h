/* SPDX-License-Identifier: Apache-2.0 */
/* What one rank holds of a dataset: its part of the graph and the rows of its own nodes. The one thing that training over parts
 * works with, whether it was cut from a dataset in memory (here) or read by rank (dist/part_load.h); both are equal to the bit.
 *
 *   own rows        in the order of part: row i of x, y, member is node part->ids[i] of the imported dataset
 *   inductive       train_part is the graph induced by the training nodes, its own row i is own row train_rows[i]
 * Nothing here is as large as the whole graph.
 */
#ifndef GNTI_PARTITION_LOCAL_DATA_H
#define GNTI_PARTITION_LOCAL_DATA_H

#include "partition/part.h"

typedef struct gnti_local_data {
    gnti_part *part;       /* of the whole graph: evaluation, and training unless train_part */
    gnti_part *train_part; /* of an inductive split; NULL: train on part */
    int32_t *train_rows;   /* (train_part->num_own) ascending; NULL with train_part */
    int64_t num_own;       /* == part->num_own */
    gnti_features x;       /* (num_own, F) */
    gnti_labels y;         /* kind and num_classes of the dataset, rows of own nodes, no names */
    uint8_t *member; /* (num_own) bit p: in part p (GNTI_TRAIN, ...) of the split; NULL without a split */
    int64_t num_split[3];  /* nodes of each part in the whole dataset */
    bool inductive;        /* the split is */
    char *split_name;      /* NULL without a split */
    int64_t bytes_read;    /* from the file by this rank; 0: cut from memory */
    char split_sha256[65]; /* gnti_split_sum of it, in the rows of the imported dataset */
} gnti_local_data;

/* Lent for the call. */
typedef struct gnti_local_config {
    const gnti_partition *partition;
    const int32_t *owner; /* (K) rank of each chunk */
    int32_t num_ranks;
    const char *split;  /* NULL: "public" or the only one, ERR_USAGE when there is none */
    bool without_split; /* only predictions are wanted: no member, no train_part */
} gnti_local_config;

/* All ranks' data (num_ranks), for ranks as threads; x is borrowed from the dataset, which must outlive it, where own rows lie
 * in one piece there, else copied. */
gnt_status gnti_local_data_make_all(const gnt_dataset *data, const gnti_local_config *config,
                                    gnti_local_data **out);
/* One rank's, at the cost of one. */
gnt_status gnti_local_data_make(const gnt_dataset *data, const gnti_local_config *config, int32_t rank,
                                gnti_local_data **out);
void gnti_local_data_free(gnti_local_data **data);

#endif
