/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of chains: the backward pass of a layer (aggregate, two weight gradients, a gated product, a bias gradient) and a
 * forward one with dropout, as one chain, beside the oracle's ops one after another; and bit by bit beside the tested
 * backend's own ops one after another; and the same bits in three goes, two with rows that are ready and one with the rest. Few rows, which go op by op, rows around the ends of blocks of 1024, several groups of blocks, a row of 5000 entries.
 */
#include "cases.h"

#include <stdio.h>
#include <string.h>

enum { IN = 20, MID = 33, OUT = 7, NUM_OPS = 7, NUM_RESULTS = 6 };

typedef struct world {
    case_tensor x, h, g, w1, w2, t, dh, dw1, dw2, db, sum, scale;
    case_bytes step, ids;
    case_graph graph;
    gnt_spmm_plan *plan[2];
} world;

typedef struct ops {
    gnt_gemm_args forward, dw2, dh, dw1;
    gnt_spmm_args spmm;
    gnt_reduce_args db;
    gnt_map_args map;
    gnt_row_tree tree;
    gnt_chain_op list[NUM_OPS];
} ops;

static void make_world(case_env *env, world *w, int64_t rows, case_members mg)
{
    static const float hypers[1] = { 0.4f };
    const int64_t m = mg.members;
    int64_t *degree = NULL, *id = NULL;

    gnt_assert_ok(gnti_alloc_array(&degree, rows + 1));
    gnt_assert_ok(gnti_alloc_array(&id, rows + 1));
    for (int64_t r = 0; r < rows; r++) {
        degree[r] = r == 3 && rows > 1500 ? 5000 : (r * 7) % 11;
        id[r] = 3 * r + 1;
    }
    case_graph_degrees(&w->graph, degree, rows, rows, 5);
    w->x = case_make(env, rows, 1, 1, IN, 0);
    w->h = case_make(env, rows, m, mg.g, MID, 3);
    w->g = case_make(env, rows, m, mg.g, OUT, 0);
    w->t = case_make(env, rows, m, mg.g, OUT, 0);
    w->dh = case_make(env, rows, m, mg.g, MID, 3);
    w->w1 = case_make(env, IN, m, 1, MID, 0);
    w->w2 = case_make(env, MID, m, 1, OUT, 0);
    w->dw1 = case_make(env, IN, m, 1, MID, 0);
    w->dw2 = case_make(env, MID, m, 1, OUT, 0);
    w->db = case_make(env, 1, m, 1, MID, 0);
    w->sum = case_make(env, rows, m, mg.g, MID, 3);
    w->scale = case_make(env, rows, 1, 1, 1, 0);
    w->step = case_step(env, m, hypers, 1);
    w->ids = case_upload(env, id, (size_t)(rows + 1) * sizeof *id);
    for (int side = 0; side < 2; side++)
        w->plan[side] = case_plan(env->stream[side], &w->graph, false, 64);
    gnti_free(degree);
    gnti_free(id);
}

static void free_world(case_env *env, world *w)
{
    gnti_spmm_plan_free(&w->plan[0]);
    gnti_spmm_plan_free(&w->plan[1]);
    case_graph_free(&w->graph);
    case_reset(env);
}

