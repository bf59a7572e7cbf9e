/* SPDX-License-Identifier: Apache-2.0 */
/* What each policy of placement is for, on written devices: ends near the bound, means, nobody starves,
 * foreground and guests, moves that have to pay, power.
 */
#include "tests/support/place_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>

static double draw(uint64_t seed, int64_t *next, double low, double high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 13, 0, (*next)++, 0);

    return low + (high - low) * ((double)word + 0.5) / 4294967296.0;
}

static const double speed_421[3] = { 4.0, 2.0, 1.0 };
static const int32_t count_421[3] = { 1, 1, 1 };

/* Twenty-four members, the longest fifty times the shortest. */
static double make_421(place_case *c, uint64_t seed, gnti_policy policy, int32_t gang)
{
    int64_t next = 0;
    double work = 0.0;

    place_case_devices(c, policy, speed_421, count_421, 3);
    for (int32_t j = 0; j < 24; j++) {
        const double own = exp(draw(seed, &next, log(2.0), log(100.0)));
        gnti_place_task *t = place_case_add(c, speed_421, own, 50.0);

        t->max_devices = gang;
        t->serial = 0.05;
        t->overhead = 0.01;
        t->switch_epochs = 0.5;
        work += own;
    }
    return work;
}

static void test_makespan_on_unequal_devices(void **state)
{
    double worst = 0.0, worst_lost = 0.0, least_busy = 1.0;

    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        place_case c;
        place_run run = { 0 };
        double work = make_421(&c, seed, GNTI_POLICY_MAKESPAN, seed % 2 == 0 ? 3 : 1);
        const double bound = gnti_place_lower_bound(&c.in);

        place_case_run(&c, speed_421, &run);
        worst = fmax(worst, run.makespan / bound);
        least_busy = fmin(least_busy, run.busy);
        work = make_421(&c, seed, GNTI_POLICY_MAKESPAN, seed % 2 == 0 ? 3 : 1);
        run = (place_run){ .lose_at = 0.5 * bound, .lose = 0 };
        place_case_run(&c, speed_421, &run);
        worst_lost = fmax(worst_lost, (run.makespan - 0.5 * bound) / ((work - 0.5 * bound * 7.0) / 3.0));
    }
    printf("24 tasks on 4:2:1: at most %.3f of the bound, busy at least %.3f; without the fastest %.3f of "
           "what remains\n",
           worst, least_busy, worst_lost);
    assert_true(worst <= 1.1 && least_busy >= 0.9 && worst_lost <= 1.2);
}

static void test_shortest_has_the_lower_mean(void **state)
{
    double ratio = 0.0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        place_case c;
        place_run first = { 0 }, shortest = { 0 };

        make_421(&c, seed, GNTI_POLICY_FIRST_COME, 1);
        place_case_run(&c, speed_421, &first);
        make_421(&c, seed, GNTI_POLICY_SHORTEST, 1);
        place_case_run(&c, speed_421, &shortest);
        assert_true(shortest.mean_completion < first.mean_completion);
        ratio += first.mean_completion / shortest.mean_completion / 20.0;
    }
    assert_true(ratio > 1.5);
}

/* A short task that comes pushes out one that has more than twice as much left, not one that has less. */
static void test_shortest_pushes_out(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;

    (void)state;
    for (int twice = 0; twice < 2; twice++) {
        place_case_devices(&c, GNTI_POLICY_SHORTEST, speed, count, 1);
        place_case_add(&c, speed, 100.0, 100.0);
        place_case_plan(&c);
        assert_int_equal(c.task[0].num_held, 1);
        place_case_add(&c, speed, twice ? 40.0 : 60.0, 100.0);
        place_case_plan(&c);
        assert_int_equal(c.task[0].num_held, !twice);
        assert_int_equal(c.task[1].num_held, twice);
    }
}

/* Devices 0 to 2. Tasks 0 and 1 run, the wide task 2 needs two devices and reserves; a short one may use
 * the idle device until then, a long one that came later may not. */
static void test_first_come_does_not_starve_the_widest(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 3 };

    (void)state;
    for (int fits = 0; fits < 2; fits++) {
        place_case c;

        place_case_devices(&c, GNTI_POLICY_FIRST_COME, speed, count, 1);
        for (int32_t d = 0; d < 3; d++)
            c.device[d].bytes = 100;
        place_case_add(&c, speed, 10.0, 10.0);
        place_case_add(&c, speed, 20.0, 20.0);
        place_case_plan(&c);
        assert_true(c.held[0][0] == 0 && c.held[1][0] == 1);
        place_case_add(&c, speed, 30.0, 30.0);
        c.task[2].scratch_bytes = 150; /* two halves with their neighbours: 94 each */
        c.task[2].max_devices = 2;
        c.task[2].arrival = 1.0;
        place_case_add(&c, speed, fits ? 9.0 : 11.0, 10.0);
        c.task[3].arrival = 2.0;
        place_case_plan(&c);
        assert_int_equal(c.task[2].num_held, 0);
        assert_int_equal(c.task[3].num_held, fits);
        if (fits)
            assert_int_equal(c.held[3][0], 2);
        c.task[0] = c.task[2]; /* task 0 ends, and the short one before it */
        c.in.num_tasks = 2;
        place_case_plan(&c);
        assert_int_equal(c.task[0].num_held, 2);
    }
}

