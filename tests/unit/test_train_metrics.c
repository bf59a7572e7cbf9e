/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics against slow versions straight from their definitions on random rows with many ties, and by hand
 * where a definition has an edge: ties, one class absent, unlabelled rows, no rows, NaN. */
#include "tests/support/gnt_test.h"

#include "base/philox.h"
#include "train/metrics.h"

#include <math.h>
#include <string.h>

enum { N = 300, C = 4 };

typedef struct rows {
    float logits[N * C], target[N * C];
    int32_t class_of[N];
    int64_t index[N];
    gnti_metric_scratch *scratch;
    gnti_scored s;
} rows;

/* Logits on a grid of 9 values, so that ties are common; every 7th row unlabelled. */
static void make_rows(rows *r, gnt_label_kind kind, int64_t classes, uint32_t seed)
{
    const gnti_philox_key key = gnti_seed_key(seed);

    memset(r, 0, sizeof *r);
    for (int64_t i = 0; i < N; i++) {
        r->index[i] = N - 1 - i;
        r->class_of[i] =
            (int32_t)gnti_below(gnti_draw_word(key, GNTI_DRAW_GENERATE, 0, 0, i, 0), (uint32_t)classes);
        for (int64_t c = 0; c < classes; c++) {
            const uint32_t w = gnti_draw_word(key, GNTI_DRAW_GENERATE, 1, 0, i, (uint32_t)c);

            r->logits[i * classes + c] =
                (float)gnti_below(w, 9) * 0.5f - 2.0f + (c == r->class_of[i] ? 1.0f : 0.0f);
            r->target[i * classes + c] = w % 3 == 0 ? 1.0f : 0.0f;
            if (i % 7 == 0)
                r->target[i * classes + c] = NAN;
        }
        if (i % 7 == 0)
            r->class_of[i] = -1;
    }
    gnt_assert_ok(gnti_metric_scratch_create(N, classes, &r->scratch));
    r->s = (gnti_scored){ r->logits, classes, kind, r->class_of, r->target, r->index, N };
}

static double compute(rows *r, gnti_metric metric)
{
    return gnti_metric_compute(metric, &r->s, r->scratch);
}

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        print_error("got %.17g, want %.17g\n", got, want);
    assert_true(fabs(got - want) <= 1e-12);
}

/* P(score of a positive > score of a negative), ties half: over all pairs. */
static double slow_auc(const double *score, const bool *positive, int64_t n)
{
    double sum = 0.0, pairs = 0.0;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            if (positive[i] && !positive[j]) {
                sum += score[i] > score[j] ? 1.0 : score[i] == score[j] ? 0.5 : 0.0;
                pairs += 1.0;
            }
    return sum / pairs;
}

/* Mean over positives of the precision among all rows that score at least as high. */
static double slow_ap(const double *score, const bool *positive, int64_t n)
{
    double sum = 0.0, positives = 0.0;

    for (int64_t i = 0; i < n; i++) {
        double above = 0.0, right = 0.0;

        if (!positive[i])
            continue;
        for (int64_t j = 0; j < n; j++)
            if (score[j] >= score[i]) {
                above += 1.0;
                right += positive[j] ? 1.0 : 0.0;
            }
        sum += right / above;
        positives += 1.0;
    }
    return sum / positives;
}

static void test_rankings_equal_pairwise_counting(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 8; seed++) {
        rows *r = NULL;
        double score[N], auc = 0.0, ap = 0.0;
        bool positive[N];

        gnt_assert_ok(gnti_calloc_array(&r, 1));
        make_rows(r, GNT_LABELS_MULTI, C, seed);
        for (int64_t c = 0; c < C; c++) {
            int64_t n = 0;

            for (int64_t i = 0; i < N; i++)
                if (!isnan(r->target[i * C + c])) {
                    score[n] = (double)r->logits[i * C + c];
                    positive[n++] = r->target[i * C + c] > 0.5f;
                }
            auc += slow_auc(score, positive, n) / C;
            ap += slow_ap(score, positive, n) / C;
        }
        assert_near(compute(r, GNTI_METRIC_ROC_AUC), auc);
        assert_near(compute(r, GNTI_METRIC_AP), ap);
        gnti_metric_scratch_free(&r->scratch);
        gnti_free(r);
    }
}