static void make_ops(const world *w, int side, bool with_ids, ops *o)
{
    const gnt_dropout drop = { .hyper = 0, .ordinal = 2, .row_ids = with_ids ? w->ids.buf[side] : NULL };
    const gnt_buffer *step = w->step.buf[side];

    memset(o, 0, sizeof *o);
    o->tree =
        (gnt_row_tree){ w->h.view[side].rows, gnti_ceil_div(w->h.view[side].rows, GNTI_TREE_ROWS), NULL };
    o->forward =
        (gnt_gemm_args){ .a = w->x.view[side], .b = w->w1.view[side], .c = w->h.view[side], .alpha = 1.0f };
    o->forward.epilogue = GNT_EPILOGUE_NONE;
    o->forward.epilogue.row_scale = &w->scale.view[side];
    o->forward.epilogue.act = GNT_ACT_RELU;
    o->forward.epilogue.dropout = drop;
    o->forward.epilogue.step = step;
    o->spmm = (gnt_spmm_args){
        .x = w->g.view[side], .y = w->t.view[side], .self_kind = GNT_SELF_ONE, .alpha = 0.5f
    };
    o->spmm.epilogue = GNT_EPILOGUE_NONE;
    o->spmm.epilogue.row_scale = &w->scale.view[side];
    o->dw2 = (gnt_gemm_args){ .a = w->h.view[side],
                              .b = w->t.view[side],
                              .c = w->dw2.view[side],
                              .trans_a = true,
                              .alpha = 2.0f,
                              .row_tree = &o->tree,
                              .epilogue = GNT_EPILOGUE_NONE };
    o->dh = (gnt_gemm_args){
        .a = w->t.view[side], .b = w->w2.view[side], .c = w->dh.view[side], .trans_b = true, .alpha = 1.0f
    };
    o->dh.epilogue = GNT_EPILOGUE_NONE;
    o->dh.epilogue.gate = &w->h.view[side];
    o->dh.epilogue.gate_act = GNT_ACT_RELU;
    o->dh.epilogue.gate_dropout = drop;
    o->dh.epilogue.step = step;
    o->dw1 = (gnt_gemm_args){ .a = w->x.view[side],
                              .b = w->dh.view[side],
                              .c = w->dw1.view[side],
                              .trans_a = true,
                              .alpha = 1.0f,
                              .row_tree = &o->tree,
                              .epilogue = GNT_EPILOGUE_NONE };
    o->db = (gnt_reduce_args){
        .kind = GNT_REDUCE_SUM_ROWS, .a = w->dh.view[side], .y = w->db.view[side], .row_tree = &o->tree
    };
    o->map = (gnt_map_args){ .kind = GNT_MAP_ADD,
                             .a = w->h.view[side],
                             .b = w->dh.view[side],
                             .y = w->sum.view[side],
                             .alpha = 1.0f,
                             .beta = -2.0f,
                             .dropout = { .hyper = -1 } };
    o->list[0] = (gnt_chain_op){ .kind = GNTI_OP_GEMM, .a.gemm = &o->forward };
    o->list[1] = (gnt_chain_op){ .kind = GNTI_OP_SPMM, .plan = w->plan[side], .a.spmm = &o->spmm };
    o->list[2] = (gnt_chain_op){ .kind = GNTI_OP_GEMM, .a.gemm = &o->dw2 };
    o->list[3] = (gnt_chain_op){ .kind = GNTI_OP_GEMM, .a.gemm = &o->dh };
    o->list[4] = (gnt_chain_op){ .kind = GNTI_OP_GEMM, .a.gemm = &o->dw1 };
    o->list[5] = (gnt_chain_op){ .kind = GNTI_OP_REDUCE, .a.reduce = &o->db };
    o->list[6] = (gnt_chain_op){ .kind = GNTI_OP_MAP, .a.map = &o->map };
}

static void run_alone(gnt_stream *s, const ops *o)
{
    gnt_assert_ok(gnti_gemm(s, &o->forward));
    gnt_assert_ok(gnti_spmm(s, o->list[1].plan, &o->spmm));
    gnt_assert_ok(gnti_gemm(s, &o->dw2));
    gnt_assert_ok(gnti_gemm(s, &o->dh));
    gnt_assert_ok(gnti_gemm(s, &o->dw1));
    gnt_assert_ok(gnti_reduce(s, &o->db));
    gnt_assert_ok(gnti_map(s, &o->map));
}

/* ---- in several goes ----------------------------------------------------------------------------------------------- */

enum { NUM_GOES = 3 };

/* Which go row r belongs to: block 0 late, every third block early as a whole, the others mixed. */
static int go_of(int64_t r, int64_t rows)
{
    const int64_t block = r / GNTI_TREE_ROWS, half = rows / 2 / GNTI_TREE_ROWS;

    if (block == 0 || (block % 3 != 1 && r % 5 == 0))
        return 2;
    return block >= half;
}

static gnt_spmm_plan *list_plan(gnt_stream *s, const case_graph *g, int go, int32_t *list)
{
    gnt_spmm_plan *plan = NULL;
    gnt_spmm_plan_args args = { .num_rows = g->num_rows,
                                .num_cols = g->num_cols,
                                .num_arcs = g->num_arcs,
                                .offsets = g->offsets,
                                .columns = g->columns,
                                .end_row = g->num_rows,
                                .rows = list,
                                .max_width = 64 };

    for (int64_t r = 0; r < g->num_rows; r++)
        if (go_of(r, g->num_rows) == go)
            list[args.num_listed++] = (int32_t)r;
    gnt_assert_ok(gnti_spmm_plan_create(s, &args, &plan));
    return plan;
}

