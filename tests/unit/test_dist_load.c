/* SPDX-License-Identifier: Apache-2.0 */
/* Loading by rank against cutting in memory, to the bit: files as imported, in chunk order, in some other order; directed and
 * weighted graphs, loops, dense and sparse features, all kinds of labels, inductive splits; 1 to 8 ranks, some without rows.
 */
#include "tests/support/full_dataset.h"
#include "tests/support/part_case.h"
#include "tests/support/prop.h"
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

/* Loads the file with 1, 1 + step, ... ranks and compares with what `data`, the same nodes in memory, is cut into. */
static void check_file(const gnt_dataset *data, const gnti_partition *p, const char *path, const char *split,
                       int32_t step)
{
    job j = { .config = { .partition = p, .split = split, .without_split = split == NULL } };

    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
    for (int32_t ranks = 1; ranks <= 8; ranks += step) {
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
    check_file(d, p, path, split, 1);
    gnt_assert_ok(gnti_partition_rewrite(d, p, &ordered));
    gnt_assert_ok(gnt_dataset_save(ordered, path));
    check_file(d, p, path, split, 1);
    gnt_assert_ok(gnti_dataset_permute(d, rank, &moved));
    gnt_assert_ok(gnt_dataset_save(moved, path));
    check_file(d, p, path, split, 1);
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

/* ---- random graphs ---------------------------------------------------------------------------------------------------- */

/* A dataset of the graph alone with an inductive split; loops and hubs come from the kinds of gnt_prop_run. */
static gnt_dataset *dataset_of(const gnt_prop_graph *g, bool weighted)
{
    gnt_dataset *d = NULL;
    const gnti_arc_list arcs = { .num_arcs = g->num_arcs,
                                 .source = g->source,
                                 .target = g->target,
                                 .weight = weighted ? g->weight : NULL };
    const gnti_build_options options = { .symmetrise = g->seed % 2 == 0 };
    gnti_split s = { .inductive = true };

    gnt_assert_ok(gnti_dataset_create(NULL, g->num_nodes, &d));
    gnt_assert_ok(gnti_graph_build(g->num_nodes, &arcs, &options, NULL, NULL, &d->graph));
    d->directed = g->seed % 2 != 0;
    gnt_assert_ok(gnti_strdup(&s.name, "public"));
    for (int p = 0; p < 3; p++)
        gnt_assert_ok(gnti_alloc_array(&s.nodes[p], g->num_nodes));
    for (int64_t v = 0; v < g->num_nodes; v++)
        if ((v + (int64_t)g->seed) % 5 != 0)
            s.nodes[v % 3][s.num_nodes[v % 3]++] = v;
    gnt_assert_ok(gnti_dataset_take_split(d, &s));
    gnt_assert_ok(gnti_dataset_hash(d));
    return d;
}

static const char *loads_equal(const gnt_prop_graph *g, void *user)
{
    const int32_t chunks = g->num_nodes > 1 ? (int32_t)gnti_min_i64(g->num_nodes, 6) : 1;
    gnt_dataset *d = dataset_of(g, g->seed % 3 == 1), *ordered = NULL;
    gnti_partition *p = random_partition(d, chunks, g->seed);
    char path[GNT_TEST_PATH_BYTES];

    (void)user;
    gnt_test_path(path, "random.h5");
    gnt_assert_ok(gnti_partition_rewrite(d, p, &ordered));
    gnt_assert_ok(gnt_dataset_save(g->seed % 4 < 2 ? ordered : d, path));
    check_file(d, p, path, "public", 3);
    gnti_partition_free(&p);
    gnt_dataset_free(&ordered);
    gnt_dataset_free(&d);
    return NULL;
}

static void test_random_graphs(void **state)
{
    (void)state;
    gnt_prop_run("loading equals cutting", loads_equal, NULL, 3, 40);
}

/* ---- what it costs -------------------------------------------------------------------------------------------------- */

enum { LARGE = 60000, WIDTH = 64, DEGREE = 8, LARGE_CHUNKS = 16 };

/* Arcs i -> i + s and back for some strides s, features of 64 columns. */
static gnt_dataset *large_dataset(void)
{
    gnt_dataset *d = NULL;
    gnti_arc_list arcs = { .num_arcs = LARGE * DEGREE / 2 };
    const gnti_build_options options = { .symmetrise = true };
    gnti_split s = { .inductive = true };

    gnt_assert_ok(gnti_dataset_create(NULL, LARGE, &d));
    gnt_assert_ok(gnti_alloc_array(&arcs.source, arcs.num_arcs));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, arcs.num_arcs));
    for (int64_t a = 0; a < arcs.num_arcs; a++) {
        arcs.source[a] = a / (DEGREE / 2);
        arcs.target[a] = (arcs.source[a] + 1 + (a % (DEGREE / 2)) * 5) % LARGE;
    }
    gnt_assert_ok(gnti_graph_build(LARGE, &arcs, &options, NULL, NULL, &d->graph));
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    d->x.rows = LARGE;
    d->x.width = WIDTH;
    gnt_assert_ok(gnti_alloc_array(&d->x.dense, LARGE * WIDTH));
    gnt_test_fill(d->x.dense, LARGE * WIDTH, 1);
    d->y.kind = GNT_LABELS_CLASS;
    d->y.num_classes = 7;
    gnt_assert_ok(gnti_alloc_array(&d->y.class_of, LARGE));
    gnt_assert_ok(gnti_strdup(&s.name, "public"));
    for (int p = 0; p < 3; p++)
        gnt_assert_ok(gnti_alloc_array(&s.nodes[p], LARGE));
    for (int64_t v = 0; v < LARGE; v++) {
        d->y.class_of[v] = (int32_t)(v % 7);
        s.nodes[v % 3][s.num_nodes[v % 3]++] = v;
    }
    gnt_assert_ok(gnti_dataset_take_split(d, &s));
    gnt_assert_ok(gnti_dataset_hash(d));
    return d;
}

