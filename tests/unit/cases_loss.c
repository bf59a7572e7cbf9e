/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of losses (value, gradient, statistics) and optimisers (all kinds, decay, clipping, frozen and broken
 * members). */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    SHARED_WEIGHT = 1,
    CLASS_WEIGHT = 2,
    NO_GRAD = 4,
    IN_PLACE = 8,
    FAR = 16,
    APART = 32,
    APART_SHARED = 64,
    CHUNKS = 128, /* sums over the chunks of a partition */
    MANY_CHUNKS = 300
};

static float some_zero(float value, int64_t r, int64_t c)
{
    (void)c;
    return r % 3 == 1 ? 0.0f : fabsf(value) + 0.25f;
}

static float binary(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value > 0.0f ? 1.0f : 0.0f;
}

static float away_from_zero(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value * value + 0.25f;
}

static float one(float value, int64_t r, int64_t c)
{
    (void)value;
    (void)r;
    (void)c;
    return 1.0f;
}

static float far(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value * 90.0f;
}

/* size: of what a sum that may cancel out is made of. */
static void compare_stats(const case_bytes *stats, int64_t members, double relative, double size)
{
    double *got = case_lock(stats->buf[0]), *want = case_lock(stats->buf[1]);

    for (int64_t i = 0; i < members * 4; i++)
        if (!(fabs(got[i] - want[i]) <= relative * (fabs(want[i]) + size)))
            fail_msg("loss statistics %lld of member %lld: %.17g, want %.17g", (long long)(i % 4),
                     (long long)(i / 4), got[i], want[i]);
    case_unlock(stats->buf[0], got, false);
    case_unlock(stats->buf[1], want, false);
}

static void run_loss(case_env *env, gnt_loss_kind kind, case_members mg, int64_t rows, int64_t classes,
                     unsigned flags)
{
    const int64_t M = mg.members;
    const float hypers[2] = { 0.03125f, 0.7f };
    const double zeros[20] = { 0.0 };
    int64_t chunks[MANY_CHUNKS + 1];
    const gnt_row_tree tree = (flags & CHUNKS) != 0 ? case_chunks(rows, rows > 1000 ? 5 : MANY_CHUNKS, chunks)
                                                    : (gnt_row_tree){ rows, (rows + 1023) / 1024, NULL };
    int32_t *labels = NULL;
    case_tensor z = case_make(env, rows, M, mg.g, classes, 3);
    case_tensor w = case_make(env, rows, (flags & SHARED_WEIGHT) != 0 ? 1 : M, 1, 1, 0);
    case_tensor t = case_make(env, rows, 1, 1, classes, 0), k = case_make(env, 1, M, 1, classes, 0);
    case_tensor grad = case_make(env, rows, M, mg.g, classes, 3), apart = { 0 };
    case_bytes step = case_step(env, M, hypers, 2), stats = case_upload(env, zeros, (size_t)M * 32), at;

    gnt_assert_ok(gnti_alloc_array(&labels, rows));
    for (int64_t r = 0; r < rows; r++)
        labels[r] = r % 3 == 1 ? -1 : (int32_t)((r * 7) % classes); /* rows of weight 0 have no label */
    at = case_upload(env, labels, (size_t)rows * sizeof *labels);
    case_apply(&w, some_zero);
    case_apply(&k, some_zero);
    if (kind == GNT_LOSS_BCE)
        case_apply(&t, binary);
    if ((flags & FAR) != 0)
        case_apply(&z, far);
    if ((flags & APART) != 0)
        apart = case_make(env, rows, (flags & APART_SHARED) != 0 ? 1 : M, 1, classes, 0);
    if ((flags & APART) != 0 && classes == 1)
        case_apply(&apart, one); /* p is 1 too: nothing to divide by */
    for (int side = 0; side < 2; side++) {
        const gnt_loss_args args = { .kind = kind,
                                     .logits = z.view[side],
                                     .weight = w.view[side],
                                     .labels = at.buf[side],
                                     .target = t.view[side],
                                     .class_weight = (flags & CLASS_WEIGHT) != 0 ? &k.view[side] : NULL,
                                     .apart = (flags & APART) != 0 ? &apart.view[side] : NULL,
                                     .norm_hyper = 0,
                                     .apart_hyper = 1,
                                     .grad = (flags & NO_GRAD) != 0    ? NULL
                                             : (flags & IN_PLACE) != 0 ? &z.view[side]
                                                                       : &grad.view[side],
                                     .stats = stats.buf[side],
                                     .step = step.buf[side],
                                     .row_tree = &tree };

        gnt_assert_ok(gnti_loss(env->stream[side], &args));
    }
    compare_stats(&stats, M,
                  env->exact           ? 0.0
                  : (flags & FAR) != 0 ? 1e-5
                                       : 3e-6,
                  (flags & APART) != 0 ? 0.1 : 1e-3);
    case_compare((flags & IN_PLACE) != 0 ? &z : &grad, 1e-7, "gradient of the loss");
    gnti_free(labels);
    case_reset(env);
}

