/* SPDX-License-Identifier: Apache-2.0 */
/* Partition files: what is written is read, another graph's or a damaged one is refused with both values, no file of any bytes
 * crashes the reader; vectors as gpmetis writes them, with the line of every mistake. label: medium
 */
#include "tests/support/gnt_test.h"

#include "base/philox.h"
#include "datasets/h5_value.h"
#include "partition/partition_internal.h"

#include <string.h>

enum { N = 50, K = 4 };

static const char *const SUM = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* A partition with shares and a quality that has lists of K, of others, and a text. */
static gnti_partition *make(void)
{
    static const int64_t counts[K] = { 13, 13, 12, 12 };
    gnti_partition *p = NULL;
    int32_t *chunk_of = NULL;

    gnt_assert_ok(gnti_alloc_array(&chunk_of, N));
    for (int32_t v = 0; v < N; v++)
        chunk_of[v] = v % K;
    gnt_assert_ok(gnti_partition_from_vector(N, K, chunk_of, "range", &p));
    memcpy(p->graph_sha256, SUM, 65);
    p->num_shares = 2;
    gnt_assert_ok(gnti_alloc_array(&p->shares, 2));
    gnt_assert_ok(gnti_alloc_array(&p->share_chunks, 3));
    p->shares[0] = 0.75;
    p->shares[1] = 0.25;
    p->share_chunks[0] = 0;
    p->share_chunks[1] = 3;
    p->share_chunks[2] = K;
    gnt_assert_ok(gnti_json_create_object(&p->quality));
    gnt_assert_ok(gnti_json_set_ints(p->quality, "nodes", counts, K));
    gnt_assert_ok(gnti_json_set_ints(p->quality, "few", counts, 2));
    gnt_assert_ok(gnti_json_set_text(p->quality, "metis_version", "5.1.0"));
    return p;
}

static void test_round_trip(void **state)
{
    gnti_partition *p = make(), *q = NULL;
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *file = NULL;
    int64_t nodes[K];
    const char *text;

    (void)state;
    gnt_assert_ok(gnti_partition_write(p, gnt_test_path(path, "a.k4.part.h5")));
    gnt_assert_ok(gnti_partition_read(path, SUM, &q));
    assert_int_equal(q->num_nodes, N);
    assert_int_equal(q->num_chunks, K);
    gnt_assert_same_i32(q->chunk_of, p->chunk_of, N);
    gnt_assert_same_i64(q->chunk_nodes, p->chunk_nodes, K);
    assert_string_equal(q->method, "range");
    assert_string_equal(q->sha256, p->sha256);
    assert_string_equal(q->graph_sha256, SUM);
    assert_int_equal(q->num_shares, 2);
    assert_true(q->shares[0] == 0.75 && q->shares[1] == 0.25);
    gnt_assert_same_i32(q->share_chunks, p->share_chunks, 3);
    gnt_assert_ok(gnti_json_get_text(q->quality, "metis_version", &text));
    assert_string_equal(text, "5.1.0");
    gnt_assert_ok(gnti_h5_open(path, &file));
    gnt_assert_ok(gnti_h5_read_i64(file, "/quality/nodes", K, nodes));
    assert_int_equal(nodes[0], 13);
    assert_int_equal(gnti_h5_kind_of(file, "/quality/few"), GNTI_H5_NOTHING);
    gnti_h5_close(&file);
    gnti_partition_free(&q);
    gnti_partition_free(&p);
}