static void test_foreground_is_slowed_a_little(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;
    gnti_place_plan plan;

    (void)state;
    for (int32_t policy = 0; policy < GNTI_NUM_POLICIES; policy++) {
        place_case_devices(&c, (gnti_policy)policy, speed, count, 1);
        place_case_add(&c, speed, 10.0, 10.0);
        place_case_plan(&c);
        place_case_add(&c, speed, 10.0, 10.0)->foreground = true;
        gnt_assert_ok(gnti_place(&c.in, &plan)); /* it takes the device, who was there stays as a guest */
        gnt_assert_ok(gnti_place_check(&c.in, &plan));
        assert_true(plan.first[1] == 1 && plan.first[2] == 2);
        assert_true(fabs(plan.share[1] - 1.0 / 1.2) < 1e-9 && fabs(plan.share[0] - (1.0 - 1.0 / 1.2)) < 1e-9);
        gnti_place_plan_free(&plan);
        c.device[0].lanes = 1;
        gnt_assert_ok(gnti_place(&c.in, &plan));
        assert_true(plan.first[1] == 0 && plan.first[2] == 1 && plan.share[0] == 1.0);
        gnti_place_plan_free(&plan);
    }
}

static void test_members_that_leave_room_share(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;
    gnti_place_plan plan;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 1);
    for (int32_t j = 0; j < 4; j++)
        place_case_add(&c, speed, 10.0 - j, 10.0)->use = 0.4;
    gnt_assert_ok(gnti_place(&c.in, &plan)); /* 0.4 + 0.4 + 0.2 of the device: the third at half speed */
    gnt_assert_ok(gnti_place_check(&c.in, &plan));
    assert_true(plan.first[3] == 3 && plan.first[4] == 3);
    assert_true(plan.share[0] == 1.0 && plan.share[1] == 1.0 && fabs(plan.share[2] - 0.5) < 1e-9);
    gnti_place_plan_free(&plan);
}

/* The guest has the lower number and uses more of the device, and stays the guest. */
static void test_guests_stay_guests(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;
    gnti_place_plan plan;

    (void)state;
    for (int32_t policy = 0; policy < GNTI_NUM_POLICIES; policy++) {
        place_case_devices(&c, (gnti_policy)policy, speed, count, 1);
        place_case_add(&c, speed, 10.0, 10.0)->use = 0.9;
        place_case_add(&c, speed, 10.0, 10.0)->use = 0.6;
        for (int32_t j = 0; j < 2; j++)
            c.task[j].num_held = 1;
        c.task[0].held_as_guest = true;
        c.in.in_round = true;
        gnt_assert_ok(gnti_place(&c.in, &plan));
        gnt_assert_ok(gnti_place_check(&c.in, &plan));
        assert_true(plan.first[2] == 2 && plan.share[1] == 1.0 && fabs(plan.share[0] - 0.4 / 0.9) < 1e-9);
        gnti_place_plan_free(&plan);
    }
}

/* The long one began on the slow device, five short ones wait: it goes to the fast one before them. */
static void test_who_is_to_blame_is_placed_anew(void **state)
{
    const double speed[2] = { 4.0, 1.0 };
    const int32_t count[2] = { 1, 1 };
    place_case c;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    place_case_add(&c, speed, 40.0, 80.0);
    c.held[0][0] = 1;
    c.task[0].num_held = 1;
    for (int32_t j = 0; j < 5; j++)
        place_case_add(&c, speed, 8.0, 16.0);
    place_case_plan(&c);
    assert_true(c.task[0].num_held == 1 && c.held[0][0] == 0);
}

/* A running task moves to a faster device that is idle when that saves more than the share `gain`. */
static void test_moves_have_to_pay(void **state)
{
    (void)state;
    for (int pays = 0; pays < 2; pays++) {
        const double speed[2] = { 1.0, pays ? 1.10 : 1.03 };
        const int32_t count[2] = { 1, 1 };
        place_case c;

        place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
        c.device[1].present = false;
        place_case_add(&c, speed, 100.0, 100.0);
        place_case_plan(&c);
        c.device[1].present = true;
        place_case_plan(&c);
        assert_true(c.task[0].num_held == 1 && c.held[0][0] == pays);
        c.task[0].switch_epochs = 50.0;
        c.held[0][0] = 0;
        place_case_plan(&c);
        assert_int_equal(c.held[0][0], 0);
    }
}

