/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a combination: scores of members and result, means and deviations, calibration before and after, and what is left of it
 * where data is missing.
 */
#include "tests/support/votes_case.h"

#include "base/json.h"
#include "ensemble/ece.h"
#include "ensemble/panel.h"
#include "ensemble/temperature.h"

#include <math.h>
#include <string.h>

static const double three[] = { 1.0, 1.2, 0.8 };

static double fact(const gnti_json *o, const char *object, const char *key)
{
    double value = (double)NAN;

    gnt_assert_ok(gnti_json_get_number(object != NULL ? gnti_json_find(o, object) : o, key, &value));
    return value;
}

static double member_fact(const gnti_json *facts, int64_t m, const char *key)
{
    double value = (double)NAN;

    gnt_assert_ok(gnti_json_get_number(gnti_json_at(gnti_json_find(facts, "members"), m), key, &value));
    return value;
}

/* Facts of a combination without a temperature are those "before" of the same one with it; means and deviations are the members'; a
 * member's scores are gnti_calibration's of its logits, and of its logits over its own temperature. */
static void facts_are_those_of_members_and_result(void **state)
{
    (void)state;
    votes_case c;
    gnti_json *with = NULL, *without = NULL;
    gnti_panel test, valid;
    const gnti_split *split = NULL;
    gnti_calibration scores;
    float logits[3 * 400];

    votes_case_make(&c, GNT_LABELS_CLASS, 700, 3, 298, three, 3, 45);
    for (int k = 0; k < 2; k++) {
        gnti_combined made = { 0 };
        gnti_json **out = k == 0 ? &with : &without;

        c.config.temperature = k == 0;
        gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
        gnt_assert_ok(gnti_json_create_object(out));
        gnt_assert_ok(gnti_combine_facts(c.votes, 3, c.data, &c.config, &made, *out));
        gnti_combined_free(&made, 3);
    }
    const gnti_json *before = gnti_json_find(gnti_json_find(with, "ensemble"), "before_temperature");

    assert_true(fabs(fact(before, NULL, "nll") - fact(without, "ensemble", "nll")) < 1e-9);
    assert_true(fabs(fact(before, NULL, "ece") - fact(without, "ensemble", "ece")) < 1e-9);
    assert_true(fabs(fact(before, NULL, "nll") - fact(with, "ensemble", "nll")) > 1e-3);
    gnt_assert_ok(gnti_dataset_find_split(c.data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_TEST, &test));
    gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_VALID, &valid));
    double mean = 0.0, square = 0.0;

    for (int64_t m = 0; m < 3; m++) {
        mean += member_fact(with, m, "nll") / 3.0;
        gnti_panel_gather(&test, c.votes[m].values, logits);
        gnti_panel_calibration(&test, logits, &scores);
        assert_true(fabs(member_fact(with, m, "nll") - scores.nll) < 1e-9);
        assert_true(fabs(member_fact(with, m, "brier") - scores.brier) < 1e-9);
        for (int64_t i = 0; i < 3 * 400; i++)
            logits[i] = (float)((double)logits[i] / member_fact(with, m, "temperature"));
        gnti_panel_calibration(&test, logits, &scores);
        assert_true(fabs(member_fact(with, m, "nll_after") - scores.nll) < 1e-9);
        assert_true(fabs(member_fact(with, m, "ece_after") - scores.ece) < 1e-9);
        gnti_panel_gather(&valid, c.votes[m].values, logits);
        assert_true(fabs(gnti_temperature_fit(&valid, logits) - member_fact(with, m, "temperature")) < 1e-9);
    }
    for (int64_t m = 0; m < 3; m++)
        square += (member_fact(with, m, "nll") - mean) * (member_fact(with, m, "nll") - mean) / 2.0;
    assert_true(fabs(fact(with, "member_mean", "nll") - mean) < 1e-12);
    assert_true(fabs(fact(with, "member_std", "nll") - sqrt(square)) < 1e-12);
    gnti_panel_free(&test);
    gnti_panel_free(&valid);
    gnti_json_free(&with);
    gnti_json_free(&without);
    votes_case_free(&c);
}

