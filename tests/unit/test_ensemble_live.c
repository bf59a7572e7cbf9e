/* SPDX-License-Identifier: Apache-2.0 */
/* Live ensembles: what members predict does not depend on devices, on stops, losses and resizes, nor on what other members do; test
 * labels are read by scores alone; a folder belongs to one spec and one dataset.
 */
#include "tests/support/live_case.h"

#include "base/file.h"
#include "ensemble/ensemble_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SPEC                                                                                                 \
    "train: { epochs: 12, dropout: 0.5, lr: 0.02 }\n"                                                        \
    "seed: 5\n"                                                                                              \
    "count: 2\n"                                                                                             \
    "vary:\n"                                                                                                \
    "  - { key: model, values: [\"gcn:8, gcn\", \"sage:4, sage\"] }\n"
enum { NUM_MEMBERS = 4 };

static train_case g_case;

static void make_case(void)
{
    train_case_make(&g_case, 1);
}

typedef live_call call;

static gnt_status run_it(const call *c, gnti_json **summary)
{
    call mine = *c;

    mine.data = &g_case;
    return live_case_run(&mine, summary);
}

static void assert_same_members(const char *a, const char *b)
{
    char name[16];

    for (int m = 0; m < NUM_MEMBERS; m++) {
        snprintf(name, sizeof name, "m%02d", m);
        live_case_same_member(a, name, b, name);
    }
}

/* The run on one plain device that all others are compared with. */
static const char *reference(void)
{
    static char run[GNT_TEST_PATH_BYTES];

    if (run[0] == '\0')
        gnt_assert_ok(
            run_it(&(call){ .spec = SPEC, .run = live_case_folder(run, "reference"), .devices = "1" }, NULL));
    return run;
}

/* ---- devices ----------------------------------------------------------------------------------------------------------- */

static void devices_change_nothing(void **state)
{
    static const char *const devices[] = {
        "3", "cpu:clock=virtual;cpu:clock=virtual,speed=0.25", "cpu:clock=virtual;cpu:clock=virtual,lost=5",
        "cpu:clock=virtual;cpu:clock=virtual,lost=0",
        /* early: on a busy machine another device does all the rest meanwhile */
        "cpu:threads=1;cpu:threads=1,lost=1"
    };
    char run[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        const bool loses = strstr(devices[i], "lost") != NULL;

        gnt_assert_ok(run_it(
            &(call){ .spec = SPEC, .run = live_case_folder(run, "devices"), .devices = devices[i] }, NULL));
        assert_same_members(reference(), run);
        assert_int_equal(live_case_count(run, "ended", NULL), NUM_MEMBERS);
        assert_int_equal(live_case_count(run, "device-lost", NULL), loses);
        assert_int_equal(live_case_count(run, "failed", NULL), 0);
    }
}

/* On a virtual clock the same spec gives the same journal, but for the times of the day. */
static void virtual_clock_repeats(void **state)
{
    char a[GNT_TEST_PATH_BYTES], b[GNT_TEST_PATH_BYTES];
    gnti_json *x = NULL, *y = NULL;
    double p = 0.0, q = -1.0;
    const char *devices = "cpu:clock=virtual;cpu:clock=virtual,speed=0.5;cpu:clock=virtual,speed=0.25";

    (void)state;
    gnt_assert_ok(
        run_it(&(call){ .spec = SPEC, .run = live_case_folder(a, "clock"), .devices = devices }, &x));
    gnt_assert_ok(
        run_it(&(call){ .spec = SPEC, .run = live_case_folder(b, "clock"), .devices = devices }, &y));
    gnt_assert_ok(gnti_json_get_number(gnti_json_find(x, "schedule"), "makespan_seconds", &p));
    gnt_assert_ok(gnti_json_get_number(gnti_json_find(y, "schedule"), "makespan_seconds", &q));
    assert_true(p > 0.0 && p == q);
    gnti_json_free(&x);
    gnti_json_free(&y);
}

