/* SPDX-License-Identifier: Apache-2.0 */
/* The training step: recorded and planned once, then bound to a batch and run. All that changes from step to
 * step or by member goes through hypers of the step block: learning rate, dropout and decay per member, Adam's
 * corrections 1 - b^t with t from 1 (in double, here), the divisor of the loss. The loss is the mean over the
 * member's weights in the batch, over columns too for BCE and squared error.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>

static void find_hypers(const gnt_trainer *tr, gnti_rank *rank, gnt_tape *t)
{
    const gnt_trainer_config *c = &tr->config;
    char name[32];

    rank->lr = gnti_tape_hyper(t, "lr", c->lr);
    rank->corr1 = gnti_tape_hyper(t, "corr1", 1.0);
    rank->corr2 = gnti_tape_hyper(t, "corr2", 1.0);
    rank->loss_norm = gnti_tape_hyper(t, "loss-norm", 1.0);
    rank->norm_momentum = gnti_tape_hyper(t, "norm-momentum", (double)GNTI_NORM_MOMENTUM);
    rank->apart_gain = tr->apart != NULL ? gnti_tape_hyper(t, "apart", 0.0) : (gnt_hyper){ 0 };
    rank->clip = c->clip > 0.0 ? gnti_tape_hyper(t, "clip", c->clip) : (gnt_hyper){ 0 };
    for (int32_t i = 0; i < tr->num_rules; i++) {
        snprintf(name, sizeof name, "decay.%d", (int)i);
        rank->decay[i] = gnti_tape_hyper(t, name, 0.0);
    }
    for (int32_t l = 0; l <= gnt_model_num_layers(tr->model); l++)
        rank->dropout[l] = gnti_model_dropout(tr->model, l);
}

static void record(const gnt_trainer *tr, gnti_rank *rank, gnt_tape *t)
{
    gnti_inputs in;
    gnt_var logits, loss;
    const gnt_trainer_config *c = &tr->config;
    const bool sgd = c->optimizer == GNTI_TRAIN_SGD;
    const gnti_loss_config loss_config = { .kind = tr->loss_kind,
                                           .weight_per_member = gnti_trainer_has_member_weights(tr),
                                           .apart = tr->apart != NULL };
    const gnti_update_config update = { .kind = gnti_config_optimizer(c),
                                        .nesterov = c->nesterov,
                                        .clip = c->clip > 0.0,
                                        .beta1 = sgd ? c->momentum : c->beta1,
                                        .beta2 = c->beta2,
                                        .eps = c->eps,
                                        .rules = tr->own[0].rules,
                                        .num_rules = tr->num_rules };

    gnti_record_inputs(t, tr->model, gnti_source_is_square(rank->source),
                       gnti_rank_features(tr, rank)->sparse != NULL, &in);
    logits = gnt_model_record(tr->model, t, in.adj, in.x);
    loss = gnti_record_loss(t, logits, &loss_config);
    gnti_record_update(t, loss, &update);
    find_hypers(tr, rank, t);
}

gnt_status gnti_rank_set_fixed_hypers(const gnt_trainer *tr, gnti_rank *rank, int32_t m)
{
    gnt_status st = GNT_OK;
    const gnti_own *own = &tr->own[m];

    if (rank->apart_gain.id != 0)
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->apart_gain, m, (float)own->apart_gain));

    if (rank->clip.id != 0)
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->clip, m, (float)tr->config.clip));
    for (int32_t i = 0; i < tr->num_rules; i++)
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->decay[i], m, (float)own->rules[i].value));
    for (int32_t l = 0; l <= gnt_model_num_layers(tr->model); l++)
        if (rank->dropout[l].id != 0)
            GNT_TRY(gnti_program_set_hyper(rank->program, rank->dropout[l], m,
                                           (float)(l == 0 ? own->input_dropout : own->dropout)));
done:
    return st;
}

gnt_status gnti_rank_compile(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    const gnti_plan_config plan = { .dist = rank->rows != NULL ? &rank->dist : NULL,
                                    .disabled_passes = tr->disabled_passes,
                                    .row_capacity = gnti_source_max_rows(rank->source),
                                    .expected_arcs = gnti_source_expected_arcs(rank->source),
                                    .expected_entries = gnti_source_max_entries(rank->source),
                                    .lasting = tr->config.source == GNTI_SOURCE_WORD_FULL,
                                    .batches = tr->config.source != GNTI_SOURCE_WORD_FULL,
                                    .max_arcs = gnti_source_max_arcs(rank->source),
                                    .choices = tr->choices,
                                    .scratch = tr->job.place.specs[rank->rank].scratch,
                                    .measured = tr->measured };

    GNT_TRY(gnti_tape_create(tr->ctx, tr->num_members, true, &t));
    record(tr, rank, t); /* planning tells of a failure */
    GNT_TRY(gnti_plan_program(t, tr->model, &plan, rank->device, rank->params, &rank->program));
    gnti_program_set_clock(rank->program, rank->clock);
    for (int32_t m = 0; m < tr->num_members; m++)
        GNT_TRY(gnti_rank_set_fixed_hypers(tr, rank, m));
done:
    gnti_tape_free(&t);
    return st;
}

/* A member of which no row counts in the batch has a loss of 0 there. */
static double loss_norm(const gnti_source_batch *batch, int32_t m, double columns)
{
    const double sum = batch->member_sums != NULL ? batch->member_sums[m] : batch->weight_sum;

    return sum > 0.0 ? 1.0 / (sum * columns) : 0.0;
}

