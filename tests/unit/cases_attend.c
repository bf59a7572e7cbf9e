/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of attention and its two backward passes: heads and widths around every vector length, rows without arcs, bipartite
 * blocks, hubs at the borders of 4096 entries, scores of one sign, dropout of arcs with ids beyond 32 bits, epilogues.
 */
#include "cases.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum scores { ANY, POSITIVE, NEGATIVE, LARGE } scores;

typedef struct attend_case {
    const case_graph *graph;
    int64_t heads, width; /* of a head */
    int64_t pad;
    case_members mg;
    scores scores;
    float slope;
    bool drop, shared_h, fused, no_gradient_rows;
} attend_case;

/* The same arcs, rows are columns. */
static void transpose(const case_graph *g, case_graph *t)
{
    int64_t *next = NULL;

    memset(t, 0, sizeof *t);
    t->num_rows = g->num_cols;
    t->num_cols = g->num_rows;
    t->num_arcs = g->num_arcs;
    gnt_assert_ok(gnti_calloc_array(&t->offsets, t->num_rows + 1));
    gnt_assert_ok(gnti_calloc_array(&next, t->num_rows + 1));
    gnt_assert_ok(gnti_alloc_array(&t->columns, g->num_arcs + 1));
    for (int64_t e = 0; e < g->num_arcs; e++)
        t->offsets[g->columns[e] + 1]++;
    for (int64_t r = 0; r < t->num_rows; r++) {
        t->offsets[r + 1] += t->offsets[r];
        next[r] = t->offsets[r];
    }
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t e = g->offsets[r]; e < g->offsets[r + 1]; e++)
            t->columns[next[g->columns[e]]++] = (int32_t)r;
    gnti_free(next);
}

static float positive(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return value < 0.0f ? -value : value;
}

static float negative(float value, int64_t r, int64_t c)
{
    return -positive(value, r, c) - 0.01f;
}

static float large(float value, int64_t r, int64_t c)
{
    (void)r;
    (void)c;
    return 60.0f * value;
}

static float some_rows(float value, int64_t r, int64_t c)
{
    (void)c;
    return r % 3 == 0 ? 0.0f : value;
}

typedef struct parts {
    case_tensor h, s_src, s_dst, out, soft, grad, stat, ds_dst, dh, ds_src, bias, row_scale;
    case_bytes step, src_ids, dst_ids;
} parts;

static case_bytes make_ids(case_env *env, int64_t n)
{
    int64_t *ids = NULL;
    case_bytes b;

    gnt_assert_ok(gnti_alloc_array(&ids, n + 1));
    for (int64_t i = 0; i < n; i++)
        ids[i] = 1000003LL * i + (i % 2 == 0 ? 1LL << 33 : 0);
    b = case_upload(env, ids, (size_t)(n + 1) * sizeof *ids);
    gnti_free(ids);
    return b;
}

static void make_parts(case_env *env, const attend_case *k, parts *p)
{
    const case_graph *g = k->graph;
    const int64_t width = k->heads * k->width, M = k->mg.members, b = k->mg.g, rows = g->num_rows;
    const float hypers[1] = { 0.375f };

    p->h = case_make(env, g->num_cols, k->shared_h ? 1 : M, k->shared_h ? 1 : b, width, k->pad);
    p->s_src = case_make(env, g->num_cols, M, 1, k->heads, k->pad);
    p->s_dst = case_make(env, rows, M, b, k->heads, 0);
    p->out = case_make(env, rows, M, b, width, k->pad);
    p->soft = case_make(env, rows, M, 1, 2 * k->heads, 1);
    p->grad = case_make(env, rows, M, b, width, k->pad);
    p->stat = case_make(env, rows, M, b, 4 * k->heads, 3);
    p->ds_dst = case_make(env, rows, M, 1, k->heads, k->pad);
    p->dh = case_make(env, g->num_cols, M, b, width, k->pad);
    p->ds_src = case_make(env, g->num_cols, M, b, k->heads, 2);
    p->bias = case_make(env, 1, M, 1, width, 0);
    p->row_scale = case_make(env, rows, 1, 1, 1, 0);
    p->step = case_step(env, M, hypers, 1);
    p->src_ids = make_ids(env, g->num_cols);
    p->dst_ids = make_ids(env, rows);
    if (k->scores == LARGE) {
        case_apply(&p->s_src, large);
        case_apply(&p->s_dst, large);
    } else if (k->scores != ANY) {
        case_apply(&p->s_src, k->scores == POSITIVE ? positive : negative);
        case_apply(&p->s_dst, k->scores == POSITIVE ? positive : negative);
    }
    if (k->no_gradient_rows)
        case_apply(&p->grad, some_rows);
}

