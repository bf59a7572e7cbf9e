/* SPDX-License-Identifier: Apache-2.0 */
/* Equal bits: sparse products at every vector level, thread count and column tile; at BITWISE every op as well, and
 * whatever BLAS is there (run once more with OPENBLAS_CORETYPE=HASWELL). Also that nothing is allocated by a repeated op.
 */
#include "cases.h"

#include <stdio.h>
#include <string.h>

enum { ROWS = 1500, WIDTH = 70, CLASSES = 9, MEMBERS = 3 };

typedef struct outputs {
    float *spmm, *gemm, *weight_grad, *sums, *grad, *weights, *norm;
    double stats[4 * MEMBERS];
} outputs;

static case_tensor like(case_env *env, int64_t rows, int64_t width)
{
    return case_make(env, rows, MEMBERS, 2, width, 3);
}

static void run_spmm(case_env *env, const case_graph *g, const gnt_buffer *step, outputs *out)
{
    case_tensor x = like(env, ROWS, WIDTH), y = like(env, ROWS, WIDTH),
                scale = case_make(env, ROWS, 1, 1, 1, 0);
    gnt_spmm_plan *plan = case_plan(env->stream[0], g, true, 2 * WIDTH);
    gnt_spmm_args a = { .x = x.view[0],
                        .y = y.view[0],
                        .self_kind = GNT_SELF_ONE,
                        .src_scale = &scale.view[0],
                        .alpha = 0.75f,
                        .epilogue = GNT_EPILOGUE_NONE };

    a.epilogue.row_scale = &scale.view[0];
    a.epilogue.act = GNT_ACT_ELU;
    a.epilogue.act_alpha = 1.0f;
    a.epilogue.dropout = (gnt_dropout){ .hyper = 0, .ordinal = 5 };
    a.epilogue.step = step;
    for (int call = 0; call < 9; call++) /* tries every column tile, then the chosen one */
        gnt_assert_ok(gnti_spmm(env->stream[0], plan, &a));
    out->spmm = case_values(&y, 0, NULL);
    gnti_spmm_plan_free(&plan);
}

static void run_dense(case_env *env, outputs *out)
{
    const gnt_row_tree tree = { ROWS, (ROWS + 1023) / 1024, NULL };
    case_tensor x = like(env, ROWS, WIDTH), w = case_make(env, WIDTH, MEMBERS, 1, 41, 0),
                y = like(env, ROWS, 41);
    case_tensor dw = case_make(env, WIDTH, MEMBERS, 1, 41, 0), b = case_make(env, 1, MEMBERS, 1, 41, 0);
    gnt_gemm_args a = {
        .a = x.view[0], .b = w.view[0], .c = y.view[0], .alpha = 1.0f, .epilogue = GNT_EPILOGUE_NONE
    };
    const gnt_gemm_args grad = { .a = x.view[0],
                                 .b = y.view[0],
                                 .c = dw.view[0],
                                 .trans_a = true,
                                 .alpha = 1.0f,
                                 .row_tree = &tree,
                                 .epilogue = GNT_EPILOGUE_NONE };
    const gnt_reduce_args sum = {
        .kind = GNT_REDUCE_SUM_ROWS, .a = y.view[0], .y = b.view[0], .row_tree = &tree
    };

    a.epilogue.act = GNT_ACT_TANH;
    gnt_assert_ok(gnti_gemm(env->stream[0], &a));
    gnt_assert_ok(gnti_gemm(env->stream[0], &grad));
    gnt_assert_ok(gnti_reduce(env->stream[0], &sum));
    out->gemm = case_values(&y, 0, NULL);
    out->weight_grad = case_values(&dw, 0, NULL);
    out->sums = case_values(&b, 0, NULL);
}

