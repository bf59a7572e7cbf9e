/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm (over rows, per member) and layer norm (over columns). The saved mean and rstd let the gradient go without
 * the normalised values. Over parts a batch norm goes in phases with sums over ranks between them (kernels/args.h); a layer
 * norm's gradients of its parameters are sums of their own. Running statistics are state parameters: training updates them, evaluation reads them.
 */
#include "nn/parts.h"
#include "nn/tape.h"

static const float norm_eps = 1e-5f;

static gnt_var record(gnt_tape *t, const char *name, gnt_norm_kind kind, gnt_var h, const gnt_var *params,
                      int count)
{
    const gnti_value *x;
    gnti_ir *ir;
    int32_t y, mean, rstd;
    gnti_node *n;

    if (!gnti_tape_takes(t, name, &h, 1) || !gnti_tape_takes(t, name, params, count))
        return (gnt_var){ 0 };
    ir = &t->ir;
    x = gnti_tape_value(t, h);
    for (int i = 0; i < count; i++) {
        const gnti_value *p = gnti_tape_value(t, params[i]);

        if (p->rows != 1 || p->width != x->width)
            return gnti_tape_fail(t, GNT_ERR_ARG, name,
                                  "parameter %d has shape (%lld, %lld), needed is (1, %lld)", i + 1,
                                  (long long)p->rows, (long long)p->width, (long long)x->width);
    }
    if (x->space == 0)
        return gnti_tape_fail(t, GNT_ERR_ARG, name, "the input must be rows of a graph, not a parameter");
    const int32_t space = x->space;
    const int64_t width = x->width;

    y = gnti_ir_value(ir, space, 0, width, false);
    mean = kind == GNT_NORM_BATCH ? gnti_ir_value(ir, 0, 1, width, false)
                                  : gnti_ir_value(ir, space, 0, 1, false);
    rstd = kind == GNT_NORM_BATCH ? gnti_ir_value(ir, 0, 1, width, false)
                                  : gnti_ir_value(ir, space, 0, 1, false);
    n = gnti_ir_node(ir, GNTI_IR_NORM, h.id, params[0].id, y);
    n->in[n->num_in++] = params[1].id;
    n->out[n->num_out++] = mean;
    n->out[n->num_out++] = rstd;
    n->norm = kind;
    n->running_mean = count > 2 ? params[2].id : 0;
    n->running_var = count > 2 ? params[3].id : 0;
    if (ir->training && count > 2)
        n->hyper = gnti_tape_hyper(t, "norm-momentum", (double)GNTI_NORM_MOMENTUM).id;
    return (gnt_var){ y };
}

gnt_var gnt_batch_norm(gnt_tape *t, gnt_var h, gnt_param gamma, gnt_param beta, gnt_param running_mean,
                       gnt_param running_var)
{
    const gnt_var params[4] = { gnt_use(t, gamma), gnt_use(t, beta), gnt_use(t, running_mean),
                                gnt_use(t, running_var) };

    return record(t, "batch_norm", GNT_NORM_BATCH, h, params, 4);
}

gnt_var gnt_layer_norm(gnt_tape *t, gnt_var h, gnt_param gamma, gnt_param beta)
{
    const gnt_var params[2] = { gnt_use(t, gamma), gnt_use(t, beta) };

    return record(t, "layer_norm", GNT_NORM_LAYER, h, params, 2);
}

void gnti_grad_norm(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    gnti_ir *ir = ad->ir;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);
    const int32_t dx = gnti_ir_like(ir, f.out[0], ir->values[g].width);
    const int32_t dgamma = gnti_ir_like(ir, f.in[1], ir->values[g].width);
    const int32_t dbeta = gnti_ir_like(ir, f.in[2], ir->values[g].width);
    gnti_node *back = gnti_ir_node(ir, GNTI_IR_NORM_GRAD, g, f.in[0], dx);
    const int32_t more[3] = { f.in[1], f.out[1], f.out[2] };

    for (int i = 0; i < 3; i++)
        back->in[back->num_in++] = more[i];
    back->out[back->num_out++] = dgamma;
    back->out[back->num_out++] = dbeta;
    back->norm = f.norm;
    if (gnti_autodiff_wants(ad, f.in[0]))
        gnti_autodiff_add(ad, f.in[0], dx);
    gnti_autodiff_add(ad, f.in[1], dgamma);
    gnti_autodiff_add(ad, f.in[2], dbeta);
}

/* ---- a batch norm over parts ---------------------------------------------------------------------------------------- */

/* The rows of a root in a phase that sums them. */
static gnt_status add_sums(gnti_lowering *lo, const gnti_node *n, const gnti_instr *whole,
                           gnt_norm_phase phase, int64_t count)
{
    gnt_status st = GNT_OK;
    const int32_t rows_of = n->op == GNTI_IR_NORM ? n->in[0] : n->in[1];
    gnti_instr *in = NULL;

    for (int32_t i = 0; i < gnti_lower_num_roots(lo, rows_of); i++) {
        const gnti_sum_root root = gnti_lower_root(lo, rows_of, i);

        GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_NORM, n, &in));
        in->tree = root.tree;
        in->a.norm = whole->a.norm;
        in->a.norm.x = gnti_view_rows(in->a.norm.x, root.first, root.rows);
        in->a.norm.y = gnti_view_rows(in->a.norm.y, root.first, root.rows);
        in->a.norm.dy = gnti_view_rows(in->a.norm.dy, root.first, root.rows);
        in->a.norm.dx = gnti_view_rows(in->a.norm.dx, root.first, root.rows);
        in->a.norm.row_tree = &in->tree;
        in->a.norm.phase = phase;
        in->a.norm.sums = gnti_lower_norm_partial(lo);
        in->a.norm.sums_offset = (size_t)(root.slot * count) * sizeof(double);
    }
    GNT_TRY(gnti_lower_norm_sums(lo, n, count));
