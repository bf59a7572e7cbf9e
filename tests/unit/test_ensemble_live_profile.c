/* SPDX-License-Identifier: Apache-2.0 */
/* Measured seconds and bytes of groups: the newest count most, other widths are in proportion, files come back, bad ones are empty. */
#include "tests/support/gnt_test.h"

#include "ensemble/live_profile.h"

#include <math.h>

static void newest_count_most(void **state)
{
    gnti_live_profile *p = NULL;
    double seconds = -1.0;
    int64_t bytes = -1;

    (void)state;
    gnt_assert_ok(gnti_live_profile_open("no such file", &p));
    assert_false(gnti_live_profile_find(p, "gcn", 4, "cpu", &seconds, &bytes));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 4, "cpu", 8.0, 100));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 4, "cpu", 4.0, 90));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 4, "cpu", NAN, 90));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 4, "cpu", 0.0, 90));
    assert_true(gnti_live_profile_find(p, "gcn", 4, "cpu", &seconds, &bytes));
    assert_true(seconds == 6.0);
    assert_int_equal(bytes, 100);
    assert_false(gnti_live_profile_find(p, "gcn", 4, "cuda", &seconds, &bytes));
    assert_false(gnti_live_profile_find(p, "sage", 4, "cpu", &seconds, &bytes));
    gnti_live_profile_free(&p);
}

static void other_widths_are_in_proportion(void **state)
{
    gnti_live_profile *p = NULL;
    double seconds = 0.0;
    int64_t bytes = 0;

    (void)state;
    gnt_assert_ok(gnti_live_profile_open("no such file", &p));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 8, "cpu", 8.0, 800));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn", 2, "cpu", 3.0, 200));
    assert_true(gnti_live_profile_find(p, "gcn", 1, "cpu", &seconds, &bytes));
    assert_true(seconds == 1.5);
    assert_int_equal(bytes, 0); /* of that width nothing is known */
    assert_true(gnti_live_profile_find(p, "gcn", 7, "cpu", &seconds, &bytes));
    assert_true(seconds == 7.0);
    gnti_live_profile_free(&p);
}

static void file_comes_back(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_live_profile *p = NULL;
    double seconds = 0.0;
    int64_t bytes = 0;

    (void)state;
    gnt_test_path(path, "profile.json");
    gnt_assert_ok(gnti_live_profile_open(path, &p));
    gnt_assert_ok(gnti_live_profile_add(p, "gcn \"8\"", 3, "cpu threads=2", 0.125, 77));
    gnt_assert_ok(gnti_live_profile_save(p, path));
    gnti_live_profile_free(&p);
    gnt_assert_ok(gnti_live_profile_open(path, &p));
    assert_true(gnti_live_profile_find(p, "gcn \"8\"", 3, "cpu threads=2", &seconds, &bytes));
    assert_true(seconds == 0.125);
    assert_int_equal(bytes, 77);
    gnti_live_profile_free(&p);
    gnt_test_write(path, "profile.json",
                   "{\"groups\": [{\"shape\": \"a\", \"device\": \"cpu\", \"members\": -1, \"epochs\": 1, "
                   "\"bytes\": 1, \"epoch_seconds\": 1}]}",
                   -1);
    gnt_assert_ok(gnti_live_profile_open(path, &p));
    assert_false(gnti_live_profile_find(p, "a", 1, "cpu", &seconds, &bytes));
    gnti_live_profile_free(&p);
    gnt_test_write(path, "profile.json", "{", -1);
    gnt_assert_ok(gnti_live_profile_open(path, &p));
    gnti_live_profile_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_count_most),
        cmocka_unit_test(other_widths_are_in_proportion),
        cmocka_unit_test(file_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
