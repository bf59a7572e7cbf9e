/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm (over rows, per member) and layer norm (over columns). The saved mean and rstd let the gradient go without
 * the normalised values. Running statistics are state parameters: training updates them, evaluation reads them.
 */
#include "nn/lower.h"
#include "nn/tape.h"

static const float running_momentum = 0.1f, norm_eps = 1e-5f;

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
                                  .momentum = running_momentum,
                                  .eps = norm_eps,
                                  .row_tree = &in->tree };
    if (n->running_mean != 0) {
        in->views[0] = gnti_lower_view(lo, n->running_mean);
        in->views[1] = gnti_lower_view(lo, n->running_var);
        in->a.norm.running_mean = &in->views[0];
        in->a.norm.running_var = &in->views[1];
    }
done:
    return st;
}

gnt_status gnti_lower_norm_grad(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_NORM, n, &in));
    in->tree = gnti_lower_tree(lo, n->in[0]);
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
                                  .dgamma = gnti_lower_view(lo, n->out[1]),
                                  .dbeta = gnti_lower_view(lo, n->out[2]),
                                  .row_tree = &in->tree };
done:
    return st;
}
