/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the pointwise ops, reductions and row gather; bf16 operands of map, gather, gemm and spmm. */
#include "cases.h"

#include <stdio.h>

static void run_map(case_env *env, gnt_map_kind kind, case_members mg, int64_t rows, int64_t width,
                    int variant, gnt_dtype dtype)
{
    static const gnt_activation acts[] = { GNT_ACT_RELU,    GNT_ACT_ELU,  GNT_ACT_LEAKY_RELU,
                                           GNT_ACT_SIGMOID, GNT_ACT_TANH, GNT_ACT_NONE };
    const float hypers[1] = { 0.5f };
    const bool shared_a = variant == 1;
    const int64_t pad = variant == 2 ? 0 : 3, M = mg.members;
    char what[96];
    case_tensor a = case_make_as(env, dtype, rows, shared_a ? 1 : M, shared_a ? 1 : mg.g, width, pad);
    case_tensor b = case_make_as(env, dtype, variant == 1 ? 1 : rows, variant == 2 ? 1 : M,
                                 variant == 2 ? 1 : mg.g, variant == 3 ? 1 : width, pad);
    case_tensor y = case_make_as(env, dtype, rows, M, mg.g, width, pad);
    case_bytes step = case_step(env, M, hypers, 1);

    for (int side = 0; side < 2; side++) {
        const gnt_map_args args = { .kind = kind,
                                    .a = a.view[side],
                                    .b = b.view[side],
                                    .y = y.view[side],
                                    .alpha = 1.5f,
                                    .beta = -0.5f,
                                    .act = acts[(variant + (int)width) % 6],
                                    .act_alpha = 0.25f,
                                    .dropout = { .hyper = 0, .ordinal = 11 },
                                    .step = step.buf[side],
                                    .accumulate = variant % 2 == 1 };

        gnt_assert_ok(gnti_map(env->stream[side], &args));
    }
    snprintf(what, sizeof what, "map %d %lldx%lld M=%d g=%d variant %d", (int)kind, (long long)rows,
             (long long)width, (int)M, (int)mg.g, variant);
    case_compare(&y, dtype == GNT_BF16 ? 2e-5 : 1e-7, what);
    case_reset(env);
}

void cases_map(case_env *env)
{
    static const int64_t shapes[][2] = { { 0, 3 }, { 1, 1 }, { 5, 7 }, { 37, 16 }, { 300, 41 } };

    for (int kind = GNT_MAP_FILL; kind <= GNT_MAP_DROPOUT; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int j = 0; j < CASE_NUM_MEMBERS; j++)
                for (int variant = 0; variant < 4; variant++)
                    run_map(env, (gnt_map_kind)kind, case_member_list[j], shapes[i][0], shapes[i][1], variant,
                            GNT_F32);
}

enum { MANY_CHUNKS = 300 };

static void run_reduce(case_env *env, gnt_reduce_kind kind, case_members mg, int64_t rows, int64_t width,
                       bool shared, const gnt_row_tree *given)
{
    const bool keeps_rows = kind == GNT_REDUCE_DOT_COLS;
    const bool one_column = keeps_rows || kind == GNT_REDUCE_DOT_ALL;
    const gnt_row_tree tree = { rows, (rows + 1023) / 1024, NULL };
    char what[96];
    case_tensor a = case_make(env, rows, shared ? 1 : mg.members, shared ? 1 : mg.g, width, 2);
    case_tensor b = case_make(env, rows, mg.members, 1, width, 0);
    case_tensor y = case_make(env, keeps_rows ? rows : 1, mg.members, 1, one_column ? 1 : width, 0);

    for (int side = 0; side < 2; side++) {
        const gnt_reduce_args args = { .kind = kind,
                                       .a = a.view[side],
                                       .b = b.view[side],
                                       .y = y.view[side],
                                       .row_tree = given != NULL ? given : &tree,
                                       .accumulate = width % 2 == 1 };

        gnt_assert_ok(gnti_reduce(env->stream[side], &args));
    }
    snprintf(what, sizeof what, "reduce %d %lldx%lld M=%d g=%d", (int)kind, (long long)rows, (long long)width,
             (int)mg.members, (int)mg.g);
    case_compare(&y, 1e-7, what);
    case_reset(env);
}

