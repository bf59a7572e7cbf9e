/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks and processes tell each other outside of steps: logits for evaluation, decisions, and the state of a resumed run.
 *
 * Rows of logits go to the process of rank 0, which alone computes metrics and decides (best epoch, early stop), in the order
 * of the nodes, so nothing depends on the number of ranks. Its decisions are broadcast, never computed twice.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <string.h>

bool gnti_trainer_is_root(const gnt_trainer *tr)
{
    return tr->job.processes->rank == 0;
}

/* ---- logits -------------------------------------------------------------------------------------------------------- */

typedef struct gather_call {
    gnt_trainer *tr;
    int32_t member;
} gather_call;

static void scatter(const gnt_trainer *tr, const int64_t *ids, int64_t num_rows, const float *from)
{
    const int64_t width = tr->data->y.num_classes;

    for (int64_t r = 0; r < num_rows; r++)
        memcpy(tr->logits + ids[r] * width, from + r * width, (size_t)width * sizeof *from);
}

/* Ranks of one process write disjoint rows. */
static gnt_status rank_read(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gather_call *call = user;

    if (rank->rows == NULL)
        return gnti_evaluator_read(rank->evaluator, call->member, call->tr->logits);
    GNT_TRY(gnti_evaluator_read(rank->evaluator, call->member, rank->logits));
    if (gnti_trainer_is_root(call->tr))
        scatter(call->tr, rank->rows->part->ids, rank->rows->num_own, rank->logits);
done:
    return st;
}

/* Rows of the other processes, one after another: the root holds one rank's rows at a time. */
static gnt_status collect(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = tr->job.processes;
    const gnti_part *part = tr->lead->rows->part;
    const size_t row = (size_t)tr->data->y.num_classes * sizeof(float);
    gnti_exchange *x = NULL;
    int64_t *ids = NULL;
    float *rows = NULL;

    for (int32_t r = 1; r < c->size; r++) {
        int64_t count = c->rank == r ? part->num_own : 0;

        GNT_TRY(gnti_comm_broadcast(c, r, &count, sizeof count));
        for (int pass = 0; pass < 2; pass++) { /* ids, then values */
            gnti_comm_peer peer = { .rank = c->rank == 0 ? r : 0 };
            const size_t bytes = (size_t)count * (pass == 0 ? sizeof *ids : row);

            if (c->rank == 0) {
                GNT_TRY(gnti_realloc_array(&ids, count + 1));
                GNT_TRY(gnti_realloc_array(&rows, count * tr->data->y.num_classes + 1));
                peer.receive = pass == 0 ? (void *)ids : (void *)rows;
                peer.receive_bytes = bytes;
            } else if (c->rank == r) {
                peer.send = pass == 0 ? (const void *)part->ids : (const void *)tr->lead->logits;
                peer.send_bytes = bytes;
            }
            GNT_TRY(gnti_comm_exchange_start(c, &peer, c->rank == 0 || c->rank == r ? 1 : 0, &x));
            GNT_TRY(gnti_comm_exchange_finish(&x));
        }
        if (c->rank == 0)
            scatter(tr, ids, count, rows);
    }
done:
    (void)gnti_comm_exchange_finish(&x);
    gnti_free(ids);
    gnti_free(rows);
    return st;
}

gnt_status gnti_trainer_gather_logits(gnt_trainer *tr, int32_t member)
{
    gnt_status st = GNT_OK;
    gather_call call = { tr, member };

    GNT_TRY(gnti_ranks_each(tr->ranks, rank_read, &call));
    if (tr->job.processes->size > 1)
        GNT_TRY(collect(tr));
done:
    return st;
}

/* ---- decisions ----------------------------------------------------------------------------------------------------- */

gnt_status gnti_trainer_share_members(gnt_trainer *tr)
{
    if (tr->job.processes->size == 1)
        return GNT_OK;
    return gnti_comm_broadcast(tr->job.processes, 0, tr->members,
                               (size_t)tr->num_members * sizeof *tr->members);
}

