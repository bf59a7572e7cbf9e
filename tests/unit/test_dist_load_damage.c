/* SPDX-License-Identifier: Apache-2.0 */
/* Loading by rank from files that are damaged or do not fit: every rank answers within its time, the one that saw it names the
 * place; nothing leaks when memory runs out anywhere.
 */
#include "tests/support/part_case.h"
#include "tests/support/thread_ranks.h"

#include "datasets/h5_value.h"
#include "dist/part_load.h"

#include <math.h>
#include <string.h>

enum { NODES = 9, RANKS = 3, ARCS = 18 };

/* A ring of nine nodes with two features, one label and a split, as arrays that a case may spoil. */
typedef struct ring {
    int64_t indptr[NODES + 1], indices[ARCS], y[NODES], train[3], valid[3], origin[NODES], first[RANKS + 1];
    float weight[ARCS], x[NODES * 2];
    int64_t num_train, directed, num_indptr;
    bool weighted, ordered, with_origin;
} ring;

static void ring_make(ring *r)
{
    memset(r, 0, sizeof *r);
    r->num_indptr = NODES + 1;
    for (int64_t i = 0; i < NODES; i++) {
        const int64_t before = (i + NODES - 1) % NODES, after = (i + 1) % NODES;

        r->indptr[i + 1] = 2 * (i + 1);
        r->indices[2 * i] = gnti_min_i64(before, after);
        r->indices[2 * i + 1] = gnti_max_i64(before, after);
        r->weight[2 * i] = r->weight[2 * i + 1] = 2.0f;
        r->y[i] = i % 2;
        r->origin[i] = (i / 3) + 3 * (i % 3); /* ascending in each third */
    }
    for (int64_t i = 0; i < 3; i++) {
        r->train[i] = i * 4;
        r->valid[i] = i * 3 + 1;
        r->first[i + 1] = (i + 1) * 3;
    }
    r->num_train = 3;
}

static void ring_write(const ring *r, const char *path, const gnti_partition *p)
{
    gnti_h5 *f = NULL;
    const int64_t shape[2] = { NODES, NODES }, n = NODES, arcs = ARCS, x[2] = { NODES, 2 }, three = 3,
                  four = 4;

    gnt_assert_ok(gnti_h5_create(path, &f));
    gnt_assert_ok(gnti_h5_set_text(f, "/", "format", "gnntrain-graph"));
    gnt_assert_ok(gnti_h5_set_text(f, "/", "format_version", "1.0"));
    gnt_assert_ok(gnti_h5_set_int(f, "/", "directed", r->directed));
    gnt_assert_ok(gnti_h5_make_group(f, "/graph/adj"));
    gnt_assert_ok(gnti_h5_write_attribute(f, "/graph/adj", "shape", GNTI_FILE_I64, shape, 2));
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/indptr", GNTI_FILE_I64, 1, &r->num_indptr, r->indptr));
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/indices", GNTI_FILE_I64, 1, &arcs, r->indices));
    if (r->weighted)
        gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/data", GNTI_FILE_F32, 1, &arcs, r->weight));
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/x", GNTI_FILE_F32, 2, x, r->x));
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/y", GNTI_FILE_I64, 1, &n, r->y));
    gnt_assert_ok(gnti_h5_set_int(f, "/nodes/y", "num_classes", 2));
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/public/train", GNTI_FILE_I64, 1, &r->num_train, r->train));
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/public/valid", GNTI_FILE_I64, 1, &three, r->valid));
    if (r->with_origin)
        gnt_assert_ok(gnti_h5_write_values(f, "/nodes/origin", GNTI_FILE_I64, 1, &n, r->origin));
    if (r->ordered) {
        gnt_assert_ok(gnti_h5_write_values(f, "/chunks/first", GNTI_FILE_I64, 1, &four, r->first));
        gnt_assert_ok(gnti_h5_set_text(f, "/chunks/first", "partition_sha256", p->sha256));
        gnt_assert_ok(gnti_h5_set_text(f, "/chunks/first", "graph_sha256", p->sha256));
    }
    gnt_assert_ok(gnti_h5_commit(&f, NULL));
}

