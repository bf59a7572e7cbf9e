/* SPDX-License-Identifier: Apache-2.0 */
/* Loading by rank against cutting in memory, to the bit: files as imported, in chunk order, in some other order; directed and
 * weighted graphs, loops, dense and sparse features, all kinds of labels, inductive splits; 1 to 8 ranks, some without rows.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/part_case.h"
#include "tests/support/thread_ranks.h"

#include "dist/part_load.h"

#include <string.h>

enum { NODES = 60, CHUNKS = 8 };

typedef struct job {
    gnti_local_config config;
    gnt_dataset *head;
    gnti_local_data *want[8];
} job;

static gnt_status load_rank(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    job *j = user;
    gnti_local_data *d = NULL;
    const char *bad = NULL;

    GNT_TRY(gnti_local_data_load(j->head, &j->config, comm, &d));
    bad = gnt_part_case_compare_data(d, j->want[comm->rank]);
    GNT_CHECK(bad == NULL, GNT_ERR_INTERNAL, "rank %d of %d: %s", (int)comm->rank, (int)comm->size, bad);
    GNT_RANK_CHECK(d->bytes_read > 0 || d->num_own == 0);
done:
    gnti_local_data_free(&d);
    return st;
}

static void drop_graphs(gnt_dataset *d)
{
    for (int64_t i = d->num_arrays - 1; i >= 0; i--) {
        if (strncmp(d->arrays[i].path, "/graphs/", 8) != 0)
            continue;
        gnti_array_free(&d->arrays[i]);
        d->arrays[i] = d->arrays[--d->num_arrays];
    }
}

/* Loads the file with every number of ranks and compares with what `data`, the same nodes in memory, is cut into. */
static void check_file(const gnt_dataset *data, const gnti_partition *p, const char *path, const char *split)
{
    job j = { .config = { .partition = p, .split = split, .without_split = split == NULL } };

    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
    for (int32_t ranks = 1; ranks <= 8; ranks++) {
        const int spread = ranks % 3;
        int32_t *owner = gnt_part_case_owner(p->num_chunks, ranks, spread, (uint64_t)ranks);

        j.config.owner = owner;
        j.config.num_ranks = ranks;
        gnt_assert_ok(gnti_local_data_make_all(data, &j.config, j.want));
        gnt_ranks_run(ranks, 30.0, load_rank, &j, NULL);
        for (int32_t r = 0; r < ranks; r++)
            gnti_local_data_free(&j.want[r]);
        gnti_free(owner);
    }
    gnt_dataset_free(&j.head);
}

static gnti_partition *random_partition(const gnt_dataset *d, int32_t num_chunks, uint64_t seed)
{
    gnti_partition drawn, *p = NULL;

    gnt_part_case_partition(d->num_nodes, num_chunks, seed, &drawn);
    gnt_assert_ok(gnti_partition_from_vector(d->num_nodes, num_chunks, drawn.chunk_of, "random", &p));
    memcpy(p->graph_sha256, d->graph_sha256, sizeof p->graph_sha256);
    drawn.chunk_of = NULL; /* taken */
    gnt_part_case_partition_clear(&drawn);
    return p;
}

/* The dataset as imported, in chunk order, and in an order of no partition: three files, one result. */
static void check_orders(gnt_dataset *d, const gnti_partition *p, const char *split)
{
    gnt_dataset *ordered = NULL, *moved = NULL;
    int64_t *rank = NULL;
    char path[GNT_TEST_PATH_BYTES];

    gnt_assert_ok(gnti_alloc_array(&rank, d->num_nodes));
    for (int64_t v = 0; v < d->num_nodes; v++)
        rank[v] = (v * 7 + 3) % d->num_nodes;
    gnt_test_path(path, "load.h5");
    gnt_assert_ok(gnt_dataset_save(d, path));
    check_file(d, p, path, split);
    gnt_assert_ok(gnti_partition_rewrite(d, p, &ordered));
    gnt_assert_ok(gnt_dataset_save(ordered, path));
    check_file(d, p, path, split);
    gnt_assert_ok(gnti_dataset_permute(d, rank, &moved));
    gnt_assert_ok(gnt_dataset_save(moved, path));
    check_file(d, p, path, split);
    gnti_free(rank);
    gnt_dataset_free(&ordered);
    gnt_dataset_free(&moved);
}

static void test_equal_to_memory(void **state)
{
    (void)state;
    for (int variant = 0; variant < 12; variant++) {
        const gnt_full_options options = { .seed = (uint64_t)variant + 1,
                                           .num_nodes = NODES,
                                           .directed = variant % 2 == 1,
                                           .weighted = variant % 3 == 1,
                                           .sparse = variant % 4 >= 2,
                                           .labels = (gnt_label_kind)(variant % 4) };
        gnt_dataset *d = gnt_full_dataset(&options);
        gnti_partition *p = random_partition(d, CHUNKS, (uint64_t)variant);

        drop_graphs(d);
        check_orders(d, p, variant % 3 == 0 ? "inductive" : variant % 3 == 1 ? "public" : NULL);
        gnti_partition_free(&p);
        gnt_dataset_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
