/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Ranks on the stand-in's devices: losses and weights of a group of devices, of a mix with processors, and of rows that go through
 * the host are those of one processor to rounding, for every seed of the order of things (chunks are placed by measured seconds, so
 * two runs may sum in other orders). HOSTCUDA_SEEDS=N tries more orders than the few of every day.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/comm_cases.h"
#include "tests/support/whole_run.h"

#include <stdlib.h>

enum { CHUNKS = 8 };

static const char *const texts[] = { "gcn:8, gcn", "sage:8:norm=batch:dropout=0.2, sage",
                                     "sage:6:aggregate=max, gat:4x2:act=elu:attn-dropout=0.3, gat" };
enum { NUM_TEXTS = sizeof texts / sizeof *texts };
static const char *const mixes[] = { "cuda:0-2", "cpu;cuda:0-1;cpu", "cuda:0-1", "cuda:0;cpu" };
static const int mix_devices[] = { 3, 2, 2, 1 }; /* a machine with fewer leaves it out */
enum { NUM_MIXES = sizeof mixes / sizeof *mixes, SLOW_TEXTS_MIXES = 2 };

static int num_seeds(int few)
{
    const char *text = getenv("HOSTCUDA_SEEDS");

    return text != NULL && atoi(text) > 0 ? atoi(text) : few;
}

static void make_case(train_case *c, size_t text, const char *settings)
{
    train_case_arrays(c, GNT_LABELS_CLASS, 3);
    c->text = texts[text];
    c->config.seeds = text == 0 ? 1 : 3;
    if (text ==
        1) { /* a bias before batch norm has no gradient but rounding, which Adam would blow up to steps */
        c->config.optimizer = 2; /* sgd */
        c->config.lr = 0.01;
    }
    train_case_dataset(c, settings);
}

static void test_ranks_equal_one_processor(void **state)
{
    const int seeds = num_seeds(1);

    (void)state;
    for (size_t t = 0; t < NUM_TEXTS; t++) {
        train_case c;
        whole_run_outcome plain, mixed;

        cuda_case_reset("16M,16M,16M,16M", 1, NULL);
        make_case(&c, t, "device=cpu;threads=1");
        whole_run(&c, "1", CHUNKS, NULL, &plain);
        for (size_t m = 0; m < (t == 0 ? (size_t)NUM_MIXES : (size_t)SLOW_TEXTS_MIXES); m++)
            for (int seed = 1; seed <= seeds && mix_devices[m] <= cuda_case_num_devices(); seed++) {
                cuda_case_reset("16M,16M,16M,16M", seed, NULL);
                whole_run(&c, mixes[m], CHUNKS, NULL, &mixed);
                whole_run_assert_near(&plain, &mixed);
                gnti_free(mixed.weights);
            }
        gnti_free(plain.weights);
        train_case_free(&c);
    }
}

/* From processors to devices and back between epochs. */
static void test_resize_changes_kinds(void **state)
{
    const char *const sizes[WHOLE_RUN_EPOCHS] = { [3] = "cuda:0-1", [6] = "cuda:0-2;cpu", [9] = "1" };
    train_case c;
    whole_run_outcome fixed, resized;

    (void)state;
    cuda_case_reset("16M,16M,16M,16M", 5, NULL);
    if (cuda_case_num_devices() < 3)
        skip();
    make_case(&c, 0, "device=cpu;threads=1");
    whole_run(&c, "2", CHUNKS, NULL, &fixed);
    whole_run(&c, "2", CHUNKS, sizes, &resized);
    whole_run_assert_near(&fixed, &resized);
    gnti_free(fixed.weights);
    gnti_free(resized.weights);
    train_case_free(&c);
}

#ifndef GNT_CASE_ON_DEVICE /* the stand-in counts */
/* Exchanges and sums of a group are in the capture, whatever the wire: from the second step on, each device's step is one launch. */
static void test_steps_of_a_group_are_captured(void **state)
{
    train_case c;
    whole_run_outcome plain, grouped;
    hostcuda_counts counts;

    (void)state;
    for (int wire = GNTI_WIRE_F32; wire <= GNTI_WIRE_BF16; wire++) {
        cuda_case_reset("16M,16M", 2, NULL);
        make_case(&c, 0, "device=cpu;threads=1");
        c.config.wire = wire;
        whole_run(&c, "2", CHUNKS, NULL, &plain);
        whole_run(&c, "cuda:0-1", CHUNKS, NULL, &grouped);
        whole_run_assert_near(&plain, &grouped);
        hostcuda_get_counts(&counts);
        assert_true(counts.graph_launches >= 2 * (WHOLE_RUN_EPOCHS - 1));
        gnti_free(plain.weights);
        gnti_free(grouped.weights);
        train_case_free(&c);
    }
}
#endif

/* Halo rows of either wire, bit for bit what processors get; by the group they are rounded where they are packed. */
static void run_halo_rounds(bool grouped)
{
    for (uint64_t seed = 0; seed < 24; seed++) {
        gnt_device_halo_case c = { "cuda", false, seed, grouped };

        cuda_case_reset("16M,16M,16M,16M,16M,16M,16M,16M", 1 + (int)seed, NULL);
        if (1 + (int)(seed % 8) > cuda_case_num_devices())
            continue;
        gnt_ranks_run(1 + (int32_t)(seed % 8), 0.0, gnt_case_device_halo_rounds, &c, NULL);
    }
}

static void test_rows_through_the_host(void **state)
{
    (void)state;
    run_halo_rounds(false);
}

static void test_rows_by_the_group(void **state)
{
    (void)state;
    run_halo_rounds(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_through_the_host),         cmocka_unit_test(test_rows_by_the_group),
#ifndef GNT_CASE_ON_DEVICE
        cmocka_unit_test(test_steps_of_a_group_are_captured),
#endif
        cmocka_unit_test(test_ranks_equal_one_processor),     cmocka_unit_test(test_resize_changes_kinds),
    };

    return cuda_case_run(tests);
}