static void run_loss(case_env *env, gnt_buffer *step, outputs *out)
{
    const gnt_row_tree tree = { ROWS, (ROWS + 1023) / 1024, NULL };
    const double zeros[4 * MEMBERS] = { 0.0 };
    int32_t labels[ROWS];
    case_tensor z = like(env, ROWS, CLASSES), w = case_make(env, ROWS, 1, 1, 1, 0),
                grad = like(env, ROWS, CLASSES);
    case_bytes stats = case_upload(env, zeros, sizeof zeros), at;

    for (int i = 0; i < ROWS; i++)
        labels[i] = i * 5 % CLASSES;
    at = case_upload(env, labels, sizeof labels);
    const gnt_loss_args a = { .logits = z.view[0],
                              .weight = w.view[0],
                              .labels = at.buf[0],
                              .grad = &grad.view[0],
                              .stats = stats.buf[0],
                              .step = step,
                              .row_tree = &tree };

    gnt_assert_ok(gnti_loss(env->stream[0], &a));
    out->grad = case_values(&grad, 0, NULL);
    memcpy(out->stats, gnt_buffer_host(stats.buf[0]), sizeof out->stats);
}

static void run_norm(case_env *env, outputs *out)
{
    const gnt_row_tree tree = { ROWS, (ROWS + 1023) / 1024, NULL };
    case_tensor x = like(env, ROWS, 13), y = like(env, ROWS, 13);
    case_tensor mean = case_make(env, 1, MEMBERS, 1, 13, 0), rstd = case_make(env, 1, MEMBERS, 1, 13, 0);
    const gnt_norm_args a = { .kind = GNT_NORM_BATCH,
                              .training = true,
                              .x = x.view[0],
                              .y = y.view[0],
                              .mean = mean.view[0],
                              .rstd = rstd.view[0],
                              .eps = 1e-5f,
                              .row_tree = &tree };

    gnt_assert_ok(gnti_norm(env->stream[0], &a));
    out->norm = case_values(&y, 0, NULL);
}

static void run_optimizer(case_env *env, gnt_buffer *step, outputs *out)
{
    static const gnt_param_segment segment = { 0, 9000, 0 };
    const int32_t none[MEMBERS] = { 0 };
    case_tensor w = case_make(env, 1, 1, 1, 9000 * MEMBERS, 0),
                g = case_make(env, 1, 1, 1, 9000 * MEMBERS, 0);
    case_tensor m1 = case_make(env, 1, 1, 1, 9000 * MEMBERS, 0),
                m2 = case_make(env, 1, 1, 1, 9000 * MEMBERS, 0);
    case_bytes bad = case_upload(env, none, sizeof none);
    const gnt_optimizer_args a = { .kind = GNT_OPTIMIZER_ADAM,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.999f,
                                   .eps = 1e-3f,
                                   .weights = w.view[0].buf,
                                   .grads = g.view[0].buf,
                                   .moment1 = m1.view[0].buf,
                                   .moment2 = m2.view[0].buf,
                                   .segments = &segment,
                                   .num_segments = 1,
                                   .num_members = MEMBERS,
                                   .lr_hyper = 0,
                                   .corr1_hyper = 0,
                                   .corr2_hyper = 0,
                                   .clip_hyper = 0,
                                   .step = step,
                                   .bad = bad.buf[0] };
    float *squares = (float *)gnt_buffer_host(m2.view[0].buf);

    for (int64_t i = 0; i < 9000 * MEMBERS; i++)
        squares[i] *= squares[i];
    gnt_assert_ok(gnti_optimizer_step(env->stream[0], &a));
    out->weights = case_values(&w, 0, NULL);
}

static void run_all(const gnti_device_config *config, const case_graph *g, outputs *out)
{
    const float hypers[1] = { 0.375f };
    case_bytes step;
    case_env env;

    case_open(&env, "cpu", config);
    step = case_step(&env, MEMBERS, hypers, 1);
    run_spmm(&env, g, step.buf[0], out);
    run_dense(&env, out);
    run_loss(&env, step.buf[0], out);
    run_norm(&env, out);
    run_optimizer(&env, step.buf[0], out);
    case_close(&env);
}

