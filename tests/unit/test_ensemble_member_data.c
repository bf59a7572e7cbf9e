/* SPDX-License-Identifier: Apache-2.0 */
/* Folds, bags and views: each training node is left out exactly once, bags have the right size, dropped edges go in both directions,
 * nothing depends on the order of storage or on labels outside the training set.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/train_case.h"

#include "ensemble/spec.h"

#include <math.h>
#include <string.h>

static train_case c;

static int make_case(void **state)
{
    (void)state;
    train_case_make(&c, 7);
    return 0;
}

static int free_case(void **state)
{
    (void)state;
    train_case_free(&c);
    return 0;
}

static const gnti_split *split_of(const gnt_dataset *data)
{
    const gnti_split *split = NULL;

    gnt_assert_ok(gnti_dataset_find_split(data, NULL, &split));
    return split;
}

static void folds(void **state)
{
    const gnti_split *split = split_of(c.data);
    const int64_t num = split->num_nodes[GNTI_TRAIN];
    int64_t left_out[TRAIN_CASE_NODES] = { 0 };

    (void)state;
    for (int32_t f = 0; f < 5; f++) {
        const gnti_spec_member m = { .fold = f, .num_folds = 5, .fold_seed = 99, .seed = (uint64_t)f + 1 };
        int64_t out_here = 0, by_class[TRAIN_CASE_CLASSES] = { 0 };
        float *w = NULL;

        gnt_assert_ok(gnti_spec_member_weights(&m, c.data, &w));
        for (int64_t i = 0; i < num; i++) {
            const int64_t node = split->nodes[GNTI_TRAIN][i];

            assert_true(w[node] == 0.0f || w[node] == 1.0f);
            if (w[node] == 0.0f) {
                left_out[node]++;
                out_here++;
                if (c.data->y.class_of[node] >= 0)
                    by_class[c.data->y.class_of[node]]++;
            }
        }
        assert_in_range(out_here, num / 5, num / 5 + 1);
        for (int k = 0; k < TRAIN_CASE_CLASSES; k++)
            assert_in_range(by_class[k], 1, 2); /* 8 of a class */
        gnti_free(w);
    }
    for (int64_t i = 0; i < num; i++)
        assert_int_equal(left_out[split->nodes[GNTI_TRAIN][i]], 1);
}

static void bags(void **state)
{
    const gnti_split *split = split_of(c.data);
    const int64_t num = split->num_nodes[GNTI_TRAIN];
    double zero = 0.0;
    float *none = NULL;
    const gnti_spec_member plain = { .seed = 3 };

    (void)state;
    gnt_assert_ok(gnti_spec_member_weights(&plain, c.data, &none));
    assert_null(none);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        const gnti_spec_member m = { .seed = seed, .bagging = 0.8 };
        float *w = NULL, *again = NULL;
        double sum = 0.0;

        gnt_assert_ok(gnti_spec_member_weights(&m, c.data, &w));
        gnt_assert_ok(gnti_spec_member_weights(&m, c.data, &again));
        gnt_assert_same_bits(w, again, TRAIN_CASE_NODES);
        for (int64_t i = 0; i < num; i++) {
            sum += (double)w[split->nodes[GNTI_TRAIN][i]];
            zero += w[split->nodes[GNTI_TRAIN][i]] == 0.0f;
        }
        assert_true(sum == round(0.8 * (double)num));
        gnti_free(w);
        gnti_free(again);
    }
    zero /= 200.0 * (double)num; /* (1 - 1/n)^(0.8 n), within 5 standard errors of independent nodes */
    assert_true(fabs(zero - pow(1.0 - 1.0 / (double)num, round(0.8 * (double)num))) < 0.036);
}

/* Another order of storage: the same nodes by their rows in the first dataset. */
static void order_does_not_matter(void **state)
{
    int64_t rank[TRAIN_CASE_NODES];
    gnt_dataset *moved = NULL;

    (void)state;
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
        rank[i] = (i * 37 + 11) % TRAIN_CASE_NODES;
    gnt_assert_ok(gnti_dataset_permute(c.data, rank, &moved));
    for (int kind = 0; kind < 2; kind++) {
        const gnti_spec_member m = { .seed = 5,
                                     .fold = 1,
                                     .num_folds = kind == 0 ? 3 : 0,
                                     .fold_seed = 8,
                                     .bagging = kind == 0 ? 0.0 : 1.0 };
        float *a = NULL, *b = NULL;

        gnt_assert_ok(gnti_spec_member_weights(&m, c.data, &a));
        gnt_assert_ok(gnti_spec_member_weights(&m, moved, &b));
        for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
            assert_true(a[i] == b[rank[i]]);
        gnti_free(a);
        gnti_free(b);
    }
    {
        const gnti_spec_member m = { .view = { .drop_edges = 0.3, .drop_features = 0.4, .seed = 17 } };
        gnt_dataset *a = NULL, *b = NULL, *back = NULL;
        int64_t inverse[TRAIN_CASE_NODES];

        gnt_assert_ok(gnti_spec_member_dataset(&m, c.data, &a));
        gnt_assert_ok(gnti_spec_member_dataset(&m, moved, &b));
        for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
            inverse[rank[i]] = i;
        gnt_assert_ok(gnti_dataset_permute(b, inverse, &back));
        assert_string_equal(a->content_sha256, back->content_sha256);
        assert_string_not_equal(a->content_sha256, c.data->content_sha256);
        gnt_dataset_free(&a);
        gnt_dataset_free(&b);
        gnt_dataset_free(&back);
    }
    gnt_dataset_free(&moved);
}

