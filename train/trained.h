/* SPDX-License-Identifier: Apache-2.0 */
/* A trained run made ready to be asked: checkpoint, model, dataset and an evaluator, from the path that a user gives. */
#ifndef GNTI_TRAIN_TRAINED_H
#define GNTI_TRAIN_TRAINED_H

#include "train/checkpoint.h"
#include "train/job.h"

typedef struct gnti_trained {
    gnti_checkpoint *cp;
    int32_t num_members;
    gnt_dataset *data;
    gnt_model *model;
    gnti_params *params;
    gnti_model_features features;
    gnti_job job; /* of one device */
    gnt_device *device;
    bool owns_device;
    gnti_evaluator *evaluator;
    gnti_choices *measured; /* as the run has them */
    int64_t num_classes;
    gnt_label_kind label_kind;
    char **class_names; /* (num_classes) owned, or NULL */
} gnti_trained;

/* The file that RUN, RUN/seed-S, best.h5 or a checkpoint stands for, read. */
gnt_status gnti_trained_checkpoint(const char *run, gnti_checkpoint **out);

/* The block of its best weights (GNTI_CP_*), completed by the last ones of members that have no best ones. */
int gnti_trained_best_block(gnti_checkpoint *cp);

/* Checkpoint and model alone. */
gnt_status gnti_trained_load(gnt_context *ctx, const char *run, gnti_trained *out);
/* Its dataset, and the names of the classes. data NULL: the one of the run; ERR_FORMAT when that has changed, or when a given one does
 * not fit. */
gnt_status gnti_trained_open_data(gnt_context *ctx, const char *data, gnti_trained *t);
/* The dataset of a training again: the one given (NULL: the stored path). ERR_IO, with --data as the remedy, when that is there no
 * longer; ERR_FORMAT, with both sums, when it has changed; a given one may be any. sha256 NULL: not known. */
gnt_status gnti_trained_dataset(gnt_context *ctx, const char *given, const char *stored, const char *sha256,
                                gnt_dataset **out);
/* Names of the dataset, else those that the checkpoint remembers. */
gnt_status gnti_trained_name_classes(gnti_trained *t, const gnt_dataset *data);
/* Makes all of it and runs the model once, all members at their best weights. devices: one, as of gnt_trainer_config; NULL: the
 * context's. */
gnt_status gnti_trained_open(gnt_context *ctx, const char *run, const char *data, const char *devices,
                             bool keep_hidden, gnti_trained *out);
/* Logits of its first member (N, num_classes), to be freed, on a dataset that is somebody else's; by the processor. */
gnt_status gnti_trained_ask(gnt_context *ctx, const char *run, const gnt_dataset *data, float **out);
/* The split that it was trained with, lent; NULL: not said. */
const char *gnti_trained_split(const gnti_trained *t);
/* Whether the run's features are divided by the sum of their row. */
bool gnti_trained_normalizes(const gnti_trained *t);
void gnti_trained_free(gnti_trained *t);

/* Its seed, or the member of a seed: ERR_USAGE lists the seeds. */
int64_t gnti_trained_seed(const gnti_trained *t, int32_t member);
gnt_status gnti_trained_find_seed(const gnti_trained *t, int64_t seed, int32_t *member);

/* "confusion": [[...]], rows are the truth. */
gnt_status gnti_put_confusion(const int64_t *counts, int64_t num_classes, gnti_json *o);

/* (N, num_classes), to be freed. */
gnt_status gnti_trained_logits(const gnti_trained *t, int32_t member, float **out);

#endif
