/* SPDX-License-Identifier: Apache-2.0 */
/* A trained run made ready to be asked: checkpoint, model, dataset and an evaluator, from the path that a user gives. */
#ifndef GNTI_TRAIN_TRAINED_H
#define GNTI_TRAIN_TRAINED_H

#include "train/checkpoint.h"

typedef struct gnti_trained {
    gnti_checkpoint *cp;
    int32_t num_members;
    gnt_dataset *data;
    gnt_model *model;
    gnti_params *params;
    gnti_model_features features;
    gnti_evaluator *evaluator;
    int64_t num_classes;
    gnt_label_kind label_kind;
    char **class_names; /* (num_classes) owned, or NULL */
} gnti_trained;

/* The file that RUN, RUN/seed-S, best.h5 or a checkpoint stands for, read. */
gnt_status gnti_trained_checkpoint(const char *run, gnti_checkpoint **out);

/* The block of its best weights (GNTI_CP_*), completed by the last ones of members that have no best ones. */
int gnti_trained_best_block(gnti_checkpoint *cp);

/* Makes all of it and runs the model once, all members at their best weights. data NULL: the one of the run; ERR_FORMAT
 * when that has changed, or when a given one does not fit. */
gnt_status gnti_trained_open(gnt_context *ctx, const char *run, const char *data, bool keep_hidden,
                             gnti_trained *out);
void gnti_trained_free(gnti_trained *t);

/* Its seed, or the member of a seed: ERR_USAGE lists the seeds. */
int64_t gnti_trained_seed(const gnti_trained *t, int32_t member);
gnt_status gnti_trained_find_seed(const gnti_trained *t, int64_t seed, int32_t *member);

/* "confusion": [[...]], rows are the truth. */
gnt_status gnti_put_confusion(const int64_t *counts, int64_t num_classes, gnti_json *o);

/* (N, num_classes), to be freed. */
gnt_status gnti_trained_logits(const gnti_trained *t, int32_t member, float **out);

#endif
