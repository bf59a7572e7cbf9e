/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming partitioners: a file gives the vector that memory gives, balance holds, no chunk is empty, structured graphs get
 * at most half of a random cut's halo, and the quality counted in passing is the one of a graph in memory.
 */
#include "tests/support/prop.h"

#include <gnntrain/experimental.h>

#include "datasets/arc_stream.h"
#include "datasets/import.h"
#include "partition/partition_internal.h"

#include <math.h>
#include <string.h>

static gnti_graph *build(const gnt_prop_graph *p, bool symmetric)
{
    const gnti_arc_list arcs = { p->num_arcs, p->num_arcs, p->source, p->target, NULL };
    const gnti_build_options options = { .symmetrise = symmetric, .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report report;
    gnti_graph *g = NULL;

    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &options, &report, NULL, &g));
    return g;
}

/* A file of the graph, which it takes over. */
static void save(gnti_graph *g, bool directed, char path[GNT_TEST_PATH_BYTES])
{
    gnt_dataset *d = NULL;

    gnt_assert_ok(gnti_dataset_create(NULL, g->num_rows, &d));
    d->graph = g;
    d->directed = directed;
    gnt_assert_ok(gnti_dataset_hash(d));
    gnt_assert_ok(gnti_dataset_write(d, gnt_test_path(path, "graph.h5")));
    gnt_dataset_free(&d);
}

static int64_t count(const gnti_json *quality, const char *key)
{
    int64_t value = -1;

    gnt_assert_ok(gnti_json_get_int(quality, key, &value));
    return value;
}

/* The vector in memory, renumbered as a maker does. */
static void cut_in_memory(const gnti_graph *g, const gnti_partition_config *c, int32_t *chunk_of)
{
    gnti_cut_targets *t = NULL;

    gnt_assert_ok(gnti_cut_targets_make(g->num_rows, c, &t));
    if (c->method == GNTI_PART_RANGE)
        gnt_assert_ok(gnti_cut_range(g->num_rows, t, chunk_of));
    else if (c->method == GNTI_PART_RANDOM)
        gnt_assert_ok(gnti_cut_random(g->num_rows, t, c->seed, chunk_of));
    else
        gnt_assert_ok(gnti_cut_stream(g, c, t, chunk_of));
    if (c->method != GNTI_PART_RANGE)
        gnt_assert_ok(gnti_tree_renumber(g, t->num_chunks, t->num_shares, t->share_chunks, chunk_of));
    gnti_cut_targets_free(&t);
}

static const char *compare_quality(const gnti_graph *g, const gnti_partition *p)
{
    gnti_quality *q = NULL;
    gnti_json *want = NULL;
    const char *broken = NULL;

    gnt_assert_ok(gnti_quality_measure(g, p->chunk_of, p->num_chunks, NULL, &q));
    gnt_assert_ok(gnti_quality_to_json(q, &want));
    for (int64_t i = 0; i < gnti_json_length(want); i++) {
        const char *key = gnti_json_key_at(want, i);
        char *a = NULL, *b = NULL;

        gnt_assert_ok(gnti_json_print(gnti_json_find(want, key), false, &a));
        gnt_assert_ok(gnti_json_print(gnti_json_find(p->quality, key), false, &b));
        if (strcmp(a, b) != 0)
            broken = "the quality is that of the graph in memory";
        gnti_free(a);
        gnti_free(b);
    }
    gnti_json_free(&want);
    gnti_quality_free(&q);
    return broken;
}

