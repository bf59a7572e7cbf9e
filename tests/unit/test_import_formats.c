/* SPDX-License-Identifier: Apache-2.0 */
/* Every format on a small file of tests/data/import, value by value, and its refusals. */
#include "tests/support/gnt_test.h"

#include "datasets/debian.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static gnt_status import_at(const char *name, const gntx_import_options *options, gnt_dataset **out)
{
    char path[GNT_TEST_PATH_BYTES];
    const char *const paths[] = { path };

    snprintf(path, sizeof path, "%s/tests/data/import/%s", GNT_SOURCE_DIR, name);
    return gntx_import(NULL, paths, 1, options, out, NULL);
}

static gnt_dataset *import_ok(const char *name)
{
    gnt_dataset *data = NULL;

    gnt_assert_ok(import_at(name, NULL, &data));
    return data;
}

static void expect_arcs(const gnt_dataset *data, const char *want)
{
    gnti_text got = { 0 };
    const gnti_graph *g = data->graph;

    for (int64_t r = 0; r < g->num_rows; r++) {
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++) {
            gnti_text_printf(&got, "%lld-%d", (long long)r, g->columns[a]);
            if (g->weights != NULL)
                gnti_text_printf(&got, "=%g", (double)g->weights[a]);
            gnti_text_append(&got, " ");
        }
    }
    assert_string_equal(got.data, want);
    gnti_text_free(&got);
}

static float feature(const gnt_dataset *data, int64_t row, int64_t column)
{
    const gnti_graph *s = data->x.sparse;

    if (s == NULL)
        return data->x.dense[row * data->x.width + column];
    for (int64_t a = s->offsets[row]; a < s->offsets[row + 1]; a++)
        if (s->columns[a] == column)
            return s->weights != NULL ? s->weights[a] : 1.0f;
    return 0.0f;
}

static void expect_split(const gnt_dataset *data, const char *name, const char *want)
{
    const gnti_split *split = NULL;
    gnti_text got = { 0 };

    gnt_assert_ok(gnti_dataset_find_split(data, name, &split));
    for (int part = 0; part < 3; part++) {
        for (int64_t i = 0; i < split->num_nodes[part]; i++)
            gnti_text_printf(&got, "%lld ", (long long)split->nodes[part][i]);
        gnti_text_append(&got, part < 2 ? "| " : "");
    }
    assert_string_equal(got.data, want);
    gnti_text_free(&got);
}

static void matrix_market(void **state)
{
    gnt_dataset *data = import_ok("tiny.mtx");

    (void)state;
    expect_arcs(data, "0-1=0.5 1-0=0.5 1-2=-0.001 2-1=-0.001 2-2=2 ");
    assert_int_equal(data->id[0], 1);
    gnt_dataset_free(&data);
}

/* Every kind of matrix, by its arcs. */
static void kinds_of_matrices(void **state)
{
    static const struct {
        const char *text, *arcs;
    } cases[] = {
        { "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 2 -5\n",
          "0-1=-4 1-0=4 1-2=5 2-1=-5 " },
        { "%%MatrixMarket MATRIX Coordinate Pattern Symmetric\n3 3 2\n1 2\n3 3\n", "0-1 1-0 2-2 " },
        { "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n3 1\n", "0-1 2-0 " },
        { "%%MatrixMarket matrix array real general\n2 2\n0\n2.5\n1\n0\n", "0-1=1 1-0=2.5 " },
        { "%%MatrixMarket matrix array integer symmetric\n2 2\n7\n3\n0\n", "0-0=7 0-1=3 1-0=3 " },
        { "%%MatrixMarket matrix array real skew-symmetric\n2 2\n2\n", "0-1=-2 1-0=2 " },
        { "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 0\n", "0-1=0 " },
    };
    char path[GNT_TEST_PATH_BYTES];
    gnt_dataset *data = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const paths[] = { gnt_test_write(path, "kind.mtx", cases[i].text, -1) };

        gnt_assert_ok(gntx_import(NULL, paths, 1, NULL, &data, NULL));
        expect_arcs(data, cases[i].arcs);
        gnt_dataset_free(&data);
    }
}

