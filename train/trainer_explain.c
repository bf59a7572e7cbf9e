/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a trainer's step, for the command. It is bound to the first batch, as the next epoch would, so that shapes,
 * arcs and what depends on the graph (a symmetric one needs no transpose) are known, and runs a few times, so that measured
 * seconds stand beside predicted ones.
 */
#include <gnntrain/experimental.h>

#include "train/trainer_state.h"

enum { NUM_TIMED = 3 };

/* Runs at a learning rate of 0: the weights stay as they are. */
static gnt_status measure(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const gnti_step step = { .step = 0 };

    GNT_TRY(gnti_program_run(tr->lead->program, &step));
    GNT_TRY(gnti_program_set_timing(tr->lead->program, true));
    for (int i = 0; i < NUM_TIMED; i++)
        GNT_TRY(gnti_program_run(tr->lead->program, &step));
done:
    return st;
}

gnt_status gntx_trainer_explain(gnt_trainer *tr, bool json, char **out)
{
    gnt_status st = GNT_OK;
    gnti_source_batch batch;

    GNT_CHECK(tr != NULL && out != NULL, GNT_ERR_ARG, "trainer and out must not be NULL");
    gnti_source_begin(tr->lead->source, tr->epoch, tr->position);
    if (gnti_source_next(tr->lead->source, &batch)) {
        GNT_TRY(gnti_program_bind(tr->lead->program, &batch.bind));
        tr->lead->bound = true;
    }
    GNT_TRY(gnti_source_status(tr->lead->source));
    if (tr->lead->bound)
        GNT_TRY(measure(tr));
    GNT_TRY(gnti_program_explain(tr->lead->program, json, out));
done:
    return st;
}
