/* SPDX-License-Identifier: Apache-2.0 */
/* How unlike members are, on the labelled nodes of a panel. Units are rows, for multi-label rows their labelled entries.
 *
 *   disagreement  share of units on which two members choose differently; regression: root of the mean squared difference
 *   q             (n11 n00 - n10 n01) / (n11 n00 + n10 n01), n by who is right; 1: they fail together, NaN: undefined (Yule)
 *   kl            mean of KL(p_m | mean of all p), in nats
 *   distance      mean over pairs and rows of |p_j - p_k| / sqrt 2 (Zhang et al., ICDE 2020)
 *   oracle        share of units on which at least one member is right
 * Beyond GNTI_DIVERSITY_MAX_PAIRED members there are no matrices, q and distance; the mean disagreement is counted by how many members
 * choose what (regression: NaN).
 */
#ifndef GNTI_ENSEMBLE_DIVERSITY_H
#define GNTI_ENSEMBLE_DIVERSITY_H

#include "ensemble/panel.h"

enum { GNTI_DIVERSITY_MAX_PAIRED = 256 };

typedef struct gnti_diversity {
    int64_t num_units;
    double *disagreement, *q;                                    /* (num, num), or NULL */
    double *kl;                                                  /* (num) */
    double mean_disagreement, mean_q, mean_kl, distance, oracle; /* means over pairs, NaN: undefined */
} gnti_diversity;

gnt_status gnti_diversity_measure(const gnti_votes *votes, int32_t num, const gnti_panel *panel,
                                  gnti_diversity *out);
void gnti_diversity_free(gnti_diversity *d);

#endif
