/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium, cost: 20 */
/* timeout: 900 */
/* Where the CUDA kernels take the processor's order of operations they must give its bits: pointwise ops and masks of dropout,
 * sums over rows by the tree, row gathers, losses, own sparse products with their epilogues, attention and its gradient. Not
 * here: products of the libraries, layer norms and norms of gradients, whose sums in double take another order.
 */
#include "tests/hostcuda/cuda_case.h"
#ifndef GNT_CASE_ON_DEVICE
#include "kernels/cuda/cuda.h"
#endif
#include "tests/unit/cases.h"

/* wide: offsets of 64 bits, as graphs of 2^31 arcs have them. */
static void run_as(void (*cases)(case_env *), int seed, bool wide)
{
    const gnti_device_config config = { .num_threads = 1,
                                        .isa = GNTI_ISA_PORTABLE,
                                        .determinism = GNTI_DET_BITWISE };
    case_env env;

#ifdef GNT_CASE_ON_DEVICE
    if (wide)
        skip(); /* the plug-in's device is not to be reached from here */
#endif
    cuda_case_reset("256M", seed, NULL);
    case_open_beside(&env, "cuda", "cpu", &config);
#ifndef GNT_CASE_ON_DEVICE
    if (wide)
        env.device[0]->most_narrow_arcs = -1;
#endif
    cases(&env);
    case_close(&env);
}

static void run(void (*cases)(case_env *), int seed)
{
    run_as(cases, seed, false);
}

static void test_wide_offsets(void **state)
{
    (void)state;
    run_as(cases_spmm, 21, true);
    run_as(cases_spmm_hubs, 22, true);
    run_as(cases_max, 23, true);
    run_as(cases_attend, 24, true);
}

#define BITS_TEST(name, seed)                                                                                \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        run(cases_##name, seed);                                                                             \
    }

BITS_TEST(map, 11)
BITS_TEST(reduce, 12)
BITS_TEST(gather, 13)
BITS_TEST(loss, 14)
BITS_TEST(spmm, 15)
BITS_TEST(spmm_epilogue, 16)
BITS_TEST(spmm_hubs, 17)
BITS_TEST(attend, 18)
BITS_TEST(attend_hubs, 19)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map),         cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_gather),      cmocka_unit_test(test_loss),
        cmocka_unit_test(test_spmm),        cmocka_unit_test(test_spmm_epilogue),
        cmocka_unit_test(test_spmm_hubs),   cmocka_unit_test(test_attend),
        cmocka_unit_test(test_attend_hubs), cmocka_unit_test(test_wide_offsets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