/* No test rows, no validation rows, one member alone: what is undefined is NaN, and nothing else is lost. */
static void little_data_has_few_facts(void **state)
{
    (void)state;
    static const int64_t num_valid[] = { 98, 0, 40 };

    for (int k = 0; k < 3; k++) {
        votes_case c;
        gnti_combined made = { 0 };
        gnti_json *facts = NULL;

        votes_case_make(&c, GNT_LABELS_CLASS, 100, 3, num_valid[k], three, k == 2 ? 1 : 3, 55);
        gnt_assert_ok(gnti_combine_members(c.votes, c.num, c.data, &c.config, &made));
        gnt_assert_ok(gnti_json_create_object(&facts));
        GNT_BRUTAL(gnti_combine_facts(c.votes, c.num, c.data, &c.config, &made, facts));
        assert_true(isnan(fact(facts, "ensemble", "test_metric")) == (k == 0));
        assert_true(isnan(fact(facts, "ensemble", "ece")) == (k == 0));
        assert_true(isnan(fact(facts, "ensemble", "valid_metric")) == (k == 1));
        assert_true((gnti_json_find(facts, "diversity") == NULL) == (k == 2));
        assert_true(isnan(fact(facts, "member_std", "temperature")) == (k == 2));
        assert_true((strstr(made.remark, "No validation row") != NULL) == (k == 1));
        if (k == 1) {
            gnti_combined other = { 0 };

            c.config.how = GNTI_COMBINE_GREEDY;
            gnt_assert_status(gnti_combine_members(c.votes, c.num, c.data, &c.config, &other), GNT_ERR_USAGE);
            gnt_assert_error_has("validation rows", "mean, logits or vote");
        }
        gnti_json_free(&facts);
        gnti_combined_free(&made, c.num);
        votes_case_free(&c);
    }
}

/* Thirty rows of two classes, sure by 0.5 + i / 100, right where i is odd: two rows a bin of equal mass, gap 1 - sure - sure'. */
static void bins_of_equal_mass_hold_as_many_rows(void **state)
{
    (void)state;
    enum { ROWS = 30 };
    votes_case c;
    gnti_panel p;
    const gnti_split *split = NULL;
    gnti_ece_more more, again;
    gnti_calibration scores;
    float values[2 * ROWS], logits[2 * ROWS];
    double want = 0.0;

    votes_case_make(&c, GNT_LABELS_CLASS, ROWS + 4, 2, ROWS, three, 1, 1);
    gnt_assert_ok(gnti_dataset_find_split(c.data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_VALID, &p));
    for (int64_t k = 0; k < ROWS; k++) {
        const int64_t i = k * 7 % ROWS; /* not in order */

        values[2 * k] = 0.51f + 0.01f * (float)i;
        values[2 * k + 1] = 1.0f - values[2 * k];
        p.class_of[k] = i % 2 == 1 ? 0 : 1;
    }
    for (int b = 0; b < 15; b++)
        want += fabs(1.0 - (0.51 + 0.02 * b) - (0.52 + 0.02 * b)) / ROWS;
    GNT_BRUTAL(gnti_ece_measure(&p, values, &more));
    assert_true(fabs(more.equal_mass - want) < 1e-6);
    gnti_panel_logits(&p, values, logits);
    gnti_panel_calibration(&p, logits, &scores);
    assert_true(more.low <= scores.ece && scores.ece <= more.high && more.low < more.high);
    gnt_assert_ok(gnti_ece_measure(&p, values, &again));
    assert_memory_equal(&more, &again, sizeof more);
    p.num_rows = 0;
    gnt_assert_ok(gnti_ece_measure(&p, values, &more));
    assert_true(isnan(more.equal_mass) && isnan(more.low) && isnan(more.high));
    gnti_panel_free(&p);
    votes_case_free(&c);
}

/* Rows whose truth is drawn by their probability: the interval covers a small error, and shrinks with the rows. */
static void intervals_shrink_with_rows(void **state)
{
    (void)state;
    double wide[2];

    for (int k = 0; k < 2; k++) {
        const int64_t rows = k == 0 ? 100 : 6400;
        votes_case c;
        gnti_panel p;
        const gnti_split *split = NULL;
        gnti_ece_more more;
        float *values = NULL;

        votes_case_make(&c, GNT_LABELS_MULTI, rows + 4, 1, rows, three, 1, 3);
        gnt_assert_ok(gnti_dataset_find_split(c.data, NULL, &split));
        gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_VALID, &p));
        gnt_assert_ok(gnti_alloc_array(&values, rows));
        for (int64_t i = 0; i < rows; i++)
            values[i] = 0.4f; /* as votes_case draws labels */
        gnt_assert_ok(gnti_ece_measure(&p, values, &more));
        wide[k] = more.high - more.low;
        assert_true(more.low < 0.1);
        gnti_free(values);
        gnti_panel_free(&p);
        votes_case_free(&c);
    }
    assert_true(wide[1] < wide[0] / 4.0); /* 8 times, but for chance */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_of_members_and_result),
        cmocka_unit_test(little_data_has_few_facts),
        cmocka_unit_test(bins_of_equal_mass_hold_as_many_rows),
        cmocka_unit_test(intervals_shrink_with_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
