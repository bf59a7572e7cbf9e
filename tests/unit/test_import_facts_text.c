/* SPDX-License-Identifier: Apache-2.0 */
/* Edge lists, Matrix Market, METIS, LINQS and geom-gcn files of the shared data against their facts. */
#include "tests/support/facts.h"

#include "tests/support/gnt_test.h"

#include <stdio.h>
#include <string.h>

/* The path of a file of edgelist/ by its name in the facts. */
static const char *edge_list_path(const char *name, char out[256])
{
    static const char *const folders[] = { "edgelist", "edgelist/wiki", "edgelist/cugraph" };
    char found[GNT_TEST_PATH_BYTES];

    for (int i = 0; i < 3; i++) {
        snprintf(out, 256, "%s/%s", folders[i], name);
        if (gnt_test_data_find(found, out))
            return out;
    }
    fail_msg("no file %s", name);
    return NULL;
}

static void edge_lists_have_their_facts(void **state)
{
    gnti_json *facts = gnt_facts_load("edgelist/expected.json");
    const gnti_json *files = gnti_json_find(facts, "files");
    gntx_import_options options = gnt_facts_options();
    char path[256];

    (void)state;
    for (int64_t i = 0; i < gnti_json_length(files); i++) {
        const gnti_json *file = gnti_json_at(files, i), *graph = gnti_json_find(file, "graph_compact_ids");
        const char *name = NULL;

        gnt_assert_ok(gnti_json_get_text(file, "file", &name));
        for (int directed = 0; directed < 2; directed++) {
            options.directed = directed;
            gnt_dataset *data = gnt_facts_import(edge_list_path(name, path), &options);

            assert_int_equal(data->directed, directed);
            gnt_facts_graph(data, graph, true, name);
            gnt_dataset_free(&data);
        }
    }
    gnti_json_free(&facts);
}

static void node_files_add_labels_and_features(void **state)
{
    gnti_json *facts = gnt_facts_load("rosetta/texas/expected.json");
    gntx_import_options options = gnt_facts_options();
    char features[GNT_TEST_PATH_BYTES], labels[GNT_TEST_PATH_BYTES];
    gnt_dataset *data;

    (void)state;
    options.features = gnt_test_data(features, "rosetta/texas/edgelist/texas.features.svmlight.txt");
    for (int with_file = 0; with_file < 2; with_file++) {
        options.labels = with_file ? gnt_test_data(labels, "rosetta/texas/edgelist/texas.labels.txt") : NULL;
        data = gnt_facts_import("rosetta/texas/edgelist/texas.edges.txt", &options);
        gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, "texas edges");
        gnt_facts_labels(data, gnti_json_find(facts, "labels"), "texas labels");
        assert_int_equal(data->x.width, 1702);
        data->x.width = 1703; /* the last column is empty, which the file cannot say */
        gnt_facts_features(data, gnti_json_find(facts, "features"), "texas svmlight");
        gnt_dataset_free(&data);
    }
    gnti_json_free(&facts);
}

static void tables_of_twitch_have_their_facts(void **state)
{
    gnti_json *facts = gnt_facts_load("karateclub/twitch/expected.json");
    gntx_import_options options = gnt_facts_options();
    char features[GNT_TEST_PATH_BYTES], labels[GNT_TEST_PATH_BYTES];
    gnt_dataset *data;

    (void)state;
    options.features = gnt_test_data(features, "karateclub/twitch/features.csv");
    options.labels = gnt_test_data(labels, "karateclub/twitch/target.csv");
    data = gnt_facts_import("karateclub/twitch/edges.csv", &options);
    gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, "twitch edges");
    gnt_facts_labels(data, gnti_json_find(facts, "labels"), "twitch labels");
    gnt_facts_features(data, gnti_json_find(facts, "features"), "twitch triples");
    gnt_dataset_free(&data);
    gnti_json_free(&facts);
}