static void test_two_classes_rank_by_the_difference(void **state)
{
    rows *r = NULL;
    double score[N];
    bool positive[N];
    int64_t n = 0;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&r, 1));
    make_rows(r, GNT_LABELS_CLASS, 2, 3);
    for (int64_t i = 0; i < N; i++)
        if (r->class_of[i] >= 0) {
            score[n] = (double)r->logits[2 * i + 1] - (double)r->logits[2 * i];
            positive[n++] = r->class_of[i] == 1;
        }
    assert_near(compute(r, GNTI_METRIC_ROC_AUC), slow_auc(score, positive, n));
    assert_near(compute(r, GNTI_METRIC_AP), slow_ap(score, positive, n));
    gnti_metric_scratch_free(&r->scratch);
    gnti_free(r);
}

static void test_accuracy_and_f1_by_confusion(void **state)
{
    rows *r = NULL;
    int64_t counts[C * C], right = 0, total = 0;
    double macro = 0.0;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&r, 1));
    make_rows(r, GNT_LABELS_CLASS, C, 11);
    gnti_confusion(&r->s, counts);
    for (int64_t c = 0; c < C; c++) {
        int64_t row = 0, column = 0;

        for (int64_t k = 0; k < C; k++) {
            row += counts[c * C + k];
            column += counts[k * C + c];
        }
        right += counts[c * C + c];
        total += row;
        macro += 2.0 * (double)counts[c * C + c] / (double)(row + column) / C;
    }
    assert_int_equal(total, N - (N + 6) / 7);
    assert_near(compute(r, GNTI_METRIC_ACCURACY), (double)right / (double)total);
    assert_near(compute(r, GNTI_METRIC_MICRO_F1), (double)right / (double)total);
    assert_near(compute(r, GNTI_METRIC_MACRO_F1), macro);
    gnti_metric_scratch_free(&r->scratch);
    gnti_free(r);
}

static void test_multi_label_f1_by_hand(void **state)
{
    const float logits[] = { 1, -1, 1, 1, -1, -1 }, target[] = { 1, 0, 1, 0, 1, 0 };
    const int64_t index[] = { 0, 1, 2 };
    const gnti_scored s = { logits, 2, GNT_LABELS_MULTI, NULL, target, index, 3 };
    gnti_metric_scratch *scratch = NULL;

    (void)state;
    gnt_assert_ok(gnti_metric_scratch_create(3, 2, &scratch));
    /* label 0: tp 2, predicted 2, actual 3 -> 0.8; label 1: tp 0, predicted 1, actual 0 -> 0 */
    assert_near(gnti_metric_compute(GNTI_METRIC_MICRO_F1, &s, scratch), 4.0 / 6.0);
    assert_near(gnti_metric_compute(GNTI_METRIC_MACRO_F1, &s, scratch), 0.4);
    assert_near(gnti_metric_compute(GNTI_METRIC_ACCURACY, &s, scratch), 4.0 / 6.0);
    gnti_metric_scratch_free(&scratch);
}

static void test_regression_errors_skip_missing_targets(void **state)
{
    const float guess[] = { 1.0f, 2.0f, 3.0f, 4.0f }, target[] = { 2.0f, NAN, 1.0f, 4.0f };
    const int64_t index[] = { 0, 1, 2, 3 };
    const gnti_scored s = { guess, 1, GNT_LABELS_REGRESSION, NULL, target, index, 4 };
    gnti_metric_scratch *scratch = NULL;

    (void)state;
    gnt_assert_ok(gnti_metric_scratch_create(4, 1, &scratch));
    assert_near(gnti_metric_compute(GNTI_METRIC_MAE, &s, scratch), 1.0);
    assert_near(gnti_metric_compute(GNTI_METRIC_MSE, &s, scratch), 5.0 / 3.0);
    assert_near(gnti_metric_loss(&s), 5.0 / 3.0);
    gnti_metric_scratch_free(&scratch);
}

