/* SPDX-License-Identifier: Apache-2.0 */
/* Members that come and go: their state out of a trainer and into another one, and the program made anew for those that stay.
 *
 * Weights, best weights, moments, epoch, step and progress decide all that comes next, and random numbers are keyed by the
 * member's seed and the step; so it makes no difference in which company a member trains.
 */
#include "train/member.h"
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <string.h>

void gnti_member_state_free(gnti_member_state *state)
{
    gnti_free(state->weights);
    gnti_free(state->best);
    gnti_free(state->moment1);
    gnti_free(state->moment2);
    memset(state, 0, sizeof *state);
}

/* In the order of gnti_state_blocks. */
static void list_blocks(gnti_member_state *state, float **out[GNTI_STATE_BLOCKS])
{
    out[0] = &state->weights;
    out[1] = &state->best;
    out[2] = &state->moment1;
    out[3] = &state->moment2;
}

static gnt_status check_member(const gnt_trainer *tr, int32_t member)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && member >= 0 && member < tr->num_members, GNT_ERR_ARG,
              "member %d is outside of 0 to %d", (int)member, tr != NULL ? (int)tr->num_members - 1 : -1);
done:
    return st;
}

/* ---- take ---------------------------------------------------------------------------------------------------------- */

gnt_status gnti_trainer_take_member(gnt_trainer *tr, int32_t member, gnti_member_state *out)
{
    gnt_status st = GNT_OK;
    gnti_member_state state = { 0 };
    float **block[GNTI_STATE_BLOCKS];

    GNT_TRY(check_member(tr, member));
    GNT_CHECK(tr->own[member].failure == NULL, GNT_ERR_STATE, "member %d has failed: %s", (int)member,
              tr->own[member].failure);
    GNT_CHECK((tr->status == GNT_OK || tr->status == GNT_STOPPED) && tr->position == 0, GNT_ERR_STATE,
              "member %d cannot be taken: the run has failed or was stopped in epoch %lld", (int)member,
              (long long)tr->epoch + 1);
    if (!gnti_trainer_is_root(tr))
        return GNT_OK;
    state.epoch = tr->epoch;
    state.step = tr->step;
    state.seed = tr->seeds[member];
    state.progress = tr->members[member];
    state.num_floats = gnti_params_member_floats(tr->lead->params);
    list_blocks(&state, block);
    for (int i = 0; i < gnti_trainer_num_blocks(tr); i++) {
        GNT_TRY(gnti_alloc_array(block[i], state.num_floats + 1));
        GNT_TRY(gnti_params_read_member(tr->lead->params, gnti_state_blocks[i], member, *block[i]));
    }
    *out = state;
    memset(&state, 0, sizeof state);
done:
    gnti_member_state_free(&state);
    return st;
}

/* ---- put ----------------------------------------------------------------------------------------------------------- */

/* One member's blocks on their way to all ranks of the process. */
typedef struct put_call {
    const gnt_trainer *tr;
    int32_t member;
    const gnti_member_state *state;
} put_call;

static gnt_status rank_put(gnti_rank *rank, void *user)
{
    gnt_status st = GNT_OK;
    const put_call *call = user;
    gnti_member_state lent = *call->state;
    float **block[GNTI_STATE_BLOCKS];

    list_blocks(&lent, block);
    for (int i = 0; i < gnti_trainer_num_blocks(call->tr); i++)
        GNT_TRY(gnti_params_write_member(rank->params, gnti_state_blocks[i], call->member, *block[i]));
done:
    return st;
}

/* A state of this trainer's model and optimiser, and of the member's seed. */
static gnt_status check_state(const gnt_trainer *tr, int32_t member, const gnti_member_state *state)
{
    gnt_status st = GNT_OK;
    const int64_t floats = gnti_params_member_floats(tr->lead->params);
    gnti_member_state lent = *state;
    float **block[GNTI_STATE_BLOCKS];

    GNT_CHECK(state->num_floats == floats, GNT_ERR_ARG,
              "the state has %lld parameters, a member of the trainer %lld", (long long)state->num_floats,
              (long long)floats);
    GNT_CHECK(state->seed == tr->seeds[member], GNT_ERR_ARG,
              "the state is of seed %llu, member %d has seed %llu", (unsigned long long)state->seed,
              (int)member, (unsigned long long)tr->seeds[member]);
    list_blocks(&lent, block);
    for (int i = 0; i < GNTI_STATE_BLOCKS; i++)
        GNT_CHECK((*block[i] != NULL) == (i < gnti_trainer_num_blocks(tr)), GNT_ERR_ARG,
                  "the state is of another optimiser, it %s moment %d", *block[i] != NULL ? "has" : "lacks",
                  i - 1);
    GNT_CHECK(state->epoch >= 0 && state->step >= 0, GNT_ERR_ARG, "the state stands at epoch %lld, step %lld",
              (long long)state->epoch, (long long)state->step);
done:
    return st;
}

