/* SPDX-License-Identifier: Apache-2.0 */
/* labels: medium
 * Training over parts, ranks as threads: losses and weights of P ranks equal those of one device to rounding, and bit for bit
 * at the bitwise level over the same partition; so do resized, resumed and balanced runs.
 */
#include "tests/support/whole_run.h"

#include "train/trainer_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EPOCHS = WHOLE_RUN_EPOCHS, CHUNKS = 16 };

static const char *const texts[] = {
    "gcn:8, gcn", "gcn:8:norm=batch, gcn:6:norm=layer, linear",
    "sage:8:aggregate=max:dropout=0.2, gat:4x2:act=elu:attn-dropout=0.3, gat"
};
static const char *const counts[] = { "1", "2", "3", "4", "7", "8" };

/* P ranks against the whole graph on one device. */
static void test_ranks_equal_one_device(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        train_case c;
        whole_run_outcome whole, parts;

        train_case_arrays(&c, GNT_LABELS_CLASS, 3);
        c.text = texts[t];
        c.config.seeds = t == 0 ? 1 : 3;
        if (t ==
            1) { /* a bias before batch norm has no gradient but rounding, which Adam would blow up to steps */
            c.config.optimizer = GNTI_TRAIN_SGD;
            c.config.lr = 0.01;
        }
        train_case_dataset(&c, "threads=1");
        whole_run(&c, NULL, 0, NULL, &whole);
        for (size_t p = 0; p < sizeof counts / sizeof counts[0]; p++) {
            whole_run(&c, counts[p], CHUNKS, NULL, &parts);
            whole_run_assert_near(&whole, &parts);
            gnti_free(parts.weights);
        }
        gnti_free(whole.weights);
        train_case_free(&c);
    }
}

static void test_bits_do_not_depend_on_ranks(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        train_case c;
        whole_run_outcome one, parts;

        train_case_arrays(&c, GNT_LABELS_CLASS, 4);
        c.text = texts[t];
        c.config.seeds = 3;
        train_case_dataset(&c, "threads=1;deterministic=bitwise");
        whole_run(&c, "1", CHUNKS, NULL, &one);
        for (size_t p = 1; p < sizeof counts / sizeof counts[0]; p++) {
            whole_run(&c, counts[p], CHUNKS, NULL, &parts);
            whole_run_assert_same(&one, &parts);
            gnti_free(parts.weights);
        }
        gnti_free(one.weights);
        train_case_free(&c);
    }
}

/* 2 -> 4 -> 1 -> 3 devices between epochs. */
static void test_resized_run_equals_fixed_one(void **state)
{
    const char *const sizes[EPOCHS] = { [3] = "4", [5] = "1", [8] = "3" };

    (void)state;
    for (int bitwise = 0; bitwise < 2; bitwise++) {
        train_case c;
        whole_run_outcome fixed, resized;

        train_case_arrays(&c, GNT_LABELS_CLASS, 5);
        train_case_dataset(&c, bitwise ? "threads=1;deterministic=bitwise" : "threads=1");
        whole_run(&c, "2", CHUNKS, NULL, &fixed);
        whole_run(&c, "2", CHUNKS, sizes, &resized);
        if (bitwise)
            whole_run_assert_same(&fixed, &resized);
        else
            whole_run_assert_near(&fixed, &resized);
        gnti_free(fixed.weights);
        gnti_free(resized.weights);
        train_case_free(&c);
    }
}

/* A checkpoint holds no number of ranks: stopped at 4, gone on at 3 and then at 1. */
static void test_resume_at_any_size(void **state)
{
    train_case c;
    whole_run_outcome fixed, resumed;
    char path[GNT_TEST_PATH_BYTES];
    const char *const sizes[] = { "4", "3", "1" };
    double losses[EPOCHS];

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 6);
    train_case_dataset(&c, "threads=1;deterministic=bitwise");
    whole_run(&c, "2", CHUNKS, NULL, &fixed);
    c.config.run = gnt_test_path(path, "resume-size");
    for (int i = 0; i < 2; i++) {
        gnt_trainer *tr = NULL;

        c.config.devices = sizes[i];
        tr = train_case_trainer(&c);
        assert_int_equal(train_case_run(tr, 4, 0, losses), 4);
        gnt_trainer_request_stop(tr);
        assert_int_equal(train_case_run(tr, 1, 0, losses), 0);
        assert_int_equal(gnt_trainer_status(tr), GNT_STOPPED);
        gnt_trainer_free(&tr);
    }
    {
        gnt_trainer *tr = NULL;

        c.config.devices = sizes[2];
        tr = train_case_trainer(&c);
        assert_int_equal(tr->epoch, 8);
        assert_int_equal(train_case_run(tr, 100, 0, losses), EPOCHS - 8);
        whole_run_take_weights(tr, &resumed);
        gnt_trainer_free(&tr);
    }
    assert_memory_equal(losses, fixed.losses + 8, (EPOCHS - 8) * sizeof *losses);
    gnt_assert_same_bits(fixed.weights, resumed.weights, fixed.num_weights);
    gnti_free(fixed.weights);
    gnti_free(resumed.weights);
    train_case_free(&c);
}

