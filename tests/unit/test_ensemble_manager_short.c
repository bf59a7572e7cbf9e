/* SPDX-License-Identifier: Apache-2.0 */
/* A task that does not fit what it was given: its devices hold less than was planned, so it goes elsewhere, which is no retry; where nothing
 * holds it, it is given up at once, and so is who waits and fits no longer. Who is left never notices.
 */
#include "tests/support/gnt_test.h"

#include "ensemble/manager.h"

enum { KIB = 1024, MOST = 8 };

typedef struct bench {
    gnti_manager *m;
    int32_t place[MOST]; /* of each task, -1: none */
    bool given_up[MOST];
} bench;

static void send(bench *b, gnti_event e)
{
    gnt_assert_ok(gnti_manager_event(b->m, &e));
    gnt_assert_ok(gnti_manager_check(b->m));
}

/* Carries out all actions but those of `task`, which are noted. */
static int64_t obey(bench *b, int64_t task)
{
    gnti_action a;
    int64_t generation = 0;

    while (gnti_manager_next(b->m, &a)) {
        b->given_up[a.task] = b->given_up[a.task] || a.kind == GNTI_ACTION_GIVE_UP;
        b->place[a.task] = a.kind == GNTI_ACTION_RUN ? a.devices[0] : -1;
        if (a.task == task)
            generation = a.generation;
        else if (a.kind != GNTI_ACTION_GIVE_UP)
            send(b,
                 (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED, .task = a.task, .generation = a.generation });
    }
    gnt_assert_ok(gnti_manager_status(b->m));
    return generation;
}

static void begin(bench *b, int32_t num_devices, int64_t bytes)
{
    const gnti_manager_config config = {
        .policy = GNTI_POLICY_MAKESPAN, .num_types = 1, .retries = 0, .patience = 1e6, .check = true
    };
    const gnti_place_device d = { .present = true, .bytes = bytes };

    *b = (bench){ 0 };
    gnt_assert_ok(gnti_manager_create(&config, &b->m));
    for (int32_t i = 0; i < num_devices; i++)
        send(b, (gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED, .device = i, .new_device = &d });
}

static void arrive(bench *b, int64_t task, int64_t bytes)
{
    const double seconds = 1.0;
    const gnti_place_task t = { .weight = 1.0,
                                .epochs_left = 10.0,
                                .seconds = &seconds,
                                .max_devices = 1,
                                .lasting_bytes = bytes,
                                .use = 0.4 };

    send(b, (gnti_event){ .kind = GNTI_EVENT_TASK_ARRIVED, .task = task, .new_task = &t });
}

static void fall_short(bench *b, int64_t task, int64_t generation)
{
    send(b, (gnti_event){ .kind = GNTI_EVENT_TASK_SHORT, .task = task, .generation = generation });
}

static void test_goes_from_device_to_device(void **state)
{
    bench b;
    int64_t generation;
    int32_t first, second;

    (void)state;
    begin(&b, 2, 100 * KIB);
    arrive(&b, 0, 80 * KIB);
    generation = obey(&b, 0);
    first = b.place[0];
    assert_true(generation > 0 && first >= 0);
    fall_short(&b, 0, generation); /* while it is on its way */
    assert_int_equal(gnti_manager_device_bytes(b.m, first), 80 * KIB - 1);
    assert_int_equal(gnti_manager_device_bytes(b.m, 1 - first), 100 * KIB);
    generation = obey(&b, 0);
    second = b.place[0];
    assert_int_equal(second, 1 - first);
    send(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_PLACED, .task = 0, .generation = generation });
    fall_short(&b, 0, generation); /* while it is there */
    assert_false(b.given_up[0]);
    obey(&b, 0);
    assert_true(b.given_up[0]);
    assert_true(gnti_manager_is_idle(b.m));
    gnti_manager_free(&b.m);
}

static void test_others_keep_their_devices(void **state)
{
    bench b;
    int64_t generation;

    (void)state;
    begin(&b, 1, 100 * KIB);
    arrive(&b, 0, 30 * KIB);
    obey(&b, -1);
    arrive(&b, 1, 60 * KIB);
    generation = obey(&b, 1);
    if (generation == 0)
        fail_msg("two tasks that fit do not share the device");
    fall_short(&b, 1, generation); /* both together are more than it holds */
    assert_int_equal(gnti_manager_device_bytes(b.m, 0), 90 * KIB - 1);
    obey(&b, 1);
    assert_int_equal(b.place[0], 0);
    assert_false(b.given_up[0] || b.given_up[1]); /* it waits for the other one's end */
    send(&b, (gnti_event){ .kind = GNTI_EVENT_TASK_ENDED, .task = 0 });
    generation = obey(&b, 1);
    assert_true(generation > 0 && b.place[1] == 0);
    fall_short(&b, 1, generation);
    obey(&b, 1);
    assert_true(b.given_up[1]);
    gnti_manager_free(&b.m);
}

static void test_old_and_wrong_events(void **state)
{
    bench b;
    int64_t generation;

    (void)state;
    begin(&b, 1, 0); /* no limit */
    arrive(&b, 0, 10 * KIB);
    generation = obey(&b, 0);
    fall_short(&b, 0, generation + 7); /* of no action */
    assert_int_equal(gnti_manager_device_bytes(b.m, 0), 0);
    gnt_assert_status(gnti_manager_event(b.m, &(gnti_event){ .kind = GNTI_EVENT_TASK_SHORT,
                                                             .task = 0,
                                                             .epochs_done = 3.0,
                                                             .generation = generation }),
                      GNT_ERR_ARG);
    fall_short(&b, 0, generation);
    assert_int_equal(gnti_manager_device_bytes(b.m, 0), 10 * KIB - 1);
    assert_int_equal(gnti_manager_device_bytes(b.m, 5), 0);
    gnti_manager_free(&b.m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_from_device_to_device),
        cmocka_unit_test(test_others_keep_their_devices),
        cmocka_unit_test(test_old_and_wrong_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
