/* SPDX-License-Identifier: Apache-2.0 */
/* Combinations: rules against numbers worked out by hand, weights, the fall back to the best member, temperature after combining,
 * and that labels of test rows decide nothing.
 */
#include "tests/support/votes_case.h"

#include "base/json.h"
#include "base/philox.h"
#include "ensemble/panel.h"
#include "ensemble/select.h"
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

/* ---- rules, by hand ---- */

/* Two members, one row of three classes: p = (1/2, 1/4, 1/4) and (1/10, 8/10, 1/10). */
static const float hand_a[] = { 0.5f, 0.25f, 0.25f }, hand_b[] = { 0.1f, 0.8f, 0.1f };

static void apply_hand(gnti_combine how, const double *weight, double temperature, float *out)
{
    const gnti_combine_rule rule = {
        .how = how, .kind = GNT_LABELS_CLASS, .weight = weight, .temperature = temperature
    };
    const float *values[] = { hand_a, hand_b };

    gnt_assert_ok(gnti_combine_apply(&rule, values, (const bool[]){ false, false }, 2, 1, 3, out));
}

static void rules_give_what_a_hand_gives(void **state)
{
    (void)state;
    const double half[] = { 0.5, 0.5 }, most[] = { 0.75, 0.25 };
    /* geometric means: sqrt(.5 .1), sqrt(.25 .8), sqrt(.25 .1), divided by their sum */
    const double g[] = { 0.22360679774997896, 0.4472135954999579, 0.15811388300841897 };
    const double total = g[0] + g[1] + g[2];
    /* mean (.3, .525, .175) at temperature 1/2: squares over their sum */
    const double s = 0.09 + 0.275625 + 0.030625;
    float out[3];

    apply_hand(GNTI_COMBINE_MEAN, half, 1.0, out);
    gnt_assert_close(out, ((const float[]){ 0.3f, 0.525f, 0.175f }), 3, 1e-6, 0.0);
    apply_hand(GNTI_COMBINE_GREEDY, most, 1.0, out);
    gnt_assert_close(out, ((const float[]){ 0.4f, 0.3875f, 0.2125f }), 3, 1e-6, 0.0);
    apply_hand(GNTI_COMBINE_VOTE, most, 1.0, out);
    gnt_assert_close(out, ((const float[]){ 0.75f, 0.25f, 0.0f }), 3, 1e-6, 0.0);
    apply_hand(GNTI_COMBINE_LOGITS, half, 1.0, out);
    gnt_assert_close_f64(out, ((const double[]){ g[0] / total, g[1] / total, g[2] / total }), 3, 1e-6, 0.0);
    apply_hand(GNTI_COMBINE_MEAN, half, 0.5, out);
    gnt_assert_close_f64(out, ((const double[]){ 0.09 / s, 0.275625 / s, 0.030625 / s }), 3, 1e-6, 0.0);
    apply_hand(GNTI_COMBINE_VOTE, (const double[]){ 1.0, 0.0 }, 1.0, out);
    gnt_assert_close(out, ((const float[]){ 1.0f, 0.0f, 0.0f }), 3, 0.0, 0.0);
}

static void logits_of_members_are_made_probabilities(void **state)
{
    (void)state;
    const gnti_combine_rule rule = { .how = GNTI_COMBINE_MEAN,
                                     .kind = GNT_LABELS_CLASS,
                                     .weight = (const double[]){ 0.5, 0.5 },
                                     .temperature = 1.0 };
    const float logits[] = { logf(0.5f) + 7.0f, logf(0.25f) + 7.0f, logf(0.25f) + 7.0f };
    const float *values[] = { logits, hand_b };
    float out[3];

    gnt_assert_ok(gnti_combine_apply(&rule, values, (const bool[]){ true, false }, 2, 1, 3, out));
    gnt_assert_close(out, ((const float[]){ 0.3f, 0.525f, 0.175f }), 3, 1e-6, 0.0);
}

