/* SPDX-License-Identifier: Apache-2.0 */
/* Rows streamed from a file equal those read at once, whatever the size of the blocks; the sum of a file that states none is
 * the dataset's; damaged and unsorted adjacencies are refused with their row.
 */
#include "tests/support/prop.h"

#include "datasets/arc_stream.h"
#include "datasets/h5_value.h"

#include <string.h>

/* A file with these arrays and nothing else but what must be there. */
static void write_plain(const char *path, int64_t n, const int64_t *offsets, const int32_t *columns,
                        const float *weights, bool stated)
{
    const int64_t shape[2] = { n, n }, rows = n + 1, arcs = offsets[n];
    gnti_h5 *file = NULL;

    gnt_assert_ok(gnti_h5_create(path, &file));
    gnt_assert_ok(gnti_h5_set_text(file, "/", "format", "gnntrain-graph"));
    gnt_assert_ok(gnti_h5_set_text(file, "/", "format_version", "1.0"));
    gnt_assert_ok(gnti_h5_set_int(file, "/", "directed", 1));
    if (stated)
        gnt_assert_ok(gnti_h5_set_text(file, "/", "graph_sha256",
                                       "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
    gnt_assert_ok(gnti_h5_make_group(file, "/graph/adj"));
    gnt_assert_ok(gnti_h5_set_encoding(file, "/graph/adj", "csr_matrix", "0.1.0"));
    gnt_assert_ok(gnti_h5_write_attribute(file, "/graph/adj", "shape", GNTI_FILE_I64, shape, 2));
    gnt_assert_ok(gnti_h5_write_values(file, "/graph/adj/indptr", GNTI_FILE_I64, 1, &rows, offsets));
    gnt_assert_ok(gnti_h5_write_values(file, "/graph/adj/indices", GNTI_FILE_I32, 1, &arcs, columns));
    if (weights != NULL)
        gnt_assert_ok(gnti_h5_write_values(file, "/graph/adj/data", GNTI_FILE_F32, 1, &arcs, weights));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
}

static const char *check_streamed(const gnti_graph *g, gnti_arc_stream *s)
{
    int64_t next = 0, arcs = 0;
    gnti_arc_block b;

    while (gnti_arc_stream_next(s, &b)) {
        if (b.first_row != next || b.num_rows < 1 || b.first_arc != arcs || b.offsets[0] != 0)
            return "blocks follow each other";
        for (int64_t r = 0; r < b.num_rows; r++)
            if (b.offsets[r + 1] != g->offsets[next + r + 1] - arcs)
                return "offsets are those of the graph";
        if (memcmp(b.columns, g->columns + arcs, (size_t)b.offsets[b.num_rows] * sizeof *b.columns) != 0)
            return "columns are those of the graph";
        next += b.num_rows;
        arcs += b.offsets[b.num_rows];
    }
    gnt_assert_ok(gnti_arc_stream_status(s));
    return next == g->num_rows && arcs == g->num_arcs ? NULL : "all rows come";
}

static const char *check_graph(const gnt_prop_graph *p, void *user)
{
    static const int64_t sizes[][2] = { { 0, 0 }, { 1, 1 }, { 7, 5 }, { 3, 1000 }, { 1000, 16 } };
    const gnti_arc_list arcs = { p->num_arcs, p->num_arcs, p->source, p->target, NULL };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report report;
    gnti_graph *again = NULL;
    gnt_dataset *d = NULL;
    gnti_arc_stream *s = NULL;
    const char *broken = NULL;
    char path[GNT_TEST_PATH_BYTES], content[65], graph[65];

    (void)user;
    gnt_assert_ok(gnti_dataset_create(NULL, p->num_nodes, &d));
    gnt_assert_ok(gnti_graph_build(p->num_nodes, &arcs, &options, &report, NULL, &d->graph));
    d->directed = true;
    gnt_assert_ok(gnti_dataset_sums(d, graph, content));
    write_plain(gnt_test_path(path, "stream.h5"), p->num_nodes, d->graph->offsets, d->graph->columns, NULL,
                false);
    gnt_assert_ok(gnti_arc_stream_open(path, &s));
    if (strcmp(gnti_arc_stream_get_facts(s)->graph_sha256, graph) != 0)
        broken = "the sum is the dataset's";
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && broken == NULL; i++) {
        gnti_arc_stream_set_block(s, sizes[i][0], sizes[i][1]);
        broken = check_streamed(d->graph, s);
    }
    gnt_assert_ok(gnti_arc_stream_read_graph(s, &again));
    gnt_assert_ok(gnti_graph_validate(again));
    if (again->num_arcs != d->graph->num_arcs)
        broken = "all arcs are read";
    gnti_graph_free(&again);
    gnti_arc_stream_close(&s);
    gnt_dataset_free(&d);
    return broken;
}

static void test_blocks(void **state)
{
    (void)state;
    gnt_prop_run("streamed rows are the graph's", check_graph, NULL, 2, 60);
}

/* Weights enter the sum only when one is not 1, as in the dataset's. */
static void test_weighted_sum(void **state)
{
    int64_t offsets[] = { 0, 1, 3 };
    int32_t columns[] = { 1, 0, 1 };
    float weights[] = { 1.0f, 1.0f, 1.0f };
    gnti_graph g = { 2, 2, 3, offsets, columns, NULL, true };
    char path[GNT_TEST_PATH_BYTES], content[65], graph[65];

    (void)state;
    for (int round = 0; round < 2; round++) {
        gnti_arc_stream *s = NULL;
        gnt_dataset d = { .num_nodes = 2, .graph = &g, .directed = true };

        g.weights = round == 1 ? weights : NULL;
        gnt_assert_ok(gnti_dataset_sums(&d, graph, content));
        write_plain(gnt_test_path(path, "weighted.h5"), 2, offsets, columns, weights, false);
        gnt_assert_ok(gnti_arc_stream_open(path, &s));
        assert_string_equal(gnti_arc_stream_get_facts(s)->graph_sha256, graph);
        gnti_arc_stream_close(&s);
        weights[2] = 0.5f;
    }
}

static void refuse(int64_t n, const int64_t *offsets, const int32_t *columns, gnt_status want, const char *a,
                   const char *b)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_arc_stream *s = NULL;
    gnti_graph *g = NULL;

    write_plain(gnt_test_path(path, "bad.h5"), n, offsets, columns, NULL, true);
    gnt_assert_ok(gnti_arc_stream_open(path, &s));
    gnt_assert_status(gnti_arc_stream_read_graph(s, &g), want);
    gnt_assert_error_has("bad.h5", a, b);
    gnti_arc_stream_close(&s);
}

