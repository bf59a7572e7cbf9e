/* SPDX-License-Identifier: Apache-2.0 */
/* Learning rates by epoch, early stopping and the best epoch, each member for itself.
 *
 * All state of a member is in gnti_member: numbers only, saved in the checkpoint as they are, so a resumed
 * run decides what an uninterrupted one would.
 */
#ifndef GNTI_TRAIN_SCHEDULE_H
#define GNTI_TRAIN_SCHEDULE_H

#include "train/config.h"

/* Saved as a row of doubles in this order; new fields at the end. */
typedef struct gnti_member {
    double live;       /* 1, or 0 once stopped early */
    double best_epoch; /* from 1, 0: none yet */
    double best_value; /* monitored validation value of that epoch */
    double best_valid_metric, best_valid_loss;
    double last_epoch;                             /* newest evaluated epoch */
    double train_metric, valid_loss, valid_metric; /* of that epoch */
    double plateau_scale;                          /* product of the drops so far */
    double plateau_best, plateau_epoch;            /* best value and the epoch of it, or of the last drop */
} gnti_member;
enum { GNTI_MEMBER_FIELDS = (int)(sizeof(gnti_member) / sizeof(double)) };

void gnti_member_init(gnti_member *member);

/* The learning rate of an epoch (from 0) for a member. */
double gnti_schedule_lr(const gnt_trainer_config *config, const gnti_member *member, int64_t epoch);

/* Takes the validation value of an evaluated epoch (from 1). Answers true when it is the best so far:
 * strictly better, ties and NaN are not. Stops the member after `patience` epochs without a better one; drops
 * the plateau's rate. */
bool gnti_member_observe(gnti_member *member, const gnt_trainer_config *config, int64_t epoch, double value,
                         bool higher_is_better);

#endif
