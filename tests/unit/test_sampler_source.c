/* SPDX-License-Identifier: Apache-2.0 */
/* Batch sources over random graphs: full batch copies nothing; the clusters of an epoch cover each node once
 * and keep exactly the arcs inside; one cluster of everything is full batch; epochs differ, repeats do not.
 */
#include "tests/support/prop.h"

#include "sampler/source.h"

#include <string.h>

enum { WIDTH = 3, CLASSES = 4 };

typedef struct fixture {
    gnti_graph *graph, *sparse;
    gnti_features x;
    int32_t *labels;
    float *target, *weight;
    gnti_source_data data;
} fixture;

static void make_arcs(const gnt_prop_graph *g, gnti_graph **out)
{
    const gnti_arc_list arcs = { g->num_arcs, g->num_arcs, g->source, g->target, g->weight };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report report;

    gnt_assert_ok(gnti_graph_build(g->num_nodes, &arcs, &options, &report, NULL, out));
}

static void fixture_make(fixture *f, gnt_prop_kind kind, uint64_t seed, int64_t n, bool sparse)
{
    gnt_prop_graph g;

    memset(f, 0, sizeof *f);
    gnt_prop_graph_make(kind, seed, n, &g);
    n = g.num_nodes;
    make_arcs(&g, &f->graph);
    gnt_prop_graph_free(&g);
    gnt_assert_ok(gnti_alloc_array(&f->labels, n));
    gnt_assert_ok(gnti_alloc_array(&f->weight, n));
    gnt_assert_ok(gnti_alloc_array(&f->target, n * CLASSES));
    gnt_assert_ok(gnti_alloc_array(&f->x.dense, n * WIDTH));
    gnt_test_fill(f->target, n * CLASSES, 1);
    gnt_test_fill(f->x.dense, n * WIDTH, 2);
    for (int64_t i = 0; i < n; i++) {
        f->labels[i] = (int32_t)(i % CLASSES);
        f->weight[i] = i % 3 == 0 ? 0.0f : 0.5f + (float)(i % 5);
    }
    f->x.rows = n;
    f->x.width = WIDTH;
    if (sparse) { /* row i has i % 3 entries */
        gnt_assert_ok(gnti_graph_alloc(n, WIDTH, n + n, true, &f->sparse));
        f->sparse->num_arcs = 0;
        for (int64_t i = 0; i < n; i++) {
            for (int32_t c = 0; c < i % 3; c++) {
                f->sparse->columns[f->sparse->num_arcs] = c;
                f->sparse->weights[f->sparse->num_arcs++] = (float)(10 * i + c);
            }
            f->sparse->offsets[i + 1] = f->sparse->num_arcs;
        }
        gnti_free(f->x.dense);
        f->x.dense = NULL;
        f->x.sparse = f->sparse;
    }
    f->data = (gnti_source_data){ .graph = f->graph,
                                  .x = &f->x,
                                  .labels = f->labels,
                                  .target = f->target,
                                  .num_classes = CLASSES,
                                  .weight = f->weight,
                                  .num_adjs = 2 };
}

static void fixture_free(fixture *f)
{
    gnti_graph_free(&f->graph);
    gnti_graph_free(&f->sparse);
    gnti_free(f->x.dense);
    gnti_free(f->labels);
    gnti_free(f->target);
    gnti_free(f->weight);
}

static void test_full_batch_copies_nothing(void **state)
{
    fixture f;
    gnti_source *s = NULL;
    gnti_source_batch b;

    (void)state;
    fixture_make(&f, GNT_PROP_SYMMETRIC, 1, 40, false);
    GNT_BRUTAL_OUT(gnti_source_create_full(&f.data, &s), s);
    assert_ptr_equal(gnti_source_whole(s)->forward, f.graph);
    for (int64_t epoch = 0; epoch < 3; epoch++) {
        gnti_source_begin(s, epoch, 0);
        assert_false(gnti_source_ended(s));
        assert_true(gnti_source_next(s, &b));
        assert_int_equal(b.same, epoch > 0);
        assert_ptr_equal(b.bind.x, &f.x);
        assert_ptr_equal(b.bind.labels, f.labels);
        assert_ptr_equal(b.bind.adj[0], b.bind.adj[1]);
        assert_ptr_equal(b.bind.adj[0]->forward, f.graph);
        assert_int_equal(b.num_rows, 40);
        assert_false(gnti_source_next(s, &b));
        assert_true(gnti_source_ended(s));
        gnt_assert_ok(gnti_source_status(s));
    }
    gnti_source_begin(s, 3, 1); /* a stop after its only batch: nothing is left of the epoch */
    assert_false(gnti_source_next(s, &b));
    gnti_source_free(&s);
    gnti_source_free(&s);
    fixture_free(&f);
}