done:
    return st;
}

static gnt_status add_phase(gnti_lowering *lo, const gnti_node *n, const gnti_instr *whole,
                            gnt_norm_phase phase)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_NORM, n, &in));
    in->tree = whole->tree;
    in->a.norm = whole->a.norm;
    in->a.norm.row_tree = &in->tree;
    in->a.norm.phase = phase;
    in->a.norm.sums = gnti_lower_norm_result(lo);
    in->a.norm.total_rows = gnti_lower_total_rows(lo);
done:
    return st;
}

/* The whole norm becomes phases; its views serve them. */
static gnt_status in_phases(gnti_lowering *lo, const gnti_node *n, gnti_instr *whole)
{
    gnt_status st = GNT_OK;
    const int64_t count = whole->a.norm.x.members * whole->a.norm.x.width * (whole->a.norm.backward ? 2 : 1);

    whole->kind = GNTI_INSTR_NOTHING;
    GNT_TRY(add_sums(lo, n, whole, GNT_NORM_SUM, count));
    if (!whole->a.norm.backward) {
        GNT_TRY(add_phase(lo, n, whole, GNT_NORM_MEAN));
        GNT_TRY(add_sums(lo, n, whole, GNT_NORM_SQUARES, count));
    }
    GNT_TRY(add_phase(lo, n, whole, GNT_NORM_APPLY));
done:
    return st;
}

gnt_status gnti_lower_norm(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_NORM, n, &in));
    in->tree = gnti_lower_tree(lo, n->in[0]);
    in->a.norm = (gnt_norm_args){ .kind = n->norm,
                                  .training = gnti_lower_is_training(lo),
                                  .x = gnti_lower_view(lo, n->in[0]),
                                  .y = gnti_lower_view(lo, n->out[0]),
                                  .gamma = gnti_lower_view(lo, n->in[1]),
                                  .beta = gnti_lower_view(lo, n->in[2]),
                                  .mean = gnti_lower_view(lo, n->out[1]),
                                  .rstd = gnti_lower_view(lo, n->out[2]),
                                  .momentum = GNTI_NORM_MOMENTUM,
                                  .eps = norm_eps,
                                  .row_tree = &in->tree };
    if (n->running_mean != 0) {
        in->views[0] = gnti_lower_view(lo, n->running_mean);
        in->views[1] = gnti_lower_view(lo, n->running_var);
        in->a.norm.running_mean = &in->views[0];
        in->a.norm.running_var = &in->views[1];
        in->a.norm.step = gnti_lower_step(lo);
        in->a.norm.momentum_hyper = n->hyper;
    }
    if (gnti_lower_has_parts(lo) && n->norm == GNT_NORM_BATCH && in->a.norm.training)
        GNT_TRY(in_phases(lo, n, in));
done:
    return st;
}

/* The gradient for the rows of a root: all of a layer norm, for its mean and rstd are those of rows. */
static gnt_status lower_grad(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    const bool layer = n->norm == GNT_NORM_LAYER;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_NORM, n, &in));
    in->tree = root->tree;
    in->a.norm = (gnt_norm_args){ .kind = n->norm,
                                  .backward = true,
                                  .training = true,
                                  .x = gnti_lower_view(lo, n->in[1]),
                                  .gamma = gnti_lower_view(lo, n->in[2]),
                                  .mean = gnti_lower_view(lo, n->in[3]),
                                  .rstd = gnti_lower_view(lo, n->in[4]),
                                  .eps = norm_eps,
                                  .dy = gnti_lower_view(lo, n->in[0]),
                                  .dx = gnti_lower_view(lo, n->out[0]),
                                  .dgamma = gnti_lower_sum(lo, n->out[1], root),
                                  .dbeta = gnti_lower_sum(lo, n->out[2], root),
                                  .row_tree = &in->tree };
    in->a.norm.x = gnti_view_rows(in->a.norm.x, root->first, root->rows);
    in->a.norm.dy = gnti_view_rows(in->a.norm.dy, root->first, root->rows);
    in->a.norm.dx = gnti_view_rows(in->a.norm.dx, root->first, root->rows);
    if (layer) {
        in->a.norm.mean = gnti_view_rows(in->a.norm.mean, root->first, root->rows);
        in->a.norm.rstd = gnti_view_rows(in->a.norm.rstd, root->first, root->rows);
    }
    if (gnti_lower_has_parts(lo) && !layer)
        GNT_TRY(in_phases(lo, n, in));
done:
    return st;
}

gnt_status gnti_lower_norm_grad(gnti_lowering *lo, const gnti_node *n)
{
    const gnti_sum_root all = { .rows = gnti_lower_rows(lo, n->in[0]),
                                .tree = gnti_lower_tree(lo, n->in[0]) };

    if (n->norm == GNT_NORM_LAYER)
        return gnti_lower_by_root(lo, n, n->in[0], true, lower_grad);
    return lower_grad(lo, n, &all);
}
