/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of largest terms: the kernels of the vector level have the bits of the plain loop, which takes the same call when a scale has a
 * stride. Widths around vectors and tiles, ties, -0, NaN and infinities, a row of 4500 entries, own terms of all kinds.
 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 40, HUB = 5, HUB_ENTRIES = 4500 };

typedef struct world {
    case_graph graph;
    gnt_spmm_plan *plan;
    case_tensor x, y, back, scale[2], self[2], arg; /* [1]: with a stride */
    case_bytes ids;
} world;

static float rough(float value, int64_t row, int64_t column)
{
    const int64_t at = 31 * row + column;

    if (at % 97 == 0)
        return NAN;
    if (at % 89 == 0)
        return -INFINITY;
    if (at % 13 == 0)
        return -0.0f;
    return at % 3 == 0 ? floorf(value * 4.0f) : value;
}

static float scale_of(float value, int64_t row, int64_t column)
{
    (void)value;
    return (row + column) % 4 == 0 ? 1.0f : 0.25f * (float)(row % 7) - 0.5f;
}

static void make_world(case_env *env, world *w, case_members mg, int64_t width)
{
    int64_t degree[ROWS], ids[ROWS];

    for (int64_t r = 0; r < ROWS; r++) {
        degree[r] = r == HUB ? HUB_ENTRIES : (r * 5) % 12;
        ids[r] = 1000 - 7 * r;
    }
    case_graph_degrees(&w->graph, degree, ROWS, ROWS, 5);
    w->plan = case_plan(env->stream[0], &w->graph, width % 2 == 1, 64);
    w->x = case_make(env, ROWS, mg.members, mg.g, width, 1);
    w->y = case_make(env, ROWS, mg.members, mg.g, width, 3);
    w->back = case_make(env, ROWS, mg.members, mg.g, width, 0);
    w->arg = case_make_as(env, GNT_I32, ROWS, mg.members, mg.g, width, 2);
    for (int strided = 0; strided < 2; strided++) {
        w->scale[strided] = case_make(env, ROWS, 1, 1, 1, strided);
        w->self[strided] = case_make(env, ROWS, 1, 1, 1, strided);
        case_apply(&w->scale[strided], scale_of);
        case_apply(&w->self[strided], scale_of);
    }
    case_apply(&w->x, rough);
    w->ids = case_upload(env, ids, sizeof ids);
}

/* Values, winners and gradient; members in one row. */
static void run_both(case_env *env, world *w, gnt_self_kind self, bool by_ids, int strided, float *out[3])
{
    gnt_spmm_args a = { .x = w->x.view[0],
                        .y = w->y.view[0],
                        .reduce = GNT_SPMM_MAX,
                        .self_kind = self,
                        .self = &w->self[strided].view[0],
                        .src_scale = &w->scale[strided].view[0],
                        .arg = &w->arg.view[0],
                        .arg_ids = by_ids ? w->ids.buf[0] : NULL,
                        .alpha = 0.75f,
                        .epilogue = GNT_EPILOGUE_NONE };

    a.epilogue.row_scale = &w->scale[strided].view[0];
    a.epilogue.act = GNT_ACT_LEAKY_RELU;
    a.epilogue.act_alpha = 0.5f;
    gnt_assert_ok(gnti_spmm(env->stream[0], w->plan, &a));
    out[0] = case_values(&w->y, 0, NULL);
    out[1] = case_values(&w->arg, 0, NULL);
    a.reduce = GNT_SPMM_MAX_GRAD;
    a.y = w->back.view[0];
    gnt_assert_ok(gnti_spmm(env->stream[0], w->plan, &a));
    out[2] = case_values(&w->back, 0, NULL);
}

/* Equal bits, but for which NaN it is. */
static bool same(const float *a, const float *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof a[i]) != 0 && !(isnan(a[i]) && isnan(b[i])))
            return false;
    return true;
}

static void run_case(case_env *env, case_members mg, int64_t width)
{
    static const char *const what[] = { "values", "winners", "gradient" };
    world w;

    make_world(env, &w, mg, width);
    for (int k = 0; k < 6; k++) {
        float *kernel[3], *plain[3];

        run_both(env, &w, (gnt_self_kind)(k / 2), k % 2 == 1, 0, kernel);
        run_both(env, &w, (gnt_self_kind)(k / 2), k % 2 == 1, 1, plain);
        for (int i = 0; i < 3; i++) {
            if (!same(kernel[i], plain[i], case_count(&w.y)))
                fail_msg("largest terms of width %lld, M=%d g=%d, self %d%s: %s differ", (long long)width,
                         (int)mg.members, (int)mg.g, k / 2, k % 2 == 1 ? ", by ids" : "", what[i]);
            gnti_free(kernel[i]);
            gnti_free(plain[i]);
        }
    }
    gnti_spmm_plan_free(&w.plan);
    case_graph_free(&w.graph);
    case_reset(env);
}

void cases_max(case_env *env)
{
    static const int64_t widths[] = { 1, 7, 8, 9, 16, 31, 33, 48, 64, 70, 100, 256, 300 };

    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        run_case(env, (case_members){ 1, 1 }, widths[i]);
        if (widths[i] < 100)
            run_case(env, (case_members){ 3, 2 }, widths[i]);
    }
}
