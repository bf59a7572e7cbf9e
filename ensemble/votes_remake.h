/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions of a member of a run made anew from its weights, where the file of them is gone. */
#ifndef GNTI_ENSEMBLE_VOTES_REMAKE_H
#define GNTI_ENSEMBLE_VOTES_REMAKE_H

#include "ensemble/combine.h"
#include "ensemble/spec.h"

/* Of RUN/members/NAME, which sees `view` of the dataset (NULL: all): logits (nodes, classes), to be freed. */
gnt_status gnti_votes_remake(gnt_context *ctx, const char *folder, const gnti_member_view *view,
                             const gnt_dataset *data, float **out);
/* Writes FOLDER/logits.npy where it is not there. */
gnt_status gnti_votes_restore(gnt_context *ctx, const char *folder, const gnti_member_view *view,
                              const gnt_dataset *data);

#endif