static void test_another_partition_is_refused(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    char path[GNT_TEST_PATH_BYTES], other[GNT_TEST_PATH_BYTES];
    gnti_partition *p = NULL;
    int32_t *chunk_of = NULL;

    (void)state;
    train_case_make(&c, 7);
    c.config.run = gnt_test_path(path, "other-partition");
    c.config.chunks = CHUNKS;
    c.config.devices = "2";
    c.config.epochs = 4;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 4);
    gnt_trainer_free(&tr);
    gnt_assert_ok(gnti_alloc_array(&chunk_of, TRAIN_CASE_NODES));
    for (int64_t v = 0; v < TRAIN_CASE_NODES; v++)
        chunk_of[v] = (int32_t)(v % CHUNKS);
    gnt_assert_ok(gnti_partition_from_vector(TRAIN_CASE_NODES, CHUNKS, chunk_of, "file", &p));
    memcpy(p->graph_sha256, c.data->graph_sha256, sizeof p->graph_sha256);
    gnt_assert_ok(gnti_partition_write(p, gnt_test_path(other, "other.part.h5")));
    gnti_partition_free(&p);
    c.config.partition = other;
    c.config.epochs = 6;
    assert_int_equal(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("partition with sha256");
    c.config.partition = NULL;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 2);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *devices, *part;
        gnt_status status;
    } bad[] = { { "17", "16 chunks", GNT_ERR_USAGE },
                { "cpu:speed=0", "above 0", GNT_ERR_USAGE },
                { "tpu;tpu", "tpu", GNT_ERR_UNSUPPORTED },
                { "cpu:mem=1K;cpu:mem=1K", "more devices", GNT_ERR_DEVICE_NOMEM } };
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 8);
    c.config.chunks = CHUNKS;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        c.config.devices = bad[i].devices;
        assert_int_equal(gnt_trainer_create(c.model, c.data, &c.config, &tr), bad[i].status);
        gnt_assert_error_has(bad[i].part);
        assert_null(tr);
    }
    c.config.devices = "2";
    c.config.source = 1;
    c.config.clusters = 4;
    assert_int_equal(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("one device");
    train_case_free(&c);
}

/* A failed resize leaves the run as it was. */
static void test_failed_resize_changes_nothing(void **state)
{
    train_case c;
    whole_run_outcome fixed;
    gnt_trainer *tr = NULL;
    double losses[EPOCHS];

    (void)state;
    train_case_make(&c, 9);
    whole_run(&c, "2", CHUNKS, NULL, &fixed);
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 5, 0, losses), 5);
    assert_int_equal(gnt_trainer_resize(tr, "17"), GNT_ERR_USAGE);
    assert_int_equal(gnt_trainer_resize(tr, "tpu;tpu"), GNT_ERR_UNSUPPORTED);
    assert_int_equal(gnt_trainer_resize(tr, "cpu:mem=1K;cpu:mem=1K"), GNT_ERR_DEVICE_NOMEM);
    assert_int_equal(train_case_run(tr, 100, 0, losses + 5), EPOCHS - 5);
    assert_memory_equal(losses, fixed.losses, sizeof losses);
    gnti_free(fixed.weights);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* Chunks leave a device that becomes four times slower; the curve does not see it. */
static void test_slow_rank_is_balanced(void **state)
{
    train_case c;
    whole_run_outcome steady;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    double losses[EPOCHS];
    int64_t before = 0, after = 0;

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 10);
    train_case_dataset(&c, "threads=1;deterministic=bitwise");
    whole_run(&c, "cpu:clock=virtual;cpu:clock=virtual", CHUNKS, NULL, &steady);
    c.config.devices = "cpu:clock=virtual;cpu:clock=virtual,slow=4@5";
    tr = train_case_trainer(&c);
    for (int e = 0; e < EPOCHS; e++) {
        if (e == 5)
            before = gnti_ranks_at(tr->ranks, 1)->rows->num_own;
        assert_true(gnt_trainer_next(tr, &s));
        losses[e] = s.train_loss;
    }
    after = gnti_ranks_at(tr->ranks, 1)->rows->num_own;
    assert_true(before > 30 && after < 25); /* 20 % of 90 rows, whole chunks */
    assert_memory_equal(losses, steady.losses, sizeof losses);
    gnt_trainer_free(&tr);
    gnti_free(steady.weights);
    train_case_free(&c);
}

