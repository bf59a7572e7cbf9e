/* SPDX-License-Identifier: Apache-2.0 */
/* The training step: recorded and planned once, then bound to a batch and run. All that changes from step to
 * step goes through hypers of the step block: learning rate per member, Adam's corrections 1 - b^t with t
 * from 1 (in double, here), the divisor of the loss. The loss is the mean over the batch's weights, over
 * columns too for BCE and squared error.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>

static gnt_status record(gnt_trainer *tr, gnt_tape *t, const gnti_decay_rule *rules, int32_t num_rules)
{
    gnti_inputs in;
    gnt_var logits, loss;
    const gnt_trainer_config *c = &tr->config;
    const bool sgd = c->optimizer == GNTI_TRAIN_SGD;
    const gnti_loss_config loss_config = { .kind = tr->loss_kind };
    const gnti_update_config update = { .kind = gnti_config_optimizer(c),
                                        .nesterov = c->nesterov,
                                        .clip = c->clip > 0.0,
                                        .beta1 = sgd ? c->momentum : c->beta1,
                                        .beta2 = c->beta2,
                                        .eps = c->eps,
                                        .rules = rules,
                                        .num_rules = num_rules };

    gnti_record_inputs(t, tr->model, gnti_source_is_square(tr->source),
                       tr->prepared.features.x.sparse != NULL, &in);
    logits = gnt_model_record(tr->model, t, in.adj, in.x);
    loss = gnti_record_loss(t, logits, &loss_config);
    gnti_record_update(t, loss, &update);
    tr->lr = gnti_tape_hyper(t, "lr", c->lr);
    tr->corr1 = gnti_tape_hyper(t, "corr1", 1.0);
    tr->corr2 = gnti_tape_hyper(t, "corr2", 1.0);
    tr->loss_norm = gnti_tape_hyper(t, "loss-norm", 1.0);
    tr->clip = c->clip > 0.0 ? gnti_tape_hyper(t, "clip", c->clip) : (gnt_hyper){ 0 };
    return GNT_OK;
}

gnt_status gnti_trainer_compile(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    gnti_decay_rule *rules = NULL;
    int32_t num_rules = 0;
    const gnti_plan_config plan = { .disabled_passes = tr->disabled_passes,
                                    .row_capacity = gnti_source_max_rows(tr->source),
                                    .expected_arcs = gnti_source_expected_arcs(tr->source),
                                    .choices = tr->choices };

    GNT_TRY(gnti_decay_parse(tr->config.weight_decay, tr->config.optimizer == GNTI_TRAIN_ADAMW,
                             gnt_model_num_layers(tr->model), &rules, &num_rules));
    GNT_TRY(gnti_tape_create(tr->ctx, tr->num_members, true, &t));
    GNT_TRY(record(tr, t, rules, num_rules));
    GNT_TRY(gnti_plan_program(t, tr->model, &plan, gnti_context_device(tr->ctx), tr->params, &tr->program));
    if (tr->clip.id != 0)
        for (int32_t m = 0; m < tr->num_members; m++)
            GNT_TRY(gnti_program_set_hyper(tr->program, tr->clip, m, (float)tr->config.clip));
    if (tr->choices == NULL)
        GNT_TRY(gnti_program_get_choices(tr->program, &tr->choices));
done:
    gnti_tape_free(&t);
    gnti_free(rules);
    return st;
}

static gnt_status set_hypers(gnt_trainer *tr, double weight_sum)
{
    gnt_status st = GNT_OK;
    const gnt_trainer_config *c = &tr->config;
    const double t = (double)(tr->step + 1);
    const double columns = tr->loss_kind == GNT_LOSS_SOFTMAX ? 1.0 : (double)tr->data->y.num_classes;

    for (int32_t m = 0; m < tr->num_members; m++) {
        const double lr = gnti_schedule_lr(c, &tr->members[m], tr->epoch);

        GNT_TRY(gnti_program_set_hyper(tr->program, tr->lr, m, (float)lr));
        GNT_TRY(gnti_program_set_hyper(tr->program, tr->corr1, m, (float)(1.0 - pow(c->beta1, t))));
        GNT_TRY(gnti_program_set_hyper(tr->program, tr->corr2, m, (float)(1.0 - pow(c->beta2, t))));
        GNT_TRY(gnti_program_set_hyper(tr->program, tr->loss_norm, m, (float)(1.0 / (weight_sum * columns))));
        tr->live[m] = tr->members[m].live != 0.0;
    }
done:
    return st;
}

/* The error of member m: where it happened, what is no number, and what there is to go back to. */
static gnt_status diverged(const gnt_trainer *tr, int32_t m, double loss)
{
    char kept[160] = "";
    const bool by_gradient = tr->bad[m] != 0;

    if (tr->run != NULL && tr->saved_epoch >= 0)
        snprintf(kept, sizeof kept, "; the checkpoint of epoch %lld is sound", (long long)tr->saved_epoch);
    return gnti_error_set(
        GNT_ERR_NUMERIC, __FILE__, __LINE__, __func__,
        "epoch %lld, member %d (seed %llu): %s '%s' is not finite, the loss is %g: lower lr (now %g) "
        "or set clip%s",
        (long long)tr->epoch + 1, (int)m, (unsigned long long)tr->seeds[m],
        by_gradient ? "the gradient of" : "the",
        by_gradient ? gnti_program_bad_name(tr->program, tr->bad[m]) : "loss", loss,
        gnti_schedule_lr(&tr->config, &tr->members[m], tr->epoch), kept);
}

/* Adds the step to the sums of the epoch; a loss or gradient that is no number ends the run. */
static gnt_status take_stats(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const double columns = tr->loss_kind == GNT_LOSS_SOFTMAX ? 1.0 : (double)tr->data->y.num_classes;

    GNT_TRY(gnti_program_stats(tr->program, tr->stats, tr->bad));
    for (int32_t m = 0; m < tr->num_members; m++) {
        const double loss = tr->stats[4 * m] / columns;

        if (!tr->live[m])
            continue;
        if (!isfinite(loss) || tr->bad[m] != 0)
            GNT_TRY(diverged(tr, m, loss / tr->stats[4 * m + 1]));
        tr->sums[m].loss += loss;
        tr->sums[m].weight += tr->stats[4 * m + 1];
    }
done:
    return st;
}

gnt_status gnti_trainer_step(gnt_trainer *tr, const gnti_source_batch *batch)
{
    gnt_status st = GNT_OK;
    const gnti_step step = { .step = tr->step, .seeds = tr->seeds, .live = tr->live };

    if (!batch->same || !tr->bound)
        GNT_TRY(gnti_program_bind(tr->program, &batch->bind));
    tr->bound = true;
    GNT_TRY(set_hypers(tr, batch->weight_sum));
    GNT_TRY(gnti_sync_begin(tr->sync, tr->step));
    GNT_TRY(gnti_program_run(tr->program, &step));
    GNT_TRY(take_stats(tr));
    tr->step++;
done:
    return st;
}
