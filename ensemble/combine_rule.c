/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of a combination, row by row and in double, so that rows may be computed in any order and place:
 *
 *   mean, weighted, greedy   p = sum_m w_m p_m                   logits   p = softmax(sum_m w_m z_m)
 *   vote                     p = sum_m w_m [m chooses c]         regression: sum_m w_m f_m, whatever the rule
 *   temperature              p <- softmax(log max(p, 1e-12) / T)
 * Multi-label: sigmoid instead of softmax, log-odds instead of logarithms, a label is chosen where p > 1/2.
 */
#include "ensemble/combine_rule.h"

#include "base/alloc.h"
#include "base/team.h"

#include <math.h>
#include <omp.h>

enum { ROWS_PER_THREAD = 4096 };

const char *gnti_combine_name(gnti_combine how)
{
    static const char *const names[] = { "mean", "logits", "vote", "weighted", "greedy" };

    return names[how];
}

static double floored(double p)
{
    return fmax(p, GNTI_PROBABILITY_FLOOR);
}

static double log_odds(double p)
{
    return log(floored(p)) - log(floored(1.0 - p));
}

static void softmax(int64_t num_classes, double *z)
{
    double top = z[0], sum = 0.0;

    for (int64_t c = 1; c < num_classes; c++)
        top = fmax(top, z[c]);
    for (int64_t c = 0; c < num_classes; c++) {
        z[c] = exp(z[c] - top);
        sum += z[c];
    }
    for (int64_t c = 0; c < num_classes; c++)
        z[c] /= sum;
}

static void to_probabilities(gnt_label_kind kind, int64_t num_classes, double *z)
{
    if (kind != GNT_LABELS_MULTI) {
        softmax(num_classes, z);
        return;
    }
    for (int64_t c = 0; c < num_classes; c++)
        z[c] = z[c] >= 0.0 ? 1.0 / (1.0 + exp(-z[c])) : exp(z[c]) / (1.0 + exp(z[c]));
}

static void choose(gnt_label_kind kind, const float *row, bool is_logits, int64_t num_classes, double *out)
{
    const int32_t best = kind == GNT_LABELS_MULTI ? 0 : gnti_argmax(row, num_classes);

    for (int64_t c = 0; c < num_classes; c++)
        out[c] = (kind == GNT_LABELS_MULTI ? row[c] > (is_logits ? 0.0f : 0.5f) : c == best) ? 1.0 : 0.0;
}

void gnti_rule_take(gnti_combine how, gnt_label_kind kind, const float *row, bool is_logits,
                    int64_t num_classes, double *out)
{
    const bool wants_logits = how == GNTI_COMBINE_LOGITS;

    if (kind != GNT_LABELS_REGRESSION && how == GNTI_COMBINE_VOTE) {
        choose(kind, row, is_logits, num_classes, out);
        return;
    }
    for (int64_t c = 0; c < num_classes; c++) {
        const double value = (double)row[c];

        out[c] = kind == GNT_LABELS_REGRESSION || is_logits || !wants_logits ? value
                 : kind == GNT_LABELS_MULTI                                  ? log_odds(value)
                                                                             : log(floored(value));
    }
    if (kind != GNT_LABELS_REGRESSION && is_logits && !wants_logits)
        to_probabilities(kind, num_classes, out);
}

void gnti_rule_finish(gnti_combine how, gnt_label_kind kind, double temperature, int64_t num_classes,
                      double *sum)
{
    if (kind == GNT_LABELS_REGRESSION)
        return;
    if (how == GNTI_COMBINE_LOGITS)
        to_probabilities(kind, num_classes, sum);
    if (temperature < 1.0 || temperature > 1.0) {
        for (int64_t c = 0; c < num_classes; c++)
            sum[c] = (kind == GNT_LABELS_MULTI ? log_odds(sum[c]) : log(floored(sum[c]))) / temperature;
        to_probabilities(kind, num_classes, sum);
    }
}

/* One row of all members; sum and one (num_classes) are room. */
static void apply_row(const gnti_combine_rule *rule, const float *const *values, const bool *are_logits,
                      int32_t num, int64_t at, int64_t num_classes, double *sum)
{
    double *one = sum + num_classes;

    for (int64_t c = 0; c < num_classes; c++)
        sum[c] = 0.0;
    for (int32_t m = 0; m < num; m++) {
        if (!(rule->weight[m] > 0.0))
            continue;
        gnti_rule_take(rule->how, rule->kind, values[m] + at, are_logits == NULL || are_logits[m],
                       num_classes, one);
        for (int64_t c = 0; c < num_classes; c++)
            sum[c] += rule->weight[m] * one[c];
    }
    gnti_rule_finish(rule->how, rule->kind, rule->temperature, num_classes, sum);
}

gnt_status gnti_combine_apply(const gnti_combine_rule *rule, const float *const *values,
                              const bool *are_logits, int32_t num, int64_t num_rows, int64_t num_classes,
                              float *out)
{
    gnt_status st = GNT_OK;
    double *room = NULL;
    int32_t threads = 1;

    GNT_TRY(gnti_team_threads(0, 1, &threads));
    threads = (int32_t)gnti_max_i64(gnti_min_i64(threads, num_rows / ROWS_PER_THREAD), 1);
    GNT_TRY(gnti_alloc_array(&room, 2 * num_classes * threads));
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < num_rows; i++) {
        double *sum = room + 2 * num_classes * omp_get_thread_num();

        apply_row(rule, values, are_logits, num, i * num_classes, num_classes, sum);
        for (int64_t c = 0; c < num_classes; c++)
            out[i * num_classes + c] = (float)sum[c];
    }
done:
    gnti_free(room);
    return st;
}