/* scipy's verdict bounds ours: what it refuses we refuse, and what we read has its digests. Beyond it we refuse what is
 * no graph or has no finite float32 weights. */
static bool market_may_be_refused(const gnti_json *file)
{
    const char *header = NULL;
    bool parses = false;
    int64_t rows = 0, columns = 0;
    double sum = 0.0;

    gnt_assert_ok(gnti_json_get_bool(file, "parses_with_scipy", &parses));
    gnt_assert_ok(gnti_json_get_text(file, "header_line", &header));
    if (!parses)
        return true;
    gnt_assert_ok(gnti_json_get_int(file, "rows", &rows));
    gnt_assert_ok(gnti_json_get_int(file, "cols", &columns));
    return rows != columns || strstr(header, "complex") != NULL || strstr(header, "hermitian") != NULL ||
           gnti_json_find(file, "sum") == NULL || !gnti_json_to_number(gnti_json_find(file, "sum"), &sum) ||
           strstr(header, "array real") != NULL;
}

static void matrices_have_their_facts(void **state)
{
    gnti_json *facts = gnt_facts_load("mtx/expected.json");
    const gnti_json *files = gnti_json_find(facts, "files");
    int read = 0, refused = 0;

    (void)state;
    for (int64_t i = 0; i < gnti_json_length(files); i++) {
        const gnti_json *file = gnti_json_at(files, i), *graph = gnti_json_find(file, "graph");
        const char *name = NULL;
        char path[GNT_TEST_PATH_BYTES];
        gnt_dataset *data = NULL;
        gnt_status st;

        gnt_assert_ok(gnti_json_get_text(file, "file", &name));
        const char *const paths[] = { gnt_test_data(path, name) };

        st = gntx_import(NULL, paths, 1, NULL, &data, NULL);
        if (st != GNT_OK) {
            assert_int_equal(st, GNT_ERR_FORMAT);
            assert_null(data);
            if (!market_may_be_refused(file))
                fail_msg("%s is refused: %s", name, gnt_last_error());
            refused++;
            continue;
        }
        read++;
        if (graph == NULL)
            fail_msg("%s became a graph, but it is none", name);
        gnt_facts_graph(data, graph, false, name);
        gnt_dataset_free(&data);
    }
    print_message("%d matrices read, %d refused\n", read, refused);
    assert_true(read >= 60 && refused >= 20);
    gnti_json_free(&facts);
}

static void metis_files_have_their_facts(void **state)
{
    gnti_json *facts = gnt_facts_load("metis/expected.json");
    const gnti_json *files = gnti_json_find(facts, "files");

    (void)state;
    for (int64_t i = 0; i < gnti_json_length(files); i++) {
        const gnti_json *file = gnti_json_at(files, i);
        const char *name = NULL;
        char relative[256], path[GNT_TEST_PATH_BYTES];
        bool valid = false;
        gnt_dataset *data = NULL;
        gnt_status st;

        gnt_assert_ok(gnti_json_get_text(file, "file", &name));
        gnt_assert_ok(gnti_json_get_bool(file, "valid", &valid));
        snprintf(relative, sizeof relative, "metis/%s", name);
        const char *const paths[] = { gnt_test_data(path, relative) };

        st = gntx_import(NULL, paths, 1, NULL, &data, NULL);
        if (!valid) {
            assert_int_equal(st, GNT_ERR_FORMAT);
            continue;
        }
        gnt_assert_ok(st);
        assert_false(data->directed);
        gnt_facts_graph(data, gnti_json_find(file, "graph"), false, name);
        gnt_dataset_free(&data);
    }
    gnti_json_free(&facts);
}

