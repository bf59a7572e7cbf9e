/* SPDX-License-Identifier: Apache-2.0 */
/* Max-min over unlike types: the round's choice in small written cases, shares that are held over many
 * rounds, many kinds of tasks, and the mean completion beside least service, which is blind to types.
 */
#include "tests/support/place_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdio.h>

static double draw(uint64_t seed, int64_t *next, double low, double high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 15, 0, (*next)++, 0);

    return low + (high - low) * ((double)word + 0.5) / 4294967296.0;
}

/* Rounds of one second without end; served (tasks, types) are the seconds of each. */
static void rounds(place_case *c, int32_t num)
{
    for (int32_t i = 0; i < num; i++) {
        place_case_plan(c);
        for (int32_t j = 0; j < c->in.num_tasks; j++)
            for (int32_t k = 0; k < c->task[j].num_held; k++)
                c->received[j][c->device[c->held[j][k]].type] += 1.0;
        c->in.now += 1.0;
    }
}

/* Normalised by its due of all devices alike: what max-min makes equal. */
static double score(const place_case *c, int32_t j)
{
    double got = 0.0, due = 0.0;
    int32_t count[PLACE_MAX_TYPES] = { 0 };

    for (int32_t d = 0; d < c->in.num_devices; d++)
        count[c->device[d].type]++;
    for (int32_t t = 0; t < c->in.num_types; t++) {
        got += c->received[j][t] / c->in.now / c->seconds[j][t];
        due += count[t] / c->seconds[j][t] / c->in.num_devices;
    }
    return got / due / c->task[j].weight;
}

/* One task is quick on either type, the other on the first alone: each has its type, from the first round on. */
static void test_each_where_it_is_quick(void **state)
{
    const double one[2] = { 1.0, 1.0 };
    const int32_t count[2] = { 1, 1 };
    place_case c;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 2);
    place_case_add(&c, (double[]){ 2.0, 2.0 }, 1e6, 1e6);
    place_case_add(&c, (double[]){ 10.0, 1.0 }, 1e6, 1e6);
    rounds(&c, 50);
    assert_true(c.received[0][1] == 50.0 && c.received[1][0] == 50.0);
}

/* Three tasks share one device: a third of the rounds each; with weights, by them. */
static void test_shares_of_rounds(void **state)
{
    const double one[1] = { 1.0 };
    const int32_t count[1] = { 1 };
    place_case c;

    (void)state;
    for (int weighed = 0; weighed < 2; weighed++) {
        place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 1);
        for (int32_t j = 0; j < 3; j++)
            place_case_add(&c, (double[]){ 1.0 + j }, 1e6, 1e6)->weight = weighed && j == 2 ? 2.0 : 1.0;
        rounds(&c, 400);
        for (int32_t j = 0; j < 3; j++) {
            const double want = weighed ? (j == 2 ? 200.0 : 100.0) : 400.0 / 3.0;

            if (fabs(c.received[j][0] - want) > 6.0)
                fail_msg("task %d had %g rounds of %g", j, c.received[j][0], want);
        }
    }
}

/* Six unlike tasks on three devices of three types: over many rounds all have nearly the same score, and
 * it is above what equal time on all would give them. */
static void test_scores_are_levelled(void **state)
{
    const double one[3] = { 1.0, 1.0, 1.0 };
    const int32_t count[3] = { 1, 1, 1 };
    double sum_min = 0.0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t next = 0;
        double least = INFINITY, most = 0.0;
        place_case c;

        place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 3);
        for (int32_t j = 0; j < 6; j++) {
            double speed[3];

            for (int t = 0; t < 3; t++)
                speed[t] = exp2(draw(seed, &next, -2.0, 2.0));
            place_case_add(&c, speed, 1e6, 1e6);
        }
        rounds(&c, 600);
        for (int32_t j = 0; j < 6; j++) {
            least = fmin(least, score(&c, j));
            most = fmax(most, score(&c, j));
        }
        sum_min += least / 20.0;
        if (least < 0.45) /* equal time: 0.5, three devices for six */
            fail_msg("seed %llu: scores from %g to %g", (unsigned long long)seed, least, most);
    }
    printf("least score %.3f on average, equal time would give 0.5\n", sum_min);
    assert_true(sum_min > 0.65);
}

