/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of devices that tasks share: lanes against every way to share them, and plans that never exceed a device.
 */
#include "tests/support/place_case.h"

#include "base/philox.h"
#include "ensemble/place_memory.h"

#include <math.h>
#include <string.h>

enum { MOST = 5 };

static int32_t draw(uint64_t seed, int64_t *next, int32_t low, int32_t high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 14, 0, (*next)++, 0);

    return low + (int32_t)gnti_below(word, (uint32_t)(high - low + 1));
}

static int32_t make_tenants(gnti_tenant *t, uint64_t seed)
{
    int64_t next = 0;
    const int32_t num = draw(seed, &next, 1, MOST);

    for (int32_t i = 0; i < num; i++)
        t[i] =
            (gnti_tenant){ { draw(seed, &next, 0, 20), draw(seed, &next, 0, 20), draw(seed, &next, 0, 30) },
                           draw(seed, &next, 0, 2),
                           0 };
    return num;
}

/* By the words of the rule: datasets once, what lasts of each, a lane as large as its largest step. */
static int64_t bytes_by_hand(const gnti_tenant *t, int32_t num)
{
    int64_t data[3] = { 0 }, lane[MOST] = { 0 }, sum = 0;

    for (int32_t i = 0; i < num; i++) {
        sum += t[i].need.lasting;
        data[t[i].data] = t[i].need.shared > data[t[i].data] ? t[i].need.shared : data[t[i].data];
        lane[t[i].lane] = t[i].need.scratch > lane[t[i].lane] ? t[i].need.scratch : lane[t[i].lane];
    }
    for (int32_t i = 0; i < 3; i++)
        sum += data[i];
    for (int32_t i = 0; i < MOST; i++)
        sum += lane[i];
    return sum;
}

static int32_t count_lanes(const gnti_tenant *t, int32_t num)
{
    uint32_t seen = 0;
    int32_t count = 0;

    for (int32_t i = 0; i < num; i++)
        seen |= 1u << t[i].lane;
    for (; seen != 0; seen &= seen - 1)
        count++;
    return count;
}

/* The most lanes of all ways to put tenants in lanes, 0: none fits. */
static int32_t most_lanes(gnti_tenant *t, int32_t num, int64_t bytes)
{
    int32_t most = 0, ways = 1;

    for (int32_t i = 0; i < num; i++)
        ways *= num;
    for (int32_t way = 0; way < ways; way++) {
        for (int32_t i = 0, rest = way; i < num; i++, rest /= num)
            t[i].lane = rest % num;
        if (bytes_by_hand(t, num) <= bytes && count_lanes(t, num) > most)
            most = count_lanes(t, num);
    }
    return most;
}

static void test_lanes_are_as_many_as_fit(void **state)
{
    int32_t none = 0, all = 0, some = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        gnti_tenant t[MOST], other[MOST];
        const int32_t num = make_tenants(t, seed);
        int64_t next = 100;
        const int64_t bytes = draw(seed, &next, 1, 200);
        int32_t lanes, best;

        memcpy(other, t, sizeof t);
        lanes = gnti_tenants_lanes(t, num, bytes);
        best = most_lanes(other, num, bytes);
        if (lanes != best || (lanes > 0 && (count_lanes(t, num) != lanes || bytes_by_hand(t, num) > bytes)))
            fail_msg("seed %llu: %d lanes, %d are possible", (unsigned long long)seed, lanes, best);
        if (lanes > 0)
            assert_true(gnti_tenants_bytes(t, num) == bytes_by_hand(t, num));
        none += lanes == 0;
        all += lanes == num;
        some += lanes > 0 && lanes < num;
    }
    assert_true(none > 100 && all > 100 && some > 100);
}

static void test_no_limit(void **state)
{
    gnti_tenant t[3] = { { { 1, 2, INT64_C(1) << 50 }, 0, 0 }, { { 1, 2, 3 }, 0, 0 }, { { 1, 2, 3 }, 1, 0 } };

    (void)state;
    assert_int_equal(gnti_tenants_lanes(t, 3, 0), 3);
    assert_true(t[0].lane != t[1].lane && t[1].lane != t[2].lane && t[0].lane != t[2].lane);
}