static void geom_gcn_sets_have_their_facts(void **state)
{
    static const char *const names[] = { "cornell", "texas" };
    gntx_import_options options = gnt_facts_options();

    (void)state;
    for (int i = 0; i < 2; i++) {
        char folder[64], file[96];
        gnti_json *facts;
        const gnti_json *splits;

        snprintf(folder, sizeof folder, "geom-gcn/%s", names[i]);
        snprintf(file, sizeof file, "%s/expected.json", folder);
        facts = gnt_facts_load(file);
        splits = gnti_json_find(facts, "splits");
        for (int directed = 0; directed < 2; directed++) {
            options.directed = directed;
            gnt_dataset *data = gnt_facts_import(folder, &options);

            gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, names[i]);
            gnt_facts_labels(data, gnti_json_find(facts, "labels"), names[i]);
            gnt_facts_features(data, gnti_json_find(facts, "features"), names[i]);
            assert_int_equal(data->num_splits, gnti_json_length(splits));
            for (int64_t s = 0; s < gnti_json_length(splits); s++) {
                const char *key = gnti_json_key_at(splits, s);

                gnt_facts_split(data, key, gnti_json_find(splits, key), names[i]);
            }
            gnt_dataset_free(&data);
        }
        gnti_json_free(&facts);
    }
}

/* One graph in layouts with everything. */
static void texas_is_one_graph_in_every_layout(void **state)
{
    static const char *const full[] = { "rosetta/texas/linqs", "rosetta/texas/npz-csr/texas.npz" };
    static const char *const graph_only[] = { "rosetta/texas/mtx/texas.mtx",
                                              "rosetta/texas/metis/texas.graph",
                                              "rosetta/texas/graphsaint/adj_full.npz" };
    gnti_json *facts = gnt_facts_load("rosetta/texas/expected.json");

    (void)state;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        gnt_dataset *data = gnt_facts_import(full[i], NULL);

        if (i > 0) /* linqs has its own order of nodes, in which only counts agree */
            gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, full[i]);
        gnt_facts_labels(data, gnti_json_find(facts, "labels"), full[i]);
        gnt_facts_features(data, gnti_json_find(facts, "features"), full[i]);
        assert_int_equal(data->graph->num_arcs, 558);
        gnt_dataset_free(&data);
    }
    for (size_t i = 0; i < sizeof graph_only / sizeof *graph_only; i++) {
        gnt_dataset *data = gnt_facts_import(graph_only[i], NULL);

        gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, graph_only[i]);
        gnt_dataset_free(&data);
    }
    gnti_json_free(&facts);
}

/* Folders that state their splits. */
static void folders_have_their_facts(void **state)
{
    static const struct {
        const char *folder, *facts;
    } sets[] = {
        { "rosetta/texas/ogb", "rosetta/texas/expected.json" },
        { "rosetta/cora-ogb", "rosetta/cora-ogb/expected.json" },
        { "rosetta/texas/graphsage", "rosetta/texas/expected.json" },
        { "graphsage/cora", "graphsage/cora/expected.json" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        gnti_json *facts = gnt_facts_load(sets[i].facts);
        gnt_dataset *data = gnt_facts_import(sets[i].folder, NULL);

        gnt_facts_graph(data, gnti_json_find(facts, "graph"), false, sets[i].folder);
        gnt_facts_labels(data, gnti_json_find(facts, "labels"), sets[i].folder);
        if (gnti_json_find(facts, "features") != NULL)
            gnt_facts_features(data, gnti_json_find(facts, "features"), sets[i].folder);
        if (gnti_json_find(facts, "splits") != NULL)
            gnt_facts_split(data, NULL, gnti_json_find(facts, "splits"), sets[i].folder);
        gnt_dataset_free(&data);
        gnti_json_free(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edge_lists_have_their_facts),
        cmocka_unit_test(node_files_add_labels_and_features),
        cmocka_unit_test(tables_of_twitch_have_their_facts),
        cmocka_unit_test(matrices_have_their_facts),
        cmocka_unit_test(metis_files_have_their_facts),
        cmocka_unit_test(geom_gcn_sets_have_their_facts),
        cmocka_unit_test(folders_have_their_facts),
        cmocka_unit_test(texas_is_one_graph_in_every_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
