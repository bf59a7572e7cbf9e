/* SPDX-License-Identifier: Apache-2.0 */
/* A combination in the making: combine.c leads, combine_check.c looks at what comes in, combine_weights.c finds weights,
 * combine_fallback.c those that are not worse than the best member. */
#ifndef GNTI_ENSEMBLE_COMBINE_STATE_H
#define GNTI_ENSEMBLE_COMBINE_STATE_H

#include "ensemble/panel.h"
#include "base/text.h"

enum {
    GNTI_COMBINE_SPLIT_ROWS =
        2000,              /* from here on one half of validation selects, the other one calibrates */
    GNTI_COMBINE_FOLDS = 5 /* of the cross-fit below */
};

typedef struct gnti_combining {
    const gnti_votes *votes;
    int32_t num;
    const gnt_dataset *data;
    gnti_combine_config config;
    gnti_metric metric;
    gnti_panel valid;
    float **values;         /* (num) on the panel: probabilities, or outputs of a regression */
    double *quality, *loss; /* (num) of each member on the panel */
    int32_t best;
    int32_t *fold;     /* (positions) */
    int32_t num_folds; /* 0: no fold, 2: halves, else a cross-fit */
    gnti_text remark;
} gnti_combining;

/* ERR_FORMAT names member, node and class of a value that is not finite, or no probability. */
gnt_status gnti_combine_check(const gnti_votes *votes, int32_t num, const gnt_dataset *data);

/* A sentence for members that predict the same to the bit: copies of one file, or seeds that do nothing. */
gnt_status gnti_combine_tell_twins(gnti_combining *c);

/* Deals the panel's positions to num_folds folds of equal size, by (seed, imported row). */
gnt_status gnti_combine_deal(gnti_combining *c);
/* The panel whose rows are those of the fold (inside) or all others. rows (num_nodes) is the caller's room. */
gnti_panel gnti_combine_fold(const gnti_combining *c, int32_t fold, bool inside, int64_t *rows);
/* Whether the weights depend on labels of validation rows. */
bool gnti_combine_selects(const gnti_combining *c);
/* weight (num) by the rows of the panel; why (num): a text for each weight that is 0, or NULL. */
gnt_status gnti_combine_weights(const gnti_combining *c, const gnti_panel *panel, double *weight, char **why);
/* Logits of the combination on all positions, each by weights that did not see it. logits (num_nodes, num_classes) */
gnt_status gnti_combine_cross_fit(const gnti_combining *c, float *logits);

/* a is better than b: by the metric, then by -log p. */
bool gnti_combine_is_better(const gnti_combining *c, int32_t a, int32_t b);
/* A metric's value a is worse than b. */
bool gnti_combine_is_worse(const gnti_combining *c, double a, double b);
/* out->probabilities by the weights and the temperature that are there. */
gnt_status gnti_combine_make(const gnti_combining *c, gnti_combined *out);
/* The metric of what would be written, on all validation rows; probabilities there in `values`. */
double gnti_combine_quality(const gnti_combining *c, const gnti_combined *out, float *values);
/* Weights and probabilities of the nearest combination that is not worse than the best member; values: room as the panel's. */
gnt_status gnti_combine_fall_back(gnti_combining *c, gnti_combined *out, float *values);

#endif
