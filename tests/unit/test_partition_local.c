/* SPDX-License-Identifier: Apache-2.0 */
/* Local data against the dataset it was cut from: every row in its place, splits, inductive training parts, and the same from a
 * dataset whose rows are in another order. */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"
#include "tests/support/part_case.h"

#include "partition/local_data.h"

#include <string.h>

enum { NODES = 40, CHUNKS = 8, MOST_RANKS = 8 };

static gnt_dataset *dataset_of(int variant, bool inductive)
{
    const gnt_full_options options = { .seed = (uint64_t)variant + 1,
                                       .num_nodes = NODES,
                                       .directed = variant % 2 == 1,
                                       .weighted = variant % 3 == 1,
                                       .sparse = variant % 4 >= 2,
                                       .labels = (gnt_label_kind)(1 + variant % 3) };
    gnt_dataset *d = gnt_full_dataset(&options);
    gnti_split s = { .inductive = inductive };

    for (int64_t i = d->num_arrays - 1; i >= 0; i--) { /* labels of graphs are another matter */
        if (strncmp(d->arrays[i].path, "/graphs/", 8) != 0)
            continue;
        gnti_array_free(&d->arrays[i]);
        d->arrays[i] = d->arrays[--d->num_arrays];
    }
    gnt_assert_ok(gnti_strdup(&s.name, "mine"));
    for (int p = 0; p < 3; p++) {
        gnt_assert_ok(gnti_alloc_array(&s.nodes[p], NODES));
        for (int64_t v = 0; v < NODES; v++)
            if ((p == 0 && v % 2 == 0) || (p == 1 && v % 8 == 1) || (p == 2 && v % 4 == 3))
                s.nodes[p][s.num_nodes[p]++] = v;
    }
    gnt_assert_ok(gnti_dataset_take_split(d, &s));
    return d;
}

static void check_features(const gnti_local_data *l, const gnt_dataset *d, int64_t row, int64_t at)
{
    const gnti_graph *own = l->x.sparse, *all = d->x.sparse;

    if (all == NULL) {
        assert_memory_equal(l->x.dense + row * d->x.width, d->x.dense + at * d->x.width,
                            (size_t)d->x.width * 4);
        return;
    }
    assert_int_equal(own->offsets[row + 1] - own->offsets[row], all->offsets[at + 1] - all->offsets[at]);
    for (int64_t k = 0; k < own->offsets[row + 1] - own->offsets[row]; k++) {
        assert_int_equal(own->columns[own->offsets[row] + k], all->columns[all->offsets[at] + k]);
        if (all->weights != NULL)
            assert_true(own->weights[own->offsets[row] + k] == all->weights[all->offsets[at] + k]);
    }
}

/* d has its rows in the order of import. */
static void check_rank(const gnti_local_data *l, const gnt_dataset *d, bool inductive)
{
    int64_t train = 0;

    assert_int_equal(l->num_own, l->part->num_own);
    assert_int_equal(l->y.kind, d->y.kind);
    assert_int_equal(l->y.num_classes, d->y.num_classes);
    assert_int_equal(l->inductive, inductive);
    assert_string_equal(l->split_name, "mine");
    for (int64_t i = 0; i < l->num_own; i++) {
        const int64_t v = l->part->ids[i];

        check_features(l, d, i, v);
        if (d->y.class_of != NULL)
            assert_int_equal(l->y.class_of[i], d->y.class_of[v]);
        if (d->y.rows != NULL)
            assert_memory_equal(l->y.rows + i * d->y.num_classes, d->y.rows + v * d->y.num_classes,
                                (size_t)d->y.num_classes * 4);
        assert_int_equal(l->member[i], (v % 2 == 0) | (v % 8 == 1) << 1 | (v % 4 == 3) << 2);
        if (!inductive || v % 2 != 0)
            continue;
        assert_int_equal(l->train_rows[train], i);
        assert_int_equal(l->train_part->ids[train++], v);
    }
    assert_int_equal(l->train_part != NULL, inductive);
    assert_int_equal(l->num_split[0], NODES / 2);
    assert_int_equal(l->num_split[1], NODES / 8);
    if (inductive)
        assert_int_equal(l->train_part->num_own, train);
}

static void same_data(const gnti_local_data *a, const gnti_local_data *b)
{
    const char *bad = gnt_part_case_compare(a->part, b->part);

    if (bad == NULL && a->train_part != NULL)
        bad = gnt_part_case_compare(a->train_part, b->train_part);
    if (bad != NULL)
        fail_msg("%s", bad);
    assert_string_equal(a->split_sha256, b->split_sha256);
    assert_memory_equal(a->member, b->member, (size_t)a->num_own);
}