/* All devices are lost: members are given up after the wait, with the reason; on a device that is there they go on. */
static void last_device_is_lost(void **state)
{
    char run[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_status(run_it(&(call){ .spec = "device-wait: 0\n" SPEC,
                                      .run = live_case_folder(run, "none"),
                                      .devices = "cpu:clock=virtual,lost=5" },
                             NULL),
                      GNT_ERR_DEVICE_LOST);
    gnt_assert_error_has("m00: no device that is left has room");
    assert_int_equal(live_case_count(run, "set-aside", NULL), NUM_MEMBERS);
    /* with a device they go on */
    gnt_assert_ok(
        run_it(&(call){ .spec = "device-wait: 0\n" SPEC, .run = run, .devices = "cpu:clock=virtual" }, NULL));
    assert_same_members(reference(), run);
    assert_int_equal(live_case_count(run, "ended", NULL), NUM_MEMBERS);
}

/* ---- failures ------------------------------------------------------------------------------------------------------------ */

#define DIVERGES(values)                                                                                     \
    "model: \"gcn:8, gcn\"\n"                                                                                \
    "train: { epochs: 12, dropout: 0.5, optimizer: adamw }\n"                                                \
    "seed: 5\n"                                                                                              \
    "retries: 1\n"                                                                                           \
    "vary:\n"                                                                                                \
    "  - { key: weight-decay, values: [" values "] }\n"

static void diverging_member_is_alone(void **state)
{
    static const char *const devices[] = { "1", "cpu:clock=virtual;cpu:clock=virtual" };
    char run[GNT_TEST_PATH_BYTES], without[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int i = 0; i < 2; i++) {
        gnti_json *summary = NULL;

        gnt_assert_ok(run_it(&(call){ .spec = DIVERGES("\"0.01\", \"0.02\", \"0.03\", \"1e30\""),
                                      .run = live_case_folder(run, "diverges"),
                                      .devices = devices[i] },
                             &summary));
        gnt_assert_ok(run_it(&(call){ .spec = DIVERGES("\"0.01\", \"0.02\", \"0.03\""),
                                      .run = live_case_folder(without, "without"),
                                      .devices = devices[i] },
                             NULL));
        live_case_same_member(run, "m00", without, "m00");
        live_case_same_member(run, "m01", without, "m01");
        live_case_same_member(run, "m02", without, "m02");
        assert_int_equal(live_case_count(run, "ended", NULL), 3);
        assert_int_equal(live_case_count(run, "failed", "m03"), 3); /* among others, alone, once more */
        assert_int_equal(live_case_count(run, "failed", NULL), 3);
        assert_int_equal(live_case_count(run, "given-up", "m03"), 1);
        assert_int_equal(gnti_json_length(gnti_json_find(summary, "failed")), 1);
        assert_int_equal(gnti_json_length(gnti_json_find(summary, "members")), 3);
        gnti_json_free(&summary);
    }
}

/* A device that has less room than it says: groups are cut until they fit, and nothing else changes. */
static void group_without_memory_is_cut(void **state)
{
    const char *spec = "model: \"gcn:16, gcn\"\ntrain: { epochs: 4, dropout: 0.5 }\nseed: 5\ncount: 8\n";
    char whole[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES], name[16];

    (void)state;
    gnt_assert_ok(
        run_it(&(call){ .spec = spec, .run = live_case_folder(whole, "room"), .devices = "1" }, NULL));
    gnt_assert_ok(run_it(&(call){ .spec = spec,
                                  .run = live_case_folder(run, "memory"),
                                  .devices = "cpu:clock=virtual,room=100K" },
                         NULL));
    assert_true(live_case_count(run, "failed", NULL) >= 8); /* each of the group, at least once */
    assert_int_equal(live_case_count(run, "given-up", NULL), 0);
    assert_int_equal(live_case_count(run, "ended", NULL), 8);
    for (int m = 0; m < 8; m++) {
        snprintf(name, sizeof name, "m%02d", m);
        live_case_same_member(whole, name, run, name);
    }
}

/* What does not fit one device goes to another one that it has not been on, or over several; it is no retry. Where nothing holds it, it
 * is set aside at once. */
static void member_goes_where_there_is_room(void **state)
{
    static const struct {
        const char *devices, *keys;
        bool fits;
    } cases[] = {
        { "cpu:clock=virtual,room=60K;cpu:clock=virtual", "", true },
        { "cpu:threads=1,room=60K;cpu:threads=1", "", true },
        { "cpu:clock=virtual,room=40K;cpu:clock=virtual,room=50K;cpu:clock=virtual,room=1;cpu:clock=virtual",
          "", true },
        { "cpu:clock=virtual,room=42K;cpu:clock=virtual,room=42K", "chunks: 4, ", true },
        { "cpu:threads=1,room=42K;cpu:threads=1,room=42K", "chunks: 4, ", true },
        { "cpu:clock=virtual,room=30K;cpu:clock=virtual,room=40K", "", false },
        { "cpu:threads=1,room=30K;cpu:threads=1,room=40K", "", false },
    };
    char spec[200], run[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gnt_status st;

        snprintf(spec, sizeof spec,
                 "model: \"gcn:64, gcn\"\ntrain: { %sepochs: 3, dropout: 0.5 }\nretries: 0\ncount: 2\n",
                 cases[i].keys);
        st = run_it(
            &(call){ .spec = spec, .run = live_case_folder(run, "short"), .devices = cases[i].devices },
            NULL);
        if (!cases[i].fits)
            gnt_assert_error_has("the device's memory must hold");
        assert_int_equal(st, cases[i].fits ? GNT_OK : GNT_ERR_DEVICE_NOMEM);
        assert_true(live_case_count(run, "failed", NULL) > 0);
        assert_int_equal(live_case_count(run, "ended", NULL), cases[i].fits ? 2 : 0);
        assert_int_equal(live_case_count(run, "set-aside", NULL), cases[i].fits ? 0 : 2);
    }
}

/* ---- stops --------------------------------------------------------------------------------------------------------------- */

typedef struct stopper {
    atomic_int stop;
    int64_t first; /* epochs done when first seen, -1: not yet; -2: stop at once */
} stopper;

static void stop_when_it_goes_on(const gnti_ensemble_progress *p, void *user)
{
    stopper *s = user;

    if (s->first == -2)
        atomic_store(&s->stop, 1);
    else if (s->first < 0)
        s->first = p->epochs_done;
    else if (p->epochs_done > s->first)
        atomic_store(&s->stop, 1);
}

static void stopped_run_goes_on(void **state)
{
    static const char *const devices[] = { "2", "cpu:clock=virtual;cpu:clock=virtual" };
    const char *spec = "train: { epochs: 200, dropout: 0.5, lr: 0.02 }\nseed: 5\ncount: 2\n"
                       "vary:\n  - { key: model, values: [\"gcn:8, gcn\", \"sage:4, sage\"] }\n";
    char whole[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_assert_ok(run_it(
        &(call){
            .spec = spec, .run = live_case_folder(whole, "whole"), .devices = "1", .checkpoint_every = 50 },
        NULL));
    for (int i = 0; i < 2; i++) {
        call c = { .spec = spec,
                   .run = live_case_folder(run, "stopped"),
                   .devices = devices[i],
                   .checkpoint_every = 50,
                   .watch = stop_when_it_goes_on };
        int stops = 0;
        gnt_status st = GNT_STOPPED;

        while (st == GNT_STOPPED) {
            stopper s = { .first = stops == 0 ? -2 : -1 };

            c.user = &s;
            c.stop = stops < 3 ? &s.stop : NULL;
            st = run_it(&c, NULL);
            stops += st == GNT_STOPPED;
        }
        gnt_assert_ok(st);
        assert_true(stops > 0);
        assert_same_members(whole, run);
        assert_int_equal(live_case_count(run, "ended", NULL), NUM_MEMBERS);
        assert_int_equal(live_case_count(run, "combined", NULL), 1);
    }
}

/* The disk is full at some write: the run ends with that, and the same line goes on. */
static void full_disk_loses_nothing(void **state)
{
    static const char *const devices[] = { "2", "cpu:clock=virtual;cpu:clock=virtual" };
    char run[GNT_TEST_PATH_BYTES];
    int failures = 0;

    (void)state;
    for (int64_t k = 0; k < 160; k = 2 * k + 1) {
        const call c = { .spec = SPEC, .run = live_case_folder(run, "full"), .devices = devices[k % 2] };
        gnt_status st;

        gnti_file_fail_at(k, ENOSPC);
        st = run_it(&c, NULL);
        gnti_file_fail_at(-1, 0);
        assert_true(st == GNT_OK || st == GNT_ERR_DISK_FULL);
        failures += st != GNT_OK;
        if (st != GNT_OK)
            gnt_assert_ok(run_it(&c, NULL));
        assert_same_members(reference(), run);
        assert_int_equal(live_case_count(run, "ended", NULL), NUM_MEMBERS);
    }
    assert_true(failures > 3);
}

/* An allocation fails: in a trainer its group is tried again, elsewhere the run ends; either way nothing is lost. */
static void failed_allocation_loses_nothing(void **state)
{
    static const char *const devices[] = { "2", "cpu:clock=virtual;cpu:clock=virtual" };
    char run[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int64_t k = 10; k < 30000; k = 4 * k + 7) {
        const call c = { .spec = "retries: 3\n" SPEC,
                         .run = live_case_folder(run, "nomem"),
                         .devices = devices[k % 2] };
        gnti_spec *spec = NULL;
        gnti_json *summary = NULL;
        const gnti_ensemble_config config = {
            .run = c.run, .devices = c.devices, .checkpoint_every = 3, .wait_limit = 20.0
        };
        gnt_status st;

        gnt_assert_ok(gnti_spec_parse(g_case.ctx, c.spec, strlen(c.spec), "spec.yaml", g_case.data, &spec));
        gnti_alloc_fail_at(k);
        st = gnti_ensemble_run(g_case.ctx, spec, g_case.data, &config, NULL, NULL, &summary);
        gnti_alloc_fail_at(-1);
        gnti_json_free(&summary);
        gnti_spec_free(&spec);
        assert_true(st == GNT_OK || st == GNT_ERR_NOMEM);
        if (st != GNT_OK)
            gnt_assert_ok(run_it(&c, NULL));
        assert_same_members(reference(), run);
        assert_int_equal(live_case_count(run, "ended", NULL), NUM_MEMBERS);
    }
}

static void complete_run_is_left_alone(void **state)
{
    char run[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES + 64];
    char *before, *after;
    gnti_json *summary = NULL;

    (void)state;
    gnt_assert_ok(
        run_it(&(call){ .spec = SPEC, .run = live_case_folder(run, "complete"), .devices = "1" }, NULL));
    snprintf(path, sizeof path, "%s/journal.jsonl", run);
    before = gnt_test_read(path, NULL);
    gnt_assert_ok(run_it(&(call){ .spec = SPEC, .run = run, .devices = "2" }, &summary));
    after = gnt_test_read(path, NULL);
    assert_string_equal(before, after);
    assert_int_equal(gnti_json_length(gnti_json_find(summary, "members")), NUM_MEMBERS);
    gnti_json_free(&summary);
    gnti_free(before);
    gnti_free(after);
    /* another spec, another dataset */
    gnt_assert_status(run_it(&(call){ .spec = "combine: logits\n" SPEC, .run = run, .devices = "1" }, NULL),
                      GNT_ERR_FORMAT);
    gnt_assert_error_has("another spec", "sha256", run);
    train_case_free(&g_case);
    train_case_make(&g_case, 2);
    gnt_assert_status(run_it(&(call){ .spec = SPEC, .run = run, .devices = "1" }, NULL), GNT_ERR_FORMAT);
    gnt_assert_error_has("another dataset", "sha256");
    train_case_free(&g_case);
    make_case();
}

/* ---- resize --------------------------------------------------------------------------------------------------------------- */

typedef struct asker {
    const char *run;
    int asked;
} asker;

/* Another size at each look: what a process outside would write. */
static void ask_for_devices(const gnti_ensemble_progress *p, void *user)
{
    static const char *const sizes[] = { "cpu:threads=1;cpu:threads=1;cpu:threads=1", "cpu:threads=1",
                                         "cpu:threads=1;cpu:threads=1" };
    asker *a = user;
    char path[GNT_TEST_PATH_BYTES + 64], text[200];

    if (p->epochs_done == 0)
        return;
    snprintf(path, sizeof path, "%s/requests/%03d.json", a->run, a->asked);
    snprintf(text, sizeof text, "{\"devices\": \"%s\"}", sizes[a->asked % 3]);
    if (gnti_file_write_all(path, text, strlen(text)) == GNT_OK)
        a->asked++;
}

static void resized_run_is_the_fixed_one(void **state)
{
    const char *spec = "train: { epochs: 400, dropout: 0.5, lr: 0.02 }\nseed: 5\ncount: 2\n"
                       "vary:\n  - { key: model, values: [\"gcn:8, gcn\", \"sage:4, sage\"] }\n";
    char whole[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES];
    asker a = { .run = run };

    (void)state;
    gnt_assert_ok(run_it(&(call){ .spec = spec,
                                  .run = live_case_folder(whole, "fixed"),
                                  .devices = "cpu:threads=1",
                                  .checkpoint_every = 50 },
                         NULL));
    gnt_assert_ok(run_it(&(call){ .spec = spec,
                                  .run = live_case_folder(run, "resized"),
                                  .devices = "cpu:threads=1",
                                  .checkpoint_every = 50,
                                  .watch = ask_for_devices,
                                  .user = &a },
                         NULL));
    assert_true(a.asked > 0);
    assert_true(live_case_count(run, "resized", NULL) > 0);
    assert_same_members(whole, run);
}

static void write_request(const char *run, const char *name, const char *text)
{
    char path[GNT_TEST_PATH_BYTES + 64];

    snprintf(path, sizeof path, "%s/requests", run);
    gnt_assert_ok(gnti_folder_create(path));
    snprintf(path, sizeof path, "%s/requests/%s", run, name);
    gnt_assert_ok(gnti_file_write_all(path, text, strlen(text)));
}

/* Requests that the run answers with these texts, and goes on. */
static const struct {
    const char *request, *text;
} refused[] = {
    { "{\"lose\": 77, \"at\": 1e-9}", "there is no device 77" },
    { "{\"lose\": 0, \"at\": 1e-9, \"wen\": 1}", "unknown key 'wen'" },
    { "{\"device\": \"2\", \"at\": 1e-9}", "unknown key 'device', did you mean 'devices'?" },
    { "{\"devices\": \"2\", \"lose\": 0, \"at\": 1e-9}", "has devices and lose: make two requests" },
    { "{\"at\": 1e-9}", "devices" },
};
enum { NUM_REFUSED = sizeof refused / sizeof refused[0] };

static void assert_refused(const char *run, int i)
{
    char path[GNT_TEST_PATH_BYTES + 64];
    gnti_json *answer = NULL;
    const char *message = NULL;
    bool accepted = true;

    snprintf(path, sizeof path, "%s/requests/c%d.answer.json", run, i);
    gnt_assert_ok(gnti_json_read(path, &answer));
    gnt_assert_ok(gnti_json_get_bool(answer, "accepted", &accepted));
    assert_false(accepted);
    gnt_assert_ok(gnti_json_get_text(answer, "message", &message));
    assert_non_null(strstr(message, refused[i].text));
    gnti_json_free(&answer);
}

/* On a virtual clock requests have times: devices come, go and are lost in the middle, and the loss is the only one that repeats epochs. */
static void timed_requests_are_kept(void **state)
{
    char run[GNT_TEST_PATH_BYTES];
    gnti_json *summary = NULL;
    double all = 0.0;
    char text[200];

    (void)state;
    gnt_assert_ok(
        run_it(&(call){ .spec = SPEC, .run = live_case_folder(run, "timed"), .devices = "cpu:clock=virtual" },
               &summary));
    gnt_assert_ok(gnti_json_get_number(gnti_json_find(summary, "schedule"), "makespan_seconds", &all));
    gnti_json_free(&summary);
    live_case_folder(run, "timed");
    snprintf(text, sizeof text, "{\"devices\": \"cpu:clock=virtual;cpu:clock=virtual,speed=2\", \"at\": %g}",
             0.2 * all);
    write_request(run, "a.json", text);
    snprintf(text, sizeof text, "{\"lose\": 0, \"at\": %g}", 0.4 * all);
    write_request(run, "b.json", text);
    for (int i = 0; i < NUM_REFUSED; i++) {
        snprintf(text, sizeof text, "c%d.json", i);
        write_request(run, text, refused[i].request);
    }
    gnt_assert_ok(run_it(&(call){ .spec = SPEC, .run = run, .devices = "cpu:clock=virtual" }, NULL));
    assert_same_members(reference(), run);
    assert_int_equal(live_case_count(run, "resized", NULL), 1);
    assert_int_equal(live_case_count(run, "device-lost", NULL), 1);
    for (int i = 0; i < NUM_REFUSED; i++)
        assert_refused(run, i);
}

/* ---- labels ---------------------------------------------------------------------------------------------------------------- */

static void test_labels_change_nothing(void **state)
{
    static const char *const how[] = { "mean", "greedy", "weighted" };
    char spec[512], a[GNT_TEST_PATH_BYTES], b[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int i = 0; i < 3; i++) {
        gnti_ensemble_file x = { 0 }, y = { 0 };
        const int64_t n = g_case.arrays.num_test;

        snprintf(spec, sizeof spec, "combine: %s\n" SPEC, how[i]);
        train_case_free(&g_case);
        make_case();
        gnt_assert_ok(
            run_it(&(call){ .spec = spec, .run = live_case_folder(a, "labels"), .devices = "1" }, NULL));
        train_case_free(&g_case);
        train_case_arrays(&g_case, GNT_LABELS_CLASS, 1);
        for (int64_t k = 0; k < n; k++) /* other labels for all test nodes */
            g_case.y_class[g_case.test[k]] =
                (g_case.y_class[g_case.test[k]] + 1 + k % 2) % TRAIN_CASE_CLASSES;
        train_case_dataset(&g_case, NULL);
        gnt_assert_ok(
            run_it(&(call){ .spec = spec, .run = live_case_folder(b, "labels"), .devices = "1" }, NULL));
        assert_same_members(a, b);
        gnt_assert_ok(gnti_ensemble_file_open(a, &x));
        gnt_assert_ok(gnti_ensemble_file_open(b, &y));
        assert_int_equal(x.num_members, y.num_members);
        assert_memory_equal(x.weight, y.weight, (size_t)x.num_members * sizeof *x.weight);
        assert_memory_equal(&x.temperature, &y.temperature, sizeof x.temperature);
        assert_int_equal(x.fell_back, y.fell_back);
        gnti_ensemble_file_free(&x);
        gnti_ensemble_file_free(&y);
    }
    train_case_free(&g_case);
    make_case();
}

static int setup(void **state)
{
    (void)state;
    make_case();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    train_case_free(&g_case);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_change_nothing),
        cmocka_unit_test(virtual_clock_repeats),
        cmocka_unit_test(last_device_is_lost),
        cmocka_unit_test(diverging_member_is_alone),
        cmocka_unit_test(stopped_run_goes_on),
        cmocka_unit_test(full_disk_loses_nothing),
        cmocka_unit_test(failed_allocation_loses_nothing),
        cmocka_unit_test(complete_run_is_left_alone),
        cmocka_unit_test(group_without_memory_is_cut),
        cmocka_unit_test(member_goes_where_there_is_room),
        cmocka_unit_test(timed_requests_are_kept),
        cmocka_unit_test(resized_run_is_the_fixed_one),
        cmocka_unit_test(test_labels_change_nothing),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
