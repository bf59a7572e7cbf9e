/* SPDX-License-Identifier: Apache-2.0 */
/* User-written ops (level 2): forward and backward on raw views of the device's memory. Rows of the output follow the
 * first input. The class must be written for the device's backend, which planning checks: nothing is copied behind the
 * user's back. Over parts an op sees own rows; the gradients of parameters are taken chunk by chunk at bitwise.
 */
#include "nn/parts.h"
#include "nn/program_state.h"
#include "nn/tape.h"

#include <string.h>

enum { OLDEST_CLASS = offsetof(gnt_op_class, more) };

/* A class from before there was more than one backend ends before these fields. */
int32_t gnti_custom_num_more(const gnt_op_class *op)
{
    return op->struct_size >= sizeof *op && op->more != NULL ? op->num_more : 0;
}

gnt_op_kernels gnti_custom_kernels(const gnt_op_class *op, const char *backend)
{
    const gnt_op_kernels own = { op->backend, op->forward, op->backward };
    const gnt_op_kernels none = { backend, NULL, NULL };

    if (strcmp(op->backend, backend) == 0)
        return own;
    for (int32_t i = 0; i < gnti_custom_num_more(op); i++)
        if (strcmp(op->more[i].backend, backend) == 0)
            return op->more[i];
    return none;
}

/* Every field that planning reads is there. */
static bool is_whole(const gnt_op_class *op)
{
    if (op == NULL || op->struct_size < OLDEST_CLASS || op->name == NULL || op->width == NULL ||
        op->forward == NULL || op->backward == NULL || op->backend == NULL)
        return false;
    for (int32_t i = 0; i < gnti_custom_num_more(op); i++)
        if (op->more[i].backend == NULL || op->more[i].forward == NULL || op->more[i].backward == NULL)
            return false;
    return true;
}

gnt_var gnt_custom(gnt_tape *t, const gnt_op_class *op, const void *state, const gnt_var *inputs,
                   int32_t num_inputs)
{
    int64_t widths[GNTI_CUSTOM_INPUTS], width;
    const gnti_value *x;
    gnti_node *n;
    int32_t y;

    if (!gnti_tape_takes(t, "custom", NULL, 0))
        return (gnt_var){ 0 };
    if (!is_whole(op))
        return gnti_tape_fail(t, GNT_ERR_ARG, "custom",
                              "the op class lacks its size, name, backend, width, forward or backward");
    if (num_inputs != op->num_inputs || num_inputs < 1 || num_inputs > GNTI_CUSTOM_INPUTS)
        return gnti_tape_fail(t, GNT_ERR_ARG, op->name,
                              "%d inputs given, the class takes %d (1 to %d are possible)", num_inputs,
                              op->num_inputs, (int)GNTI_CUSTOM_INPUTS);
    if (!gnti_tape_takes(t, op->name, inputs, num_inputs))
        return (gnt_var){ 0 };
    x = gnti_tape_value(t, inputs[0]);
    for (int32_t i = 0; i < num_inputs; i++) {
        const gnti_value *v = gnti_tape_value(t, inputs[i]);

        widths[i] = v->width;
        if (v->space != 0 && v->space != x->space)
            return gnti_tape_fail(t, GNT_ERR_ARG, op->name, "input %d is in row space %d, input 1 in %d",
                                  i + 1, v->space, x->space);
    }
    width = op->width(state, widths);
    if (width < 1)
        return gnti_tape_fail(t, GNT_ERR_ARG, op->name, "the widths of the inputs do not fit (first: %lld)",
                              (long long)widths[0]);
    y = gnti_ir_value(&t->ir, x->space, x->rows, width, false);
    n = gnti_ir_node(&t->ir, GNTI_IR_CUSTOM, 0, 0, y);
    n->num_in = num_inputs;
    for (int32_t i = 0; i < num_inputs; i++)
        n->in[i] = inputs[i].id;
    n->custom = op;
    n->custom_state = state;
    return (gnt_var){ y };
}