static void drops_edges(void **state)
{
    const gnti_spec_member m = { .view = { .drop_edges = 0.3, .seed = 4 } };
    const gnti_graph *all = c.data->graph;
    gnt_dataset *d = NULL;
    bool symmetric = false;

    (void)state;
    gnt_assert_ok(gnti_spec_member_dataset(&m, c.data, &d));
    gnt_assert_ok(gnti_graph_validate(d->graph));
    gnt_assert_ok(gnti_graph_is_symmetric(d->graph, &symmetric));
    assert_true(symmetric);
    gnt_assert_ok(gnti_dataset_validate(d));
    /* 5 standard deviations of half as many coins as arcs */
    assert_true(fabs((double)d->graph->num_arcs - 0.7 * (double)all->num_arcs) <
                2.0 * 5.0 * sqrt(0.21 * (double)all->num_arcs / 2.0));
    for (int64_t v = 0; v < TRAIN_CASE_NODES; v++) /* what is left was there */
        for (int64_t e = d->graph->offsets[v], f = all->offsets[v]; e < d->graph->offsets[v + 1]; e++) {
            while (f < all->offsets[v + 1] && all->columns[f] < d->graph->columns[e])
                f++;
            assert_true(f < all->offsets[v + 1] && all->columns[f] == d->graph->columns[e]);
        }
    assert_memory_equal(d->x.dense, c.data->x.dense, sizeof(float) * (size_t)(d->x.rows * d->x.width));
    assert_memory_equal(d->y.class_of, c.data->y.class_of, sizeof(int32_t) * TRAIN_CASE_NODES);
    for (int part = 0; part < 3; part++)
        gnt_assert_same_i64(split_of(d)->nodes[part], split_of(c.data)->nodes[part],
                            split_of(d)->num_nodes[part]);
    gnt_dataset_free(&d);
}

static void drops_columns(void **state)
{
    int64_t dropped[TRAIN_CASE_FEATURES] = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        const gnti_spec_member m = { .view = { .drop_features = 0.5, .seed = seed } };
        gnt_dataset *d = NULL;

        gnt_assert_ok(gnti_spec_member_dataset(&m, c.data, &d));
        assert_int_equal(d->graph->num_arcs, c.data->graph->num_arcs);
        for (int64_t k = 0; k < TRAIN_CASE_FEATURES; k++) {
            bool zero = true, same = true;

            for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
                zero = zero && d->x.dense[i * TRAIN_CASE_FEATURES + k] == 0.0f;
                same = same && d->x.dense[i * TRAIN_CASE_FEATURES + k] ==
                                   c.data->x.dense[i * TRAIN_CASE_FEATURES + k];
            }
            assert_true(zero != same);
            dropped[k] += zero;
        }
        gnt_dataset_free(&d);
    }
    for (int k = 0; k < TRAIN_CASE_FEATURES; k++)
        assert_in_range(dropped[k], 25, 75); /* 5 standard deviations of 100 coins */
}

/* Sparse or dense features, directed or not, arrays by arc and by node, texts: all follow. */
static void everything_follows(void **state)
{
    const gnti_spec_member m = { .view = { .drop_features = 0.5, .drop_edges = 0.5, .seed = 6 } };

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        const gnt_full_options options = { .seed = 3,
                                           .num_nodes = 40,
                                           .directed = kind % 2 == 1,
                                           .weighted = true,
                                           .sparse = kind >= 2,
                                           .text_ids = true,
                                           .labels = GNT_LABELS_CLASS };
        gnt_dataset *full = gnt_full_dataset(&options), *d = NULL;

        gnt_assert_ok(gnti_spec_member_dataset(&m, full, &d));
        gnt_assert_ok(gnti_dataset_validate(d));
        assert_int_equal(d->num_arrays, full->num_arrays);
        assert_true(d->graph->num_arcs < full->graph->num_arcs);
        for (int64_t i = 0; i < d->num_arrays; i++)
            assert_int_equal(d->arrays[i].rows,
                             d->arrays[i].axis == GNTI_AXIS_ARC ? d->graph->num_arcs : full->arrays[i].rows);
        gnt_dataset_free(&d);
        gnt_dataset_free(&full);
    }
}

static void brutal(void **state)
{
    const gnti_spec_member view = { .view = { .drop_features = 0.5, .drop_edges = 0.5, .seed = 6 } };
    const gnti_spec_member bag = { .seed = 6, .bagging = 0.5 };
    gnt_dataset *d = NULL;
    float *w = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gnti_spec_member_dataset(&view, c.data, &d), d);
    GNT_BRUTAL_OUT(gnti_spec_member_weights(&bag, c.data, &w), w);
    gnt_dataset_free(&d);
    gnti_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds),
        cmocka_unit_test(bags),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(drops_edges),
        cmocka_unit_test(drops_columns),
        cmocka_unit_test(everything_follows),
        cmocka_unit_test(brutal),
    };

    return cmocka_run_group_tests(tests, make_case, free_case);
}
