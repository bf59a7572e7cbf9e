/* SPDX-License-Identifier: Apache-2.0 */
/* Probabilities and how far to trust them: negative log-likelihood, Brier score, expected calibration error.
 *
 * Softmax in double after subtracting the largest logit; -log p comes from the log-sum-exp, so that it stays
 * finite where p rounds to 0. Bin b holds confidences in (b/15, (b+1)/15], the first one 0 too (Naeini et
 * al., AAAI 2015; Guo et al., ICML 2017). Class labels: confidence is the largest probability, right when it
 * is the label's. Multi-label: each entry is a row of its own, confidence the probability of 1, "accuracy"
 * the share of ones.
 */
#include "train/metrics.h"

#include <math.h>
#include <string.h>

/* log(1 + e^z) without overflow. */
static double softplus(double z)
{
    return z > 0.0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

static double log_sum_exp(const float *z, int64_t count)
{
    const double top = (double)z[gnti_argmax(z, count)];
    double sum = 0.0;

    for (int64_t c = 0; c < count; c++)
        sum += exp((double)z[c] - top);
    return top + log(sum);
}

void gnti_probabilities(const float *logits, int64_t num_classes, gnt_label_kind kind, double *out)
{
    const double total = kind == GNT_LABELS_MULTI ? 0.0 : log_sum_exp(logits, num_classes);

    for (int64_t c = 0; c < num_classes; c++) {
        const double z = (double)logits[c];

        out[c] = kind == GNT_LABELS_MULTI ? exp(-softplus(-z)) : exp(z - total);
    }
}

static void add_to_bin(gnti_calibration *out, double confidence, bool right)
{
    int bin = (int)ceil(confidence * GNTI_ECE_BINS) - 1;

    bin = bin < 0 ? 0 : bin >= GNTI_ECE_BINS ? GNTI_ECE_BINS - 1 : bin;
    out->bin_count[bin]++;
    out->bin_confidence[bin] += confidence;
    out->bin_accuracy[bin] += right ? 1.0 : 0.0;
}

static void add_class_row(const float *z, int64_t num_classes, int32_t label, gnti_calibration *out)
{
    const double total = log_sum_exp(z, num_classes);
    const int32_t guess = gnti_argmax(z, num_classes);

    out->count++;
    out->nll += total - (double)z[label];
    for (int64_t c = 0; c < num_classes; c++) {
        const double d = exp((double)z[c] - total) - (c == label ? 1.0 : 0.0);

        out->brier += d * d;
    }
    add_to_bin(out, exp((double)z[guess] - total), guess == label);
}

static void add_multi_row(const float *z, int64_t num_classes, const float *target, gnti_calibration *out)
{
    for (int64_t c = 0; c < num_classes; c++) {
        const double p = exp(-softplus(-(double)z[c]));
        const bool one = target[c] > 0.5f;
        const double d = p - (one ? 1.0 : 0.0);

        if (isnan(target[c]))
            continue;
        out->count++;
        out->nll += softplus(one ? -(double)z[c] : (double)z[c]);
        out->brier += d * d;
        add_to_bin(out, p, one);
    }
}

void gnti_calibration_compute(const gnti_scored *s, gnti_calibration *out)
{
    memset(out, 0, sizeof *out);
    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];
        const float *z = s->logits + r * s->num_classes;

        if (s->kind == GNT_LABELS_CLASS && s->class_of[r] >= 0)
            add_class_row(z, s->num_classes, s->class_of[r], out);
        else if (s->kind == GNT_LABELS_MULTI)
            add_multi_row(z, s->num_classes, s->target + r * s->num_classes, out);
    }
    if (out->count == 0) {
        out->nll = out->brier = out->ece = NAN;
        return;
    }
    out->nll /= (double)out->count;
    out->brier /= (double)out->count;
    for (int b = 0; b < GNTI_ECE_BINS; b++) {
        out->ece += fabs(out->bin_accuracy[b] - out->bin_confidence[b]) / (double)out->count;
        if (out->bin_count[b] > 0) {
            out->bin_accuracy[b] /= (double)out->bin_count[b];
            out->bin_confidence[b] /= (double)out->bin_count[b];
        }
    }
}

static double row_loss(const gnti_scored *s, int64_t r)
{
    const float *z = s->logits + r * s->num_classes, *y = NULL;
    double sum = 0.0;

    if (s->kind == GNT_LABELS_CLASS)
        return log_sum_exp(z, s->num_classes) - (double)z[s->class_of[r]];
    y = s->target + r * s->num_classes;
    for (int64_t c = 0; c < s->num_classes; c++) {
        const double d = (double)z[c] - (double)y[c];

        sum +=
            s->kind == GNT_LABELS_REGRESSION ? d * d : softplus((double)z[c]) - (double)z[c] * (double)y[c];
    }
    return sum / (double)s->num_classes;
}

void gnti_metric_add_loss(const gnti_scored *s, double *sum, int64_t *count)
{
    for (int64_t i = 0; i < s->num_rows; i++) {
        const int64_t r = s->rows[i];

        if (s->kind == GNT_LABELS_CLASS ? s->class_of[r] < 0 : isnan(s->target[r * s->num_classes]))
            continue;
        *sum += row_loss(s, r);
        ++*count;
    }
}

double gnti_metric_loss(const gnti_scored *s)
{
    double sum = 0.0;
    int64_t count = 0;

    gnti_metric_add_loss(s, &sum, &count);
    return count > 0 ? sum / (double)count : NAN;
}