static const char *check_stream(const gnt_prop_graph *g, void *user)
{
    static const gnti_partition_method methods[] = { GNTI_PART_LDG, GNTI_PART_FENNEL, GNTI_PART_RANGE,
                                                     GNTI_PART_RANDOM };
    const double shares[] = { 0.5, 0.3, 0.2 };
    const char *broken = NULL;

    (void)user;
    if (g->num_nodes < 7)
        return NULL;
    for (int i = 0; i < 16 && broken == NULL; i++) {
        const bool directed = i % 8 >= 4;
        const gnti_partition_config c = { .method = methods[i % 4],
                                          .num_chunks = i < 8 ? 5 : 7,
                                          .seed = 3,
                                          .tolerance = 1.1,
                                          .shares = i < 8 ? NULL : shares,
                                          .num_shares = i < 8 ? 0 : 3 };
        gnti_graph *graph = build(g, !directed), *mine = build(g, !directed);
        gnti_partition *p = NULL;
        int32_t *chunk_of = NULL;
        char path[GNT_TEST_PATH_BYTES];

        gnt_assert_ok(gnti_alloc_array(&chunk_of, graph->num_rows));
        cut_in_memory(mine, &c, chunk_of);
        save(graph, directed, path);
        gnt_assert_ok(gnti_partition_stream(path, &c, &p));
        if (memcmp(chunk_of, p->chunk_of, (size_t)mine->num_rows * sizeof *chunk_of) != 0)
            broken = "the file gives the vector that memory gives";
        if (count(p->quality, "empty") != 0 || p->num_chunks != c.num_chunks)
            broken = "no chunk is empty";
        if (!directed && broken == NULL)
            broken = compare_quality(mine, p);
        gnti_partition_free(&p);
        gnti_free(chunk_of);
        gnti_graph_free(&mine);
    }
    return broken;
}

static void test_same_as_memory(void **state)
{
    (void)state;
    gnt_prop_run("streams cut as memory does", check_stream, NULL, 1, 60);
}

/* --- quality on graphs with a structure --- */

static void generate(const char *kind, const gntx_generate_options *o, char path[GNT_TEST_PATH_BYTES])
{
    gnt_dataset *d = NULL;

    gnt_assert_ok(gntx_generate(NULL, kind, o, &d, NULL));
    gnt_assert_ok(gnti_dataset_write(d, gnt_test_path(path, "generated.h5")));
    gnt_dataset_free(&d);
}

/* Halo of a method against random's, and how far the heaviest chunk is over its share. */
static void check_halo(const char *name, const char *path, gnti_partition_method method, int32_t num_chunks,
                       double most)
{
    gnti_partition_config c = { .method = GNTI_PART_RANDOM, .num_chunks = num_chunks, .seed = 1 };
    gnti_partition *random = NULL, *p = NULL;
    double ratio, work = 0.0, heaviest = 0.0;

    gnt_assert_ok(gnti_partition_stream(path, &c, &random));
    c.method = method;
    gnt_assert_ok(gnti_partition_stream(path, &c, &p));
    ratio = (double)count(p->quality, "volume") / (double)count(random->quality, "volume");
    for (int32_t k = 0; k < num_chunks; k++) {
        int64_t arcs, nodes;

        assert_true(gnti_json_to_int(gnti_json_at(gnti_json_find(p->quality, "arcs"), k), &arcs));
        assert_true(gnti_json_to_int(gnti_json_at(gnti_json_find(p->quality, "nodes"), k), &nodes));
        work += (double)(arcs + nodes);
        heaviest = fmax(heaviest, (double)(arcs + nodes));
    }
    print_message("%s, %d chunks, %s: halo %.3f of random's, heaviest %.3f of the mean, %lld passes\n", name,
                  num_chunks, p->method, ratio, heaviest * num_chunks / work,
                  (long long)count(gnti_json_find(p->quality, "made"), "passes"));
    assert_true(ratio <= most);
    assert_true(heaviest * num_chunks / work <= 1.06);
    gnti_partition_free(&random);
    gnti_partition_free(&p);
}

static void test_structured(void **state)
{
    const gntx_generate_options grid = { .rows = 200,
                                         .columns = 200,
                                         .scale = 14,
                                         .edge_factor = 16,
                                         .degree = 10.0,
                                         .homophily = 0.8,
                                         .feature_signal = 1.0 };
    const gntx_generate_options csbm = { .nodes = 20000,
                                         .classes = 8,
                                         .features = 1,
                                         .scale = 14,
                                         .edge_factor = 16,
                                         .rows = 32,
                                         .columns = 32,
                                         .degree = 20.0,
                                         .homophily = 0.95,
                                         .feature_signal = 1.0 };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    generate("grid", &grid, path);
    for (int32_t k = 4; k <= 64; k *= 4) {
        check_halo("grid", path, GNTI_PART_LDG, k, 0.5);
        check_halo("grid", path, GNTI_PART_FENNEL, k, 0.5);
    }
    generate("csbm", &csbm, path);
    check_halo("csbm", path, GNTI_PART_LDG, 8, 0.5);
    check_halo("csbm", path, GNTI_PART_FENNEL, 8, 0.5);
}

