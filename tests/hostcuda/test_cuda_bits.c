/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* timeout: 900 */
/* Where the CUDA kernels take the processor's order of operations they must give its bits: pointwise ops and masks of dropout,
 * sums over rows by the tree, row gathers, losses, own sparse products with their epilogues, attention and its gradient. Not
 * here: products of the libraries, layer norms and norms of gradients, whose sums in double take another order.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/unit/cases.h"

static void run(void (*cases)(case_env *), int seed)
{
    const gnti_device_config config = { .num_threads = 1,
                                        .isa = GNTI_ISA_PORTABLE,
                                        .determinism = GNTI_DET_BITWISE };
    case_env env;

    cuda_case_reset("256M", seed, NULL);
    case_open_beside(&env, "cuda", "cpu", &config);
    cases(&env);
    case_close(&env);
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
        cmocka_unit_test(test_map),       cmocka_unit_test(test_reduce), cmocka_unit_test(test_gather),
        cmocka_unit_test(test_loss),      cmocka_unit_test(test_spmm),   cmocka_unit_test(test_spmm_epilogue),
        cmocka_unit_test(test_spmm_hubs), cmocka_unit_test(test_attend), cmocka_unit_test(test_attend_hubs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
