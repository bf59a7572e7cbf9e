/* SPDX-License-Identifier: Apache-2.0 */
/* Accuracy, F1, regression errors and the choice among all metrics.
 *
 * F1 of a class = 2 tp / (2 tp + fp + fn). Micro: over the sums of all classes. Macro: mean over the classes
 * that occur among truth or predictions (a class that nobody has and nobody predicts says nothing). With one
 * class a row, micro-F1 is accuracy. Multi-label predictions are logits > 0. ROC AUC and average precision:
 * two classes score by the difference of logits, more classes one against the rest by probability, labels one
 * by one; mean over those defined.
 */
#include "train/metrics.h"
#include "train/metrics_scratch.h"

#include <math.h>
#include <string.h>

static const char *const names[] = {
    "auto", "accuracy", "micro-f1", "macro-f1", "roc-auc", "ap", "mae", "mse"
};

const char *gnti_metric_name(gnti_metric metric)
{
    return names[metric];
}

bool gnti_metric_higher_is_better(gnti_metric metric)
{
    return metric != GNTI_METRIC_MAE && metric != GNTI_METRIC_MSE;
}

gnt_status gnti_metric_resolve(gnti_metric metric, gnt_label_kind kind, gnti_metric *out)
{
    gnt_status st = GNT_OK;
    const bool regression = kind == GNT_LABELS_REGRESSION;

    GNT_CHECK(kind != GNT_LABELS_NONE, GNT_ERR_USAGE, "the dataset has no labels, nothing can be measured");
    if (metric == GNTI_METRIC_AUTO)
        metric = regression                 ? GNTI_METRIC_MAE
                 : kind == GNT_LABELS_MULTI ? GNTI_METRIC_MICRO_F1
                                            : GNTI_METRIC_ACCURACY;
    GNT_CHECK(regression == !gnti_metric_higher_is_better(metric), GNT_ERR_USAGE,
              "metric '%s' does not fit %s labels: use %s", names[metric],
              regression ? "regression" : "class",
              regression ? "mae or mse" : "accuracy, micro-f1, macro-f1, roc-auc or ap");
    *out = metric;
done:
    return st;
}

gnt_status gnti_metric_scratch_create(int64_t max_rows, int64_t num_classes, gnti_metric_scratch **out)
{
    gnt_status st = GNT_OK;
    gnti_metric_scratch *s = NULL;

    GNT_TRY(gnti_calloc_array(&s, 1));
    GNT_TRY(gnti_alloc_array(&s->pairs, max_rows));
    GNT_TRY(gnti_alloc_array(&s->counts, 3 * num_classes));
    GNT_TRY(gnti_alloc_array(&s->probabilities, num_classes));
    s->capacity = max_rows;
    s->num_classes = num_classes;
    *out = s;
    s = NULL;
done:
    gnti_metric_scratch_free(&s);
    return st;
}

void gnti_metric_scratch_free(gnti_metric_scratch **scratch)
{
    if (scratch == NULL || *scratch == NULL)
        return;
    gnti_free((*scratch)->pairs);
    gnti_free((*scratch)->counts);
    gnti_free((*scratch)->probabilities);
    gnti_free(*scratch);
    *scratch = NULL;
}

int32_t gnti_argmax(const float *logits, int64_t num_classes)
{
    int32_t best = 0;

    for (int64_t c = 1; c < num_classes; c++)
        if (logits[c] > logits[best])
            best = (int32_t)c;
    return best;
}

/* ---- what is additive over rows ---- */

static void add_accuracy(const gnti_scored *s, gnti_metric_sums *sums)
{
    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];
        const float *z = s->logits + r * s->num_classes;

        if (s->kind == GNT_LABELS_CLASS) {
            if (s->class_of[r] < 0)
                continue;
            sums->right += gnti_argmax(z, s->num_classes) == s->class_of[r];
            sums->count++;
            continue;
        }
        for (int64_t c = 0; c < s->num_classes; c++) {
            const float y = s->target[r * s->num_classes + c];

            if (isnan(y))
                continue;
            sums->right += (z[c] > 0.0f) == (y > 0.5f);
            sums->count++;
        }
    }
}

static void add_classes(const gnti_scored *s, gnti_metric_sums *sums)
{
    int64_t *counts = sums->classes;

    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];
        const float *z = s->logits + r * s->num_classes;
        int32_t guess = 0;

        if (s->kind == GNT_LABELS_CLASS) {
            if (s->class_of[r] < 0)
                continue;
            guess = gnti_argmax(z, s->num_classes);
            counts[3 * guess + 1]++;
            counts[3 * s->class_of[r] + 2]++;
            counts[3 * guess] += guess == s->class_of[r];
            sums->count++;
            continue;
        }
        for (int64_t c = 0; c < s->num_classes; c++) {
            const float y = s->target[r * s->num_classes + c];

            if (isnan(y))
                continue;
            counts[3 * c] += z[c] > 0.0f && y > 0.5f;
            counts[3 * c + 1] += z[c] > 0.0f;
            counts[3 * c + 2] += y > 0.5f;
            sums->count++;
        }
    }
}

static void add_error(const gnti_scored *s, bool squared, gnti_metric_sums *sums)
{
    for (int64_t i = 0; i < s->num_rows; i++) {
        for (int64_t c = 0; c < s->num_classes; c++) {
            const int64_t at = s->rows[i] * s->num_classes + c;
            const double d = (double)s->logits[at] - (double)s->target[at];

            if (isnan(s->target[at]))
                continue;
            sums->error += squared ? d * d : fabs(d);
            sums->count++;
        }
    }
}

