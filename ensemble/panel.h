/* SPDX-License-Identifier: Apache-2.0 */
/* A panel: the labelled nodes of one part of a split, by position 0, 1, ..., and how values of these positions are scored.
 * Values of a member or a combination are (num_nodes, num_classes): probabilities, or outputs of a regression.
 * What counts is the list `rows`, so that a fold is the same panel with a shorter list.
 */
#ifndef GNTI_ENSEMBLE_PANEL_H
#define GNTI_ENSEMBLE_PANEL_H

#include "ensemble/combine.h"

/* Below it a probability counts as this, where its logarithm is taken. */
#define GNTI_PROBABILITY_FLOOR 1e-12

typedef struct gnti_panel {
    gnt_label_kind kind;
    int64_t num_classes, num_nodes;
    int64_t *nodes;    /* (num_nodes) of the dataset, ascending */
    int32_t *class_of; /* (num_nodes) CLASS */
    float *target;     /* (num_nodes, num_classes) MULTI, REGRESSION */
    int64_t *rows;     /* (num_rows) positions that count: all */
    int64_t num_rows;
    float *room;                  /* (num_nodes, num_classes) of the functions below */
    gnti_metric_scratch *scratch; /* of the metric */
} gnti_panel;

/* A multi-label or regression row without any target is left out. */
gnt_status gnti_panel_create(const gnt_dataset *data, const gnti_split *split, int part, gnti_panel *out);
void gnti_panel_free(gnti_panel *p);

/* Values of these positions out of (all nodes, num_classes). */
void gnti_panel_gather(const gnti_panel *p, const float *all, float *out);

/* The metric over the rows, NaN: undefined. Uses room. */
double gnti_panel_metric(const gnti_panel *p, gnti_metric metric, const float *values);
/* Mean -log p of the truth over the rows (multi-label: over entries), p floored; regression: mean squared error. */
double gnti_panel_loss(const gnti_panel *p, const float *values);
/* The logits of values for gnti_scored: logarithms, or log-odds of multi-label; regression: the values. out may be values. */
void gnti_panel_logits(const gnti_panel *p, const float *values, float *out);
/* NLL, Brier, ECE over the rows, of logits. Regression: all NaN, count 0. */
void gnti_panel_calibration(const gnti_panel *p, const float *logits, gnti_calibration *out);

#endif
