/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of ops that work on some of their rows: a sparse product of listed rows, winners named by ids, a batch norm in
 * phases and a loss over two halves. Each beside the oracle, and beside the op on all rows. */
#include "cases.h"

#include <math.h>
#include <string.h>

static gnt_spmm_plan *list_plan(gnt_stream *s, const case_graph *g, const int32_t *rows, int64_t count)
{
    gnt_spmm_plan *plan = NULL;
    const gnt_spmm_plan_args args = { .num_rows = g->num_rows,
                                      .num_cols = g->num_cols,
                                      .num_arcs = g->num_arcs,
                                      .offsets = g->offsets,
                                      .columns = g->columns,
                                      .weights = g->weights,
                                      .end_row = g->num_rows,
                                      .rows = rows,
                                      .num_listed = count,
                                      .max_width = 64 };

    gnt_assert_ok(gnti_spmm_plan_create(s, &args, &plan));
    return plan;
}

static void same_bits(const case_tensor *a, const case_tensor *b, const char *what)
{
    int64_t count = 0;
    float *x = case_values(a, 0, &count), *y = case_values(b, 0, &count);

    if (memcmp(x, y, (size_t)count * sizeof *x) != 0)
        fail_msg("%s: bits differ", what);
    gnti_free(x);
    gnti_free(y);
}

/* Two lists that share the rows give the bits of the whole; one list leaves the other rows alone. */
static void spmm_lists(case_env *env, const case_graph *g, int64_t width, case_members mg, unsigned step)
{
    int32_t *rows[2] = { NULL, NULL };
    int64_t count[2] = { 0, 0 };
    case_tensor x = case_make(env, g->num_cols, mg.members, mg.g, width, 3);
    case_tensor all = case_make(env, g->num_rows, mg.members, mg.g, width, 3), both, some;
    case_tensor scale = case_make(env, g->num_rows, 1, 1, 1, 0);

    both = case_make(env, g->num_rows, mg.members, mg.g, width, 3);
    some = case_make(env, g->num_rows, mg.members, mg.g, width, 3);
    for (int i = 0; i < 2; i++)
        gnt_assert_ok(gnti_alloc_array(&rows[i], g->num_rows + 1));
    for (int64_t r = 0; r < g->num_rows; r++) {
        const int i = step == 0 ? 0 : (r / step) % 2 == 0;

        rows[i][count[i]++] = (int32_t)r;
    }
    for (int side = 0; side < 2; side++) {
        gnt_spmm_plan *plan = case_plan(env->stream[side], g, true, 64);
        gnt_spmm_args a = { .x = x.view[side],
                            .y = all.view[side],
                            .self_kind = g->num_rows <= g->num_cols ? GNT_SELF_ONE : GNT_SELF_NONE,
                            .alpha = 1.0f,
                            .epilogue = GNT_EPILOGUE_NONE };

        a.epilogue.act = step % 3 == 0 ? GNT_ACT_RELU : GNT_ACT_NONE;
        a.epilogue.row_scale = &scale.view[side];
        gnt_assert_ok(gnti_spmm(env->stream[side], plan, &a));
        gnti_spmm_plan_free(&plan);
        for (int i = 0; i < 2; i++) {
            plan = list_plan(env->stream[side], g, rows[i], count[i]);
            a.y = both.view[side];
            gnt_assert_ok(gnti_spmm(env->stream[side], plan, &a));
            a.y = some.view[side];
            if (i == 0)
                gnt_assert_ok(gnti_spmm(env->stream[side], plan, &a));
            gnti_spmm_plan_free(&plan);
        }
    }
    case_compare(&all, 1e-7, "spmm of all rows");
    case_compare(&some, 1e-7, "spmm of listed rows");
    same_bits(&all, &both, "spmm of two lists");
    gnti_free(rows[0]);
    gnti_free(rows[1]);
    case_reset(env);
}