/* Product, row ops, sums: in three goes, from results that are no numbers. */
static void run_goes(case_env *env, world *w, bool with_ids)
{
    static const int order[] = { 1, 3, 6, 2, 4, 5 };
    enum { NUM = sizeof order / sizeof order[0] };
    static const gnt_chain_go go[NUM_GOES] = { GNT_CHAIN_EARLY, GNT_CHAIN_EARLY, GNT_CHAIN_LATE };
    const case_tensor *written[] = { &w->t, &w->dh, &w->sum, &w->dw1, &w->dw2, &w->db };
    gnt_spmm_plan *plan[NUM_GOES];
    int32_t *list[NUM_GOES];
    gnt_chain_op split[NUM];
    ops o;

    make_ops(w, 0, with_ids, &o);
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        gnt_buffer *buf = written[i]->view[0].buf;

        void *host = case_lock(buf);

        memset(host, 0xff, ((const gnti_buffer_head *)buf)->bytes);
        case_unlock(buf, host, true);
    }
    for (int i = 0; i < NUM; i++)
        split[i] = o.list[order[i]];
    for (int i = 0; i < NUM_GOES; i++) {
        gnt_assert_ok(gnti_alloc_array(&list[i], w->graph.num_rows + 1));
        plan[i] = list_plan(env->stream[0], &w->graph, i, list[i]);
    }
    for (int i = 0; i < NUM_GOES; i++) {
        split[0].plan = plan[i];
        gnt_assert_ok(gnti_chain(env->stream[0], &(gnt_chain_args){ split, NUM, w->graph.num_rows, go[i] }));
    }
    for (int i = 0; i < NUM_GOES; i++) {
        gnti_spmm_plan_free(&plan[i]);
        gnti_free(list[i]);
    }
}

static void run_case(case_env *env, int64_t rows, case_members mg, bool with_ids)
{
    world w;
    ops o;
    char what[96];

    make_world(env, &w, rows, mg);
    const case_tensor *results[NUM_RESULTS] = { &w.h, &w.t, &w.dw1, &w.dw2, &w.db, &w.sum };
    float *chained[NUM_RESULTS];

    for (int side = 0; side < 2; side++) {
        const gnt_chain_args args = { o.list, NUM_OPS, rows, GNT_CHAIN_WHOLE };

        make_ops(&w, side, with_ids, &o);
        gnt_assert_ok(gnti_chain(env->stream[side], &args));
    }
    for (int i = 0; i < NUM_RESULTS; i++) {
        snprintf(what, sizeof what, "chain of %lld rows, M=%d g=%d, result %d", (long long)rows,
                 (int)mg.members, (int)mg.g, i);
        case_compare(results[i], 1e-7, what);
        chained[i] = case_values(results[i], 0, NULL);
    }
    /* once more op by op */
    make_ops(&w, 0, with_ids, &o);
    run_alone(env->stream[0], &o);
    for (int i = 0; i < NUM_RESULTS; i++) {
        float *alone = case_values(results[i], 0, NULL);

        assert_memory_equal(chained[i], alone, (size_t)case_count(results[i]) * sizeof *alone);
        gnti_free(alone);
    }
    run_goes(env, &w, with_ids);
    for (int i = 0; i < NUM_RESULTS; i++) {
        float *goes = case_values(results[i], 0, NULL);

        if (memcmp(chained[i], goes, (size_t)case_count(results[i]) * sizeof *goes) != 0)
            fail_msg("chain of %lld rows in several goes, M=%d g=%d: result %d differs", (long long)rows,
                     (int)mg.members, (int)mg.g, i);
        gnti_free(goes);
        gnti_free(chained[i]);
    }
    free_world(env, &w);
}

void cases_chain(case_env *env)
{
    static const int64_t sizes[] = { 0, 1, 1025, 12289, 13312 };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        run_case(env, sizes[i], (case_members){ 1, 1 }, false);
        run_case(env, sizes[i], (case_members){ 3, 2 }, true);
    }
    run_case(env, 20000, (case_members){ 1, 1 }, true);
}
