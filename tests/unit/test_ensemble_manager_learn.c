/* SPDX-License-Identifier: Apache-2.0 */
/* What the manager learns from seconds that epochs took: of a task on a type, of types it has not been on, of tasks that have not run, of
 * a device that is not as its type is; and events that cannot be.
 */
#include "tests/support/gnt_test.h"

#include "ensemble/manager.h"

#include <math.h>
#include <stdio.h>

enum { TYPES = 2 };

typedef struct bench {
    gnti_manager *m;
    double now, done[8];
} bench;

static void send(bench *b, gnti_event e)
{
    e.time = b->now;
    gnt_assert_ok(gnti_manager_event(b->m, &e));
    gnt_assert_ok(gnti_manager_check(b->m));
}

/* Carries out all actions at once. */
static void obey(bench *b)
{
    gnti_action a;

    while (gnti_manager_next(b->m, &a))
        send(b, (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED, .task = a.task, .generation = a.generation });
    gnt_assert_ok(gnti_manager_status(b->m));
}

static void begin(bench *b)
{
    const gnti_manager_config config = {
        .policy = GNTI_POLICY_FIRST_COME, .num_types = TYPES, .retries = 1, .patience = 1e6, .check = true
    };

    *b = (bench){ 0 };
    gnt_assert_ok(gnti_manager_create(&config, &b->m));
}

static void add(bench *b, int32_t device, int32_t type)
{
    const gnti_place_device d = { .type = type, .present = true, .lanes = 1 };

    send(b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = device, .new_device = &d });
    obey(b);
}

static void lose(bench *b, int32_t device)
{
    send(b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LOST, .device = device });
    obey(b);
}

static void arrive(bench *b, int64_t task, double given0, double given1)
{
    const double seconds[TYPES] = { given0, given1 };
    const gnti_place_task t = { .weight = 1.0, .epochs_left = 1000.0, .seconds = seconds, .max_devices = 1 };

    send(b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = task, .new_task = &t });
    obey(b);
}

static void epoch(bench *b, int64_t task, double seconds)
{
    b->now += seconds;
    send(b, (gnti_event){ .kind = GNTI_EVENT_EPOCH_DONE,
                          .task = task,
                          .epochs_done = ++b->done[task],
                          .seconds = seconds });
    obey(b);
}

static void check_near(const bench *b, int64_t task, int32_t type, double want, double relative)
{
    const double got = gnti_manager_epoch_seconds(b->m, task, type);

    if (!(fabs(got / want - 1.0) <= relative))
        fail_msg("task %lld on type %d: %g seconds, expected %g", (long long)task, type, got, want);
}

/* The first epoch replaces what was given, later ones count half. */
static void test_mean(void **state)
{
    bench b;

    (void)state;
    begin(&b);
    add(&b, 0, 0);
    arrive(&b, 0, 1.0, 1.0);
    epoch(&b, 0, 4.0);
    check_near(&b, 0, 0, 4.0, 1e-12);
    epoch(&b, 0, 4.4);
    check_near(&b, 0, 0, 4.2, 1e-12);
    epoch(&b, 0, 4.0);
    check_near(&b, 0, 0, 4.1, 1e-12);
    gnti_manager_free(&b.m);
}

/* A group of which a half goes after half of its epochs: the bound knows what the first ones took, so a device that never rested ends at it;
 * where epochs shrink less than the group does (which is taken for a slow device) it is below the end, never above. */
static void test_bound_of_shrunk_groups(void **state)
{
    static const double later[2] = { 0.5, 0.9 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        bench b;
        gnti_manager_facts f;

        begin(&b);
        add(&b, 0, 0);
        arrive(&b, 0, 1.0, INFINITY);
        for (int e = 0; e < 10; e++)
            epoch(&b, 0, 1.0);
        send(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_CHANGED, .task = 0, .scale = 0.5 });
        obey(&b);
        for (int e = 0; e < 10; e++)
            epoch(&b, 0, later[i]);
        send(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = 0 });
        gnt_assert_ok(gnti_manager_get_facts(b.m, &f));
        assert_true(fabs(f.makespan - 10.0 * (1.0 + later[i])) < 1e-9);
        if (!(f.lower_bound <= f.makespan * (1.0 + 1e-9) &&
              f.lower_bound >= (i == 0 ? 0.999 : 0.75) * f.makespan))
            fail_msg("makespan %g, lower bound %g", f.makespan, f.lower_bound);
        gnti_manager_free(&b.m);
    }
}

/* A task that has been on both types tells what others, which were on one, take on the other; a task that has not run is taken to be as
 * all are. Given seconds were the same everywhere. */
static void test_types(void **state)
{
    bench b;

    (void)state;
    begin(&b);
    add(&b, 0, 0);
    arrive(&b, 0, 1.0, 1.0);
    epoch(&b, 0, 4.0);
    check_near(&b, 0, 1, 4.0, 0.7); /* the type's own speed is not known yet */
    lose(&b, 0);
    add(&b, 1, 1);
    epoch(&b, 0, 1.0);
    check_near(&b, 0, 1, 1.0, 1e-12);
    arrive(&b, 1, 1.0, 1.0);
    send(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = 0 });
    obey(&b);
    epoch(&b, 1, 8.0); /* on type 1 */
    check_near(&b, 1, 0, 32.0, 0.1);
    arrive(&b, 2, 1.0, 1.0);
    check_near(&b, 2, 0, 4.0 * gnti_manager_epoch_seconds(b.m, 2, 1), 0.1);
    assert_true(gnti_manager_epoch_seconds(b.m, 2, 1) > 1.5);
    gnti_manager_free(&b.m);
}

