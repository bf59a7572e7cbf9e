/* SPDX-License-Identifier: Apache-2.0 */
/* The room that metrics share, see train/metrics.h: (score, truth) pairs for rankings, counts and
 * probabilities. */
#ifndef GNTI_TRAIN_METRICS_SCRATCH_H
#define GNTI_TRAIN_METRICS_SCRATCH_H

#include "train/metrics.h"

typedef struct gnti_metric_pair {
    double score;
    bool positive;
} gnti_metric_pair;

struct gnti_metric_scratch {
    gnti_metric_pair *pairs; /* (capacity), count used */
    int64_t capacity, count;
    int64_t *counts;       /* (num_classes, 3) */
    double *probabilities; /* (num_classes) */
    int64_t num_classes;
};

#endif