void gnti_grad_custom(gnti_autodiff *ad, const gnti_node *n)
{
    const gnti_node f = *n;
    gnti_ir *ir = ad->ir;
    const int32_t g = gnti_autodiff_of(ad, f.out[0]);
    int32_t grads[GNTI_CUSTOM_INPUTS] = { 0 };
    gnti_node *back;

    for (int32_t i = 0; i < f.num_in; i++)
        if (gnti_autodiff_wants(ad, f.in[i]))
            grads[i] = gnti_ir_like(ir, f.in[i], ir->values[f.in[i]].width);
    back = gnti_ir_node(ir, GNTI_IR_CUSTOM_GRAD, 0, 0, 0);
    back->num_in = f.num_in + 2;
    back->num_out = f.num_in;
    for (int32_t i = 0; i < f.num_in; i++) {
        back->in[i] = f.in[i];
        back->out[i] = grads[i];
    }
    back->in[f.num_in] = f.out[0];
    back->in[f.num_in + 1] = g;
    back->custom = f.custom;
    back->custom_state = f.custom_state;
    for (int32_t i = 0; i < f.num_in; i++)
        if (grads[i] != 0)
            gnti_autodiff_add(ad, f.in[i], grads[i]);
}

/* Rows of the graph: those of the root; parameters whole. */
static gnt_mat_view rows_of(const gnti_lowering *lo, int32_t value, const gnti_sum_root *root)
{
    const gnt_mat_view v = gnti_lower_view(lo, value);

    return gnti_lower_value(lo, value)->space != 0 ? gnti_view_rows(v, root->first, root->rows) : v;
}

static gnt_status lower(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root, int32_t num_inputs,
                        int32_t output, gnti_instr **out)
{
    gnt_status st = GNT_OK;
    gnt_op_kernels kernels;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_CUSTOM, n, &in));
    for (int32_t i = 0; i < num_inputs; i++)
        in->views[i] = rows_of(lo, n->in[i], root);
    in->views[6] = rows_of(lo, output, root);
    in->a.custom = (gnt_op_args){ .struct_size = sizeof in->a.custom,
                                  .state = n->custom_state,
                                  .num_inputs = num_inputs,
                                  .in = in->views,
                                  .out = &in->views[6] };
    kernels = gnti_custom_kernels(n->custom, ((const gnti_backend_head *)lo->p->dev)->backend->name);
    in->custom = num_inputs == n->num_in ? kernels.forward : kernels.backward;
    *out = in;
done:
    return st;
}

gnt_status gnti_lower_custom(gnti_lowering *lo, const gnti_node *n)
{
    const gnti_sum_root all = { .rows = gnti_lower_rows(lo, n->out[0]) };
    gnti_instr *in = NULL;

    return lower(lo, n, &all, n->num_in, n->out[0], &in);
}

static gnt_status lower_grad(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;
    const int32_t num_inputs = n->num_in - 2;

    GNT_TRY(lower(lo, n, root, num_inputs, n->in[num_inputs], &in));
    in->views[7] = rows_of(lo, n->in[num_inputs + 1], root);
    in->a.custom.out_grad = &in->views[7];
    for (int32_t i = 0; i < num_inputs; i++) {
        in->grads[i] = NULL;
        if (n->out[i] == 0)
            continue;
        in->views[8 + i] = gnti_lower_value(lo, n->out[i])->storage == GNTI_IN_PARTIAL
                               ? gnti_lower_sum(lo, n->out[i], root)
                               : rows_of(lo, n->out[i], root);
        in->grads[i] = &in->views[8 + i];
    }
    in->a.custom.in_grad = in->grads;
done:
    return st;
}

gnt_status gnti_lower_custom_grad(gnti_lowering *lo, const gnti_node *n)
{
    const gnti_sum_root all = { .rows = gnti_lower_rows(lo, n->in[n->num_in - 2]) };

    for (int32_t k = 0; k < n->num_out; k++)
        if (n->out[k] != 0 && gnti_lower_value(lo, n->out[k])->storage == GNTI_IN_PARTIAL)
            return gnti_lower_by_root(lo, n, n->in[0], true, lower_grad);
    return lower_grad(lo, n, &all);
}
