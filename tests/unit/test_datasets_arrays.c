/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets around a caller's memory: what is borrowed, what is copied, what is refused. */
#include "tests/support/gnt_test.h"

#include "datasets/dataset.h"

#include <math.h>
#include <string.h>

/* A path of four nodes with two features and two classes. */
static const int64_t INDPTR[] = { 0, 1, 3, 5, 6 }, Y[] = { 0, 1, -1, 1 };
static const int32_t INDICES[] = { 1, 0, 2, 1, 3, 2 };
static const float X[] = { 1, 2, 3, 4, 5, 6, 7, 8 }, W[] = { 2, 2, 3, 3, 1, 1 };
static const int64_t TRAIN[] = { 3, 0 }, VALID[] = { 1 }, TEST[] = { 2 };

static gnt_dataset_arrays good(void)
{
    gnt_dataset_arrays a;

    gnt_dataset_arrays_init(&a);
    a.num_nodes = 4;
    a.num_features = 2;
    a.num_classes = 2;
    a.indptr = INDPTR;
    a.indices = INDICES;
    a.weights = W;
    a.x = X;
    a.label_kind = GNT_LABELS_CLASS;
    a.y_class = Y;
    a.train = TRAIN;
    a.valid = VALID;
    a.test = TEST;
    a.num_train = 2;
    a.num_valid = a.num_test = 1;
    return a;
}

static void big_arrays_are_borrowed(void **state)
{
    gnt_dataset_arrays a = good();
    gnt_dataset *d = NULL;
    const gnti_split *s = NULL;

    (void)state;
    gnt_assert_ok(gnt_dataset_from_arrays(NULL, &a, &d));
    assert_ptr_equal(d->graph->columns, INDICES);
    assert_ptr_equal(d->graph->offsets, INDPTR);
    assert_ptr_equal(d->graph->weights, W);
    assert_ptr_equal(d->x.dense, X);
    assert_int_equal(gnt_dataset_num_nodes(d), 4);
    assert_int_equal(gnt_dataset_num_arcs(d), 6);
    assert_int_equal(gnt_dataset_num_features(d), 2);
    assert_int_equal(gnt_dataset_num_classes(d), 2);
    assert_int_equal(gnt_dataset_label_kind(d), GNT_LABELS_CLASS);
    gnt_assert_ok(gnti_dataset_find_split(d, NULL, &s));
    assert_true(s->nodes[0][0] == 0 && s->nodes[0][1] == 3);
    assert_true(TRAIN[0] == 3); /* inputs stay as they are */
    gnt_dataset_free(&d);
    assert_null(d);
}

static void a_saved_one_is_the_same(void **state)
{
    gnt_dataset_arrays a = good();
    gnt_dataset *d = NULL, *back = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_ok(gnt_dataset_from_arrays(NULL, &a, &d));
    gnt_assert_ok(gnt_dataset_save(d, gnt_test_path(path, "arrays.h5")));
    gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
    assert_string_equal(back->content_sha256, d->content_sha256);
    gnt_dataset_free(&d);
    gnt_dataset_free(&back);
}

static void refuse(const gnt_dataset_arrays *a, gnt_status code, const char *word1, const char *word2)
{
    gnt_dataset *d = NULL;

    gnt_assert_status(gnt_dataset_from_arrays(NULL, a, &d), code);
    gnt_assert_error_has(word1, word2);
    assert_null(d);
}

static void mistakes_are_named(void **state)
{
    const int64_t bent[] = { 0, 3, 1, 5, 6 }, label[] = { 0, 2, 0, 0 }, both[] = { 1, 3 }, far[] = { 4 };
    const int32_t loose[] = { 1, 0, 2, 1, 3, 1 }, out[] = { 1, 0, 2, 1, 4, 2 },
                  order[] = { 1, 2, 0, 1, 3, 2 };
    const float uneven[] = { 2, 2, 3, 3, 1, 2 }, half[] = { 0, 1, 1, 0, 0.5f, 0, 0, 0 };
    gnt_dataset_arrays a = good();

    (void)state;
    a.indptr = bent;
    refuse(&a, GNT_ERR_FORMAT, "not monotone", "row 1");
    a = good();
    a.indices = loose;
    refuse(&a, GNT_ERR_FORMAT, "undirected", "reverse");
    a.indices = out;
    refuse(&a, GNT_ERR_FORMAT, "row 2", "column 4");
    a.indices = order;
    refuse(&a, GNT_ERR_FORMAT, "row 1", "not sorted");
    a = good();
    a.weights = uneven;
    refuse(&a, GNT_ERR_FORMAT, "undirected", "weight");
    a = good();
    a.y_class = label;
    refuse(&a, GNT_ERR_FORMAT, "node 1", "label 2");
    a = good();
    a.train = both;
    refuse(&a, GNT_ERR_FORMAT, "node 1", "train and in valid");
    a = good();
    a.test = far;
    refuse(&a, GNT_ERR_FORMAT, "/splits/public/test", "node 4");
    a = good();
    a.label_kind = GNT_LABELS_MULTI;
    a.y_row = half;
    refuse(&a, GNT_ERR_FORMAT, "node 2", "0.5");
    a = good();
    a.x = NULL;
    refuse(&a, GNT_ERR_ARG, "2 features", "NULL");
    a = good();
    a.indptr = NULL;
    refuse(&a, GNT_ERR_ARG, "indptr", "NULL");
    a = good();
    a.struct_size = 0;
    refuse(&a, GNT_ERR_ARG, "struct_size", "gnt_dataset_arrays_init");
    a = good();
    a.num_nodes = -1;
    refuse(&a, GNT_ERR_LIMIT, "-1", "nodes");
}

static void rows_of_labels_are_borrowed(void **state)
{
    const float y[] = { 0, 1, 1, 0, 0.25f, NAN, 0, 0 };
    gnt_dataset_arrays a = good();
    gnt_dataset *d = NULL;

    (void)state;
    a.label_kind = GNT_LABELS_REGRESSION;
    a.y_row = y;
    gnt_assert_ok(gnt_dataset_from_arrays(NULL, &a, &d));
    assert_ptr_equal(d->y.rows, y);
    gnt_dataset_free(&d);
}

static void nothing_at_all_is_a_dataset(void **state)
{
    const int64_t zero[] = { 0 };
    gnt_dataset_arrays a;
    gnt_dataset *d = NULL, *back = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_dataset_arrays_init(&a);
    a.indptr = zero;
    gnt_assert_ok(gnt_dataset_from_arrays(NULL, &a, &d));
    gnt_assert_ok(gnt_dataset_save(d, gnt_test_path(path, "nothing.h5")));
    gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
    assert_int_equal(gnt_dataset_num_nodes(back), 0);
    gnt_dataset_free(&d);
    gnt_dataset_free(&back);
}

static void every_allocation_may_fail(void **state)
{
    gnt_dataset_arrays a = good();
    gnt_dataset *d = NULL;

    (void)state;
    GNT_BRUTAL_OUT(gnt_dataset_from_arrays(NULL, &a, &d), d);
    gnt_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(big_arrays_are_borrowed),     cmocka_unit_test(a_saved_one_is_the_same),
        cmocka_unit_test(mistakes_are_named),          cmocka_unit_test(rows_of_labels_are_borrowed),
        cmocka_unit_test(nothing_at_all_is_a_dataset), cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
