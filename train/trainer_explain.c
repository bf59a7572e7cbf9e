/* SPDX-License-Identifier: Apache-2.0 */
/* The program of a trainer's step, for the command. It is bound to the first batch, as the next epoch would, so that shapes,
 * arcs and what depends on the graph (a symmetric one needs no transpose) are known.
 */
#include <gnntrain/experimental.h>

#include "train/trainer_state.h"

gnt_status gntx_trainer_explain(gnt_trainer *tr, bool json, char **out)
{
    gnt_status st = GNT_OK;
    gnti_source_batch batch;

    GNT_CHECK(tr != NULL && out != NULL, GNT_ERR_ARG, "trainer and out must not be NULL");
    gnti_source_begin(tr->source, tr->epoch, tr->position);
    if (gnti_source_next(tr->source, &batch)) {
        GNT_TRY(gnti_program_bind(tr->program, &batch.bind));
        tr->bound = true;
    }
    GNT_TRY(gnti_source_status(tr->source));
    GNT_TRY(gnti_program_explain(tr->program, json, out));
done:
    return st;
}