/* Row i of the batch against the node it stands for. */
static void check_rows(const fixture *f, const gnti_source_batch *b)
{
    const gnti_operator *op = b->bind.adj[0];
    double sum = 0.0;

    assert_int_equal(op->num_src, b->num_rows);
    assert_int_equal(b->bind.x->rows, b->num_rows);
    for (int64_t r = 0; r < b->num_rows; r++) {
        const int64_t node = op->src_ids[r];

        assert_true(r == 0 || node > op->src_ids[r - 1]);
        assert_int_equal(b->bind.labels[r], f->labels[node]);
        gnt_assert_same_bits(b->bind.weight + r, f->weight + node, 1);
        gnt_assert_same_bits(b->bind.target + r * CLASSES, f->target + node * CLASSES, CLASSES);
        sum += (double)f->weight[node];
        if (b->bind.x->dense != NULL) {
            gnt_assert_same_bits(b->bind.x->dense + r * WIDTH, f->x.dense + node * WIDTH, WIDTH);
        } else {
            const gnti_graph *got = b->bind.x->sparse, *want = f->x.sparse;

            assert_int_equal(got->offsets[r + 1] - got->offsets[r],
                             want->offsets[node + 1] - want->offsets[node]);
            gnt_assert_same_bits(got->weights + got->offsets[r], want->weights + want->offsets[node],
                                 got->offsets[r + 1] - got->offsets[r]);
            gnt_assert_same_i32(got->columns + got->offsets[r], want->columns + want->offsets[node],
                                got->offsets[r + 1] - got->offsets[r]);
        }
    }
    assert_true(sum == b->weight_sum);
}

/* Arcs of the whole graph with both ends in the batch, loops apart. */
static int64_t arcs_inside(const fixture *f, const gnti_source_batch *b)
{
    const gnti_operator *op = b->bind.adj[0];
    uint8_t *in = NULL;
    int64_t num = 0;

    gnt_assert_ok(gnti_calloc_array(&in, f->graph->num_rows));
    for (int64_t r = 0; r < b->num_rows; r++)
        in[op->src_ids[r]] = 1;
    for (int64_t r = 0; r < f->graph->num_rows; r++)
        for (int64_t a = f->graph->offsets[r]; a < f->graph->offsets[r + 1]; a++)
            num += in[r] && in[f->graph->columns[a]] && f->graph->columns[a] != r;
    gnti_free(in);
    return num;
}

static void cover_epoch(const fixture *f, gnti_source *s, int64_t epoch, int64_t max_rows, int64_t *batch_of)
{
    gnti_source_batch b;
    int64_t rows = 0;

    memset(batch_of, 0xff, (size_t)f->graph->num_rows * sizeof *batch_of);
    gnti_source_begin(s, epoch, 0);
    while (gnti_source_next(s, &b)) {
        check_rows(f, &b);
        assert_true(b.num_rows <= max_rows && max_rows == gnti_source_max_rows(s));
        assert_int_equal(b.bind.adj[0]->forward->num_arcs, arcs_inside(f, &b));
        assert_true(b.bind.adj[0]->forward->num_arcs <= gnti_source_max_arcs(s));
        assert_true(f->x.sparse == NULL || b.bind.x->sparse->num_arcs <= gnti_source_max_entries(s));
        for (int64_t r = 0; r < b.num_rows; r++) {
            assert_int_equal(batch_of[b.bind.adj[0]->src_ids[r]], -1);
            batch_of[b.bind.adj[0]->src_ids[r]] = gnti_source_position(s);
        }
        rows += b.num_rows;
    }
    gnt_assert_ok(gnti_source_status(s));
    assert_true(gnti_source_ended(s));
    assert_int_equal(rows, f->graph->num_rows);
}

