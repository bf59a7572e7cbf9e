/* SPDX-License-Identifier: Apache-2.0 */
/* Activations and dropout. An activation's gradient is told from its output alone, so its input need not live; a dropout's
 * gradient draws the same mask again, so no mask is stored. A random op takes its ordinal when it is recorded.
 */
#include "nn/lower.h"
#include "nn/tape.h"

enum { MAX_RANDOM_OPS = 4096 };

static gnt_var activate(gnt_tape *t, const char *name, gnt_activation act, float alpha, gnt_var h)
{
    gnti_node *n;
    int32_t y;

    if (!gnti_tape_takes(t, name, &h, 1))
        return (gnt_var){ 0 };
    if (!(alpha >= 0.0f) || alpha > 1e6f)
        return gnti_tape_fail(t, GNT_ERR_ARG, name, "the slope %g must be 0 or more", (double)alpha);
    y = gnti_ir_like(&t->ir, h.id, gnti_tape_value(t, h)->width);
    n = gnti_ir_node(&t->ir, GNTI_IR_ACT, h.id, 0, y);
    n->act = act;
    n->act_alpha = alpha;
    return (gnt_var){ y };
}

gnt_var gnt_relu(gnt_tape *t, gnt_var h)
{
    return activate(t, "relu", GNT_ACT_RELU, 0.0f, h);
}

gnt_var gnt_elu(gnt_tape *t, gnt_var h, float alpha)
{
    return activate(t, "elu", GNT_ACT_ELU, alpha, h);
}

gnt_var gnt_leaky_relu(gnt_tape *t, gnt_var h, float slope)
{
    return activate(t, "leaky_relu", GNT_ACT_LEAKY_RELU, slope, h);
}

gnt_var gnt_sigmoid(gnt_tape *t, gnt_var h)
{
    return activate(t, "sigmoid", GNT_ACT_SIGMOID, 0.0f, h);
}

gnt_var gnt_tanh(gnt_tape *t, gnt_var h)
{
    return activate(t, "tanh", GNT_ACT_TANH, 0.0f, h);
}

gnt_var gnt_dropout_by(gnt_tape *t, gnt_var h, gnt_hyper p)
{
    const gnti_value *x;
    gnti_node *n;
    int32_t y;

    if (!gnti_tape_takes(t, "dropout", &h, 1))
        return (gnt_var){ 0 };
    if (p.id <= 0 || p.id >= t->num_hypers)
        return gnti_tape_fail(t, GNT_ERR_ARG, "dropout", "the rate is no hyper of this model (id %d)", p.id);
    if (!t->ir.training)
        return h;
    if (t->num_random >= MAX_RANDOM_OPS)
        return gnti_tape_fail(t, GNT_ERR_LIMIT, "dropout", "more than %d random ops on one tape",
                              MAX_RANDOM_OPS);
    x = gnti_tape_value(t, h);
    if (x->space == 0)
        return gnti_tape_fail(t, GNT_ERR_ARG, "dropout",
                              "the input must be rows of a graph, not a parameter");
    y = gnti_ir_value(&t->ir, x->space, 0, x->width, false);
    n = gnti_ir_node(&t->ir, GNTI_IR_DROPOUT, h.id, 0, y);
    n->hyper = p.id;
    n->ordinal = t->num_random++;
    return (gnt_var){ y };
}

void gnti_grad_act(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);
    gnti_node *back;
    int32_t dx;

    if (!gnti_autodiff_wants(ad, f.in[0]))
        return;
    dx = gnti_ir_like(ad->ir, g, ad->ir->values[g].width);
    back = gnti_ir_node(ad->ir, GNTI_IR_ACT_GRAD, g, f.out[0], dx);
    back->act = f.act;
    back->act_alpha = f.act_alpha;
    gnti_autodiff_add(ad, f.in[0], dx);
}

void gnti_grad_dropout(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);
    gnti_node *back;
    int32_t dx;

    if (!gnti_autodiff_wants(ad, f.in[0]))
        return;
    dx = gnti_ir_like(ad->ir, g, ad->ir->values[g].width);
    back = gnti_ir_node(ad->ir, GNTI_IR_DROPOUT, g, 0, dx);
    back->hyper = f.hyper;
    back->ordinal = f.ordinal;
    gnti_autodiff_add(ad, f.in[0], dx);
}

static gnt_status lower_map(gnti_lowering *lo, const gnti_node *n, gnt_map_kind kind)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_MAP, n, &in));
    in->a.map = (gnt_map_args){ .kind = kind,
                                .a = gnti_lower_view(lo, n->in[0]),
                                .y = gnti_lower_view(lo, n->out[0]),
                                .alpha = 1.0f,
                                .act = n->act,
                                .act_alpha = n->act_alpha,
                                .dropout = { .hyper = -1 },
                                .step = gnti_lower_step(lo) };
    if (kind == GNT_MAP_ACT_GRAD)
        in->a.map.b = gnti_lower_view(lo, n->in[1]);
    if (kind == GNT_MAP_DROPOUT)
        in->a.map.dropout = gnti_lower_dropout(lo, n->hyper, n->ordinal, n->out[0]);
done:
    return st;
}

gnt_status gnti_lower_act(gnti_lowering *lo, const gnti_node *n)
{
    return lower_map(lo, n, GNT_MAP_ACT);
}

gnt_status gnti_lower_act_grad(gnti_lowering *lo, const gnti_node *n)
{
    return lower_map(lo, n, GNT_MAP_ACT_GRAD);
}

gnt_status gnti_lower_dropout_op(gnti_lowering *lo, const gnti_node *n)
{
    return lower_map(lo, n, GNT_MAP_DROPOUT);
}
