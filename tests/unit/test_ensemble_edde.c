/* SPDX-License-Identifier: Apache-2.0 */
/* EDDE: sample weights and votes worked out by hand for six rows; the loss of a whole training against finite differences of its own
 * value, with weights by row, over all sources and over ranks. */
#include "tests/support/train_case.h"

#include "base/alloc.h"
#include "ensemble/edde.h"
#include "train/member.h"

#include <math.h>
#include <string.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g, want %.17g within %g", got, want, tolerance);
}

/* ---- by hand ---- */

/* Six rows, two classes. The first member is right in rows 0 to 3; rows 4 and 5 are wrong with p = (0.8, 0.2) and (0.4, 0.6). */
static const float first_p[12] = { 1, 0, 0.9f, 0.1f, 0, 1, 0.2f, 0.8f, 0.8f, 0.2f, 0.4f, 0.6f };
static const int32_t labels[6] = { 0, 0, 1, 1, 1, 0 };

static void test_first_round_by_hand(void **state)
{
    double weight[6], next[6], vote;
    /* Sim is 1. Bias of row 4: |(0.8, -0.8)| / sqrt 2 = 0.8; of row 5: |(-0.6, 0.6)| / sqrt 2 = 0.6 */
    const double e4 = exp(1.8), e5 = exp(1.6);

    (void)state;
    for (int i = 0; i < 6; i++)
        weight[i] = 1.0 / 6.0;
    gnti_edde_advance(
        &(gnti_edde_round){
            .num_rows = 6, .num_classes = 2, .p = first_p, .labels = labels, .weight = weight, .boost = 1.0 },
        next, &vote);
    /* each class keeps its half: rows 0, 1, 5 and rows 2, 3, 4 */
    assert_near(next[0], 0.5 / (2.0 + e5), 1e-7);
    assert_near(next[1], 0.5 / (2.0 + e5), 1e-7);
    assert_near(next[5], 0.5 * e5 / (2.0 + e5), 1e-7);
    assert_near(next[2], 0.5 / (2.0 + e4), 1e-7);
    assert_near(next[3], 0.5 / (2.0 + e4), 1e-7);
    assert_near(next[4], 0.5 * e4 / (2.0 + e4), 1e-7);
    assert_near(vote, 0.5 * log(4.0 / 2.0), 1e-12); /* Sim and W are the same in all rows */
}

static void test_second_round_by_hand(void **state)
{
    /* rows 0, 1 equal the mean before (Sim 1), row 2 is its opposite (Sim 0), 3: |(0.3, -0.3)| / sqrt 2 (Sim 0.7), 4 and 5 equal */
    const float p[12] = { 1, 0, 0.9f, 0.1f, 1, 0, 0.5f, 0.5f, 0.8f, 0.2f, 0.4f, 0.6f };
    const double weight[6] = { 0.1, 0.1, 0.2, 0.2, 0.3, 0.1 };
    double next[6], vote;
    /* wrong: 2 (Sim 0, Bias 1), 3 (a tie is the first class: Sim 0.7, Bias 0.5), 4 (1 + 0.8), 5 (1 + 0.6) */
    const double e[6] = { 1.0, 1.0, exp(1.0), exp(1.2), exp(1.8), exp(1.6) };

    (void)state;
    gnti_edde_advance(&(gnti_edde_round){ .num_rows = 6,
                                          .num_classes = 2,
                                          .p = p,
                                          .earlier = first_p,
                                          .labels = labels,
                                          .weight = weight,
                                          .boost = 1.0 },
                      next, &vote);
    for (int i = 0; i < 6; i++)
        assert_near(next[i], 0.5 * e[i] / (labels[i] == 0 ? e[0] + e[1] + e[5] : e[2] + e[3] + e[4]), 1e-7);
    /* right 0.1 + 0.1; wrong 0 + 0.7 0.2 + 0.3 + 0.1: ln of less than 1 is held at 0.05 */
    assert_near(vote, 0.05, 1e-12);
}

static void test_votes_are_held(void **state)
{
    const float right[4] = { 0.9f, 0.1f, 0.7f, 0.3f }, wrong[4] = { 0.1f, 0.9f, 0.3f, 0.7f };
    const int32_t y[2] = { 0, 0 };
    double weight[2] = { 0.5, 0.5 }, vote;
    gnti_edde_round r = {
        .num_rows = 2, .num_classes = 2, .p = right, .labels = y, .weight = weight, .boost = 1.0
    };

    (void)state;
    gnti_edde_advance(&r, weight, &vote); /* in place */
    assert_near(vote, 5.0, 0.0);
    assert_near(weight[0], 0.5, 1e-12);
    r.p = wrong;
    gnti_edde_advance(&r, weight, &vote);
    assert_near(vote, 0.05, 0.0);
    assert_true(weight[0] > weight[1]); /* further from the truth */
    assert_near(weight[0] + weight[1], 1.0, 1e-12);
}

