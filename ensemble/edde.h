/* SPDX-License-Identifier: Apache-2.0 */
/* EDDE's arithmetic (Zhang et al., ICDE 2020; formulas as in docs/ensembles.md): which training rows count how much for the next member,
 * and how much a member's vote counts. Pure functions of arrays.
 */
#ifndef GNTI_ENSEMBLE_EDDE_H
#define GNTI_ENSEMBLE_EDDE_H

#include "base/check.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One member's predictions on training rows, and what came before. */
typedef struct gnti_edde_round {
    int64_t num_rows, num_classes;
    const float *p;        /* (num_rows, num_classes) probabilities */
    const float *earlier;  /* the same of the members before it, their weighted mean; NULL: it is the first */
    const int32_t *labels; /* (num_rows) */
    const double *weight;  /* (num_rows) W_t, sum 1 */
    double boost;          /* 1: as in the paper, 0: W_{t+1} is even */
} gnti_edde_round;

/* next (num_rows): W_{t+1}, sum 1; vote: of this member, in [0.05, 5]. next may be weight. */
void gnti_edde_advance(const gnti_edde_round *round, double *next, double *vote);

/* mean (num_rows x num_classes): (before mean + vote p) / (before + vote), before the sum of votes in it. */
void gnti_edde_mean_add(float *mean, double before, const float *p, double vote, int64_t num_values);

/* Whether a member got more rows right when the one whose layers it took had seen them (seen, 1: right) than when it had not: by more than a
 * standard error of the mean of the differences, row by row. gap: that mean. */
bool gnti_edde_remembers(const uint8_t *seen, const uint8_t *unseen, int64_t num_rows, double *gap,
                         double *error);

/* Layers 1..n of L are handed on: round(share L), at most L. */
int32_t gnti_edde_layers(double share, int32_t num_layers);

#endif
