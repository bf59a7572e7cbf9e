/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of what a run predicts: of one model at several seeds, or of anything that has logits for every node. */
#ifndef GNTI_TRAIN_EVAL_RUN_H
#define GNTI_TRAIN_EVAL_RUN_H

#include <gnntrain/experimental.h>

#include "train/trained.h"

typedef struct gnti_eval_subject {
    const gnt_dataset *data;
    int64_t num_classes;
    char *const *class_names;                                            /* (num_classes) or NULL */
    int32_t num_members;                                                 /* scores are their mean */
    gnt_status (*logits)(const void *user, int32_t member, float **out); /* (N, num_classes), to be freed */
    const void *user;
} gnti_eval_subject;

/* Adds "data", "split", "classes", "splits" and "confusion" to a report. ERR_FORMAT when there are no labels. */
gnt_status gnti_eval_scores(const gnti_eval_subject *t, const char *split_name, gnti_json *report);

/* gnntrain eval of a run or a checkpoint. */
gnt_status gnti_eval_run(gnt_context *ctx, const char *run, const char *data_path, const char *devices,
                         gnti_json **out);

#endif