static void metis(void **state)
{
    gnt_dataset *data = import_ok("tiny.graph");
    const int64_t weights[] = { 1, 2, 1, 2, 3, 0, 1, 1 };

    (void)state;
    expect_arcs(data, "0-1=5 0-3=6 1-0=5 1-2=7 2-1=7 2-3=8 3-0=6 3-2=8 ");
    assert_string_equal(data->arrays[0].path, "/nodes/weight");
    gnt_assert_same_i64((const int64_t *)data->arrays[0].data, weights, 8);
    gnt_dataset_free(&data);
}

static void linqs(void **state)
{
    gnt_dataset *data = import_ok("linqs");
    const int32_t classes[] = { 1, 0, 1 };

    (void)state;
    expect_arcs(data, "0-1 0-2 1-0 1-1 2-0 ");
    assert_string_equal(data->id_text[2], "31");
    gnt_assert_same_i32(data->y.class_of, classes, 3);
    assert_string_equal(data->y.names[0], "art");
    assert_true(feature(data, 0, 2) == 0.5f && feature(data, 2, 1) == 2.0f && feature(data, 1, 0) == 0.0f);
    gnt_dataset_free(&data);
}

static void citing_points_to_cited(void **state)
{
    gntx_import_options options = { .num_nodes = -1, .directed = true };
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_ok(import_at("linqs", &options, &data)); /* "31 p1": p1 cites 31 */
    expect_arcs(data, "0-2 1-0 1-1 ");
    gnt_dataset_free(&data);
}

static void geom_gcn(void **state)
{
    gnt_dataset *data = import_ok("geom");
    const int32_t classes[] = { 0, 0, 1 };

    (void)state;
    expect_arcs(data, "0-1 1-0 1-2 2-1 2-2 ");
    gnt_assert_same_i32(data->y.class_of, classes, 3);
    assert_true(feature(data, 2, 1) == 1.0f && feature(data, 1, 1) == 0.0f);
    expect_split(data, "0", "0 | 1 | 2 ");
    gnt_dataset_free(&data);
}

static void npz_benchmark(void **state)
{
    gnt_dataset *data = import_ok("benchmark.npz");
    const int32_t classes[] = { 1, 0, 1, -1 };

    (void)state;
    expect_arcs(data, "0-1=1 1-0=1 1-2=2 2-1=2 ");
    assert_string_equal(data->id_text[1], "b\xc3\xa9");
    assert_string_equal(data->y.names[1], "y");
    gnt_assert_same_i32(data->y.class_of, classes, 4);
    assert_true(feature(data, 1, 1) == 0.5f && feature(data, 3, 2) == 2.0f);
    expect_split(data, NULL, "0 | 1 | 2 3 ");
    gnt_dataset_free(&data);
}

static void npz_masks(void **state)
{
    gnt_dataset *data = import_ok("masks.npz");

    (void)state;
    expect_arcs(data, "0-1 1-0 1-2 2-1 2-3 3-2 ");
    for (int64_t r = 0; r < 4; r++) /* half floats in Fortran order */
        assert_true(feature(data, r, 0) == (float)(2 * r) && feature(data, r, 1) == (float)(2 * r + 1));
    assert_int_equal(data->num_splits, 2);
    expect_split(data, "1", "1 | 0 | 2 3 ");
    gnt_dataset_free(&data);
}

static void npz_scipy(void **state)
{
    gntx_import_options options = { .num_nodes = -1, .directed = true };
    gnt_dataset *data = import_ok("scipy_csr.npz");

    (void)state;
    expect_arcs(data, "0-1=1 1-0=1 1-2=2 2-1=2 ");
    gnt_dataset_free(&data);
    data = import_ok("scipy_coo.npz");
    expect_arcs(data, "0-1=1 1-0=1 1-2=2 2-1=2 ");
    gnt_dataset_free(&data);
    gnt_assert_ok(import_at("scipy_csc.npz", &options, &data)); /* by column: 0 -> 1, 1 -> 2 */
    expect_arcs(data, "0-1=1 1-2=2 ");
    gnt_dataset_free(&data);
}

static void ogb(void **state)
{
    gnt_dataset *data = import_ok("ogb");
    const int32_t classes[] = { 1, -1, 0 };

    (void)state;
    expect_arcs(data, "0-1 1-0 1-2 2-1 ");
    gnt_assert_same_i32(data->y.class_of, classes, 3);
    assert_true(feature(data, 2, 1) == 0.2f && feature(data, 0, 0) == 0.5f);
    expect_split(data, "random", "0 | 1 | 2 ");
    gnt_dataset_free(&data);
}

