/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of batch and layer norm, forward and backward, with and without scale, in and outside training. */
#include "cases.h"

#include <stdio.h>

static float positive(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value * 0.5f + 1.0f;
}

typedef struct norm_tensors {
    case_tensor x, y, gamma, beta, mean, rstd, running_mean, running_var, dy, dx, dgamma, dbeta;
} norm_tensors;

static norm_tensors make_tensors(case_env *env, gnt_norm_kind kind, int64_t rows, int64_t width,
                                 case_members mg)
{
    const int64_t M = mg.members, g = mg.g, stat_rows = kind == GNT_NORM_BATCH ? 1 : rows;
    const int64_t stat_width = kind == GNT_NORM_BATCH ? width : 1, pad = width % 2;
    norm_tensors t = { .x = case_make(env, rows, M, g, width, pad),
                       .y = case_make(env, rows, M, g, width, pad),
                       .gamma = case_make(env, 1, M, 1, width, 0),
                       .beta = case_make(env, 1, M, 1, width, 0),
                       .mean = case_make(env, stat_rows, M, 1, stat_width, 0),
                       .rstd = case_make(env, stat_rows, M, 1, stat_width, 0),
                       .running_mean = case_make(env, 1, M, 1, width, 0),
                       .running_var = case_make(env, 1, M, 1, width, 0),
                       .dy = case_make(env, rows, M, g, width, pad),
                       .dx = case_make(env, rows, M, g, width, pad),
                       .dgamma = case_make(env, 1, M, 1, width, 0),
                       .dbeta = case_make(env, 1, M, 1, width, 0) };

    case_apply(&t.running_var, positive);
    return t;
}

static gnt_norm_args make_args(const norm_tensors *t, int side, gnt_norm_kind kind, bool training,
                               bool affine, const gnt_row_tree *tree)
{
    gnt_norm_args a = { .kind = kind,
                        .training = training,
                        .x = t->x.view[side],
                        .y = t->y.view[side],
                        .mean = t->mean.view[side],
                        .rstd = t->rstd.view[side],
                        .running_mean = kind == GNT_NORM_BATCH ? &t->running_mean.view[side] : NULL,
                        .running_var = kind == GNT_NORM_BATCH ? &t->running_var.view[side] : NULL,
                        .momentum = 0.125f,
                        .eps = 1e-5f,
                        .dy = t->dy.view[side],
                        .dx = t->dx.view[side],
                        .row_tree = tree };

    if (affine) {
        a.gamma = t->gamma.view[side];
        a.beta = t->beta.view[side];
        a.dgamma = t->dgamma.view[side];
        a.dbeta = t->dbeta.view[side];
    }
    return a;
}

enum { MANY_CHUNKS = 300 };

static void run_case(case_env *env, gnt_norm_kind kind, int64_t rows, int64_t width, case_members mg,
                     unsigned flags)
{
    const bool training = (flags & 1) != 0, affine = (flags & 2) != 0;
    int64_t chunks[MANY_CHUNKS + 1];
    const gnt_row_tree tree = (flags & 8) != 0 ? case_chunks(rows, MANY_CHUNKS, chunks)
                                               : (gnt_row_tree){ rows, (rows + 1023) / 1024, NULL };
    const float momentum[2] = { 0.0f, 0.0f }; /* of member m: 0.03125 m, so member 0 keeps its statistics */
    case_bytes step = case_step(env, mg.members, momentum, 2);
    norm_tensors t = make_tensors(env, kind, rows, width, mg);

    for (int side = 0; side < 2; side++) {
        gnt_norm_args a = make_args(&t, side, kind, training, affine, &tree);

        if ((flags & 16) != 0) {
            a.step = step.buf[side];
            a.momentum_hyper = 1;
        }
        gnt_assert_ok(gnti_norm(env->stream[side], &a));
        a.backward = true;
        a.accumulate_dx = (flags & 4) != 0;
        gnt_assert_ok(gnti_norm(env->stream[side], &a));
    }
    case_compare(&t.y, 1e-7, "norm y");
    if (training || kind == GNT_NORM_LAYER) {
        case_compare(&t.mean, 1e-7, "norm mean");
        case_compare(&t.rstd, 1e-7, "norm rstd");
    }
    case_compare(&t.running_mean, 1e-7, "norm running mean");
    case_compare(&t.running_var, 1e-7, "norm running var");
    case_compare(&t.dx, 1e-7, "norm dx");
    case_compare(&t.dgamma, 1e-7, "norm dgamma");
    case_compare(&t.dbeta, 1e-7, "norm dbeta");
    case_reset(env);
}

/* At least 5 rows: of 2, the gradient of a batch norm is 0 but for rounding. */
void cases_norm(case_env *env)
{
    static const int64_t shapes[][2] = { { 5, 1 }, { 6, 7 }, { 50, 16 }, { 41, 33 } };

    for (int kind = 0; kind < 2; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int j = 0; j < CASE_NUM_MEMBERS; j++)
                for (unsigned flags = 0; flags < 8; flags++)
                    if (kind == 0 || shapes[i][1] > 1)
                        run_case(env, kind == 0 ? GNT_NORM_BATCH : GNT_NORM_LAYER, shapes[i][0], shapes[i][1],
                                 case_member_list[j], flags);
    run_case(env, GNT_NORM_BATCH, 1500, 6, case_member_list[2], 7);
    run_case(env, GNT_NORM_BATCH, 700, 6, case_member_list[2], 7 | 8); /* 8: over the chunks of a partition */
    run_case(env, GNT_NORM_LAYER, 700, 6, case_member_list[2], 7 | 8);
    for (int j = 0; j < CASE_NUM_MEMBERS; j++)
        run_case(env, GNT_NORM_BATCH, 50, 7, case_member_list[j], 7 | 16); /* 16: a momentum of each member */
}
