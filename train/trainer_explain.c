/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a trainer's step, for the command. It is bound to the first batch, as the next epoch would, so that shapes,
 * arcs and what depends on the graph (a symmetric one needs no transpose) are known, and runs a few times, so that measured
 * seconds stand beside predicted ones. Of several ranks the first one's is told.
 */
#include <gnntrain/experimental.h>

#include "train/trainer_state.h"

/* Two as training runs full batches: the second is captured where that can be. Then op by op. */
enum { NUM_PLAIN = 2, NUM_TIMED = 3 };

/* Runs at a learning rate of 0: the weights stay as they are. Every rank, since they wait for each other. */
static gnt_status measure(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnt_trainer *tr = user;
    const gnti_step step = { .step = 0 };
    gnti_source_batch batch;

    gnti_source_begin(rank->source, tr->epoch, tr->position);
    if (gnti_source_next(rank->source, &batch)) {
        GNT_TRY(gnti_program_bind(rank->program, &batch.bind));
        rank->bound = true;
    }
    GNT_TRY(gnti_source_status(rank->source));
    if (!rank->bound)
        return GNT_OK;
    for (int i = 0; i < (tr->config.source == GNTI_SOURCE_WORD_FULL ? NUM_PLAIN : 1); i++)
        GNT_TRY(gnti_program_run(rank->program, &step));
    GNT_TRY(gnti_program_set_timing(rank->program, true));
    for (int i = 0; i < NUM_TIMED; i++)
        GNT_TRY(gnti_program_run(rank->program, &step));
done:
    return st;
}

gnt_status gntx_trainer_explain(gnt_trainer *tr, bool json, char **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && out != NULL, GNT_ERR_ARG, "trainer and out must not be NULL");
    GNT_TRY(gnti_ranks_each(tr->ranks, measure, tr));
    GNT_TRY(gnti_program_explain(tr->lead->program, json, out));
done:
    return st;
}
