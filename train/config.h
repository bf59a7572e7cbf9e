/* SPDX-License-Identifier: Apache-2.0 */
/* The trainer's options: one table, a deep copy that a trainer keeps, and the contradictions that are
 * refused. */
#ifndef GNTI_TRAIN_CONFIG_H
#define GNTI_TRAIN_CONFIG_H

#include <gnntrain/trainer.h>

#include "nn/program.h"

/* The order of the words of each option. */
typedef enum gnti_train_optimizer { GNTI_TRAIN_ADAM, GNTI_TRAIN_ADAMW, GNTI_TRAIN_SGD } gnti_train_optimizer;
typedef enum gnti_schedule_kind {
    GNTI_SCHEDULE_CONSTANT,
    GNTI_SCHEDULE_STEP,
    GNTI_SCHEDULE_COSINE,
    GNTI_SCHEDULE_WARMUP_COSINE,
    GNTI_SCHEDULE_PLATEAU,
    GNTI_SCHEDULE_CYCLES
} gnti_schedule_kind;
typedef enum gnti_loss_word {
    GNTI_LOSS_AUTO,
    GNTI_LOSS_SOFTMAX,
    GNTI_LOSS_BCE,
    GNTI_LOSS_MSE
} gnti_loss_word;
typedef enum gnti_monitor { GNTI_MONITOR_METRIC, GNTI_MONITOR_LOSS } gnti_monitor;
typedef enum gnti_source_word { GNTI_SOURCE_WORD_FULL, GNTI_SOURCE_WORD_CLUSTERS } gnti_source_word;
typedef enum gnti_resume { GNTI_RESUME_AUTO, GNTI_RESUME_NEVER, GNTI_RESUME_PATH } gnti_resume;

extern const gnt_option gnti_trainer_table[];

/* A copy that owns its texts, from a config of this or an older version (struct_size) or NULL for the
 * defaults; checked row by row and for settings that contradict each other: ERR_USAGE. */
gnt_status gnti_config_copy(const gnt_trainer_config *config, gnt_trainer_config *out);
void gnti_config_free(gnt_trainer_config *config);

/* The optimiser's name to the backend's. */
gnt_optimizer_kind gnti_config_optimizer(const gnt_trainer_config *config);

/* What --resume asks for. */
gnti_resume gnti_config_resume(const gnt_trainer_config *config);

/* auto by the labels; ERR_USAGE when loss and labels do not fit. */
gnt_status gnti_config_loss(const gnt_trainer_config *config, gnt_label_kind kind, gnt_loss_kind *out);

/* Decay rules of a text, to be freed. `source` text NULL: the optimiser's default. ERR_USAGE points at the
 * rule. */
gnt_status gnti_decay_parse(const char *text, bool adamw, int32_t num_layers, gnti_decay_rule **out,
                            int32_t *out_count);

/* Weight per class: none (all 1), balanced (n / (C n_c) over the training rows) or a list of C numbers.
 * counts (C) are training rows per class; out (C). */
gnt_status gnti_class_weights(const char *text, const int64_t *counts, int64_t num_classes, float *out);

#endif
