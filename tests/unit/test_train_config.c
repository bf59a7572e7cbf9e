/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's option table, contradictions, decay rules, class weights. */
#include "tests/support/gnt_test.h"

#include <gnntrain/experimental.h>

#include "base/option.h"
#include "train/config.h"

#include <math.h>
#include <string.h>

static void test_defaults_equal_the_table(void **state)
{
    gnt_trainer_config c, by_table;

    (void)state;
    gnt_trainer_config_init(&c);
    memset(&by_table, 0, sizeof by_table);
    by_table.struct_size = sizeof by_table;
    gnt_assert_ok(gnti_options_defaults(gntx_trainer_options(), &by_table));
    assert_int_equal(c.epochs, 200);
    assert_true(c.lr == 0.01);
    for (const gnt_option *o = gntx_trainer_options(); o->kind != GNT_OPTION_KIND_END || o->offset != 0;
         o++) {
        char a[256], b[256];

        if (o->kind == GNT_OPTION_KIND_END)
            continue;
        gnt_assert_ok(gnti_option_get(o, &c, a, sizeof a));
        gnt_assert_ok(gnti_option_get(o, &by_table, b, sizeof b));
        assert_string_equal(a, b);
    }
    gnti_options_free_texts(gntx_trainer_options(), &by_table);
}

/* Every field but the size lies under exactly one row. */
static void test_each_field_has_a_row(void **state)
{
    unsigned char covered[sizeof(gnt_trainer_config)] = { 0 };
    const size_t bytes[] = {
        0, sizeof(bool), sizeof(int64_t), 0, sizeof(double), sizeof(int32_t), sizeof(char *), sizeof(char *)
    };

    (void)state;
    for (const gnt_option *o = gntx_trainer_options(); o->kind != GNT_OPTION_KIND_END || o->offset != 0; o++)
        for (size_t i = 0; i < bytes[o->kind]; i++) {
            assert_int_equal(covered[o->offset + i], 0);
            covered[o->offset + i] = 1;
        }
    for (size_t i = sizeof(size_t); i < sizeof covered; i++) {
        size_t gap = 0;

        for (; i < sizeof covered && !covered[i]; i++)
            gap++;
        assert_true(gap < 8); /* padding only; an uncovered int64_t, double or pointer would be 8 */
    }
}

typedef struct wrong {
    const char *name, *text, *other_name, *other_text, *message;
} wrong;

