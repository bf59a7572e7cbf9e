/* SPDX-License-Identifier: Apache-2.0 */
/* YAML trees: shapes, lines, places in errors, what is refused, option tables filled from maps, failing allocations. */
#include "tests/support/gnt_test.h"

#include "base/text.h"
#include "base/yaml.h"

#include <string.h>

typedef struct things {
    int64_t count;
    double share;
    int32_t word;
    char *name, *list;
    bool flag;
} things;

static const gnt_option table[] = {
    GNT_OPTION_GROUP("things"),
    GNT_OPTION_INT("num-things", things, count, 3, 1, 10, "how many"),
    GNT_OPTION_DOUBLE("share", things, share, 0.5, 0, 1, "of them"),
    GNT_OPTION_WORD("kind", things, word, 1, "red|green", "colour"),
    GNT_OPTION_TEXT("name", things, name, NULL, "text"),
    GNT_OPTION_LIST("rules", things, list, NULL, "texts"),
    GNT_OPTION_BOOL("flag", things, flag, false, "yes or no"),
    GNT_OPTION_END,
};

static gnt_status parse(const char *text, gnti_yaml **out)
{
    return gnti_yaml_parse(text, strlen(text), "e.yaml", out);
}

static void trees(void **state)
{
    gnti_yaml *doc = NULL;
    const gnti_yaml_node *root, *vary, *second;

    (void)state;
    gnt_assert_ok(parse("# head\nseed: 7\nvary:\n  - { key: dropout, values: [0.3, 'a b'] }\n  - key: lr\n"
                        "    low: 1e-3\nempty:\nquoted: ''\n",
                        &doc));
    root = gnti_yaml_root(doc);
    assert_int_equal(gnti_yaml_get_kind(root), GNTI_YAML_MAP);
    assert_int_equal(gnti_yaml_length(root), 4);
    assert_string_equal(gnti_yaml_key_at(root, 1), "vary");
    assert_null(gnti_yaml_key_at(root, 4));
    assert_null(gnti_yaml_find(root, "none"));
    assert_string_equal(gnti_yaml_get_text(gnti_yaml_find(root, "seed")), "7");
    vary = gnti_yaml_find(root, "vary");
    assert_int_equal(gnti_yaml_get_kind(vary), GNTI_YAML_LIST);
    assert_int_equal(gnti_yaml_line(vary), 3);
    assert_int_equal(gnti_yaml_length(vary), 2);
    assert_string_equal(gnti_yaml_get_text(gnti_yaml_at(gnti_yaml_find(gnti_yaml_at(vary, 0), "values"), 1)),
                        "a b");
    second = gnti_yaml_at(vary, 1);
    assert_int_equal(gnti_yaml_line(gnti_yaml_find(second, "low")), 6);
    assert_int_equal(gnti_yaml_get_kind(gnti_yaml_find(root, "empty")), GNTI_YAML_NOTHING);
    assert_int_equal(gnti_yaml_get_kind(gnti_yaml_find(root, "quoted")), GNTI_YAML_TEXT);
    gnt_assert_status(gnti_yaml_fail(gnti_yaml_find(second, "low"), GNT_ERR_FORMAT, "%d is odd", 5),
                      GNT_ERR_FORMAT);
    assert_string_equal(gnt_last_error(), "'e.yaml' line 6, vary[1].low: 5 is odd");
    gnti_yaml_free(&doc);
    assert_null(doc);
}

static void empty_ones(void **state)
{
    static const char *const texts[] = { "", "# nothing\n", "---\n", "--- # nothing\n...\n", "{}" };
    gnti_yaml *doc = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        gnt_assert_ok(parse(texts[i], &doc));
        assert_int_equal(gnti_yaml_get_kind(gnti_yaml_root(doc)), GNTI_YAML_MAP);
        assert_int_equal(gnti_yaml_length(gnti_yaml_root(doc)), 0);
        gnti_yaml_free(&doc);
    }
}

