/* SPDX-License-Identifier: Apache-2.0 */
/* What a program gets that hands over NULL: ERR_ARG with a text where a call can fail, nothing where it cannot, never a crash.
 */
#include "tests/support/train_case.h"

#include <gnntrain/experimental_ensemble.h>
#include <gnntrain/experimental_predict.h>

#include <math.h>

static void calls_that_can_fail_say_so(void **state)
{
    gntx_json *j = NULL;
    const gnt_status got[] = {
        gnt_context_create(NULL, NULL),
        gnt_context_load_plugin(NULL, NULL),
        gnt_dataset_open(NULL, NULL, NULL),
        gnt_dataset_from_arrays(NULL, NULL, NULL),
        gnt_dataset_save(NULL, NULL),
        gnt_model_create(NULL, NULL, NULL),
        gnt_trainer_create(NULL, NULL, NULL, NULL),
        gnt_trainer_status(NULL),
        gnt_trainer_finish(NULL),
        gnt_trainer_resize(NULL, NULL),
        gnt_layer_register(NULL, NULL),
        gnt_check_gradient(NULL, NULL, 0.01),
        gnt_log_set_levels(NULL),
        gntx_devices(NULL),
        gntx_devices_profile(NULL, NULL),
        gntx_run_facts(NULL, NULL),
        gntx_model_card(NULL, NULL),
        gntx_trainer_summary(NULL, NULL),
        gntx_trainer_explain(NULL, true, NULL),
        gntx_dataset_info(NULL, NULL),
        gntx_dataset_check(NULL, NULL),
        gntx_dataset_split(NULL, NULL, NULL, NULL),
        gntx_partition(NULL, NULL, NULL, NULL),
        gntx_eval(NULL, NULL, NULL, NULL, NULL),
        gntx_predict(NULL, NULL, NULL, NULL, NULL),
        gntx_predict_rows(NULL, NULL, NULL, NULL, NULL),
        gntx_trainer_predict(NULL, 0, false, NULL),
        gntx_ensemble_plan(NULL, NULL, NULL, NULL, NULL),
        gntx_ensemble_train(NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        gntx_ensemble_train(NULL, "spec.yaml", "g.h5", NULL, NULL, NULL, &j),
        gntx_ensemble_facts(NULL, NULL),
        gntx_ensemble_resize(NULL, NULL, 1.0, NULL),
        gntx_ensemble_combine(NULL, NULL, NULL, 0, NULL, NULL),
        gntx_ensemble_report(NULL, NULL, NULL, NULL),
        gntx_simulate(NULL, NULL, NULL, NULL),
    };

    (void)state;
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != GNT_ERR_ARG)
            fail_msg("call %zu answers %s, not ERR_ARG", i, gnt_status_name(got[i]));
    assert_null(j);
}

static void getters_and_frees_do_nothing(void **state)
{
    (void)state;
    gnt_context_free(NULL);
    gnt_dataset_free(NULL);
    gnt_model_free(NULL);
    gnt_trainer_free(NULL);
    gntx_json_free(NULL);
    gnt_trainer_request_stop(NULL);
    assert_false(gnt_trainer_next(NULL, NULL));
    assert_int_equal(gnt_trainer_num_members(NULL), 0);
    assert_true(isnan(gnt_trainer_test_metric(NULL, 0)));
    assert_int_equal(gnt_dataset_num_nodes(NULL), 0);
    assert_int_equal(gnt_dataset_num_arcs(NULL), 0);
    assert_int_equal(gnt_dataset_num_features(NULL), 0);
    assert_int_equal(gnt_dataset_num_classes(NULL), 0);
    assert_int_equal(gnt_dataset_label_kind(NULL), GNT_LABELS_NONE);
    assert_int_equal(gnt_model_num_layers(NULL), 0);
    assert_int_equal(gnt_model_num_parameters(NULL), 0);
}

/* Who does not want the figures of an epoch trains all the same. */
static void an_epoch_without_figures(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    int epochs = 0;

    (void)state;
    train_case_make(&c, 3);
    c.config.epochs = 4;
    tr = train_case_trainer(&c);
    while (gnt_trainer_next(tr, NULL))
        epochs++;
    assert_int_equal(epochs, 4);
    gnt_assert_ok(gnt_trainer_finish(tr));
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_can_fail_say_so),
        cmocka_unit_test(getters_and_frees_do_nothing),
        cmocka_unit_test(an_epoch_without_figures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
