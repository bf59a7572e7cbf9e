/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium, cost: 15 */
/* Every op of the CUDA back end against the slow oracle, kernels and libraries on the stand-in: the same cases as for the
 * processor. What is exact there is compared bit for bit by test_cuda_bits.c. */
#include "tests/hostcuda/cuda_case.h"
#include "tests/unit/cases.h"

static void run(void (*cases)(case_env *), gnti_determinism determinism, int seed)
{
    const gnti_device_config config = { .determinism = determinism };
    case_env env;

    cuda_case_reset("256M", seed, NULL);
    case_open(&env, "cuda", &config);
    cases(&env);
    case_close(&env);
}

/* The library has another algorithm where bits may differ from run to run. */
static void test_spmm_undetermined(void **state)
{
    (void)state;
    run(cases_spmm, GNTI_DET_OFF, 2);
}

#define OP_TEST(name)                                                                                        \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        run(cases_##name, GNTI_DET_RUN, 1);                                                                  \
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
OP_TEST(parts)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_tree),
        cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_spmm_hubs),
        cmocka_unit_test(test_spmm_epilogue),
        cmocka_unit_test(test_norm),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_optimizer),
        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_spmm_undetermined),
    };

    return cuda_case_run(tests);
}