void cases_reduce(case_env *env)
{
    static const int64_t shapes[][2] = {
        { 0, 4 }, { 1, 1 }, { 9, 5 }, { 1024, 16 }, { 1025, 33 }, { 5000, 3 }
    };
    int64_t chunks[MANY_CHUNKS + 1];

    for (int kind = GNT_REDUCE_SUM_ROWS; kind <= GNT_REDUCE_DOT_ALL; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int j = 0; j < CASE_NUM_MEMBERS; j++)
                run_reduce(env, (gnt_reduce_kind)kind, case_member_list[j], shapes[i][0], shapes[i][1],
                           j == 3, NULL);
    for (int i = 0; i < 2;
         i++) { /* more chunks than travel in one launch; some longer than a block of 1024 rows */
        const gnt_row_tree tree = case_chunks(i == 0 ? 700 : 9000, i == 0 ? MANY_CHUNKS : 5, chunks);

        for (int kind = GNT_REDUCE_SUM_ROWS; kind <= GNT_REDUCE_DOT_ALL; kind++)
            run_reduce(env, (gnt_reduce_kind)kind, case_member_list[2], tree.num_rows, 5, false, &tree);
    }
}

static void run_gather(case_env *env, case_members mg, int64_t width, bool accumulate, gnt_dtype dtype)
{
    static const int32_t index[] = { 3, 0, 0, 19, 7, 7, 1 };
    case_tensor x = case_make_as(env, dtype, 20, mg.members, mg.g, width, 3);
    case_tensor y = case_make_as(env, dtype, 7, mg.members, 1, width, 1);
    case_bytes at = case_upload(env, index, sizeof index);

    for (int side = 0; side < 2; side++) {
        const gnt_rows_args args = {
            .x = x.view[side], .y = y.view[side], .index = at.buf[side], .accumulate = accumulate
        };

        gnt_assert_ok(gnti_gather_rows(env->stream[side], &args));
    }
    case_compare(&y, dtype == GNT_BF16 ? 2e-5 : 1e-7, "gather");
    case_reset(env);
}

void cases_gather(case_env *env)
{
    const int32_t outside[] = { 0, 5 };

    for (int j = 0; j < CASE_NUM_MEMBERS; j++)
        for (int64_t width = 1; width < 40; width += 6)
            run_gather(env, case_member_list[j], width, width % 4 == 1, GNT_F32);
    for (int side = 0; side < 2; side++) {
        case_tensor x = case_make(env, 5, 1, 1, 4, 0), y = case_make(env, 2, 1, 1, 4, 0);
        case_bytes at = case_upload(env, outside, sizeof outside);
        const gnt_rows_args args = { .x = x.view[side], .y = y.view[side], .index = at.buf[side] };

        gnt_assert_status(case_outcome(env, side, gnti_gather_rows(env->stream[side], &args)), GNT_ERR_ARG);
        gnt_assert_error_has("row 1", "5 of 5");
        case_reset(env);
    }
}

static void run_bf16_products(case_env *env, case_members mg, int64_t width)
{
    case_graph g;
    case_tensor x = case_make_as(env, GNT_BF16, 50, mg.members, mg.g, width, 3);
    case_tensor w = case_make_as(env, GNT_F32, width, mg.members, 1, 11, 0);
    case_tensor y = case_make_as(env, GNT_BF16, 30, mg.members, mg.g, width, 3);
    case_tensor z = case_make_as(env, GNT_F32, 50, mg.members, 1, 11, 1);

    case_graph_make(&g, 30, 50, 20, 77);
    for (int side = 0; side < 2; side++) {
        gnt_spmm_plan *plan = case_plan(env->stream[side], &g, true, mg.g * width);
        const gnt_spmm_args sp = {
            .x = x.view[side], .y = y.view[side], .alpha = 1.0f, .epilogue = GNT_EPILOGUE_NONE
        };
        const gnt_gemm_args mm = { .a = x.view[side],
                                   .b = w.view[side],
                                   .c = z.view[side],
                                   .alpha = 1.0f,
                                   .epilogue = GNT_EPILOGUE_NONE };

        gnt_assert_ok(gnti_spmm(env->stream[side], plan, &sp));
        gnt_assert_ok(gnti_gemm(env->stream[side], &mm));
        gnti_spmm_plan_free(&plan);
    }
    case_compare(&y, 2e-5, "spmm of bf16"); /* one rounding to 8 bits: 2^-9 relative at most */
    case_compare(&z, 1e-7, "gemm of bf16");
    case_graph_free(&g);
    case_reset(env);
}

void cases_bf16(case_env *env)
{
    for (int kind = GNT_MAP_FILL; kind <= GNT_MAP_DROPOUT; kind++)
        run_map(env, (gnt_map_kind)kind, case_member_list[2], 20, 19, 0, GNT_BF16);
    for (int j = 0; j < CASE_NUM_MEMBERS; j++) {
        run_gather(env, case_member_list[j], 13, j % 2 == 0, GNT_BF16);
        run_bf16_products(env, case_member_list[j], 5 + 8 * j);
    }
}