static void refused(void **state)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        { "a: 1\nb: 2\na: 3\n", "line 3, a: is set already in line 1" },
        { "x:\n  - c: {a_b: 1, a-b: 2}\n", "line 2, x[0].c.a-b: is set already" },
        { "a: 1\n---\nb: 1\n", "line 2: a second document" },
        { "---\n---\nb: 1\n", "a second document" },
        { "a: &x 1\n", "line 1: anchors" },
        { "a: 1\nb: *x\n", "line 2: anchors" },
        { "a: !int 1\n", "anchors, aliases and tags" },
        { "? [a, b]\n: 1\n", "a key must be a plain text" },
        { "~: 1\n", "an empty key" },
        { "a: [1, 2\nb: 3\n", "line 2" },
        { "a: \"x\n", "'e.yaml' line" },
        { "a: \"x\\0y\"\n", "a zero byte" },
        { "a:\tb\n\t- c\n", "line 2" },
        { "\xff\xfe\xfa", "e.yaml" },
        { "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", "more than 16 maps and lists" },
    };
    gnti_yaml *doc = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gnt_assert_status(parse(cases[i].text, &doc), GNT_ERR_FORMAT);
        gnt_assert_error_has(cases[i].word);
        assert_null(doc);
    }
    gnt_assert_status(gnti_yaml_read("/nowhere/e.yaml", &doc), GNT_ERR_IO);
}

static void too_many_keys(void **state)
{
    gnti_text t = { 0 };
    gnti_yaml *doc = NULL;
    char *text = NULL;

    (void)state;
    for (int i = 0; i <= GNTI_YAML_MAX_KEYS; i++)
        gnti_text_printf(&t, "k%d: 1\n", i);
    gnt_assert_ok(gnti_text_take(&t, &text));
    gnt_assert_status(parse(text, &doc), GNT_ERR_FORMAT);
    gnt_assert_error_has("1025 keys", "1024");
    gnti_free(text);
}

static gnt_status fill(const char *text, const char *const *others, things *out, bool *set)
{
    gnt_status st = GNT_OK;
    gnti_yaml *doc = NULL;

    GNT_TRY(parse(text, &doc));
    GNT_TRY(gnti_yaml_options(gnti_yaml_root(doc), table, others, out, set));
done:
    gnti_yaml_free(&doc);
    return st;
}

static void options(void **state)
{
    static const char *const others[] = { "vary", NULL };
    things t;
    bool set[8] = { false };

    (void)state;
    gnt_assert_ok(gnti_options_defaults(table, &t));
    gnt_assert_ok(fill("num_things: 4\nkind: red\nname: 'x: y'\nrules: [a, 1:0.5]\nvary: [1]\nflag: yes\n",
                       others, &t, set));
    assert_int_equal(t.count, 4);
    assert_int_equal(t.word, 0);
    assert_string_equal(t.name, "x: y");
    assert_string_equal(t.list, "a,1:0.5");
    assert_true(t.flag && set[1] && !set[2] && set[3]);
    gnt_assert_status(fill("share: 0.1\nkind: green\n", others, &t, set), GNT_ERR_FORMAT);
    gnt_assert_error_has("'e.yaml' line 2, kind: is set twice");
    gnt_assert_status(fill("shar: 0.1\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 1, shar: unknown key 'shar', did you mean 'share'?");
    gnt_assert_status(fill("\nvari: 0.1\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 2, vari: unknown key 'vari', did you mean 'vary'?");
    gnt_assert_status(fill("share: 2\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 1, share: option 'share': '2' is not a number from 0 to 1");
    gnt_assert_status(fill("share: [2]\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("share: expected a plain value, found a list");
    gnt_assert_status(fill("share:\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("share: expected a plain value, found nothing");
    gnt_assert_status(fill("rules: [a, [b]]\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("rules[1]: expected a plain value, found a list");
    gnt_assert_status(fill("- a\n", others, &t, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("'e.yaml' line 1: expected a map of keys and values, found a list");
    gnti_options_free_texts(table, &t);
}

static void brutal(void **state)
{
    gnti_yaml *doc = NULL;

    (void)state;
    GNT_BRUTAL_OUT(parse("a: [1, 2, {b: c}]\nd: e\n", &doc), doc);
    gnti_yaml_free(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees),         cmocka_unit_test(empty_ones), cmocka_unit_test(refused),
        cmocka_unit_test(too_many_keys), cmocka_unit_test(options),    cmocka_unit_test(brutal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
