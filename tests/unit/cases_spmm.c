/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the sparse product: every width up to beyond a tile, self terms, scales, weights, largest term,
 * row ranges, epilogues, rows at the borders of 4096 entries. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

enum {
    WEIGHT_PLAN = 1,
    WEIGHT_ARC = 2,
    SCALE_SOURCE = 4,
    SELF_ONE = 8,
    SELF_VECTOR = 16,
    SCALE_ROW = 32,
    BETA = 64
};

typedef struct spmm_case {
    const case_graph *graph;
    int64_t width, pad;
    case_members mg;
    unsigned flags;
    bool shared_x, max;
    const gnt_epilogue *epilogue[2]; /* NULL: none */
} spmm_case;

/* A product that a device may leave to a library, whose order of sums is its own. */
static bool is_plain_product(const spmm_case *k)
{
    return !k->max && (k->flags & WEIGHT_PLAN) != 0 &&
           (k->flags & (WEIGHT_ARC | SCALE_SOURCE | SELF_ONE | SELF_VECTOR)) == 0;
}

static void run_case(case_env *env, const spmm_case *k)
{
    const bool exact = env->exact;

    const case_graph *g = k->graph;
    char what[160];
    case_tensor x = case_make(env, g->num_cols, k->shared_x ? 1 : k->mg.members, k->shared_x ? 1 : k->mg.g,
                              k->width, 2 * k->pad);
    case_tensor y = case_make(env, g->num_rows, k->mg.members, k->mg.g, k->width, k->pad);
    case_tensor self = case_make(env, g->num_rows, 1, 1, 1, 0),
                scale = case_make(env, g->num_cols, 1, 1, 1, 0);
    case_tensor row = case_make(env, g->num_rows, 1, 1, 1, 0);
    case_tensor arc = case_make(env, g->num_arcs, k->mg.members, 1, 1, 0);

    for (int side = 0; side < 2; side++) {
        gnt_spmm_plan *plan =
            case_plan(env->stream[side], g, (k->flags & WEIGHT_PLAN) != 0, k->mg.g * k->width);
        gnt_spmm_args args = { .x = x.view[side],
                               .y = y.view[side],
                               .reduce = k->max ? GNT_SPMM_MAX : GNT_SPMM_SUM,
                               .alpha = (k->flags & BETA) != 0 ? 0.75f : 1.0f,
                               .beta = (k->flags & BETA) != 0 ? 0.5f : 0.0f,
                               .epilogue = GNT_EPILOGUE_NONE };

        if (k->epilogue[side] != NULL)
            args.epilogue = *k->epilogue[side];
        if ((k->flags & (SELF_ONE | SELF_VECTOR)) != 0)
            args.self_kind = (k->flags & SELF_ONE) != 0 ? GNT_SELF_ONE : GNT_SELF_VECTOR;
        args.self = args.self_kind == GNT_SELF_VECTOR ? &self.view[side] : NULL;
        args.src_scale = (k->flags & SCALE_SOURCE) != 0 ? &scale.view[side] : NULL;
        args.arc_weight = (k->flags & WEIGHT_ARC) != 0 ? &arc.view[side] : NULL;
        if ((k->flags & SCALE_ROW) != 0)
            args.epilogue.row_scale = &row.view[side];
        gnt_assert_ok(gnti_spmm(env->stream[side], plan, &args));
        gnti_spmm_plan_free(&plan);
    }
    snprintf(what, sizeof what, "spmm %lldx%lld width %lld M=%d g=%d flags %u%s", (long long)g->num_rows,
             (long long)g->num_cols, (long long)k->width, (int)k->mg.members, (int)k->mg.g, k->flags,
             k->max ? " max" : "");
    env->exact = exact && !is_plain_product(k);
    case_compare(&y, 1e-7, what);
    env->exact = exact;
    case_reset(env);
}

/* Every `stride`-th width, each with the plain product or another form of it. */
static void widths(case_env *env, const case_graph *g, int64_t stride)
{
    static const unsigned flags[] = { 0,
                                      WEIGHT_PLAN,
                                      SCALE_SOURCE | SELF_ONE | SCALE_ROW,
                                      WEIGHT_ARC | SELF_VECTOR,
                                      WEIGHT_PLAN | SCALE_SOURCE | SELF_VECTOR | BETA,
                                      BETA | SCALE_ROW };

    for (int64_t width = 1; width <= 300; width += stride * (width < 70 ? 1 : 19))
        for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
            const spmm_case k = {
                .graph = g, .width = width, .pad = width % 3 == 0 ? 0 : 5, .mg = { 1, 1 }, .flags = flags[f]
            };

            if (f == 0 || (width + (int64_t)f) % 5 == 0)
                run_case(env, &k);
        }
}

/* Every pair of members, width and flags; a graph of a few arcs gets every `stride`-th. */
static void members(case_env *env, const case_graph *g, int turn, int stride)
{
    static const int64_t width_list[] = { 1, 3, 8, 16, 21, 40 };

    for (int j = 0; j < CASE_NUM_MEMBERS; j++)
        for (int f = 0; f < 7; f++) {
            spmm_case k = { .graph = g,
                            .width = width_list[(j + f + turn) % 6],
                            .pad = 4,
                            .mg = case_member_list[j],
                            .flags = 21u * (unsigned)f,
                            .shared_x = f % 2 == 1 };

            if ((k.flags & WEIGHT_PLAN) != 0)
                k.flags &= ~(unsigned)WEIGHT_ARC;
            if ((k.flags & SELF_ONE) != 0)
                k.flags &= ~(unsigned)SELF_VECTOR;
            if ((j + f) % stride != 0)
                continue;
            run_case(env, &k);
            k.max = true;
            run_case(env, &k);
        }
}