static void test_mismatch(void **state)
{
    gnti_partition *p = make(), *q = NULL;
    char path[GNT_TEST_PATH_BYTES], other[65];

    (void)state;
    memcpy(other, SUM, 65);
    other[0] = 'f';
    gnt_assert_ok(gnti_partition_write(p, gnt_test_path(path, "b.part.h5")));
    gnt_assert_status(gnti_partition_read(path, other, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("b.part.h5", other, SUM, "gnntrain partition");
    p->chunk_of[7] = 2; /* no longer what the sum says */
    gnt_assert_ok(gnti_partition_write(p, path));
    gnt_assert_status(gnti_partition_read(path, SUM, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("damaged", p->sha256);
    p->chunk_of[7] = K;
    gnt_assert_ok(gnti_partition_write(p, path));
    gnt_assert_status(gnti_partition_read(path, SUM, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("b.part.h5", "node 7", "chunk 4");
    p->chunk_of[7] = 3;
    p->share_chunks[1] = K;
    gnt_assert_ok(gnti_partition_write(p, path));
    gnt_assert_status(gnti_partition_read(path, SUM, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("shares", "4 chunks");
    p->num_nodes = N - 1; /* the stated size and the stored one */
    gnt_assert_ok(gnti_partition_write(p, path));
    gnt_assert_status(gnti_partition_read(path, SUM, &q), GNT_ERR_FORMAT);
    assert_null(q);
    p->num_nodes = N;
    gnti_partition_free(&p);
    gnt_test_write(path, "c.part.h5", "no HDF5", -1);
    gnt_assert_status(gnti_partition_read(path, SUM, &q), GNT_ERR_FORMAT);
    gnt_assert_status(gnti_partition_read("/nowhere/x.part.h5", SUM, &q), GNT_ERR_IO);
    gnt_assert_error_has("/nowhere/x.part.h5");
}

/* A dataset is no partition, and says what to do. */
static void test_other_format(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_partition *q = NULL;
    gnti_h5 *file = NULL;

    (void)state;
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "d.h5"), &file));
    gnt_assert_ok(gnti_h5_set_text(file, "/", "format", "gnntrain-graph"));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    gnt_assert_status(gnti_partition_read(path, NULL, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("gnntrain-graph", "gnntrain-partition", "gnntrain partition");
    gnt_assert_ok(gnti_h5_create(path, &file));
    gnt_assert_ok(gnti_h5_set_text(file, "/", "format", "gnntrain-partition"));
    gnt_assert_ok(gnti_h5_set_text(file, "/", "format_version", "2.0"));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    gnt_assert_status(gnti_partition_read(path, NULL, &q), GNT_ERR_FORMAT);
    gnt_assert_error_has("2.0", "1.x");
}

static void read_anything(const char *path)
{
    gnti_alloc_stats before, after;
    gnti_partition *p = NULL;
    gnt_status st;

    gnti_alloc_get_stats(&before);
    st = gnti_partition_read(path, NULL, &p);
    if (st != GNT_OK) {
        assert_null(p);
        assert_true(st == GNT_ERR_FORMAT || st == GNT_ERR_IO || st == GNT_ERR_NOMEM || st == GNT_ERR_LIMIT);
    }
    gnti_partition_free(&p);
    gnti_alloc_get_stats(&after);
    assert_int_equal(after.live_blocks, before.live_blocks);
}

static void test_damage(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_partition *p = make();
    int64_t size;
    char *bytes;

    (void)state;
    gnt_assert_ok(gnti_partition_write(p, gnt_test_path(path, "whole.part.h5")));
    bytes = gnt_test_read(path, &size);
    for (int64_t i = 0; i < 60; i++)
        read_anything(gnt_test_write(path, "cut.part.h5", bytes, size * i / 60));
    for (int64_t i = 0; i < 200; i++) {
        uint32_t w[4];
        char old;

        gnti_draw_quad(gnti_seed_key(3), GNTI_DRAW_GENERATE, 0, 0, i, 0, w);
        old = bytes[w[0] % size];
        bytes[w[0] % size] = (char)(old ^ (1 << (w[1] % 8)));
        read_anything(gnt_test_write(path, "flip.part.h5", bytes, size));
        bytes[w[0] % size] = old;
    }
    gnti_free(bytes);
    gnti_partition_free(&p);
}

static void test_memory(void **state)
{
    gnti_partition *p = make(), *q = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_path(path, "m.part.h5");
    GNT_BRUTAL(gnti_partition_write(p, path));
    GNT_BRUTAL_OUT(gnti_partition_read(path, SUM, &q), q);
    gnti_partition_free(&q);
    gnti_partition_free(&p);
}

static void refuse(const char *content, int64_t num_nodes, gnt_status want, const char *a, const char *b)
{
    char path[GNT_TEST_PATH_BYTES];
    int32_t chunk_of[8], num_chunks = 0;

    gnt_test_write(path, "vector.part.4", content, -1);
    gnt_assert_status(gnti_cut_file(path, num_nodes, &num_chunks, chunk_of), want);
    gnt_assert_error_has("vector.part.4", a, b);
}

static void test_vectors(void **state)
{
    static const int32_t want[] = { 2, 0, 1, 1 };
    char path[GNT_TEST_PATH_BYTES];
    int32_t chunk_of[8], num_chunks = 0;

    (void)state;
    gnt_test_write(path, "fine.part.3", "2\n0\r\n 1 \n1\n\n\n", -1);
    gnt_assert_ok(gnti_cut_file(path, 4, &num_chunks, chunk_of));
    assert_int_equal(num_chunks, 3);
    gnt_assert_same_i32(chunk_of, want, 4);
    num_chunks = 4;
    gnt_assert_ok(gnti_cut_file(path, 4, &num_chunks, chunk_of));
    assert_int_equal(num_chunks, 4);
    refuse("0\n1\nx\n0\n", 4, GNT_ERR_FORMAT, "line 3", "x");
    refuse("0\n1\n-1\n0\n", 4, GNT_ERR_FORMAT, "line 3", "-1");
    refuse("0\n1\n4\n0\n", 4, GNT_ERR_FORMAT, "line 3", "chunk 4 of node 2");
    refuse("0\n99999999999999999999\n4\n0\n", 4, GNT_ERR_FORMAT, "line 2", "99999999999999999999");
    refuse("0\n1 1\n4\n0\n", 4, GNT_ERR_FORMAT, "line 2", "1");
    refuse("0\n1\n0\n", 4, GNT_ERR_FORMAT, "3 lines", "4 nodes");
    refuse("0\n1\n0\n0\n1\n", 4, GNT_ERR_FORMAT, "line 5", "4 nodes");
    refuse("", 4, GNT_ERR_FORMAT, "0 lines", "4 nodes");
    gnt_assert_status(gnti_cut_file("/nowhere/v", 4, &num_chunks, chunk_of), GNT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),   cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_other_format), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_vectors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
