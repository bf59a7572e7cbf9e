/* SPDX-License-Identifier: Apache-2.0 */
/* Training end to end on a small dataset: it learns, members equal lone runs bit for bit, one cluster of everything is
 * full batch, early stopping freezes a member, inductive runs see no more than their nodes. */
#include "tests/support/train_case.h"

#include "train/trainer_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* All weights of a member, packed; the caller frees. */
static float *member_weights(gnt_trainer *tr, int32_t m, int64_t *count)
{
    float *all = NULL, *own = NULL;

    gnt_assert_ok(gnti_alloc_array(&all, gnti_params_num_floats(tr->lead->params)));
    gnt_assert_ok(gnti_alloc_array(&own, gnti_params_num_floats(tr->lead->params)));
    gnt_assert_ok(gnti_params_read(tr->lead->params, GNTI_BLOCK_WEIGHTS, all));
    *count = 0;
    for (int32_t i = 0; i < gnti_params_count(tr->lead->params); i++) {
        const gnti_param_info *info = gnti_params_info(tr->lead->params, i);
        const int64_t size = info->in * info->out;

        memcpy(own + *count, all + info->offset + m * size, (size_t)size * sizeof *own);
        *count += size;
    }
    gnti_free(all);
    return own;
}

static void assert_same_weights(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b)
{
    int64_t num_a = 0, num_b = 0;
    float *wa = member_weights(a, member_a, &num_a), *wb = member_weights(b, member_b, &num_b);

    assert_int_equal(num_a, num_b);
    gnt_assert_same_bits(wa, wb, num_a);
    gnti_free(wa);
    gnti_free(wb);
}

static void test_learns(void **state)
{
    const gnt_label_kind kinds[] = { GNT_LABELS_CLASS, GNT_LABELS_MULTI, GNT_LABELS_REGRESSION };
    const char *const metric[] = { "accuracy", "micro-f1", "mae" };

    (void)state;
    for (int k = 0; k < 3; k++) {
        train_case c;
        gnt_trainer *tr = NULL;
        double losses[80];
        int64_t done = 0;

        train_case_arrays(&c, kinds[k], 1);
        c.config.epochs = 80;
        c.model_config.dropout = 0.0;
        train_case_dataset(&c, NULL);
        tr = train_case_trainer(&c);
        done = train_case_run(tr, 1000, 0, losses);
        gnt_assert_ok(gnt_trainer_status(tr));
        assert_int_equal(done, 80);
        assert_true(losses[79] < 0.6 * losses[0]);
        assert_true(isnan(gnt_trainer_test_metric(tr, 0)));
        gnt_assert_ok(gnt_trainer_finish(tr));
        assert_string_equal(gnti_metric_name(tr->metric), metric[k]);
        if (k < 2) /* the second label of a node is chance */
            assert_true(gnt_trainer_test_metric(tr, 0) > (k == 0 ? 0.75 : 0.6));
        else
            assert_true(gnt_trainer_test_metric(tr, 0) < 0.5);
        gnt_trainer_free(&tr);
        train_case_free(&c);
    }
}

static void test_members_equal_lone_runs(void **state)
{
    const char *const texts[] = { "gcn:8, gcn", "gcn:8:norm=batch, gcn:5:act=elu, linear" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        train_case c;
        gnt_trainer *all = NULL;

        train_case_arrays(&c, GNT_LABELS_CLASS, 2);
        c.text = texts[k];
        c.config.seed = 40;
        c.config.weight_decay = "1:5e-4";
        c.config.clip = 0.5;
        c.config.epochs = 12;
        train_case_dataset(&c, NULL);
        c.config.seeds = 3;
        all = train_case_trainer(&c);
        train_case_run(all, 1000, 0, NULL);
        gnt_assert_ok(gnt_trainer_finish(all));
        c.config.seeds = 1;
        for (int32_t m = 0; m < 3; m++) {
            gnt_trainer *lone = NULL;

            c.config.seed = 40 + m;
            lone = train_case_trainer(&c);
            train_case_run(lone, 1000, 0, NULL);
            gnt_assert_ok(gnt_trainer_finish(lone));
            assert_same_weights(all, m, lone, 0);
            assert_memory_equal(&all->members[m], &lone->members[0], sizeof(gnti_member));
            assert_true(gnt_trainer_test_metric(all, m) == gnt_trainer_test_metric(lone, 0));
            gnt_trainer_free(&lone);
        }
        gnt_trainer_free(&all);
        train_case_free(&c);
    }
}

static void test_one_cluster_of_everything_is_full_batch(void **state)
{
    train_case c;
    gnt_trainer *full = NULL, *clusters = NULL;
    double a[15], b[15];

    (void)state;
    train_case_make(&c, 3);
    c.config.epochs = 15;
    full = train_case_trainer(&c);
    train_case_run(full, 100, 0, a);
    c.config.source = GNTI_SOURCE_WORD_CLUSTERS;
    c.config.clusters = c.config.clusters_per_batch = 5;
    clusters = train_case_trainer(&c);
    train_case_run(clusters, 100, 0, b);
    assert_memory_equal(a, b, sizeof a);
    assert_same_weights(full, 0, clusters, 0);
    gnt_trainer_free(&full);
    gnt_trainer_free(&clusters);
    train_case_free(&c);
}

