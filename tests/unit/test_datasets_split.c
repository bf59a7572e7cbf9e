/* SPDX-License-Identifier: Apache-2.0 */
/* Splits: sizes, disjointness, balance, reproducibility, refusals. */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "datasets/split.h"

#include "base/json.h"
#include "base/option.h"
#include "datasets/h5_value.h"

#include <math.h>
#include <string.h>

/* n nodes without arcs; node i has the class i % k, every 7th is unlabelled. */
static gnt_dataset *labelled(int64_t n, int32_t k)
{
    gnt_dataset *d = NULL;

    gnt_assert_ok(gnti_dataset_create(NULL, n, &d));
    gnt_assert_ok(gnti_graph_alloc(n, n, 0, false, &d->graph));
    gnt_assert_ok(gnti_alloc_array(&d->y.class_of, n));
    d->y.kind = GNT_LABELS_CLASS;
    d->y.num_classes = k;
    for (int64_t i = 0; i < n; i++)
        d->y.class_of[i] = i % 7 == 6 ? -1 : (int32_t)(i % k);
    return d;
}

static gntx_split_options defaults(int32_t kind)
{
    gntx_split_options o;

    gnt_assert_ok(gnti_options_defaults(gntx_split_option_table(), &o));
    gnti_options_free_texts(gntx_split_option_table(), &o);
    o.kind = kind;
    return o;
}

static const gnti_split *split_of(const gnt_dataset *d, const char *name)
{
    const gnti_split *s = NULL;

    gnt_assert_ok(gnti_dataset_find_split(d, name, &s));
    return s;
}

/* Ascending, disjoint, labelled nodes only. */
static void check_lists(const gnt_dataset *d, const gnti_split *s)
{
    int a, b;

    assert_int_equal(gnti_split_overlap(s, &a, &b), -1);
    for (int part = 0; part < 3; part++)
        for (int64_t i = 0; i < s->num_nodes[part]; i++) {
            assert_true(i == 0 || s->nodes[part][i] > s->nodes[part][i - 1]);
            assert_true(d->y.class_of[s->nodes[part][i]] >= 0);
        }
}

static int64_t count_class(const gnt_dataset *d, const gnti_split *s, int part, int32_t c)
{
    int64_t num = 0;

    for (int64_t i = 0; i < s->num_nodes[part]; i++)
        num += d->y.class_of[s->nodes[part][i]] == c;
    return num;
}

static void random_splits_have_their_shares(void **state)
{
    gnt_dataset *d = labelled(7000, 5), *out = NULL;
    gntx_split_options o = defaults(0);
    const gnti_split *s;

    (void)state;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, NULL));
    s = split_of(out, "random");
    check_lists(out, s);
    assert_int_equal(s->num_nodes[0], 3600);
    assert_int_equal(s->num_nodes[1], 1200);
    assert_int_equal(s->num_nodes[2], 1200);
    assert_int_equal(d->num_splits, 0); /* the input stays as it is */
    gnt_dataset_free(&out);
    o.test = 0.1;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, NULL));
    assert_int_equal(split_of(out, "random")->num_nodes[2], 600);
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

static void stratified_splits_are_even_in_each_class(void **state)
{
    gnt_dataset *d = labelled(1000, 3), *out = NULL;
    gntx_split_options o = defaults(1);
    const gnti_split *s;

    (void)state;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, NULL));
    s = split_of(out, "stratified");
    check_lists(out, s);
    for (int32_t c = 0; c < 3; c++) {
        const int64_t all = count_class(out, s, 0, c) + count_class(out, s, 1, c) + count_class(out, s, 2, c);

        assert_true(all == 286 || all == 285 || all == 287);
        assert_true(fabs((double)count_class(out, s, 0, c) - 0.6 * (double)all) <= 0.5);
        assert_true(fabs((double)count_class(out, s, 1, c) - 0.2 * (double)all) <= 1.0);
    }
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

static void per_class_splits_count(void **state)
{
    gnt_dataset *d = labelled(3000, 6), *out = NULL;
    gntx_split_options o = defaults(2);
    gntx_json *report = NULL;
    const gnti_split *s;

    (void)state;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, &report));
    s = split_of(out, "per-class");
    check_lists(out, s);
    for (int32_t c = 0; c < 6; c++)
        assert_int_equal(count_class(out, s, 0, c), 20);
    assert_int_equal(s->num_nodes[1], 500);
    assert_int_equal(s->num_nodes[2], 1000);
    assert_int_equal(gntx_json_length(gntx_json_find(report, "notes")), 0);
    gntx_json_free(&report);
    gnt_dataset_free(&out);
    o.test_count = 0;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, NULL));
    assert_int_equal(split_of(out, "per-class")->num_nodes[2], 2572 - 120 - 500);
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

