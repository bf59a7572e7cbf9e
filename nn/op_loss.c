/* SPDX-License-Identifier: Apache-2.0 */
/* The loss with its gradient in one pass, and the update of all parameters in another. Labels, weights and statistics are
 * bound to the program; the divisor is the hyper "loss-norm", so that masks may change without planning again.
 */
#include "nn/parts.h"
#include "nn/tape.h"

#include <stdio.h>
#include <string.h>

gnt_var gnti_record_loss(gnt_tape *t, gnt_var logits, const gnti_loss_config *config)
{
    const gnti_value *z;
    int32_t loss;

    if (!gnti_tape_takes(t, "loss", &logits, 1))
        return (gnt_var){ 0 };
    if (t->ir.loss != 0)
        return gnti_tape_fail(t, GNT_ERR_STATE, "loss", "this tape has a loss already");
    z = gnti_tape_value(t, logits);
    if (z->space == 0)
        return gnti_tape_fail(t, GNT_ERR_ARG, "loss", "the logits must be rows of a graph, not a parameter");
    if (config->num_class_weights != 0 && config->num_class_weights != z->width)
        return gnti_tape_fail(t, GNT_ERR_ARG, "loss", "%lld class weights for %lld classes",
                              (long long)config->num_class_weights, (long long)z->width);
    if (config->apart && config->kind != GNT_LOSS_SOFTMAX)
        return gnti_tape_fail(t, GNT_ERR_ARG, "loss", "only softmax can stay apart from probabilities");
    loss = gnti_ir_value(&t->ir, 0, 1, 1, false);
    if (loss == 0)
        return (gnt_var){ 0 };
    t->ir.values[loss].storage = GNTI_IN_NOTHING;
    t->ir.loss = loss;
    t->ir.logits = logits.id;
    t->ir.loss_config = *config;
    t->ir.loss_norm = gnti_tape_hyper(t, "loss-norm", 1.0).id;
    if (config->apart)
        t->ir.loss_apart = gnti_tape_hyper(t, "apart", 0.0).id;
    gnti_ir_node(&t->ir, GNTI_IR_LOSS, logits.id, 0, loss);
    return (gnt_var){ loss };
}

void gnti_record_update(gnt_tape *t, gnt_var loss, const gnti_update_config *config)
{
    gnti_decay_rule *rules;
    char name[32];

    if (!gnti_tape_takes(t, "update", &loss, 1))
        return;
    if (loss.id != t->ir.loss || t->has_update || !t->ir.training) {
        gnti_tape_fail(t, GNT_ERR_STATE, "update",
                       !t->ir.training ? "an evaluation tape has no update"
                       : t->has_update ? "this tape has its update already"
                                       : "the input is not the tape's loss");
        return;
    }
    t->update = *config;
    t->has_update = true;
    rules = gnti_arena_array(t->arena, config->num_rules + 1, sizeof *rules);
    if (rules == NULL)
        return;
    if (config->num_rules > 0)
        memcpy(rules, config->rules, (size_t)config->num_rules * sizeof *rules);
    t->update.rules = rules;
    gnti_tape_hyper(t, "lr", 0.0);
    gnti_tape_hyper(t, "corr1", 1.0);
    gnti_tape_hyper(t, "corr2", 1.0);
    if (config->clip)
        gnti_tape_hyper(t, "clip", 0.0);
    for (int32_t i = 0; i < config->num_rules; i++) {
        snprintf(name, sizeof name, "decay.%d", i);
        gnti_tape_hyper(t, name, rules[i].value);
    }
}

static gnt_status lower_rows(gnti_lowering *lo, const gnti_node *n, const gnti_sum_root *root)
{
    gnt_status st = GNT_OK;
    const gnt_mat_view logits = gnti_lower_view(lo, n->in[0]);
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_LOSS, n, &in));
    in->tree = root->tree;
    in->a.loss = (gnt_loss_args){ .logits = gnti_view_rows(logits, root->first, root->rows),
                                  .first_row = root->first,
                                  .stats_offset =
                                      (size_t)(root->slot * gnti_lower_num_members(lo)) * 4 * sizeof(double),
                                  .step = gnti_lower_step(lo),
                                  .row_tree = &in->tree };
    if (n->num_out > 1) {
        in->views[0] = gnti_view_rows(gnti_lower_view(lo, n->out[1]), root->first, root->rows);
        in->a.loss.grad = &in->views[0];
    }
    gnti_lower_loss_inputs(lo, &in->a.loss, in);
done:
    return st;
}

gnt_status gnti_lower_loss(gnti_lowering *lo, const gnti_node *n)
{
    return gnti_lower_by_root(lo, n, n->in[0], false, lower_rows);
}

gnt_status gnti_lower_update(gnti_lowering *lo, const gnti_node *n)
{
    gnt_status st = GNT_OK;
    gnti_instr *in = NULL;

    GNT_TRY(gnti_lower_new(lo, GNTI_INSTR_UPDATE, n, &in));
    gnti_lower_update_inputs(lo, &in->a.update);
done:
    return st;
}