/* More kinds of speeds than rows are kept for: still a plan in which every device works. */
static void test_many_kinds(void **state)
{
    const double one[4] = { 1.0, 1.0, 1.0, 1.0 };
    const int32_t count[4] = { 4, 4, 4, 4 };
    int64_t next = 0;
    place_case c;
    int32_t busy = 0;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 4);
    for (int32_t j = 0; j < PLACE_MAX_TASKS; j++) {
        double speed[4];

        for (int t = 0; t < 4; t++)
            speed[t] = exp2(draw(9, &next, -6.0, 6.0));
        place_case_add(&c, speed, 100.0, 100.0);
    }
    place_case_plan(&c);
    for (int32_t j = 0; j < PLACE_MAX_TASKS; j++)
        busy += c.task[j].num_held;
    assert_int_equal(busy, 16);
}

/* Between rounds a task that comes gets an idle device and nobody moves. */
static void test_between_rounds(void **state)
{
    const double one[2] = { 1.0, 1.0 };
    const int32_t count[2] = { 1, 1 };
    place_case c;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 2);
    place_case_add(&c, (double[]){ 2.0, 2.0 }, 1e6, 1e6);
    c.task[0].num_held = 1; /* device 0 */
    c.in.in_round = true;
    place_case_add(&c, (double[]){ 10.0, 8.0 }, 1e6, 1e6);
    place_case_plan(&c);
    assert_true(c.held[0][0] == 0 && c.held[1][0] == 1);
    c.in.in_round = false;
    place_case_plan(&c);
    assert_true(c.held[0][0] == 1 && c.held[1][0] == 0);
}

/* Devices that are alike are not exchanged. */
static void test_who_is_chosen_again_stays(void **state)
{
    const double one[1] = { 1.0 };
    const int32_t count[1] = { 3 };
    place_case c;

    (void)state;
    place_case_devices(&c, GNTI_POLICY_MAX_MIN, one, count, 1);
    for (int32_t j = 0; j < 3; j++) {
        place_case_add(&c, one, 1e6, 1e6)->num_held = 1;
        c.held[j][0] = (j + 1) % 3;
    }
    rounds(&c, 3);
    for (int32_t j = 0; j < 3; j++)
        assert_true(c.task[j].num_held == 1 && c.held[j][0] == (j + 1) % 3);
}

static double mean_of(gnti_policy policy, uint64_t seed)
{
    static const double kind[3][3] = { { 10.0, 3.0, 1.0 }, { 6.0, 5.0, 1.0 }, { 1.2, 1.0, 4.0 } };
    const double one[3] = { 1.0, 1.0, 1.0 };
    const int32_t count[3] = { 3, 3, 3 };
    int64_t next = 0;
    place_case c;
    place_run run = { .round = 30.0 };

    place_case_devices(&c, policy, one, count, 3);
    for (int32_t j = 0; j < 48; j++)
        place_case_add(&c, kind[j % 3], exp(draw(seed, &next, log(100.0), log(2000.0))), 100.0)
            ->switch_epochs = 0.5;
    place_case_run(&c, one, &run);
    return run.mean_completion;
}

static void test_mean_beside_least_service(void **state)
{
    double ratio = 0.0;

    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        ratio += mean_of(GNTI_POLICY_LEAST_SERVICE, seed) / mean_of(GNTI_POLICY_MAX_MIN, seed) / 5.0;
    printf("least service takes %.2f times the mean completion of max-min\n", ratio);
    assert_true(ratio >= 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_where_it_is_quick),
        cmocka_unit_test(test_shares_of_rounds),
        cmocka_unit_test(test_scores_are_levelled),
        cmocka_unit_test(test_many_kinds),
        cmocka_unit_test(test_between_rounds),
        cmocka_unit_test(test_who_is_chosen_again_stays),
        cmocka_unit_test(test_mean_beside_least_service),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
