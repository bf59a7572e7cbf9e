/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium, cost: 20 */
/* timeout: 600 */
/* Every op of the backend table against the slow oracle, for each vector level and determinism of the
 * processor that this machine has. A backend is done when it passes here under its name. */
#include "cases.h"

#define OP_TEST(name)                                                                                        \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        case_run_variants(cases_##name);                                                                     \
    }

OP_TEST(gemm)
OP_TEST(gemm_tree)
OP_TEST(spmm)
OP_TEST(spmm_epilogue)
OP_TEST(spmm_hubs)
OP_TEST(norm)
OP_TEST(map)
OP_TEST(reduce)
OP_TEST(gather)
OP_TEST(loss)
OP_TEST(optimizer)
OP_TEST(bf16)
OP_TEST(chain)
OP_TEST(max)
OP_TEST(parts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),      cmocka_unit_test(test_gemm_tree),     cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_spmm_hubs), cmocka_unit_test(test_spmm_epilogue), cmocka_unit_test(test_norm),
        cmocka_unit_test(test_map),       cmocka_unit_test(test_reduce),        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_loss),      cmocka_unit_test(test_optimizer),     cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_max),           cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
