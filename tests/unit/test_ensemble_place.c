/* SPDX-License-Identifier: Apache-2.0 */
/* Plans over written device lists: the rules of any plan on random inputs of every policy, that nothing
 * moves when nothing has changed, formulas, and what cannot be placed.
 */
#include "tests/support/place_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double draw(uint64_t seed, int64_t *next, double low, double high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 13, 0, (*next)++, 0);

    return low + (high - low) * ((double)word + 0.5) / 4294967296.0;
}

static int32_t draw_int(uint64_t seed, int64_t *next, int32_t low, int32_t high)
{
    return low + (int32_t)draw(seed, next, 0.0, high - low + 1 - 1e-9);
}

/* ---- any plan ---- */

/* Anything that is allowed: memory that is short, types that a task cannot run on, shares, foreground,
 * devices that are away. */
static void make_random(place_case *c, uint64_t seed, gnti_policy policy)
{
    int64_t next = 0;
    const double speed[3] = { 4.0, 2.0, 1.0 };
    const int32_t count[3] = { draw_int(seed, &next, 1, 3), draw_int(seed, &next, 0, 3),
                               draw_int(seed, &next, 0, 4) };
    const int32_t num = draw_int(seed, &next, 0, 24);

    place_case_devices(c, policy, speed, count, 3);
    for (int32_t d = 0; d < c->in.num_devices; d++) {
        c->device[d].present = d == 0 || draw_int(seed, &next, 0, 5) > 0;
        c->device[d].bytes = draw_int(seed, &next, 0, 3) == 0 ? 0 : 100 + 50 * draw_int(seed, &next, 0, 2);
        c->device[d].lanes = draw_int(seed, &next, 0, 3);
    }
    c->device[0].bytes = 0; /* something fits whatever comes */
    c->in.watts = draw_int(seed, &next, 0, 1) * draw(seed, &next, 200.0, 2000.0);
    for (int32_t j = 0; j < num; j++) {
        gnti_place_task *t =
            place_case_add(c, speed, draw(seed, &next, 1.0, 100.0), draw_int(seed, &next, 1, 100));

        t->arrival = draw(seed, &next, 0.0, 10.0);
        t->weight = draw_int(seed, &next, 1, 2);
        t->max_devices = draw_int(seed, &next, 1, 4);
        t->serial = draw(seed, &next, 0.0, 0.3);
        t->overhead = draw(seed, &next, 0.0, 0.1);
        t->use = draw_int(seed, &next, 0, 2) == 0 ? draw(seed, &next, 0.1, 1.0) : 0.0;
        t->foreground = draw_int(seed, &next, 0, 5) == 0;
        t->data = draw_int(seed, &next, 0, 2);
        t->shared_bytes = draw_int(seed, &next, 0, 60);
        t->lasting_bytes = draw_int(seed, &next, 0, 40);
        t->scratch_bytes = draw_int(seed, &next, 0, 120);
        t->switch_epochs = draw(seed, &next, 0.0, 2.0);
        if (draw_int(seed, &next, 0, 15) == 0)
            t->epochs_left = 0.0;
        if (draw_int(seed, &next, 0, 15) == 0)
            c->seconds[j][0] *= 1e9;
        for (int32_t k = 1; k < 3; k++)
            if (draw_int(seed, &next, 0, 7) == 0)
                c->seconds[j][k] = INFINITY;
    }
    c->in.now = 10.0;
}

static void assert_same(const gnti_place_plan *a, const gnti_place_plan *b, int32_t num_tasks,
                        const char *what, uint64_t seed, int policy)
{
    const int32_t places = num_tasks > 0 ? a->first[num_tasks] : 0;

    for (int32_t t = 0; t <= num_tasks; t++)
        if (a->first[t] != b->first[t])
            fail_msg("seed %llu, policy %d: %s: task %d has %d devices, then %d", (unsigned long long)seed,
                     policy, what, t - 1, a->first[t] - a->first[t - 1], b->first[t] - b->first[t - 1]);
    for (int32_t i = 0; i < places; i++)
        if (a->device[i] != b->device[i] || a->lane[i] != b->lane[i] ||
            fabs(a->share[i] - b->share[i]) > 1e-12)
            fail_msg("seed %llu, policy %d: %s: place %d is device %d, then %d", (unsigned long long)seed,
                     policy, what, i, a->device[i], b->device[i]);
}

/* The plan becomes what tasks have. */
static void adopt(place_case *c, const gnti_place_plan *plan)
{
    for (int32_t t = 0; t < c->in.num_tasks; t++) {
        const int32_t num = plan->first[t + 1] - plan->first[t];

        memcpy(c->held[t], plan->device + plan->first[t], (size_t)num * sizeof(int32_t));
        c->task[t].num_held = num;
        c->task[t].held_as_guest = plan->guest[t];
    }
}