static void graphsage(void **state)
{
    gnt_dataset *data = import_ok("sage");
    const int32_t classes[] = { 1, 0, 1 };

    (void)state;
    expect_arcs(data, "0-2 1-2 2-0 2-1 ");
    gnt_assert_same_i32(data->y.class_of, classes, 3);
    assert_true(feature(data, 0, 0) == 3.0f && feature(data, 1, 1) == 2.0f); /* rows by the map */
    expect_split(data, NULL, "0 | 1 | 2 ");
    gnt_dataset_free(&data);
}

static void debian_index(void **state)
{
    gntx_import_options options = { .num_nodes = -1, .directed = true };
    gnt_dataset *data = NULL;
    static const char *const names[] = { "bar", "libc6", "libfoo-dev", "libfoo1", "vim-like" };
    static const char *const sections[] = { "editors", "libdevel", "libs" };

    (void)state;
    options.format = "debian";
    gnt_assert_ok(import_at("Packages", &options, &data));
    assert_int_equal(data->num_nodes, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(data->id_text[i], names[i]);
    assert_int_equal(data->y.num_classes, 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(data->y.names[i], sections[i]);
    expect_arcs(data, "0-3 0-4 2-1 2-3 3-1 "); /* virtual libfoo, editor; the first alternative that exists */
    assert_int_equal(data->x.width,
                     2); /* "documents", "parsing": in five descriptions; others are in too few */
    for (int64_t p = 0; p < 5; p++)
        assert_true(feature(data, p, 0) == (float)(1.0 / sqrt(2.0)) && feature(data, p, 1) > 0.7f);
    assert_int_equal(data->num_splits, 1);
    gnt_dataset_free(&data);
}

static void versions_order_as_debian_says(void **state)
{
    static const char *const ascending[] = {
        "0.9~~",      "0.9~beta", "0.9",     "0.9a",  "0.9+b1", "0.10",
        "1.0-1~bpo1", "1.0-1",    "1.0-1.1", "1.0-2", "1.0-10", "1:0.1"
    };
    enum { NUM = sizeof ascending / sizeof *ascending };

    (void)state;
    for (int i = 0; i < NUM; i++)
        for (int j = 0; j < NUM; j++) {
            const int got = gnti_debian_compare_versions(ascending[i], ascending[j]);

            if ((got > 0) - (got < 0) != (i > j) - (i < j))
                fail_msg("%s against %s: %d", ascending[i], ascending[j], got);
        }
    assert_int_equal(gnti_debian_compare_versions("1.0-0", "1.0"), 0);
}

/* ---- refusals ---- */

static void bad_files_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *name, *text, *words[3];
    } cases[] = {
        { "e.txt", "", { "no edges" } },
        { "e.txt", "# only comments\n", { "no edges" } },
        { "e.txt", "0 1\n2\n", { "line 2", "1 columns" } },
        { "e.txt", "0 1\n2 3 4\n", { "line 2", "'4'" } },
        { "e.txt", "0 1 2 3\n", { "4 columns", "header" } },
        { "e.txt", "0 1 nan\n", { "line 1", "'nan'" } },
        { "e.txt", "0,,1\n", { "line 1" } },
        { "e.txt", "0 1\n\n1 0x2\n", { "line 3", "0x2" } },
        { "m.mtx", "1 1 1\n", { "%%MatrixMarket" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n", { "line 1", "complex" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n", { "hermitian" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 4 0\n", { "3 x 4", "square" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n", { "1 of the 2" } },
        { "m.mtx",
          "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2\n2 3\n",
          { "line 4", "more than the 1" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 4\n", { "line 3", "(1, 4)" } },
        { "m.mtx",
          "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 0.5\n",
          { "line 3", "0.5" } },
        { "m.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 inf\n", { "line 3", "inf" } },
        { "m.mtx",
          "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n1 1 2\n",
          { "line 3", "diagonal" } },
        { "m.mtx",
          "%%MatrixMarket matrix coordinate pattern general\n9999999999 9999999999 0\n",
          { "line 2", "limit" } },
        { "m.mtx", "%%MatrixMarket matrix array pattern general\n1 1\n1\n", { "array pattern" } },
        { "g.graph", "2 1\n2\n", { "1 of the 2 nodes" } },
        { "g.graph", "2 1\n2\n\n", { "1 neighbours" } },
        { "g.graph", "2 2\n2\n1\n", { "2 neighbours", "4" } },
        { "g.graph", "2 1\n3\n1\n", { "line 2", "'3'", "1..2" } },
        { "g.graph", "2 1\n1\n2\n", { "line 2", "own neighbour" } },
        { "g.graph", "2 1\n2 2\n1\n", { "line 3", "more than twice" } },
        { "g.graph", "3 2\n2 3\n1\n2\n", { "one of its ends" } },
        { "g.graph", "3 2 1\n2 1 3 1\n1 1\n1 2\n", { "two weights" } },
        { "g.graph", "2 1 1\n2 0.5\n1 0.5\n", { "line 2", "0.5" } },
        { "g.graph", "2 1 2\n2\n1\n", { "fmt", "'2'" } },
        { "g.graph", "2 1\n2\n1\n1\n", { "line 4" } },
        { "g.graph", "-1 1\n", { "line 1", "no sizes" } },
        { "x", "\x80\x02}q\x01.", { "pickle", "gnntrain_io" } },
        { "x", "\x89HDF\r\n\x1a\n", { "HDF5" } },
        { "x", "\x01\x02\x03", { "--format", "edgelist" } },
    };
    char path[GNT_TEST_PATH_BYTES];
    gnt_dataset *data = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const paths[] = { gnt_test_write(path, cases[i].name, cases[i].text, -1) };
        const gnt_status st = gntx_import(NULL, paths, 1, NULL, &data, NULL);

        if (st != GNT_ERR_FORMAT && st != GNT_ERR_LIMIT)
            fail_msg("case %zu '%s': %s", i, cases[i].text, gnt_status_name(st));
        for (int w = 0; w < 3 && cases[i].words[w] != NULL; w++)
            gnt_assert_error_has(cases[i].words[w]);
        assert_null(data);
    }
}

static void options_that_do_not_fit_are_usage_errors(void **state)
{
    gntx_import_options options = { .num_nodes = -1 };
    gnt_dataset *data = NULL;

    (void)state;
    options.format = "edgelst";
    gnt_assert_status(import_at("edges.txt", &options, &data), GNT_ERR_USAGE);
    gnt_assert_error_has("edgelst", "edgelist:", "metis:");
    options.format = NULL;
    options.labels = "nowhere";
    gnt_assert_status(import_at("linqs", &options, &data), GNT_ERR_USAGE);
    gnt_assert_error_has("--labels", "linqs");
    options.labels = NULL;
    options.ids = GNTX_IDS_SPARSE;
    gnt_assert_status(import_at("tiny.mtx", &options, &data), GNT_ERR_USAGE);
    gnt_assert_error_has("--ids", "mtx");
    options.ids = GNTX_IDS_AUTO;
    options.num_nodes = 7;
    gnt_assert_status(import_at("tiny.mtx", &options, &data), GNT_ERR_USAGE);
    gnt_assert_error_has("7", "3 nodes");
    gnt_assert_status(import_at("nowhere.txt", NULL, &data), GNT_ERR_IO);
    gnt_assert_error_has("nowhere.txt");
    assert_null(data);
}

static void the_list_of_formats_names_every_reader(void **state)
{
    const gnti_importer *const all[] = { &gnti_import_edge_list, &gnti_import_matrix_market,
                                         &gnti_import_metis,     &gnti_import_npz,
                                         &gnti_import_linqs,     &gnti_import_geom_gcn,
                                         &gnti_import_ogb,       &gnti_import_graphsage,
                                         &gnti_import_debian };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char word[64];

        snprintf(word, sizeof word, "%s: ", all[i]->name);
        assert_non_null(strstr(gntx_import_formats(), word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_market),
        cmocka_unit_test(kinds_of_matrices),
        cmocka_unit_test(metis),
        cmocka_unit_test(linqs),
        cmocka_unit_test(citing_points_to_cited),
        cmocka_unit_test(geom_gcn),
        cmocka_unit_test(npz_benchmark),
        cmocka_unit_test(npz_masks),
        cmocka_unit_test(npz_scipy),
        cmocka_unit_test(ogb),
        cmocka_unit_test(graphsage),
        cmocka_unit_test(debian_index),
        cmocka_unit_test(versions_order_as_debian_says),
        cmocka_unit_test(bad_files_are_refused_with_their_place),
        cmocka_unit_test(options_that_do_not_fit_are_usage_errors),
        cmocka_unit_test(the_list_of_formats_names_every_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