static void labels_and_outputs_have_rules_of_their_own(void **state)
{
    (void)state;
    const double half[] = { 0.5, 0.5 };
    gnti_combine_rule rule = {
        .how = GNTI_COMBINE_MEAN, .kind = GNT_LABELS_MULTI, .weight = half, .temperature = 1.0
    };
    const float a[] = { 0.0f, 2.0f }, b[] = { 2.0f, -2.0f };
    const float *values[] = { a, b };
    const double s2 = 1.0 / (1.0 + exp(-2.0));
    float out[2];

    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out));
    gnt_assert_close_f64(out, ((const double[]){ 0.5 * (0.5 + s2), 0.5 }), 2, 1e-6, 0.0);
    rule.how = GNTI_COMBINE_LOGITS;
    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out));
    gnt_assert_close_f64(out, ((const double[]){ 1.0 / (1.0 + exp(-1.0)), 0.5 }), 2, 1e-6, 0.0);
    rule.temperature = 2.0;
    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out));
    gnt_assert_close_f64(out, ((const double[]){ 1.0 / (1.0 + exp(-0.5)), 0.5 }), 2, 1e-6, 0.0);
    rule.how = GNTI_COMBINE_VOTE;
    rule.temperature = 1.0;
    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out)); /* a logit of 0 is no vote */
    gnt_assert_close(out, ((const float[]){ 0.5f, 0.5f }), 2, 1e-6, 0.0);
    values[0] = (const float[]){ 0.25f, 2.0f }; /* a probability above one half */
    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out));
    gnt_assert_close(out, ((const float[]){ 1.0f, 0.5f }), 2, 1e-6, 0.0);
    values[0] = a;
    rule.kind = GNT_LABELS_REGRESSION;
    rule.how = GNTI_COMBINE_MEAN;
    rule.temperature = 3.0; /* has no meaning there */
    gnt_assert_ok(gnti_combine_apply(&rule, values, NULL, 2, 1, 2, out));
    gnt_assert_close(out, ((const float[]){ 1.0f, 0.0f }), 2, 1e-6, 1e-7);
}

/* ---- whole combinations ---- */

static void result_is_the_rule_with_its_weights(void **state)
{
    (void)state;
    static const gnti_combine hows[] = { GNTI_COMBINE_MEAN, GNTI_COMBINE_LOGITS, GNTI_COMBINE_VOTE,
                                         GNTI_COMBINE_WEIGHTED, GNTI_COMBINE_GREEDY };
    votes_case c;

    votes_case_make(&c, GNT_LABELS_CLASS, 900, 4, 300, three, 3, 5);
    votes_case_to_probabilities(&c, 1); /* logits and probabilities side by side */
    for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++) {
        gnti_combined made = { 0 };
        float *again = NULL;
        double sum = 0.0;

        c.config.how = hows[i];
        gnt_assert_ok(gnti_combine_members(c.votes, c.num, c.data, &c.config, &made));
        assert_false(made.fell_back);
        assert_int_equal(made.how, hows[i]);
        assert_true(made.valid_metric >= made.best_valid_metric);
        assert_true(made.temperature > 0.05 && made.temperature < 20.0);
        for (int32_t m = 0; m < c.num; m++) {
            sum += made.weight[m];
            assert_true((made.weight[m] > 0.0) == (made.why[m] == NULL));
        }
        assert_true(fabs(sum - 1.0) < 1e-12);
        const gnti_combine_rule rule = {
            .how = made.how, .kind = GNT_LABELS_CLASS, .weight = made.weight, .temperature = made.temperature
        };
        const float *values[] = { c.votes[0].values, c.votes[1].values, c.votes[2].values };

        gnt_assert_ok(gnti_alloc_array(&again, 900 * 4));
        gnt_assert_ok(
            gnti_combine_apply(&rule, values, (const bool[]){ true, false, true }, 3, 900, 4, again));
        gnt_assert_same_bits(made.probabilities, again, 900 * 4);
        gnti_free(again);
        gnti_combined_free(&made, c.num);
    }
    votes_case_free(&c);
}

