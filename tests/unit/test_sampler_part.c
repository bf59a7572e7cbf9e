/* SPDX-License-Identifier: Apache-2.0 */
/* The full batch over parts: own rows of everything, the training part of an inductive split, one weight sum for any number of
 * ranks, ranks without a training node or without any node. */
#include "tests/support/full_dataset.h"
#include "tests/support/part_case.h"
#include "tests/support/thread_ranks.h"

#include "sampler/source.h"

#include <math.h>
#include <string.h>

enum { NODES = 50, CHUNKS = 8, MOST_RANKS = 8 };

typedef struct fixture {
    gnt_dataset *data;
    gnti_partition partition;
    int32_t *owner;
    gnti_local_data *local[MOST_RANKS];
    double weight_sum[MOST_RANKS];
    bool inductive;
} fixture;

/* Of magnitudes so different that a sum in double depends on its order. */
static float weight_of(int64_t id)
{
    return id % 2 == 0 ? ldexpf(1.0f + (float)id / 77.0f, (int)(id % 14) * 5 - 30) : 0.0f;
}

static void fixture_make(fixture *f, bool inductive, bool sparse, int32_t num_ranks, int spread)
{
    const gnt_full_options options = { .seed = 4,
                                       .num_nodes = NODES,
                                       .directed = sparse,
                                       .sparse = sparse,
                                       .labels = sparse ? GNT_LABELS_MULTI : GNT_LABELS_CLASS };
    gnti_split s = { .inductive = inductive };

    memset(f, 0, sizeof *f);
    f->inductive = inductive;
    f->data = gnt_full_dataset(&options);
    for (int64_t i = f->data->num_arrays - 1; i >= 0; i--) {
        if (strncmp(f->data->arrays[i].path, "/graphs/", 8) != 0)
            continue;
        gnti_array_free(&f->data->arrays[i]);
        f->data->arrays[i] = f->data->arrays[--f->data->num_arrays];
    }
    gnt_part_case_partition(NODES, CHUNKS, 9, &f->partition);
    f->owner = gnt_part_case_owner(CHUNKS, num_ranks, spread, 5);
    gnt_assert_ok(gnti_strdup(&s.name, "mine"));
    for (int p = 0; p < 3; p++)
        gnt_assert_ok(gnti_alloc_array(&s.nodes[p], NODES));
    for (int64_t v = 0; v < NODES; v += 2) /* chunk 3 has no training node */
        if (f->partition.chunk_of[v] != 3)
            s.nodes[0][s.num_nodes[0]++] = v;
    gnt_assert_ok(gnti_dataset_take_split(f->data, &s));
    const gnti_local_config config = {
        .partition = &f->partition, .owner = f->owner, .num_ranks = num_ranks, .split = "mine"
    };

    gnt_assert_ok(gnti_local_data_make_all(f->data, &config, f->local));
}

static void fixture_free(fixture *f)
{
    for (int r = 0; r < MOST_RANKS; r++)
        gnti_local_data_free(&f->local[r]);
    gnti_free(f->owner);
    gnt_part_case_partition_clear(&f->partition);
    gnt_dataset_free(&f->data);
}

/* Row i of the batch is node id of the dataset. */
static gnt_status check_row(const gnti_comm *comm, const fixture *f, const gnti_source_batch *b, int64_t i)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = f->data;
    const int64_t id = b->bind.part->ids[i], width = d->x.width, classes = d->y.num_classes;
    const gnti_graph *own = b->bind.x->sparse, *all = d->x.sparse;

    GNT_RANK_CHECK(b->bind.weight[i] == (d->y.kind == GNT_LABELS_CLASS ? weight_of(id) : 1.0f));
    if (all == NULL)
        GNT_RANK_CHECK(memcmp(b->bind.x->dense + i * width, d->x.dense + id * width, (size_t)width * 4) == 0);
    else
        GNT_RANK_CHECK(own->offsets[i + 1] - own->offsets[i] == all->offsets[id + 1] - all->offsets[id] &&
                       memcmp(own->columns + own->offsets[i], all->columns + all->offsets[id],
                              (size_t)(own->offsets[i + 1] - own->offsets[i]) * 4) == 0);
    if (d->y.class_of != NULL)
        GNT_RANK_CHECK(b->bind.labels[i] == d->y.class_of[id]);
    else
        GNT_RANK_CHECK(memcmp(b->bind.target + i * classes, d->y.rows + id * classes, (size_t)classes * 4) ==
                       0);
done:
    return st;
}

static gnt_status run_rank(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    fixture *f = user;
    const gnti_local_data *local = f->local[comm->rank];
    gnti_source *s = NULL;
    gnti_source_batch b;
    float *weight = NULL;

    GNT_TRY(gnti_alloc_array(&weight, local->num_own));
    for (int64_t i = 0; i < local->num_own; i++)
        weight[i] = f->data->y.kind == GNT_LABELS_CLASS ? weight_of(local->part->ids[i]) : 1.0f;
    const gnti_source_part_data data = { .local = local, .weight = weight, .num_adjs = 2, .comm = comm };

    GNT_TRY(gnti_source_create_part(&data, &s));
    for (int64_t epoch = 0; epoch < 2; epoch++) {
        gnti_source_begin(s, epoch, 0);
        GNT_RANK_CHECK(gnti_source_next(s, &b));
        GNT_RANK_CHECK(b.same == (epoch > 0));
        GNT_RANK_CHECK(b.bind.part == (f->inductive ? local->train_part : local->part));
        GNT_RANK_CHECK(b.bind.adj[0] == b.bind.part->op && b.bind.adj[1] == b.bind.part->op);
        GNT_RANK_CHECK(b.num_rows == b.bind.part->num_own && b.bind.x->rows == b.num_rows);
        for (int64_t i = 0; i < b.num_rows; i++)
            GNT_TRY(check_row(comm, f, &b, i));
        GNT_RANK_CHECK(!gnti_source_next(s, &b) && gnti_source_ended(s));
    }
    GNT_RANK_CHECK(gnti_source_whole(s) == local->part->op && gnti_source_is_square(s));
    f->weight_sum[comm->rank] = b.weight_sum;
done:
    gnti_source_free(&s);
    gnti_free(weight);
    return st;
}

static void run(bool inductive, bool sparse)
{
    static const int32_t ranks[] = { 1, 2, 3, 4, 7, 8 };
    double first = 0.0, want = 0.0;

    for (int i = 0; i < 6; i++)
        for (int spread = 0; spread < 3; spread++) {
            fixture f;

            fixture_make(&f, inductive, sparse, ranks[i], spread);
            gnt_ranks_run(ranks[i], 20.0, run_rank, &f, NULL);
            if (i == 0 && spread == 0) {
                first = f.weight_sum[0];
                for (int64_t v = 0; v < NODES; v++)
                    if (!inductive || (v % 2 == 0 && f.partition.chunk_of[v] != 3))
                        want += sparse ? 1.0 : (double)weight_of(v);
                assert_true(first > want * (1.0 - 1e-12) && first < want * (1.0 + 1e-12));
            }
            for (int32_t r = 0; r < ranks[i]; r++)
                assert_memory_equal(&f.weight_sum[r], &first, sizeof first);
            fixture_free(&f);
        }
}

static void test_transductive(void **state)
{
    (void)state;
    run(false, false);
    run(false, true);
}

static void test_inductive(void **state)
{
    (void)state;
    run(true, false);
    run(true, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transductive),
        cmocka_unit_test(test_inductive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
