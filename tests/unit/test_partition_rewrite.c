/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset in the order of a partition: rows by (chunk, imported row), chunk starts and sums in the file, everything that
 * belongs to a node with it, the way back open; a partition made from it counts nodes as the imported dataset does.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "datasets/chunk_order.h"
#include "partition/chunk_map.h"
#include "partition/partition_internal.h"

#include <string.h>

enum { N = 40, K = 5 };

/* One graph: nodes of several would have to stay together. */
static gnt_dataset *make(uint64_t seed)
{
    const gnt_full_options o = { .seed = seed,
                                 .num_nodes = N,
                                 .weighted = seed % 2,
                                 .sparse = seed % 3 == 0,
                                 .text_ids = seed % 2,
                                 .labels = GNT_LABELS_CLASS };

    gnt_dataset *d = gnt_full_dataset(&o);

    for (int64_t i = d->num_arrays - 1; i >= 0; i--) {
        if (strncmp(d->arrays[i].path, "/graphs/", 8) != 0)
            continue;
        gnti_array_free(&d->arrays[i]);
        d->arrays[i] = d->arrays[--d->num_arrays];
    }
    gnt_assert_ok(gnti_dataset_hash(d));
    return d;
}

/* Through a file, as a user would. */
static gnt_dataset *reread(gnt_dataset **d, char path[GNT_TEST_PATH_BYTES])
{
    gnt_dataset *again = NULL;

    gnt_assert_ok(gnti_dataset_write(*d, gnt_test_path(path, "rewritten.h5")));
    gnt_dataset_free(d);
    gnt_assert_ok(gnti_dataset_read(NULL, path, &again));
    return again;
}

static gnti_partition *cut(const gnt_dataset *d, gnti_partition_method method, uint64_t seed)
{
    const gnti_partition_config c = { .method = method, .num_chunks = K, .seed = seed };
    gnti_partition *p = NULL;

    gnt_assert_ok(gnti_partition_make_dataset(d, &c, &p));
    return p;
}

static const int64_t *origin_of(const gnt_dataset *d)
{
    const int64_t *origin = NULL;

    gnt_assert_ok(gnti_dataset_get_origin(d, &origin));
    return origin;
}

static void test_order(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        gnt_dataset *d = make(seed), *r = NULL, *back = NULL;
        gnti_partition *p = cut(d, GNTI_PART_RANDOM, seed);
        const int64_t *origin;

        gnt_assert_ok(gnti_partition_rewrite(d, p, &r));
        r = reread(&r, path);
        origin = origin_of(r);
        assert_non_null(origin);
        assert_int_equal(r->chunks.num_chunks, K);
        assert_string_equal(r->chunks.partition_sha256, p->sha256);
        assert_string_equal(gnti_dataset_source_graph(r), d->graph_sha256);
        for (int32_t c = 0; c < K; c++) {
            assert_int_equal(r->chunks.first[c + 1] - r->chunks.first[c], p->chunk_nodes[c]);
            for (int64_t i = r->chunks.first[c]; i < r->chunks.first[c + 1]; i++) {
                assert_int_equal(p->chunk_of[origin[i]], c);
                assert_true(i == r->chunks.first[c] || origin[i] > origin[i - 1]);
            }
        }
        assert_non_null(strstr(r->provenance, p->sha256));
        gnt_assert_ok(gnti_dataset_permute(r, origin, &back)); /* row i goes where it was */
        assert_string_equal(back->content_sha256, d->content_sha256);
        assert_int_equal(back->chunks.num_chunks, 0);
        gnt_dataset_free(&back);
        gnt_dataset_free(&r);
        gnti_partition_free(&p);
        gnt_dataset_free(&d);
    }
}

/* Chunks cost the same whatever the order of the rows. */
static void compare_facts(const gnt_dataset *d, const gnt_dataset *r, const gnti_partition *p)
{
    const gnti_chunk_rates rates = { 1.0, 2.0, 3.0, 4.0 };
    gnti_chunk_facts *a = NULL, *b = NULL;

    gnt_assert_ok(gnti_chunk_facts_make_dataset(d, p, &rates, &a));
    gnt_assert_ok(gnti_chunk_facts_make_dataset(r, p, &rates, &b));
    gnt_assert_same_i64(a->rows, b->rows, K);
    gnt_assert_same_i64(a->arcs, b->arcs, K);
    gnt_assert_same_i64(a->offsets, b->offsets, K + 1);
    gnt_assert_same_i32(a->neighbour, b->neighbour, a->offsets[K]);
    assert_memory_equal(a->halo_rows, b->halo_rows, (size_t)a->offsets[K] * sizeof(double));
    gnti_chunk_facts_free(&a);
    gnti_chunk_facts_free(&b);
}

