/* SPDX-License-Identifier: Apache-2.0 */
/* The rules that all formats share, on small typed-in files: ids, gaps, direction, repeats, loops, labels, features. */
#include "tests/support/gnt_test.h"

#include "base/json.h"
#include "datasets/import.h"

#include <string.h>

static gntx_import_options g_options;
static gnti_json *g_report;

static int set_up(void **state)
{
    (void)state;
    g_options = (gntx_import_options){ .num_nodes = -1 };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    gnti_json_free(&g_report);
    return 0;
}

static gnt_status import_text(const char *name, const char *text, gnt_dataset **out)
{
    char path[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { gnt_test_write(path, name, text, -1) };
    gntx_json *report = NULL;
    const gnt_status st = gntx_import(NULL, paths, 1, &g_options, out, &report);

    gnti_json_free(&g_report);
    g_report = (gnti_json *)(void *)report;
    return st;
}

static gnt_dataset *import_ok(const char *text)
{
    gnt_dataset *data = NULL;

    gnt_assert_ok(import_text("edges", text, &data));
    return data;
}

static int64_t fact(const char *key)
{
    int64_t value = -1;

    gnt_assert_ok(gnti_json_get_int(g_report, key, &value));
    return value;
}

static bool notes_have(const char *word)
{
    const gnti_json *notes = gnti_json_find(g_report, "notes");

    for (int64_t i = 0; i < gnti_json_length(notes); i++)
        if (strstr(gnti_json_to_text(gnti_json_at(notes, i)), word) != NULL)
            return true;
    return false;
}

static bool has_arc(const gnt_dataset *data, int64_t u, int64_t v)
{
    for (int64_t a = data->graph->offsets[u]; a < data->graph->offsets[u + 1]; a++)
        if (data->graph->columns[a] == v)
            return true;
    return false;
}

/* ---- ids ---- */

static void gaps_of_dense_ids_are_isolated_nodes(void **state)
{
    gnt_dataset *data = import_ok("0 1\n1 2\n5 6\n");

    (void)state;
    assert_int_equal(data->num_nodes, 7);
    assert_int_equal(fact("isolated_from_gaps"), 2);
    assert_true(notes_have("isolated"));
    assert_null(data->id);
    gnt_dataset_free(&data);
}

static void num_nodes_adds_nodes_behind(void **state)
{
    gnt_dataset *data = NULL;

    (void)state;
    g_options.num_nodes = 10;
    data = import_ok("0 1\n1 2\n");
    assert_int_equal(data->num_nodes, 10);
    gnt_dataset_free(&data);
    gnt_assert_status(import_text("edges", "0 1\n1 2\n11 0\n", &data), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 3", "11", "10 nodes");
}

static void numbers_from_one_without_gaps_are_one_based(void **state)
{
    gnt_dataset *data = import_ok("1 2\n2 3\n3 1\n");
    const int64_t want[] = { 1, 2, 3 };

    (void)state;
    assert_int_equal(data->num_nodes, 3);
    gnt_assert_same_i64(data->id, want, 3);
    gnt_dataset_free(&data);
    g_options.ids = GNTX_IDS_DENSE;
    data = import_ok("1 2\n2 3\n3 1\n");
    assert_int_equal(data->num_nodes, 4);
    gnt_dataset_free(&data);
}

static void sparse_ids_are_renumbered_and_kept(void **state)
{
    gnt_dataset *data = import_ok("1000 1007\n1007 1700\n-5 1000\n");
    const int64_t want[] = { -5, 1000, 1007, 1700 };

    (void)state;
    assert_int_equal(data->num_nodes, 4);
    gnt_assert_same_i64(data->id, want, 4);
    assert_true(has_arc(data, 0, 1) && has_arc(data, 1, 2) && has_arc(data, 2, 3));
    gnt_dataset_free(&data);
    data = import_ok("9223372036854775807 -9223372036854775808\n");
    assert_int_equal(data->num_nodes, 2);
    assert_true(data->id[0] == INT64_MIN && data->id[1] == INT64_MAX);
    gnt_dataset_free(&data);
}

static void a_stated_count_decides_between_gaps_and_renumbering(void **state)
{
    gnt_dataset *data = import_ok("# Nodes: 4 Edges: 3\n3 4\n4 5\n5 7\n");
    const int64_t want[] = { 3, 4, 5, 7 };

    (void)state;
    assert_int_equal(data->num_nodes, 4);
    gnt_assert_same_i64(data->id, want, 4);
    gnt_dataset_free(&data);
}

static void text_ids_keep_their_order(void **state)
{
    gnt_dataset *data = import_ok("zoe,adam\nadam,\"b c\"\n");

    (void)state;
    assert_int_equal(data->num_nodes, 3);
    assert_string_equal(data->id_text[0], "zoe");
    assert_string_equal(data->id_text[1], "adam");
    assert_string_equal(data->id_text[2], "b c");
    gnt_dataset_free(&data);
    g_options.ids = GNTX_IDS_TEXT;
    data = import_ok("7 007\n");
    assert_int_equal(data->num_nodes, 2);
    assert_string_equal(data->id_text[1], "007");
    gnt_dataset_free(&data);
}

static void ids_that_are_no_integers_are_refused(void **state)
{
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_status(import_text("edges", "1.5 2\n", &data), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 1", "1.5", "--ids text");
    gnt_assert_status(import_text("edges", "1 99999999999999999999\n", &data), GNT_ERR_FORMAT);
    gnt_assert_status(import_text("edges", "1 2\n3 x\n", &data), GNT_ERR_FORMAT);
    gnt_assert_error_has("line 2", "'x'", "--ids text");
    assert_null(data);
}

/* ---- direction, repeats, loops ---- */

static void direction_is_kept_on_request_only(void **state)
{
    gnt_dataset *data = import_ok("0 1\n1 2\n");
    bool directed = true;

    (void)state;
    assert_false(data->directed);
    assert_int_equal(data->graph->num_arcs, 4);
    assert_int_equal(fact("reversed_added"), 2);
    gnt_assert_ok(gnti_json_get_bool(g_report, "directed", &directed));
    assert_false(directed);
    gnt_dataset_free(&data);
    g_options.directed = true;
    data = import_ok("0 1\n1 2\n");
    assert_true(data->directed && data->graph->num_arcs == 2 && has_arc(data, 0, 1) && !has_arc(data, 1, 0));
    gnt_dataset_free(&data);
    g_options.undirected = true;
    gnt_assert_status(import_text("edges", "0 1\n", &data), GNT_ERR_USAGE);
    gnt_assert_error_has("--directed", "--undirected");
}

static void a_general_matrix_states_direction(void **state)
{
    static const char general[] = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n2 3\n";
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_ok(import_text("m.mtx", general, &data));
    assert_true(data->directed && data->graph->num_arcs == 2);
    gnt_dataset_free(&data);
    g_options.undirected = true;
    gnt_assert_ok(import_text("m.mtx", general, &data));
    assert_true(!data->directed && data->graph->num_arcs == 4);
    gnt_dataset_free(&data);
}

static void repeats_become_one_arc_and_loops_stay(void **state)
{
    gnt_dataset *data = import_ok("0 1\n1 0\n0 1\n2 2\n");

    (void)state;
    assert_int_equal(data->graph->num_arcs, 3);
    assert_int_equal(fact("repeated"), 1);
    assert_int_equal(fact("loops"), 1);
    assert_null(data->graph->weights);
    gnt_dataset_free(&data);
    g_options.drop_loops = true;
    data = import_ok("0 1\n1 0\n0 1\n2 2\n");
    assert_int_equal(data->graph->num_arcs, 2);
    gnt_dataset_free(&data);
}

static void weights_of_repeats_follow_the_policy(void **state)
{
    static const char text[] = "0 1 2\n0 1 3.5\n";
    static const float want[] = { 5.5f, 2.0f };
    gnt_dataset *data = NULL;

    (void)state;
    for (int policy = 0; policy < 2; policy++) {
        g_options.duplicates = policy;
        data = import_ok(text);
        gnt_assert_same_bits(data->graph->weights, &want[policy], 1);
        gnt_dataset_free(&data);
    }
    g_options.duplicates = 2;
    gnt_assert_status(import_text("edges", text, &data), GNT_ERR_FORMAT);
    gnt_assert_error_has("twice");
}

static void header_lines_name_the_columns(void **state)
{
    static const char *const headers[] = { "source,target", "FromNodeId\tToNodeId", "x y", "from,to" };
    gnt_dataset *data = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        gnti_text text = { 0 };

        gnti_text_printf(&text, "%s\n0 1\n1 2\n", headers[i]);
        data = import_ok(text.data);
        assert_int_equal(data->num_nodes, 3);
        assert_int_equal(data->graph->num_arcs, 4);
        gnti_text_free(&text);
        gnt_dataset_free(&data);
    }
    g_options.directed = true;
    data = import_ok("target,time,source,weight,colour\n1,77,0,0.5,red\n2,78,1,0.25,blue\n");
    assert_true(has_arc(data, 0, 1) && has_arc(data, 1, 2));
    assert_true(data->graph->weights[0] == 0.5f && data->num_arrays == 1);
    assert_string_equal(data->arrays[0].path, "/edges/time");
    assert_int_equal(((int64_t *)data->arrays[0].data)[1], 78);
    assert_true(notes_have("colour"));
    gnt_dataset_free(&data);
}

/* ---- labels and features ---- */

static gnt_dataset *import_with(const char *edges, const char *features, const char *labels)
{
    char features_path[GNT_TEST_PATH_BYTES], labels_path[GNT_TEST_PATH_BYTES];

    g_options.features = features != NULL ? gnt_test_write(features_path, "features", features, -1) : NULL;
    g_options.labels = labels != NULL ? gnt_test_write(labels_path, "labels", labels, -1) : NULL;
    return import_ok(edges);
}

static void labels_follow_ids_and_name_classes(void **state)
{
    gnt_dataset *data = import_with("10 200\n200 3000\n", NULL, "id label\n3000 pear\n10 apple\n77 pear\n");
    const int32_t want[] = { 0, 1, -1, 1 };

    (void)state;
    assert_int_equal(data->num_nodes, 4);
    gnt_assert_same_i32(data->y.class_of, want, 4);
    assert_int_equal(data->y.num_classes, 2);
    assert_string_equal(data->y.names[1], "pear");
    gnt_dataset_free(&data);
}

static void numbers_are_classes_when_they_start_at_zero(void **state)
{
    gnt_dataset *data = import_with("0 1\n1 2\n", NULL, "0 0\n1 2\n2 -1\n");
    const int32_t as_is[] = { 0, 2, -1 }, renumbered[] = { 0, 1, 0 };

    (void)state;
    gnt_assert_same_i32(data->y.class_of, as_is, 3);
    assert_int_equal(data->y.num_classes, 3);
    gnt_dataset_free(&data);
    data = import_with("0 1\n1 2\n", NULL, "0 3\n1 9\n2 3\n");
    gnt_assert_same_i32(data->y.class_of, renumbered, 3);
    assert_string_equal(data->y.names[1], "9");
    gnt_dataset_free(&data);
}

static void tables_and_svmlight_give_the_same_features(void **state)
{
    static const char *const files[] = { "0,1,0,0.5\n2,0,0,2\n1,0,0,0\n", "1 1:1 3:0.5\n0\n1 3:2 # note\n",
                                         "node,feature,value\n0,0,1\n0,2,0.25\n0,2,0.25\n2,2,2\n" };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        gnt_dataset *data = import_with("0 1\n1 2\n", files[i], NULL);
        const float want[] = { 1, 0, 0.5f, 0, 0, 0, 0, 0, 2 };

        assert_int_equal(data->x.width, 3);
        assert_non_null(data->x.dense); /* a third full */
        gnt_assert_same_bits(data->x.dense, want, 9);
        gnt_dataset_free(&data);
    }
}

static void nodes_that_no_row_describes_are_counted_and_named(void **state)
{
    gnt_dataset *data = import_with("10 200\n200 3000\n", "10 1 2\n3000 3 4\n", "10 x\n77 y\n");

    (void)state;
    assert_int_equal(data->num_nodes, 4); /* 10, 77, 200, 3000 */
    assert_int_equal(fact("without_features"), 2);
    assert_int_equal(fact("unlabelled"), 2);
    assert_true(notes_have("2 of 4 nodes have no row of features: theirs are zero, the first is 77"));
    assert_true(notes_have("2 of 4 nodes are unlabelled, the first is 200"));
    assert_non_null(strstr(data->provenance, "no row of features"));
    gnt_dataset_free(&data);
    data = import_with("a b\nb c\n", "a 1\nc 3\n", NULL);
    assert_int_equal(fact("without_features"), 1);
    assert_int_equal(fact("unlabelled"), 0);
    assert_true(notes_have("the first is 'b'"));
    gnt_dataset_free(&data);
    data = import_with("0 1\n1 2\n", "0 1\n2 0\n1 0\n", NULL); /* a row of zeros is a row */
    assert_int_equal(fact("without_features"), 0);
    assert_false(notes_have("no row of features"));
    gnt_dataset_free(&data);
}

static void node_files_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        const char *features, *labels, *word;
    } cases[] = {
        { "0 1 2\n0 1 2\n", NULL, "line 2" },
        { "0 1 2\n1 1\n", NULL, "line 2" },
        { "0 1 x\n", NULL, "'x'" },
        { "0 1 inf\n", NULL, "'inf'" },
        { NULL, "0 1\n0 2\n", "already" },
        { NULL, "0\n", "label" },
        { NULL, "z 1\n", "'z'" },
        { NULL, "", "no labels" },
        { "", NULL, "no features" },
        { "1 1:1\n0 2:1\n", NULL, "2 nodes" },
        { "1 1:x\n", NULL, "column:value" },
    };
    char path[GNT_TEST_PATH_BYTES], more[GNT_TEST_PATH_BYTES];
    gnt_dataset *data = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        g_options.features =
            cases[i].features != NULL ? gnt_test_write(path, "f", cases[i].features, -1) : NULL;
        g_options.labels = cases[i].labels != NULL ? gnt_test_write(more, "l", cases[i].labels, -1) : NULL;
        gnt_assert_status(import_text("edges", "0 1\n1 2\n", &data), GNT_ERR_FORMAT);
        gnt_assert_error_has(cases[i].word);
    }
    assert_null(data);
}

