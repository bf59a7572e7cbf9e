/* SPDX-License-Identifier: Apache-2.0 */
/* Meters of energy, over a written folder of counters and a library that stands for the driver's. */
#include "tests/support/gnt_test.h"

#include "base/energy.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FAKE_NVML GNT_BINARY_DIR "/lib/libgnt_fake_nvml.so"

static void write_counter(const char *root, const char *domain, const char *name, const char *text)
{
    char path[2 * GNT_TEST_PATH_BYTES];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", root, domain);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", root, domain, name);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void write_domain(const char *root, const char *domain, const char *name, const char *energy)
{
    write_counter(root, domain, "name", name);
    write_counter(root, domain, "max_energy_range_uj", "10000000\n");
    write_counter(root, domain, "energy_uj", energy);
}

static void test_packages_alone_count(void **state)
{
    char root[GNT_TEST_PATH_BYTES];
    gnti_energy *e = NULL;

    (void)state;
    gnt_test_path(root, "powercap");
    assert_int_equal(mkdir(root, 0755), 0);
    write_domain(root, "intel-rapl:0", "package-0\n", "1000000\n");
    write_domain(root, "intel-rapl:1", "package-1\n", "9000000\n");
    write_domain(root, "intel-rapl:0:0", "core\n", "500000\n");
    write_domain(root, "intel-rapl:2", "psys\n", "10\n");
    write_domain(root, "intel-rapl:3", "package-3\n", "no number\n");
    gnt_assert_ok(gnti_energy_open(root, "no-such-library.so", &e));
    assert_string_equal(gnti_energy_sources(e), "rapl");
    assert_true(gnti_energy_joules(e) == 0.0);
    write_domain(root, "intel-rapl:0", "package-0\n", "3000000\n"); /* + 2 J */
    write_domain(root, "intel-rapl:0:0", "core\n", "900000\n");
    write_domain(root, "intel-rapl:2", "psys\n", "5000000\n");
    write_domain(root, "intel-rapl:1", "package-1\n", "500000\n"); /* started anew at 10 J: + 1.5 J */
    assert_true(gnti_energy_joules(e) > 3.4999 && gnti_energy_joules(e) < 3.5001);
    gnti_energy_free(&e);
    assert_null(e);
}

static void test_the_drivers_library(void **state)
{
    gnti_energy *e = NULL;

    (void)state;
    gnt_assert_ok(gnti_energy_open("/no/such/folder", FAKE_NVML, &e));
    assert_string_equal(gnti_energy_sources(e), "nvml"); /* one of two devices has a meter */
    assert_true(gnti_energy_joules(e) == 2.5);
    assert_true(gnti_energy_joules(e) == 5.0);
    gnti_energy_free(&e);
}

static void test_no_meter_is_no_failure(void **state)
{
    gnti_energy *e = NULL;

    (void)state;
    gnt_assert_ok(gnti_energy_open("/no/such/folder", "no-such-library.so", &e));
    assert_string_equal(gnti_energy_sources(e), "none");
    assert_true(gnti_energy_joules(e) == 0.0);
    gnti_energy_free(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packages_alone_count),
        cmocka_unit_test(test_the_drivers_library),
        cmocka_unit_test(test_no_meter_is_no_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