static void test_edges_are_undefined_never_zero(void **state)
{
    const float logits[] = { 0.5f, 0.5f, 2.0f, 1.0f, 0.0f, 3.0f };
    const int32_t same[] = { 0, 0, 0 }, none[] = { -1, -1, -1 };
    const int64_t index[] = { 0, 1, 2 };
    gnti_scored s = { logits, 2, GNT_LABELS_CLASS, same, NULL, index, 3 };
    gnti_metric_scratch *scratch = NULL;
    gnti_calibration cal;
    float bad[] = { 0.5f, NAN, 2.0f, 1.0f, 0.0f, 3.0f };

    (void)state;
    gnt_assert_ok(gnti_metric_scratch_create(3, 2, &scratch));
    assert_true(isnan(gnti_metric_compute(GNTI_METRIC_ROC_AUC, &s, scratch))); /* class 1 absent */
    assert_true(isnan(gnti_metric_compute(GNTI_METRIC_AP, &s, scratch)));
    assert_near(gnti_metric_compute(GNTI_METRIC_ACCURACY, &s, scratch),
                2.0 / 3.0);                                                   /* a tie goes to the first */
    assert_near(gnti_metric_compute(GNTI_METRIC_MACRO_F1, &s, scratch), 0.4); /* class 1: guessed once */
    s.num_rows = 2; /* class 1 neither true nor guessed: it does not count */
    assert_near(gnti_metric_compute(GNTI_METRIC_MACRO_F1, &s, scratch), 1.0);
    s.num_rows = 3;
    for (int m = GNTI_METRIC_ACCURACY; m <= GNTI_METRIC_AP; m++) {
        s.class_of = none;
        assert_true(isnan(gnti_metric_compute((gnti_metric)m, &s, scratch)));
        s.class_of = same;
        s.num_rows = 0;
        assert_true(isnan(gnti_metric_compute((gnti_metric)m, &s, scratch)));
        s.num_rows = 3;
        s.logits = bad;
        assert_true(isnan(gnti_metric_compute((gnti_metric)m, &s, scratch)));
        s.logits = logits;
    }
    s.num_rows = 0;
    assert_true(isnan(gnti_metric_loss(&s)));
    gnti_calibration_compute(&s, &cal);
    assert_true(isnan(cal.nll) && isnan(cal.ece) && isnan(cal.brier) && cal.count == 0);
    gnti_metric_scratch_free(&scratch);
}

/* The bins by their definition, one pass a bin. */
static double slow_ece(const rows *r, int64_t classes)
{
    double ece = 0.0, n = 0.0;

    for (int64_t i = 0; i < N; i++)
        n += r->class_of[i] >= 0 ? 1.0 : 0.0;
    for (int b = 0; b < 15; b++) {
        double right = 0.0, confidence = 0.0;

        for (int64_t i = 0; i < N; i++) {
            double p[C], top = 0.0;
            int32_t guess = 0;

            if (r->class_of[i] < 0)
                continue;
            gnti_probabilities(r->logits + i * classes, classes, GNT_LABELS_CLASS, p);
            for (int64_t c = 0; c < classes; c++)
                if (p[c] > top) {
                    top = p[c];
                    guess = (int32_t)c;
                }
            if (top > b / 15.0 && top <= (b + 1) / 15.0) {
                confidence += top;
                right += guess == r->class_of[i] ? 1.0 : 0.0;
            }
        }
        ece += fabs(right - confidence) / n;
    }
    return ece;
}

static void test_calibration_by_definition(void **state)
{
    rows *r = NULL;
    gnti_calibration cal;
    double nll = 0.0, brier = 0.0, n = 0.0;
    int64_t binned = 0;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&r, 1));
    make_rows(r, GNT_LABELS_CLASS, C, 5);
    gnti_calibration_compute(&r->s, &cal);
    for (int64_t i = 0; i < N; i++) {
        double p[C];

        if (r->class_of[i] < 0)
            continue;
        gnti_probabilities(r->logits + i * C, C, GNT_LABELS_CLASS, p);
        nll -= log(p[r->class_of[i]]);
        for (int64_t c = 0; c < C; c++)
            brier += (p[c] - (c == r->class_of[i])) * (p[c] - (c == r->class_of[i]));
        n += 1.0;
    }
    for (int b = 0; b < GNTI_ECE_BINS; b++)
        binned += cal.bin_count[b];
    assert_int_equal(binned, cal.count);
    assert_near(cal.nll, nll / n);
    assert_near(cal.brier, brier / n);
    assert_near(cal.ece, slow_ece(r, C));
    assert_near(gnti_metric_loss(&r->s), cal.nll);
    gnti_metric_scratch_free(&r->scratch);
    gnti_free(r);
}