static void free_outputs(outputs *o)
{
    float *all[] = { o->spmm, o->gemm, o->weight_grad, o->sums, o->grad, o->weights, o->norm };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        gnti_free(all[i]);
}

static void make_graph(case_graph *g)
{
    int64_t degrees[ROWS];

    for (int i = 0; i < ROWS; i++)
        degrees[i] = i % 7 == 0 ? 0 : i % 13;
    degrees[3] = 4095;
    degrees[4] = 4096;
    degrees[5] = 4097;
    degrees[700] = 100000; /* split over threads */
    degrees[ROWS - 1] = 12289;
    case_graph_degrees(g, degrees, ROWS, ROWS, 21);
}

static void test_equal_bits(void **state)
{
    static const int32_t threads[] = { 1, 2, 4 };
    const gnti_device_config base = { .num_threads = 1,
                                      .isa = GNTI_ISA_PORTABLE,
                                      .determinism = GNTI_DET_BITWISE };
    outputs want, got;
    case_graph g;

    (void)state;
    make_graph(&g);
    run_all(&base, &g, &want);
    for (int isa = GNTI_ISA_PORTABLE; isa <= GNTI_ISA_AVX512; isa++)
        for (int t = 0; t < 3; t++) {
            const gnti_device_config c = { .num_threads = threads[t],
                                           .isa = (gnti_isa)isa,
                                           .determinism = GNTI_DET_BITWISE };
            gnt_device *probe = NULL;

            if (gnti_device_open("cpu", 0, &c, &probe) != GNT_OK)
                continue;
            gnti_device_close(&probe);
            run_all(&c, &g, &got);
            gnt_assert_same_bits(got.spmm, want.spmm, ROWS * WIDTH * MEMBERS);
            gnt_assert_same_bits(got.gemm, want.gemm, ROWS * 41 * MEMBERS);
            gnt_assert_same_bits(got.weight_grad, want.weight_grad, WIDTH * 41 * MEMBERS);
            gnt_assert_same_bits(got.sums, want.sums, 41 * MEMBERS);
            gnt_assert_same_bits(got.grad, want.grad, ROWS * CLASSES * MEMBERS);
            gnt_assert_same_bits(got.norm, want.norm, ROWS * 13 * MEMBERS);
            gnt_assert_same_bits(got.weights, want.weights, 9000 * MEMBERS);
            assert_memory_equal(got.stats, want.stats, sizeof want.stats);
            free_outputs(&got);
        }
    free_outputs(&want);
    case_graph_free(&g);
}

/* The blocks of g members change no bit. */
static void test_blocks_of_members(void **state)
{
    static const int64_t blocks[] = { 1, 2, 5 };
    float *want = NULL;
    case_graph g;

    (void)state;
    make_graph(&g);
    for (int i = 0; i < 3; i++) {
        case_env env;
        case_tensor x, y;
        gnt_spmm_plan *plan;
        float *got;

        case_open(&env, "cpu", NULL);
        x = case_make(&env, ROWS, 5, blocks[i], 12, 0);
        y = case_make(&env, ROWS, 5, blocks[i], 12, 0);
        plan = case_plan(env.stream[0], &g, false, 60);
        gnt_assert_ok(
            gnti_spmm(env.stream[0], plan,
                      &(gnt_spmm_args){
                          .x = x.view[0], .y = y.view[0], .alpha = 1.0f, .epilogue = GNT_EPILOGUE_NONE }));
        got = case_values(&y, 0, NULL);
        if (want != NULL)
            gnt_assert_same_bits(got, want, ROWS * 5 * 12);
        gnti_free(want);
        want = got;
        gnti_spmm_plan_free(&plan);
        case_close(&env);
    }
    gnti_free(want);
    case_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_bits),
        cmocka_unit_test(test_blocks_of_members),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
