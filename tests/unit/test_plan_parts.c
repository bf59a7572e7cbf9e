/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over parts compute what one device computes: losses, weights and logits of P ranks as threads, P in 1, 2, 3, 4, 7,
 * 8, over random partitions, within 1e-5 of one device and with equal bits at bitwise.
 * label: medium, cost: 16
 * timeout: 600
 */
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"
#include "tests/support/parts_case.h"

#include <stdio.h>
#include <string.h>

static const int32_t rank_counts[] = { 1, 2, 3, 4, 7, 8 };
enum { NUM_COUNTS = 6, CHUNKS = 16 };

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=1;deterministic=bitwise" : "device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

/* All counts of ranks against one device (rounding) or against one rank over the same partition (bits). */
static void all_counts(parts_problem *p, const gnti_partition *partition, const char *what)
{
    int32_t owner[CHUNKS];
    parts_result one = { 0 }, r = { 0 };

    p->context = make_context;
    if (p->bitwise) {
        parts_owner(1, partition->num_chunks, 1, false, owner);
        parts_run(p, partition, owner, 1, &one);
    } else {
        parts_run_whole(p, &one);
    }
    for (int i = 0; i < NUM_COUNTS; i++)
        for (int scattered = 0; scattered < 2; scattered++) {
            const char *text;

            p->strategy = (i + scattered) % 2 == 0 ? GNTI_STRATEGY_HALO : GNTI_STRATEGY_BROADCAST;
            parts_owner((uint64_t)i, partition->num_chunks, rank_counts[i], scattered != 0, owner);
            parts_run(p, partition, owner, rank_counts[i], &r);
            text = parts_differ(p, &r, &one, p->bitwise);
            if (text != NULL)
                fail_msg("%s, '%s', %d ranks%s%s: %s (loss %.9g, one device %.9g)\n%s", what, p->text,
                         rank_counts[i], scattered ? ", scattered" : "", p->bitwise ? ", bitwise" : "", text,
                         r.loss[p->steps - 1][0], one.loss[p->steps - 1][0], r.explain);
            parts_result_free(&r);
        }
    parts_result_free(&one);
}

static const char *const texts[] = {
    "gcn:16, gcn",
    "gcn:16:dropout=0.4, gcn:8:residual=true, gcn",
    "gcn:12:norm=batch:dropout=0.2, gcn:12:norm=layer, linear",
    "linear:8, gcn",
    "net:kind=gin:hidden=10",
    "net:kind=maxpool:hidden=9",
    "net:kind=sage:hidden=8:drop=0.3",
    "net:kind=gcnii:hidden=8",
    "net:kind=sgc:hidden=8",
    "net:kind=appnp:hidden=8:drop=0.2",
    "sage:8:dropout=0.3, sage:aggregate=max",
    "gat:4x3:act=elu:attn-dropout=0.4, gat:heads=2:attn-dropout=0.3",
};

static void run_texts(bool symmetric, bool weighted, bool bitwise)
{
    nn_data d;
    gnti_partition *partition = parts_random(5, 120, CHUNKS);

    nn_data_make(&d, 11, 120, 420, 10, 4, symmetric, weighted);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int32_t members = 1; members <= 3; members += 2) {
            parts_problem p = {
                .data = &d, .text = texts[i], .members = members, .bitwise = bitwise, .steps = 3, .lr = 0.05f
            };

            all_counts(&p, partition, symmetric ? (weighted ? "weighted" : "undirected") : "directed");
        }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

static void test_undirected(void **state)
{
    (void)state;
    run_texts(true, false, false);
    run_texts(true, false, true);
}

static void test_directed(void **state)
{
    (void)state;
    run_texts(false, false, false);
    run_texts(false, true, true);
}

/* ---- other data ---------------------------------------------------------------------------------------------------- */

static void both_levels(parts_problem *p, const gnti_partition *partition, const char *what)
{
    p->bitwise = false;
    all_counts(p, partition, what);
    p->bitwise = true;
    all_counts(p, partition, what);
}

static void test_evaluation(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(6, 90, CHUNKS);

    (void)state;
    nn_data_make(&d, 12, 90, 260, 7, 3, false, true);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        parts_problem p = { .data = &d, .text = texts[i], .members = 2, .evaluation = true, .steps = 1 };

        both_levels(&p, partition, "evaluation");
    }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