static gnt_status set_hypers(const gnt_trainer *tr, gnti_rank *rank, const gnti_source_batch *batch,
                             int64_t step)
{
    gnt_status st = GNT_OK;
    const gnt_trainer_config *c = &tr->config;
    const double t = (double)(step + 1);
    const double columns = tr->loss_kind == GNT_LOSS_SOFTMAX ? 1.0 : (double)tr->data->y.num_classes;

    for (int32_t m = 0; m < tr->num_members; m++) {
        const double lr = gnti_schedule_lr(&tr->own[m].config, &tr->members[m], tr->epoch);

        GNT_TRY(gnti_program_set_hyper(rank->program, rank->lr, m, (float)lr));
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->corr1, m, (float)(1.0 - pow(c->beta1, t))));
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->corr2, m, (float)(1.0 - pow(c->beta2, t))));
        GNT_TRY(
            gnti_program_set_hyper(rank->program, rank->loss_norm, m, (float)loss_norm(batch, m, columns)));
        rank->live[m] = gnti_trainer_trains(tr, m) && !rank->failed[m];
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->norm_momentum, m,
                                       rank->live[m] ? GNTI_NORM_MOMENTUM : 0.0f));
    }
done:
    return st;
}

/* The error of member m: where it happened, what is no number, what there is to go back to, and what helps: before the first
 * update no rate is to blame. */
static gnt_status tell_divergence(const gnt_trainer *tr, const gnti_rank *rank, int32_t m, double loss)
{
    char kept[160] = "", number[16], advice[112];
    const double lr = gnti_schedule_lr(&tr->own[m].config, &tr->members[m], tr->epoch);
    const bool by_gradient = rank->bad[m] != 0;

    snprintf(number, sizeof number, "%d", (int)m);
    if (tr->run != NULL && tr->saved_epoch >= 0)
        snprintf(kept, sizeof kept, "; the checkpoint of epoch %lld is sound", (long long)tr->saved_epoch);
    if (tr->step == 0 && tr->config.source == GNTI_SOURCE_WORD_FULL)
        snprintf(advice, sizeof advice,
                 "before any update: scale the features (--normalize-features row) or targets");
    else
        snprintf(advice, sizeof advice, "lower lr (now %g) or set clip", lr);
    return gnti_error_set(GNT_ERR_NUMERIC, __FILE__, __LINE__, __func__,
                          "epoch %lld, member %s (seed %llu): %s '%s' is not finite, the loss is %g: %s%s",
                          (long long)tr->epoch + 1, tr->own[m].name != NULL ? tr->own[m].name : number,
                          (unsigned long long)tr->seeds[m], by_gradient ? "the gradient of" : "the",
                          by_gradient ? gnti_program_bad_name(rank->program, rank->bad[m]) : "loss",
                          isnan(loss) ? (double)NAN : loss, advice, kept);
}

/* The end of the run, or of this member alone where others train on. All ranks see the same and do the same; the first one
 * keeps the text. */
static gnt_status diverged(gnt_trainer *tr, gnti_rank *rank, int32_t m, double loss)
{
    gnt_status st = tell_divergence(tr, rank, m, loss), kept = GNT_OK;

    rank->failed[m] = 1;
    if (rank == tr->lead && tr->own[m].failure == NULL)
        kept = gnti_strdup(&tr->own[m].failure, gnt_last_error());
    if (!tr->isolates || tr->num_members == 1)
        return st;
    if (rank == tr->lead && kept == GNT_OK)
        gnti_log(GNT_LOG_WARN, "train", "%s", gnt_last_error());
    if (kept == GNT_OK)
        gnt_clear_error();
    return kept;
}

/* Every rank has the sums of the whole job; a loss or gradient that is no number ends the member. The first rank adds them
 * to the epoch's. */
static gnt_status take_stats(gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const double columns = tr->loss_kind == GNT_LOSS_SOFTMAX ? 1.0 : (double)tr->data->y.num_classes;

    GNT_TRY(gnti_program_stats(rank->program, rank->stats, rank->bad));
    for (int32_t m = 0; m < tr->num_members; m++) {
        const double loss = rank->stats[4 * m] / columns;

        if (!rank->live[m])
            continue;
        if (!isfinite(loss) || rank->bad[m] != 0)
            GNT_TRY(diverged(tr, rank, m, loss / rank->stats[4 * m + 1]));
        if (rank != tr->lead || rank->failed[m])
            continue;
        tr->sums[m].loss += loss;
        tr->sums[m].weight += rank->stats[4 * m + 1];
    }
done:
    return st;
}

static gnt_status step_in_turn(gnt_trainer *tr, gnti_rank *rank, const gnti_source_batch *batch, int64_t step)
{
    gnt_status st = GNT_OK;
    const gnti_step what = { .step = step, .seeds = tr->seeds, .live = rank->live };

    if (!batch->same || !rank->bound)
        GNT_TRY(gnti_program_bind(rank->program, &batch->bind));
    rank->bound = true;
    GNT_TRY(set_hypers(tr, rank, batch, step));
    GNT_TRY(gnti_sync_begin(rank->sync, step));
    GNT_TRY(gnti_program_run(rank->program, &what));
    GNT_TRY(take_stats(tr, rank));
done:
    return st;
}

gnt_status gnti_rank_step(gnt_trainer *tr, gnti_rank *rank, const gnti_source_batch *batch, int64_t step)
{
    gnt_status st;

    (void)gnti_rank_take_turn(tr, rank);
    st = step_in_turn(tr, rank, batch, step);
    gnti_rank_give_turn(tr, rank);
    return st;
}