static void test_rules_of_every_plan(void **state)
{
    int64_t places = 0, guests = 0, gangs = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 1200; seed++) {
        const gnti_policy policy = (gnti_policy)(seed % GNTI_NUM_POLICIES);
        place_case c;
        gnti_place_plan plan, again;

        make_random(&c, seed, policy);
        for (int step = 0; step < 4; step++) { /* plan, train a little, lose a device, plan again */
            gnt_assert_ok(gnti_place(&c.in, &plan));
            gnt_assert_ok(gnti_place(&c.in, &again));
            gnt_assert_ok(gnti_place_check(&c.in, &plan));
            assert_same(&plan, &again, c.in.num_tasks, "the same input twice", seed, (int)policy);
            for (int32_t t = 0; t < c.in.num_tasks; t++) {
                const int32_t num = plan.first[t + 1] - plan.first[t];

                places += num;
                gangs += num > 1;
                guests += num == 1 && plan.share[plan.first[t]] < 1.0;
                c.task[t].epochs_left *= num > 0 ? 0.9 : 1.0;
                c.received[t][0] += num;
            }
            adopt(&c, &plan);
            gnti_place_plan_free(&plan);
            gnti_place_plan_free(&again);
            c.in.now += 1.0;
            c.in.in_round = step % 2 == 0;
            if (step == 1 && c.in.num_devices > 1)
                c.device[1].present = !c.device[1].present;
        }
    }
    assert_true(places > 10000 && guests > 100 && gangs > 300);
}

/* A plan that sees itself carried out, and time stand still, is final. Seed 10248 made two places change hands at every plan. */
static void test_nothing_moves_when_nothing_has_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 1300; seed++) {
        const uint64_t number = seed <= 1200 ? seed : 10200 + seed - 1200;

        for (int p = 0; p < GNTI_NUM_POLICIES; p++) {
            place_case c;
            gnti_place_plan plan, again;

            if (seed <= 1200 && (int)(seed % GNTI_NUM_POLICIES) != p)
                continue;
            make_random(&c, number, (gnti_policy)p);
            gnt_assert_ok(gnti_place(&c.in, &plan));
            adopt(&c, &plan);
            c.in.in_round = true;
            gnt_assert_ok(gnti_place(&c.in, &again));
            assert_same(&plan, &again, c.in.num_tasks, "carried out and asked for again", number, p);
            gnti_place_plan_free(&plan);
            gnti_place_plan_free(&again);
        }
    }
}

/* ---- formulas ---- */

static void test_speed_of_gangs(void **state)
{
    const double speed[2] = { 4.0, 1.0 };
    const int32_t count[2] = { 2, 2 };
    place_case c;
    gnti_place_task *t;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    t = place_case_add(&c, speed, 1.0, 1.0);
    t->serial = 0.2;
    t->overhead = 0.1;
    assert_true(gnti_place_rate(&c.in, 0, (int32_t[]){ 2 }, 1) == 1.0);
    /* equal devices: 1 / ((1 - f) / k + f + c (k - 1)) */
    assert_true(fabs(gnti_place_rate(&c.in, 0, (int32_t[]){ 2, 3 }, 2) - 1.0 / (0.8 / 2 + 0.2 + 0.1)) <
                1e-12);
    /* unlike ones: parts by speed, the serial share on the fastest */
    assert_true(fabs(gnti_place_rate(&c.in, 0, (int32_t[]){ 0, 2 }, 2) - 1.0 / (0.8 / 5 + 0.3 / 4)) < 1e-12);
    c.device[2].present = false;
    assert_true(gnti_place_rate(&c.in, 0, (int32_t[]){ 0, 2 }, 2) == 0.0);
    c.device[2].present = true;
    c.seconds[0][1] = INFINITY;
    assert_true(gnti_place_rate(&c.in, 0, (int32_t[]){ 0, 2 }, 2) == 0.0);
    assert_true(gnti_place_rate(&c.in, 0, NULL, 0) == 0.0);
}

static void test_lower_bound(void **state)
{
    const double speed[2] = { 4.0, 1.0 };
    const int32_t count[2] = { 1, 2 };
    place_case c;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    assert_true(gnti_place_lower_bound(&c.in) == 0.0);
    place_case_add(&c, speed, 12.0, 10.0);
    assert_true(fabs(gnti_place_lower_bound(&c.in) - 3.0) < 1e-9); /* alone on the fastest */
    place_case_add(&c, speed, 12.0, 10.0);
    assert_true(fabs(gnti_place_lower_bound(&c.in) - 4.0) < 1e-9); /* 24 of work at speed 6 */
    c.task[0].use = c.task[1].use = 0.5;                           /* both at once on the fastest */
    assert_true(fabs(gnti_place_lower_bound(&c.in) - 3.0) < 1e-9);
    c.task[0].use = 0.0;
    c.task[0].max_devices = 3;
    c.in.num_tasks = 1;
    assert_true(fabs(gnti_place_lower_bound(&c.in) - 2.0) < 1e-9);
    /* unlike tasks, each quick on its own type: 10 + 10 seconds of two and one device */
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, (int32_t[]){ 1, 1 }, 2);
    for (int32_t j = 0; j < 2; j++) {
        place_case_add(&c, (double[]){ j == 0 ? 10.0 : 0.1, j == 0 ? 0.1 : 10.0 }, 100.0, 10.0);
    }
    assert_true(fabs(gnti_place_lower_bound(&c.in) - 10.0) < 1e-9);
}

