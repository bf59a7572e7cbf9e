/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of dataset files against the whole dataset, and chosen rows of arrays against the whole arrays. */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "datasets/h5_ranges.h"

#include <string.h>

static void test_header_equals_whole(void **state)
{
    (void)state;
    for (int variant = 0; variant < 12; variant++) {
        const gnt_full_options options = { .seed = (uint64_t)variant,
                                           .num_nodes = 20 + variant,
                                           .directed = variant % 2 == 1,
                                           .weighted = variant % 3 == 1,
                                           .sparse = variant % 4 >= 2,
                                           .labels = (gnt_label_kind)(variant % 4) };
        gnt_dataset *d = gnt_full_dataset(&options), *whole = NULL, *head = NULL;
        gnti_dataset_header a, b;
        char path[GNT_TEST_PATH_BYTES];

        gnt_test_path(path, "head.h5");
        gnt_assert_ok(gnt_dataset_save(d, path));
        gnt_assert_ok(gnti_dataset_read(NULL, path, &whole));
        gnt_assert_ok(gnti_dataset_read_header(NULL, path, &head));
        assert_non_null(head->header);
        assert_null(head->graph);
        gnti_dataset_get_header(whole, &a);
        gnti_dataset_get_header(head, &b);
        assert_int_equal(a.num_arcs, b.num_arcs);
        assert_int_equal(a.num_entries, b.num_entries);
        assert_int_equal(a.weighted, b.weighted);
        assert_int_equal(a.has_loops, b.has_loops);
        assert_int_equal(a.sparse_x, b.sparse_x);
        assert_int_equal(a.weighted_x, b.weighted_x);
        assert_int_equal(gnt_dataset_num_arcs(head), gnt_dataset_num_arcs(whole));
        assert_int_equal(head->num_nodes, whole->num_nodes);
        assert_int_equal(head->directed, whole->directed);
        assert_int_equal(head->x.width, whole->x.width);
        assert_int_equal(head->y.kind, whole->y.kind);
        assert_int_equal(head->y.num_classes, whole->y.num_classes);
        assert_int_equal(head->y.names != NULL, whole->y.names != NULL);
        assert_int_equal(head->num_splits, whole->num_splits);
        assert_int_equal(gnti_dataset_splits_graphs(head), gnti_dataset_splits_graphs(whole));
        assert_int_equal(gnti_dataset_num_graphs(head), gnti_dataset_num_graphs(whole));
        for (int64_t i = 0; i < head->num_splits; i++) {
            assert_string_equal(head->splits[i].name, whole->splits[i].name);
            assert_int_equal(head->splits[i].inductive, whole->splits[i].inductive);
            for (int p = 0; p < 3; p++)
                assert_int_equal(head->splits[i].num_nodes[p], whole->splits[i].num_nodes[p]);
        }
        assert_string_equal(head->graph_sha256, whole->graph_sha256);
        assert_string_equal(head->content_sha256, whole->content_sha256);
        assert_string_equal(head->uuid, whole->uuid);
        gnt_dataset_free(&d);
        gnt_dataset_free(&whole);
        gnt_dataset_free(&head);
    }
}

static void test_header_is_small(void **state)
{
    const gnt_full_options options = { .seed = 1, .num_nodes = 30000, .labels = GNT_LABELS_CLASS };
    gnt_dataset *d = gnt_full_dataset(&options), *head = NULL;
    gnti_alloc_stats before, after;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_path(path, "big.h5");
    gnt_assert_ok(gnt_dataset_save(d, path));
    gnt_dataset_free(&d);
    gnti_alloc_get_stats(&before);
    gnti_alloc_reset_peak();
    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &head));
    gnti_alloc_get_stats(&after);
    if (after.peak_bytes - before.live_bytes >= 20000)
        fail_msg("%zu bytes", after.peak_bytes - before.live_bytes);
    gnt_dataset_free(&head);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------- */

enum { ROWS = 200000, WIDTH = 3 };

typedef struct pattern {
    int64_t stride, count, row, to; /* count rows of every stride, places backwards in threes */
} pattern;

static bool next_range(void *user, gnti_h5_range *out)
{
    pattern *p = user;

    if (p->row + p->count > ROWS)
        return false;
    *out = (gnti_h5_range){ p->row, p->count, p->to };
    p->row += p->stride;
    p->to += p->count;
    return true;
}