static gnt_arc_dropout arc_dropout(const attend_case *k, const parts *p, int side)
{
    if (!k->drop)
        return (gnt_arc_dropout){ .hyper = -1 };
    return (gnt_arc_dropout){ .ordinal = 9,
                              .src_ids = p->src_ids.buf[side],
                              .dst_ids = p->dst_ids.buf[side],
                              .step = p->step.buf[side] };
}

static void run_forward(case_env *env, const attend_case *k, const parts *p, int side, gnt_spmm_plan *plan)
{
    gnt_attend_args a = { .heads = (int32_t)k->heads,
                          .slope = k->slope,
                          .h = p->h.view[side],
                          .s_src = p->s_src.view[side],
                          .s_dst = p->s_dst.view[side],
                          .out = p->out.view[side],
                          .soft = p->soft.view[side],
                          .alpha = 1.0f,
                          .epilogue = GNT_EPILOGUE_NONE,
                          .dropout = arc_dropout(k, p, side) };

    if (k->fused) { /* what only evaluation has */
        a.alpha = 0.75f;
        a.beta = 0.5f;
        a.epilogue.row_scale = &p->row_scale.view[side];
        a.epilogue.bias = &p->bias.view[side];
        a.epilogue.act = GNT_ACT_ELU;
        a.epilogue.act_alpha = 1.0f;
        a.epilogue.dropout = (gnt_dropout){ .ordinal = 3, .row_ids = p->dst_ids.buf[side] };
        a.epilogue.step = p->step.buf[side];
    }
    gnt_assert_ok(gnti_attend(env->stream[side], plan, &a));
}

static void run_backward(case_env *env, const attend_case *k, const parts *p, int side, gnt_spmm_plan *plan,
                         gnt_spmm_plan *transposed)
{
    gnt_attend_grad_args a = { .heads = (int32_t)k->heads,
                               .slope = k->slope,
                               .h = p->h.view[side],
                               .s_src = p->s_src.view[side],
                               .s_dst = p->s_dst.view[side],
                               .soft = p->soft.view[side],
                               .out = p->out.view[side],
                               .grad = p->grad.view[side],
                               .stat = p->stat.view[side],
                               .ds_dst = p->ds_dst.view[side],
                               .dh = p->dh.view[side],
                               .ds_src = p->ds_src.view[side],
                               .dropout = arc_dropout(k, p, side) };

    if (plan != NULL)
        gnt_assert_ok(gnti_attend_backward(env->stream[side], plan, &a));
    a.transposed = true;
    if (transposed != NULL)
        gnt_assert_ok(gnti_attend_backward(env->stream[side], transposed, &a));
}

/* Sums of terms that cancel (a lone arc's gradient is 0): differences against the size of the terms, about the square root
 * of the width. */
static void compare_sums(const case_tensor *t, int64_t width, double tolerance, const char *what)
{
    int64_t count;
    float *got = case_values(t, 0, &count), *want = case_values(t, 1, NULL);
    double largest = sqrt((double)width);

    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (int64_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= tolerance * largest))
            fail_msg("%s [%lld of %lld] = %.9g, want %.9g, terms of %.3g", what, (long long)i,
                     (long long)count, (double)got[i], (double)want[i], largest);
    gnti_free(got);
    gnti_free(want);
    case_compare_padding(t, what);
}

/* ---- in two goes --------------------------------------------------------------------------------------------------- */

/* Every second row from `first` on. */
static gnt_spmm_plan *half_plan(gnt_stream *s, const case_graph *g, int64_t first, int32_t *list)
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

    for (int64_t r = first; r < g->num_rows; r += 2)
        list[args.num_listed++] = (int32_t)r;
    gnt_assert_ok(gnti_spmm_plan_create(s, &args, &plan));
    return plan;
}

