/* SPDX-License-Identifier: Apache-2.0 */
/* The expected calibration error beside the one of train/metrics.h: in bins of equal mass, and how far its value may be trusted. */
#ifndef GNTI_ENSEMBLE_ECE_H
#define GNTI_ENSEMBLE_ECE_H

#include "ensemble/panel.h"

typedef struct gnti_ece_more {
    double
        equal_mass; /* in as many bins, each of as many rows (rows in the order of confidence, then of the panel) */
    double low,
        high; /* 2.5 and 97.5 % of the ECE in bins of equal width over bootstrap samples of the rows */
} gnti_ece_more;

/* values (num_nodes, num_classes) are probabilities. All NaN for a regression or without rows. A function of what it is given. */
gnt_status gnti_ece_measure(const gnti_panel *panel, const float *values, gnti_ece_more *out);

#endif
