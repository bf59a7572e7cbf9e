/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a trainer: what it refuses, a loss that is no number, schedules, statistics, stops, memory, one run a folder,
 * failing allocations.
 */
#include "tests/support/train_case.h"

#include "train/run_folder.h"
#include "train/trainer_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void assert_refused(train_case *c, gnt_status code, const char *word, const char *other)
{
    gnt_trainer *tr = NULL;

    gnt_assert_status(gnt_trainer_create(c->model, c->data, &c->config, &tr), code);
    gnt_assert_error_has(word, other);
    assert_null(tr);
}

static void test_refusals(void **state)
{
    train_case c;

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 8);
    for (int64_t i = 0; i < 24; i++)
        c.y_class[i] = -1;
    train_case_dataset(&c, NULL);
    assert_refused(&c, GNT_ERR_FORMAT, "24 nodes", "label");
    train_case_free(&c);

    train_case_arrays(&c, GNT_LABELS_CLASS, 8);
    c.arrays.num_valid = 0;
    train_case_dataset(&c, NULL);
    c.config.patience = 5;
    assert_refused(&c, GNT_ERR_USAGE, "patience", "validation");
    train_case_free(&c);

    train_case_make(&c, 8);
    c.config.metric = GNTI_METRIC_MAE;
    assert_refused(&c, GNT_ERR_USAGE, "'mae'", "class");
    c.config.metric = GNTI_METRIC_AUTO;
    c.config.weight_decay = "3:1";
    assert_refused(&c, GNT_ERR_USAGE, "'3'", "1 to 2");
    c.config.weight_decay = NULL;
    c.config.split = "no such";
    assert_refused(&c, GNT_ERR_USAGE, "no such", "split");
    c.config.split = NULL;
    c.config.deterministic = 3;
    assert_refused(&c, GNT_ERR_USAGE, "'bitwise'", "'run'");
    train_case_free(&c);
}

static void test_a_loss_that_is_no_number_names_its_place(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    float *weights = NULL;
    const gnti_param_info *info = NULL;

    (void)state;
    train_case_make(&c, 9);
    c.config.seeds = 3;
    c.config.seed = 70;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 4, 0, NULL), 4);
    gnt_assert_ok(gnti_alloc_array(&weights, gnti_params_num_floats(tr->lead->params)));
    gnt_assert_ok(gnti_params_read(tr->lead->params, GNTI_BLOCK_WEIGHTS, weights));
    info = gnti_params_info(tr->lead->params, 0);
    weights[info->offset + 1 * info->in * info->out] = INFINITY;
    gnt_assert_ok(gnti_params_write(tr->lead->params, GNTI_BLOCK_WEIGHTS, weights));
    assert_false(gnt_trainer_next(tr, &s));
    assert_int_equal(gnt_trainer_status(tr), GNT_ERR_NUMERIC);
    gnt_assert_error_has("epoch 5", "member 1", "seed 71", "not finite");
    assert_false(gnt_trainer_next(tr, &s));
    gnt_assert_status(gnt_trainer_finish(tr), GNT_ERR_STATE);
    gnti_free(weights);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

static void test_schedules_change_the_run(void **state)
{
    double constant[20], step[20];

    (void)state;
    for (int k = 0; k < 2; k++) {
        train_case c;
        gnt_trainer *tr = NULL;

        train_case_make(&c, 10);
        c.config.epochs = 20;
        if (k == 1) {
            c.config.schedule = GNTI_SCHEDULE_STEP;
            c.config.schedule_epochs = 10;
            c.config.schedule_factor = 0.0;
        }
        tr = train_case_trainer(&c);
        train_case_run(tr, 100, 0, k == 0 ? constant : step);
        gnt_trainer_free(&tr);
        train_case_free(&c);
    }
    assert_memory_equal(constant, step, 10 * sizeof(double));
    assert_true(constant[19] != step[19]);
}

