/* SPDX-License-Identifier: Apache-2.0 */
/* Running statistics of batch norms, made anew: those of one forward over the whole training graph, without dropout, as evaluation has
 * it. Weights that are a mean of several members' need it, for their activations are nobody's (Izmailov et al., UAI 2018, section 3.2).
 *
 * A step of the trainer's own program is run in which no member lives, so weights and moments stay. A statistic s becomes
 * (1 - f) s + f b, f = GNTI_NORM_MOMENTUM and b the batch's: from s = 0 the step leaves f b, which is divided by f.
 */
#include "train/member.h"
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <string.h>

static bool has_statistics(const gnti_params *params)
{
    for (int32_t i = 0; i < gnti_params_count(params); i++)
        if (gnti_params_info(params, i)->kind == GNTI_PARAM_STATE)
            return true;
    return false;
}

/* Multiplies every running statistic of all members by a factor. */
static gnt_status scale_statistics(const gnt_trainer *tr, gnti_rank *rank, float factor)
{
    gnt_status st = GNT_OK;
    float *all = NULL;

    GNT_TRY(gnti_alloc_array(&all, gnti_params_num_floats(rank->params) + 1));
    GNT_TRY(gnti_params_read(rank->params, GNTI_BLOCK_WEIGHTS, all));
    for (int32_t i = 0; i < gnti_params_count(rank->params); i++) {
        const gnti_param_info *info = gnti_params_info(rank->params, i);

        for (int64_t k = 0; info->kind == GNTI_PARAM_STATE && k < tr->num_members * info->in * info->out; k++)
            all[info->offset + k] *= factor;
    }
    GNT_TRY(gnti_params_write(rank->params, GNTI_BLOCK_WEIGHTS, all));
done:
    gnti_free(all);
    return st;
}

/* Nobody lives, nothing is dropped; the loss is not looked at. */
static gnt_status set_still(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < tr->num_members; m++) {
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->lr, m, 0.0f));
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->loss_norm, m, 0.0f));
        GNT_TRY(gnti_program_set_hyper(rank->program, rank->norm_momentum, m, GNTI_NORM_MOMENTUM));
        for (int32_t l = 0; l <= gnt_model_num_layers(tr->model); l++)
            if (rank->dropout[l].id != 0)
                GNT_TRY(gnti_program_set_hyper(rank->program, rank->dropout[l], m, 0.0f));
        rank->live[m] = 0;
    }
done:
    return st;
}

static gnt_status still_step(const gnt_trainer *tr, gnti_rank *rank)
{
    gnt_status st = GNT_OK;
    const gnti_step step = { .step = 0, .seeds = tr->seeds, .live = rank->live };
    gnti_source_batch batch;

    gnti_source_begin(rank->source, 0, 0);
    if (gnti_source_next(rank->source, &batch)) {
        if (!batch.same || !rank->bound)
            GNT_TRY(gnti_program_bind(rank->program, &batch.bind));
        rank->bound = true;
        GNT_TRY(gnti_program_run(rank->program, &step));
        GNT_TRY(gnti_program_stats(rank->program, rank->stats, rank->bad));
    }
    GNT_TRY(gnti_source_status(rank->source));
done:
    return st;
}

static gnt_status rank_refresh(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_trainer *tr = user;

    (void)gnti_rank_take_turn(tr, rank);
    GNT_TRY(set_still(tr, rank));
    GNT_TRY(scale_statistics(tr, rank, 0.0f));
    GNT_TRY(still_step(tr, rank));
    GNT_TRY(scale_statistics(tr, rank, 1.0f / GNTI_NORM_MOMENTUM));
    for (int32_t m = 0; m < tr->num_members; m++)
        GNT_TRY(gnti_rank_set_fixed_hypers(tr, rank, m));
done:
    gnti_rank_give_turn(tr, rank);
    return st;
}

gnt_status gnti_trainer_refresh_norms(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && tr->status == GNT_OK && tr->position == 0, GNT_ERR_STATE,
              "statistics of norms are made anew between epochs of a sound trainer");
    GNT_CHECK(tr->config.source == GNTI_SOURCE_WORD_FULL, GNT_ERR_UNSUPPORTED,
              "statistics of norms are made anew on the whole graph: source full, not clusters");
    if (!has_statistics(tr->lead->params))
        return GNT_OK;
    tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_refresh, tr));
done:
    return st;
}
