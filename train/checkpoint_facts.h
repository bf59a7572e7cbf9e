/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a run as members of a JSON object, written into checkpoints (checkpoint_meta.c) and compared with them
 * (checkpoint_compare.c).
 */
#ifndef GNTI_TRAIN_CHECKPOINT_FACTS_H
#define GNTI_TRAIN_CHECKPOINT_FACTS_H

#include "base/json.h"
#include "partition/partition.h"
#include "train/prepare.h"

/* The model's settings as the member (< 0: every member) has them, and the trainer's. */
void gnti_member_model_config(const gnt_trainer *tr, int32_t member, gnt_model_config *out);
const gnt_trainer_config *gnti_member_config(const gnt_trainer *tr, int32_t member);

/* meta.model (with these settings), meta.data, meta.split; meta.partition when there is one */
gnt_status gnti_put_model(const gnt_model *model, const gnt_model_config *config, gnti_json *meta);
gnt_status gnti_put_data(const gnt_dataset *data, gnti_json *meta);
gnt_status gnti_put_split(const gnti_prepared *p, gnti_json *meta);
gnt_status gnti_put_partition(const gnti_partition *p, gnti_json *meta);

/* The text of a setting, "" for a text that is not set; numbers are put into buffer. */
gnt_status gnti_setting_text(const gnt_option *o, const gnt_trainer_config *config, char *buffer,
                             size_t bytes, const char **out);

#endif
