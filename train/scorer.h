/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics and losses of the parts of a split over all ranks: each rank scores its own rows, counts are added, double sums are
 * folded over chunks, and rankings are gathered at rank 0. So no rank holds the logits of others, every rank gets the same
 * numbers, and the number of ranks changes no bit of them.
 */
#ifndef GNTI_TRAIN_SCORER_H
#define GNTI_TRAIN_SCORER_H

#include "dist/comm.h"
#include "partition/local_data.h"
#include "train/metrics.h"

/* All lent; rows are those of logits. */
typedef struct gnti_scorer_config {
    gnti_comm *comm;
    gnti_metric metric;
    const gnti_labels *labels;
    const gnti_local_data *rows; /* of a rank; NULL: the whole dataset, split says which rows count */
    const gnti_split *split;
} gnti_scorer_config;

typedef struct gnti_scorer gnti_scorer;

gnt_status gnti_scorer_create(const gnti_scorer_config *config, gnti_scorer **out);
void gnti_scorer_free(gnti_scorer **scorer);

/* Of one part (GNTI_TRAIN, ...) by the logits of own rows (rows, num_classes). Every rank calls it; nothing is allocated.
 * loss may be NULL. NaN: no labelled row, or a logit that is no number. */
gnt_status gnti_scorer_values(gnti_scorer *scorer, int part, const float *logits, double *metric,
                              double *loss);
/* counts (num_classes, num_classes) of class labels, of all ranks. */
gnt_status gnti_scorer_confusion(gnti_scorer *scorer, int part, const float *logits, int64_t *counts);

#endif
