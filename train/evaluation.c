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

static gnt_status evaluate_member(gnt_trainer *tr, int32_t m)
{
    gnt_status st = GNT_OK;
    gnti_member *state = &tr->members[m];
    const gnti_split *split = tr->prepared.split;
    gnti_scored rows;
    double value = 0.0;

    GNT_TRY(gnti_evaluator_read(tr->evaluator, m, tr->logits));
    rows = gnti_prepared_rows(tr->data, split, GNTI_TRAIN, tr->logits);
    state->train_metric = gnti_metric_compute(tr->metric, &rows, tr->scratch);
    rows = gnti_prepared_rows(tr->data, split, GNTI_VALID, tr->logits);
    state->valid_metric = gnti_metric_compute(tr->metric, &rows, tr->scratch);
    state->valid_loss = gnti_metric_loss(&rows);
    state->last_epoch = (double)tr->epoch;
    value = tr->config.monitor == GNTI_MONITOR_LOSS ? state->valid_loss : state->valid_metric;
    if (split->num_nodes[GNTI_VALID] > 0 &&
        gnti_member_observe(state, &tr->config, tr->epoch, value,
                            tr->config.monitor == GNTI_MONITOR_METRIC &&
                                gnti_metric_higher_is_better(tr->metric))) {
        state->best_valid_metric = state->valid_metric;
        state->best_valid_loss = state->valid_loss;
        GNT_TRY(gnti_params_keep_best(tr->params, m));
    }
done:
    return st;
}

gnt_status gnti_trainer_evaluate(gnt_trainer *tr, gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    const bool due = tr->epoch % tr->config.eval_every == 0 || tr->epoch >= tr->config.epochs;

    if (!stats->complete || !due)
        goto done;
    GNT_TRY(gnti_evaluator_run(tr->evaluator));
    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->live[m]) /* of the step: a member that stops here still counts in this epoch */
            GNT_TRY(evaluate_member(tr, m));
    stats->evaluated = true;
    stats->eval_seconds = gnti_clock_seconds() - begin;
done:
    return st;
}

gnt_status gnti_trainer_test(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    bool swapped = false;

    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->members[m].best_epoch == 0.0)
            GNT_TRY(gnti_params_keep_best(tr->params, m));
    GNT_TRY(gnti_params_use_best(tr->params, true));
    swapped = true;
    GNT_TRY(gnti_evaluator_run(tr->evaluator));
    for (int32_t m = 0; m < tr->num_members; m++) {
        gnti_scored rows;

        GNT_TRY(gnti_evaluator_read(tr->evaluator, m, tr->logits));
        rows = gnti_prepared_rows(tr->data, tr->prepared.split, GNTI_TEST, tr->logits);
        tr->test_metric[m] = gnti_metric_compute(tr->metric, &rows, tr->scratch);
        tr->test_loss[m] = gnti_metric_loss(&rows);
        if (tr->confusion != NULL)
            gnti_confusion(&rows, tr->confusion + m * rows.num_classes * rows.num_classes);
    }
done:
    if (swapped) {
        const gnt_status back = gnti_params_use_best(tr->params, false);

        st = st != GNT_OK ? st : back;
    }
    return st;
}