/* All placed members stand where the trainer does. */
static gnt_status check_place(const gnt_trainer *tr, const gnti_member_state *state)
{
    gnt_status st = GNT_OK;
    bool alone = true;

    GNT_CHECK(tr->status == GNT_OK && tr->num_seconds == 0 && tr->position == 0, GNT_ERR_STATE,
              "the trainer has trained already, it stands at epoch %lld: put members before its first epoch",
              (long long)tr->epoch);
    for (int32_t m = 0; m < tr->num_members; m++)
        alone = alone && !tr->own[m].is_placed;
    GNT_CHECK(alone || (state->epoch == tr->epoch && state->step == tr->step), GNT_ERR_STATE,
              "the state stands at epoch %lld, step %lld, the members before it at epoch %lld, step %lld",
              (long long)state->epoch, (long long)state->step, (long long)tr->epoch, (long long)tr->step);
done:
    return st;
}

/* What only the root process has, to the others. */
static gnt_status share_put(const gnt_trainer *tr, const gnti_member_state *state, gnti_member_state *shared)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = tr->job.processes;
    float **block[GNTI_STATE_BLOCKS], **from[GNTI_STATE_BLOCKS];
    gnti_member_state lent = { 0 };

    if (gnti_trainer_is_root(tr))
        lent = *state;
    *shared = lent;
    shared->num_floats = gnti_params_member_floats(tr->lead->params);
    list_blocks(shared, block);
    list_blocks(&lent, from);
    for (int i = 0; i < GNTI_STATE_BLOCKS; i++)
        *block[i] = NULL;
    GNT_TRY(gnti_comm_broadcast(c, 0, &shared->epoch, sizeof shared->epoch));
    GNT_TRY(gnti_comm_broadcast(c, 0, &shared->step, sizeof shared->step));
    GNT_TRY(gnti_comm_broadcast(c, 0, &shared->seed, sizeof shared->seed));
    GNT_TRY(gnti_comm_broadcast(c, 0, &shared->progress, sizeof shared->progress));
    for (int i = 0; i < gnti_trainer_num_blocks(tr); i++) {
        const size_t bytes = (size_t)shared->num_floats * sizeof(float);

        GNT_TRY(gnti_alloc_array(block[i], shared->num_floats + 1));
        if (*from[i] != NULL)
            memcpy(*block[i], *from[i], bytes);
        GNT_TRY(gnti_comm_broadcast(c, 0, *block[i], bytes));
    }
done:
    return st;
}

gnt_status gnti_trainer_put_member(gnt_trainer *tr, int32_t member, const gnti_member_state *state)
{
    gnt_status st = GNT_OK;
    gnti_member_state shared = { 0 };
    put_call call = { .tr = tr, .member = member, .state = state };
    bool wrong = false;

    GNT_TRY(check_member(tr, member));
    if (gnti_trainer_is_root(tr)) {
        st = check_state(tr, member, state);
        if (st == GNT_OK)
            st = check_place(tr, state);
    }
    wrong = st != GNT_OK;
    if (tr->job.processes->size > 1) {
        const gnt_status told = gnti_trainer_share_flag(tr, &wrong);

        GNT_CHECK(st != GNT_OK || told != GNT_OK || !wrong, GNT_ERR_STATE,
                  "the state of member %d does not fit, rank 0 tells why", (int)member);
        GNT_TRY(st);
        GNT_TRY(told);
        GNT_TRY(share_put(tr, state, &shared));
        call.state = &shared;
    }
    GNT_TRY(st);
    tr->logits_of = GNTI_LOGITS_OF_NOTHING;
    GNT_TRY(gnti_ranks_each(tr->ranks, rank_put, &call));
    tr->members[member] = call.state->progress;
    tr->own[member].is_placed = true;
    tr->epoch = call.state->epoch;
    tr->step = call.state->step;
done:
    gnti_member_state_free(&shared);
    return st;
}

gnt_status gnti_trainer_check_placed(const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    int32_t placed = 0, missing = 0;

    if (tr->num_seconds > 0 || tr->epoch == 0)
        return GNT_OK;
    for (int32_t m = 0; m < tr->num_members; m++) {
        placed += tr->own[m].is_placed;
        missing = tr->own[missing].is_placed ? m : missing;
    }
    GNT_CHECK(placed == 0 || placed == tr->num_members, GNT_ERR_STATE,
              "member %d stands at epoch 0, the others were put at epoch %lld: put all of them", (int)missing,
              (long long)tr->epoch);
done:
    return st;
}
