/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium, cost: 11 */
/* timeout: 900 */
/* Programs over parts on a group of the stand-in's devices: exchanges under interior rows and captured steps equal one processor,
 * with the same bits as without overlap and without capture, for every seed of the order of things. Graphs of 60 to 500
 * nodes; HOSTCUDA_SEEDS=200 is the long proof.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/nn_nets.h"
#include "tests/support/parts_case.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHUNKS = 8, STEPS = 5, EVERY_DAY = 20 };

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    (void)bitwise;
    gnt_assert_ok(gnt_context_create("device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    return ctx;
}

static void expect(const parts_problem *p, const parts_result *a, const parts_result *b, bool bits,
                   const char *what, int seed)
{
    const char *text = parts_differ(p, a, b, bits);

    if (text != NULL)
        fail_msg("%s, seed %d, model %s: %s", what, seed, p->text, text);
}

static void try_seed(int seed)
{
    static const char *const texts[] = { "gcn:16:dropout=0.3, gcn", "net:kind=sage:hidden=8",
                                         "sage:8:aggregate=max, gat:4x2:attn-dropout=0.4, gat",
                                         "net:kind=appnp:hidden=8" };
    static const uint32_t passes[] = { GNTI_PASS_OVERLAP, GNTI_PASS_CAPTURE };
    const int64_t nodes = 60 + (int64_t)seed * 131 % 441;
    const int32_t ranks = 2 + seed % 3;
    gnti_partition *partition = parts_random((uint64_t)seed, nodes, CHUNKS);
    int32_t owner[CHUNKS];
    nn_data d;
    parts_problem p = { .data = &d,
                        .text = texts[seed % 4],
                        .members = 1 + seed % 2 * 2,
                        .steps = STEPS,
                        .lr = 0.05f,
                        .strategy = GNTI_STRATEGY_HALO,
                        .always_overlap = true,
                        .context = make_context };
    parts_result whole, all, less;

    nn_data_make(&d, (uint64_t)seed, nodes, 2 * nodes, 8, 4, seed % 3 != 0, false);
    parts_owner((uint64_t)seed, CHUNKS, ranks, false, owner);
    cuda_case_reset("64M,64M,64M,64M", seed, NULL);
    parts_run_whole(&p, &whole);
    p.devices = "cuda";
    parts_run(&p, partition, owner, ranks, &all);
    expect(&p, &whole, &all, false, "a group against one processor", seed);
    assert_true(all.counters[0].overlapped > 0);
    p.disabled = passes[seed % 2];
    cuda_case_reset("64M,64M,64M,64M", seed + 1000, NULL);
    parts_run(&p, partition, owner, ranks, &less);
    expect(&p, &all, &less, true, "a pass on and off", seed);
    parts_result_free(&whole);
    parts_result_free(&all);
    parts_result_free(&less);
    nn_data_free(&d);
    gnti_partition_free(&partition);
}

static void test_overlap_and_capture(void **state)
{
    const char *text = getenv("HOSTCUDA_SEEDS");
    const int seeds = text != NULL && atoi(text) > 0 ? atoi(text) : EVERY_DAY;

    (void)state;
    for (int seed = 1; seed <= seeds; seed++)
        try_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_overlap_and_capture) };

    return cuda_case_run(tests);
}
