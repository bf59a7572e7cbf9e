/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, renamed and cut datasets: every optional member follows. Per-arc values of the test dataset tell their ends, so
 * an arc that lost its value shows.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "base/philox.h"

#include <stdio.h>
#include <string.h>

/* Shuffles 0..n-1 within each of the three graphs. */
static int64_t *shuffle_graphs(int64_t n, uint64_t seed)
{
    int64_t *rank = NULL;

    gnt_assert_ok(gnti_alloc_array(&rank, n));
    for (int64_t g = 0; g < 3; g++) {
        const int64_t begin = n * g / 3, end = n * (g + 1) / 3;

        for (int64_t i = begin; i < end; i++) {
            const int64_t j = begin + (int64_t)gnti_below(
                                          gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_PERMUTE, 0, 0, i, 0),
                                          (uint32_t)(i - begin + 1));

            rank[i] = rank[j];
            rank[j] = i;
        }
    }
    return rank;
}

static gnt_full_options options_of(int bits)
{
    return (gnt_full_options){ .seed = (uint64_t)bits,
                               .num_nodes = 9 + bits,
                               .directed = bits & 1,
                               .weighted = bits & 2,
                               .sparse = bits & 4,
                               .text_ids = bits & 8,
                               .labels = (gnt_label_kind)(bits % 4) };
}

static void copies_are_equal(void **state)
{
    (void)state;
    for (int bits = 0; bits < 16; bits++) {
        const gnt_full_options o = options_of(bits);
        gnt_dataset *d = gnt_full_dataset(&o), *copy = NULL;

        gnt_assert_ok(gnti_dataset_copy(d, &copy));
        assert_null(gnt_dataset_difference(d, copy));
        assert_string_equal(copy->content_sha256, d->content_sha256);
        gnt_dataset_free(&d);
        gnt_dataset_free(&copy);
    }
}

static void there_and_back_is_the_same(void **state)
{
    (void)state;
    for (int bits = 0; bits < 16; bits++) {
        const gnt_full_options o = options_of(bits);
        gnt_dataset *d = gnt_full_dataset(&o), *p = NULL, *back = NULL;
        int64_t *rank = shuffle_graphs(o.num_nodes, 5), *inverse = NULL;
        const char *difference;

        gnt_assert_ok(gnti_graph_invert(rank, o.num_nodes, &inverse));
        gnt_assert_ok(gnti_dataset_permute(d, rank, &p));
        gnt_assert_ok(gnti_dataset_validate(p));
        gnt_assert_ok(gnti_dataset_permute(p, inverse, &back));
        difference = gnt_dataset_difference(d, back);
        if (difference != NULL)
            fail_msg("%s differ for bits %d", difference, bits);
        gnti_free(rank);
        gnti_free(inverse);
        gnt_dataset_free(&d);
        gnt_dataset_free(&p);
        gnt_dataset_free(&back);
    }
}

/* The members of `to`, whose node i was node nodes[i] of the test dataset. */
static void check_members(const gnt_dataset *from, const gnt_dataset *to, const int64_t *nodes)
{
    const int64_t *origin = gnti_dataset_find_array(to, "/nodes/origin")->data;
    const int64_t *arc_id = gnti_dataset_find_array(to, "/edges/id")->data;
    const double *arc_time = gnti_dataset_find_array(to, "/edges/time")->data;
    const gnti_array *pairs = gnti_dataset_find_array(to, "/pairs/nodes"),
                     *y = gnti_dataset_find_array(to, "/pairs/y");

    for (int64_t i = 0; i < to->num_nodes; i++) {
        assert_int_equal(origin[i], nodes[i]);
        assert_int_equal(to->id[i], 1000 + 7 * nodes[i]);
        assert_int_equal(to->y.class_of[i], from->y.class_of[nodes[i]]);
        assert_memory_equal(to->x.dense + i * to->x.width, from->x.dense + nodes[i] * to->x.width,
                            (size_t)to->x.width * 4);
        for (int64_t a = to->graph->offsets[i]; a < to->graph->offsets[i + 1]; a++) {
            assert_int_equal(arc_id[a], 1000 * nodes[i] + nodes[to->graph->columns[a]]);
            assert_true(arc_time[a] == (double)arc_id[a] + 0.25);
        }
    }
    assert_int_equal(pairs->rows, y->rows);
    for (int64_t i = 0; i < pairs->rows; i++) {
        const int64_t *ends = (const int64_t *)pairs->data + 2 * i;

        assert_int_equal(nodes[ends[0]] + nodes[ends[1]], from->num_nodes - 1);
        assert_true(((float *)y->data)[i] == (float)nodes[ends[0]]);
    }
    for (int64_t s = 0; s < to->num_splits; s++)
        for (int part = 0; part < 3; part++)
            for (int64_t i = 0; i < to->splits[s].num_nodes[part]; i++)
                assert_int_equal(nodes[to->splits[s].nodes[part][i]] % 4, part);
}