static void test_4elt(void **state)
{
    gntx_import_options o = { .num_nodes = -1 };
    char source[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES];
    const char *list[] = { gnt_test_data(source, "metis/4elt.graph") };
    gnt_dataset *d = NULL;

    (void)state;
    gnt_assert_ok(gntx_import(NULL, list, 1, &o, &d, NULL));
    gnt_assert_ok(gnti_dataset_write(d, gnt_test_path(path, "4elt.h5")));
    gnt_dataset_free(&d);
    for (int32_t k = 4; k <= 64; k *= 4) {
        check_halo("4elt", path, GNTI_PART_LDG, k, 0.5);
        check_halo("4elt", path, GNTI_PART_FENNEL, k, 0.5);
    }
}

/* A hub that outweighs a chunk, and as many chunks as nodes. */
static void test_extremes(void **state)
{
    const gntx_generate_options star = { .nodes = 1000,
                                         .scale = 14,
                                         .edge_factor = 16,
                                         .rows = 32,
                                         .columns = 32,
                                         .degree = 10.0,
                                         .homophily = 0.8,
                                         .feature_signal = 1.0 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_partition *p = NULL;

    (void)state;
    generate("star", &star, path);
    for (int32_t k = 1; k <= 1000; k = k * 10) {
        for (int m = GNTI_PART_LDG; m <= GNTI_PART_RANDOM; m++) {
            const gnti_partition_config c = { .method = (gnti_partition_method)m, .num_chunks = k };

            gnt_assert_ok(gnti_partition_stream(path, &c, &p));
            assert_int_equal(count(p->quality, "empty"), 0);
            gnti_partition_free(&p);
        }
    }
    const gnti_partition_config many = { .method = GNTI_PART_LDG, .num_chunks = 1001 };

    gnt_assert_status(gnti_partition_stream(path, &many, &p), GNT_ERR_USAGE);
    gnt_assert_error_has("1001 chunks", "1000 nodes", "--chunks");
    const gnti_partition_config metis = { .method = GNTI_PART_METIS, .num_chunks = 4 };

    gnt_assert_status(gnti_partition_stream(path, &metis, &p), GNT_ERR_USAGE);
    gnt_assert_error_has("--method ldg");
    assert_null(p);
    const gnti_partition_config fine = { .method = GNTI_PART_FENNEL, .num_chunks = 8 };

    GNT_BRUTAL_OUT(gnti_partition_stream(path, &fine, &p), p);
    gnti_partition_free(&p);
}

/* chunk(v) = v K div N, and shares in their proportion. */
static void test_range(void **state)
{
    gnti_partition_config c = { .method = GNTI_PART_RANGE, .num_chunks = 7 };
    const double shares[] = { 4.0 / 7, 2.0 / 7, 1.0 / 7 };
    gnti_cut_targets *t = NULL;
    int32_t chunk_of[100], held[7] = { 0 };

    (void)state;
    gnt_assert_ok(gnti_cut_targets_make(100, &c, &t));
    gnt_assert_ok(gnti_cut_range(100, t, chunk_of));
    for (int32_t v = 0; v < 100; v++)
        assert_int_equal(chunk_of[v], v * 7 / 100);
    gnti_cut_targets_free(&t);
    c.shares = shares;
    c.num_shares = 3;
    gnt_assert_ok(gnti_cut_targets_make(100, &c, &t));
    gnt_assert_ok(gnti_cut_random(100, t, 5, chunk_of));
    for (int32_t v = 0; v < 100; v++)
        held[chunk_of[v]]++;
    for (int32_t k = 0; k < 7; k++)
        assert_in_range(held[k], 14, 15);
    gnti_cut_targets_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_as_memory), cmocka_unit_test(test_structured), cmocka_unit_test(test_4elt),
        cmocka_unit_test(test_extremes),       cmocka_unit_test(test_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