void cases_spmm(case_env *env)
{
    static const int64_t shapes[][3] = { { 0, 0, 0 }, { 1, 1, 0 }, { 1, 1, 1 }, { 3, 5, 2 }, { 40, 60, 30 } };
    case_graph g;

    for (int i = 0; i < 5; i++) {
        case_graph_make(&g, shapes[i][0], shapes[i][1], shapes[i][2], 5 + (uint64_t)i);
        widths(env, &g, i == 4 ? 1 : 7);
        members(env, &g, i, i == 4 ? 1 : 3);
        case_graph_free(&g);
    }
}

/* Rows of 4095, 4096, 4097, 3 * 4096 and 5 * 4096 + 1 entries beside empty and short ones; a star. */
void cases_spmm_hubs(case_env *env)
{
    static const int64_t degrees[] = { 3, 4095, 0, 4096, 4097, 1, 12288, 20481, 0, 2 };
    static const int64_t width_list[] = { 1, 16, 37, 64, 272 };
    case_graph g;
    int64_t star[64];

    case_graph_degrees(&g, degrees, 10, 500, 3);
    for (size_t w = 0; w < sizeof width_list / sizeof *width_list; w++)
        for (unsigned flags = 0; flags < 3; flags++) {
            const spmm_case k = { .graph = &g,
                                  .width = width_list[w],
                                  .pad = 3,
                                  .mg = { 1, 1 },
                                  .flags = flags == 0   ? 0u
                                           : flags == 1 ? WEIGHT_PLAN | SCALE_ROW
                                                        : SELF_ONE | BETA };

            run_case(env, &k);
        }
    case_graph_free(&g);
    for (int i = 0; i < 64; i++)
        star[i] = i == 0 ? 63 : 1;
    case_graph_degrees(&g, star, 64, 64, 4);
    run_case(env, &(spmm_case){ .graph = &g, .width = 24, .mg = { 3, 2 }, .flags = SELF_ONE | SCALE_ROW });
    case_graph_free(&g);
}

typedef struct epilogue_parts {
    case_tensor bias, gate;
    case_bytes step, ids;
} epilogue_parts;

static float relu_like(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value < 0.0f ? 0.0f : value;
}

/* The gate is what an earlier activation and dropout stored: zero where it was dropped. */
static void drop_gate(case_env *env, epilogue_parts *p)
{
    for (int side = 0; side < 2; side++) {
        const gnt_map_args args = { .kind = GNT_MAP_DROPOUT,
                                    .a = p->gate.view[side],
                                    .y = p->gate.view[side],
                                    .dropout = { .hyper = 0, .ordinal = 2 },
                                    .step = p->step.buf[side] };

        gnt_assert_ok(gnti_map(env->stream[side], &args));
    }
}

static gnt_epilogue make_epilogue(const epilogue_parts *p, int side, unsigned bits, gnt_activation act)
{
    gnt_epilogue e = GNT_EPILOGUE_NONE;

    e.step = p->step.buf[side];
    e.act_alpha = 0.25f;
    e.gate_alpha = 0.25f;
    if ((bits & 1) != 0)
        e.bias = &p->bias.view[side];
    if ((bits & 2) != 0)
        e.act = act;
    if ((bits & 4) != 0)
        e.dropout = (gnt_dropout){ .hyper = 1, .ordinal = 3, .row_ids = p->ids.buf[side] };
    if ((bits & 8) != 0) {
        e.gate = &p->gate.view[side];
        e.gate_act = act;
    }
    if ((bits & 16) != 0 && (bits & 8) != 0)
        e.gate_dropout = (gnt_dropout){ .hyper = 0, .ordinal = 2 };
    return e;
}

/* All combinations of bias, activation, dropout, gate and its dropout, for spmm and gemm alike. */
void cases_spmm_epilogue(case_env *env)
{
    static const gnt_activation acts[] = { GNT_ACT_RELU, GNT_ACT_ELU, GNT_ACT_LEAKY_RELU, GNT_ACT_SIGMOID,
                                           GNT_ACT_TANH };
    static const int64_t width_list[] = { 1, 7, 16, 33 };
    const float hypers[2] = { 0.5f, 0.25f };
    int64_t ids[40];
    case_graph g;

    case_graph_make(&g, 40, 60, 30, 9);
    for (int i = 0; i < 40; i++)
        ids[i] = 1000003LL * i + (1LL << 33);
    for (unsigned bits = 1; bits < 32; bits++)
        for (int j = 0; j < CASE_NUM_MEMBERS; j++) {
            const case_members mg = case_member_list[j];
            const int64_t width = width_list[(bits + (unsigned)j) % 4];
            const gnt_activation act = acts[(bits + (unsigned)j) % 5];
            epilogue_parts p = { .bias = case_make(env, 1, mg.members, 1, width, 0),
                                 .gate = case_make(env, 40, mg.members, mg.g, width, 2),
                                 .step = case_step(env, mg.members, hypers, 2),
                                 .ids = case_upload(env, ids, sizeof ids) };
            gnt_epilogue e[2];
            spmm_case k = {
                .graph = &g, .width = width, .pad = 3, .mg = mg, .flags = bits % 2 ? SCALE_ROW : 0
            };

            if (act == GNT_ACT_RELU)
                case_apply(&p.gate, relu_like);
            if ((bits & 16) != 0)
                drop_gate(env, &p);
            for (int side = 0; side < 2; side++) {
                e[side] = make_epilogue(&p, side, bits, act);
                k.epilogue[side] = &e[side];
            }
            run_case(env, &k);
        }
    case_graph_free(&g);
}