static void test_clusters_learn(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 3);
    c.config.source = GNTI_SOURCE_WORD_CLUSTERS;
    c.config.clusters = 4;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 40);
    assert_int_equal(tr->step, 160);
    gnt_assert_ok(gnt_trainer_finish(tr));
    assert_true(gnt_trainer_test_metric(tr, 0) > 0.75);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* Two members of which one stops early: it keeps weights, values and epoch; the other goes on as if alone. */
static void test_early_stop_freezes_a_member(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL, *lone = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    float *frozen = NULL, *later = NULL;
    int64_t num = 0, stopped_at = 0, epochs = 0;
    int32_t first = -1;

    (void)state;
    train_case_make(&c, 4);
    c.config.epochs = 300;
    c.config.patience = 6;
    c.config.seeds = 4;
    tr = train_case_trainer(&c);
    while (gnt_trainer_next(tr, &s)) {
        epochs++;
        for (int32_t m = 0; m < 4 && first < 0; m++)
            if (tr->members[m].live == 0.0) {
                first = m;
                stopped_at = s.epoch;
                frozen = member_weights(tr, m, &num);
            }
    }
    assert_true(first >= 0 && epochs < 300 && epochs > stopped_at);
    assert_int_equal(s.num_live, 0);
    later = member_weights(tr, first, &num);
    gnt_assert_same_bits(later, frozen, num);
    assert_true(tr->members[first].last_epoch == (double)stopped_at);
    assert_true(tr->members[first].best_epoch == (double)(stopped_at - 6));
    gnt_assert_ok(gnt_trainer_finish(tr));
    c.config.seeds = 1;
    for (int32_t m = 0; m < 4; m++) {
        c.config.seed = m;
        lone = train_case_trainer(&c);
        train_case_run(lone, 1000, 0, NULL);
        gnt_assert_ok(gnt_trainer_finish(lone));
        assert_same_weights(tr, m, lone, 0);
        assert_true(gnt_trainer_test_metric(tr, m) == gnt_trainer_test_metric(lone, 0));
        gnt_trainer_free(&lone);
    }
    gnti_free(frozen);
    gnti_free(later);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* Test values come from the best epoch's weights, not from the last ones. */
static void test_best_weights_are_those_of_the_best_epoch(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL, *until = NULL;
    int64_t best = 0;

    (void)state;
    train_case_make(&c, 5);
    c.config.epochs = 60;
    tr = train_case_trainer(&c);
    train_case_run(tr, 100, 0, NULL);
    best = (int64_t)tr->members[0].best_epoch;
    assert_true(best > 0 && best < 60);
    gnt_assert_ok(gnt_trainer_finish(tr));
    c.config.epochs = best;
    until = train_case_trainer(&c);
    train_case_run(until, 100, 0, NULL);
    gnt_assert_ok(gnti_params_use_best(tr->lead->params, true));
    assert_same_weights(tr, 0, until, 0);
    gnt_assert_ok(gnti_params_use_best(tr->lead->params, false));
    gnt_trainer_free(&tr);
    gnt_trainer_free(&until);
    train_case_free(&c);
}

/* Training of an inductive split must not change when arcs and features outside the training nodes do. */
static void test_inductive_ignores_the_rest_of_the_graph(void **state)
{
    double a[10], b[10], c_losses[10];

    (void)state;
    for (int round = 0; round < 3; round++) {
        train_case c;
        gnt_trainer *tr = NULL;

        train_case_arrays(&c, GNT_LABELS_CLASS, 6);
        c.model_config.dropout = 0.0;
        for (int64_t i = 24 * TRAIN_CASE_FEATURES; round > 0 && i < TRAIN_CASE_NODES * TRAIN_CASE_FEATURES;
             i++)
            c.x[i] *= 3.0f;
        train_case_dataset(&c, NULL);
        c.data->splits[0].inductive = round < 2;
        c.config.epochs = 10;
        tr = train_case_trainer(&c);
        train_case_run(tr, 100, 0, round == 0 ? a : round == 1 ? b : c_losses);
        gnt_assert_ok(gnt_trainer_finish(tr));
        gnt_trainer_free(&tr);
        train_case_free(&c);
    }
    assert_memory_equal(a, b, sizeof a);
    assert_true(b[9] != c_losses[9]); /* the transductive run does see them */
}

static void test_unlabelled_and_weighted_nodes(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 7);
    c.config.class_weights = "0,2,0.5";
    tr = train_case_trainer(&c);
    assert_int_equal(tr->prepared.num_train, 23); /* node 0 has no label */
    assert_true(tr->prepared.weight[0] == 0.0f && tr->prepared.weight[3] == 0.0f);
    assert_true(tr->prepared.weight[1] == 2.0f && tr->prepared.weight[2] == 0.5f);
    assert_true(tr->prepared.weight[40] == 0.0f);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_members_equal_lone_runs),
        cmocka_unit_test(test_one_cluster_of_everything_is_full_batch),
        cmocka_unit_test(test_clusters_learn),
        cmocka_unit_test(test_early_stop_freezes_a_member),
        cmocka_unit_test(test_best_weights_are_those_of_the_best_epoch),
        cmocka_unit_test(test_inductive_ignores_the_rest_of_the_graph),
        cmocka_unit_test(test_unlabelled_and_weighted_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