static void test_contradictions_are_refused(void **state)
{
    const wrong cases[] = {
        { "momentum", "0.5", NULL, NULL, "optimizer sgd" },
        { "nesterov", "true", NULL, NULL, "optimizer sgd" },
        { "beta1", "0.5", "optimizer", "sgd", "optimizer adam or adamw" },
        { "schedule-epochs", "10", NULL, NULL, "a schedule" },
        { "schedule-factor", "0.1", "schedule", "cosine", "schedule step or plateau" },
        { "warmup-epochs", "5", "schedule", "cosine", "warmup-cosine" },
        { "clusters", "5", NULL, NULL, "source clusters" },
        { "schedule", "plateau", NULL, NULL, "schedule-epochs" },
        { "source", "clusters", NULL, NULL, "at least clusters-per-batch" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gnt_trainer_config c, copy;
        const wrong *w = &cases[i];

        gnt_trainer_config_init(&c);
        gnt_assert_ok(gnti_option_set(gnti_options_find(gnti_trainer_table, w->name), &c, w->text));
        if (w->other_name != NULL)
            gnt_assert_ok(
                gnti_option_set(gnti_options_find(gnti_trainer_table, w->other_name), &c, w->other_text));
        gnt_assert_status(gnti_config_copy(&c, &copy), GNT_ERR_USAGE);
        gnt_assert_error_has(w->name, w->message);
    }
}

static void test_values_out_of_bounds(void **state)
{
    gnt_trainer_config c, copy;

    (void)state;
    gnt_trainer_config_init(&c);
    c.seeds = 0;
    gnt_assert_status(gnti_config_copy(&c, &copy), GNT_ERR_USAGE);
    gnt_assert_error_has("seeds", "0", "1 to 4096");
    gnt_trainer_config_init(&c);
    c.lr = NAN;
    gnt_assert_status(gnti_config_copy(&c, &copy), GNT_ERR_USAGE);
    gnt_trainer_config_init(&c);
    c.optimizer = 3;
    gnt_assert_status(gnti_config_copy(&c, &copy), GNT_ERR_USAGE);
    gnt_trainer_config_init(&c);
    c.struct_size = 4;
    gnt_assert_status(gnti_config_copy(&c, &copy), GNT_ERR_ARG);
}

static void test_copy_owns_its_texts(void **state)
{
    gnt_trainer_config c, copy = { 0 };
    char rules[] = "1:5e-4", split[] = "public";

    (void)state;
    gnt_trainer_config_init(&c);
    c.weight_decay = rules;
    c.split = split;
    c.run = "";
    GNT_BRUTAL_OUT(gnti_config_copy(&c, &copy), copy);
    rules[0] = split[0] = '9';
    assert_string_equal(copy.weight_decay, "1:5e-4");
    assert_string_equal(copy.split, "public");
    assert_null(copy.run);
    gnti_config_free(&copy);
    /* an older caller: the fields it does not know have their defaults */
    c.struct_size = offsetof(gnt_trainer_config, no_pass);
    c.no_pass = "not looked at";
    gnt_assert_ok(gnti_config_copy(&c, &copy));
    assert_null(copy.no_pass);
    gnti_config_free(&copy);
    gnt_assert_ok(gnti_config_copy(NULL, &copy));
    gnti_config_free(&copy);
}

static void test_loss_follows_the_labels(void **state)
{
    gnt_trainer_config c;
    gnt_loss_kind kind = GNT_LOSS_MSE;

    (void)state;
    gnt_trainer_config_init(&c);
    gnt_assert_ok(gnti_config_loss(&c, GNT_LABELS_CLASS, &kind));
    assert_int_equal(kind, GNT_LOSS_SOFTMAX);
    gnt_assert_ok(gnti_config_loss(&c, GNT_LABELS_MULTI, &kind));
    assert_int_equal(kind, GNT_LOSS_BCE);
    gnt_assert_ok(gnti_config_loss(&c, GNT_LABELS_REGRESSION, &kind));
    assert_int_equal(kind, GNT_LOSS_MSE);
    c.loss = GNTI_LOSS_BCE;
    gnt_assert_status(gnti_config_loss(&c, GNT_LABELS_CLASS, &kind), GNT_ERR_USAGE);
    gnt_assert_error_has("'bce'", "'softmax'");
    gnt_assert_status(gnti_config_loss(&c, GNT_LABELS_NONE, &kind), GNT_ERR_USAGE);
}

static void test_decay_rules(void **state)
{
    gnti_decay_rule *r = NULL;
    int32_t n = -1;
    const char *const bad[] = { "3:1e-4", "0:1", "1:wieght:1", "1:bias:2:3", "x",   "",
                                ",1",     "1:",  "-1",         "nan",        "1:-5" };

    (void)state;
    GNT_BRUTAL_OUT(gnti_decay_parse("1:5e-4, 2:bias:0.25 ,1e-3,2:norm:7", false, 2, &r, &n), r);
    assert_int_equal(n, 4);
    assert_true(r[0].layer == 1 && r[0].kind == -1 && r[0].value == 5e-4);
    assert_true(r[1].layer == 2 && r[1].kind == GNTI_PARAM_BIAS && r[1].value == 0.25);
    assert_true(r[2].layer == 0 && r[2].kind == -1 && r[2].value == 1e-3);
    assert_true(r[3].layer == 2 && r[3].kind == GNTI_PARAM_NORM && r[3].value == 7.0);
    gnti_free(r);
    gnt_assert_ok(gnti_decay_parse(NULL, true, 2, &r, &n));
    assert_true(n == 1 && r[0].layer == 0 && r[0].value == 0.01);
    gnti_free(r);
    gnt_assert_ok(gnti_decay_parse(NULL, false, 2, &r, &n));
    assert_int_equal(n, 0);
    gnti_free(r);
    r = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (bad[i][0] != 0) {
            gnt_assert_status(gnti_decay_parse(bad[i], false, 2, &r, &n), GNT_ERR_USAGE);
            gnt_assert_error_has("weight-decay");
        }
    gnt_assert_status(gnti_decay_parse("3:1e-4", false, 2, &r, &n), GNT_ERR_USAGE);
    gnt_assert_error_has("'3'", "1 to 2");
    assert_null(r);
}

static void test_class_weights(void **state)
{
    const int64_t counts[3] = { 6, 3, 0 };
    float w[3];

    (void)state;
    gnt_assert_ok(gnti_class_weights("none", counts, 3, w));
    assert_true(w[0] == 1.0f && w[1] == 1.0f && w[2] == 1.0f);
    gnt_assert_ok(gnti_class_weights("balanced", counts, 3, w));
    assert_true(w[0] == 0.5f && w[1] == 1.0f && w[2] == 0.0f);
    gnt_assert_ok(gnti_class_weights("1, 0.5,2", counts, 3, w));
    assert_true(w[0] == 1.0f && w[1] == 0.5f && w[2] == 2.0f);
    gnt_assert_status(gnti_class_weights("1,2", counts, 3, w), GNT_ERR_USAGE);
    gnt_assert_error_has("2 numbers", "3 classes");
    gnt_assert_status(gnti_class_weights("1,two,3", counts, 3, w), GNT_ERR_USAGE);
    gnt_assert_error_has("'two'");
    gnt_assert_status(gnti_class_weights("0,0,1", counts, 3, w), GNT_ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_equal_the_table),
        cmocka_unit_test(test_each_field_has_a_row),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_values_out_of_bounds),
        cmocka_unit_test(test_copy_owns_its_texts),
        cmocka_unit_test(test_loss_follows_the_labels),
        cmocka_unit_test(test_decay_rules),
        cmocka_unit_test(test_class_weights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
