/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* An op of a user's with kernels for both back ends, examples/glu.c and glu_kernels.cu: its gradient is right on each, a model with
 * it trains on the stand-in as on the processor, and it is part of the captured step. The kernels alone, in blocks of members and with padding, leave what nobody
 * wants. */
#include <gnntrain/layer.h>

#include "tests/hostcuda/cuda_case.h"
#include "tests/support/nn_case.h"
#include "tests/unit/cases.h"

#include <math.h>
#include <string.h>

enum { STEPS = 6, MAX_WEIGHTS = 4000, MEMBERS = 3 };

gnt_status gnt_plugin_init(gnt_context *ctx);
gnt_status glu_cuda_forward(const gnt_op_args *a);
gnt_status glu_cuda_backward(const gnt_op_args *a);

static gnt_context *open_context(const char *text)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(text, &ctx));
    gnt_assert_ok(gnt_plugin_init(ctx));
    return ctx;
}

static void test_gradient(void **state)
{
    static const char *const devices[] = { "device=cpu;threads=1", "device=cuda" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        gnt_context *ctx;

        cuda_case_reset("64M", 1, NULL);
        ctx = open_context(devices[i]);
        gnt_assert_ok(gnt_check_gradient(ctx, "glu", 1e-2));
        gnt_context_free(&ctx);
    }
}

/* Weights of all members after some steps; whether the last ones were one launch each. */
static void run(const char *device, const nn_data *d, float weights[MEMBERS][MAX_WEIGHTS], int64_t *count)
{
    gnt_context *ctx = open_context(device);
    const nn_setup s = { .ctx = ctx,
                         .data = d,
                         .text = "glu:8, glu:6, linear",
                         .members = MEMBERS,
                         .optimizer = GNT_OPTIMIZER_SGD };
    hostcuda_counts before, after;
    nn_case c;

    nn_case_make(&s, &c);
    nn_case_fill(&c, false, 1.0f);
    for (int64_t step = 0; step < STEPS; step++) {
        for (int32_t m = 0; m < MEMBERS; m++) {
            gnt_assert_ok(gnti_program_set_hyper(c.program, c.lr, m, 0.1f));
            gnt_assert_ok(gnti_program_set_hyper(c.program, gnti_program_loss_norm(c.program), m, c.norm));
        }
        hostcuda_get_counts(&before);
        gnt_assert_ok(gnti_program_run(c.program, &(gnti_step){ .step = step }));
        hostcuda_get_counts(&after);
        if (strcmp(device, "device=cuda") == 0 && step >= 2) {
            assert_int_equal(after.launches, before.launches);
            assert_int_equal(after.graph_launches, before.graph_launches + 1);
        }
    }
    for (int32_t m = 0; m < MEMBERS; m++)
        *count = nn_case_weights(&c, m, weights[m]);
    assert_true(*count > 0 && *count <= MAX_WEIGHTS);
    nn_case_free(&c);
    gnt_context_free(&ctx);
}

static void test_trained(void **state)
{
    static float gpu[MEMBERS][MAX_WEIGHTS], cpu[MEMBERS][MAX_WEIGHTS];
    int64_t count = 0, same = 0;
    nn_data d;

    (void)state;
    nn_data_make(&d, 5, 60, 260, 12, 4, true, false);
    for (int seed = 1; seed <= 3; seed++) {
        cuda_case_reset("64M", seed, NULL);
        run("device=cuda", &d, gpu, &count);
        run("device=cpu;threads=1", &d, cpu, &same);
        assert_int_equal(count, same);
        for (int32_t m = 0; m < MEMBERS; m++)
            for (int64_t i = 0; i < count; i++)
                if (!(fabsf(gpu[m][i] - cpu[m][i]) <= 1e-5f * fmaxf(1.0f, fabsf(cpu[m][i]))))
                    fail_msg("weight %lld of member %d is %.9g, the processor's %.9g", (long long)i, (int)m,
                             (double)gpu[m][i], (double)cpu[m][i]);
    }
    nn_data_free(&d);
}

/* ---- the kernels alone ------------------------------------------------------------------------------------------------ */

typedef struct gate_case {
    case_env env;
    case_tensor a, b, y, grad, grad_a, grad_b;
    const gnt_mat_view *wanted[2]; /* of the device */
} gate_case;

static float *at(const case_tensor *t, int64_t r, int64_t m, int64_t c)
{
    const gnt_mat_view *v = &t->view[1];

    return (float *)gnt_buffer_host(v->buf) + v->offset / sizeof(float) +
           m / v->block_members * v->block_stride + r * v->row_stride +
           m % v->block_members * v->member_stride + c;
}

/* The formula on the oracle's side. */
static void expect(gate_case *k)
{
    const gnt_mat_view *v = &k->y.view[1];

    for (int64_t m = 0; m < v->members; m++)
        for (int64_t r = 0; r < v->rows; r++)
            for (int64_t c = 0; c < v->width; c++) {
                const double a = *at(&k->a, r, m, c), g = *at(&k->grad, r, m, c);
                const double s = 1.0 / (1.0 + exp(-*at(&k->b, r, m, c)));
                float *to[2] = { at(&k->grad_a, r, m, c), at(&k->grad_b, r, m, c) };
                const double value[2] = { g * s, g * a * s * (1.0 - s) };

                *at(&k->y, r, m, c) = (float)(a * s);
                for (int i = 0; i < 2; i++)
                    if (k->wanted[i] != NULL)
                        *to[i] = (float)value[i];
            }
}

static void run_gate(gate_case *k)
{
    const gnt_mat_view in[2] = { k->a.view[0], k->b.view[0] };
    const gnt_op_args args = { .struct_size = sizeof args,
                               .stream = k->env.stream[0],
                               .num_inputs = 2,
                               .in = in,
                               .out = &k->y.view[0],
                               .out_grad = &k->grad.view[0],
                               .in_grad = k->wanted };

    gnt_assert_ok(glu_cuda_forward(&args));
    gnt_assert_ok(glu_cuda_backward(&args));
    expect(k);
    gnt_assert_ok(gnti_stream_finish(k->env.stream[0]));
    case_compare(&k->y, 1e-12, "gate");
    case_compare(&k->grad_a, 1e-12, "gradient of the value");
    case_compare(&k->grad_b, 1e-12, "gradient of the gate");
}

static void test_kernels(void **state)
{
    gate_case k;

    (void)state;
    cuda_case_reset("64M", 1, NULL);
    case_open(&k.env, "cuda", NULL);
    for (int i = 0; i < CASE_NUM_MEMBERS; i++)
        for (int way = 0; way < 3; way++) { /* each gradient wanted or not */
            case_tensor *const all[] = { &k.a, &k.b, &k.y, &k.grad, &k.grad_a, &k.grad_b };
            const case_members m = case_member_list[i];

            for (int t = 0; t < 6; t++)
                *all[t] = case_make(&k.env, 67, m.members, m.g, 5, t);
            k.wanted[0] = way != 1 ? &k.grad_a.view[0] : NULL;
            k.wanted[1] = way != 2 ? &k.grad_b.view[0] : NULL;
            run_gate(&k);
            case_reset(&k.env);
        }
    case_close(&k.env);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kernels), cmocka_unit_test(test_gradient),
                                        cmocka_unit_test(test_trained) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
