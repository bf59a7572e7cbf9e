/* SPDX-License-Identifier: Apache-2.0 */
/* How members come to be, beyond training each alone, and how weights of several become one.
 *
 *   independent  each member from its own seed
 *   snapshot     one run with a cyclic rate, a member at each minimum (Huang et al., ICLR 2017)
 *   swa          the running mean of weights at cycle ends of one run (Izmailov et al., UAI 2018), norm statistics refreshed
 *   swap         full batch first, then each worker alone on sampled batches, then the mean of weights (Gupta et al., ICLR 2020)
 *   edde         members in turn: lower layers handed on, diversity in the loss, boosting weights (Zhang et al., ICDE 2020)
 *   soup         the mean of weights of members that start from the same ones (Wortsman et al., ICML 2022): uniform, or greedy
 *
 * A run asks a method at a few points and is otherwise the same for all of them:
 *
 *   gnti_method_shape(spec, data)       when the spec is read: members' epochs, rates, sources; trainings that no spec names (SWAP's first
 *                                       phase, EDDE's folds) are put in front
 *   gnti_method_waits_for(spec, m)      a member becomes a task when these have ended
 *   gnti_method_open(...)
 *     gnti_method_options(mr, m, &o)    before gnti_trainer_create_members
 *     gnti_method_start(mr, tr, s, m)   after it, unless a checkpoint of the member is loaded
 *     gnti_method_after_epoch(...)      after each epoch; may say that the member has ended
 *     gnti_method_after_member(...)     once, when the member has ended, before its trainer goes
 *   gnti_method_finish(mr)              when all have ended: means of weights
 *   gnti_method_outputs(mr, &list)      what is combined
 * All that a method keeps are files below RUN/members, each a function of the spec and of files that were there before and written
 * whole or not at all. So every call may be repeated: a run that goes on after a kill calls after_epoch again for epochs that it repeats,
 * after_member and finish again when the journal does not have their end.
 * Formulas and where they differ from the papers: docs/ensembles.md.
 */
#ifndef GNTI_ENSEMBLE_METHOD_H
#define GNTI_ENSEMBLE_METHOD_H

#include "ensemble/spec.h"

typedef enum gnti_method {
    GNTI_METHOD_INDEPENDENT,
    GNTI_METHOD_SNAPSHOT,
    GNTI_METHOD_SWA,
    GNTI_METHOD_SWAP,
    GNTI_METHOD_EDDE,
    GNTI_METHOD_SOUP
} gnti_method;
#define GNTI_METHOD_WORDS "independent|snapshot|swa|swap|edde|soup"

/* Makes the members of a new spec the trainings that its method needs; ERR_USAGE names settings that contradict it. gnti_spec_parse does it. */
gnt_status gnti_method_shape(gnti_spec *spec, const gnt_dataset *data);
/* Of a shaped spec: the members that must have ended before this one is trained; num 0: none. */
typedef struct gnti_member_range {
    int32_t first, num;
} gnti_member_range;
gnti_member_range gnti_method_waits_for(const gnti_spec *spec, int32_t member);

/* A method at work. Calls for different members may come from several threads at once, those of one member may not. */
typedef struct gnti_method_run gnti_method_run;

/* All lent. run: the folder RUN, whose members/ the caller has made. */
gnt_status gnti_method_open(gnt_context *ctx, const gnti_spec *spec, const gnt_dataset *data, const char *run,
                            gnti_method_run **out);
void gnti_method_close(gnti_method_run **mr);

/* Changes what the caller took from spec and fold (weight is multiplied into options->weight, which must not change until then).
 * What it points to stays valid until the next call for this member. Reads files of members that it waits for. */
gnt_status gnti_method_options(gnti_method_run *mr, int32_t member, gnti_member_options *options);

/* slot: the member's place in the trainer. The trainer has done no epoch. */
gnt_status gnti_method_start(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member);
gnt_status gnti_method_after_epoch(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member,
                                   bool *out_ended);
/* Before it the run has written members/NAME/logits.npy of the best weights. */
gnt_status gnti_method_after_member(gnti_method_run *mr, gnt_trainer *tr, int32_t slot, int32_t member);

/* skip (num_members): those that have failed for good, NULL: none. Outputs without a present one: nothing is left. */
gnt_status gnti_method_finish(gnti_method_run *mr, const uint8_t *skip);

/* Folders below RUN/members whose logits.npy are combined, in order; lent. Known before anything is trained; `present` after finish. */
typedef struct gnti_method_output {
    char name[48];
    int32_t member; /* whose training it is; -1: of several */
    double weight;  /* of the vote, 1 but for EDDE; after finish */
    bool present;   /* logits.npy is there */
    char note[80];  /* for the report, "" or "mean of 5 of 8 members" */
} gnti_method_output;
int32_t gnti_method_outputs(const gnti_method_run *mr, const gnti_method_output **out);

/* Mean of weights: states of one shape, sum(share) > 0. Progress, best and moments are those of a member that has not begun;
 * gnti_trainer_refresh_norms makes statistics of norms anew. */
gnt_status gnti_states_mean(const gnti_member_state *const *states, const double *share, int32_t num,
                            gnti_member_state *out);

#endif
