/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation between epochs and, once at the end, on the test rows.
 *
 * Values are those of the weights after the epoch, without dropout, over the whole graph (an inductive run
 * too: it only trained on less). A member is evaluated every eval_every epochs and after its own last one, whatever the others
 * do; one that has stopped or failed keeps its last values. The best weights of each
 * member are kept on the device; test values come from them, or from the last ones when nothing was
 * evaluated.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>

/* What the ranks find of a member; the first rank keeps it. */
static gnt_status rank_evaluate(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = user;

    (void)gnti_rank_take_turn(tr, rank);
    GNT_TRY(gnti_evaluator_run(rank->evaluator));
    for (int32_t m = 0; m < tr->num_members; m++) {
        double train_metric, valid_metric, valid_loss;

        if (!tr->own[m].is_due)
            continue;
        GNT_TRY(gnti_evaluator_read(rank->evaluator, m, rank->logits));
        GNT_TRY(gnti_scorer_values(rank->scorer, GNTI_TRAIN, rank->logits, &train_metric, NULL));
        GNT_TRY(gnti_scorer_values(rank->scorer, GNTI_VALID, rank->logits, &valid_metric, &valid_loss));
        if (rank != tr->lead)
            continue;
        tr->members[m].train_metric = train_metric;
        tr->members[m].valid_metric = valid_metric;
        tr->members[m].valid_loss = valid_loss;
    }
done:
    gnti_rank_give_turn(tr, rank);
    return st;
}

/* Every process has the same values and decides the same. */
static void observe_member(gnt_trainer *tr, int32_t m)
{
    gnti_member *state = &tr->members[m];
    const bool by_metric = tr->config.monitor == GNTI_MONITOR_METRIC;

    state->last_epoch = (double)tr->epoch;
    if (tr->prepared.num_valid > 0 &&
        gnti_member_observe(state, &tr->own[m].config, tr->epoch,
                            by_metric ? state->valid_metric : state->valid_loss,
                            by_metric && gnti_metric_higher_is_better(tr->metric))) {
        state->best_valid_metric = state->valid_metric;
        state->best_valid_loss = state->valid_loss;
    }
}

/* Members whose best weights are those of the epoch just done. */
static gnt_status rank_keep_best(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_trainer *tr = user;

    for (int32_t m = 0; m < tr->num_members; m++)
        if (tr->own[m].is_due && tr->members[m].best_epoch == (double)tr->epoch)
            GNT_TRY(gnti_params_keep_best(rank->params, m));
done:
    return st;
}

/* Whether some member is due. By the step's live ones: a member that stops here still counts in this epoch. */
static bool find_due(gnt_trainer *tr)
{
    bool any = false;

    for (int32_t m = 0; m < tr->num_members; m++) {
        gnti_own *own = &tr->own[m];

        own->is_due =
            tr->live[m] && (tr->epoch % tr->config.eval_every == 0 || tr->epoch >= own->config.epochs);
        any = any || own->is_due;
    }
    return any;
}

gnt_status gnti_trainer_evaluate(gnt_trainer *tr, gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    const double begin = gnti_clock_seconds();
    bool best = false;

    if (!stats->complete || !find_due(tr))
        goto done;
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_evaluate, tr));
    tr->logits_of = GNTI_LOGITS_OF_PRESENT;
    for (int32_t m = 0; m < tr->num_members; m++) {
        if (!tr->own[m].is_due)
            continue;
        observe_member(tr, m);
        best = best || tr->members[m].best_epoch == (double)tr->epoch;
    }
    if (best)
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

static gnt_status rank_test(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    gnt_trainer *tr = user;
    const int64_t cells = tr->data->y.num_classes * tr->data->y.num_classes;
    int64_t *confusion = NULL;

    (void)gnti_rank_take_turn(tr, rank);
    GNT_TRY(rank_use_best(rank, user));
    if (tr->confusion != NULL && rank != tr->lead)
        GNT_TRY(gnti_alloc_array(&confusion, cells));
    for (int32_t m = 0; m < tr->num_members; m++) {
        double metric, loss;

        GNT_TRY(gnti_evaluator_read(rank->evaluator, m, rank->logits));
        GNT_TRY(gnti_scorer_values(rank->scorer, GNTI_TEST, rank->logits, &metric, &loss));
        if (tr->confusion != NULL)
            GNT_TRY(gnti_scorer_confusion(rank->scorer, GNTI_TEST, rank->logits,
                                          rank == tr->lead ? tr->confusion + m * cells : confusion));
        if (rank != tr->lead)
            continue;
        tr->test_metric[m] = metric;
        tr->test_loss[m] = loss;
    }
    GNT_TRY(gnti_params_use_best(rank->params, false)); /* a failed run is not used again */
done:
    gnti_rank_give_turn(tr, rank);
    gnti_free(confusion);
    return st;
}

gnt_status gnti_trainer_test(gnt_trainer *tr)
{
    tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    return gnti_ranks_each(tr->ranks, rank_test, tr);
}