typedef struct cost_job {
    gnti_local_config config;
    gnt_dataset *head;
    gnti_local_data *got[8];
} cost_job;

static gnt_status load_only(gnti_comm *comm, void *user)
{
    cost_job *j = user;

    return gnti_local_data_load(j->head, &j->config, comm, &j->got[comm->rank]);
}

/* As stored: offsets, columns, features, label, origin of each own row, and its place in a list of the split. */
static int64_t own_bytes(const gnti_local_data *d)
{
    return d->num_own * (8 + WIDTH * 4 + 8 + 8 + 8) + d->part->op->forward->num_arcs * 4;
}

static void check_cost(const char *path, const gnti_partition *p, int32_t ranks, int spread, bool ordered)
{
    cost_job j = { .config = { .partition = p, .num_ranks = ranks } };
    int32_t *owner = gnt_part_case_owner(LARGE_CHUNKS, ranks, spread, 3);
    gnti_alloc_stats before, after;

    j.config.owner = owner;
    gnt_assert_ok(gnti_dataset_read_header(NULL, path, &j.head));
    gnti_alloc_get_stats(&before);
    gnti_alloc_reset_peak();
    gnt_ranks_run(ranks, 30.0, load_only, &j, NULL);
    gnti_alloc_get_stats(&after);
    /* All ranks at once: what they own, and what each needs beside it. */
    if ((after.peak_bytes - after.live_bytes) / (size_t)ranks > (size_t)4 << 20)
        fail_msg("%d ranks need %zu bytes each beside the %zu that they own", (int)ranks,
                 (after.peak_bytes - after.live_bytes) / (size_t)ranks, after.live_bytes - before.live_bytes);
    for (int32_t r = 0; r < ranks; r++) {
        const int64_t own = own_bytes(j.got[r]), read = j.got[r]->bytes_read;

        if (ordered && (double)read > 1.1 * (double)own + 4096.0)
            fail_msg("rank %d of %d read %lld bytes for %lld of its own", (int)r, (int)ranks, (long long)read,
                     (long long)own);
        gnti_local_data_free(&j.got[r]);
    }
    gnti_free(owner);
    gnt_dataset_free(&j.head);
}

static void test_bytes_and_memory(void **state)
{
    gnt_dataset *d = large_dataset(), *ordered = NULL;
    gnti_partition *p = random_partition(d, LARGE_CHUNKS, 5);
    char path[GNT_TEST_PATH_BYTES], ordered_path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_test_path(path, "large.h5");
    gnt_test_path(ordered_path, "ordered.h5");
    gnt_assert_ok(gnt_dataset_save(d, path));
    gnt_assert_ok(gnti_partition_rewrite(d, p, &ordered));
    gnt_assert_ok(gnt_dataset_save(ordered, ordered_path));
    gnt_dataset_free(&d);
    gnt_dataset_free(&ordered);
    for (int32_t ranks = 1; ranks <= 8; ranks *= 2)
        for (int spread = 0; spread < 2; spread++) {
            check_cost(ordered_path, p, ranks, spread, true);
            check_cost(path, p, ranks, spread, false);
        }
    gnti_partition_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_memory),
        cmocka_unit_test(test_random_graphs),
        cmocka_unit_test(test_bytes_and_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