static void short_classes_are_told(void **state)
{
    gnt_dataset *d = labelled(200, 4), *out = NULL;
    gntx_split_options o = defaults(2);
    gntx_json *report = NULL;
    int64_t kept = 0;

    (void)state;
    for (int64_t i = 0; i < 200; i++)
        if (d->y.class_of[i] == 3 && kept++ >= 3)
            d->y.class_of[i] = 0;
    o.per_class = 9;
    o.valid_count = 10;
    o.test_count = 0;
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, &report));
    assert_int_equal(gntx_json_length(gntx_json_find(report, "notes")), 1);
    assert_int_equal(count_class(out, split_of(out, "per-class"), 0, 3), 3);
    assert_int_equal(split_of(out, "per-class")->num_nodes[0], 30);
    gntx_json_free(&report);
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

/* The draws are counters: this split is the same on every machine. */
static void splits_are_reproducible(void **state)
{
    gnt_dataset *d = labelled(200, 4), *a = NULL, *b = NULL;
    gntx_split_options o = defaults(1);
    char first[65], second[65], other[65];

    (void)state;
    o.repeats = 2;
    o.seed = 7;
    gnt_assert_ok(gntx_dataset_split(d, &o, &a, NULL));
    gnt_assert_ok(gnti_split_sum(split_of(a, "stratified-0"), first));
    gnt_assert_ok(gnti_split_sum(split_of(a, "stratified-1"), other));
    o.repeats = 1;
    gnt_assert_ok(gntx_dataset_split(d, &o, &b, NULL));
    gnt_assert_ok(gnti_split_sum(split_of(b, "stratified"), second));
    assert_string_equal(first, second);
    assert_string_not_equal(first, other);
    assert_string_equal(first, "4a4e871751c5230cffc5240453f234c9f45a748942459b380182214f52e2265f");
    gnt_dataset_free(&a);
    gnt_dataset_free(&b);
    gnt_dataset_free(&d);
}

static void a_split_is_stored_with_seed_and_sum(void **state)
{
    gnt_dataset *d = labelled(100, 2), *a = NULL, *b = NULL;
    gntx_split_options o = defaults(0);
    char path[GNT_TEST_PATH_BYTES], sum[65], *stored = NULL;
    gnti_h5 *f = NULL;

    (void)state;
    o.seed = 11;
    o.inductive = true;
    o.name = (char *)"mine";
    gnt_assert_ok(gntx_dataset_split(d, &o, &a, NULL));
    gnt_assert_ok(gnt_dataset_save(a, gnt_test_path(path, "split.h5")));
    gnt_assert_ok(gnt_dataset_open(NULL, path, &b));
    assert_true(split_of(b, "mine")->seed == 11 && split_of(b, "mine")->inductive);
    gnt_assert_ok(gnti_split_sum(split_of(b, "mine"), sum));
    gnt_assert_ok(gnti_h5_open(path, &f));
    gnt_assert_ok(gnti_h5_get_text(f, "/splits/mine", "sha256", NULL, &stored));
    assert_string_equal(stored, sum);
    gnti_free(stored);
    gnti_h5_close(&f);
    gnt_dataset_free(&a);
    gnt_dataset_free(&b);
    gnt_dataset_free(&d);
}