static void test_clusters_cover_each_node_once(void **state)
{
    const gnt_prop_kind kinds[] = { GNT_PROP_RANDOM, GNT_PROP_LOOPS, GNT_PROP_STAR, GNT_PROP_POWER_LAW };

    (void)state;
    for (size_t k = 0; k < 4; k++) {
        fixture f;
        gnti_source *s = NULL;
        int64_t *a = NULL, *again = NULL, *other = NULL, n = 0;

        fixture_make(&f, kinds[k], 7, 61, k % 2 == 1);
        n = f.graph->num_rows;
        gnt_assert_ok(gnti_alloc_array(&a, n));
        gnt_assert_ok(gnti_alloc_array(&again, n));
        gnt_assert_ok(gnti_alloc_array(&other, n));
        gnt_assert_ok(gnti_source_create_clusters(&f.data, 7, 3, &s));
        cover_epoch(&f, s, 4, 3 * ((n + 6) / 7), a);
        cover_epoch(&f, s, 5, 3 * ((n + 6) / 7), other);
        cover_epoch(&f, s, 4, 3 * ((n + 6) / 7), again);
        gnt_assert_same_i64(again, a, n);
        assert_memory_not_equal(other, a, (size_t)n * sizeof *a);
        gnti_free(a);
        gnti_free(again);
        gnti_free(other);
        gnti_source_free(&s);
        fixture_free(&f);
    }
}

/* Of one chunk a batch the largest batch is known exactly, of several from above, and not by much. */
static void test_the_largest_batch_is_foretold(void **state)
{
    const int64_t per_batch[] = { 1, 2, 5 };

    (void)state;
    for (int k = 0; k < 3; k++) {
        fixture f;
        gnti_source *s = NULL;
        gnti_source_batch b;
        int64_t arcs = 0, entries = 0;

        fixture_make(&f, GNT_PROP_RANDOM, 11, 400, true);
        gnt_assert_ok(gnti_source_create_clusters(&f.data, 10, per_batch[k], &s));
        for (int64_t epoch = 0; epoch < 40; epoch++) {
            gnti_source_begin(s, epoch, 0);
            while (gnti_source_next(s, &b)) {
                arcs = gnti_max_i64(arcs, b.bind.adj[0]->forward->num_arcs);
                entries = gnti_max_i64(entries, b.bind.x->sparse->num_arcs);
            }
        }
        assert_true(arcs > 0 && arcs <= gnti_source_max_arcs(s) && gnti_source_max_arcs(s) <= 3 * arcs);
        assert_true(entries <= gnti_source_max_entries(s) && gnti_source_max_entries(s) <= 2 * entries);
        if (per_batch[k] == 1) {
            assert_int_equal(gnti_source_max_arcs(s), arcs);
            assert_int_equal(gnti_source_max_entries(s), entries);
        }
        gnti_source_free(&s);
        fixture_free(&f);
    }
}

static void test_a_cut_epoch_goes_on_where_it_was(void **state)
{
    fixture f;
    gnti_source *s = NULL;
    gnti_source_batch b;
    int64_t first_ids[4] = { 0 };

    (void)state;
    fixture_make(&f, GNT_PROP_RANDOM, 2, 50, false);
    gnt_assert_ok(gnti_source_create_clusters(&f.data, 5, 1, &s));
    gnti_source_begin(s, 9, 0);
    for (int i = 0; i < 4; i++) {
        assert_true(gnti_source_next(s, &b));
        first_ids[i] = b.bind.adj[0]->src_ids[0];
    }
    gnti_source_begin(s, 9, 2);
    for (int i = 2; i < 4; i++) {
        assert_true(gnti_source_next(s, &b));
        assert_int_equal(b.bind.adj[0]->src_ids[0], first_ids[i]);
    }
    gnti_source_free(&s);
    fixture_free(&f);
}

static void test_one_batch_of_everything_is_full_batch(void **state)
{
    fixture f;
    gnti_source *full = NULL, *clusters = NULL;
    gnti_source_batch a, b;

    (void)state;
    fixture_make(&f, GNT_PROP_LOOPS, 3, 45, false);
    gnt_assert_ok(gnti_source_create_full(&f.data, &full));
    gnt_assert_ok(gnti_source_create_clusters(&f.data, 6, 6, &clusters));
    gnti_source_begin(full, 0, 0);
    assert_true(gnti_source_next(full, &a));
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        const gnti_operator *x = NULL, *y = NULL;

        gnti_source_begin(clusters, epoch, 0);
        assert_true(gnti_source_next(clusters, &b));
        assert_int_equal(b.same, epoch > 0);
        x = a.bind.adj[0];
        y = b.bind.adj[0];
        assert_int_equal(y->num_src, x->num_src);
        gnt_assert_same_i64(y->forward->offsets, x->forward->offsets, x->num_dst + 1);
        gnt_assert_same_i32(y->forward->columns, x->forward->columns, x->forward->num_arcs);
        gnt_assert_same_bits(y->sym_scale, x->sym_scale, x->num_src);
        gnt_assert_same_bits(b.bind.x->dense, f.x.dense, 45 * WIDTH);
        for (int64_t r = 0; r < 45; r++)
            assert_int_equal(y->src_ids[r], r);
        assert_true(a.weight_sum == b.weight_sum);
        assert_false(gnti_source_next(clusters, &b));
    }
    gnti_source_free(&full);
    gnti_source_free(&clusters);
    fixture_free(&f);
}