/* A method's weights take the place of equal ones; they need not sum to 1. */
static void methods_may_bring_their_weights(void **state)
{
    (void)state;
    votes_case c;
    gnti_combined made = { 0 };
    const double prior[] = { 0.0, 3.0, 1.0 }, none[] = { 0.0, 0.0, 0.0 },
                 broken[] = { 1.0, (double)NAN, 1.0 };

    votes_case_make(&c, GNT_LABELS_CLASS, 900, 4, 300, three, 3, 5);
    c.config.prior = prior;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    if (made.fell_back)
        fail_msg("the case does not show weights");
    assert_true(made.weight[0] <= 0.0 && fabs(made.weight[1] - 0.75) < 1e-12 &&
                fabs(made.weight[2] - 0.25) < 1e-12);
    assert_non_null(strstr(made.why[0], "no weight"));
    gnti_combined_free(&made, 3);
    c.config.prior = none;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_ARG);
    c.config.prior = broken;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_ARG);
    gnt_assert_error_has("'m01'");
    votes_case_free(&c);
}

static double quality_of(const votes_case *c, const gnti_panel *panel, const double *weight)
{
    const int64_t width = panel->num_classes;
    float *mean = NULL;
    double quality;

    gnt_assert_ok(gnti_alloc_array(&mean, panel->num_nodes * width));
    for (int64_t i = 0; i < panel->num_nodes; i++)
        for (int64_t k = 0; k < width; k++) {
            double sum = 0.0;

            for (int32_t m = 0; m < c->num; m++)
                sum += weight[m] * (double)c->votes[m].values[panel->nodes[i] * width + k];
            mean[i * width + k] = (float)sum;
        }
    quality = gnti_panel_metric(panel, GNTI_METRIC_ACCURACY, mean);
    gnti_free(mean);
    return quality;
}

/* The least step of 1/50 from equal weights towards these that is not worse than the best member. */
static void least_step(const votes_case *c, const gnti_panel *panel, const double *greedy, double best,
                       double *weight)
{
    for (int step = 0; step <= 50; step++) {
        for (int32_t m = 0; m < c->num; m++)
            weight[m] = (1.0 - step / 50.0) / c->num + step / 50.0 * greedy[m];
        if (quality_of(c, panel, weight) >= best)
            return;
    }
    weight[0] = 10.0; /* none: the least wide of all */
}

static double width_of(const double *weight, int32_t num)
{
    double sum = 0.0;

    for (int32_t m = 0; m < num; m++)
        sum += weight[m] * weight[m];
    return 1.0 / sum;
}