static bool has_nan(const gnti_scored *s)
{
    for (int64_t i = 0; i < s->num_rows; i++)
        for (int64_t c = 0; c < s->num_classes; c++)
            if (isnan(s->logits[s->rows[i] * s->num_classes + c]))
                return true;
    return false;
}

void gnti_metric_sums_clear(gnti_metric_sums *sums, int64_t num_classes)
{
    int64_t *classes = sums->classes;

    *sums = (gnti_metric_sums){ .classes = classes };
    memset(classes, 0, (size_t)(3 * num_classes) * sizeof *classes);
}

void gnti_metric_add(gnti_metric metric, const gnti_scored *s, gnti_metric_sums *sums)
{
    sums->broken += has_nan(s);
    if (metric == GNTI_METRIC_ACCURACY)
        add_accuracy(s, sums);
    else if (metric == GNTI_METRIC_MICRO_F1 || metric == GNTI_METRIC_MACRO_F1)
        add_classes(s, sums);
    else if (metric == GNTI_METRIC_MAE || metric == GNTI_METRIC_MSE)
        add_error(s, metric == GNTI_METRIC_MSE, sums);
}

static double f1(const gnti_metric_sums *sums, int64_t num_classes, bool macro)
{
    int64_t hit = 0, both = 0, present = 0;
    double sum = 0.0;

    for (int64_t c = 0; c < num_classes; c++) {
        const int64_t tp = sums->classes[3 * c], all = sums->classes[3 * c + 1] + sums->classes[3 * c + 2];

        hit += tp;
        both += all;
        if (all > 0) {
            sum += 2.0 * (double)tp / (double)all;
            present++;
        }
    }
    if (present == 0)
        return 0.0; /* multi-label rows without any positive, truth or guess */
    return macro ? sum / (double)present : 2.0 * (double)hit / (double)both;
}

double gnti_metric_value(gnti_metric metric, const gnti_metric_sums *sums, int64_t num_classes)
{
    if (sums->broken > 0 || sums->count == 0)
        return NAN;
    switch (metric) {
    case GNTI_METRIC_ACCURACY:
        return (double)sums->right / (double)sums->count;
    case GNTI_METRIC_MICRO_F1:
        return f1(sums, num_classes, false);
    case GNTI_METRIC_MACRO_F1:
        return f1(sums, num_classes, true);
    case GNTI_METRIC_MAE:
    case GNTI_METRIC_MSE:
        return sums->error / (double)sums->count;
    default:
        return NAN;
    }
}

/* ---- rankings ---- */

void gnti_metric_push_column(const gnti_scored *s, int64_t c, gnti_metric_scratch *scratch)
{
    gnti_metric_clear(scratch);
    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];
        const float *z = s->logits + r * s->num_classes;

        if (s->kind == GNT_LABELS_MULTI) {
            const float y = s->target[r * s->num_classes + c];

            if (!isnan(y))
                gnti_metric_push(scratch, (double)z[c], y > 0.5f);
        } else if (s->class_of[r] >= 0) {
            if (s->num_classes == 2) {
                gnti_metric_push(scratch, (double)z[c] - (double)z[1 - c], s->class_of[r] == c);
            } else {
                gnti_probabilities(z, s->num_classes, s->kind, scratch->probabilities);
                gnti_metric_push(scratch, scratch->probabilities[c], s->class_of[r] == c);
            }
        }
    }
}

static double ranking(const gnti_scored *s, bool roc, gnti_metric_scratch *scratch)
{
    const bool binary = s->kind == GNT_LABELS_CLASS && s->num_classes == 2;
    double sum = 0.0;
    int64_t defined = 0;

    for (int64_t c = binary ? 1 : 0; c < s->num_classes; c++) {
        double value = 0.0;

        gnti_metric_push_column(s, c, scratch);
        value = roc ? gnti_metric_roc_auc(scratch) : gnti_metric_average_precision(scratch);
        if (!isnan(value)) {
            sum += value;
            defined++;
        }
    }
    return defined > 0 ? sum / (double)defined : NAN;
}

bool gnti_metric_is_ranking(gnti_metric metric)
{
    return metric == GNTI_METRIC_ROC_AUC || metric == GNTI_METRIC_AP;
}

double gnti_metric_compute(gnti_metric metric, const gnti_scored *s, gnti_metric_scratch *scratch)
{
    gnti_metric_sums sums = { .classes = scratch->counts };

    GNT_ASSERT(s->num_rows <= scratch->capacity && s->num_classes <= scratch->num_classes);
    if (gnti_metric_is_ranking(metric))
        return has_nan(s) ? NAN : ranking(s, metric == GNTI_METRIC_ROC_AUC, scratch);
    gnti_metric_sums_clear(&sums, s->num_classes);
    gnti_metric_add(metric, s, &sums);
    return gnti_metric_value(metric, &sums, s->num_classes);
}

void gnti_confusion(const gnti_scored *s, int64_t *counts)
{
    memset(counts, 0, (size_t)(s->num_classes * s->num_classes) * sizeof *counts);
    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];

        if (s->class_of[r] >= 0)
            counts[s->class_of[r] * s->num_classes +
                   gnti_argmax(s->logits + r * s->num_classes, s->num_classes)]++;
    }
}
