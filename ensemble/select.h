/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of members out of their values on a panel. A pure function of what it is given. */
#ifndef GNTI_ENSEMBLE_SELECT_H
#define GNTI_ENSEMBLE_SELECT_H

#include "ensemble/panel.h"

typedef struct gnti_selection {
    int64_t rounds;  /* made */
    int64_t used;    /* the shortest beginning of them, at least the start, with the least loss */
    int32_t *chosen; /* (rounds) which member each round took */
    double *loss;    /* (rounds) after it: 1 - metric, or the error */
} gnti_selection;

/* Greedy selection with replacement from the `start` best members (at most num and rounds; 1: from nothing). values[m] (num_nodes, num_classes) on the panel; weight (num), sum 1. ERR_USAGE when the metric is
 * undefined for every member. selection may be NULL; else to be freed. */
typedef struct gnti_greedy {
    gnti_metric metric;
    int64_t start, rounds;
} gnti_greedy;
gnt_status gnti_select_greedy(const gnti_panel *panel, const gnti_greedy *how, const float *const *values,
                              int32_t num, double *weight, gnti_selection *selection);
void gnti_selection_free(gnti_selection *s);

/* In proportion to how much better than a constant guess a member is (accuracy: the most frequent class; ROC AUC: 1/2; F1 and
 * average precision: 0), or to 1 / error. quality (num): the metric of each member. Equal weights where nobody is better. *guess is
 * what the constant guess reaches, 0 for errors. */
void gnti_select_weighted(const gnti_panel *panel, gnti_metric metric, const double *quality, int32_t num,
                          double *weight, double *guess);

#endif
