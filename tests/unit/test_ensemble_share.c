/* SPDX-License-Identifier: Apache-2.0 */
/* Groups that share a device in live runs: they are there together where what both keep and the larger step fit, the one in the
 * foreground is slowed at most 1.2 times (on the virtual clock, and with real steps of threads), and nobody's predictions change by a bit.
 */
#include "tests/support/live_case.h"

#include "base/clock.h"
#include "base/file.h"
#include "ensemble/fusion.h"
#include "ensemble/lanes.h"
#include "kernels/quota.h"
#include "kernels/scratch.h"
#include "nn/program.h"
#include "train/member.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Steps of the second member, and of the first of the clusters' spec, are a third of an epoch. */
#define SPEC_OF(foreground, source)                                                                          \
    "train: { epochs: 150, dropout: 0.5, lr: 0.02" source " }\nseed: 5\n" foreground                         \
    "vary:\n  - { key: model, values: [\"gcn:64, gcn\", \"sage:32, sage\"] }\n"
#define CLUSTERS ", source: clusters, clusters: 6, clusters-per-batch: 2"

static train_case g_case;

static gnt_status run_it(const char *spec, const char *run, const char *devices)
{
    return live_case_run(&(live_call){ .data = &g_case, .spec = spec, .run = run, .devices = devices }, NULL);
}

/* Bytes of a device that holds both groups: of their own steps each, or of the larger step. */
static void bytes_of_both(const char *spec_text, int64_t *own, int64_t *common)
{
    gnti_spec *spec = NULL;
    gnti_fused_group *groups = NULL;
    int32_t num = 0;
    const double speed = 1.0;
    const int64_t capacity = 0;
    gnti_grouping g = { .speeds = &speed, .capacity = &capacity, .num_devices = 1 };

    gnt_assert_ok(gnti_spec_parse(g_case.ctx, spec_text, strlen(spec_text), "spec.yaml", g_case.data, &spec));
    g.spec = spec;
    gnt_assert_ok(gnti_fused_groups_form(&g, g_case.data, &groups, &num));
    assert_int_equal(num, 2);
    const int64_t a = groups[0].scratch_bytes, b = groups[1].scratch_bytes;

    *own = groups[0].shared_bytes + groups[0].lasting_bytes + groups[1].lasting_bytes + a + b;
    *common = *own - (a < b ? a : b);
    assert_true(*common < *own);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&spec);
}

/* When the first group was done, and how long the two were on the device together, by the report. */
static double end_of_first(const char *run, double *together)
{
    char path[GNT_TEST_PATH_BYTES + 64];
    gnti_json *report = NULL;
    const gnti_json *spans;
    double begin[2] = { 0.0, 0.0 }, end[2] = { 0.0, 0.0 };

    snprintf(path, sizeof path, "%s/report.json", run);
    gnt_assert_ok(gnti_json_read(path, &report));
    spans = gnti_json_find(gnti_json_find(report, "run"), "spans");
    for (int64_t i = 0; i < gnti_json_length(spans); i++) {
        const gnti_json *span = gnti_json_at(spans, i);
        double task = 0.0, from = 0.0, to = 0.0;

        assert_true(gnti_json_to_number(gnti_json_at(span, 0), &task));
        assert_true(gnti_json_to_number(gnti_json_at(span, 2), &from));
        assert_true(gnti_json_to_number(gnti_json_at(span, 3), &to));
        assert_true(task == 0.0 || task == 1.0);
        if (end[(int)task] == 0.0)
            begin[(int)task] = from;
        end[(int)task] = to;
    }
    if (together != NULL)
        *together = (end[0] < end[1] ? end[0] : end[1]) - (begin[0] > begin[1] ? begin[0] : begin[1]);
    gnti_json_free(&report);
    return end[0];
}

static void larger_step_counts_once(void **state)
{
    static const char *const specs[][2] = {
        { SPEC_OF("", ""), SPEC_OF("foreground: [m00]\n", "") },
        { SPEC_OF("", CLUSTERS), SPEC_OF("foreground: [m00]\n", CLUSTERS) },
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char plain[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES], devices[100];
        int64_t own = 0, common = 0;
        double alone = 0.0, beside = 0.0, together = 0.0;

        bytes_of_both(specs[i][1], &own, &common);
        gnt_assert_ok(run_it(specs[i][0], live_case_folder(plain, "turns"), "cpu:clock=virtual,noise=0"));
        for (int fits = 0; fits < 2; fits++) {
            snprintf(devices, sizeof devices, "cpu:clock=virtual,noise=0,mem=%lld",
                     (long long)(fits ? common : common - 1));
            gnt_assert_ok(run_it(specs[i][1], live_case_folder(run, "share"), devices));
            for (int m = 0; m < 2; m++)
                live_case_same_member(plain, m == 0 ? "m00" : "m01", run, m == 0 ? "m00" : "m01");
            beside = end_of_first(run, &together);
            assert_true(fits ? together > 0.9 * beside : together <= 0.0);
            if (!fits)
                alone = beside;
        }
        print_message("foreground: %.6f s alone, %.6f s beside another\n", alone, beside);
        assert_true(beside > alone && beside <= 1.2 * alone);
    }
}