static void test_inductive_sees_only_its_nodes(void **state)
{
    fixture f;
    gnti_source *s = NULL;
    gnti_source_batch b;
    const int64_t nodes[] = { 2, 5, 7, 8, 20, 33 };

    (void)state;
    fixture_make(&f, GNT_PROP_STAR, 3, 40, true);
    f.data.nodes = nodes;
    f.data.num_nodes = 6;
    GNT_BRUTAL_OUT(gnti_source_create_full(&f.data, &s), s);
    gnti_source_begin(s, 0, 0);
    assert_true(gnti_source_next(s, &b));
    check_rows(&f, &b);
    gnt_assert_same_i64(b.bind.adj[0]->src_ids, nodes, 6);
    assert_int_equal(b.bind.adj[0]->forward->num_arcs, 0); /* the hub is not among them */
    gnti_source_free(&s);
    gnt_assert_ok(gnti_source_create_clusters(&f.data, 2, 1, &s));
    gnti_source_begin(s, 0, 0);
    while (gnti_source_next(s, &b)) {
        check_rows(&f, &b);
        assert_int_equal(b.num_rows, 3);
    }
    gnti_source_free(&s);
    fixture_free(&f);
}

static void test_batches_without_loss_are_passed_over(void **state)
{
    fixture f;
    gnti_source *s = NULL;
    gnti_source_batch b;
    int64_t handed = 0;

    (void)state;
    fixture_make(&f, GNT_PROP_PATH, 3, 30, false);
    memset(f.weight, 0, 30 * sizeof *f.weight);
    f.weight[11] = 1.0f;
    gnt_assert_ok(gnti_source_create_clusters(&f.data, 10, 1, &s));
    gnti_source_begin(s, 0, 0);
    while (gnti_source_next(s, &b))
        handed++;
    assert_int_equal(handed, 1);
    assert_true(gnti_source_ended(s));
    gnti_source_free(&s);
    fixture_free(&f);
}

static void test_refusals_and_failing_allocations(void **state)
{
    fixture f;
    gnti_source *s = NULL;
    gnti_source_batch b;

    (void)state;
    fixture_make(&f, GNT_PROP_RANDOM, 3, 20, false);
    gnt_assert_status(gnti_source_create_clusters(&f.data, 21, 1, &s), GNT_ERR_USAGE);
    gnt_assert_error_has("21 clusters", "20 nodes");
    gnt_assert_status(gnti_source_create_clusters(&f.data, 3, 4, &s), GNT_ERR_USAGE);
    assert_null(s);
    GNT_BRUTAL_OUT(gnti_source_create_clusters(&f.data, 4, 1, &s), s);
    gnti_source_begin(s, 0, 0);
    gnti_alloc_fail_at(3);
    assert_false(gnti_source_next(s, &b));
    gnti_alloc_fail_at(-1);
    assert_int_equal(gnti_source_status(s), GNT_ERR_NOMEM);
    assert_false(gnti_source_ended(s));
    gnti_source_begin(s, 0, 0);
    assert_true(gnti_source_next(s, &b));
    check_rows(&f, &b);
    gnti_source_free(&s);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_batch_copies_nothing),
        cmocka_unit_test(test_clusters_cover_each_node_once),
        cmocka_unit_test(test_the_largest_batch_is_foretold),
        cmocka_unit_test(test_a_cut_epoch_goes_on_where_it_was),
        cmocka_unit_test(test_one_batch_of_everything_is_full_batch),
        cmocka_unit_test(test_inductive_sees_only_its_nodes),
        cmocka_unit_test(test_batches_without_loss_are_passed_over),
        cmocka_unit_test(test_refusals_and_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