static void names_are_not_taken_twice(void **state)
{
    gnt_dataset *d = labelled(100, 2), *a = NULL, *b = NULL;
    gntx_split_options o = defaults(0);

    (void)state;
    gnt_assert_ok(gntx_dataset_split(d, &o, &a, NULL));
    gnt_assert_status(gntx_dataset_split(a, &o, &b, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("'random' already", "--replace");
    o.replace = true;
    o.seed = 3;
    gnt_assert_ok(gntx_dataset_split(a, &o, &b, NULL));
    assert_int_equal(b->num_splits, 1);
    assert_int_equal(b->splits[0].seed, 3);
    o.name = (char *)"a/b";
    gnt_dataset_free(&b);
    gnt_assert_status(gntx_dataset_split(d, &o, &b, NULL), GNT_ERR_USAGE);
    gnt_dataset_free(&a);
    gnt_dataset_free(&d);
}

static void options_of_another_kind_are_refused(void **state)
{
    gnt_dataset *d = labelled(100, 2), *out = NULL;
    gntx_split_options o = defaults(1);

    (void)state;
    o.per_class = 5;
    gnt_assert_status(gntx_dataset_split(d, &o, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--per-class", "stratified");
    o = defaults(2);
    o.train = 0.5;
    gnt_assert_status(gntx_dataset_split(d, &o, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--train", "per-class");
    assert_null(out);
    gnt_dataset_free(&d);
}

static void empty_parts_are_refused(void **state)
{
    gnt_dataset *d = labelled(5, 2), *none = labelled(5, 2), *out = NULL;
    gntx_split_options o = defaults(0), k = defaults(2);

    (void)state;
    o.train = 0.9;
    o.valid = 0.05;
    gnt_assert_status(gntx_dataset_split(d, &o, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("would be empty");
    o.train = 0.9;
    o.valid = 0.2;
    gnt_assert_status(gntx_dataset_split(d, &o, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("add up to 1");
    gnt_assert_status(gntx_dataset_split(d, &k, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--per-class", "500");
    gnti_labels_free(&none->y);
    gnt_assert_status(gntx_dataset_split(none, &k, &out, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--kind random");
    assert_null(out);
    gnt_dataset_free(&d);
    gnt_dataset_free(&none);
}

/* Where graphs carry the labels, graphs are split. */
static void graphs_are_split_where_they_are_labelled(void **state)
{
    gnt_dataset *d = labelled(40, 2), *out = NULL;
    gntx_split_options o = defaults(1);
    gnti_array ptr = { .axis = GNTI_AXIS_OTHER, .dtype = GNTI_FILE_I64, .rows = 21, .width = 1 };
    gnti_array y = { .axis = GNTI_AXIS_GRAPH, .dtype = GNTI_FILE_I64, .rows = 20, .width = 1 };
    int64_t *values;
    const gnti_split *s;

    (void)state;
    gnt_assert_ok(gnti_strdup(&ptr.path, "/graphs/ptr"));
    gnt_assert_ok(gnti_strdup(&y.path, "/graphs/y"));
    gnt_assert_ok(gnti_array_bytes(&ptr.data, 21, 8, false));
    gnt_assert_ok(gnti_array_bytes(&y.data, 20, 8, false));
    for (int i = 0; i <= 20; i++)
        ((int64_t *)ptr.data)[i] = 2 * i;
    values = y.data;
    for (int i = 0; i < 20; i++)
        values[i] = i % 2;
    gnt_assert_ok(gnti_dataset_take_array(d, &ptr));
    gnt_assert_ok(gnti_dataset_take_array(d, &y));
    gnt_assert_ok(gntx_dataset_split(d, &o, &out, NULL));
    gnt_assert_ok(gnti_dataset_validate(out));
    s = split_of(out, "stratified");
    assert_int_equal(s->num_nodes[0], 12);
    assert_int_equal(s->num_nodes[1], 4);
    assert_int_equal(s->num_nodes[2], 4);
    assert_true(s->nodes[0][11] < 20);
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

static void every_allocation_may_fail(void **state)
{
    gnt_dataset *d = labelled(50, 2), *out = NULL;
    gntx_split_options o = defaults(2);
    gntx_json *report = NULL;

    (void)state;
    o.per_class = 5;
    o.valid_count = o.test_count = 10;
    GNT_BRUTAL_OUT(gntx_dataset_split(d, &o, &out, &report), out);
    gntx_json_free(&report);
    gnt_dataset_free(&out);
    gnt_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_splits_have_their_shares),
        cmocka_unit_test(stratified_splits_are_even_in_each_class),
        cmocka_unit_test(per_class_splits_count),
        cmocka_unit_test(short_classes_are_told),
        cmocka_unit_test(splits_are_reproducible),
        cmocka_unit_test(a_split_is_stored_with_seed_and_sum),
        cmocka_unit_test(names_are_not_taken_twice),
        cmocka_unit_test(options_of_another_kind_are_refused),
        cmocka_unit_test(empty_parts_are_refused),
        cmocka_unit_test(graphs_are_split_where_they_are_labelled),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
