/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of logits against labels: on float logits, sums in double, exact about ties and absent classes.
 *
 * Rows without a label (class -1, target NaN) are left out. What is undefined (no labelled row; one of the
 * two sides absent for ROC AUC) is NaN, never 0. Nothing here allocates but the scratch, so an epoch can call
 * it.
 */
#ifndef GNTI_TRAIN_METRICS_H
#define GNTI_TRAIN_METRICS_H

#include <gnntrain/dataset.h>

#include "base/alloc.h"

/* The order of the words of --metric. */
typedef enum gnti_metric {
    GNTI_METRIC_AUTO,
    GNTI_METRIC_ACCURACY,
    GNTI_METRIC_MICRO_F1,
    GNTI_METRIC_MACRO_F1,
    GNTI_METRIC_ROC_AUC,
    GNTI_METRIC_AP,
    GNTI_METRIC_MAE,
    GNTI_METRIC_MSE
} gnti_metric;
#define GNTI_METRIC_WORDS "auto|accuracy|micro-f1|macro-f1|roc-auc|ap|mae|mse"

/* Logits of N rows and what they should be; a view that owns nothing. */
typedef struct gnti_scored {
    const float *logits; /* (N, num_classes) */
    int64_t num_classes;
    gnt_label_kind kind;
    const int32_t *class_of; /* (N) CLASS */
    const float *target;     /* (N, num_classes) MULTI, REGRESSION */
    const int64_t *rows;     /* which rows count */
    int64_t num_rows;
} gnti_scored;

/* Room for rows of one split: sorting keys and counts per class. */
typedef struct gnti_metric_scratch gnti_metric_scratch;
gnt_status gnti_metric_scratch_create(int64_t max_rows, int64_t num_classes, gnti_metric_scratch **out);
void gnti_metric_scratch_free(gnti_metric_scratch **scratch);

const char *gnti_metric_name(gnti_metric metric); /* "micro-f1" */
bool gnti_metric_higher_is_better(gnti_metric metric);

/* AUTO becomes accuracy, micro-f1 or mae. ERR_USAGE when a metric does not fit the labels. */
gnt_status gnti_metric_resolve(gnti_metric metric, gnt_label_kind kind, gnti_metric *out);

/* One number; rows of `s` must not exceed the scratch. Column of the largest logit, the first one on ties. */
double gnti_metric_compute(gnti_metric metric, const gnti_scored *s, gnti_metric_scratch *scratch);
int32_t gnti_argmax(const float *logits, int64_t num_classes);

/* What the other metrics are made of: additive over rows, so ranks add theirs. classes (num_classes, 3): true positives,
 * predicted, actual. broken: calls that saw a logit which is no number, the value is NaN then. */
typedef struct gnti_metric_sums {
    int64_t broken, right, count;
    double error;
    int64_t *classes;
} gnti_metric_sums;
bool gnti_metric_is_ranking(gnti_metric metric);
void gnti_metric_sums_clear(gnti_metric_sums *sums, int64_t num_classes);
void gnti_metric_add(gnti_metric metric, const gnti_scored *s, gnti_metric_sums *sums);
double gnti_metric_value(gnti_metric metric, const gnti_metric_sums *sums, int64_t num_classes);

/* Fills the scratch with the scores of column c against the rest: what a ranking of classes is the mean of. */
void gnti_metric_push_column(const gnti_scored *s, int64_t c, gnti_metric_scratch *scratch);

/* Area under the ROC curve (ties count half) and average precision (ties enter together) of `count` scores in
 * the scratch, see gnti_metric_push; both sort the scratch and leave it filled. */
void gnti_metric_clear(gnti_metric_scratch *scratch);
void gnti_metric_push(gnti_metric_scratch *scratch, double score, bool positive);
double gnti_metric_roc_auc(gnti_metric_scratch *scratch);
double gnti_metric_average_precision(gnti_metric_scratch *scratch);

/* How good the probabilities are. Class labels: softmax; multi-label: sigmoid per entry. */
enum { GNTI_ECE_BINS = 15 };
typedef struct gnti_calibration {
    int64_t count; /* rows (class), entries (multi-label) */
    double nll;    /* mean -log p of the truth */
    double brier;  /* mean sum_c (p_c - y_c)^2; multi-label: mean (p - y)^2 */
    double ece;    /* sum_b n_b / n |accuracy_b - confidence_b| over 15 bins of equal width */
    int64_t bin_count[GNTI_ECE_BINS];
    double bin_confidence[GNTI_ECE_BINS], bin_accuracy[GNTI_ECE_BINS]; /* means, 0 in an empty bin */
} gnti_calibration;
void gnti_calibration_compute(const gnti_scored *s, gnti_calibration *out);

/* Probabilities of one row in double: softmax, or sigmoid when multi. */
void gnti_probabilities(const float *logits, int64_t num_classes, gnt_label_kind kind, double *out);

/* Mean loss of the rows as training counts it: cross-entropy, sigmoid cross-entropy or squared error. */
double gnti_metric_loss(const gnti_scored *s);
/* The same, added up: sum and number of labelled rows. */
void gnti_metric_add_loss(const gnti_scored *s, double *sum, int64_t *count);

/* counts (num_classes, num_classes): row = truth, column = prediction. Class labels only. */
void gnti_confusion(const gnti_scored *s, int64_t *counts);

#endif
