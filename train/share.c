/* SPDX-License-Identifier: Apache-2.0 */
/* What processes tell each other outside of steps and evaluation: that some process was asked to stop, and the state of a
 * resumed run, which the process of rank 0 has read.
 */
#include "train/trainer_state.h"

#include "base/alloc.h"
#include "base/text.h"
#include "kernels/choices.h"

#include <string.h>

bool gnti_trainer_is_root(const gnt_trainer *tr)
{
    return tr->job.processes->rank == 0;
}

/* ---- decisions ----------------------------------------------------------------------------------------------------- */

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

/* A line a member: what it has of its own. */
static gnt_status list_members(const gnt_trainer *tr, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };

    for (int32_t m = 0; m < tr->num_members; m++) {
        const gnti_own *own = &tr->own[m];
        const gnt_trainer_config *c = &own->config;

        gnti_text_printf(
            &t, "member %d\tseed %lld, lr %.17g, dropout %.17g, input dropout %.17g, epochs %lld, ", (int)m,
            (long long)c->seed, c->lr, own->dropout, own->input_dropout, (long long)c->epochs);
        gnti_text_printf(&t, "patience %lld, weight decay '%s', loss weights '%s'\n", (long long)c->patience,
                         c->weight_decay != NULL ? c->weight_decay : "", own->weight_sha256);
    }
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}

gnt_status gnti_trainer_check_processes(const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    char *members = NULL;

    if (tr->isolates && tr->job.processes->size > 1)
        GNT_TRY(list_members(tr, &members));
    GNT_TRY(gnti_job_check(&tr->job, tr->model, tr->data, &tr->config, members));
done:
    gnti_free(members);
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

gnt_status gnti_trainer_open_choices(gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const gnti_determinism level = gnti_context_determinism(tr->ctx);
    const gnti_choices_config config = {
        .determinism = level, /* what another process chose is not in the checkpoint of the first */
        .measures = level != GNTI_DET_BITWISE || tr->job.processes->size == 1
    };
    const char *rest = tr->choices != NULL ? strchr(tr->choices, ';') : NULL;

    GNT_TRY(gnti_choices_create(&config, &tr->measured));
    if (rest != NULL) /* behind those of the planner */
        GNT_TRY(gnti_choices_take(tr->measured, rest + 1));
done:
    return st;
}

gnt_status gnti_trainer_list_choices(const gnt_trainer *tr, char **out)
{
    gnti_text t = { 0 };

    if (tr->choices != NULL)
        gnti_text_append_bytes(&t, tr->choices, strcspn(tr->choices, ";"));
    gnti_choices_put(tr->measured, &t);
    return gnti_text_take(&t, out);
}

/* ---- state --------------------------------------------------------------------------------------------------------- */

const int gnti_state_blocks[GNTI_STATE_BLOCKS] = { GNTI_BLOCK_WEIGHTS, GNTI_BLOCK_BEST, GNTI_BLOCK_MOMENT1,
                                                   GNTI_BLOCK_MOMENT2 };

int gnti_trainer_num_blocks(const gnt_trainer *tr)
{
    return tr->config.optimizer == GNTI_TRAIN_SGD ? 3 : 4;
}

gnt_status gnti_trainer_read_state(gnt_trainer *tr, gnti_trainer_state *state)
{
    gnt_status st = GNT_OK;
    const int64_t floats = gnti_params_member_floats(tr->lead->params);

    state->num_blocks = gnti_trainer_num_blocks(tr);
    state->num_members = tr->num_members;
    state->num_floats = floats;
    for (int i = 0; i < state->num_blocks; i++) {
        GNT_TRY(gnti_alloc_array(&state->block[i], floats * tr->num_members + 1));
        for (int32_t m = 0; m < tr->num_members; m++)
            GNT_TRY(gnti_params_read_member(tr->lead->params, gnti_state_blocks[i], m,
                                            state->block[i] + m * floats));
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
        for (int32_t m = 0; m < state->num_members; m++)
            GNT_TRY(gnti_params_write_member(rank->params, gnti_state_blocks[i], m,
                                             state->block[i] + m * state->num_floats));
done:
    return st;
}

gnt_status gnti_trainer_write_state(gnt_trainer *tr, const gnti_trainer_state *state)
{
    gnti_trainer_state lent = *state;

    return gnti_ranks_each(tr->ranks, rank_write_state, &lent);
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
        GNT_TRY(gnti_comm_broadcast(c, 0, state.block[i],
                                    (size_t)(state.num_floats * tr->num_members) * sizeof(float)));
    GNT_TRY(gnti_comm_broadcast(c, 0, at, sizeof at));
    GNT_TRY(gnti_comm_broadcast(c, 0, tr->members, (size_t)tr->num_members * sizeof *tr->members));
    GNT_TRY(gnti_comm_broadcast(c, 0, tr->sums, (size_t)tr->num_members * sizeof *tr->sums));
    tr->epoch = at[0];
    tr->step = at[1];
    tr->position = at[2];
    GNT_TRY(gnti_trainer_write_state(tr, &state));
done:
    gnti_trainer_free_state(&state);
    return st;
}
