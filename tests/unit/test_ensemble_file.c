/* SPDX-License-Identifier: Apache-2.0 */
/* ensemble.h5: what is written is read again; what cannot be is refused with the reason; a damaged file is never taken. */
#include "tests/support/gnt_test.h"

#include "base/alloc.h"
#include "ensemble/ensemble_file.h"

#include <stdio.h>
#include <string.h>

static void fill(gnti_ensemble_file *e, char *names[3], double weights[3], gnti_member_view views[3])
{
    static const double shares[3] = { 0.5, 0.0, 0.5 };

    *e = (gnti_ensemble_file){ .how = GNTI_COMBINE_GREEDY,
                               .kind = GNT_LABELS_CLASS,
                               .temperature = 0.8,
                               .best_member = 2,
                               .num_members = 3,
                               .name = names,
                               .weight = weights,
                               .view = views,
                               .spec_sha256 = (char *)(uintptr_t) "abc",
                               .split = (char *)(uintptr_t) "public" };
    for (int m = 0; m < 3; m++) {
        names[m] = (char *)(uintptr_t)(m == 0 ? "m00" : m == 1 ? "m01" : "m02");
        weights[m] = shares[m];
    }
    if (views != NULL)
        views[1] = (gnti_member_view){ 0.25, 0.125, UINT64_MAX - 3 };
}

static void test_what_is_written_is_read(void **state)
{
    gnti_ensemble_file e, got = { 0 };
    char *names[3];
    double weights[3];
    gnti_member_view views[3] = { 0 };

    (void)state;
    for (int with_views = 0; with_views < 2; with_views++) {
        fill(&e, names, weights, with_views ? views : NULL);
        gnt_assert_ok(gnti_ensemble_file_write(&e, gnt_test_folder()));
        assert_true(gnti_ensemble_file_exists(gnt_test_folder()));
        gnt_assert_ok(gnti_ensemble_file_open(gnt_test_folder(), &got));
        assert_int_equal(got.how, GNTI_COMBINE_GREEDY);
        assert_int_equal(got.kind, GNT_LABELS_CLASS);
        assert_int_equal(got.num_members, 3);
        assert_int_equal(got.best_member, 2);
        assert_true(got.temperature == 0.8 && !got.fell_back);
        assert_string_equal(got.name[1], "m01");
        assert_true(got.weight[0] == 0.5 && got.weight[1] == 0.0);
        assert_string_equal(got.spec_sha256, "abc");
        assert_string_equal(got.split, "public");
        assert_null(got.data);
        assert_int_equal(got.view != NULL, with_views);
        if (with_views)
            assert_memory_equal(got.view, views, sizeof views);
        gnti_ensemble_file_free(&got);
    }
    GNT_BRUTAL(gnti_ensemble_file_open(gnt_test_folder(), &got));
    gnti_ensemble_file_free(&got);
    GNT_BRUTAL(gnti_ensemble_file_write(&e, gnt_test_folder()));
}

static void assert_refused(const gnti_ensemble_file *e, const char *word)
{
    gnti_ensemble_file got = { 0 };

    gnt_assert_ok(gnti_ensemble_file_write(e, gnt_test_folder()));
    gnt_assert_status(gnti_ensemble_file_open(gnt_test_folder(), &got), GNT_ERR_FORMAT);
    gnt_assert_error_has("ensemble.h5", word);
    assert_null(got.name);
}

static void test_what_cannot_be_is_refused(void **state)
{
    gnti_ensemble_file e;
    char *names[3];
    double weights[3];
    gnti_member_view views[3] = { 0 };
    static const char *const bad[] = { "", "..", ".hidden", "a/b", "/etc" };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fill(&e, names, weights, NULL);
        names[1] = (char *)(uintptr_t)bad[i];
        assert_refused(&e, "no folder");
    }
    fill(&e, names, weights, NULL);
    weights[1] = 0.5;
    assert_refused(&e, "sum to 1.5");
    fill(&e, names, weights, NULL);
    weights[0] = -0.5;
    assert_refused(&e, "-0.5");
    fill(&e, names, weights, NULL);
    e.temperature = 0.0;
    assert_refused(&e, "temperature");
    fill(&e, names, weights, NULL);
    e.best_member = 3;
    assert_refused(&e, "member 3");
    fill(&e, names, weights, views);
    views[0].drop_edges = 1.0;
    assert_refused(&e, "does not see");
}

/* Each byte of the numbers changed: the file is refused, or nothing of what it says has changed. */
static void test_damage_is_found(void **state)
{
    gnti_ensemble_file e, got;
    char *names[3], path[GNT_TEST_PATH_BYTES], *bytes = NULL;
    double weights[3];
    int64_t size = 0, found = 0;
    const double mark = 0.8;

    (void)state;
    fill(&e, names, weights, NULL);
    gnt_assert_ok(gnti_ensemble_file_write(&e, gnt_test_folder()));
    bytes = gnt_test_read(gnt_test_path(path, "ensemble.h5"), &size);
    for (int64_t at = 0; at + 8 <= size; at++) {
        if (memcmp(bytes + at, &mark, 8) != 0)
            continue;
        bytes[at + 6] ^= 4;
        gnt_test_write(path, "ensemble.h5", bytes, size);
        memset(&got, 0, sizeof got);
        gnt_assert_status(gnti_ensemble_file_open(gnt_test_folder(), &got), GNT_ERR_FORMAT);
        found++;
        bytes[at + 6] ^= 4;
    }
    assert_int_equal(found, 1);
    gnt_test_write(path, "ensemble.h5", bytes, size / 2);
    memset(&got, 0, sizeof got);
    gnt_assert_status(gnti_ensemble_file_open(gnt_test_folder(), &got), GNT_ERR_FORMAT);
    gnti_free(bytes);
    assert_false(gnti_ensemble_file_exists("/no/such/run"));
    gnt_assert_status(gnti_ensemble_file_open("/no/such/run", &got), GNT_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_what_cannot_be_is_refused),
        cmocka_unit_test(test_damage_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