static void run_variant(int variant, bool inductive, int32_t num_ranks)
{
    gnt_dataset *d = dataset_of(variant, inductive), *moved = NULL;
    gnti_local_data *all[MOST_RANKS] = { NULL }, *other[MOST_RANKS] = { NULL }, *one = NULL;
    gnti_partition p;
    int32_t *owner = gnt_part_case_owner(CHUNKS, num_ranks, variant % 3, 5);
    int64_t rank[NODES], own = 0;

    gnt_part_case_partition(NODES, CHUNKS, (uint64_t)variant, &p);
    const gnti_local_config config = {
        .partition = &p, .owner = owner, .num_ranks = num_ranks, .split = "mine"
    };

    for (int64_t v = 0; v < NODES; v++)
        rank[v] = (v * 7 + 3) % NODES;
    gnt_assert_ok(gnti_dataset_permute(d, rank, &moved));
    gnt_assert_ok(gnti_local_data_make_all(d, &config, all));
    gnt_assert_ok(gnti_local_data_make_all(moved, &config, other));
    for (int32_t r = 0; r < num_ranks; r++) {
        own += all[r]->num_own;
        check_rank(all[r], d, inductive);
        check_rank(other[r], d, inductive);
        same_data(all[r], other[r]);
        gnt_assert_ok(gnti_local_data_make(d, &config, r, &one));
        check_rank(one, d, inductive);
        same_data(all[r], one);
        gnti_local_data_free(&one);
        gnti_local_data_free(&all[r]);
        gnti_local_data_free(&other[r]);
    }
    assert_int_equal(own, NODES);
    gnt_part_case_partition_clear(&p);
    gnti_free(owner);
    gnt_dataset_free(&moved);
    gnt_dataset_free(&d);
}

static void test_rows(void **state)
{
    static const int32_t ranks[] = { 1, 2, 3, 8 };

    (void)state;
    for (int variant = 0; variant < 12; variant++)
        for (int i = 0; i < 4; i++) {
            run_variant(variant, false, ranks[i]);
            run_variant(variant, true, ranks[i]);
        }
}

/* One rank with one chunk: features are lent, nothing is copied. */
static void test_one_rank_borrows(void **state)
{
    gnt_dataset *d = dataset_of(0, false), *s = dataset_of(2, false);
    gnti_local_data *l = NULL;
    gnti_partition p;
    const int32_t owner[1] = { 0 };

    (void)state;
    gnt_part_case_partition(NODES, 1, 1, &p);
    const gnti_local_config config = { .partition = &p, .owner = owner, .num_ranks = 1, .split = "mine" };

    gnt_assert_ok(gnti_local_data_make(d, &config, 0, &l));
    assert_ptr_equal(l->x.dense, d->x.dense);
    gnti_local_data_free(&l);
    gnt_assert_ok(gnti_local_data_make(s, &config, 0, &l));
    assert_ptr_equal(l->x.sparse->columns, s->x.sparse->columns);
    gnti_local_data_free(&l);
    gnt_part_case_partition_clear(&p);
    gnt_dataset_free(&d);
    gnt_dataset_free(&s);
}

static void test_mistakes_and_memory(void **state)
{
    gnt_dataset *d = dataset_of(1, true);
    gnti_local_data *l = NULL, *all[2] = { NULL };
    gnti_partition p;
    const int32_t owner[2] = { 1, 0 };

    (void)state;
    gnt_part_case_partition(NODES, 2, 1, &p);
    gnti_local_config config = { .partition = &p, .owner = owner, .num_ranks = 2, .split = "none such" };

    gnt_assert_status(gnti_local_data_make(d, &config, 0, &l), GNT_ERR_USAGE);
    gnt_assert_error_has("none such", "mine");
    config.without_split = true;
    gnt_assert_ok(gnti_local_data_make(d, &config, 0, &l));
    assert_null(l->member);
    assert_null(l->train_part);
    gnti_local_data_free(&l);
    config.without_split = false;
    config.split = "mine";
    GNT_BRUTAL_OUT(gnti_local_data_make(d, &config, 1, &l), l);
    GNT_BRUTAL_OUT(gnti_local_data_make_all(d, &config, all), all);
    gnti_local_data_free(&l);
    gnti_local_data_free(&all[0]);
    gnti_local_data_free(&all[1]);
    gnt_part_case_partition_clear(&p);
    gnt_dataset_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_one_rank_borrows),
        cmocka_unit_test(test_mistakes_and_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
