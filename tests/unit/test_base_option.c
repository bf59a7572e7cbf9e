/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: defaults, strict values, nearest names, environment, YAML both ways, failing allocations. */
#include "tests/support/gnt_test.h"

#include "base/option.h"

#include <stdlib.h>
#include <string.h>

typedef struct config {
    bool fast;
    int64_t epochs, seed;
    float dropout;
    double rate;
    int32_t level;
    char *model, *name, *decay;
} config;

static const gnt_option table[] = {
    GNT_OPTION_GROUP("Model"),
    GNT_OPTION_TEXT("model", config, model, "gcn:16, gcn", "layers"),
    GNT_OPTION_TEXT("name", config, name, NULL, "of the run"),
    GNT_OPTION_FLOAT("dropout", config, dropout, 0.5, 0.0, 0.95, "share of values dropped"),
    GNT_OPTION_GROUP("Training"),
    GNT_OPTION_INT("epochs", config, epochs, 200, 1, 1000000, "number of epochs"),
    GNT_OPTION_INT("seed", config, seed, 1, 0, INT64_MAX, "of all random numbers"),
    GNT_OPTION_DOUBLE("learning-rate", config, rate, 0.01, 0.0, 10.0, "step size"),
    GNT_OPTION_LIST("weight-decay", config, decay, "1:5e-4", "by layer"),
    GNT_OPTION_WORD("deterministic", config, level, 1, "off|run|bitwise", "level"),
    GNT_OPTION_BOOL("fast", config, fast, false, "cut corners"),
    GNT_OPTION_END,
};
enum { NUM_ROWS = 11 };

static void defaults_come_from_the_table(void **state)
{
    config c;

    (void)state;
    assert_int_equal(gnti_options_count(table), NUM_ROWS);
    gnt_assert_ok(gnti_options_defaults(table, &c));
    assert_string_equal(c.model, "gcn:16, gcn");
    assert_null(c.name);
    assert_int_equal(c.epochs, 200);
    assert_int_equal(c.level, 1);
    assert_false(c.fast);
    assert_true(c.dropout == 0.5f && c.rate == 0.01);
    gnti_options_free_texts(table, &c);
    assert_null(c.model);
}

static void set(config *c, const char *name, const char *text, gnt_status want)
{
    const gnt_option *o = gnti_options_find(table, name);

    assert_non_null(o);
    gnt_assert_status(gnti_option_set(o, c, text), want);
}

static void values_are_strict(void **state)
{
    config c;

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &c));
    set(&c, "epochs", "12", GNT_OK);
    set(&c, "epochs", "0", GNT_ERR_USAGE);
    gnt_assert_error_has("epochs", "'0'", "1 to 1000000");
    set(&c, "epochs", "12x", GNT_ERR_USAGE);
    set(&c, "epochs", "", GNT_ERR_USAGE);
    set(&c, "epochs", "1e3", GNT_ERR_USAGE);
    assert_int_equal(c.epochs, 12);
    set(&c, "seed", "9223372036854775807", GNT_OK);
    assert_int_equal(c.seed, INT64_MAX);
    set(&c, "seed", "9223372036854775808", GNT_ERR_USAGE);
    set(&c, "seed", "-1", GNT_ERR_USAGE);
    set(&c, "dropout", "nan", GNT_ERR_USAGE);
    set(&c, "dropout", "0.96", GNT_ERR_USAGE);
    set(&c, "dropout", "0.25", GNT_OK);
    assert_true(c.dropout == 0.25f);
    set(&c, "learning_rate", "1e-3", GNT_OK);
    assert_true(c.rate == 1e-3);
    set(&c, "deterministic", "bitwise", GNT_OK);
    assert_int_equal(c.level, 2);
    set(&c, "deterministic", "bit", GNT_ERR_USAGE);
    gnt_assert_error_has("off|run|bitwise");
    set(&c, "fast", "yes", GNT_OK);
    assert_true(c.fast);
    set(&c, "fast", "maybe", GNT_ERR_USAGE);
    set(&c, "model", "", GNT_OK);
    assert_string_equal(c.model, "");
    gnti_options_free_texts(table, &c);
}

static void misspelt_names_are_answered(void **state)
{
    (void)state;
    assert_string_equal(gnti_options_nearest(table, "epoch"), "epochs");
    assert_string_equal(gnti_options_nearest(table, "ephocs"), "epochs");
    assert_string_equal(gnti_options_nearest(table, "wieght_decay"), "weight-decay");
    assert_string_equal(gnti_options_nearest(table, "droput"), "dropout");
    assert_null(gnti_options_nearest(table, "zzzzzz"));
    assert_null(gnti_options_find(table, "Model")); /* a heading */
    assert_null(gnti_options_find(table, "epoch"));
}

static void environment_is_read_and_named(void **state)
{
    config c;
    gnti_origin origin[NUM_ROWS] = { GNTI_ORIGIN_DEFAULT };

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &c));
    setenv("GNTTEST_WEIGHT_DECAY", "1e-3", 1);
    gnt_assert_ok(gnti_options_from_environment(table, &c, "GNTTEST", origin));
    assert_string_equal(c.decay, "1e-3");
    assert_int_equal(origin[8], GNTI_ORIGIN_ENVIRONMENT);
    assert_int_equal(origin[5], GNTI_ORIGIN_DEFAULT);
    setenv("GNTTEST_EPOCHS", "many", 1);
    gnt_assert_status(gnti_options_from_environment(table, &c, "GNTTEST", origin), GNT_ERR_USAGE);
    gnt_assert_error_has("GNTTEST_EPOCHS", "many");
    unsetenv("GNTTEST_EPOCHS");
    unsetenv("GNTTEST_WEIGHT_DECAY");
    gnti_options_free_texts(table, &c);
}

