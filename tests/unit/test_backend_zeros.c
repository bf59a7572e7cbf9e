/* SPDX-License-Identifier: Apache-2.0 */
/* Products that skip zeros give the bits of a plain loop that skips none: each sum multiplies, then adds, in the order of k; sums
 * over rows go by blocks of 1024. Left operand, either operand of a weight's gradient; all levels and thread counts; a NaN
 * is no zero. That they are taken where they pay is tested on the judgement itself.
 */
#include "cases.h"
#include "kernels/cpu/cpu_epilogue.h"
#include "kernels/cpu/cpu_gemm_zeros.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1500, IN = 70, OUT = 137 };

/* One element in four stays, some rows have none. */
static float quarter(float value, int64_t r, int64_t c)
{
    return r % 50 == 7 || (r * 31 + c * 17 + r * c) % 4 != 0 ? 0.0f : value;
}

static float quarter_with_nan(float value, int64_t r, int64_t c)
{
    return r == 1100 && c == 69 ? NAN : quarter(value, r, c);
}

typedef struct matrices {
    float *x, *w, *g; /* (ROWS, IN), (IN, OUT), (ROWS, OUT) */
} matrices;

/* x w */
static void multiply(const matrices *m, float *out)
{
    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t j = 0; j < OUT; j++) {
            float sum = 0.0f;

            for (int64_t k = 0; k < IN; k++)
                sum += m->x[r * IN + k] * m->w[k * OUT + j];
            out[r * OUT + j] = sum;
        }
}

/* x^T g */
static void multiply_transposed(const matrices *m, float *out)
{
    for (int64_t i = 0; i < IN; i++)
        for (int64_t j = 0; j < OUT; j++) {
            float sum[2] = { 0.0f, 0.0f };

            for (int64_t r = 0; r < ROWS; r++)
                sum[r / 1024] += m->x[r * IN + i] * m->g[r * OUT + j];
            out[i * OUT + j] = sum[0] + sum[1];
        }
}

typedef struct products {
    float *forward, *gradient, want_forward[ROWS * OUT], want_gradient[IN * OUT];
} products;

static void run(const gnti_device_config *config, case_function x_of, case_function g_of, products *out)
{
    const gnt_row_tree tree = { ROWS, 2, NULL };
    case_env env;
    matrices m;

    case_open(&env, "cpu", config);
    case_tensor x = case_make(&env, ROWS, 1, 1, IN, 3), w = case_make(&env, IN, 1, 1, OUT, 0);
    case_tensor g = case_make(&env, ROWS, 1, 1, OUT, 5), y = case_make(&env, ROWS, 1, 1, OUT, 5);
    case_tensor dw = case_make(&env, IN, 1, 1, OUT, 0);
    gnt_gemm_args a = {
        .a = x.view[0], .b = w.view[0], .c = y.view[0], .alpha = 1.0f, .epilogue = GNT_EPILOGUE_NONE
    };

    if (x_of != NULL)
        case_apply(&x, x_of);
    if (g_of != NULL)
        case_apply(&g, g_of);
    gnt_assert_ok(gnti_gemm(env.stream[0], &a));
    a.b = g.view[0];
    a.c = dw.view[0];
    a.trans_a = true;
    a.row_tree = &tree;
    gnt_assert_ok(gnti_gemm(env.stream[0], &a));
    out->forward = case_values(&y, 0, NULL);
    out->gradient = case_values(&dw, 0, NULL);
    m = (matrices){ case_values(&x, 0, NULL), case_values(&w, 0, NULL), case_values(&g, 0, NULL) };
    multiply(&m, out->want_forward);
    multiply_transposed(&m, out->want_gradient);
    gnti_free(m.x);
    gnti_free(m.w);
    gnti_free(m.g);
    case_close(&env);
}

static bool level_is_there(const gnti_device_config *c)
{
    gnt_device *probe = NULL;
    const bool there = gnti_device_open("cpu", 0, c, &probe) == GNT_OK;

    gnti_device_close(&probe);
    return there;
}

static void compare(case_function x_of, case_function g_of)
{
    static products p;

    for (int isa = GNTI_ISA_PORTABLE; isa <= GNTI_ISA_AVX512; isa++)
        for (int32_t threads = 1; threads <= 3; threads += 2) {
            const gnti_device_config c = { .num_threads = threads,
                                           .isa = (gnti_isa)isa,
                                           .determinism = GNTI_DET_BITWISE };

            if (!level_is_there(&c))
                continue;
            run(&c, x_of, g_of, &p);
            gnt_assert_same_bits(p.forward, p.want_forward, ROWS * OUT);
            gnt_assert_same_bits(p.gradient, p.want_gradient, IN * OUT);
            gnti_free(p.forward);
            gnti_free(p.gradient);
        }
}

static void test_zeros_on_the_left(void **state)
{
    (void)state;
    compare(quarter, NULL);
}

static void test_zeros_on_the_right(void **state)
{
    (void)state;
    compare(NULL, quarter);
}

static void test_no_zeros(void **state)
{
    (void)state;
    compare(NULL, NULL);
}

static void test_nan_is_no_zero(void **state)
{
    const gnti_device_config c = { .num_threads = 1, .determinism = GNTI_DET_RUN };
    static products p;

    (void)state;
    run(&c, quarter_with_nan, NULL, &p);
    for (int64_t j = 0; j < OUT; j++) {
        assert_true(isnan(p.forward[1100 * OUT + j]) && !isnan(p.forward[1101 * OUT + j]));
        assert_true(isnan(p.gradient[69 * OUT + j]) && !isnan(p.gradient[68 * OUT + j]));
    }
    gnti_free(p.forward);
    gnti_free(p.gradient);
}

static void test_judgement(void **state)
{
    static float x[ROWS * IN];

    (void)state;
    for (int isa = GNTI_ISA_PORTABLE; isa <= GNTI_ISA_AVX512; isa++) {
        const gnti_device_config c = { .isa = (gnti_isa)isa };
        const cpu_products *level = cpu_products_of((gnti_isa)isa);

        if (!level_is_there(&c))
            continue;
        for (int64_t i = 0; i < ROWS * IN; i++)
            x[i] = 1.0f;
        assert_false(cpu_zeros_pay(level, x, IN, ROWS, IN, OUT));
        assert_false(cpu_zeros_pay(level, x, IN, 0, IN, OUT));
        for (int64_t i = 0; i < ROWS * IN; i++)
            x[i] = quarter(1.0f, i / IN, i % IN);
        assert_true(cpu_zeros_pay(level, x, IN, ROWS, IN, OUT));
        assert_true(cpu_zeros_pay(level, x, IN, 10, IN, OUT));
        for (int64_t i = 0; i < ROWS * IN; i++)
            x[i] = (float)(i % 2);
        assert_true(cpu_zeros_pay(level, x, IN, ROWS, IN, OUT));
        assert_false(cpu_zeros_pay(level, x, IN, ROWS, IN, 7)); /* one vector: finding costs more */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zeros_on_the_left), cmocka_unit_test(test_zeros_on_the_right),
        cmocka_unit_test(test_no_zeros),          cmocka_unit_test(test_nan_is_no_zero),
        cmocka_unit_test(test_judgement),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
