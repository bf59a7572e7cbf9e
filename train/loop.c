/* SPDX-License-Identifier: Apache-2.0 */
/* The loop: one call is one epoch. Full batch and clusters differ in the source only, members are inside the
 * program.
 *
 * A stop is looked at after each step, when all ranks agree on it, and at the start of a call, so it may come
 * at any moment: in a step, an evaluation, while a checkpoint is written. An epoch that it cuts keeps its
 * sums and its batch number in the checkpoint and goes on there.
 */
#include "train/run_folder.h"

#include "base/clock.h"
#include "base/log.h"

#include <math.h>
#include <string.h>

bool gnti_trainer_stopping(gnt_trainer *tr)
{
    const double limit = tr->config.time_limit;

    return atomic_load(&tr->stop) != 0 || (limit > 0.0 && gnti_clock_seconds() - tr->started >= limit);
}

bool gnti_trainer_trains(const gnt_trainer *tr, int32_t m)
{
    const gnti_own *own = &tr->own[m];

    return tr->members[m].live != 0.0 && own->failure == NULL && tr->epoch < own->config.epochs;
}

bool gnti_trainer_is_complete(const gnt_trainer *tr)
{
    for (int32_t m = 0; m < tr->num_members; m++)
        if (gnti_trainer_trains(tr, m))
            return false;
    return true;
}

void gnt_trainer_request_stop(gnt_trainer *tr)
{
    if (tr != NULL)
        atomic_store(&tr->stop, 1);
}

/* How far the ranks of this process came in an epoch. */
typedef struct epoch_call {
    gnt_trainer *tr;
    int64_t step, position;
    bool ended;
} epoch_call;

/* One pass over the source, or the rest of one. All ranks do the same steps and stop after the same one. */
static gnt_status rank_epoch(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    epoch_call *call = user;
    gnt_trainer *tr = call->tr;
    gnti_source_batch batch;
    int64_t step = tr->step;
    bool stop = false;
    const double *clock = gnti_virtual_clock(rank->clock);
    const double begin = clock != NULL ? *clock : NAN;

    (void)gnti_virtual_take_seconds(rank->clock); /* of evaluation */
    gnti_source_begin(rank->source, tr->epoch, tr->position);
    while (!stop && gnti_source_next(rank->source, &batch)) {
        GNT_TRY(gnti_rank_step(tr, rank, &batch, step));
        stop = gnti_trainer_stopping(tr);
        GNT_TRY(gnti_sync_merge(rank->sync, step++, &stop));
    }
    GNT_TRY(gnti_source_status(rank->source));
    rank->seconds = gnti_virtual_take_seconds(rank->clock);
    rank->span = clock != NULL ? *clock - begin : NAN; /* the same on all ranks: they have just met */
    if (rank == tr->lead) {
        call->step = step;
        call->position = gnti_source_position(rank->source);
        call->ended = gnti_source_ended(rank->source);
    }
done:
    return st;
}

static gnt_status run_epoch(gnt_trainer *tr, gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    epoch_call call = { .tr = tr };
    const double begin = gnti_clock_seconds();

    tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_epoch, &call));
    for (int32_t m = 0; m < tr->num_members; m++)
        tr->live[m] = tr->lead->live[m] && !tr->lead->failed[m];
    tr->step = call.step;
    tr->position = call.position;
    stats->complete = call.ended;
    tr->epoch_seconds += gnti_clock_seconds() - begin;
    if (stats->complete) {
        stats->seconds = tr->epoch_seconds;
        stats->virtual_seconds = tr->lead->span;
        tr->seconds[tr->num_seconds++ % GNTI_TRAIN_SECONDS_KEPT] = tr->epoch_seconds;
        tr->epoch_seconds = 0.0;
        tr->position = 0;
        tr->epoch++;
    }
done:
    return st;
}

/* Mean over the members that trained in this epoch, or were evaluated after it; NaN when there is none. */
static double mean_of(const gnt_trainer *tr, const double *values, bool evaluated)
{
    double sum = 0.0;
    int32_t count = 0;

    for (int32_t m = 0; m < tr->num_members; m++)
        if (evaluated ? tr->own[m].is_due : tr->live[m]) {
            sum += values[m];
            count++;
        }
    return count > 0 ? sum / count : NAN;
}

