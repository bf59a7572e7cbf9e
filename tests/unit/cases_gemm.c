/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the matrix product: transposes, block sizes on either side, shared operands, beta, epilogues, the
 * tree of sums over rows. Bound: float32 sums of up to a few thousand terms against double, NMSE 1e-7. */
#include "cases.h"

#include <stdio.h>

typedef struct gemm_case {
    int64_t rows, inner, cols;
    bool trans_a, trans_b, shared_a, shared_b;
    float alpha, beta;
} gemm_case;

static case_tensor operand(case_env *env, case_members mg, bool shared, int64_t rows, int64_t width,
                           int64_t pad)
{
    return case_make(env, rows, shared ? 1 : mg.members, shared ? 1 : mg.g, width, pad);
}

static void run_case(case_env *env, const gemm_case *k, case_members a_g, case_members c_g,
                     const gnt_row_tree *tree)
{
    char what[160];
    const int64_t pad = k->cols % 2 == 0 ? 3 : 0;
    const case_members b_g = { c_g.members, 1 };
    case_tensor a =
        operand(env, a_g, k->shared_a, k->trans_a ? k->inner : k->rows, k->trans_a ? k->rows : k->inner, pad);
    case_tensor b =
        operand(env, b_g, k->shared_b, k->trans_b ? k->cols : k->inner, k->trans_b ? k->inner : k->cols, 0);
    case_tensor c = case_make(env, k->rows, c_g.members, c_g.g, k->cols, pad);

    for (int side = 0; side < 2; side++) {
        const gnt_gemm_args args = { .a = a.view[side],
                                     .b = b.view[side],
                                     .c = c.view[side],
                                     .trans_a = k->trans_a,
                                     .trans_b = k->trans_b,
                                     .alpha = k->alpha,
                                     .beta = k->beta,
                                     .row_tree = tree,
                                     .epilogue = GNT_EPILOGUE_NONE };

        gnt_assert_ok(gnti_gemm(env->stream[side], &args));
    }
    snprintf(what, sizeof what, "gemm %lldx%lldx%lld%s%s M=%d g=%d/%d beta=%g", (long long)k->rows,
             (long long)k->inner, (long long)k->cols, k->trans_a ? " At" : "", k->trans_b ? " Bt" : "",
             (int)c_g.members, (int)a_g.g, (int)c_g.g, (double)k->beta);
    case_compare(&c, 1e-7, what);
    case_reset(env);
}

static void sizes_and_flags(case_env *env, const int64_t size[3], int flags, int j)
{
    const case_members mg = case_member_list[j], other = { mg.members, mg.members };
    const gemm_case k = { .rows = size[0],
                          .inner = size[1],
                          .cols = size[2],
                          .trans_a = (flags & 1) != 0,
                          .trans_b = (flags & 2) != 0,
                          .shared_a = (flags & 4) != 0,
                          .shared_b = (flags & 4) == 0 && j % 2 == 1,
                          .alpha = (flags & 8) != 0 ? 1.5f : 1.0f,
                          .beta = (flags & 8) != 0 ? 0.5f : 0.0f };

    run_case(env, &k, mg, other, NULL);
    if (j != 0)
        run_case(env, &k, other, mg, NULL);
}

void cases_gemm(case_env *env)
{
    static const int64_t small[][3] = { { 0, 4, 4 }, { 4, 0, 3 }, { 1, 1, 1 }, { 7, 5, 3 }, { 33, 17, 9 } };
    static const int64_t large[][3] = { { 130, 64, 16 }, { 5, 300, 41 }, { 300, 20, 70 }, { 40, 30, 530 } };

    for (int flags = 0; flags < 16; flags++) {
        for (size_t i = 0; i < sizeof small / sizeof *small; i++)
            for (int j = 0; j < CASE_NUM_MEMBERS; j++)
                sizes_and_flags(env, small[i], flags, j);
        for (size_t i = 0; i < sizeof large / sizeof *large; i++)
            sizes_and_flags(env, large[i], flags, flags % 4 == 0 ? 0 : 2);
    }
}

void cases_gemm_tree(case_env *env)
{
    static const int64_t rows[] = { 1, 1023, 1024, 1025, 3000, 7 * 1024 + 5 };
    static const int64_t chunks[] = { 0, 100, 100, 1500, 3000 };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int j = 0; j < CASE_NUM_MEMBERS; j++) {
            const gnt_row_tree tree = { rows[i], (rows[i] + 1023) / 1024, NULL };
            const gemm_case k = { .rows = 5,
                                  .inner = rows[i],
                                  .cols = 9,
                                  .trans_a = true,
                                  .alpha = 1.0f,
                                  .beta = j % 2 == 0 ? 0.0f : 1.0f,
                                  .shared_a = j == 3 };

            run_case(env, &k, case_member_list[j], case_member_list[j], &tree);
        }
    {
        const gnt_row_tree tree = { 3000, 4, chunks };
        const gemm_case k = { .rows = 17, .inner = 3000, .cols = 8, .trans_a = true, .alpha = 2.0f };

        run_case(env, &k, case_member_list[2], case_member_list[2], &tree);
    }
}