/* Parts by speed, with a quarter more for neighbours, never more than all; weights on each. */
static void test_bytes_of_a_gang(void **state)
{
    const double speed[2] = { 3.0, 1.0 };
    const int32_t count[2] = { 1, 1 }, both[2] = { 0, 1 };
    place_case c;
    gnti_place_task *t;
    gnti_place_need need;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    t = place_case_add(&c, speed, 10.0, 10.0);
    t->shared_bytes = 1000;
    t->lasting_bytes = 70;
    t->scratch_bytes = 401;
    need = gnti_place_bytes(&c.in, 0, both, 1, 0);
    assert_true(need.shared == 1000 && need.lasting == 70 && need.scratch == 401);
    need = gnti_place_bytes(&c.in, 0, both, 2, 1);
    assert_true(need.shared == 313 && need.lasting == 70 && need.scratch == 126); /* 5/16, rounded up */
    need = gnti_place_bytes(&c.in, 0, both, 2, 0);
    assert_true(need.shared == 938 && need.scratch == 376);
}

/* Two halves of 625 + 10: too large for 600, and unlike devices take parts that fit each. */
static void test_gangs_for_memory(void **state)
{
    const double speed[2] = { 3.0, 1.0 };
    const int32_t count[2] = { 2, 2 };
    place_case c;
    gnti_place_task *t;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAKESPAN, speed, count, 2);
    for (int32_t d = 0; d < 4; d++)
        c.device[d].bytes = d < 2 ? 1000 : 330;
    t = place_case_add(&c, speed, 10.0, 10.0);
    t->lasting_bytes = 10;
    t->scratch_bytes = 1001;
    t->max_devices = 1;
    assert_false(gnti_place_fits(&c.in, 0));
    t->max_devices = 2;
    assert_true(gnti_place_fits(&c.in, 0));
    place_case_plan(&c);
    assert_int_equal(t->num_held, 2);
    c.device[1].present = false; /* 3 and 1: 948.4 and 322.8 */
    t->num_held = 0;
    place_case_plan(&c);
    assert_true(t->num_held == 2 && c.held[0][0] == 0 && c.held[0][1] == 2);
    c.device[0].bytes = 940; /* 3, 1 and 1: 760.8 and 260.3 */
    t->num_held = 0;
    assert_false(gnti_place_fits(&c.in, 0));
    t->max_devices = 3;
    place_case_plan(&c);
    assert_int_equal(t->num_held, 3);
    c.device[3].present = false;
    assert_false(gnti_place_fits(&c.in, 0));
}

/* Guests share one lane when two do not fit, and then take turns with an owner of the foreground. */
static void test_guests_take_turns_in_a_lane(void **state)
{
    const double speed[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;
    gnti_place_plan plan;

    (void)state;
    for (int32_t bytes = 90; bytes <= 130; bytes += 10) {
        place_case_devices(&c, GNTI_POLICY_FIRST_COME, speed, count, 1);
        c.device[0].bytes = bytes;
        place_case_add(&c, speed, 10.0, 10.0)->foreground = true;
        place_case_add(&c, speed, 10.0, 10.0);
        for (int32_t j = 0; j < 2; j++) {
            c.task[j].shared_bytes = 30; /* of one dataset */
            c.task[j].lasting_bytes = 10;
            c.task[j].scratch_bytes = j == 0 ? 50 : 30;
        }
        gnt_assert_ok(gnti_place(&c.in, &plan));
        gnt_assert_ok(gnti_place_check(&c.in, &plan));
        assert_int_equal(plan.first[2], bytes < 100 ? 1 : 2); /* 30 + 20 + 50 in one lane, 30 more in two */
        if (bytes >= 100)
            assert_int_equal(plan.lane[0] != plan.lane[1], bytes >= 130);
        gnti_place_plan_free(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_are_as_many_as_fit),
        cmocka_unit_test(test_no_limit),
        cmocka_unit_test(test_bytes_of_a_gang),
        cmocka_unit_test(test_gangs_for_memory),
        cmocka_unit_test(test_guests_take_turns_in_a_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
