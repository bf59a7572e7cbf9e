/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of a rank on a device that other trainers share: whoever hands them out is asked first, then the memory that all of them have in
 * common between steps is held. A rank holds its device alone and never asks for another one, so ranks of two trainers do not wait for
 * each other in a circle unless these share two devices: who hands turns out sees to that.
 */
#include "train/trainer_state.h"

void gnti_trainer_set_turns(gnt_trainer *tr, const gnti_turns *turns)
{
    tr->turns = turns != NULL ? *turns : (gnti_turns){ 0 };
}

int64_t gnti_trainer_steps_done(const gnt_trainer *tr)
{
    return tr->step;
}

bool gnti_rank_take_turn(const gnt_trainer *tr, gnti_rank *rank)
{
    if (tr->turns.take != NULL)
        tr->turns.take(tr->turns.user, rank->local);
    return gnti_program_hold(rank->program);
}

void gnti_rank_give_turn(const gnt_trainer *tr, gnti_rank *rank)
{
    gnti_evaluator_settle(rank->evaluator);
    gnti_program_release(rank->program);
    if (tr->turns.give != NULL)
        tr->turns.give(tr->turns.user, rank->local);
}