/* Thirds by id, or, for a file in chunk order, by remainder: what ring.origin is the order of. */
static gnti_partition *thirds(bool ordered)
{
    gnti_partition *p = NULL;
    int32_t *chunk = NULL;

    gnt_assert_ok(gnti_alloc_array(&chunk, NODES));
    for (int32_t v = 0; v < NODES; v++)
        chunk[v] = ordered ? v % 3 : v / 3;
    gnt_assert_ok(gnti_partition_from_vector(NODES, RANKS, chunk, "file", &p));
    return p;
}

typedef struct job {
    gnti_local_config config;
    gnt_dataset *head;
} job;

static gnt_status load_rank(gnti_comm *comm, void *user)
{
    job *j = user;
    gnti_local_data *d = NULL;
    const gnt_status st = gnti_local_data_load(j->head, &j->config, comm, &d);

    gnti_local_data_free(&d);
    return st;
}

/* want NULL: loading works. Else some rank says so, and no rank goes on. */
static void check_ring(const ring *r, const char *want)
{
    static const int32_t owner[RANKS] = { 0, 1, 2 };
    gnti_partition *p = thirds(r->ordered);
    job j = { .config = { .partition = p, .owner = owner, .num_ranks = RANKS } };
    gnt_rank_result results[RANKS];
    char path[GNT_TEST_PATH_BYTES];
    bool said = false;

    ring_write(r, gnt_test_path(path, "ring.h5"), p);
    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
    gnt_ranks_run(RANKS, 20.0, load_rank, &j, results);
    for (int i = 0; i < RANKS; i++) {
        if (want == NULL && results[i].status != GNT_OK)
            fail_msg("rank %d: %s", i, results[i].text);
        if (want != NULL && results[i].status == GNT_OK)
            fail_msg("rank %d loads a file that is wrong: %s", i, want);
        assert_true(results[i].seconds < 10.0);
        said = said || (want != NULL && results[i].status == GNT_ERR_FORMAT && strstr(results[i].text, want));
    }
    if (want != NULL && !said)
        fail_msg("no rank says '%s' but '%s', '%s', '%s'", want, results[0].text, results[1].text,
                 results[2].text);
    gnt_dataset_free(&j.head);
    gnti_partition_free(&p);
}

static void test_whole_ring_loads(void **state)
{
    ring r;

    (void)state;
    ring_make(&r);
    check_ring(&r, NULL);
    r.weighted = true;
    check_ring(&r, NULL);
    r.ordered = r.with_origin = true;
    check_ring(&r, NULL);
}

static void test_spoiled_graphs(void **state)
{
    ring r;

    (void)state;
    ring_make(&r);
    r.indptr[5] = 3;
    check_ring(&r, "indptr not monotone at row 4: 8 is followed by 3");
    ring_make(&r);
    r.indptr[5] = -2147483648; /* what wrapped around */
    check_ring(&r, "indptr not monotone at row 4: 8 is followed by -2147483648");
    ring_make(&r);
    r.indptr[5] = (int64_t)1 << 40;
    check_ring(&r, "8 is followed by 1099511627776, there are 18 values");
    ring_make(&r);
    r.indptr[NODES] = 17;
    check_ring(&r, "ends with 17 but there are 18 values");
    ring_make(&r);
    r.indices[7] = NODES;
    check_ring(&r, "names column 9, columns are 0 .. 8");
    ring_make(&r);
    r.indices[7] = (int64_t)1 << 33;
    check_ring(&r, "value 8589934592 at place 7");
    ring_make(&r);
    r.indices[7] = r.indices[6];
    check_ring(&r, "an arc of node 3 twice");
    ring_make(&r);
    r.indices[7] = 8;
    check_ring(&r, "is said to be undirected but some arc has no equal reverse");
    r.directed = 1;
    check_ring(&r, NULL);
    ring_make(&r);
    r.weighted = true;
    r.weight[9] = 3.0f;
    check_ring(&r, "no equal reverse");
    r.weight[9] = NAN;
    check_ring(&r, "weights must be finite");
}

