/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Every op of the backend table against the slow oracle, for each vector level and determinism of the
 * processor that this machine has. A backend is done when it passes here under its name. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

typedef struct variant {
    const char *name;
    gnti_device_config config;
} variant;

static const variant variants[] = {
    { "portable", { .num_threads = 1, .isa = GNTI_ISA_PORTABLE, .determinism = GNTI_DET_RUN } },
    { "avx2", { .num_threads = 2, .isa = GNTI_ISA_AVX2, .determinism = GNTI_DET_RUN } },
    { "avx512", { .num_threads = 3, .isa = GNTI_ISA_AVX512, .determinism = GNTI_DET_RUN } },
    { "bitwise", { .num_threads = 2, .isa = GNTI_ISA_AUTO, .determinism = GNTI_DET_BITWISE } },
};

static void run(void (*cases)(case_env *))
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        gnt_device *probe = NULL;
        case_env env;

        if (gnti_device_open("cpu", 0, &variants[i].config, &probe) != GNT_OK) {
            print_message("[  note    ] this processor lacks %s\n", variants[i].name);
            continue;
        }
        gnti_device_close(&probe);
        case_open(&env, "cpu", &variants[i].config);
        cases(&env);
        case_close(&env);
    }
}

#define OP_TEST(name)                                                                                        \
    static void test_##name(void **state)                                                                    \
    {                                                                                                        \
        (void)state;                                                                                         \
        run(cases_##name);                                                                                   \
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
        cmocka_unit_test(test_gemm),      cmocka_unit_test(test_gemm_tree),     cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_spmm_hubs), cmocka_unit_test(test_spmm_epilogue), cmocka_unit_test(test_norm),
        cmocka_unit_test(test_map),       cmocka_unit_test(test_reduce),        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_loss),      cmocka_unit_test(test_optimizer),     cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_chain),     cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
