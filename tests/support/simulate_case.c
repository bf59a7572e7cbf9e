/* SPDX-License-Identifier: Apache-2.0 */
/* Simulations of inventories and traces that a test has as texts. */
#include "tests/support/simulate_case.h"

gnt_status gnt_simulate_texts(const char *inventory, const char *trace, gnti_simulation s, gnti_json **out)
{
    char a[GNT_TEST_PATH_BYTES], b[GNT_TEST_PATH_BYTES];

    s.inventory = gnt_test_write(a, "inventory.yaml", inventory, -1);
    s.trace = gnt_test_write(b, "trace.yaml", trace, -1);
    return gnti_simulate(&s, out);
}

gnti_simulation gnt_simulate_as_written(uint64_t seed)
{
    return (gnti_simulation){ .policy = -1, .moves = -1, .seed = seed, .check = true };
}

double gnt_simulated_fact(const gnti_json *facts, const char *name)
{
    double value;

    gnt_assert_ok(gnti_json_get_number(facts, name, &value));
    return value;
}