/* Devices that differ are measured before the first map, so the first epoch is in balance; nothing moves later. */
static void test_first_map_follows_the_probe(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    int64_t fast = 0;

    (void)state;
    train_case_make(&c, 11);
    c.config.chunks = CHUNKS;
    c.config.epochs = EPOCHS;
    c.config.devices = "cpu:clock=virtual,speed=3;cpu:clock=virtual";
    tr = train_case_trainer(&c);
    fast = gnti_ranks_at(tr->ranks, 0)->rows->num_own;
    assert_true(fast > 58 && fast < 77); /* 75 % of 90 rows, give or take a chunk */
    assert_int_equal(tr->rank_counts[0], fast);
    assert_int_equal(tr->rank_counts[0] + tr->rank_counts[4], TRAIN_CASE_NODES);
    for (int e = 0; e < EPOCHS; e++) {
        const double begin = *tr->lead->comm->virtual_seconds;

        assert_true(gnt_trainer_next(tr, &s));
        assert_true(s.virtual_seconds > 0.0 && s.virtual_seconds < *tr->lead->comm->virtual_seconds - begin);
        assert_true(s.virtual_seconds == gnti_ranks_at(tr->ranks, 1)->span);
        assert_true(tr->rank_seconds[0] > 0.0 && tr->rank_seconds[1] < 1.5 * tr->rank_seconds[0]);
    }
    assert_int_equal(gnti_ranks_at(tr->ranks, 0)->rows->num_own, fast);
    gnt_trainer_free(&tr);
    c.config.devices = "2";
    tr = train_case_trainer(&c);
    assert_true(gnt_trainer_next(tr, &s));
    assert_true(isnan(s.virtual_seconds)); /* wall time */
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* A device whose memory is too small for its rows is named, with what is missing. */
static void test_small_memory_is_named(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 12);
    c.text = "gcn:256, gcn"; /* its weights alone are more */
    train_case_dataset(&c, "threads=1");
    c.config.chunks = CHUNKS;
    c.config.devices = "cpu;cpu:mem=8K";
    assert_int_equal(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("device 1 of 2");
    gnt_assert_error_has("limit of 8192 bytes");
    gnt_assert_error_has("raise its mem");
    train_case_free(&c);
}

/* What fits a device at the start fits to the end, test values included. */
static void test_memory_is_asked_for_at_the_start(void **state)
{
    train_case c;
    int fitted = 0;

    (void)state;
    train_case_arrays(&c, GNT_LABELS_CLASS, 12);
    c.text = "gcn:64, gcn";
    train_case_dataset(&c, "threads=1");
    c.config.epochs = 2;
    for (int bytes = 1024; fitted < 4; bytes += 512) {
        gnt_trainer *tr = NULL;
        gnt_epoch_stats s = { .struct_size = sizeof s };
        char devices[32];
        int epochs = 0;

        snprintf(devices, sizeof devices, "cpu:mem=%d", bytes);
        c.config.devices = devices;
        if (gnt_trainer_create(c.model, c.data, &c.config, &tr) != GNT_OK)
            continue;
        while (gnt_trainer_next(tr, &s))
            epochs++;
        gnt_assert_ok(gnt_trainer_status(tr));
        assert_int_equal(epochs, 2);
        gnt_assert_ok(gnt_trainer_finish(tr));
        gnt_trainer_free(&tr);
        fitted++;
    }
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks_equal_one_device),
        cmocka_unit_test(test_bits_do_not_depend_on_ranks),
        cmocka_unit_test(test_resized_run_equals_fixed_one),
        cmocka_unit_test(test_resume_at_any_size),
        cmocka_unit_test(test_another_partition_is_refused),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_failed_resize_changes_nothing),
        cmocka_unit_test(test_slow_rank_is_balanced),
        cmocka_unit_test(test_first_map_follows_the_probe),
        cmocka_unit_test(test_small_memory_is_named),
        cmocka_unit_test(test_memory_is_asked_for_at_the_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