gnt_status gnti_trainer_share_tests(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)tr->num_members * sizeof(double);

    GNT_TRY(gnti_comm_broadcast(tr->job.processes, 0, tr->test_metric, bytes));
    GNT_TRY(gnti_comm_broadcast(tr->job.processes, 0, tr->test_loss, bytes));
done:
    return st;
}

gnt_status gnti_trainer_share_flag(const gnt_trainer *tr, bool *flag)
{
    gnt_status st = GNT_OK;
    int32_t value = *flag ? 1 : 0;
    const gnti_all_reduce_args any = { &value, 1, GNT_I32, GNTI_COMM_MAX };

    GNT_TRY(gnti_comm_all_reduce(tr->job.processes, &any));
    *flag = value != 0;
done:
    return st;
}

gnt_status gnti_trainer_share_choices(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = tr->job.processes;
    int64_t length = tr->choices != NULL ? (int64_t)strlen(tr->choices) + 1 : 0;

    if (c->size == 1)
        return GNT_OK;
    GNT_TRY(gnti_comm_broadcast(c, 0, &length, sizeof length));
    if (length == 0)
        goto done;
    if (c->rank != 0) {
        gnti_free(tr->choices);
        tr->choices = NULL;
        GNT_TRY(gnti_alloc_array(&tr->choices, length));
    }
    GNT_TRY(gnti_comm_broadcast(c, 0, tr->choices, (size_t)length));
done:
    return st;
}

/* ---- state --------------------------------------------------------------------------------------------------------- */

static const int shared_blocks[] = { GNTI_BLOCK_WEIGHTS, GNTI_BLOCK_BEST, GNTI_BLOCK_MOMENT1,
                                     GNTI_BLOCK_MOMENT2 };

gnt_status gnti_trainer_read_state(gnt_trainer *tr, gnti_trainer_state *state)
{
    gnt_status st = GNT_OK;
    const int64_t floats = gnti_params_num_floats(tr->lead->params);

    state->num_blocks = tr->config.optimizer == GNTI_TRAIN_SGD ? 3 : 4;
    state->num_floats = floats;
    for (int i = 0; i < state->num_blocks; i++) {
        GNT_TRY(gnti_alloc_array(&state->block[i], floats + 1));
        GNT_TRY(gnti_params_read(tr->lead->params, shared_blocks[i], state->block[i]));
    }
done:
    return st;
}

void gnti_trainer_free_state(gnti_trainer_state *state)
{
    for (int i = 0; i < GNTI_STATE_BLOCKS; i++) {
        gnti_free(state->block[i]);
        state->block[i] = NULL;
    }
}

static gnt_status rank_write_state(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const gnti_trainer_state *state = user;

    for (int i = 0; i < state->num_blocks; i++)
        GNT_TRY(gnti_params_write(rank->params, shared_blocks[i], state->block[i]));
done:
    return st;
}

gnt_status gnti_trainer_write_state(gnt_trainer *tr, gnti_trainer_state *state)
{
    return gnti_ranks_each(tr->ranks, rank_write_state, state);
}

gnt_status gnti_trainer_share_state(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = tr->job.processes;
    gnti_trainer_state state = { 0 };
    int64_t at[3] = { tr->epoch, tr->step, tr->position };

    if (gnti_ranks_size(tr->ranks) == 1)
        return GNT_OK;
    GNT_TRY(gnti_trainer_read_state(tr, &state));
    for (int i = 0; i < state.num_blocks; i++)
        GNT_TRY(gnti_comm_broadcast(c, 0, state.block[i], (size_t)state.num_floats * sizeof(float)));
    GNT_TRY(gnti_comm_broadcast(c, 0, at, sizeof at));
    GNT_TRY(gnti_trainer_share_members(tr));
    GNT_TRY(gnti_comm_broadcast(c, 0, tr->sums, (size_t)tr->num_members * sizeof *tr->sums));
    tr->epoch = at[0];
    tr->step = at[1];
    tr->position = at[2];
    GNT_TRY(gnti_trainer_write_state(tr, &state));
done:
    gnti_trainer_free_state(&state);
    return st;
}
