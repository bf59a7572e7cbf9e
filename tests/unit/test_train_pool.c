/* SPDX-License-Identifier: Apache-2.0 */
/* One device of many: charged on its virtual clock without parts, taken from a context's pool, its memory counted for all that
 * share it, lost at a step.
 */
#include "tests/support/train_case.h"

#include "kernels/quota.h"
#include "nn/program.h"

#include <math.h>

enum { EPOCHS = 4 };

/* Virtual seconds of the first epochs in all; losses may be NULL. */
static double run_on(train_case *c, const char *devices, double losses[EPOCHS])
{
    gnt_trainer *tr;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    double seconds = 0.0;

    c->config.devices = devices;
    c->config.epochs = EPOCHS;
    tr = train_case_trainer(c);
    for (int64_t i = 0; gnt_trainer_next(tr, &s); i++) {
        seconds += s.virtual_seconds;
        if (losses != NULL)
            losses[i] = s.train_loss;
    }
    gnt_assert_ok(gnt_trainer_status(tr));
    gnt_trainer_free(&tr);
    return seconds;
}

static void whole_graph_is_charged(void **state)
{
    train_case c;
    double plain[EPOCHS], charged[EPOCHS];

    (void)state;
    train_case_make(&c, 1);
    assert_true(isnan(run_on(&c, NULL, plain)));
    const double full = run_on(&c, "cpu:clock=virtual,noise=0", charged);
    const double half = run_on(&c, "cpu:clock=virtual,noise=0,speed=0.5", NULL);

    assert_true(full > 0.0);
    assert_true(fabs(half / full - 2.0) < 1e-9);
    assert_memory_equal(plain, charged, sizeof plain); /* a clock changes no bit */
    train_case_free(&c);
}

static void pool_lends_its_devices(void **state)
{
    train_case c;
    gnti_device_spec *specs = NULL;
    gnti_quota quota = { .limit = 0 };
    int32_t num = 0;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 1);
    gnt_assert_ok(gnti_device_specs_parse("cpu:clock=virtual,noise=0;cpu:clock=virtual,noise=0,speed=0.25",
                                          &specs, &num));
    assert_int_equal(num, 2);
    specs[1].quota = &quota;
    gnti_context_set_pool(c.ctx, specs, num);
    const double fast = run_on(&c, "pool:0", NULL), slow = run_on(&c, "pool:1", NULL);

    assert_true(fabs(slow / fast - 4.0) < 1e-9);
    assert_true(atomic_load(&quota.peak) > 0);
    assert_int_equal(atomic_load(&quota.used), 0); /* all given back */
    c.config.devices = "pool:2";
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_USAGE);
    gnt_assert_error_has("no device 2 in a pool of 2");
    gnti_context_set_pool(c.ctx, NULL, 0);
    gnti_free(specs);
    train_case_free(&c);
}

/* Two trainers on one device: the second one fits only as long as both stay within the limit. */
static void memory_is_shared(void **state)
{
    train_case c;
    gnti_device_spec *specs = NULL;
    gnti_quota quota = { .limit = 0 };
    int32_t num = 0;
    gnt_trainer *first, *second = NULL;
    size_t one;

    (void)state;
    train_case_make(&c, 1);
    gnt_assert_ok(gnti_device_specs_parse("cpu", &specs, &num));
    specs[0].quota = &quota;
    gnti_context_set_pool(c.ctx, specs, num);
    c.config.devices = "pool:0";
    first = train_case_trainer(&c);
    one = atomic_load(&quota.peak);
    quota.limit = 2 * one - 1;
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &second), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("of a shared device are in use");
    assert_int_equal(atomic_load(&quota.used), one);
    quota.limit = 2 * one;
    second = train_case_trainer(&c);
    gnt_trainer_free(&first);
    gnt_trainer_free(&second);
    assert_int_equal(atomic_load(&quota.used), 0);
    gnti_context_set_pool(c.ctx, NULL, 0);
    gnti_free(specs);
    train_case_free(&c);
}

static void device_is_lost_at_a_step(void **state)
{
    train_case c;

    (void)state;
    for (int parts = 0; parts < 2; parts++) {
        gnt_trainer *tr;

        train_case_make(&c, 1);
        c.config.devices = parts ? "cpu;cpu:lost=3" : "cpu:lost=3";
        c.config.epochs = 10;
        c.config.chunks = parts ? 4 : 0;
        tr = train_case_trainer(&c);
        assert_int_equal(train_case_run(tr, 10, 0, NULL), 3);
        assert_int_equal(gnt_trainer_status(tr), GNT_ERR_DEVICE_LOST);
        gnt_assert_error_has("lost at step 3");
        gnt_trainer_free(&tr);
        train_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_graph_is_charged),
        cmocka_unit_test(pool_lends_its_devices),
        cmocka_unit_test(memory_is_shared),
        cmocka_unit_test(device_is_lost_at_a_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
