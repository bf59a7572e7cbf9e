/* SPDX-License-Identifier: Apache-2.0 */
/* Programs over parts with each pass on and off, and random tapes over random partitions: within 1e-5 of one device, equal
 * bits at bitwise, and overlap moves no bit. GNT_PROP_SEED=N runs one random tape.
 * label: medium
 * timeout: 600
 */
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"
#include "tests/support/parts_case.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS = 8, NUM_TAPES = 60 };

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=1;deterministic=bitwise" : "device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

static void run(parts_problem *p, const gnti_partition *partition, int32_t ranks, bool scattered,
                parts_result *out)
{
    int32_t owner[CHUNKS];

    p->context = make_context;
    parts_owner(3, CHUNKS, ranks, scattered, owner);
    parts_run(p, partition, owner, ranks, out);
}

static void expect_same(const parts_problem *p, const parts_result *a, const parts_result *b, bool bits,
                        const char *what, int64_t number)
{
    const char *text = parts_differ(p, a, b, bits);

    if (text != NULL)
        fail_msg("'%s', %s %lld%s: %s (losses %.9g and %.9g)\n%s", p->text, what, (long long)number,
                 p->bitwise ? ", bitwise" : "", text, a->loss[p->steps - 1][0], b->loss[p->steps - 1][0],
                 a->explain != NULL ? a->explain : "");
}

/* Each pass off alone, all off, overlap always on. */
static void test_passes(void **state)
{
    static const char *const texts[] = { "gcn:16:norm=batch:dropout=0.3, gcn:9:residual=true, gcn",
                                         "net:kind=maxpool:hidden=9", "net:kind=gin:hidden=8",
                                         "net:kind=gcnii:hidden=8:drop=0.3",
                                         "gat:4x3:act=elu:attn-dropout=0.4, gat:attn-dropout=0.3" };
    nn_data d;
    gnti_partition *partition = parts_random(5, 100, CHUNKS);

    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        nn_data_make(&d, 21, 100, 300, 12, 4, directed == 0, directed != 0);
        nn_data_set_sparse(&d);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (int bit = 0; bit <= 10; bit++) {
                parts_problem p = { .data = &d,
                                    .text = texts[i],
                                    .members = 2,
                                    .sparse = bit % 2 == 0,
                                    .steps = 2,
                                    .lr = 0.05f };
                parts_result whole = { 0 }, r = { 0 };

                p.disabled = bit < 9 ? 1u << bit : bit == 9 ? 511u : 0u;
                p.always_overlap = bit == 10;
                p.strategy = bit % 2 == 0 ? GNTI_STRATEGY_HALO : GNTI_STRATEGY_BROADCAST;
                p.context = make_context;
                parts_run_whole(&p, &whole);
                run(&p, partition, 3, bit % 3 == 0, &r);
                expect_same(&p, &r, &whole, false, "pass", bit);
                parts_result_free(&whole);
                parts_result_free(&r);
            }
        nn_data_free(&d);
    }
    gnti_partition_free(&partition);
}

/* Overlap on equals off to the bit, at both levels, with and without masked arcs. */
static void test_overlap(void **state)
{
    static const char *const texts[] = { "gcn:16:dropout=0.3, gcn:9:residual=true, gcn",
                                         "net:kind=maxpool:hidden=9", "net:kind=sage:hidden=8",
                                         "net:kind=appnp:hidden=8", "gat:4x3:attn-dropout=0.4, gat" };
    nn_data d;
    gnti_partition *partition = parts_random(5, 200, CHUNKS);

    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        nn_data_make(&d, 22, 200, 400, 12, 4, directed == 0, false);
        for (int64_t r = 0; r < 200 && directed == 0; r++) /* few rows in the loss */
            d.weight[r] = r % 9 == 0 ? 1.0f : 0.0f;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (int k = 0; k < 6; k++) {
                parts_problem p = { .data = &d,
                                    .text = texts[i],
                                    .members = 1 + k % 2 * 2,
                                    .block_members = k % 2,
                                    .bitwise = k < 3,
                                    .steps = 2,
                                    .lr = 0.05f,
                                    .strategy = GNTI_STRATEGY_HALO,
                                    .always_overlap = true };
                parts_result on = { 0 }, off = { 0 };

                run(&p, partition, 2 + k % 3, k == 4, &on);
                assert_int_equal(on.counters[0].overlapped, on.counters[0].step_exchanges);
                assert_true(on.counters[0].overlapped > 0);
                p.disabled = GNTI_PASS_OVERLAP;
                run(&p, partition, 2 + k % 3, k == 4, &off);
                assert_int_equal(off.counters[0].overlapped, 0);
                assert_int_equal(on.counters[0].step_bytes_sent, off.counters[0].step_bytes_sent);
                expect_same(&p, &on, &off, true, "overlap", k);
                parts_result_free(&on);
                parts_result_free(&off);
            }
        nn_data_free(&d);
    }
    gnti_partition_free(&partition);
}

static void try_tape(const nn_data *d, const gnti_partition *partition, int64_t seed)
{
    char text[96];
    parts_problem p = { .data = d,
                        .text = text,
                        .members = 1 + (int32_t)(seed % 2),
                        .sparse = seed % 3 == 0,
                        .steps = 2,
                        .lr = 0.01f,
                        .always_overlap = seed % 5 == 0,
                        .context = make_context };
    parts_result one = { 0 }, r = { 0 };
    const int32_t ranks = 2 + (int32_t)(seed % 4);

    snprintf(text, sizeof text, "random:8:seed=%lld:length=%lld, linear", (long long)seed,
             (long long)(1 + seed % 6));
    parts_run_whole(&p, &one);
    run(&p, partition, ranks, seed % 2 == 0, &r);
    expect_same(&p, &r, &one, false, "tape", seed);
    parts_result_free(&one);
    parts_result_free(&r);
    p.bitwise = true;
    run(&p, partition, 1, false, &one);
    run(&p, partition, ranks, seed % 2 == 0, &r);
    expect_same(&p, &r, &one, true, "tape", seed);
    parts_result_free(&one);
    parts_result_free(&r);
}

static void test_random_tapes(void **state)
{
    const char *only = getenv("GNT_PROP_SEED");
    nn_data d[2];
    gnti_partition *partition[2] = { parts_random(1, 40, CHUNKS), parts_random(2, 43, CHUNKS) };

    (void)state;
    nn_data_make(&d[0], 31, 40, 120, 6, 3, true, false);
    nn_data_make(&d[1], 32, 43, 110, 6, 3, false, true);
    nn_data_set_sparse(&d[0]);
    nn_data_set_sparse(&d[1]);
    for (int64_t seed = only != NULL ? atoll(only) : 0; seed < (only != NULL ? atoll(only) + 1 : NUM_TAPES);
         seed++)
        try_tape(&d[seed / 2 % 2], partition[seed / 2 % 2], seed);
    for (int i = 0; i < 2; i++) {
        nn_data_free(&d[i]);
        gnti_partition_free(&partition[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_random_tapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