static gnt_status load(config *c, const char *text, gnti_origin *origin)
{
    char path[GNT_TEST_PATH_BYTES];

    gnt_test_write(path, "options.yaml", text, -1);
    return gnti_options_from_yaml(table, c, path, origin, GNTI_ORIGIN_CONFIG_FILE);
}

static void yaml_fills_what_it_names(void **state)
{
    config c;
    gnti_origin origin[NUM_ROWS] = { GNTI_ORIGIN_DEFAULT };

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &c));
    gnt_assert_ok(
        load(&c, "# a comment\nepochs: 7\nmodel: 'gcn:8, gcn'\nweight-decay: \"1:5e-4,2:0\"\n", origin));
    assert_int_equal(c.epochs, 7);
    assert_string_equal(c.model, "gcn:8, gcn");
    assert_string_equal(c.decay, "1:5e-4,2:0");
    assert_int_equal(origin[1], GNTI_ORIGIN_CONFIG_FILE);
    assert_int_equal(origin[6], GNTI_ORIGIN_DEFAULT);
    gnt_assert_ok(load(&c, "", NULL));
    gnt_assert_ok(load(&c, "---\n# nothing\n\n", NULL));
    assert_int_equal(c.epochs, 7);
    gnti_options_free_texts(table, &c);
}

static void yaml_errors_name_file_line_and_remedy(void **state)
{
    config c;

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &c));
    gnt_assert_status(load(&c, "model: x\n\nepoch: 3\n", NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("options.yaml", "line 3", "'epoch'", "'epochs'");
    gnt_assert_status(load(&c, "model: x\nepochs: -3\n", NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("options.yaml", "line 2", "'-3'");
    gnt_assert_status(load(&c, "epochs: 3\nseed: 1\nepochs: 4\n", NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("line 3", "line 1", "epochs");
    gnt_assert_status(load(&c, "epochs: [1, 2]\n", NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("options.yaml", "line 1, epochs", "plain value", "list");
    gnt_assert_status(load(&c, "model: x\n---\nepochs: 3\n", NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("second document");
    gnt_assert_status(load(&c, "- a\n- b\n", NULL), GNT_ERR_USAGE);
    gnt_assert_status(load(&c, "just words\n", NULL), GNT_ERR_USAGE);
    gnt_assert_status(load(&c, "model: \"open\nepochs: {", NULL), GNT_ERR_USAGE);
    gnt_assert_status(load(&c, "model: *anchor\n", NULL), GNT_ERR_USAGE);
    gnt_assert_status(load(&c, "? [a]\n: b\n", NULL), GNT_ERR_USAGE);
    gnt_assert_status(gnti_options_from_yaml(table, &c, "/nonexistent.yaml", NULL, GNTI_ORIGIN_CONFIG_FILE),
                      GNT_ERR_IO);
    gnt_assert_error_has("/nonexistent.yaml");
    gnti_options_free_texts(table, &c);
}

static void yaml_written_reads_back(void **state)
{
    config a, b;
    gnti_origin origin[NUM_ROWS] = { GNTI_ORIGIN_DEFAULT };
    char *text = NULL, *again = NULL;

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &a));
    gnt_assert_ok(gnti_options_defaults(table, &b));
    set(&a, "model", "a \"quoted\" \\ name: x # y", GNT_OK);
    set(&a, "learning-rate", "0.1", GNT_OK);
    set(&a, "seed", "9223372036854775807", GNT_OK);
    set(&a, "deterministic", "off", GNT_OK);
    set(&a, "weight-decay", "", GNT_OK);
    origin[5] = GNTI_ORIGIN_FLAG;
    gnt_assert_ok(gnti_options_to_yaml(table, &a, origin, &text));
    assert_non_null(strstr(text, "epochs: 200  # flag\n"));
    assert_non_null(strstr(text, "learning-rate: 0.1  # default\n"));
    gnt_assert_ok(load(&b, text, NULL));
    assert_string_equal(a.model, b.model);
    gnt_assert_ok(gnti_options_to_yaml(table, &b, origin, &again));
    assert_string_equal(text, again);
    gnti_free(text);
    gnti_free(again);
    gnti_options_free_texts(table, &a);
    gnti_options_free_texts(table, &b);
}

static gnt_status whole_round(const char *path)
{
    gnt_status st = GNT_OK;
    config c = { 0 };
    char *text = NULL;

    GNT_TRY(gnti_options_defaults(table, &c));
    GNT_TRY(gnti_options_from_yaml(table, &c, path, NULL, GNTI_ORIGIN_CONFIG_FILE));
    GNT_TRY(gnti_options_to_yaml(table, &c, NULL, &text));
done:
    gnti_free(text);
    gnti_options_free_texts(table, &c);
    return st;
}

static void every_failing_allocation_is_survived(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_write(path, "brutal.yaml", "epochs: 7\nmodel: 'gcn:8, gcn'\nfast: on\n", -1);
    GNT_BRUTAL(whole_round(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_come_from_the_table),
        cmocka_unit_test(values_are_strict),
        cmocka_unit_test(misspelt_names_are_answered),
        cmocka_unit_test(environment_is_read_and_named),
        cmocka_unit_test(yaml_fills_what_it_names),
        cmocka_unit_test(yaml_errors_name_file_line_and_remedy),
        cmocka_unit_test(yaml_written_reads_back),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