/* Equal weights moved towards greedy selection from the s best, by the least step that is enough, and of all s the widest. */
static void check_least_step(votes_case *c, const gnti_combined *made)
{
    gnti_panel panel;
    const gnti_split *split = NULL;
    float *values[8] = { NULL };
    double greedy[8], weight[8], widest[8] = { 10.0 };

    for (int32_t m = 0; m < c->num; m++)
        votes_case_to_probabilities(c, m);
    gnt_assert_ok(gnti_dataset_find_split(c->data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(c->data, split, GNTI_VALID, &panel));
    for (int32_t m = 0; m < c->num; m++) {
        gnt_assert_ok(gnti_alloc_array(&values[m], panel.num_nodes * panel.num_classes));
        gnti_panel_gather(&panel, c->votes[m].values, values[m]);
    }
    for (int32_t start = 1; start <= c->num; start++) {
        gnt_assert_ok(gnti_select_greedy(&panel, &(gnti_greedy){ GNTI_METRIC_ACCURACY, start, 50 },
                                         (const float *const *)values, c->num, greedy, NULL));
        least_step(c, &panel, greedy, made->best_valid_metric, weight);
        if (width_of(weight, c->num) > width_of(widest, c->num) + 1e-12)
            memcpy(widest, weight, sizeof widest);
    }
    assert_true(width_of(widest, c->num) < c->num - 1e-6 && width_of(widest, c->num) >= 1.0 - 1e-12);
    for (int32_t m = 0; m < c->num; m++) {
        assert_true(fabs(made->weight[m] - widest[m]) < 1e-12);
        assert_true((made->weight[m] > 0.0) == (made->why[m] == NULL));
        gnti_free(values[m]);
    }
    gnti_panel_free(&panel);
}

/* Four members see nothing but noise, one is good: their mean is worse than the good one. */
static void falls_back_by_the_least_step(void **state)
{
    (void)state;
    const double skill[] = { 0.0, 0.0, 1.6, 0.0, 0.0 };
    votes_case c;
    gnti_combined made = { 0 };
    gnti_json *facts = NULL;

    votes_case_make(&c, GNT_LABELS_CLASS, 800, 5, 300, skill, 5, 11);
    gnt_assert_ok(gnti_combine_members(c.votes, c.num, c.data, &c.config, &made));
    assert_true(made.fell_back);
    assert_int_equal(made.best_member, 2);
    assert_int_equal(made.how, GNTI_COMBINE_MEAN);
    check_least_step(&c, &made);
    assert_non_null(strstr(made.remark, "'m02' alone"));
    assert_true(made.valid_metric < made.best_valid_metric);
    gnt_assert_ok(gnti_json_create_object(&facts));
    gnt_assert_ok(gnti_combine_facts(c.votes, c.num, c.data, &c.config, &made, facts));
    assert_true(fact(facts, "ensemble", "valid_metric") >= made.best_valid_metric);
    gnti_json_free(&facts);
    gnti_combined_free(&made, c.num);

    /* the same members, but selection finds the good one by itself */
    c.config.how = GNTI_COMBINE_GREEDY;
    gnt_assert_ok(gnti_combine_members(c.votes, c.num, c.data, &c.config, &made));
    assert_false(made.fell_back);
    assert_true(made.weight[2] > 0.5);
    gnti_combined_free(&made, c.num);
    votes_case_free(&c);
}

static int32_t count_used(const votes_case *c, const gnti_combined *made)
{
    int32_t num = 0;
    double sum = 0.0;

    for (int32_t m = 0; m < c->num; m++) {
        num += made->weight[m] > 0.0;
        sum += made->weight[m];
    }
    assert_true(fabs(sum - 1.0) < 1e-12);
    return num;
}

/* Whatever the draw, no combination is written that validation ranks below the best member. */
static void never_worse_than_the_best_member(void **state)
{
    (void)state;
    const double apart[] = { 0.4, 0.9, 0.2, 0.7 }, alike[] = { 0.9, 1.0, 0.1, 1.0 };
    int fell_back = 0, several = 0;

    for (uint64_t seed = 1; seed <= 24; seed++) {
        votes_case c;
        gnti_combined made = { 0 };
        gnti_json *facts = NULL;

        votes_case_make(&c, seed % 3 == 0 ? GNT_LABELS_MULTI : GNT_LABELS_CLASS, 300, 3, 60,
                        seed % 2 == 0 ? apart : alike, 4, seed);
        c.config.how = (gnti_combine)(seed % 5);
        gnt_assert_ok(gnti_combine_members(c.votes, c.num, c.data, &c.config, &made));
        gnt_assert_ok(gnti_json_create_object(&facts));
        gnt_assert_ok(gnti_combine_facts(c.votes, c.num, c.data, &c.config, &made, facts));
        assert_true(fact(facts, "ensemble", "valid_metric") >= made.best_valid_metric);
        fell_back += made.fell_back;
        several += made.fell_back && count_used(&c, &made) > 1;
        gnti_json_free(&facts);
        gnti_combined_free(&made, c.num);
        votes_case_free(&c);
    }
    assert_true(fell_back > 0 && fell_back < 24);
    assert_true(several > 0);
}

static void turn_test_labels(votes_case *c, int64_t first_test)
{
    for (int64_t i = first_test; i < c->data->num_nodes; i++) {
        if (c->data->y.kind == GNT_LABELS_CLASS)
            c->data->y.class_of[i] = (c->data->y.class_of[i] + 1) % 3;
        for (int64_t k = 0; k < 3 && c->data->y.kind != GNT_LABELS_CLASS; k++)
            c->data->y.rows[i * 3 + k] = 1.0f - c->data->y.rows[i * 3 + k];
    }
}

static void compare_with_turned_labels(gnt_label_kind kind, gnti_combine how)
{
    votes_case c, other;
    gnti_combined a = { 0 }, b = { 0 };

    votes_case_make(&c, kind, 500, 3, 120, three, 3, 21);
    votes_case_make(&other, kind, 500, 3, 120, three, 3, 21);
    turn_test_labels(&other, 122);
    c.config.how = other.config.how = how;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &a));
    gnt_assert_ok(gnti_combine_members(other.votes, 3, other.data, &other.config, &b));
    assert_memory_equal(a.weight, b.weight, 3 * sizeof(double));
    assert_memory_equal(&a.temperature, &b.temperature, sizeof(double));
    assert_int_equal(a.fell_back, b.fell_back);
    assert_int_equal(a.best_member, b.best_member);
    gnt_assert_same_bits(a.probabilities, b.probabilities, 500 * 3);
    gnti_combined_free(&a, 3);
    gnti_combined_free(&b, 3);
    votes_case_free(&c);
    votes_case_free(&other);
}

