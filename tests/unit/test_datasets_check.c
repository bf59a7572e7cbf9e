/* SPDX-License-Identifier: Apache-2.0 */
/* check and info: a clean dataset has no error or warning, and each planted defect is found, at its level, with a fix. */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include <gnntrain/experimental.h>

#include "base/json.h"
#include "base/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static gnt_dataset *clean(void)
{
    gntx_generate_options o;
    gnt_dataset *d = NULL;

    gnt_assert_ok(gnti_options_defaults(gntx_generate_option_table(), &o));
    o.nodes = 400;
    gnt_assert_ok(gntx_generate(NULL, "csbm", &o, &d, NULL));
    return d;
}

static gnti_json *page_of(const gnt_dataset *d)
{
    gntx_json *page = NULL;

    gnt_assert_ok(gntx_dataset_check(d, &page));
    return (gnti_json *)page;
}

/* The finding whose text has both words, or NULL. */
static const gnti_json *find(const gnti_json *page, const char *word1, const char *word2)
{
    const gnti_json *all = gnti_json_find(page, "findings");

    for (int64_t i = 0; i < gnti_json_length(all); i++) {
        const char *text = NULL;

        gnt_assert_ok(gnti_json_get_text(gnti_json_at(all, i), "text", &text));
        if (strstr(text, word1) != NULL && strstr(text, word2) != NULL)
            return gnti_json_at(all, i);
    }
    return NULL;
}

/* Checks that d, which is freed, has exactly one such finding more than a clean one, and its level. */
static void expect(gnt_dataset *d, const char *level, const char *word1, const char *word2)
{
    gnti_json *page = page_of(d);
    const gnti_json *finding = find(page, word1, word2);
    const char *got = NULL;

    if (finding == NULL) {
        char *text = NULL;

        gnt_assert_ok(gnti_json_print(page, true, &text));
        print_error("no finding with '%s' and '%s':\n%s\n", word1, word2, text);
        gnti_free(text);
        fail();
    }
    gnt_assert_ok(gnti_json_get_text(finding, "level", &got));
    assert_string_equal(got, level);
    gnti_json_free(&page);
    gnt_dataset_free(&d);
}

static void a_clean_dataset_is_clean(void **state)
{
    gnt_dataset *d = clean();
    gnti_json *page = page_of(d);
    int64_t errors = -1, warnings = -1;
    double homophily = 0.0;
    const gnti_json *facts = gnti_json_find(page, "facts");

    (void)state;
    gnt_assert_ok(gnti_json_get_int(page, "num_errors", &errors));
    gnt_assert_ok(gnti_json_get_int(page, "num_warnings", &warnings));
    assert_int_equal(errors, 0);
    assert_int_equal(warnings, 0);
    gnt_assert_ok(gnti_json_get_number(facts, "homophily", &homophily));
    assert_true(fabs(homophily - 0.8) < 0.05);
    gnti_json_free(&page);
    gnt_dataset_free(&d);
}

static void defects_of_the_graph_are_found(void **state)
{
    gnt_dataset *d = clean();
    const int64_t m = d->graph->num_arcs;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&d->graph->weights, m)); /* scenario 8b: weights 1 and -3 meet */
    for (int64_t a = 0; a < m; a++)
        d->graph->weights[a] = 1.0f;
    for (int64_t r = 0; r < d->num_nodes; r++)
        for (int64_t a = d->graph->offsets[r]; a < d->graph->offsets[r + 1]; a++)
            if (r == 7 || d->graph->columns[a] == 7)
                d->graph->weights[a] = -3.0f;
    expect(d, "error", "node 7 has the weighted degree", "-");
    d = clean();
    d->directed = true;
    expect(d, "note", "said to be directed", "reverse");
    d = clean();
    d->x.dense[3] += 1.0f;
    expect(d, "error", "SHA-256", "changed");
}

static void defects_of_features_are_found(void **state)
{
    gnt_dataset *d = clean();

    (void)state;
    d->x.dense[5 * d->x.width + 2] = NAN;
    expect(d, "error", "NaN", "node 5, feature 2");
    d = clean();
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->x.dense[v * d->x.width + 4] = 3.0f;
    expect(d, "note", "1 of 16", "constant");
    d = clean();
    d->x.dense[8] = 1e6f;
    expect(d, "warning", "feature 8", "1e+06");
    d = clean();
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->x.dense[v * d->x.width + 4] = d->y.class_of[v] == 2 ? 5.0f : 0.0f;
    expect(d, "warning", "feature 4 gives the label away", "class 2");
    d = clean();
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->x.dense[v * d->x.width + 1] = 7.0f - 2.0f * (float)d->y.class_of[v];
    expect(d, "warning", "feature 1 gives the label away", "-1.0");
    d = clean();
    gnti_features_free(&d->x);
    expect(d, "warning", "no features", "nothing");
}

/* As many ones as a class has nodes, but spread over all classes: no leak. */
static void ordinary_columns_are_no_leak(void **state)
{
    gnt_dataset *d = clean();
    gnti_json *page;
    int32_t last = -1;

    (void)state;
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->x.dense[v * d->x.width + 4] = 0.0f;
    for (int64_t v = 0, set = 0; v < d->num_nodes && set < 100; v++) {
        if (d->y.class_of[v] == last)
            continue; /* each one of another class than the one before */
        last = d->y.class_of[v];
        d->x.dense[v * d->x.width + 4] = 5.0f;
        set++;
    }
    page = page_of(d);
    assert_null(find(page, "gives the label away", "feature"));
    gnti_json_free(&page);
    gnt_dataset_free(&d);
}