static void test_sparse_features(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(7, 90, CHUNKS);

    (void)state;
    nn_data_make(&d, 13, 90, 260, 20, 3, true, false);
    nn_data_set_sparse(&d);
    for (int i = 0; i < 2; i++) {
        parts_problem p = { .data = &d,
                            .text = i == 0 ? "gcn:8:dropout=0.3, gcn" : "net:kind=sage:hidden=8:drop=0.3",
                            .members = 3,
                            .block_members = 1, /* several blocks of members */
                            .sparse = true,
                            .steps = 3,
                            .lr = 0.05f };

        both_levels(&p, partition, "sparse features");
    }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* Degrees are those of the training graph; chunks may be left without a row. */
static void test_inductive(void **state)
{
    int64_t nodes[90], count = 0;
    nn_data d;
    gnti_partition *partition = parts_random(8, 90, CHUNKS);

    (void)state;
    nn_data_make(&d, 14, 90, 400, 7, 3, true, false);
    for (int64_t i = 0; i < 90; i++)
        if (i % 3 != 0 && partition->chunk_of[i] != 4)
            nodes[count++] = i;
    for (size_t i = 0; i < 4; i++) {
        parts_problem p = { .data = &d,
                            .text = texts[i],
                            .members = 1,
                            .nodes = nodes,
                            .num_nodes = count,
                            .steps = 3,
                            .lr = 0.05f };

        both_levels(&p, partition, "inductive");
    }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* Ranks without a training node, and a rank that owns nothing. */
static void test_lopsided(void **state)
{
    nn_data d;
    gnti_partition *partition = parts_random(9, 90, CHUNKS);
    int32_t owner[CHUNKS];

    (void)state;
    nn_data_make(&d, 15, 90, 300, 7, 3, true, false);
    for (int64_t i = 0; i < 90; i++)
        d.weight[i] = partition->chunk_of[i] < CHUNKS / 4 && i % 2 == 0 ? 1.0f : 0.0f;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int bitwise = 0; bitwise < 2; bitwise++) {
            parts_problem p = { .data = &d,
                                .text = texts[i],
                                .members = 1,
                                .bitwise = bitwise != 0,
                                .steps = 3,
                                .lr = 0.05f,
                                .context = make_context };
            parts_result one = { 0 }, r = { 0 };
            const char *text;

            all_counts(&p, partition, "few training nodes");
            parts_owner(1, CHUNKS, 1, false, owner);
            parts_run(&p, partition, owner, 1, &one);
            for (int32_t c = 0; c < CHUNKS; c++)
                owner[c] = c < 5 ? 0 : 3; /* ranks 1 and 2 own nothing */
            parts_run(&p, partition, owner, 4, &r);
            text = parts_differ(&p, &r, &one, p.bitwise);
            if (text != NULL)
                fail_msg("'%s' with two empty ranks: %s", p.text, text);
            parts_result_free(&one);
            parts_result_free(&r);
        }
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

/* Hubs of more than 4096 neighbours are cut between pieces, not between ranks. */
static void test_hub(void **state)
{
    enum { NODES = 5000 };
    nn_data d;
    gnti_arc_list arcs = { .num_arcs = 2 * NODES };
    gnti_partition *partition = parts_random(10, NODES, CHUNKS);
    parts_problem p = { .data = &d, .text = "gcn:4, gcn", .members = 1, .steps = 2, .lr = 0.05f };

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&arcs.source, arcs.num_arcs));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, arcs.num_arcs));
    for (int64_t i = 0; i < NODES; i++) {
        arcs.source[i] = i;
        arcs.target[i] = i % 7 == 0 ? 11 : 7;
        arcs.source[NODES + i] = i;
        arcs.target[NODES + i] = (i * 31 + 5) % NODES;
    }
    nn_data_from_arcs(&d, NODES, &arcs, true, 5, 3);
    gnt_test_fill(d.dense, NODES * 5, 3);
    for (int64_t i = 0; i < NODES; i++) {
        d.labels[i] = (int32_t)(i % 3);
        d.weight[i] = i % 4 == 0 ? 1.0f : 0.0f;
    }
    both_levels(&p, partition, "hub");
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    gnti_partition_free(&partition);
    nn_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undirected), cmocka_unit_test(test_directed),
        cmocka_unit_test(test_evaluation), cmocka_unit_test(test_sparse_features),
        cmocka_unit_test(test_inductive),  cmocka_unit_test(test_lopsided),
        cmocka_unit_test(test_hub),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