/* ---- what cannot be placed ---- */

static void test_fits_nowhere(void **state)
{
    const double speed[2] = { 2.0, 1.0 };
    const int32_t count[2] = { 2, 2 };
    place_case c;
    gnti_place_plan plan;
    gnti_place_task *t;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    for (int32_t d = 0; d < 4; d++)
        c.device[d].bytes = 1000;
    place_case_add(&c, speed, 10.0, 10.0);
    t = place_case_add(&c, speed, 10.0, 10.0);
    t->id = 77;
    t->lasting_bytes = 300;
    t->scratch_bytes = 1200;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_NOMEM);
    gnt_assert_error_has("task 77", "1500", "1000", "4 that it can run on");
    assert_true(plan.first == NULL && !gnti_place_fits(&c.in, 1) && gnti_place_fits(&c.in, 0));
    t->max_devices = 4; /* in parts it does fit */
    assert_true(gnti_place_fits(&c.in, 1));
    t->id = 1;
    place_case_plan(&c);
    t->id = 77;
    t->seconds = (double[]){ INFINITY, INFINITY };
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_NOMEM);
    gnt_assert_error_has("task 77", "none of the 4 devices");
    t->seconds = c.seconds[1];
    for (int32_t d = 0; d < 4; d++)
        c.device[d].present = false;
    gnt_assert_ok(gnti_place(&c.in, &plan)); /* without devices all wait */
    assert_true(plan.first[2] == 0 && isinf(plan.finish));
    gnti_place_plan_free(&plan);
}

static void test_bad_input(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;
    gnti_place_plan plan;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 1);
    place_case_add(&c, speed, 10.0, 10.0);
    c.device[0].type = 1;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("device 0", "type 1", "1 types");
    c.device[0].type = 0;
    c.task[0].epochs_left = NAN;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_ARG);
    c.task[0].epochs_left = 1.0;
    c.seconds[0][0] = 0.0;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("task 0", "0 seconds", "type 0");
    c.seconds[0][0] = 1.0;
    c.task[0].scratch_bytes = INT64_MAX;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_ARG);
    c.task[0].scratch_bytes = 0;
    c.held[0][0] = 1;
    c.task[0].num_held = 1;
    gnt_assert_status(gnti_place(&c.in, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("device 1 of 1");
}

static void test_rules_are_told(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 2 };
    place_case c;
    int32_t first[3] = { 0, 1, 2 }, device[3] = { 0, 0, 1 }, lane[3] = { 0, 1, 0 };
    double share[3] = { 1.0, 0.5, 1.0 };
    gnti_place_plan plan = { first, device, share, lane, NULL, 0.0 };

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 1);
    place_case_add(&c, speed, 10.0, 10.0)->scratch_bytes = 60;
    place_case_add(&c, speed, 10.0, 10.0)->scratch_bytes = 60;
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    gnt_assert_error_has("device 0 is over-booked");
    share[0] = 0.5;
    gnt_assert_ok(gnti_place_check(&c.in, &plan));
    c.device[0].bytes = 100;
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    gnt_assert_error_has("120 bytes on device 0", "100");
    lane[1] = 0;
    gnt_assert_ok(gnti_place_check(&c.in, &plan)); /* in turn they fit */
    c.device[0].lanes = 1;
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    c.device[0].lanes = 0;
    c.task[1].foreground = true;
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    gnt_assert_error_has("foreground");
    first[2] = 3; /* a gang that it may not be */
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    gnt_assert_error_has("has 2 devices, it may have 1");
    first[2] = 2;
    c.device[0].present = false;
    gnt_assert_status(gnti_place_check(&c.in, &plan), GNT_ERR_INTERNAL);
    gnt_assert_error_has("not there");
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int32_t policy = 0; policy < GNTI_NUM_POLICIES; policy++) {
        place_case c;
        gnti_place_plan plan;

        make_random(&c, 5 + (uint64_t)policy, (gnti_policy)policy);
        GNT_BRUTAL(gnti_place(&c.in, &plan));
        gnti_place_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_of_every_plan),
        cmocka_unit_test(test_nothing_moves_when_nothing_has_changed),
        cmocka_unit_test(test_speed_of_gangs),
        cmocka_unit_test(test_lower_bound),
        cmocka_unit_test(test_fits_nowhere),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_rules_are_told),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
