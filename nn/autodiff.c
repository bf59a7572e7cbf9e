/* SPDX-License-Identifier: Apache-2.0 */
/* Reverse differentiation: forward nodes from the last to the first, each asks its op for the gradients of its inputs.
 * Only values that depend on a trained parameter get one (the features never do). Contributions add up by ADD nodes,
 * which the fuse pass turns into products that add. A parameter's gradient ends in the block of gradients.
 */
#include "nn/lower.h"

int32_t gnti_autodiff_of(const gnti_autodiff *ad, int32_t value)
{
    return ad->grad[value];
}

bool gnti_autodiff_wants(const gnti_autodiff *ad, int32_t value)
{
    return ad->wanted[value];
}

void gnti_autodiff_add(gnti_autodiff *ad, int32_t value, int32_t gradient)
{
    gnti_ir *ir = ad->ir;
    int32_t sum;

    if (ad->grad[value] == 0) {
        ad->grad[value] = gradient;
        return;
    }
    sum = gnti_ir_like(ir, value, ir->values[value].width);
    gnti_ir_node(ir, GNTI_IR_ADD, ad->grad[value], gradient, sum);
    ad->grad[value] = sum;
}

/* Which forward values depend on a trained parameter. State parameters are read by norms only, beside their inputs. */
static void mark_wanted(const gnti_ir *ir, bool *wanted)
{
    for (int64_t v = 1; v < ir->num_values; v++)
        wanted[v] = ir->values[v].storage == GNTI_IN_WEIGHTS;
    for (int64_t i = 0; i < ir->num_nodes; i++) {
        const gnti_node *n = &ir->nodes[i];
        bool any = false;

        for (int32_t k = 0; k < n->num_in; k++)
            any = any || (n->in[k] != 0 && wanted[n->in[k]]);
        for (int32_t k = 0; k < n->num_out; k++)
            wanted[n->out[k]] = any;
    }
}

/* A gradient gets its place in the block unless it already has one, is a view, or is read in another shape. */
static void store_gradient(gnti_ir *ir, int32_t param_value, int32_t gradient)
{
    const gnti_value p = ir->values[param_value];
    gnti_value *g = &ir->values[gradient];

    if (g->storage != GNTI_IN_WORKSPACE || g->shared || g->space != 0 || g->rows != p.rows ||
        g->width != p.width || gradient == ir->loss_grad) {
        const int32_t copy = gnti_ir_like(ir, param_value, p.width);

        gnti_ir_node(ir, GNTI_IR_SCALE_BY, gradient, 0, copy);
        if (copy == 0)
            return;
        g = &ir->values[copy];
    }
    g->storage = GNTI_IN_GRADS;
    g->param = p.param;
}

static void backward(gnti_autodiff *ad, int64_t num_forward)
{
    gnti_ir *ir = ad->ir;

    for (int64_t i = num_forward - 1; i >= 0; i--) {
        const gnti_node n = ir->nodes[i];
        const gnti_op_info *info = gnti_op_get_info(n.op);

        if (ir->status != GNT_OK)
            return;
        ir->layer = n.layer;
        if (n.op == GNTI_IR_LOSS || n.num_out == 0 || ad->grad[n.out[0]] == 0 || !ad->wanted[n.out[0]])
            continue;
        if (info->gradient != NULL)
            info->gradient(ad, &n);
    }
    ir->layer = 0;
}

gnt_status gnti_autodiff_run(gnti_ir *ir)
{
    gnt_status st = GNT_OK;
    const int64_t num_forward = ir->num_nodes, num_values = ir->num_values;
    gnti_autodiff ad = { .ir = ir };

    GNT_TRY(gnti_calloc_array(&ad.grad, num_values));
    GNT_TRY(gnti_calloc_array(&ad.wanted, num_values));
    mark_wanted(ir, ad.wanted);
    ir->loss_grad = gnti_ir_like(ir, ir->logits, ir->values[ir->logits].width);
    if (ir->values[ir->logits].shared && ir->loss_grad != 0)
        ir->values[ir->loss_grad].shared = false;
    for (int64_t i = 0; i < num_forward; i++)
        if (ir->nodes[i].op == GNTI_IR_LOSS)
            ir->nodes[i].out[ir->nodes[i].num_out++] = ir->loss_grad;
    ad.grad[ir->logits] = ir->loss_grad;
    backward(&ad, num_forward);
    for (int32_t v = 1; v < num_values && ir->status == GNT_OK; v++)
        if (ir->values[v].storage == GNTI_IN_WEIGHTS && ad.grad[v] != 0)
            store_gradient(ir, v, ad.grad[v]);
    for (int64_t i = num_forward; i < ir->num_nodes; i++)
        ir->nodes[i].backward = true;
    GNT_TRY(ir->status);
done:
    gnti_free(ad.grad);
    gnti_free(ad.wanted);
    return st;
}