static void test_spoiled_rows(void **state)
{
    ring r;

    (void)state;
    ring_make(&r);
    r.y[4] = 2;
    check_ring(&r, "node 4 has the label 2, labels are 0 .. 1");
    ring_make(&r);
    r.train[2] = NODES;
    check_ring(&r, "lists node 9, they are 0 .. 8");
    ring_make(&r);
    r.train[2] = r.train[1];
    check_ring(&r, "lists node 4 twice");
    ring_make(&r);
    r.num_train = 0;
    check_ring(&r, NULL);
}

static void test_spoiled_order(void **state)
{
    ring r;

    (void)state;
    ring_make(&r);
    r.ordered = r.with_origin = true;
    r.origin[4] = r.origin[3];
    check_ring(&r, "rows of a chunk must ascend");
    ring_make(&r);
    r.ordered = r.with_origin = true;
    r.origin[8] = NODES;
    check_ring(&r, "rows of a chunk must ascend in 0 .. 8");
    ring_make(&r);
    r.ordered = r.with_origin = true;
    r.origin[3] = 0; /* also the first row */
    check_ring(&r, "names some rows twice");
    ring_make(&r);
    r.ordered = r.with_origin = true;
    r.train[0] = 8; /* a list that does not ascend */
    check_ring(&r, "not ascending");
}

/* A partition of another number of nodes. */
static void test_other_partition(void **state)
{
    static const int32_t owner[1] = { 0 };
    gnti_partition *p = NULL, *mine = thirds(false);
    gnti_comm *comm = NULL;
    gnti_local_data *d = NULL;
    job j = { .head = NULL };
    char path[GNT_TEST_PATH_BYTES];
    ring r;

    (void)state;
    ring_make(&r);
    ring_write(&r, gnt_test_path(path, "ring.h5"), mine);
    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
    gnt_assert_ok(gnti_partition_one(NODES + 1, &p));
    j.config = (gnti_local_config){ .partition = p, .owner = owner, .num_ranks = 1 };
    gnt_assert_ok(gnti_comm_self_create(&comm));
    gnt_assert_status(gnti_local_data_load(j.head, &j.config, comm, &d), GNT_ERR_FORMAT);
    gnt_assert_error_has("10 nodes", "has 9", path);
    assert_true(comm->aborted);
    gnti_comm_free(&comm);
    gnti_partition_free(&p);
    gnti_partition_free(&mine);
    gnt_dataset_free(&j.head);
}

static gnt_status load_alone(const job *j, gnti_local_data **out)
{
    gnti_comm *comm = NULL;
    gnt_status st = gnti_comm_self_create(&comm);

    if (st == GNT_OK)
        st = gnti_local_data_load(j->head, &j->config, comm, out);
    gnti_comm_free(&comm);
    return st;
}

static void test_no_memory(void **state)
{
    static const int32_t owner[RANKS] = { 0, 0, 0 };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        gnti_partition *p = thirds(ordered);
        job j = { .config = { .partition = p, .owner = owner, .num_ranks = 1 } };
        gnti_local_data *d = NULL;
        ring r;

        ring_make(&r);
        r.weighted = true;
        r.ordered = r.with_origin = ordered != 0;
        r.indices[7] = 8;
        r.directed = 1;
        ring_write(&r, gnt_test_path(path, "ring.h5"), p);
        gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
        GNT_BRUTAL_OUT(load_alone(&j, &d), d);
        gnti_local_data_free(&d);
        gnt_dataset_free(&j.head);
        gnti_partition_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_ring_loads), cmocka_unit_test(test_spoiled_graphs),
        cmocka_unit_test(test_spoiled_rows),     cmocka_unit_test(test_spoiled_order),
        cmocka_unit_test(test_other_partition),  cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