static void test_refusals(void **state)
{
    static const int64_t fine[] = { 0, 2, 3, 3 }, falls[] = { 0, 3, 2, 3 }, early[] = { 1, 2, 3, 3 };
    static const int32_t unsorted[] = { 2, 1, 0 }, repeated[] = { 1, 1, 0 }, outside[] = { 0, 3, 1 },
                         negative[] = { 0, 1, -1 }, sorted[] = { 0, 1, 2 };
    gnti_arc_stream *s = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    refuse(3, fine, unsorted, GNT_ERR_UNSUPPORTED, "row 0", "not sorted");
    refuse(3, fine, repeated, GNT_ERR_UNSUPPORTED, "row 0", "column 1 behind 1");
    refuse(3, fine, outside, GNT_ERR_FORMAT, "column 3", "0 .. 2");
    refuse(3, fine, negative, GNT_ERR_FORMAT, "row 1", "column -1");
    refuse(3, falls, sorted, GNT_ERR_FORMAT, "row 1", "not monotone");
    refuse(3, early, sorted, GNT_ERR_FORMAT, "starts with 1", "expected 0");
    gnt_test_write(path, "text.h5", "no file of HDF5", -1);
    gnt_assert_status(gnti_arc_stream_open(path, &s), GNT_ERR_FORMAT);
    gnt_assert_status(gnti_arc_stream_open("/nowhere/x.h5", &s), GNT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_weighted_sum),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