static void check_ranges(const gnti_h5 *file, const char *path, gnti_dtype_file wanted, int64_t width,
                         const void *whole)
{
    static const int64_t patterns[][2] = { { 1, 1 },         { 2, 1 },           { 7, 3 },        { 5000, 1 },
                                           { 90001, 90000 }, { 200000, 200000 }, { 30000, 29999 } };
    const size_t row_bytes = (size_t)width * gnti_file_dtype_bytes(wanted);
    char *out = NULL;

    gnt_assert_ok(gnti_alloc_array(&out, ROWS * (int64_t)row_bytes));
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++)
        for (int64_t gap = 0; gap <= 1 << 16; gap += 1 << 16) {
            pattern p = { patterns[i][0], patterns[i][1], 0, 0 };
            const gnti_h5_ranges ranges = { next_range, &p, gap };
            const int64_t before = gnti_h5_bytes_read(file);
            int64_t to = 0, read;

            gnt_assert_ok(gnti_h5_read_ranges(file, path, wanted, width, &ranges, out));
            read = gnti_h5_bytes_read(file) - before;
            for (int64_t row = 0; row + p.count <= ROWS; row += p.stride, to += p.count)
                assert_memory_equal(out + (size_t)to * row_bytes,
                                    (const char *)whole + (size_t)row * row_bytes,
                                    (size_t)p.count * row_bytes);
            if (gap == 0 && wanted == GNTI_FILE_I64) /* nothing else is read, and each row once */
                assert_int_equal(read, to * (int64_t)row_bytes);
        }
    gnti_free(out);
}

static void test_ranges(void **state)
{
    gnti_h5 *file = NULL;
    int64_t *wide = NULL, dims[2] = { ROWS, WIDTH };
    int32_t *narrow = NULL;
    float *x = NULL;
    double *d = NULL;
    char path[GNT_TEST_PATH_BYTES];
    pattern beyond = { 1, 1, ROWS - 1, 0 };
    gnti_h5_ranges ranges = { next_range, &beyond, 0 };

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&wide, ROWS));
    gnt_assert_ok(gnti_alloc_array(&narrow, ROWS));
    gnt_assert_ok(gnti_alloc_array(&x, ROWS * WIDTH));
    gnt_assert_ok(gnti_alloc_array(&d, ROWS * WIDTH));
    gnt_test_fill(x, ROWS * WIDTH, 3);
    for (int64_t i = 0; i < ROWS; i++)
        wide[i] = narrow[i] = (int32_t)(i * 31 - 7);
    for (int64_t i = 0; i < ROWS * WIDTH; i++)
        d[i] = (double)x[i];
    gnt_test_path(path, "ranges.h5");
    gnt_assert_ok(gnti_h5_create(path, &file));
    gnt_assert_ok(gnti_h5_write_values(file, "/i", GNTI_FILE_I64, 1, dims, wide));
    gnt_assert_ok(gnti_h5_write_values(file, "/x", GNTI_FILE_F32, 2, dims, x));
    gnt_assert_ok(gnti_h5_write_values(file, "/d", GNTI_FILE_F64, 2, dims, d));
    wide[ROWS - 1] = (int64_t)1 << 40;
    gnt_assert_ok(gnti_h5_write_values(file, "/far", GNTI_FILE_I64, 1, dims, wide));
    wide[ROWS - 1] = narrow[ROWS - 1];
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    gnt_assert_ok(gnti_h5_open(path, &file));
    check_ranges(file, "/i", GNTI_FILE_I64, 1, wide);
    check_ranges(file, "/i", GNTI_FILE_I32, 1, narrow);
    check_ranges(file, "/x", GNTI_FILE_F32, WIDTH, x);
    check_ranges(file, "/d", GNTI_FILE_F32, WIDTH, x);
    gnt_assert_status(gnti_h5_read_ranges(file, "/far", GNTI_FILE_I32, 1, &ranges, narrow), GNT_ERR_FORMAT);
    gnt_assert_error_has("1099511627776", "199999", "/far");
    gnt_assert_status(gnti_h5_read_ranges(file, "/x", GNTI_FILE_I64, WIDTH, &ranges, wide), GNT_ERR_FORMAT);
    gnti_h5_close(&file);
    gnti_free(wide);
    gnti_free(narrow);
    gnti_free(x);
    gnti_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_equals_whole),
        cmocka_unit_test(test_header_is_small),
        cmocka_unit_test(test_ranges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