/* A second partition of the rewritten dataset is one of the imported dataset too, in memory and streamed. */
static void test_again(void **state)
{
    gnt_dataset *d = make(3), *r = NULL, *x = NULL, *y = NULL;
    gnti_partition *p = cut(d, GNTI_PART_RANDOM, 1), *q = NULL, *streamed = NULL;
    const gnti_partition_config range = { .method = GNTI_PART_RANGE, .num_chunks = K };
    const int64_t *origin;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_ok(gnti_partition_rewrite(d, p, &r));
    r = reread(&r, path);
    origin = origin_of(r);
    q = cut(r, GNTI_PART_RANGE, 0);
    assert_string_equal(q->graph_sha256, d->graph_sha256);
    for (int64_t i = 0; i < N; i++)
        assert_int_equal(q->chunk_of[origin[i]], i * K / N);
    gnt_assert_ok(gnti_partition_stream(path, &range, &streamed));
    assert_string_equal(streamed->sha256, q->sha256);
    assert_string_equal(streamed->graph_sha256, d->graph_sha256);
    gnt_assert_ok(gnti_partition_rewrite(d, q, &x));
    gnt_assert_ok(gnti_partition_rewrite(r, q, &y));
    assert_string_equal(x->content_sha256, y->content_sha256);
    gnt_assert_same_i64(origin_of(x), origin_of(y), N);
    gnt_assert_same_i64(x->chunks.first, y->chunks.first, K + 1);
    compare_facts(d, r, q);
    gnt_dataset_free(&x);
    gnt_dataset_free(&y);
    gnti_partition_free(&q);
    gnti_partition_free(&streamed);
    gnti_partition_free(&p);
    gnt_dataset_free(&r);
    gnt_dataset_free(&d);
}

static void test_kept_and_lost(void **state)
{
    static const int64_t some[] = { 0, 1, 2 };
    gnt_dataset *d = make(2), *r = NULL, *x = NULL;
    gnti_partition *p = cut(d, GNTI_PART_RANDOM, 1);

    (void)state;
    GNT_BRUTAL_OUT(gnti_partition_rewrite(d, p, &r), r);
    gnt_assert_ok(gnti_dataset_copy(r, &x));
    assert_int_equal(x->chunks.num_chunks, K);
    gnt_assert_same_i64(x->chunks.first, r->chunks.first, K + 1);
    gnt_dataset_free(&x);
    gnt_assert_ok(gnti_dataset_subgraph(r, some, 3, &x));
    assert_int_equal(x->chunks.num_chunks, 0);
    gnt_dataset_free(&x);
    gnt_dataset_free(&r);
    gnt_dataset_free(&d);
    d = make(7);
    gnt_assert_status(gnti_partition_rewrite(d, p, &r), GNT_ERR_FORMAT);
    gnt_assert_error_has(p->graph_sha256, d->graph_sha256);
    gnti_partition_free(&p);
    gnt_dataset_free(&d);
    d = gnt_full_dataset(&(gnt_full_options){ .seed = 1, .num_nodes = N });
    p = cut(d, GNTI_PART_RANDOM, 1);
    gnt_assert_status(gnti_partition_rewrite(d, p, &r), GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("3 graphs", "--rewrite");
    gnti_partition_free(&p);
    gnt_dataset_free(&d);
}

/* Chunk starts that are none. */
static void test_damaged(void **state)
{
    static const int64_t wrong[][3] = { { 1, 20, N }, { 0, 20, N - 1 }, { 0, N + 1, N } };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++) {
        gnt_dataset *d = make(4), *r = NULL;

        d->chunks.num_chunks = 2;
        gnt_assert_ok(gnti_alloc_array(&d->chunks.first, 3));
        memcpy(d->chunks.first, wrong[i], sizeof wrong[i]);
        memcpy(d->chunks.partition_sha256, d->graph_sha256, 65);
        memcpy(d->chunks.graph_sha256, d->graph_sha256, 65);
        gnt_assert_ok(gnti_dataset_write(d, gnt_test_path(path, "wrong.h5")));
        gnt_assert_status(gnti_dataset_read(NULL, path, &r), GNT_ERR_FORMAT);
        gnt_assert_error_has("/chunks/first", "wrong.h5");
        gnt_dataset_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_kept_and_lost),
        cmocka_unit_test(test_damaged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