static void bad_lists(case_env *env)
{
    static const int32_t twice[] = { 1, 1 }, far[] = { 0, 9 };
    gnt_spmm_plan *plan = NULL;
    case_graph g;
    gnt_spmm_plan_args args;

    case_graph_make(&g, 5, 5, 3, 1);
    args = (gnt_spmm_plan_args){ .num_rows = 5,
                                 .num_cols = 5,
                                 .num_arcs = g.num_arcs,
                                 .offsets = g.offsets,
                                 .columns = g.columns,
                                 .end_row = 5,
                                 .rows = twice,
                                 .num_listed = 2 };
    gnt_assert_status(gnti_spmm_plan_create(env->stream[0], &args, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("1", "ascend", NULL);
    args.rows = far;
    gnt_assert_status(gnti_spmm_plan_create(env->stream[0], &args, &plan), GNT_ERR_ARG);
    gnt_assert_error_has("9", "5", NULL);
    args.rows = NULL;
    gnt_assert_status(gnti_spmm_plan_create(env->stream[0], &args, &plan), GNT_ERR_ARG);
    case_graph_free(&g);
}

/* Winners by id: forward and backward agree with the oracle, and with winners by number. */
static void max_by_ids(case_env *env)
{
    enum { ROWS = 30 };
    int64_t ids[ROWS];
    case_graph g;
    case_tensor x = case_make(env, ROWS, 2, 2, 5, 1), y = case_make(env, ROWS, 2, 2, 5, 1);
    case_tensor arg = case_make_as(env, GNT_I32, ROWS, 2, 2, 5, 1), back[2];
    case_bytes at;

    case_graph_make(&g, ROWS, ROWS, 6, 3);
    for (int i = 0; i < ROWS; i++)
        ids[i] = 1000 - 7 * i;
    at = case_upload(env, ids, sizeof ids);
    for (int k = 0; k < 2; k++) {
        back[k] = case_make(env, ROWS, 2, 2, 5, 1);
        for (int side = 0; side < 2; side++) {
            gnt_spmm_plan *plan = case_plan(env->stream[side], &g, false, 64);
            gnt_spmm_args a = { .x = x.view[side],
                                .y = y.view[side],
                                .reduce = GNT_SPMM_MAX,
                                .arg = &arg.view[side],
                                .arg_ids = k == 1 ? at.buf[side] : NULL,
                                .alpha = 1.0f,
                                .epilogue = GNT_EPILOGUE_NONE };

            gnt_assert_ok(gnti_spmm(env->stream[side], plan, &a));
            a.reduce = GNT_SPMM_MAX_GRAD;
            a.x = y.view[side];
            a.y = back[k].view[side];
            gnt_assert_ok(gnti_spmm(env->stream[side], plan, &a));
            gnti_spmm_plan_free(&plan);
        }
        case_compare(&back[k], 1e-7, "gradient of the largest term");
    }
    same_bits(&back[0], &back[1], "gradient by ids");
    case_graph_free(&g);
    case_reset(env);
}

static gnt_mat_view half(gnt_mat_view v, int64_t first, int64_t rows)
{
    v.offset += (size_t)(first * v.row_stride) * sizeof(float);
    v.rows = rows;
    return v;
}

/* Sums of the second half are added to those of the first, as a caller with two ranks would. */
static void add_sums(gnt_buffer *buf, int64_t count)
{
    double *sums = case_lock(buf);

    for (int64_t i = 0; i < count; i++)
        sums[i] += sums[count + i];
    memcpy(sums + 2 * count, sums, (size_t)count * sizeof *sums);
    case_unlock(buf, sums, true);
}

/* Back from the copy that add_sums has made. */
static void restore_sums(gnt_buffer *buf, int64_t count)
{
    double *sums = case_lock(buf);

    memcpy(sums, sums + 2 * count, (size_t)count * sizeof *sums);
    case_unlock(buf, sums, true);
}

static void run_phase(gnt_stream *s, gnt_norm_args a, gnt_norm_phase phase, int64_t first, int64_t total)
{
    const int64_t count = a.x.members * a.x.width * (a.backward ? 2 : 1);

    a.phase = phase;
    a.total_rows = total;
    for (int i = 0; i < 2; i++) {
        gnt_norm_args b = a;
        const int64_t at = i == 0 ? 0 : first, rows = i == 0 ? first : total - first;
        const gnt_row_tree tree = { rows, (rows + 1023) / 1024, NULL };

        b.x = half(a.x, at, rows);
        b.y = half(a.y, at, rows);
        b.dy = half(a.dy, at, rows);
        b.dx = half(a.dx, at, rows);
        b.row_tree = &tree;
        b.sums_offset =
            phase == GNT_NORM_SUM || phase == GNT_NORM_SQUARES ? (size_t)(i * count) * sizeof(double) : 0;
        if (i == 1 && phase == GNT_NORM_APPLY && !a.backward)
            b.running_mean = b.running_var = NULL; /* the first call has updated them */
        if (i == 1 && phase == GNT_NORM_APPLY && a.backward)
            restore_sums(a.sums, count); /* the first call has overwritten them */
        gnt_assert_ok(gnti_norm(s, &b));
    }
    if (phase == GNT_NORM_SUM || phase == GNT_NORM_SQUARES)
        add_sums(a.sums, count);
}

typedef struct norm_set {
    case_tensor x, y, gamma, beta, mean, rstd, running_mean, running_var, dy, dx, dgamma, dbeta;
} norm_set;

static norm_set make_set(case_env *env, int64_t rows, int64_t width, case_members mg)
{
    const int64_t M = mg.members, g = mg.g;
    norm_set t = { .x = case_make(env, rows, M, g, width, 1),
                   .y = case_make(env, rows, M, g, width, 1),
                   .gamma = case_make(env, 1, M, 1, width, 0),
                   .beta = case_make(env, 1, M, 1, width, 0),
                   .mean = case_make(env, 1, M, 1, width, 0),
                   .rstd = case_make(env, 1, M, 1, width, 0),
                   .running_mean = case_make(env, 1, M, 1, width, 0),
                   .running_var = case_make(env, 1, M, 1, width, 0),
                   .dy = case_make(env, rows, M, g, width, 1),
                   .dx = case_make(env, rows, M, g, width, 1),
                   .dgamma = case_make(env, 1, M, 1, width, 0),
                   .dbeta = case_make(env, 1, M, 1, width, 0) };

    return t;
}

static void norm_phases(case_env *env, int64_t rows, int64_t first, int64_t width, case_members mg)
{
    const double zeros[6 * 5 * 40] = { 0.0 };
    norm_set t = make_set(env, rows, width, mg);
    case_bytes sums = case_upload(env, zeros, sizeof zeros);
    const gnt_row_tree tree = { rows, (rows + 1023) / 1024, NULL };

    for (int side = 0; side < 2; side++) {
        gnt_norm_args a = { .kind = GNT_NORM_BATCH,
                            .training = true,
                            .x = t.x.view[side],
                            .y = t.y.view[side],
                            .gamma = t.gamma.view[side],
                            .beta = t.beta.view[side],
                            .mean = t.mean.view[side],
                            .rstd = t.rstd.view[side],
                            .running_mean = &t.running_mean.view[side],
                            .running_var = &t.running_var.view[side],
                            .momentum = 0.125f,
                            .eps = 1e-5f,
                            .dy = t.dy.view[side],
                            .dx = t.dx.view[side],
                            .dgamma = t.dgamma.view[side],
                            .dbeta = t.dbeta.view[side],
                            .row_tree = &tree,
                            .sums = sums.buf[side] };

        for (int backward = 0; backward < 2; backward++) {
            a.backward = backward == 1;
            if (side == 1) { /* the oracle takes all rows at once */
                gnt_assert_ok(gnti_norm(env->stream[1], &a));
                continue;
            }
            run_phase(env->stream[0], a, GNT_NORM_SUM, first, rows);
            if (!a.backward) {
                run_phase(env->stream[0], a, GNT_NORM_MEAN, first, rows);
                run_phase(env->stream[0], a, GNT_NORM_SQUARES, first, rows);
            }
            run_phase(env->stream[0], a, GNT_NORM_APPLY, first, rows);
        }
    }
    case_compare(&t.y, 1e-7, "norm in phases: y");
    case_compare(&t.rstd, 1e-7, "norm in phases: rstd");
    case_compare(&t.running_mean, 1e-7, "norm in phases: running mean");
    case_compare(&t.running_var, 1e-7, "norm in phases: running var");
    case_compare(&t.dx, 1e-7, "norm in phases: dx");
    case_compare(&t.dgamma, 1e-7, "norm in phases: dgamma");
    case_compare(&t.dbeta, 1e-7, "norm in phases: dbeta");
    case_reset(env);
}

static float one(float value, int64_t r, int64_t c)
{
    (void)value;
    (void)c;
    return r % 3 == 0 ? 0.0f : 1.0f;
}

static void loss_halves(case_env *env)
{
    enum { ROWS = 21, CUT = 8, CLASSES = 4 };
    const float hypers[1] = { 0.125f };
    const double zeros[16] = { 0.0 };
    int32_t labels[ROWS];
    double sums[2][8] = { { 0.0 } };
    case_tensor z = case_make(env, ROWS, 2, 1, CLASSES, 0), w = case_make(env, ROWS, 1, 1, 1, 0);
    case_tensor grad = case_make(env, ROWS, 2, 1, CLASSES, 0);
    case_bytes step = case_step(env, 2, hypers, 1), stats = case_upload(env, zeros, sizeof zeros), at;

    for (int i = 0; i < ROWS; i++)
        labels[i] = (i * 5) % CLASSES;
    at = case_upload(env, labels, sizeof labels);
    case_apply(&w, one);
    for (int side = 0; side < 2; side++) {
        for (int i = side; i < 2; i++) { /* the oracle: all rows, as the second of two */
            const int64_t first = i == 0 || side == 1 ? 0 : CUT;
            const int64_t rows = side == 1 ? ROWS : i == 0 ? CUT : ROWS - CUT;
            const gnt_mat_view part = half(grad.view[side], first, rows);
            const gnt_loss_args a = { .logits = half(z.view[side], first, rows),
                                      .weight = half(w.view[side], first, rows),
                                      .labels = at.buf[side],
                                      .first_row = first,
                                      .norm_hyper = 0,
                                      .grad = &part,
                                      .stats = stats.buf[side],
                                      .stats_offset = (size_t)i * 8 * sizeof(double),
                                      .step = step.buf[side] };

            gnt_assert_ok(gnti_loss(env->stream[side], &a));
        }
        double *got = case_lock(stats.buf[side]);

        for (int i = 0; i < 8; i++)
            sums[side][i] = got[i] + got[8 + i];
        case_unlock(stats.buf[side], got, false);
    }
    for (int i = 0; i < 8; i++)
        if (!(fabs(sums[0][i] - sums[1][i]) <= 3e-6 * (fabs(sums[1][i]) + 1e-3)))
            fail_msg("loss of halves: statistics %d are %.17g, want %.17g", i, sums[0][i], sums[1][i]);
    case_compare(&grad, 1e-7, "gradient of the loss of halves");
    case_reset(env);
}

/* A product through a gate that lies where it writes. */
static void gate_in_place(case_env *env, case_members mg)
{
    enum { ROWS = 70, INNER = 9, COLS = 21 };
    case_graph g;
    case_tensor a = case_make(env, ROWS, mg.members, mg.g, INNER, 2),
                b = case_make(env, INNER, mg.members, 1, COLS, 0);
    case_tensor c = case_make(env, ROWS, mg.members, mg.g, COLS, 2),
                x = case_make(env, ROWS, mg.members, mg.g, COLS, 2);
    case_tensor y = case_make(env, ROWS, mg.members, mg.g, COLS, 2);

    case_graph_make(&g, ROWS, ROWS, 7, 5);
    for (int side = 0; side < 2; side++) {
        gnt_gemm_args gemm = { .a = a.view[side], .b = b.view[side], .c = c.view[side], .alpha = 1.0f };
        gnt_spmm_args spmm = { .x = x.view[side], .y = y.view[side], .alpha = 1.0f };
        gnt_spmm_plan *plan = case_plan(env->stream[side], &g, false, 64);

        gemm.epilogue = spmm.epilogue = GNT_EPILOGUE_NONE;
        gemm.epilogue.gate_act = spmm.epilogue.gate_act = GNT_ACT_TANH;
        gemm.epilogue.gate = &c.view[side];
        spmm.epilogue.gate = &y.view[side];
        gnt_assert_ok(gnti_gemm(env->stream[side], &gemm));
        gnt_assert_ok(gnti_spmm(env->stream[side], plan, &spmm));
        gnti_spmm_plan_free(&plan);
    }
    case_compare(&c, 1e-7, "gemm over its gate");
    case_compare(&y, 1e-7, "spmm over its gate");
    case_graph_free(&g);
    case_reset(env);
}

void cases_parts(case_env *env)
{
    static const int64_t hubs[] = { 3, 4095, 0, 4097, 1, 12288, 20481, 2 };
    case_graph g;

    for (unsigned step = 0; step < 5; step++) {
        case_graph_make(&g, 210, 300, 40, step);
        spmm_lists(env, &g, 16 + (int64_t)step, case_member_list[step % CASE_NUM_MEMBERS], step);
        case_graph_free(&g);
    }
    case_graph_degrees(&g, hubs, 8, 500, 3);
    for (unsigned step = 1; step < 4; step++)
        spmm_lists(env, &g, 24, (case_members){ 1, 1 }, step);
    case_graph_free(&g);
    case_graph_make(&g, 0, 0, 0, 1);
    spmm_lists(env, &g, 4, (case_members){ 1, 1 }, 1);
    case_graph_free(&g);
    bad_lists(env);
    max_by_ids(env);
    for (int j = 0; j < CASE_NUM_MEMBERS; j++) {
        gate_in_place(env, case_member_list[j]);
        norm_phases(env, 40, 13, 6, case_member_list[j]);
        norm_phases(env, 1500, 1500, 3, case_member_list[j]); /* the second rank has no row */
    }
    loss_halves(env);
}
