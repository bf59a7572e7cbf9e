/* SPDX-License-Identifier: Apache-2.0 */
/* Compaction: some members leave a trainer between epochs, the program is made anew for the others. Nothing but the width of the
 * members' axis changes, so those that stay compute what they would have.
 *
 * All that is by member is copied into arrays of the new size first; the old ones are kept until the new ranks stand, and put back
 * when they cannot be made.
 */
#include "train/member.h"
#include "train/trainer_state.h"

#include "base/alloc.h"

#include <string.h>

/* What a trainer has by member. */
typedef struct by_member {
    int32_t num;
    int64_t epochs;
    gnti_own *own;
    uint64_t *seeds;
    float *weight;
    uint8_t *live;
    gnti_member *members;
    gnti_epoch_sums *sums;
    double *out_values, *test_metric, *test_loss;
    int64_t *confusion;
} by_member;

static by_member get_arrays(const gnt_trainer *tr)
{
    return (by_member){ .num = tr->num_members,
                        .epochs = tr->config.epochs,
                        .own = tr->own,
                        .seeds = tr->seeds,
                        .weight = tr->member_weight,
                        .live = tr->live,
                        .members = tr->members,
                        .sums = tr->sums,
                        .out_values = tr->out_values,
                        .test_metric = tr->test_metric,
                        .test_loss = tr->test_loss,
                        .confusion = tr->confusion };
}

static void set_arrays(gnt_trainer *tr, const by_member *a)
{
    tr->num_members = a->num;
    tr->config.seeds = a->num;
    tr->config.epochs = a->epochs;
    tr->own = a->own;
    tr->seeds = a->seeds;
    tr->member_weight = a->weight;
    tr->live = a->live;
    tr->members = a->members;
    tr->sums = a->sums;
    tr->out_values = a->out_values;
    tr->test_metric = a->test_metric;
    tr->test_loss = a->test_loss;
    tr->confusion = a->confusion;
}

/* Not what the members own. */
static void free_arrays(by_member *a)
{
    gnti_free(a->own);
    gnti_free(a->seeds);
    gnti_free(a->weight);
    gnti_free(a->live);
    gnti_free(a->members);
    gnti_free(a->sums);
    gnti_free(a->out_values);
    gnti_free(a->test_metric);
    gnti_free(a->test_loss);
    gnti_free(a->confusion);
    memset(a, 0, sizeof *a);
}

/* Arrays of `num` members that are to be those with keep[m] != 0 of `from`; what they own is lent. */
static gnt_status copy_kept(const by_member *from, const uint8_t *keep, int32_t num, int64_t cells,
                            by_member *to)
{
    gnt_status st = GNT_OK;
    int32_t at = 0;

    to->num = num;
    GNT_TRY(gnti_calloc_array(&to->own, num));
    GNT_TRY(gnti_alloc_array(&to->seeds, num));
    GNT_TRY(gnti_calloc_array(&to->live, num));
    GNT_TRY(gnti_alloc_array(&to->members, num));
    GNT_TRY(gnti_calloc_array(&to->sums, num));
    GNT_TRY(gnti_calloc_array(&to->out_values, 4 * (int64_t)num));
    GNT_TRY(gnti_alloc_array(&to->test_metric, num));
    GNT_TRY(gnti_alloc_array(&to->test_loss, num));
    if (from->confusion != NULL)
        GNT_TRY(gnti_calloc_array(&to->confusion, num * cells));
    for (int32_t m = 0; m < from->num; m++) {
        if (!keep[m])
            continue;
        to->own[at] = from->own[m];
        to->seeds[at] = from->seeds[m];
        to->live[at] = from->live[m];
        to->members[at] = from->members[m];
        to->test_metric[at] = from->test_metric[m];
        to->test_loss[at] = from->test_loss[m];
        if (at == 0 || from->own[m].config.epochs > to->epochs)
            to->epochs = from->own[m].config.epochs;
        at++;
    }
done:
    return st;
}

static gnt_status read_kept(gnt_trainer *tr, const uint8_t *keep, int32_t num, gnti_trainer_state *state)
{
    gnt_status st = GNT_OK;
    const int64_t floats = gnti_params_member_floats(tr->lead->params);

    state->num_blocks = gnti_trainer_num_blocks(tr);
    state->num_members = num;
    state->num_floats = floats;
    for (int i = 0; i < state->num_blocks; i++) {
        float *to;

        GNT_TRY(gnti_alloc_array(&state->block[i], floats * num + 1));
        to = state->block[i];
        for (int32_t m = 0; m < tr->num_members; m++) {
            if (!keep[m])
                continue;
            GNT_TRY(gnti_params_read_member(tr->lead->params, gnti_state_blocks[i], m, to));
            to += floats;
        }
    }
done:
    return st;
}

static gnt_status check(const gnt_trainer *tr, const uint8_t *keep, int32_t *num)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(tr != NULL && keep != NULL, GNT_ERR_ARG, "trainer and keep must not be NULL");
    GNT_CHECK(tr->status == GNT_OK && !tr->finished && tr->position == 0, GNT_ERR_STATE,
              "the run has failed, stopped or is finished: no member can leave");
    GNT_CHECK(tr->run == NULL && tr->config.run == NULL, GNT_ERR_STATE,
              "the seeds of run folder '%s' stay together", tr->config.run);
    *num = 0;
    for (int32_t m = 0; m < tr->num_members; m++)
        *num += keep[m] != 0;
    GNT_CHECK(*num > 0, GNT_ERR_ARG, "none of %d members is to be kept: free the trainer instead",
              (int)tr->num_members);
done:
    return st;
}

gnt_status gnti_trainer_keep_members(gnt_trainer *tr, const uint8_t *keep)
{
    gnt_status st = GNT_OK;
    gnti_trainer_state state = { 0 };
    by_member old = { 0 }, made = { 0 };
    int32_t num = 0;
    const int64_t classes = tr != NULL ? tr->data->y.num_classes : 0;

    GNT_TRY(check(tr, keep, &num));
    if (num == tr->num_members)
        return GNT_OK;
    GNT_TRY(read_kept(tr, keep, num, &state));
    old = get_arrays(tr);
    GNT_TRY(copy_kept(&old, keep, num, classes * classes, &made));
    set_arrays(tr, &made);
    st = gnti_trainer_remake_ranks(tr, true, &state);
    made = get_arrays(tr); /* with the weights that were made */
    if (st != GNT_OK)
        set_arrays(tr, &old);
    GNT_TRY(st);
    for (int32_t m = 0; m < old.num; m++)
        if (!keep[m])
            gnti_own_free(&old.own[m]);
    free_arrays(&old);
    made = (by_member){ 0 };
    GNT_TRY(gnti_trainer_watch(tr));
done:
    free_arrays(&made);
    gnti_trainer_free_state(&state);
    return st;
}
