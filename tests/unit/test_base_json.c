/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: order kept, numbers shortest, NaN as null, errors with source, line and column. */
#include "tests/support/gnt_test.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

static gnt_status build(gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL, *child = NULL, *list = NULL;
    const double numbers[] = { 0.1, 2.0, (double)NAN };
    const int64_t ints[] = { 1, INT64_MAX };

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_int(root, "epoch", 3));
    GNT_TRY(gnti_json_set_number(root, "loss", 1.5));
    GNT_TRY(gnti_json_set_number(root, "bad", (double)INFINITY));
    GNT_TRY(gnti_json_set_text(root, "metric", "a \"quoted\"\n\xc3\xa9"));
    GNT_TRY(gnti_json_set_text(root, "none", NULL));
    GNT_TRY(gnti_json_set_bool(root, "done", true));
    GNT_TRY(gnti_json_set_numbers(root, "numbers", numbers, 3));
    GNT_TRY(gnti_json_set_ints(root, "ints", ints, 2));
    GNT_TRY(gnti_json_set_object(root, "child", &child));
    GNT_TRY(gnti_json_set_array(child, "list", &list));
    GNT_TRY(gnti_json_append_text(list, "x"));
    GNT_TRY(gnti_json_append_object(list, &child));
    GNT_TRY(gnti_json_set_int(child, "z", -1));
    GNT_TRY(gnti_json_append_array(list, &child));
    *out = root;
    root = NULL;
done:
    gnti_json_free(&root);
    return st;
}

static void prints_in_order(void **state)
{
    gnti_json *root = NULL;
    char *text = NULL;

    (void)state;
    gnt_assert_ok(build(&root));
    gnt_assert_ok(gnti_json_print(root, false, &text));
    assert_string_equal(
        text,
        "{\"epoch\":3,\"loss\":1.5,\"bad\":null,\"metric\":\"a \\\"quoted\\\"\\n\xc3\xa9\",\"none\":null,"
        "\"done\":true,\"numbers\":[0.1,2.0,null],\"ints\":[1,9223372036854775807],"
        "\"child\":{\"list\":[\"x\",{\"z\":-1},[]]}}");
    gnti_free(text);
    gnt_assert_ok(gnti_json_print(root, true, &text));
    assert_non_null(strstr(text, "{\n  \"epoch\": 3,\n"));
    assert_non_null(strstr(text, "  \"numbers\": [0.1, 2.0, null],\n"));
    assert_non_null(strstr(
        text,
        "    \"list\": [\n      \"x\",\n      {\n        \"z\": -1\n      },\n      []\n    ]\n  }\n}"));
    gnti_free(text);
    gnti_json_free(&root);
    assert_null(root);
}

static void reads_back(void **state)
{
    gnti_json *root = NULL, *again = NULL;
    char *text = NULL, *second = NULL;
    const char *word = NULL;
    double number = 0.0;
    int64_t whole = 0;
    bool flag = false;

    (void)state;
    gnt_assert_ok(build(&root));
    gnt_assert_ok(gnti_json_print(root, true, &text));
    gnt_assert_ok(gnti_json_parse(text, strlen(text), "memory", &again));
    gnt_assert_ok(gnti_json_print(again, true, &second));
    assert_string_equal(text, second);
    gnt_assert_ok(gnti_json_get_int(again, "epoch", &whole));
    assert_int_equal(whole, 3);
    gnt_assert_ok(gnti_json_get_number(again, "epoch", &number));
    assert_true(number == 3.0);
    gnt_assert_ok(gnti_json_get_number(again, "bad", &number));
    assert_true(isnan(number));
    gnt_assert_ok(gnti_json_get_text(again, "metric", &word));
    assert_memory_equal(word, "a \"quoted\"", 10);
    gnt_assert_ok(gnti_json_get_bool(again, "done", &flag));
    assert_true(flag);
    assert_int_equal(gnti_json_length(gnti_json_find(again, "numbers")), 3);
    assert_true(gnti_json_to_number(gnti_json_at(gnti_json_find(again, "numbers"), 0), &number) &&
                number == 0.1);
    assert_null(gnti_json_at(gnti_json_find(again, "numbers"), 3));
    assert_null(gnti_json_at(gnti_json_find(again, "numbers"), -1));
    assert_string_equal(gnti_json_key_at(again, 1), "loss");
    assert_null(gnti_json_key_at(again, 99));
    assert_null(gnti_json_find(again, "nothing"));
    gnt_assert_status(gnti_json_get_int(again, "loss", &whole), GNT_ERR_FORMAT);
    gnt_assert_error_has("loss", "whole number");
    gnt_assert_status(gnti_json_get_text(again, "missing", &word), GNT_ERR_FORMAT);
    gnti_free(text);
    gnti_free(second);
    gnti_json_free(&root);
    gnti_json_free(&again);
}

static void bad_text_is_refused(void **state)
{
    static const char *const bad[] = { "",
                                       "{",
                                       "{\"a\":1,}",
                                       "[1 2]",
                                       "{\"a\":1,\"a\":2}",
                                       "\xff",
                                       "{\"a\":1} x",
                                       "[1e999]",
                                       "[99999999999999999999]",
                                       "nan" };
    gnti_json *root = NULL;
    char *deep = NULL;
    const char *text = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gnt_assert_status(gnti_json_parse(bad[i], strlen(bad[i]), "m.json", &root), GNT_ERR_FORMAT);
        gnt_assert_error_has("'m.json' line");
    }
    gnt_assert_status(gnti_json_parse("{\n\"a\": 1,\n\"b\" 2}", 16, "m.json", &root), GNT_ERR_FORMAT);
    gnt_assert_error_has("'m.json' line 3");
    gnt_assert_ok(gnti_alloc_array(&deep, 100000));
    memset(deep, '[', 100000);
    gnt_assert_status(gnti_json_parse(deep, 100000, "deep", &root), GNT_ERR_FORMAT);
    gnti_free(deep);
    assert_null(root);
    gnt_assert_ok(gnti_json_create_object(&root));
    gnt_assert_ok(gnti_json_set_text(root, "bytes", "a\xff\xc3\xa9\xc3")); /* a file may have such a name */
    gnt_assert_ok(gnti_json_get_text(root, "bytes", &text));
    assert_string_equal(text, "a?\xc3\xa9?");
    gnt_assert_status(gnti_json_append_int(root, 1), GNT_ERR_ARG); /* not an array */
    gnti_json_free(&root);
}

static gnt_status whole_round(const char *path)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL, *again = NULL;

    GNT_TRY(build(&root));
    GNT_TRY(gnti_json_write(path, root));
    GNT_TRY(gnti_json_read(path, &again));
done:
    gnti_json_free(&root);
    gnti_json_free(&again);
    return st;
}

static void every_failing_allocation_is_survived(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    GNT_BRUTAL(whole_round(gnt_test_path(path, "x.json")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_in_order),
        cmocka_unit_test(reads_back),
        cmocka_unit_test(bad_text_is_refused),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