/* Labels of test rows turned by one place: no weight, temperature or prediction changes a bit. */
static void test_labels_decide_nothing(void **state)
{
    (void)state;
    for (int how = GNTI_COMBINE_MEAN; how <= GNTI_COMBINE_GREEDY; how++) {
        compare_with_turned_labels(GNT_LABELS_CLASS, (gnti_combine)how);
        compare_with_turned_labels(GNT_LABELS_MULTI, (gnti_combine)how);
        if (how != GNTI_COMBINE_VOTE)
            compare_with_turned_labels(GNT_LABELS_REGRESSION, (gnti_combine)how);
    }
}

/* From 2000 validation rows on, labels of the calibrating half move no weight. */
static void halves_of_validation_select_and_calibrate(void **state)
{
    (void)state;
    votes_case c;
    gnti_combined made = { 0 }, other = { 0 };
    double weight[3], temperature;

    votes_case_make(&c, GNT_LABELS_CLASS, 2600, 3, 2400, three, 3, 31);
    c.config.how = GNTI_COMBINE_WEIGHTED;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    memcpy(weight, made.weight, sizeof weight);
    temperature = made.temperature;
    gnti_combined_free(&made, 3);
    int moved_weight = 0, moved_temperature = 0;

    for (int64_t i = 2; i < 42; i++) {
        const int32_t truth = c.data->y.class_of[i];

        c.data->y.class_of[i] = (truth + 1) % 3;
        gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &other));
        c.data->y.class_of[i] = truth;
        const bool w = memcmp(weight, other.weight, sizeof weight) != 0;
        const bool t = memcmp(&temperature, &other.temperature, sizeof temperature) != 0;

        moved_weight += w;
        moved_temperature += t && !w;
        gnti_combined_free(&other, 3);
    }
    assert_true(moved_weight > 8 &&
                moved_temperature > 8); /* a weight that moves also moves what is calibrated */
    assert_true(moved_weight + moved_temperature == 40);
    votes_case_free(&c);
}

