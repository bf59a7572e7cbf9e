/* SPDX-License-Identifier: Apache-2.0 */
/* npz files of the shared data against their facts: gnn-benchmark in both spellings, heterophilous sets, pickled ones. */
#include "tests/support/facts.h"

#include "tests/support/gnt_test.h"

#include <stdio.h>

static void check_set(const char *folder, const char *name)
{
    gntx_import_options options = gnt_facts_options();
    char npz[128], expected[128];
    gnti_json *facts;
    const gnti_json *splits;

    snprintf(npz, sizeof npz, "%s/%s.npz", folder, name);
    snprintf(expected, sizeof expected, "%s/%s.expected.json", folder, name);
    facts = gnt_facts_load(expected);
    splits = gnti_json_find(facts, "splits");
    for (int directed = 0; directed < 2; directed++) {
        options.directed = directed;
        gnt_dataset *data = gnt_facts_import(npz, &options);

        gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, name);
        gnt_facts_labels(data, gnti_json_find(facts, "labels"), name);
        if (gnti_json_find(facts, "features") != NULL)
            gnt_facts_features(data, gnti_json_find(facts, "features"), name);
        assert_int_equal(data->num_splits, gnti_json_length(splits));
        for (int64_t s = 0; s < gnti_json_length(splits); s++) {
            const char *key = gnti_json_key_at(splits, s);

            gnt_facts_split(data, key, gnti_json_find(splits, key), name);
        }
        gnt_dataset_free(&data);
    }
    gnti_json_free(&facts);
}

static void csr_sets_have_their_facts(void **state)
{
    (void)state;
    check_set("npz-csr", "karate_club");
    check_set("npz-csr", "polblogs");
    check_set("npz-csr", "citeseer");
    check_set("npz-csr", "cora_ml");
}

static void amazon_has_its_facts(void **state)
{
    (void)state;
    check_set("npz-csr", "amazon_computers");
}

static void heterophilous_sets_have_their_facts(void **state)
{
    (void)state;
    check_set("heterophilous", "texas");
    check_set("heterophilous", "chameleon_filtered_directed");
    check_set("heterophilous", "minesweeper");
}

static void names_of_nodes_are_kept(void **state)
{
    gnt_dataset *data = gnt_facts_import("npz-csr/cora_ml.npz", NULL);

    (void)state;
    assert_true(data->id != NULL || data->id_text != NULL);
    assert_non_null(data->y.names);
    gnt_dataset_free(&data);
}

static void pickled_objects_are_refused(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { gnt_test_data(path, "npz-object/karate_club.npz") };
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_status(gntx_import(NULL, paths, 1, NULL, &data, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("adj_matrix", "pickled", "never executed");
    assert_null(data);
}

static void planetoid_pickles_are_refused(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { gnt_test_data(path, "planetoid/cora/ind.cora.graph") };
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_status(gntx_import(NULL, paths, 1, NULL, &data, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("pickle", "gnntrain_io");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csr_sets_have_their_facts),
        cmocka_unit_test(amazon_has_its_facts),
        cmocka_unit_test(heterophilous_sets_have_their_facts),
        cmocka_unit_test(names_of_nodes_are_kept),
        cmocka_unit_test(pickled_objects_are_refused),
        cmocka_unit_test(planetoid_pickles_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
