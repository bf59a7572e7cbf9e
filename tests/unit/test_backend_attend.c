/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* timeout: 600 */
/* Attention and its gradient: against the slow oracle at every vector level; equal bits at all levels, numbers of threads and
 * blocks of members; wrong arguments are refused with both numbers.
 */
#include "cases.h"

#include <math.h>
#include <string.h>

enum { ROWS = 1500, HEADS = 3, WIDTH = 11, MEMBERS = 3, NUM_OUTPUTS = 6 };

static void test_oracle(void **state)
{
    (void)state;
    case_run_variants(cases_attend);
}

static void test_hubs(void **state)
{
    (void)state;
    case_run_variants(cases_attend_hubs);
}

/* A symmetric pattern, so that one plan serves all passes: a ring, and hubs of 4095, 4096, 4097 and 10^5 entries (columns
 * repeat; what counts is the order of sums). */
static void make_graph(case_graph *g)
{
    int64_t degrees[ROWS];

    for (int i = 0; i < ROWS; i++)
        degrees[i] = i % 7 == 0 ? 0 : i % 13;
    degrees[3] = 4095;
    degrees[4] = 4096;
    degrees[5] = 4097;
    degrees[700] = 100000; /* shared by the threads */
    degrees[ROWS - 1] = 12289;
    case_graph_degrees(g, degrees, ROWS, ROWS, 21);
}

typedef struct tensors {
    case_tensor h, s_src, s_dst, out, soft, grad, stat, ds_dst, dh, ds_src;
} tensors;

static void make_tensors(case_env *env, int64_t g, int64_t heads, int64_t width, tensors *t)
{
    t->h = case_make(env, ROWS, MEMBERS, g, heads * width, 3);
    t->s_src = case_make(env, ROWS, MEMBERS, g, heads, 1);
    t->s_dst = case_make(env, ROWS, MEMBERS, g, heads, 0);
    t->out = case_make(env, ROWS, MEMBERS, g, heads * width, 0);
    t->soft = case_make(env, ROWS, MEMBERS, g, 2 * heads, 0);
    t->grad = case_make(env, ROWS, MEMBERS, g, heads * width, 0);
    t->stat = case_make(env, ROWS, MEMBERS, g, 4 * heads, 0);
    t->ds_dst = case_make(env, ROWS, MEMBERS, g, heads, 0);
    t->dh = case_make(env, ROWS, MEMBERS, g, heads * width, 0);
    t->ds_src = case_make(env, ROWS, MEMBERS, g, heads, 0);
}

/* All results on the tested side. */
static void run_passes(case_env *env, const case_graph *graph, int64_t g, int64_t heads, int64_t width,
                       float *out[NUM_OUTPUTS], int64_t count[NUM_OUTPUTS])
{
    const float hypers[1] = { 0.25f };
    const case_bytes step = case_step(env, MEMBERS, hypers, 1);
    const gnt_arc_dropout drop = { .ordinal = 5, .step = step.buf[0] };
    gnt_spmm_plan *plan = case_plan(env->stream[0], graph, false, heads * width);
    tensors t;

    make_tensors(env, g, heads, width, &t);
    const gnt_attend_args a = { .heads = (int32_t)heads,
                                .slope = 0.2f,
                                .h = t.h.view[0],
                                .s_src = t.s_src.view[0],
                                .s_dst = t.s_dst.view[0],
                                .out = t.out.view[0],
                                .soft = t.soft.view[0],
                                .alpha = 1.0f,
                                .epilogue = GNT_EPILOGUE_NONE,
                                .dropout = drop };
    gnt_attend_grad_args b = { .heads = (int32_t)heads,
                               .slope = 0.2f,
                               .h = t.h.view[0],
                               .s_src = t.s_src.view[0],
                               .s_dst = t.s_dst.view[0],
                               .soft = t.soft.view[0],
                               .out = t.out.view[0],
                               .grad = t.grad.view[0],
                               .stat = t.stat.view[0],
                               .ds_dst = t.ds_dst.view[0],
                               .dh = t.dh.view[0],
                               .ds_src = t.ds_src.view[0],
                               .dropout = drop };

    gnt_assert_ok(gnti_attend(env->stream[0], plan, &a));
    gnt_assert_ok(gnti_attend_backward(env->stream[0], plan, &b));
    b.transposed = true;
    gnt_assert_ok(gnti_attend_backward(env->stream[0], plan, &b));
    const case_tensor *all[] = { &t.out, &t.soft, &t.ds_dst, &t.stat, &t.dh, &t.ds_src };

    for (int i = 0; i < NUM_OUTPUTS; i++)
        out[i] = case_values(all[i], 0, &count[i]);
    gnti_spmm_plan_free(&plan);
}

static void compare_bits(const case_graph *graph, int64_t heads, int64_t width)
{
    static const struct {
        gnti_isa isa;
        int32_t threads, g;
    } ways[] = { { GNTI_ISA_PORTABLE, 1, 1 }, { GNTI_ISA_PORTABLE, 2, 2 }, { GNTI_ISA_AVX2, 1, 3 },
                 { GNTI_ISA_AVX2, 4, 1 },     { GNTI_ISA_AVX512, 1, 2 },   { GNTI_ISA_AVX512, 3, 3 } };
    float *want[NUM_OUTPUTS] = { NULL }, *got[NUM_OUTPUTS];
    int64_t count[NUM_OUTPUTS];

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const gnti_device_config c = { .num_threads = ways[i].threads,
                                       .isa = ways[i].isa,
                                       .determinism = GNTI_DET_BITWISE };
        gnt_device *probe = NULL;
        case_env env;

        if (gnti_device_open("cpu", 0, &c, &probe) != GNT_OK)
            continue;
        gnti_device_close(&probe);
        case_open(&env, "cpu", &c);
        run_passes(&env, graph, ways[i].g, heads, width, got, count);
        case_close(&env);
        for (int k = 0; k < NUM_OUTPUTS; k++) {
            if (i > 0) {
                gnt_assert_same_bits(got[k], want[k], count[k]);
                gnti_free(got[k]);
            } else {
                want[k] = got[k];
            }
        }
    }
    for (int k = 0; k < NUM_OUTPUTS; k++)
        gnti_free(want[k]);
}

