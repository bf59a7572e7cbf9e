/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation between epochs and, once at the end, on the test rows.
 *
 * Values are those of the weights after the epoch, without dropout, over the whole graph (an inductive run
 * too: it only trained on less). A member that stopped early keeps its last values. The best weights of each
 * member are kept on the device; test values come from them, or from the last ones when nothing was
 * evaluated.
 */
#include "train/trainer_state.h"

#include "base/clock.h"

#include <math.h>

/* Values of a member from its gathered logits. *improved: its validation value is the best so far. */
static void observe_member(gnt_trainer *tr, int32_t m, bool *improved)
{
    gnti_member *state = &tr->members[m];
    const gnti_split *split = tr->prepared.split;
    gnti_scored rows;
    double value = 0.0;

    rows = gnti_prepared_rows(tr->data, split, GNTI_TRAIN, tr->logits);
    state->train_metric = gnti_metric_compute(tr->metric, &rows, tr->scratch);
    rows = gnti_prepared_rows(tr->data, split, GNTI_VALID, tr->logits);
    state->valid_metric = gnti_metric_compute(tr->metric, &rows, tr->scratch);
    state->valid_loss = gnti_metric_loss(&rows);
    state->last_epoch = (double)tr->epoch;
    value = tr->config.monitor == GNTI_MONITOR_LOSS ? state->valid_loss : state->valid_metric;
    *improved =
        split->num_nodes[GNTI_VALID] > 0 && gnti_member_observe(state, &tr->config, tr->epoch, value,
                                                                tr->config.monitor == GNTI_MONITOR_METRIC &&
                                                                    gnti_metric_higher_is_better(tr->metric));
    if (*improved) {
        state->best_valid_metric = state->valid_metric;
        state->best_valid_loss = state->valid_loss;
    }
}

static gnt_status rank_evaluate(gnti_rank *rank, void *user)
{
    (void)user;
    return gnti_evaluator_run(rank->evaluator);
}

/* Members whose best weights are those of the epoch just done. */
static gnt_status rank_keep_best(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_trainer *tr = user;

    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->live[m] && tr->members[m].best_epoch == (double)tr->epoch)
            GNT_TRY(gnti_params_keep_best(rank->params, m));
done:
    return st;
}

gnt_status gnti_trainer_evaluate(gnt_trainer *tr, gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    const bool due = tr->epoch % tr->config.eval_every == 0 || tr->epoch >= tr->config.epochs;
    bool improved = false, any = false;

    if (!stats->complete || !due)
        goto done;
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_evaluate, tr));
    for (int32_t m = 0; m < tr->num_members; m++) {
        if (!tr->live[m]) /* of the step: a member that stops here still counts in this epoch */
            continue;
        GNT_TRY(gnti_trainer_gather_logits(tr, m));
        if (gnti_trainer_is_root(tr))
            observe_member(tr, m, &improved);
        any = any || improved;
    }
    GNT_TRY(gnti_trainer_share_members(tr));
    if (any || !gnti_trainer_is_root(tr))
        GNT_TRY(gnti_ranks_each(tr->ranks, rank_keep_best, tr));
    stats->evaluated = true;
    stats->eval_seconds = gnti_clock_seconds() - begin;
done:
    return st;
}

/* Members that were never evaluated are tested with their last weights. */
static gnt_status rank_use_best(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_trainer *tr = user;

    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->members[m].best_epoch == 0.0)
            GNT_TRY(gnti_params_keep_best(rank->params, m));
    GNT_TRY(gnti_params_use_best(rank->params, true));
    GNT_TRY(gnti_evaluator_run(rank->evaluator));
done:
    return st;
}

static gnt_status rank_use_last(gnti_rank *rank, void *user)
{
    (void)user;
    return gnti_params_use_best(rank->params, false);
}

gnt_status gnti_trainer_test(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_ranks_each(tr->ranks, rank_use_best, tr));
    for (int32_t m = 0; m < tr->num_members; m++) {
        gnti_scored rows;

        GNT_TRY(gnti_trainer_gather_logits(tr, m));
        if (!gnti_trainer_is_root(tr))
            continue;
        rows = gnti_prepared_rows(tr->data, tr->prepared.split, GNTI_TEST, tr->logits);
        tr->test_metric[m] = gnti_metric_compute(tr->metric, &rows, tr->scratch);
        tr->test_loss[m] = gnti_metric_loss(&rows);
        if (tr->confusion != NULL)
            gnti_confusion(&rows, tr->confusion + m * rows.num_classes * rows.num_classes);
    }
    GNT_TRY(gnti_trainer_share_tests(tr));
done:
    if (st == GNT_OK) /* a failed run is not used again */
        st = gnti_ranks_each(tr->ranks, rank_use_last, tr);
    return st;
}