static void real_clock_changes_nothing(void **state)
{
    static const char *const specs[][2] = {
        { SPEC_OF("", ""), SPEC_OF("foreground: [m00]\n", "") },
        { SPEC_OF("", CLUSTERS), SPEC_OF("foreground: [m00]\n", CLUSTERS) },
    };

    (void)state;
    for (int i = 0; i < 2; i++) {
        char plain[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES];

        gnt_assert_ok(run_it(specs[i][0], live_case_folder(plain, "turns"), "cpu:threads=1"));
        gnt_assert_ok(run_it(specs[i][1], live_case_folder(run, "share"), "cpu:threads=1"));
        live_case_same_member(plain, "m00", run, "m00");
        live_case_same_member(plain, "m01", run, "m01");
    }
}

/* ---- real steps ----------------------------------------------------------------------------------------------------------- */

typedef struct trainer {
    gnti_lanes *lanes;
    int64_t id;
    double own, waited, longest, asked, began;
    atomic_bool *over; /* the foreground has ended */
    gnt_trainer *tr;
} trainer;

static void take(void *user, int32_t rank)
{
    trainer *t = user;

    (void)rank;
    t->asked = gnti_clock_seconds();
    gnti_lanes_enter(t->lanes, t->id);
    t->began = gnti_clock_seconds();
    t->waited += t->began - t->asked;
    t->longest = t->began - t->asked > t->longest ? t->began - t->asked : t->longest;
}

static void give(void *user, int32_t rank)
{
    trainer *t = user;

    (void)rank;
    t->own += gnti_clock_seconds() - t->began;
    gnti_lanes_exit(t->lanes, t->id);
}

static void *in_background(void *user)
{
    trainer *t = user;
    gnt_epoch_stats s = { .struct_size = sizeof s };

    while (!atomic_load(t->over) && gnt_trainer_next(t->tr, &s))
        ;
    return NULL;
}

/* A foreground that trains for a second beside two others. */
static void train_beside(trainer t[3])
{
    static const char *const models[3] = { "gcn:32, gcn", "sage:64, sage", "gcn:16, gcn" };
    gnti_device_spec *specs = NULL;
    gnti_quota quota = { .limit = 0 };
    int32_t num = 0;
    gnti_lanes *lanes = NULL;
    atomic_bool over = false;
    gnt_model *model[3] = { NULL };
    pthread_t threads[3];
    gnt_epoch_stats s = { .struct_size = sizeof s };
    const double begin = gnti_clock_seconds();

    gnt_assert_ok(gnti_device_specs_parse("cpu:threads=1", &specs, &num));
    specs[0].quota = &quota;
    gnt_assert_ok(
        gnti_scratch_create_shared(&specs[0], 0, gnti_context_device_config(g_case.ctx), &specs[0].scratch));
    gnti_context_set_pool(g_case.ctx, specs, num);
    gnt_assert_ok(gnti_lanes_create(&lanes));
    for (int i = 0; i < 3; i++) {
        gnt_trainer_config config = g_case.config;

        config.devices = "pool:0";
        config.epochs = 1000000;
        t[i] = (trainer){ .lanes = lanes, .id = i, .over = &over };
        gnt_assert_ok(gnti_lanes_join(lanes, i, i == 0 ? 1.0 / 1.2 : 0.08, i == 0));
        gnt_assert_ok(gnt_model_create(g_case.data, models[i], &model[i]));
        gnt_assert_ok(gnt_trainer_create(model[i], g_case.data, &config, &t[i].tr));
        gnti_trainer_set_turns(t[i].tr, &(gnti_turns){ take, give, &t[i] });
        if (i > 0)
            assert_int_equal(pthread_create(&threads[i], NULL, in_background, &t[i]), 0);
    }
    while (gnti_clock_seconds() < begin + 1.0 && gnt_trainer_next(t[0].tr, &s))
        ;
    atomic_store(&over, true);
    gnti_lanes_part(lanes, 0);
    for (int i = 1; i < 3; i++)
        pthread_join(threads[i], NULL);
    print_message("foreground: %.3f s of steps, %.3f s of waits; background: %.3f and %.3f s\n", t[0].own,
                  t[0].waited, t[1].own, t[2].own);
    for (int i = 0; i < 3; i++) {
        assert_true(t[i].own > 0.0); /* the background is not starved */
        gnt_assert_ok(gnt_trainer_status(t[i].tr));
        gnt_trainer_free(&t[i].tr);
        gnt_model_free(&model[i]);
    }
    gnti_lanes_free(&lanes);
    gnti_scratch_free(&specs[0].scratch);
    assert_int_equal(atomic_load(&quota.used), 0);
    gnti_context_set_pool(g_case.ctx, NULL, 0);
    gnti_free(specs);
}

/* What it waited for them is at most a fifth of what its steps took, but for one wait of a machine that has other things to do; one of
 * three tries will do. */
static void foreground_is_slowed_little(void **state)
{
    trainer t[3] = { 0 };
    int tries = 0;

    (void)state;
    do
        train_beside(t);
    while (t[0].waited > 0.2 * t[0].own + t[0].longest && ++tries < 3);
    assert_true(tries < 3);
}

static int make_case(void **state)
{
    (void)state;
    train_case_make(&g_case, 1);
    return 0;
}

static int free_case(void **state)
{
    (void)state;
    train_case_free(&g_case);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larger_step_counts_once),
        cmocka_unit_test(real_clock_changes_nothing),
        cmocka_unit_test(foreground_is_slowed_little),
    };

    return cmocka_run_group_tests(tests, make_case, free_case);
}
