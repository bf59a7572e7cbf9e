/* SPDX-License-Identifier: Apache-2.0 */
/* A small dataset with every optional member the schema knows, for tests of readers, writers and rewrites. */
#ifndef GNT_FULL_DATASET_H
#define GNT_FULL_DATASET_H

#include "datasets/dataset.h"

typedef struct gnt_full_options {
    uint64_t seed;
    int64_t num_nodes; /* at least 6, in three graphs */
    bool directed, weighted, sparse, text_ids;
    gnt_label_kind labels;
} gnt_full_options;

/* Fails the test when it cannot be made; every value depends on the options alone. */
gnt_dataset *gnt_full_dataset(const gnt_full_options *options);

/* NULL when both hold the same in every member (uuid, path and provenance apart), else what differs. */
const char *gnt_dataset_difference(const gnt_dataset *a, const gnt_dataset *b);

#endif