static void fill_stats(gnt_trainer *tr, gnt_epoch_stats *s)
{
    const int32_t num = tr->num_members;
    double *train_loss = tr->out_values, *valid_loss = train_loss + num, *valid_metric = valid_loss + num,
           *train_metric = valid_metric + num;

    for (int32_t m = 0; m < num; m++) {
        const gnti_member *state = &tr->members[m];

        const bool evaluated = s->evaluated && tr->own[m].is_due;

        train_loss[m] = tr->live[m] ? tr->sums[m].loss / tr->sums[m].weight : NAN;
        valid_loss[m] = evaluated ? state->valid_loss : NAN;
        valid_metric[m] = evaluated ? state->valid_metric : NAN;
        train_metric[m] = evaluated ? state->train_metric : NAN;
        s->num_live += tr->live[m] && state->live != 0.0;
    }
    s->epoch = tr->epoch;
    s->metric = gnti_metric_name(tr->metric);
    s->train_loss = mean_of(tr, train_loss, false);
    s->valid_loss = s->evaluated ? mean_of(tr, valid_loss, true) : NAN;
    s->valid_metric = s->evaluated ? mean_of(tr, valid_metric, true) : NAN;
    s->train_metric = s->evaluated ? mean_of(tr, train_metric, true) : NAN;
    s->best_valid_metric = tr->members[0].best_valid_metric;
    s->best_epoch = (int64_t)tr->members[0].best_epoch;
    s->num_members = num;
    s->member_train_loss = train_loss;
    s->member_valid_loss = valid_loss;
    s->member_valid_metric = valid_metric;
    s->member_train_metric = train_metric;
}

/* What a caller of an older version has room for. */
static void hand_out(const gnt_epoch_stats *from, gnt_epoch_stats *to)
{
    const size_t size =
        to->struct_size >= sizeof(size_t) && to->struct_size < sizeof *to ? to->struct_size : sizeof *to;

    memcpy(to, from, size);
    to->struct_size = size;
}

static bool is_due(const gnt_trainer *tr)
{
    const int64_t every = tr->config.checkpoint_every;

    return gnti_trainer_is_complete(tr) || (every > 0 && tr->epoch % every == 0);
}

/* The end of a stopped run: one checkpoint of exactly this step, and the way on. */
static gnt_status stop_here(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const char *why = atomic_load(&tr->stop) != 0 ? "on request"
                      : gnti_trainer_stopping(tr) ? "at the time limit"
                                                  : "with another process";

    GNT_CHECK(tr->run != NULL || tr->config.run == NULL, GNT_STOPPED,
              "stopped %s after epoch %lld of %lld: the same command goes on there", why,
              (long long)tr->epoch, (long long)tr->config.epochs);
    if (tr->run == NULL)
        GNT_FAIL(GNT_STOPPED, "stopped %s after epoch %lld of %lld; without a run folder nothing is kept",
                 why, (long long)tr->epoch, (long long)tr->config.epochs);
    if (tr->saved_epoch != tr->epoch || tr->saved_step != tr->step)
        GNT_TRY(gnti_checkpoint_save(tr));
    GNT_TRY(gnti_run_write_summary(tr->run, tr, "stopped", why));
    GNT_TRY(gnti_run_log(tr->run, "stopped %s after epoch %lld, step %lld", why, (long long)tr->epoch,
                         (long long)tr->step));
    GNT_FAIL(GNT_STOPPED,
             "stopped %s after epoch %lld of %lld, checkpoint '%s': the same command goes on there", why,
             (long long)tr->epoch, (long long)tr->config.epochs, gnti_run_checkpoint(tr->run));
done:
    return st;
}

/* Tells the run folder of a failure; the error that the caller sees stays the first one. */
static void note_failure(gnt_trainer *tr, gnt_status st)
{
    const gnti_error_record first = *gnti_error_get();

    for (int32_t i = 0; i < gnti_ranks_local(tr->ranks); i++)
        gnti_comm_abort(gnti_ranks_at(tr->ranks, i)->comm, first.text);
    if (tr->run != NULL) {
        (void)gnti_run_log(tr->run, "failed: %s", first.text);
        (void)gnti_run_write_summary(tr->run, tr, "failed", first.text);
    }
    (void)st;
    (void)gnti_error_adopt(&first);
}

bool gnt_trainer_next(gnt_trainer *tr, gnt_epoch_stats *stats)
{
    gnt_status st = GNT_OK;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    bool stop = false;

    if (tr == NULL || tr->status != GNT_OK || gnti_trainer_is_complete(tr))
        return false;
    GNT_TRY(gnti_trainer_check_placed(tr));
    stop = gnti_trainer_stopping(tr);
    GNT_TRY(gnti_trainer_share_flag(tr, &stop));
    if (stop)
        GNT_TRY(stop_here(tr));
    GNT_TRY(run_epoch(tr, &s));
    if (!s.complete)
        GNT_TRY(stop_here(tr));
    GNT_TRY(gnti_trainer_time_ranks(tr));
    GNT_TRY(gnti_trainer_evaluate(tr, &s));
    fill_stats(tr, &s);
    memset(tr->sums, 0, (size_t)tr->num_members * sizeof *tr->sums);
    if (tr->run != NULL) {
        GNT_TRY(gnti_run_write_metrics(tr->run, tr, &s));
        if (is_due(tr))
            GNT_TRY(gnti_checkpoint_save(tr));
    }
    GNT_TRY(gnti_trainer_write_trace(tr));
    GNT_TRY(gnti_trainer_rebalance(tr));
    if (stats != NULL)
        hand_out(&s, stats);
done:
    if (st != GNT_OK && st != GNT_STOPPED)
        note_failure(tr, st);
    tr->status = st;
    return st == GNT_OK;
}