/* The same bits from one half of the rows and then the other, whatever was there before. */
static void run_halves(case_env *env, const attend_case *k, const parts *p, const case_graph *t,
                       const char *what)
{
    const case_tensor *all[] = { &p->out, &p->soft, &p->ds_dst, &p->stat, &p->dh, &p->ds_src };
    enum { NUM = sizeof all / sizeof all[0] };
    float *whole[NUM];
    int32_t *list[2];

    for (int i = 0; i < NUM; i++) {
        gnt_buffer *buf = all[i]->view[0].buf;

        whole[i] = case_values(all[i], 0, NULL);
        memset(gnt_buffer_host(buf), 0xff, ((const gnti_buffer_head *)buf)->bytes);
    }
    for (int pass = 0; pass < 3;
         pass++) /* forward, gradient by rows, by columns: each needs all of what came before */
        for (int64_t half = 0; half < 2; half++) {
            gnt_spmm_plan *plan, *back;

            gnt_assert_ok(gnti_alloc_array(&list[0], k->graph->num_rows + 1));
            gnt_assert_ok(gnti_alloc_array(&list[1], t->num_rows + 1));
            plan = half_plan(env->stream[0], k->graph, half, list[0]);
            back = half_plan(env->stream[0], t, half, list[1]);
            if (pass == 0)
                run_forward(env, k, p, 0, plan);
            else
                run_backward(env, k, p, 0, pass == 1 ? plan : NULL, pass == 2 ? back : NULL);
            gnti_spmm_plan_free(&plan);
            gnti_spmm_plan_free(&back);
            gnti_free(list[0]);
            gnti_free(list[1]);
        }
    for (int i = 0; i < NUM; i++) {
        float *halves = case_values(all[i], 0, NULL);

        if (memcmp(whole[i], halves, (size_t)case_count(all[i]) * sizeof *halves) != 0)
            fail_msg("%s: result %d differs when rows come in two goes", what, i);
        gnti_free(halves);
        gnti_free(whole[i]);
    }
}

static void run_case(case_env *env, const attend_case *k)
{
    char what[160], text[200];
    static const char *const names[] = { "out", "soft", "ds_dst", "stat", "dh", "ds_src" };
    parts p;
    case_graph t;

    make_parts(env, k, &p);
    transpose(k->graph, &t);
    for (int side = 0; side < 2; side++) {
        const int64_t width = k->heads * k->width;
        gnt_spmm_plan *plan = case_plan(env->stream[side], k->graph, false, width),
                      *back = case_plan(env->stream[side], &t, false, width);

        run_forward(env, k, &p, side, plan);
        if (!k->fused)
            run_backward(env, k, &p, side, plan, back);
        gnti_spmm_plan_free(&plan);
        gnti_spmm_plan_free(&back);
    }
    snprintf(what, sizeof what, "attend %lldx%lld heads %lld width %lld M=%d g=%d scores %d%s%s%s%s",
             (long long)k->graph->num_rows, (long long)k->graph->num_cols, (long long)k->heads,
             (long long)k->width, (int)k->mg.members, (int)k->mg.g, (int)k->scores, k->drop ? " drop" : "",
             k->shared_h ? " shared" : "", k->fused ? " fused" : "", k->no_gradient_rows ? " rows" : "");
    for (int i = 0; i < (k->fused ? 2 : 6); i++) {
        const case_tensor *all[] = { &p.out, &p.soft, &p.ds_dst, &p.stat, &p.dh, &p.ds_src };

        snprintf(text, sizeof text, "%s: %s", what, names[i]);
        if (!env->exact &&
            (i == 2 ||
             i == 5)) /* a score of 60 is known to 4e-6, and so is its exp; equal terms round alike */
            compare_sums(all[i], k->width,
                         k->scores == LARGE           ? 2e-5
                         : k->graph->num_arcs > 10000 ? 1e-5
                                                      : 2e-6,
                         text);
        else
            case_compare(all[i], 1e-7, text);
    }
    if (!k->fused && k->graph->num_rows > 0 && gnt_buffer_host(p.out.view[0].buf) != NULL)
        run_halves(env, k, &p, &t, what);
    case_graph_free(&t);
    case_reset(env);
}

