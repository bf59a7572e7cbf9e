/* SPDX-License-Identifier: Apache-2.0 */
/* Learning rates at their corner epochs, early stopping and the best epoch, with ties and NaN. */
#include "tests/support/gnt_test.h"

#include "train/schedule.h"

#include <math.h>

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-15))
        print_error("got %.17g, want %.17g\n", got, want);
    assert_true(fabs(got - want) <= 1e-15);
}

static void test_rates_of_schedules(void **state)
{
    gnt_trainer_config c;
    gnti_member m;

    (void)state;
    gnt_trainer_config_init(&c);
    gnti_member_init(&m);
    c.lr = 0.8;
    c.epochs = 100;
    assert_near(gnti_schedule_lr(&c, &m, 99), 0.8);
    c.schedule = GNTI_SCHEDULE_STEP;
    c.schedule_epochs = 10;
    c.schedule_factor = 0.5;
    assert_near(gnti_schedule_lr(&c, &m, 9), 0.8);
    assert_near(gnti_schedule_lr(&c, &m, 10), 0.4);
    assert_near(gnti_schedule_lr(&c, &m, 39), 0.1);
    c.schedule = GNTI_SCHEDULE_COSINE;
    c.schedule_epochs = 0;
    assert_near(gnti_schedule_lr(&c, &m, 0), 0.8);
    assert_near(gnti_schedule_lr(&c, &m, 50), 0.4);
    assert_near(gnti_schedule_lr(&c, &m, 100), 0.0);
    c.schedule_epochs = 20;
    assert_near(gnti_schedule_lr(&c, &m, 10), 0.4);
    assert_near(gnti_schedule_lr(&c, &m, 60), 0.0);
    c.schedule = GNTI_SCHEDULE_WARMUP_COSINE;
    c.schedule_epochs = 0;
    c.warmup_epochs = 4;
    assert_near(gnti_schedule_lr(&c, &m, 0), 0.2);
    assert_near(gnti_schedule_lr(&c, &m, 3), 0.8);
    assert_near(gnti_schedule_lr(&c, &m, 4), 0.8);
    assert_near(gnti_schedule_lr(&c, &m, 52), 0.4);
}

static void test_plateau_drops_after_its_patience(void **state)
{
    gnt_trainer_config c;
    gnti_member m;
    const double loss[] = { 1.0, 0.9, 0.9, 0.95, 0.9, 0.8, 0.85, 0.85, 0.85, 0.85 };
    const double want[] = { 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.001 };

    (void)state;
    gnt_trainer_config_init(&c);
    gnti_member_init(&m);
    c.schedule = GNTI_SCHEDULE_PLATEAU;
    c.schedule_epochs = 2;
    c.schedule_factor = 0.1;
    c.lr = 1.0;
    for (int e = 0; e < 10; e++) {
        gnti_member_observe(&m, &c, e + 1, loss[e], false);
        assert_near(gnti_schedule_lr(&c, &m, e + 1), want[e]);
    }
    assert_near(m.best_epoch, 6.0);
}

static void test_ties_and_nan_do_not_reset_patience(void **state)
{
    gnt_trainer_config c;
    gnti_member m;
    const double metric[] = { 0.5, 0.7, 0.7, NAN, 0.7, 0.6 };
    const bool best[] = { true, true, false, false, false, false };

    (void)state;
    gnt_trainer_config_init(&c);
    gnti_member_init(&m);
    c.patience = 4;
    for (int e = 0; e < 6; e++) {
        assert_int_equal(gnti_member_observe(&m, &c, e + 1, metric[e], true), best[e]);
        assert_int_equal(m.live, e < 5);
    }
    assert_near(m.best_epoch, 2.0);
    assert_near(m.best_value, 0.7);
}

static void test_all_nan_stops_at_patience(void **state)
{
    gnt_trainer_config c;
    gnti_member m;

    (void)state;
    gnt_trainer_config_init(&c);
    gnti_member_init(&m);
    c.patience = 3;
    for (int e = 1; e <= 3; e++)
        assert_false(gnti_member_observe(&m, &c, e, NAN, true));
    assert_true(m.live == 0.0 && m.best_epoch == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_of_schedules),
        cmocka_unit_test(test_plateau_drops_after_its_patience),
        cmocka_unit_test(test_ties_and_nan_do_not_reset_patience),
        cmocka_unit_test(test_all_nan_stops_at_patience),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