static void members_follow_a_choice(void **state)
{
    const gnt_full_options o = { .seed = 3, .num_nodes = 30, .weighted = true, .labels = GNT_LABELS_CLASS };
    gnt_dataset *d = gnt_full_dataset(&o), *s = NULL;
    const int64_t nodes[] = { 7, 3, 1, 9, 8, 25, 22, 21, 28, 20 }; /* graph 1 loses all its nodes */
    const int64_t *ptr;

    (void)state;
    gnt_assert_ok(gnti_dataset_subgraph(d, nodes, 10, &s));
    gnt_assert_ok(gnti_dataset_validate(s));
    check_members(d, s, nodes);
    ptr = gnti_dataset_find_array(s, "/graphs/ptr")->data;
    assert_true(ptr[0] == 0 && ptr[1] == 5 && ptr[2] == 5 && ptr[3] == 10);
    assert_int_equal(gnti_dataset_find_array(s, "/graphs/kind")->rows, 3);
    assert_int_equal(gnti_dataset_find_array(s, "/pairs/nodes")->rows, 8);
    assert_int_equal(s->splits[0].num_nodes[0], 3); /* 8, 28, 20 */
    gnt_dataset_free(&d);
    gnt_dataset_free(&s);
}

/* A selection of a selection still names the rows of the first dataset. */
static void origin_is_composed(void **state)
{
    const gnt_full_options o = { .seed = 3, .num_nodes = 12 };
    gnt_dataset *d = gnt_full_dataset(&o), *s = NULL, *t = NULL;
    const int64_t first[] = { 3, 1, 6, 10 }, second[] = { 1, 3 };
    const int64_t *origin;

    (void)state;
    gnt_assert_ok(gnti_dataset_subgraph(d, first, 4, &s));
    gnt_assert_ok(gnti_dataset_subgraph(s, second, 2, &t));
    origin = gnti_dataset_find_array(t, "/nodes/origin")->data;
    assert_true(origin[0] == 1 && origin[1] == 10);
    gnt_dataset_free(&d);
    gnt_dataset_free(&s);
    gnt_dataset_free(&t);
}

static void graphs_must_stay_together(void **state)
{
    const gnt_full_options o = { .seed = 3, .num_nodes = 12 };
    gnt_dataset *d = gnt_full_dataset(&o), *s = NULL;
    const int64_t mixed[] = { 0, 5, 1 }, twice[] = { 0, 0 }, far[] = { 12 };

    (void)state;
    gnt_assert_status(gnti_dataset_subgraph(d, mixed, 3, &s), GNT_ERR_ARG);
    gnt_assert_error_has("node 1", "together");
    gnt_assert_status(gnti_dataset_subgraph(d, twice, 2, &s), GNT_ERR_ARG);
    gnt_assert_status(gnti_dataset_subgraph(d, far, 1, &s), GNT_ERR_ARG);
    assert_null(s);
    gnt_dataset_free(&d);
}

static void every_allocation_may_fail(void **state)
{
    gnt_full_options o = { .seed = 3,
                           .num_nodes = 9,
                           .weighted = true,
                           .sparse = true,
                           .text_ids = true,
                           .labels = GNT_LABELS_MULTI };
    gnt_dataset *d = gnt_full_dataset(&o), *s = NULL, *copy = NULL;
    const int64_t nodes[] = { 2, 0, 5, 8 };

    (void)state;
    GNT_BRUTAL_OUT(gnti_dataset_subgraph(d, nodes, 4, &s), s);
    GNT_BRUTAL_OUT(gnti_dataset_copy(d, &copy), copy);
    gnt_dataset_free(&d);
    gnt_dataset_free(&s);
    gnt_dataset_free(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_equal),          cmocka_unit_test(there_and_back_is_the_same),
        cmocka_unit_test(members_follow_a_choice),   cmocka_unit_test(origin_is_composed),
        cmocka_unit_test(graphs_must_stay_together), cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