/* Every `stride`-th width of each number of heads. */
static void shapes(case_env *env, const case_graph *g, int64_t stride)
{
    static const int64_t heads[] = { 1, 2, 3, 4, 8, 17, 64 };

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        for (int64_t width = 1; width <= 67; width += width < 18 ? 1 : 7) {
            const attend_case k = { .graph = g,
                                    .heads = heads[i],
                                    .width = width,
                                    .pad = width % 3 == 0 ? 0 : 5,
                                    .mg = { 1, 1 },
                                    .scores = (scores)((width + heads[i]) % 4),
                                    .slope = width % 5 == 0 ? 0.0f : 0.2f,
                                    .drop = width % 2 == 0,
                                    .no_gradient_rows = width % 4 == 1 };

            if ((width + (int64_t)i) % stride == 0 && (heads[i] < 8 || width % 4 == 0))
                run_case(env, &k);
        }
}

/* Every pair of members, width and switches; a graph of a few arcs gets every `stride`-th. */
static void members(case_env *env, const case_graph *g, int turn, int stride)
{
    static const int64_t width_list[] = { 1, 3, 8, 21 };

    for (int j = 0; j < CASE_NUM_MEMBERS; j++)
        for (int bits = 0; bits < 8; bits++) {
            const int w = (j + bits + turn) % 4;

            if ((j + bits) % stride == 0)
                run_case(env, &(attend_case){ .graph = g,
                                              .heads = w == 0 ? 7 : 2,
                                              .width = width_list[w],
                                              .pad = 3,
                                              .mg = case_member_list[j],
                                              .slope = 0.1f,
                                              .drop = (bits & 1) != 0,
                                              .shared_h = (bits & 2) != 0,
                                              .fused = (bits & 4) != 0 });
        }
}

void cases_attend(case_env *env)
{
    static const int64_t graphs[][3] = { { 0, 0, 0 }, { 1, 1, 0 },    { 1, 1, 1 },  { 4, 4, 0 },
                                         { 3, 5, 2 }, { 20, 20, 12 }, { 9, 40, 70 } };
    case_graph g;

    for (int i = 0; i < (int)(sizeof graphs / sizeof *graphs); i++) {
        case_graph_make(&g, graphs[i][0], graphs[i][1], graphs[i][2], 5 + (uint64_t)i);
        if (i == 0 || i == 3 || i == 5)
            shapes(env, &g, i == 5 ? 1 : 5);
        members(env, &g, i, i < 5 ? 5 : 1);
        case_graph_free(&g);
    }
}

/* Rows of 4095, 4096, 4097, 3 * 4096 and 5 * 4096 + 1 entries beside empty and short ones; then columns of 4500 and 9000. */
void cases_attend_hubs(case_env *env)
{
    static const int64_t degrees[] = { 3, 4095, 0, 4096, 4097, 1, 12288, 20481, 0, 2 };
    static const int64_t shape_list[][2] = { { 1, 7 }, { 8, 8 }, { 3, 5 } };
    enum { ROWS = 4500 };
    int64_t fours[ROWS];
    case_graph g;

    for (int turn = 0; turn < 2; turn++) {
        if (turn == 0) {
            case_graph_degrees(&g, degrees, 10, 600, 3);
        } else {
            for (int i = 0; i < ROWS; i++)
                fours[i] = 4;
            case_graph_degrees(&g, fours, ROWS, ROWS, 4);
            for (int64_t r = 0; r < ROWS; r++) {
                g.columns[4 * r] = 7;
                g.columns[4 * r + 1] = g.columns[4 * r + 3] = 11;
            }
        }
        for (int i = 0; i < 3; i++)
            run_case(env, &(attend_case){ .graph = &g,
                                          .heads = shape_list[i][0],
                                          .width = shape_list[i][1],
                                          .pad = 3,
                                          .mg = { i == 2 ? 3 : 1, i == 2 ? 2 : 1 },
                                          .scores = i == 1 ? LARGE : ANY,
                                          .slope = 0.2f,
                                          .drop = i == 2 });
        case_graph_free(&g);
    }
}