/* Speeds 4 and 1, two tasks of 4 seconds each on the fast one: LPT has both wait for it, and the slow one
 * idle. It is lent: the second task does 4 of its epochs there first. */
static void test_idle_devices_are_lent(void **state)
{
    const double speed[2] = { 4.0, 1.0 };
    const int32_t count[2] = { 1, 1 };
    place_run run = { 0 };
    place_case c;

    (void)state;
    for (int late = 0; late < 2; late++) {
        place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
        for (int32_t j = 0; j < 2; j++)
            place_case_add(&c, speed, 16.0, late ? 2.0 : 16.0);
        place_case_plan(&c);
        assert_int_equal(c.task[0].num_held + c.task[1].num_held,
                         late ? 1 : 2); /* two epochs: not one would be done in time */
    }
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    for (int32_t j = 0; j < 2; j++)
        place_case_add(&c, speed, 16.0, 16.0);
    place_case_run(&c, speed, &run);
    assert_true(fabs(run.makespan - 7.0) < 1e-9); /* 8 without the loan; the bound is 6.4 */
}

/* A device joins a gang when a tenth of its speed is of use, not for less. */
static void test_gangs_grow_while_it_pays(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 8 };
    place_case c;

    (void)state;
    for (int32_t policy = 0; policy < GNTI_NUM_POLICIES; policy++) {
        int32_t k = 1;
        double now = 1.0, next;

        if (policy == GNTI_POLICY_LEAST_SERVICE)
            continue; /* blind: no gangs but for memory */
        place_case_devices(&c, (gnti_policy)policy, speed, count, 1);
        place_case_add(&c, speed, 10.0, 10.0);
        c.task[0].max_devices = 8;
        c.task[0].serial = 0.1;
        c.task[0].overhead = 0.02;
        for (; k < 8; k++, now = next) {
            next = 1.0 / (0.9 / (k + 1) + 0.1 + 0.02 * k);
            if (next - now < 0.1)
                break;
        }
        assert_true(k > 1 && k < 8);
        place_case_plan(&c);
        assert_int_equal(c.task[0].num_held, k);
    }
}

static void test_power_budget(void **state)
{
    const double speed[2] = { 4.0, 2.0 };
    const int32_t count[2] = { 4, 4 };
    place_case c;

    (void)state;
    for (double watts = 0.0; watts < 3000.0; watts += 100.0) {
        double drawn = 0.0;
        int32_t num = 0;

        place_case_devices(&c, GNTI_POLICY_ENERGY, speed, count, 2);
        for (int32_t d = 0; d < 8; d++) {
            c.device[d].busy_watts = d < 4 ? 500.0 : 150.0;
            drawn += c.device[d].idle_watts = 30.0;
        }
        for (int32_t j = 0; j < 6; j++)
            place_case_add(&c, speed, 10.0 + j, 10.0)->max_devices = 2;
        c.in.watts = watts;
        place_case_plan(&c);
        for (int32_t j = 0; j < 6; j++)
            for (int32_t i = 0; i < c.task[j].num_held; i++, num++)
                drawn += c.device[c.held[j][i]].busy_watts - c.device[c.held[j][i]].idle_watts;
        assert_true(num > 0); /* one, whatever the budget says */
        if (watts > 0.0 && num > 1)
            assert_true(drawn <= watts);
        if (watts > 0.0 && watts < 480.0)
            assert_true(c.task[0].num_held == 1 &&
                        c.held[0][0] >= 4); /* the shortest, where it takes fewest joules */
        if (watts == 0.0)
            assert_int_equal(num, 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_makespan_on_unequal_devices),
        cmocka_unit_test(test_shortest_has_the_lower_mean),
        cmocka_unit_test(test_shortest_pushes_out),
        cmocka_unit_test(test_first_come_does_not_starve_the_widest),
        cmocka_unit_test(test_foreground_is_slowed_a_little),
        cmocka_unit_test(test_members_that_leave_room_share),
        cmocka_unit_test(test_moves_have_to_pay),
        cmocka_unit_test(test_idle_devices_are_lent),
        cmocka_unit_test(test_gangs_grow_while_it_pays),
        cmocka_unit_test(test_guests_stay_guests),
        cmocka_unit_test(test_who_is_to_blame_is_placed_anew),
        cmocka_unit_test(test_power_budget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
