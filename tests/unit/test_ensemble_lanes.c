/* SPDX-License-Identifier: Apache-2.0 */
/* Turns on one device, in given time: shares are kept, nobody runs beside another, a foreground is slowed at most 1.2x, and on wall time
 * threads really wait.
 */
#include "tests/support/gnt_test.h"

#include "base/clock.h"
#include "ensemble/lanes.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

enum { MAX_TASKS = 4 };

/* Tasks that always want their next step: seconds of a step, steps done, when the present one ends. */
typedef struct world {
    int num;
    double step[MAX_TASKS], ends[MAX_TASKS], waited[MAX_TASKS], busy[MAX_TASKS], asked[MAX_TASKS];
    double now;
} world;

/* Lets `seconds` pass; one step at a time, or the test fails. */
static void let_pass(gnti_lanes *l, world *w, double seconds)
{
    const double end = w->now + seconds;
    double now = w->now;
    int running = -1;

    for (int i = 0; i < w->num; i++) {
        w->asked[i] = now;
        gnti_lanes_ask(l, i, now);
    }
    while (now < end) {
        double next = INFINITY;

        for (int i = 0; i < w->num && running < 0; i++)
            if (gnti_lanes_may(l, i, now)) {
                gnti_lanes_begin(l, i, now);
                running = i;
                w->ends[i] = now + w->step[i];
                w->waited[i] += now - w->asked[i];
            }
        for (int i = 0; i < w->num && running >= 0; i++)
            assert_false(gnti_lanes_may(l, i, now)); /* somebody runs */
        next = running >= 0 ? w->ends[running] : gnti_lanes_wakes(l, now);
        assert_true(isfinite(next) && next > now);
        now = next;
        if (running >= 0) {
            gnti_lanes_end(l, running, now);
            w->busy[running] += w->step[running];
            w->asked[running] = now;
            gnti_lanes_ask(l, running, now);
            running = -1;
        }
    }
    w->now = now;
}

static void shares_are_kept(void **state)
{
    gnti_lanes *l = NULL;
    world w = { .num = 3, .step = { 0.001, 0.004, 0.002 } };

    (void)state;
    gnt_assert_ok(gnti_lanes_create(&l));
    gnt_assert_ok(gnti_lanes_join(l, 0, 0.5, false));
    gnt_assert_ok(gnti_lanes_join(l, 1, 0.25, false));
    gnt_assert_ok(gnti_lanes_join(l, 2, 0.25, false));
    let_pass(l, &w, 10.0);
    assert_true(fabs(w.busy[0] - 5.0) < 0.02);
    assert_true(fabs(w.busy[1] - 2.5) < 0.02);
    assert_true(fabs(w.busy[2] - 2.5) < 0.02);
    gnti_lanes_free(&l);
}

/* Whatever the background's steps take, within reason: the foreground needs at most 1.2 times what it needs alone. */
static void foreground_is_slowed_little(void **state)
{
    static const double background[] = { 0.0005, 0.002, 0.01, 0.02 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        gnti_lanes *l = NULL;
        world w = { .num = 3, .step = { 0.002, background[i], background[i] } };

        gnt_assert_ok(gnti_lanes_create(&l));
        gnt_assert_ok(gnti_lanes_join(l, 0, 0.5, true));
        gnt_assert_ok(gnti_lanes_join(l, 1, 0.25, false));
        gnt_assert_ok(gnti_lanes_join(l, 2, 0.25, false));
        let_pass(l, &w, 2.0); /* finds its share */
        w.busy[0] = w.busy[1] = w.busy[2] = w.waited[0] = 0.0;
        let_pass(l, &w, 20.0);
        assert_true((w.busy[0] + w.waited[0]) / w.busy[0] <= 1.2);
        assert_true(w.busy[1] + w.busy[2] >= 0.04 * 20.0); /* and the background is not starved */
        assert_true(gnti_lanes_background(l) >= 0.05 && gnti_lanes_background(l) <= 0.9);
        gnti_lanes_free(&l);
    }
}

static void alone_nobody_waits(void **state)
{
    gnti_lanes *l = NULL;

    (void)state;
    gnt_assert_ok(gnti_lanes_create(&l));
    gnt_assert_ok(gnti_lanes_join(l, 7, 1.0, false));
    gnti_lanes_ask(l, 7, 0.0);
    assert_true(gnti_lanes_may(l, 7, 0.0));
    assert_true(gnti_lanes_may(l, 8, 0.0)); /* of no tenant: nothing is known of it */
    gnti_lanes_part(l, 7);
    gnti_lanes_part(l, 9);
    gnti_lanes_free(&l);
}

/* Who leaves in its step, or while it waits, keeps nobody from theirs. */
static void leaving_frees_the_turn(void **state)
{
    gnti_lanes *l = NULL;

    (void)state;
    gnt_assert_ok(gnti_lanes_create(&l));
    gnt_assert_ok(gnti_lanes_join(l, 0, 0.5, false));
    gnt_assert_ok(gnti_lanes_join(l, 1, 0.5, false));
    gnti_lanes_ask(l, 0, 0.0);
    gnti_lanes_begin(l, 0, 0.0);
    gnti_lanes_ask(l, 1, 0.5);
    assert_false(gnti_lanes_may(l, 1, 0.5));
    gnti_lanes_part(l, 0);
    assert_true(gnti_lanes_may(l, 1, 0.6));
    gnti_lanes_end(l, 0, 1.0); /* of one that has left */
    assert_true(gnti_lanes_may(l, 1, 1.0));
    gnti_lanes_free(&l);
}

/* ---- threads ---------------------------------------------------------------------------------------------------------- */

typedef struct worker {
    gnti_lanes *lanes;
    int64_t task;
    atomic_int *inside;
    atomic_int *wrong;
} worker;

static void *take_turns(void *user)
{
    const worker *w = user;

    for (int i = 0; i < 200; i++) {
        gnti_lanes_enter(w->lanes, w->task);
        if (atomic_fetch_add(w->inside, 1) != 0)
            atomic_fetch_add(w->wrong, 1);
        atomic_fetch_sub(w->inside, 1);
        gnti_lanes_exit(w->lanes, w->task);
    }
    gnti_lanes_part(w->lanes, w->task);
    return NULL;
}

static void threads_take_turns(void **state)
{
    gnti_lanes *l = NULL;
    atomic_int inside = 0, wrong = 0;
    pthread_t threads[MAX_TASKS];
    worker workers[MAX_TASKS];

    (void)state;
    gnt_assert_ok(gnti_lanes_create(&l));
    for (int64_t i = 0; i < MAX_TASKS; i++) {
        gnt_assert_ok(gnti_lanes_join(l, i, 0.25, i == 0));
        workers[i] = (worker){ l, i, &inside, &wrong };
    }
    for (int i = 0; i < MAX_TASKS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &workers[i]), 0);
    for (int i = 0; i < MAX_TASKS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    gnti_lanes_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_kept),    cmocka_unit_test(foreground_is_slowed_little),
        cmocka_unit_test(alone_nobody_waits), cmocka_unit_test(leaving_frees_the_turn),
        cmocka_unit_test(threads_take_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
