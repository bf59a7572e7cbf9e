/* SPDX-License-Identifier: Apache-2.0 */
/* labels: short
 * The balancing policy: steady devices move nothing whatever the noise, a device that becomes four times slower is answered
 * within two epochs, a slow drift within five, and after a move it rests.
 */
#include "tests/support/gnt_test.h"

#include "base/philox.h"
#include "train/drift.h"

#include <math.h>

enum { DEVICES = 4 };

/* Seconds of devices of these speeds with 5 % noise, clipped at three deviations. */
static void measure(const double *speed, const double *work, uint32_t epoch, double *seconds)
{
    for (uint32_t d = 0; d < DEVICES; d++) {
        const uint32_t counter[4] = { epoch, d, 0, 0 };
        uint32_t word[4];
        double z;

        gnti_philox(counter, gnti_seed_key(11), word);
        z = sqrt(-2.0 * log(((double)word[0] + 1.0) * 0x1p-32)) *
            cos(6.283185307179586 * (double)word[1] * 0x1p-32);
        seconds[d] = work[d] / speed[d] * (1.0 + 0.05 * fmax(-3.0, fmin(3.0, z)));
    }
}

static void steady_devices_move_nothing(void **state)
{
    const double speed[DEVICES] = { 4.0, 2.0, 1.0, 1.0 }, work[DEVICES] = { 4.0, 2.0, 1.0, 1.0 };
    double seconds[DEVICES];
    gnti_drift *b = NULL;
    bool move = false;

    (void)state;
    gnt_assert_ok(gnti_drift_create(DEVICES, &b));
    for (uint32_t e = 0; e < 10000; e++) {
        measure(speed, work, e, seconds);
        gnti_drift_observe(b, seconds, work, &move);
        assert_false(move);
    }
    gnti_drift_free(&b);
}

/* One late epoch of a shared machine is no reason. */
static void one_late_epoch_moves_nothing(void **state)
{
    const double work[DEVICES] = { 1.0, 1.0, 1.0, 1.0 };
    gnti_drift *b = NULL;
    bool move = false;

    (void)state;
    gnt_assert_ok(gnti_drift_create(DEVICES, &b));
    for (int e = 0; e < 200; e++) {
        double seconds[DEVICES] = { 1.0, 1.0, 1.0, 1.0 };

        if (e % 5 == 3)
            seconds[e % DEVICES] = 9.0;
        gnti_drift_observe(b, seconds, work, &move);
        assert_false(move);
    }
    gnti_drift_free(&b);
}

static void slow_device_is_answered(void **state)
{
    double speed[DEVICES] = { 1.0, 1.0, 1.0, 1.0 }, work[DEVICES] = { 1.0, 1.0, 1.0, 1.0 }, seconds[DEVICES];
    gnti_drift *b = NULL;
    bool move = false;
    int waited = 0;

    (void)state;
    gnt_assert_ok(gnti_drift_create(DEVICES, &b));
    for (uint32_t e = 0; e < 20; e++) {
        measure(speed, work, e, seconds);
        gnti_drift_observe(b, seconds, work, &move);
        assert_false(move);
    }
    speed[2] = 0.25;
    for (uint32_t e = 20; !move; e++, waited++) {
        measure(speed, work, e, seconds);
        gnti_drift_observe(b, seconds, work, &move);
    }
    assert_int_equal(waited, 2);
    assert_true(fabs(b->speed[2] / b->speed[0] - 0.25) < 0.08);
    for (int e = 0; e < 2; e++) { /* rests, whatever it sees */
        gnti_drift_observe(b, seconds, work, &move);
        assert_false(move);
    }
    gnti_drift_free(&b);
}

static void drift_is_answered_and_idle_devices_have_no_say(void **state)
{
    const double work[DEVICES] = { 1.0, 1.0, 1.0, 0.0 }, seconds[DEVICES] = { 1.0, 1.0, 1.3, 0.0 };
    gnti_drift *b = NULL;
    bool move = false;
    int waited = 0;

    (void)state;
    gnt_assert_ok(gnti_drift_create(DEVICES, &b));
    for (; !move && waited < 50; waited++)
        gnti_drift_observe(b, seconds, work, &move);
    assert_int_equal(waited, GNTI_DRIFT_WINDOW);
    assert_true(b->speed[3] == 0.0);
    gnti_drift_free(&b);
}

/* Two epochs tell speeds roughly, so what an alarm has moved is looked at once more, more closely, and only once. */
static void an_alarm_is_followed_by_one_closer_look(void **state)
{
    const double work[DEVICES] = { 1.0, 1.0, 1.0, 1.0 }, slow[DEVICES] = { 1.0, 1.0, 4.0, 1.0 },
                 later[DEVICES] = { 1.0, 1.06, 1.0, 1.0 };
    gnti_drift *b = NULL;
    bool move = false;
    int moves = 0, at = 0;

    (void)state;
    gnt_assert_ok(gnti_drift_create(DEVICES, &b));
    gnti_drift_observe(b, slow, work, &move);
    assert_false(move);
    gnti_drift_observe(b, slow, work, &move);
    assert_true(move && b->speed[2] == 0.25);
    for (int e = 1; e <= 100; e++) {
        gnti_drift_observe(b, later, work, &move);
        at = move ? e : at;
        moves += move;
    }
    assert_int_equal(moves, 1);
    assert_int_equal(at, 2 + GNTI_DRIFT_WINDOW); /* rest, then a whole window */
    gnti_drift_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_devices_move_nothing),
        cmocka_unit_test(one_late_epoch_moves_nothing),
        cmocka_unit_test(slow_device_is_answered),
        cmocka_unit_test(drift_is_answered_and_idle_devices_have_no_say),
        cmocka_unit_test(an_alarm_is_followed_by_one_closer_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