/* What train and predict rely on: the written file says the same. */
static void a_saved_import_opens_again(void **state)
{
    gnt_dataset *data = import_with("a b 2\nb c 3\n", "a 1 0\nb 0 1\nc 1 1\n", "a x\nb y\nc x\n"),
                *again = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_ok(gnt_dataset_save(data, gnt_test_path(path, "saved.h5")));
    gnt_assert_ok(gnt_dataset_open(NULL, path, &again));
    assert_string_equal(data->content_sha256, again->content_sha256);
    assert_string_equal(again->id_text[2], "c");
    assert_string_equal(again->y.names[1], "y");
    assert_non_null(strstr(again->provenance, "edgelist"));
    gnt_dataset_free(&again);
    gnt_dataset_free(&data);
}

#define RULE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RULE(gaps_of_dense_ids_are_isolated_nodes),
        RULE(num_nodes_adds_nodes_behind),
        RULE(numbers_from_one_without_gaps_are_one_based),
        RULE(sparse_ids_are_renumbered_and_kept),
        RULE(a_stated_count_decides_between_gaps_and_renumbering),
        RULE(text_ids_keep_their_order),
        RULE(ids_that_are_no_integers_are_refused),
        RULE(direction_is_kept_on_request_only),
        RULE(a_general_matrix_states_direction),
        RULE(repeats_become_one_arc_and_loops_stay),
        RULE(weights_of_repeats_follow_the_policy),
        RULE(header_lines_name_the_columns),
        RULE(labels_follow_ids_and_name_classes),
        RULE(numbers_are_classes_when_they_start_at_zero),
        RULE(tables_and_svmlight_give_the_same_features),
        RULE(nodes_that_no_row_describes_are_counted_and_named),
        RULE(node_files_that_do_not_fit_are_refused),
        RULE(a_saved_import_opens_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