/* Half the exponent: the square root of each factor before classes keep their share; none: all rows alike. */
static void test_boosting_by_hand(void **state)
{
    double weight[6], next[6], vote, half = exp(0.9);

    (void)state;
    for (int i = 0; i < 6; i++)
        weight[i] = 1.0 / 6.0;
    gnti_edde_round r = {
        .num_rows = 6, .num_classes = 2, .p = first_p, .labels = labels, .weight = weight, .boost = 0.5
    };
    gnti_edde_advance(&r, next, &vote);
    assert_near(next[4], 0.5 * half / (2.0 + half), 1e-7);
    assert_near(next[2], 0.5 / (2.0 + half), 1e-7);
    r.boost = 0.0;
    gnti_edde_advance(&r, next, &vote);
    for (int i = 0; i < 6; i++)
        assert_near(next[i], 1.0 / 6.0, 1e-12);
    assert_near(vote, 0.5 * log(4.0 / 2.0), 1e-12);
}

/* Eight rows: right in both places, wrong in both, and three ways to differ. */
static void test_what_is_remembered_by_hand(void **state)
{
    const uint8_t seen[8] = { 1, 1, 1, 1, 0, 1, 0, 1 }, unseen[8] = { 1, 0, 0, 1, 0, 0, 1, 1 };
    double gap, error;

    (void)state;
    /* differences 0 1 1 0 0 1 -1 0: mean 1/4, squares 4 - 8 / 16 = 3.5, error sqrt(3.5 / 56) = 1/4 */
    assert_false(gnti_edde_remembers(seen, unseen, 8, &gap, &error));
    assert_near(gap, 0.25, 1e-12);
    assert_near(error, 0.25, 1e-12);
    assert_true(gnti_edde_remembers(seen, unseen, 6, &gap, &error)); /* mean 1/2, error sqrt(1.5 / 30) */
    assert_near(gap, 0.5, 1e-12);
    assert_near(error, sqrt(0.05), 1e-12);
    assert_false(gnti_edde_remembers(unseen, seen, 6, &gap, &error));
    assert_false(gnti_edde_remembers(seen, seen, 8, &gap, &error)); /* no difference at all */
}

static void test_mean_and_layers(void **state)
{
    float mean[2] = { 0.0f, 0.0f };
    const float a[2] = { 1.0f, 0.0f }, b[2] = { 0.0f, 1.0f };

    (void)state;
    gnti_edde_mean_add(mean, 0.0, a, 3.0, 2);
    gnti_edde_mean_add(mean, 3.0, b, 1.0, 2);
    assert_near(mean[0], 0.75, 1e-7);
    assert_near(mean[1], 0.25, 1e-7);
    assert_int_equal(gnti_edde_layers(0.5, 2), 1);
    assert_int_equal(gnti_edde_layers(0.0, 3), 0);
    assert_int_equal(gnti_edde_layers(1.0, 3), 3);
}

/* ---- the loss in a training ---- */

enum { CELLS = TRAIN_CASE_NODES * TRAIN_CASE_CLASSES };

typedef struct edde_case {
    train_case c;
    float apart[CELLS], weight[TRAIN_CASE_NODES];
    gnti_member_options options;
} edde_case;

static void make(edde_case *e, double gain)
{
    train_case_arrays(&e->c, GNT_LABELS_CLASS, 4);
    e->c.text = "gcn:5:act=tanh, gcn";
    e->c.config.epochs = 3;
    e->c.config.optimizer = 2; /* sgd: the weights move by -lr times the gradient */
    e->c.config.lr = 0.01;
    e->c.config.chunks = 8;
    train_case_dataset(&e->c, "threads=1");
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        float sum = 0.0f;

        for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
            sum += e->apart[i * TRAIN_CASE_CLASSES + c] = (float)(1 + (i * 7 + c * 5) % 11);
        for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
            e->apart[i * TRAIN_CASE_CLASSES + c] /= sum;
        e->weight[i] = 0.5f + (float)(i % 4);
    }
    gnti_member_options_init(e->c.model, &e->c.config, 0, &e->options);
    e->options.weight = e->weight;
    e->options.apart = gain > 0.0 ? e->apart : NULL;
    e->options.apart_gain = gain;
}

static gnt_trainer *open(edde_case *e)
{
    gnt_trainer *tr = NULL;

    gnt_assert_ok(gnti_trainer_create_members(e->c.model, e->c.data, &e->c.config, &e->options, 1, &tr));
    return tr;
}

