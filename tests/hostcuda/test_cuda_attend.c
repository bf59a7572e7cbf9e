/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Attention and its gradient of the CUDA back end against the slow oracle, on the stand-in. */
#include "tests/hostcuda/cuda_case.h"
#include "tests/unit/cases.h"

static void run(void (*cases)(case_env *))
{
    case_env env;

    cuda_case_reset("256M", 1, NULL);
    case_open(&env, "cuda", NULL);
    cases(&env);
    case_close(&env);
}

static void test_oracle(void **state)
{
    (void)state;
    run(cases_attend);
}

static void test_hubs(void **state)
{
    (void)state;
    run(cases_attend_hubs);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_oracle), cmocka_unit_test(test_hubs) };

    return cuda_case_run(tests);
}