/* Only a softmax stays apart, and only by a hyper. */
static void refused_apart(case_env *env)
{
    const float hypers[1] = { 0.5f };
    const double zeros[4] = { 0.0 };

    for (int side = 0; side < 2; side++) {
        case_tensor z = case_make(env, 2, 1, 1, 3, 0), w = case_make(env, 2, 1, 1, 1, 0);
        case_tensor narrow = case_make(env, 2, 1, 1, 2, 0);
        case_bytes stats = case_upload(env, zeros, sizeof zeros), step = case_step(env, 1, hypers, 1);
        gnt_loss_args args = { .kind = GNT_LOSS_MSE,
                               .logits = z.view[side],
                               .weight = w.view[side],
                               .target = z.view[side],
                               .labels = stats.buf[side],
                               .apart = &z.view[side],
                               .stats = stats.buf[side],
                               .step = step.buf[side] };

        gnt_assert_status(gnti_loss(env->stream[side], &args), GNT_ERR_ARG);
        gnt_assert_error_has("only softmax");
        args.kind = GNT_LOSS_SOFTMAX;
        args.apart = &narrow.view[side];
        gnt_assert_status(gnti_loss(env->stream[side], &args), GNT_ERR_ARG);
        gnt_assert_error_has("apart");
        args.apart = &z.view[side];
        args.apart_hyper = -1;
        gnt_assert_status(gnti_loss(env->stream[side], &args), GNT_ERR_ARG);
        case_reset(env);
    }
}

static void bad_label(case_env *env)
{
    const int32_t labels[2] = { 0, 3 };
    const double zeros[4] = { 0.0 };

    for (int side = 0; side < 2; side++) {
        case_tensor z = case_make(env, 2, 1, 1, 3, 0), w = case_make(env, 2, 1, 1, 1, 0);
        case_bytes at = case_upload(env, labels, sizeof labels),
                   stats = case_upload(env, zeros, sizeof zeros);
        const gnt_loss_args args = {
            .logits = z.view[side], .weight = w.view[side], .labels = at.buf[side], .stats = stats.buf[side]
        };

        gnt_assert_status(case_outcome(env, side, gnti_loss(env->stream[side], &args)), GNT_ERR_ARG);
        gnt_assert_error_has("row 1", "label 3", "0 to 2");
        case_reset(env);
    }
}

void cases_loss(case_env *env)
{
    static const int64_t shapes[][2] = { { 0, 3 },   { 1, 1 },   { 8, 2 },   { 50, 7 },
                                         { 33, 41 }, { 20, 16 }, { 2100, 5 } };

    for (int kind = GNT_LOSS_SOFTMAX; kind <= GNT_LOSS_MSE; kind++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int j = 0; j < CASE_NUM_MEMBERS; j++)
                for (unsigned flags = (unsigned)j % 3; flags < 32; flags += 3)
                    if (shapes[i][0] < 1000 || (flags < 4 && j % 2 == 0))
                        run_loss(env, (gnt_loss_kind)kind, case_member_list[j], shapes[i][0], shapes[i][1],
                                 flags);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int j = 0; j < CASE_NUM_MEMBERS; j++)
            for (unsigned flags = APART + (unsigned)(j + (int)i) % 7; flags < 128; flags += 7)
                if ((flags & APART) != 0 && (shapes[i][0] < 1000 || j < 2))
                    run_loss(env, GNT_LOSS_SOFTMAX, case_member_list[j], shapes[i][0], shapes[i][1], flags);
    for (int kind = GNT_LOSS_SOFTMAX; kind <= GNT_LOSS_MSE; kind++) {
        run_loss(env, (gnt_loss_kind)kind, case_member_list[2], 700, 5, CHUNKS);
        run_loss(env, (gnt_loss_kind)kind, case_member_list[1], 9000, 3, CHUNKS);
    }
    if (!env->exact) /* the processor sums rows that are wider than a tile in double, a GPU does not */
        run_loss(env, GNT_LOSS_SOFTMAX, case_member_list[1], 3, 3000, APART | NO_GRAD);
    refused_apart(env);
    bad_label(env);
}