/* The loss with one weight changed by h. */
static double loss_at(edde_case *e, const gnti_member_state *from, int64_t k, float h)
{
    gnt_trainer *tr = open(e);
    double loss = NAN;
    const float was = from->weights[k];

    from->weights[k] = was + h;
    gnt_assert_ok(gnti_trainer_put_member(tr, 0, from));
    assert_int_equal(train_case_run(tr, 1, 0, &loss), 1);
    from->weights[k] = was;
    gnt_trainer_free(&tr);
    return loss;
}

static void test_gradient_by_differences(void **state)
{
    edde_case e;
    gnt_trainer *tr;
    gnti_member_state before = { 0 }, after = { 0 };
    gnt_epoch_stats s = { .struct_size = sizeof s };
    double largest = 0.0, worst = 0.0;

    (void)state;
    make(&e, 0.8);
    e.c.model_config.dropout = 0.0;
    tr = open(&e);
    gnt_assert_ok(gnti_trainer_take_member(tr, 0, &before));
    assert_true(gnt_trainer_next(tr, &s));
    gnt_assert_ok(gnti_trainer_take_member(tr, 0, &after));
    for (int64_t k = 0; k < before.num_floats; k++) {
        const double got = ((double)before.weights[k] - (double)after.weights[k]) / e.c.config.lr;
        const double h = 0x1p-9,
                     want =
                         (loss_at(&e, &before, k, (float)h) - loss_at(&e, &before, k, (float)-h)) / (2.0 * h);

        largest = fmax(largest, fabs(want));
        worst = fmax(worst, fabs(got - want));
    }
    if (!(worst <= 2e-3 * largest) || !(largest > 0.01))
        fail_msg("gradient is off by %.3g, its largest value is %.3g", worst, largest);
    gnt_trainer_free(&tr);
    gnti_member_state_free(&before);
    gnti_member_state_free(&after);
    train_case_free(&e.c);
}

static void run_on(double gain, int32_t source, const char *devices, float **weights, int64_t *num,
                   double *loss)
{
    edde_case e;
    gnt_trainer *tr;
    gnti_member_state s = { 0 };
    double losses[3];

    make(&e, gain);
    e.c.config.source = source;
    e.c.config.clusters = source == 1 ? 4 : 0;
    e.c.config.clusters_per_batch = source == 1 ? 4 : 1;
    e.c.config.devices = devices;
    e.c.config.chunks = devices != NULL ? 8 : 0;
    tr = open(&e);
    assert_int_equal(train_case_run(tr, 3, 0, losses), 3);
    gnt_assert_ok(gnti_trainer_take_member(tr, 0, &s));
    *weights = s.weights;
    *num = s.num_floats;
    *loss = losses[2];
    s.weights = NULL;
    gnti_member_state_free(&s);
    gnt_trainer_free(&tr);
    train_case_free(&e.c);
}

/* One batch of all clusters and rows spread over three ranks have the whole graph's result; without the term it is another one. */
static void test_sources_and_ranks(void **state)
{
    static const struct {
        double gain;
        int32_t source;
        const char *devices;
    } ways[] = { { 0.8, 0, NULL }, { 0.8, 1, NULL }, { 0.8, 0, "3" }, { 0.0, 0, NULL } };
    float *weights[4];
    double loss[4];
    int64_t num = 0;

    (void)state;
    for (int i = 0; i < 4; i++)
        run_on(ways[i].gain, ways[i].source, ways[i].devices, &weights[i], &num, &loss[i]);
    for (int i = 1; i < 3; i++) {
        gnt_assert_close(weights[i], weights[0], num, 1e-5, 0.0);
        assert_near(loss[i], loss[0], 1e-5);
    }
    assert_true(fabs(loss[3] - loss[0]) > 0.05);
    for (int i = 0; i < 4; i++)
        gnti_free(weights[i]);
}

static void test_refusals(void **state)
{
    edde_case e;
    gnt_trainer *tr = NULL;
    gnti_member_options two[2];

    (void)state;
    make(&e, 0.8);
    two[0] = two[1] = e.options;
    two[1].apart = NULL;
    gnt_assert_status(gnti_trainer_create_members(e.c.model, e.c.data, &e.c.config, two, 2, &tr),
                      GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("stay apart", "member 1 of 2");
    two[0].apart_gain = -1.0;
    gnt_assert_status(gnti_trainer_create_members(e.c.model, e.c.data, &e.c.config, two, 1, &tr),
                      GNT_ERR_USAGE);
    gnt_assert_error_has("-1");
    train_case_free(&e.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_round_by_hand),
        cmocka_unit_test(test_second_round_by_hand),
        cmocka_unit_test(test_votes_are_held),
        cmocka_unit_test(test_boosting_by_hand),
        cmocka_unit_test(test_what_is_remembered_by_hand),
        cmocka_unit_test(test_mean_and_layers),
        cmocka_unit_test(test_gradient_by_differences),
        cmocka_unit_test(test_sources_and_ranks),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