static void test_equal_bits(void **state)
{
    case_graph g;

    (void)state;
    make_graph(&g);
    compare_bits(&g, HEADS, WIDTH);
    compare_bits(&g, 8, 8);
    compare_bits(&g, 8, 16);
    compare_bits(&g, 1, 40);
    case_graph_free(&g);
}

/* Arcs, ids and keys alone decide what is dropped: the share, and that a scaled mean is kept. */
static void test_share_of_drops(void **state)
{
    const float hypers[1] = { 0.4f };
    const int64_t degrees[1] = { 40000 };
    case_graph g;
    case_env env;
    double sum = 0.0;

    (void)state;
    case_open(&env, "cpu", NULL);
    case_graph_degrees(&g, degrees, 1, 50000, 8);
    for (int64_t e = 0; e < g.num_arcs; e++)
        g.columns[e] = (int32_t)e + 1;
    gnt_spmm_plan *plan = case_plan(env.stream[0], &g, false, 8);
    case_tensor h = case_make(&env, 50000, 1, 1, 8, 0), s = case_make(&env, 50000, 1, 1, 8, 0),
                own = case_make(&env, 1, 1, 1, 8, 0), out = case_make(&env, 1, 1, 1, 8, 0);
    const case_bytes step = case_step(&env, 1, hypers, 1);
    float *ones = gnt_buffer_host(h.view[0].buf), *zeros = gnt_buffer_host(s.view[0].buf), *values;

    for (int64_t i = 0; i < 50000 * 8; i++) {
        ones[i] = 1.0f;
        zeros[i] = 0.0f;
    }
    gnt_assert_ok(gnti_attend(env.stream[0], plan,
                              &(gnt_attend_args){ .heads = 8,
                                                  .slope = 0.2f,
                                                  .h = h.view[0],
                                                  .s_src = s.view[0],
                                                  .s_dst = own.view[0],
                                                  .out = out.view[0],
                                                  .alpha = 1.0f,
                                                  .epilogue = GNT_EPILOGUE_NONE,
                                                  .dropout = { .ordinal = 1, .step = step.buf[0] } }));
    values = case_values(&out, 0, NULL);
    for (int k = 0; k < 8; k++) {
        assert_true(fabs((double)values[k] - 1.0) < 0.02); /* 5 standard deviations: 0.0204 */
        for (int i = 0; i < k; i++)
            assert_true(values[i] != values[k]);
        sum += (double)values[k];
    }
    assert_true(fabs(sum / 8 - 1.0) < 0.0075);
    gnti_free(values);
    gnti_spmm_plan_free(&plan);
    case_graph_free(&g);
    case_close(&env);
}

static void test_wrong_arguments(void **state)
{
    case_graph g;
    case_env env;
    case_tensor h, s, d, out;

    (void)state;
    case_open(&env, "cpu", NULL);
    case_graph_make(&g, 8, 10, 3, 2);
    gnt_spmm_plan *plan = case_plan(env.stream[0], &g, false, 8);

    h = case_make(&env, 10, 1, 1, 8, 0);
    s = case_make(&env, 10, 1, 1, 2, 0);
    d = case_make(&env, 8, 1, 1, 2, 0);
    out = case_make(&env, 8, 1, 1, 8, 0);
    const gnt_attend_args good = { .heads = 2,
                                   .slope = 0.2f,
                                   .h = h.view[0],
                                   .s_src = s.view[0],
                                   .s_dst = d.view[0],
                                   .out = out.view[0],
                                   .alpha = 1.0f,
                                   .epilogue = GNT_EPILOGUE_NONE,
                                   .dropout = { .hyper = -1 } };
    gnt_attend_args bad = good;

    gnt_assert_ok(gnti_attend(env.stream[0], plan, &good));
    bad.heads = 3;
    gnt_assert_status(gnti_attend(env.stream[0], plan, &bad), GNT_ERR_ARG);
    gnt_assert_error_has("8 wide", "3 heads");
    bad = good;
    bad.slope = 1.5f;
    gnt_assert_status(gnti_attend(env.stream[0], plan, &bad), GNT_ERR_ARG);
    gnt_assert_error_has("slope 1.5", "0 to 1");
    bad = good;
    bad.heads = 65;
    gnt_assert_status(gnti_attend(env.stream[0], plan, &bad), GNT_ERR_ARG);
    bad = good;
    bad.s_src = d.view[0];
    gnt_assert_status(gnti_attend(env.stream[0], plan, &bad), GNT_ERR_ARG);
    gnt_assert_error_has("s_src", "8 x 2", "10 x 2");
    bad = good;
    bad.dropout.hyper = 0;
    gnt_assert_status(gnti_attend(env.stream[0], plan, &bad), GNT_ERR_ARG);
    gnt_assert_error_has("step block");
    gnti_spmm_plan_free(&plan);
    case_graph_free(&g);
    case_close(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracle),          cmocka_unit_test(test_hubs),
        cmocka_unit_test(test_equal_bits),      cmocka_unit_test(test_share_of_drops),
        cmocka_unit_test(test_wrong_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
