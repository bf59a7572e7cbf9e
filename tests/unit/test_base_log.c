/* SPDX-License-Identifier: Apache-2.0 */
/* Log levels by module, callback, place; clocks; thread counts; plug-ins: the small ones of base. */
#include "tests/support/gnt_test.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/plugin.h"
#include "base/team.h"

#include <sched.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

typedef struct kept {
    int count;
    gnt_log_level level;
    char module[32], text[2048];
} kept;

static void keep(void *user, gnt_log_level level, const char *module, const char *text)
{
    kept *k = user;

    k->count++;
    k->level = level;
    snprintf(k->module, sizeof k->module, "%s", module);
    snprintf(k->text, sizeof k->text, "%s", text);
}

static void levels_are_by_module(void **state)
{
    kept k = { 0 };

    (void)state;
    gnt_log_set(keep, &k);
    gnt_assert_ok(gnt_log_set_levels("warn,dist=debug,train=error"));
    gnti_log(GNT_LOG_INFO, "graph", "no");
    gnti_log(GNT_LOG_WARN, "train", "no");
    gnti_log(GNT_LOG_TRACE, "dist", "no");
    assert_int_equal(k.count, 0);
    gnti_log(GNT_LOG_DEBUG, "dist", "%d halo rows", 5);
    assert_int_equal(k.count, 1);
    assert_string_equal(k.module, "dist");
    assert_string_equal(k.text, "5 halo rows");
    assert_int_equal(k.level, GNT_LOG_DEBUG);
    assert_true(gnti_log_is_on(GNT_LOG_WARN, "graph"));
    assert_false(gnti_log_is_on(GNT_LOG_WARN, "train"));
    gnti_log_set_place("rank 2 of 4");
    gnti_log(GNT_LOG_ERROR, "train", "lost");
    assert_string_equal(k.text, "rank 2 of 4: lost");
    gnti_log_set_place(NULL);
    gnti_log(GNT_LOG_ERROR, "train", "%2000s", "long lines are cut");
    assert_int_equal(strlen(k.text), 1023);
    gnt_log_set(NULL, NULL);
}

static void bad_levels_are_refused(void **state)
{
    (void)state;
    gnt_assert_ok(gnt_log_set_levels("error"));
    gnt_assert_status(gnt_log_set_levels("dist=debgu"), GNT_ERR_USAGE);
    gnt_assert_error_has("debgu", "did you mean 'debug'");
    gnt_assert_status(gnt_log_set_levels("=debug"), GNT_ERR_USAGE);
    gnt_assert_status(gnt_log_set_levels("loud"), GNT_ERR_USAGE);
    gnt_assert_status(gnt_log_set_levels("info,datset=debug"), GNT_ERR_USAGE);
    gnt_assert_error_has("'datset' is no log module", "did you mean 'datasets'");
    gnt_assert_status(gnt_log_set_levels("xyz=debug"), GNT_ERR_USAGE);
    gnt_assert_error_has("'xyz' is no log module", "kernels");
    assert_false(gnti_log_is_on(GNT_LOG_WARN, "dist")); /* as before */
    gnt_assert_ok(gnt_log_set_levels(""));
    assert_true(gnti_log_is_on(GNT_LOG_WARN, "dist"));
    assert_string_equal(gnt_log_level_name(GNT_LOG_TRACE), "trace");
}

static void clocks_go_forward(void **state)
{
    char utc[GNTI_CLOCK_UTC_BYTES];
    double last = gnti_clock_seconds();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const double now = gnti_clock_seconds();

        assert_true(now >= last);
        last = now;
    }
    assert_true(gnti_clock_cpu_seconds() > 0.0);
    gnti_clock_utc(utc);
    assert_int_equal(strlen(utc), 20);
    assert_int_equal(utc[10], 'T');
}

static void quotas_of_control_groups(void **state)
{
    (void)state;
    assert_int_equal(gnti_team_quota("max 100000\n"), 0);
    assert_int_equal(gnti_team_quota("200000 100000\n"), 2);
    assert_int_equal(gnti_team_quota("150000 100000\n"), 2);
    assert_int_equal(gnti_team_quota("1000 100000\n"), 1);
    assert_int_equal(gnti_team_quota(""), 0);
    assert_int_equal(gnti_team_quota("-1 0"), 0);
    assert_int_equal(gnti_team_quota("9000000000000 1"), GNTI_TEAM_MAX_THREADS);
}

static void threads_follow_option_environment_affinity(void **state)
{
    cpu_set_t before, one;
    int32_t n = 0;

    (void)state;
    unsetenv("GNNTRAIN_THREADS");
    gnt_assert_ok(gnti_team_threads(3, 1, &n));
    assert_int_equal(n, 3);
    gnt_assert_ok(gnti_team_threads(0, 1, &n));
    assert_int_equal(n, gnti_team_cores());
    gnt_assert_ok(gnti_team_threads(0, 100000, &n));
    assert_int_equal(n, 1);
    setenv("GNNTRAIN_THREADS", "5", 1);
    gnt_assert_ok(gnti_team_threads(0, 4, &n));
    assert_int_equal(n, 5);
    gnt_assert_ok(gnti_team_threads(2, 4, &n));
    assert_int_equal(n, 2);
    setenv("GNNTRAIN_THREADS", "many", 1);
    gnt_assert_status(gnti_team_threads(0, 1, &n), GNT_ERR_USAGE);
    gnt_assert_error_has("GNNTRAIN_THREADS", "many");
    unsetenv("GNNTRAIN_THREADS");
    gnt_assert_status(gnti_team_threads(5000, 1, &n), GNT_ERR_USAGE);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (size_t c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &before) && CPU_COUNT(&one) == 0)
            CPU_SET(c, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(gnti_team_cores(), 1);
    sched_setaffinity(0, sizeof before, &before);
}

static void plugins_tell_why_not(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_plugin *p = NULL;
    gnti_plugin_fn fn = NULL;

    (void)state;
    gnt_assert_status(gnti_plugin_open("./missing.so", &p), GNT_ERR_IO);
    gnt_assert_error_has("missing.so", "No such file");
    gnt_test_write(path, "text.so", "no object at all", -1);
    gnt_assert_status(gnti_plugin_open(path, &p), GNT_ERR_IO);
    assert_null(p);
    gnt_assert_ok(gnti_plugin_open("libm.so.6", &p));
    gnt_assert_ok(gnti_plugin_function(p, "cos", &fn));
    assert_true(fn != NULL);
    gnt_assert_status(gnti_plugin_function(p, "gnt_plugin_init", &fn), GNT_ERR_FORMAT);
    gnt_assert_error_has("libm.so.6", "gnt_plugin_init");
    gnt_assert_ok(gnti_plugin_check_version(p, "1 (a)", "1 (a)"));
    gnt_assert_status(gnti_plugin_check_version(p, "0.0.1", GNT_VERSION), GNT_ERR_UNSUPPORTED);
    gnt_assert_error_has("0.0.1", GNT_VERSION);
    gnt_assert_status(gnti_plugin_check_version(p, NULL, GNT_VERSION), GNT_ERR_UNSUPPORTED);
    gnti_plugin_close(&p);
    gnti_plugin_close(&p);
    GNT_BRUTAL(gnti_plugin_open("libm.so.6", &p));
    gnti_plugin_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_by_module),
        cmocka_unit_test(bad_levels_are_refused),
        cmocka_unit_test(clocks_go_forward),
        cmocka_unit_test(quotas_of_control_groups),
        cmocka_unit_test(threads_follow_option_environment_affinity),
        cmocka_unit_test(plugins_tell_why_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