/* Where the quotient of what was given is right, it stays. */
static void test_given_quotient(void **state)
{
    bench b;

    (void)state;
    begin(&b);
    add(&b, 0, 0);
    arrive(&b, 0, 2.0, 6.0);
    epoch(&b, 0, 2.0);
    check_near(&b, 0, 1, 6.0, 1e-9);
    arrive(&b, 1, 5.0, INFINITY);
    assert_true(isinf(gnti_manager_epoch_seconds(b.m, 1, 1)));
    assert_true(isnan(gnti_manager_epoch_seconds(b.m, 7, 1)));
    gnti_manager_free(&b.m);
}

/* Three epochs three times as long: the device is slow, the task is what it was. */
static void test_slow_device(void **state)
{
    bench b;

    (void)state;
    begin(&b);
    add(&b, 0, 0);
    arrive(&b, 0, 1.0, 1.0);
    for (int i = 0; i < 5; i++)
        epoch(&b, 0, 2.0);
    for (int i = 0; i < 8; i++)
        epoch(&b, 0, 6.0);
    check_near(&b, 0, 0, 2.0, 0.05);
    add(&b, 1, 0); /* a healthy one: the task moves there */
    epoch(&b, 0, 2.0);
    check_near(&b, 0, 0, 2.0, 0.05);
    gnti_manager_free(&b.m);
}

/* ---- events that cannot be ---- */

static void refuse(bench *b, gnti_event e, const char *word, const char *other)
{
    e.time = b->now;
    gnt_assert_status(gnti_manager_event(b->m, &e),
                      e.task > GNTI_MANAGER_MAX_ID ? GNT_ERR_LIMIT : GNT_ERR_ARG);
    gnt_assert_error_has(word, other);
    gnt_assert_ok(gnti_manager_check(b->m));
}

static void test_wrong_events(void **state)
{
    const double good[TYPES] = { 1.0, 1.0 }, none[TYPES] = { INFINITY, INFINITY }, zero[TYPES] = { 0.0, 1.0 };
    const gnti_place_device d = { .type = 0, .present = true }, strange = { .type = TYPES };
    gnti_place_task t = { .weight = 1.0, .epochs_left = 10.0, .seconds = good, .max_devices = 1 };
    bench b;

    (void)state;
    begin(&b);
    add(&b, 0, 0);
    arrive(&b, 0, 1.0, 1.0);
    epoch(&b, 0, 1.0);
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = 0, .new_task = &t }, "task 0", "twice");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = 1 << 25, .new_task = &t }, "ids",
           "numbers");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = 1 }, "task 1", "terms");
    t.seconds = none;
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = 1, .new_task = &t }, "task 1",
           "no type");
    t.seconds = zero;
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = 1, .new_task = &t }, "task 1",
           "0 seconds");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = 0, .new_device = &d }, "device 0",
           "not left");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = 1, .new_device = &strange },
           "device 1", "type 2");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LOST, .device = 3 }, "device 3", "there are");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_EPOCH_DONE, .task = 5 }, "task 5", "not arrived");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_EPOCH_DONE, .task = 0, .epochs_done = 0.5 }, "0.5",
           "after 1");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_EPOCH_DONE, .task = 0, .epochs_done = 1001 }, "1001", "1000");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_FAILED, .task = 0, .epochs_done = 2 }, "epoch 2",
           "at 1");
    refuse(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_CHANGED, .task = 0, .scale = 2 }, "2", "(0, 1]");
    gnti_manager_free(&b.m);
}

static void test_allocations_fail(void **state)
{
    (void)state;
    for (int64_t k = 0; k < 60; k++) {
        const gnti_manager_config config = { .policy = GNTI_POLICY_MAKESPAN, .num_types = TYPES };
        const gnti_place_device d = { .type = 0, .present = true };
        const double seconds[TYPES] = { 1.0, 1.0 };
        const gnti_place_task t = { .weight = 1.0, .epochs_left = 2.0, .seconds = seconds, .max_devices = 1 };
        gnti_manager *m = NULL;
        gnti_action a;

        gnti_alloc_fail_at(k);
        if (gnti_manager_create(&config, &m) == GNT_OK &&
            gnti_manager_event(m, &(gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .new_device = &d }) ==
                GNT_OK &&
            gnti_manager_event(m, &(gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .new_task = &t }) == GNT_OK)
            assert_true(gnti_manager_next(m, &a) || gnti_manager_status(m) == GNT_ERR_NOMEM);
        gnti_alloc_fail_at(-1);
        gnti_manager_free(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mean),
        cmocka_unit_test(test_bound_of_shrunk_groups),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_given_quotient),
        cmocka_unit_test(test_slow_device),
        cmocka_unit_test(test_wrong_events),
        cmocka_unit_test(test_allocations_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