static void test_calibration_stays_finite_far_out(void **state)
{
    const float logits[] = { 1000.0f, -1000.0f, -3e38f, 3e38f }, ones[] = { 0.0f, 1.0f, 1.0f, 1.0f };
    const int32_t label[] = { 1, 1 };
    const int64_t index[] = { 0, 1 };
    gnti_scored s = { logits, 2, GNT_LABELS_CLASS, label, ones, index, 1 };
    gnti_calibration cal;

    (void)state;
    gnti_calibration_compute(&s, &cal);
    assert_near(cal.nll, 2000.0);
    assert_near(cal.brier, 2.0);
    assert_near(cal.ece, 1.0);
    s.num_rows = 2;
    gnti_calibration_compute(&s, &cal);
    assert_near(cal.nll, 1000.0);
    s.kind = GNT_LABELS_MULTI;
    s.num_rows = 1;
    gnti_calibration_compute(&s, &cal);
    assert_near(cal.nll, 1000.0); /* both entries are wrong by 1000 */
    assert_near(gnti_metric_loss(&s), 1000.0);
    assert_int_equal(cal.count, 2);
}

static void test_metric_must_fit_the_labels(void **state)
{
    gnti_metric m = GNTI_METRIC_AUTO;

    (void)state;
    gnt_assert_ok(gnti_metric_resolve(GNTI_METRIC_AUTO, GNT_LABELS_CLASS, &m));
    assert_int_equal(m, GNTI_METRIC_ACCURACY);
    gnt_assert_ok(gnti_metric_resolve(GNTI_METRIC_AUTO, GNT_LABELS_MULTI, &m));
    assert_int_equal(m, GNTI_METRIC_MICRO_F1);
    gnt_assert_ok(gnti_metric_resolve(GNTI_METRIC_AUTO, GNT_LABELS_REGRESSION, &m));
    assert_int_equal(m, GNTI_METRIC_MAE);
    gnt_assert_status(gnti_metric_resolve(GNTI_METRIC_AP, GNT_LABELS_REGRESSION, &m), GNT_ERR_USAGE);
    gnt_assert_error_has("'ap'", "mae or mse");
    gnt_assert_status(gnti_metric_resolve(GNTI_METRIC_MSE, GNT_LABELS_CLASS, &m), GNT_ERR_USAGE);
    gnt_assert_status(gnti_metric_resolve(GNTI_METRIC_AUTO, GNT_LABELS_NONE, &m), GNT_ERR_USAGE);
    assert_false(gnti_metric_higher_is_better(GNTI_METRIC_MAE));
    assert_string_equal(gnti_metric_name(GNTI_METRIC_MACRO_F1), "macro-f1");
}

static void test_scratch_allocations(void **state)
{
    gnti_metric_scratch *scratch = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gnti_metric_scratch_create(10, 3, &scratch), scratch);
    gnti_metric_scratch_free(&scratch);
    gnti_metric_scratch_free(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rankings_equal_pairwise_counting),
        cmocka_unit_test(test_two_classes_rank_by_the_difference),
        cmocka_unit_test(test_accuracy_and_f1_by_confusion),
        cmocka_unit_test(test_multi_label_f1_by_hand),
        cmocka_unit_test(test_regression_errors_skip_missing_targets),
        cmocka_unit_test(test_edges_are_undefined_never_zero),
        cmocka_unit_test(test_calibration_by_definition),
        cmocka_unit_test(test_calibration_stays_finite_far_out),
        cmocka_unit_test(test_metric_must_fit_the_labels),
        cmocka_unit_test(test_scratch_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