/* The cross-fit of a weighted mean, written out: each of five folds is combined by weights of the other four. */
static void small_validation_sets_are_fitted_across(void **state)
{
    (void)state;
    enum { VALID = 100, FOLDS = 5 };
    votes_case c;
    gnti_combined made = { 0 };
    gnti_panel p;
    const gnti_split *split = NULL;
    uint64_t draws[VALID];
    float values[3][VALID * 3], logits[VALID * 3] = { 0 };

    votes_case_make(&c, GNT_LABELS_CLASS, 160, 3, VALID, three, 3, 35);
    for (int32_t m = 0; m < 3; m++)
        votes_case_to_probabilities(&c, m);
    c.config.how = GNTI_COMBINE_WEIGHTED;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    assert_false(made.fell_back);
    gnt_assert_ok(gnti_dataset_find_split(c.data, NULL, &split));
    gnt_assert_ok(gnti_panel_create(c.data, split, GNTI_VALID, &p));
    for (int32_t m = 0; m < 3; m++)
        gnti_panel_gather(&p, c.votes[m].values, values[m]);
    for (int64_t i = 0; i < VALID; i++) {
        uint32_t words[4];

        gnti_draw_quad(gnti_seed_key(c.config.seed), GNTI_DRAW_SPLIT, 1, 0, p.nodes[i], 0, words);
        draws[i] = (uint64_t)words[0] << 32 | words[1];
    }
    for (int64_t i = 0; i < VALID; i++) {
        int64_t place = 0, rows[VALID];
        gnti_panel others = p;
        double quality[3], weight[3], guess;

        for (int64_t k = 0; k < VALID; k++)
            place += draws[k] < draws[i];
        others.rows = rows;
        others.num_rows = 0;
        for (int64_t k = 0; k < VALID; k++) {
            int64_t other = 0;

            for (int64_t l = 0; l < VALID; l++)
                other += draws[l] < draws[k];
            if (other % FOLDS != place % FOLDS)
                rows[others.num_rows++] = k;
        }
        for (int32_t m = 0; m < 3; m++)
            quality[m] = gnti_panel_metric(&others, GNTI_METRIC_ACCURACY, values[m]);
        gnti_select_weighted(&others, GNTI_METRIC_ACCURACY, quality, 3, weight, &guess);
        for (int64_t k = 3 * i; k < 3 * i + 3; k++)
            logits[k] = logf((float)(weight[0] * (double)values[0][k] + weight[1] * (double)values[1][k] +
                                     weight[2] * (double)values[2][k]));
    }
    assert_true(fabs(gnti_temperature_fit(&p, logits) - made.temperature) < 1e-5);
    gnti_panel_free(&p);
    gnti_combined_free(&made, 3);
    votes_case_free(&c);
}

static void equal_order_of_nodes_has_equal_weights(void **state)
{
    (void)state;
    votes_case c, moved;
    gnti_combined a = { 0 }, b = { 0 };
    int64_t rank[400];
    gnt_dataset *permuted = NULL;

    votes_case_make(&c, GNT_LABELS_CLASS, 400, 3, 150, three, 3, 41);
    votes_case_make(&moved, GNT_LABELS_CLASS, 400, 3, 150, three, 3, 41);
    for (int64_t i = 0; i < 400; i++)
        rank[i] = (i * 7 + 3) % 400;
    gnt_assert_ok(gnti_dataset_permute(moved.data, rank, &permuted));
    for (int32_t m = 0; m < 3; m++)
        for (int64_t i = 0; i < 400; i++)
            memcpy(votes_case_values(&moved, m) + rank[i] * 3, c.votes[m].values + i * 3, 3 * sizeof(float));
    c.config.how = GNTI_COMBINE_GREEDY;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &a));
    gnt_assert_ok(gnti_combine_members(moved.votes, 3, permuted, &c.config, &b));
    for (int32_t m = 0; m < 3; m++)
        assert_true(fabs(a.weight[m] - b.weight[m]) < 1e-12);
    assert_true(fabs(a.temperature - b.temperature) < 1e-9);
    gnti_combined_free(&a, 3);
    gnti_combined_free(&b, 3);
    gnt_dataset_free(&permuted);
    votes_case_free(&c);
    votes_case_free(&moved);
}

/* ---- regression ---- */

static void outputs_of_a_regression_are_averaged(void **state)
{
    (void)state;
    const double skill[] = { 1.0, 2.0, 1.5 };
    votes_case c;
    gnti_combined made = { 0 };
    gnti_json *facts = NULL;

    votes_case_make(&c, GNT_LABELS_REGRESSION, 300, 2, 100, skill, 3, 51);
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    assert_true(made.temperature >= 1.0 && made.temperature <= 1.0);
    assert_non_null(strstr(made.remark, "no temperature"));
    assert_int_equal(made.metric, GNTI_METRIC_MAE);
    if (!made.fell_back)
        for (int64_t i = 0; i < 600; i++) {
            const double mean =
                ((double)c.votes[0].values[i] + (double)c.votes[1].values[i] + (double)c.votes[2].values[i]) /
                3.0;

            assert_true(fabs((double)made.probabilities[i] - mean) < 1e-6);
        }
    gnt_assert_ok(gnti_json_create_object(&facts));
    gnt_assert_ok(gnti_combine_facts(c.votes, 3, c.data, &c.config, &made, facts));
    assert_true(fact(facts, "ensemble", "test_metric") <= fact(facts, "member_mean", "test_metric"));
    assert_true(isnan(fact(facts, "ensemble", "nll")));
    gnti_json_free(&facts);
    gnti_combined_free(&made, 3);
    c.config.how = GNTI_COMBINE_VOTE;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_USAGE);
    gnt_assert_error_has("regression", "vote");
    votes_case_free(&c);
}