static void defects_of_labels_and_ids_are_found(void **state)
{
    gnt_dataset *d = clean();

    (void)state;
    d->y.class_of[0] = -1;
    expect(d, "note", "1 of 400 nodes", "no label");
    d = clean();
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->y.class_of[v] = -1;
    expect(d, "error", "no node", "label");
    d = clean();
    d->y.num_classes = 5;
    expect(d, "warning", "1 of 5 classes", "no node");
    d = clean();
    gnt_assert_ok(gnti_alloc_array(&d->id, d->num_nodes));
    for (int64_t v = 0; v < d->num_nodes; v++)
        d->id[v] = v % 399;
    expect(d, "warning", "nodes 0 and 399", "same id");
}

static void defects_of_splits_are_found(void **state)
{
    gnt_dataset *d = clean();
    gnti_split *s = &d->splits[0];
    char number[32];

    (void)state;
    snprintf(number, sizeof number, "%lld is in train", (long long)s->nodes[0][3]);
    s->nodes[2][0] = s->nodes[0][3];
    expect(d, "error", number, "test");
    d = clean();
    d->splits[0].num_nodes[0] = 0;
    expect(d, "error", "no train nodes", "public");
    d = clean();
    d->splits[0].num_nodes[1] = 0;
    expect(d, "warning", "no valid nodes", "public");
    d = clean();
    d->y.class_of[d->splits[0].nodes[1][0]] = -1;
    expect(d, "warning", "lists 1 nodes without a label", "public");
    d = clean();
    s = &d->splits[0];
    for (int64_t i = 0, kept = 0, all = s->num_nodes[0]; i < all; i++) {
        if (d->y.class_of[s->nodes[0][i]] != 3)
            s->nodes[0][kept++] = s->nodes[0][i];
        s->num_nodes[0] = i + 1 == all ? kept : all;
    }
    expect(d, "warning", "1 classes", "never occur in train");
    d = clean();
    gnti_split_free(&d->splits[0]);
    d->num_splits = 0;
    expect(d, "warning", "no split", "training");
    d = clean();
    s = &d->splits[0];
    memcpy(d->x.dense + s->nodes[2][5] * 16, d->x.dense + s->nodes[0][6] * 16, 16 * sizeof(float));
    d->y.class_of[s->nodes[2][5]] = d->y.class_of[s->nodes[0][6]];
    expect(d, "note", "1 test nodes equal a train node", "public");
}

/* Facts of the karate club that are in every textbook. */
static void info_has_the_names_that_scripts_rely_on(void **state)
{
    static const struct {
        const char *key;
        int64_t value;
    } want[] = { { "num_nodes", 34 },
                 { "num_arcs", 156 },
                 { "num_features", 34 },
                 { "num_classes", 4 },
                 { "num_self_loops", 0 } };
    gntx_generate_options o;
    gnt_dataset *d = NULL;
    gntx_json *facts = NULL;
    const char *text = NULL;
    int64_t value;

    (void)state;
    gnt_assert_ok(gnti_options_defaults(gntx_generate_option_table(), &o));
    gnt_assert_ok(gntx_generate(NULL, "karate", &o, &d, NULL));
    gnt_assert_ok(gntx_dataset_info(d, &facts));
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        gnt_assert_ok(gnti_json_get_int((gnti_json *)facts, want[i].key, &value));
        assert_int_equal(value, want[i].value);
    }
    gnt_assert_ok(gnti_json_get_text((gnti_json *)facts, "content_sha256", &text));
    assert_string_equal(text, d->content_sha256);
    gnt_assert_ok(gnti_json_get_text((gnti_json *)facts, "graph_sha256", &text));
    assert_string_equal(text, d->graph_sha256);
    gnt_assert_ok(gnti_json_get_int(gnti_json_find(gnti_json_find((gnti_json *)facts, "splits"), "public"),
                                    "train", &value));
    assert_int_equal(value, 4);
    gntx_json_free(&facts);
    gnt_dataset_free(&d);
}

static void every_kind_of_dataset_can_be_checked(void **state)
{
    (void)state;
    for (int bits = 0; bits < 64; bits++) {
        const gnt_full_options o = { .seed = (uint64_t)bits,
                                     .num_nodes = 6 + bits,
                                     .directed = bits & 1,
                                     .weighted = bits & 2,
                                     .sparse = bits & 4,
                                     .text_ids = bits & 8,
                                     .labels = (gnt_label_kind)(bits >> 4) };
        gnt_dataset *d = gnt_full_dataset(&o);
        gnti_json *page = page_of(d);
        gntx_json *facts = NULL;

        gnt_assert_ok(gntx_dataset_info(d, &facts));
        gntx_json_free(&facts);
        gnti_json_free(&page);
        gnt_dataset_free(&d);
    }
}

static void every_allocation_may_fail(void **state)
{
    const gnt_full_options o = { .seed = 1, .num_nodes = 20, .labels = GNT_LABELS_CLASS };
    gnt_dataset *d = gnt_full_dataset(&o);
    gntx_json *page = NULL, *facts = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gntx_dataset_check(d, &page), page);
    GNT_BRUTAL_OUT(gntx_dataset_info(d, &facts), facts);
    gntx_json_free(&page);
    gntx_json_free(&facts);
    gnt_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clean_dataset_is_clean),
        cmocka_unit_test(defects_of_the_graph_are_found),
        cmocka_unit_test(defects_of_features_are_found),
        cmocka_unit_test(ordinary_columns_are_no_leak),
        cmocka_unit_test(defects_of_labels_and_ids_are_found),
        cmocka_unit_test(defects_of_splits_are_found),
        cmocka_unit_test(info_has_the_names_that_scripts_rely_on),
        cmocka_unit_test(every_kind_of_dataset_can_be_checked),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