static void test_stats_speak_of_live_members(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };

    (void)state;
    train_case_make(&c, 11);
    c.config.seeds = 2;
    c.config.eval_every = 3;
    c.config.epochs = 7;
    tr = train_case_trainer(&c);
    assert_int_equal(gnt_trainer_num_members(tr), 2);
    for (int64_t e = 1; e <= 7; e++) {
        assert_true(gnt_trainer_next(tr, &s));
        assert_int_equal(s.epoch, e);
        assert_int_equal(s.evaluated, e % 3 == 0 || e == 7);
        assert_int_equal(isnan(s.valid_metric), !s.evaluated);
        assert_true(s.train_loss == (s.member_train_loss[0] + s.member_train_loss[1]) / 2.0);
        assert_true(s.complete && s.num_live == 2 && s.seconds >= 0.0);
        assert_string_equal(s.metric, "accuracy");
    }
    assert_false(gnt_trainer_next(tr, &s));
    gnt_assert_ok(gnt_trainer_status(tr));
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

static void test_stop_without_a_folder(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };

    (void)state;
    train_case_make(&c, 12);
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 3, 0, NULL), 3);
    gnt_trainer_request_stop(tr);
    assert_false(gnt_trainer_next(tr, &s));
    assert_int_equal(gnt_trainer_status(tr), GNT_STOPPED);
    gnt_assert_error_has("epoch 3 of 40", "without a run folder");
    gnt_trainer_free(&tr);
    c.config.time_limit = 1e-9;
    tr = train_case_trainer(&c);
    assert_false(gnt_trainer_next(tr, &s));
    assert_int_equal(gnt_trainer_status(tr), GNT_STOPPED);
    gnt_assert_error_has("time limit");
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* An epoch after the first asks for no memory, with evaluation and metrics files; epochs with a checkpoint do. */
static void test_epochs_allocate_nothing(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnti_alloc_stats before, after;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    train_case_make(&c, 14);
    c.config.seeds = 2;
    c.config.metric = GNTI_METRIC_ROC_AUC;
    c.config.run = gnt_test_path(path, "no-alloc");
    c.config.checkpoint_every = 30;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
    gnti_alloc_get_stats(&before);
    assert_int_equal(train_case_run(tr, 25, 0, NULL), 25);
    gnti_alloc_get_stats(&after);
    assert_int_equal(after.num_calls, before.num_calls);
    assert_int_equal(train_case_run(tr, 5, 0, NULL), 5); /* epoch 30 saves */
    gnti_alloc_get_stats(&after);
    assert_true(after.num_calls > before.num_calls);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

static void test_a_folder_has_one_run_at_a_time(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL, *second = NULL;
    char path[GNT_TEST_PATH_BYTES], log[GNT_TEST_PATH_BYTES + 16], moved[GNT_TEST_PATH_BYTES + 16];

    (void)state;
    train_case_make(&c, 15);
    c.config.run = gnt_test_path(path, "locked");
    tr = train_case_trainer(&c);
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &second), GNT_ERR_USAGE);
    gnt_assert_error_has("locked", "in use");
    /* a log that was rotated, or deleted, frees nothing */
    snprintf(log, sizeof log, "%s/log.txt", c.config.run);
    snprintf(moved, sizeof moved, "%s/log.txt.1", c.config.run);
    for (int lines = 0; lines < 2; lines++) { /* without a log; with a new one */
        assert_int_equal(rename(log, moved), 0);
        assert_false(gnti_run_is_abandoned(c.config.run));
        gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &second), GNT_ERR_USAGE);
        gnt_assert_error_has("locked", "in use"); /* and it has made a log */
        assert_false(gnti_run_is_abandoned(c.config.run));
    }
    gnt_trainer_free(&tr);
    assert_true(gnti_run_is_abandoned(c.config.run));
    second = train_case_trainer(&c);
    gnt_trainer_free(&second);
    train_case_free(&c);
}

static void test_failing_allocations(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 13);
    c.config.weight_decay = "5e-4";
    c.config.normalize_features = 1;
    GNT_BRUTAL_OUT(gnt_trainer_create(c.model, c.data, &c.config, &tr), tr);
    assert_int_equal(train_case_run(tr, 3, 0, NULL), 3);
    gnt_trainer_free(&tr);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_loss_that_is_no_number_names_its_place),
        cmocka_unit_test(test_schedules_change_the_run),
        cmocka_unit_test(test_stats_speak_of_live_members),
        cmocka_unit_test(test_stop_without_a_folder),
        cmocka_unit_test(test_epochs_allocate_nothing),
        cmocka_unit_test(test_a_folder_has_one_run_at_a_time),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