/* ---- what is refused ---- */

static void broken_members_are_named(void **state)
{
    (void)state;
    votes_case c;
    gnti_combined made = { 0 };

    votes_case_make(&c, GNT_LABELS_CLASS, 60, 3, 20, three, 3, 61);
    votes_case_values(&c, 1)[50 * 3 + 2] = NAN;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_FORMAT);
    gnt_assert_error_has("'m01'", "'50'", "class 2", "nan");
    votes_case_values(&c, 1)[50 * 3 + 2] = INFINITY;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_FORMAT);
    votes_case_values(&c, 1)[50 * 3 + 2] = 0.0f;
    c.votes[2].are_logits = false;
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_FORMAT);
    gnt_assert_error_has("'m02'", "probabilit");
    c.votes[2].are_logits = true;
    const gnti_votes missing = { .name = c.votes[0].name };

    gnt_assert_status(gnti_combine_members(&missing, 1, c.data, &c.config, &made), GNT_ERR_FORMAT);
    gnt_assert_error_has("'m00'", "no predictions");
    c.config.split = "other";
    gnt_assert_status(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), GNT_ERR_USAGE);
    votes_case_free(&c);
}

static void few_rows_are_told_of(void **state)
{
    (void)state;
    votes_case c;
    gnti_combined made = { 0 };

    votes_case_make(&c, GNT_LABELS_CLASS, 60, 3, 8, three, 3, 71);
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    assert_true(made.temperature >= 1.0 && made.temperature <= 1.0);
    assert_non_null(strstr(made.remark, "fewer than 10"));
    gnti_combined_free(&made, 3);
    votes_case_free(&c);
    votes_case_make(&c, GNT_LABELS_CLASS, 160, 3, 100, three, 3, 71);
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    assert_non_null(strstr(made.remark, "100 validation rows"));
    gnti_combined_free(&made, 3);
    c.config.temperature = false;
    gnt_assert_ok(gnti_combine_members(c.votes, 3, c.data, &c.config, &made));
    assert_true(made.temperature >= 1.0 && made.temperature <= 1.0);
    assert_string_equal(made.remark, "");
    gnti_combined_free(&made, 3);
    votes_case_free(&c);
}

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    votes_case c;
    gnti_combined made = { 0 };
    gnti_json *facts = NULL;

    votes_case_make(&c, GNT_LABELS_CLASS, 60, 3, 20, three, 3, 81);
    c.config.how = GNTI_COMBINE_GREEDY;
    c.config.rounds = 3;
    GNT_BRUTAL_OUT(gnti_combine_members(c.votes, 3, c.data, &c.config, &made), made);
    gnt_assert_ok(gnti_json_create_object(&facts));
    gnt_assert_ok(gnti_combine_facts(c.votes, 3, c.data, &c.config, &made, facts));
    gnti_json_free(&facts);
    gnti_combined_free(&made, 3);
    votes_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_what_a_hand_gives),
        cmocka_unit_test(logits_of_members_are_made_probabilities),
        cmocka_unit_test(labels_and_outputs_have_rules_of_their_own),
        cmocka_unit_test(result_is_the_rule_with_its_weights),
        cmocka_unit_test(methods_may_bring_their_weights),
        cmocka_unit_test(falls_back_by_the_least_step),
        cmocka_unit_test(never_worse_than_the_best_member),
        cmocka_unit_test(test_labels_decide_nothing),
        cmocka_unit_test(halves_of_validation_select_and_calibrate),
        cmocka_unit_test(small_validation_sets_are_fitted_across),
        cmocka_unit_test(equal_order_of_nodes_has_equal_weights),
        cmocka_unit_test(outputs_of_a_regression_are_averaged),
        cmocka_unit_test(broken_members_are_named),
        cmocka_unit_test(few_rows_are_told_of),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