typedef struct optimizer_case {
    gnt_optimizer_kind kind;
    bool nesterov;
    float momentum, clip;
    bool broken; /* member 1 has an infinite gradient in segment 1 */
    bool frozen; /* member 0 is not live */
} optimizer_case;

static void put_infinity(gnt_buffer *buf, int64_t at)
{
    float *values = case_lock(buf);

    values[at] = INFINITY;
    case_unlock(buf, values, true);
}

/* Member 0 does not live. */
static void freeze(gnt_buffer *step)
{
    void *host = case_lock(step);

    ((uint8_t *)(uintptr_t)gnti_step_live(host))[0] = 0;
    case_unlock(step, host, true);
}

static void run_optimizer(case_env *env, const optimizer_case *k, int64_t M)
{
    static const gnt_param_segment segments[] = {
        { 0, 0, -1 }, { 3, 17, 1 }, { 200, 1, -1 }, { 300, 100, 4 }
    };
    const float hypers[] = { 0.01f, 0.125f, 0.1f, 0.001f, 0.0625f, k->clip };
    int32_t bad[5] = { -1, -1, -1, -1, -1 };
    case_tensor w = case_make(env, 1, 1, 1, 900, 0), g = case_make(env, 1, 1, 1, 900, 0);
    case_tensor m1 = case_make(env, 1, 1, 1, 900, 0), m2 = case_make(env, 1, 1, 1, 900, 0);
    case_bytes step = case_step(env, M, hypers, 6), out = case_upload(env, bad, sizeof bad);

    case_apply(&m2, away_from_zero);
    for (int side = 0; side < 2; side++) {
        const gnt_optimizer_args args = { .kind = k->kind,
                                          .nesterov = k->nesterov,
                                          .beta1 = k->kind == GNT_OPTIMIZER_SGD ? (double)k->momentum : 0.9,
                                          .beta2 = 0.999,
                                          .eps = 1e-8,
                                          .weights = w.view[side].buf,
                                          .grads = g.view[side].buf,
                                          .moment1 = m1.view[side].buf,
                                          .moment2 = m2.view[side].buf,
                                          .segments = segments,
                                          .num_segments = 4,
                                          .num_members = (int32_t)M,
                                          .lr_hyper = 0,
                                          .corr1_hyper = 2,
                                          .corr2_hyper = 3,
                                          .clip_hyper = k->clip > 0.0f ? 5 : -1,
                                          .step = step.buf[side],
                                          .bad = out.buf[side] };

        if (k->broken && M > 1)
            put_infinity(args.grads, 3 + 17 + 5);
        if (k->frozen)
            freeze(step.buf[side]);
        gnt_assert_ok(gnti_optimizer_step(env->stream[side], &args));
    }
    case_compare(&w, 1e-11, "weights"); /* a change of 1e-2 with a relative error of 1e-4 would show */
    case_compare(&m1, 1e-11, "first moments");
    case_compare(&m2, 1e-11, "second moments");
    int32_t *got = case_lock(out.buf[0]), *want = case_lock(out.buf[1]);

    gnt_assert_same_i32(got, want, 5);
    if (k->broken && M > 1)
        assert_int_equal(got[1], 2);
    case_unlock(out.buf[0], got, false);
    case_unlock(out.buf[1], want, false);
    case_reset(env);
}

void cases_optimizer(case_env *env)
{
    static const int64_t member_counts[] = { 1, 3, 5 };

    for (int m = 0; m < 3; m++)
        for (int bits = 0; bits < 32; bits++)
            for (int kind = GNT_OPTIMIZER_SGD; kind <= GNT_OPTIMIZER_ADAMW; kind++) {
                const optimizer_case k = { .kind = (gnt_optimizer_kind)kind,
                                           .nesterov = (bits & 1) != 0,
                                           .momentum = (bits & 2) != 0 ? 0.9f : 0.0f,
                                           .clip = (bits & 4) != 0 ? 0.5f : 0.0f,
                                           .broken = (bits & 8) != 0,
                                           .frozen = (bits & 16) != 0 };

                run_optimizer(env, &k, member_counts[m]);
            }
}
