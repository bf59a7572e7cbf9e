/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset made ready for a run: split chosen, features normalised, loss weights per node. */
#ifndef GNTI_TRAIN_PREPARE_H
#define GNTI_TRAIN_PREPARE_H

#include "train/config.h"
#include "train/metrics.h"

/* Features as the model sees them: the dataset's own, or a normalised copy. Zeroed before use. */
typedef struct gnti_model_features {
    gnti_features x;   /* what to bind; its arrays are lent or owned below */
    gnti_graph sparse; /* view behind x.sparse when normalised */
    float *values;     /* owned: normalised dense rows or CSR values */
} gnti_model_features;

/* row: each row is divided by its sum; rows that sum to 0 stay. */
gnt_status gnti_model_features_make(const gnti_features *x, bool row, gnti_model_features *out);
void gnti_model_features_free(gnti_model_features *f);

/* ERR_FORMAT unless model and dataset agree in features, classes and kind of labels. Labels may be absent
 * when only predictions are wanted (need_labels false). */
gnt_status gnti_check_fit(const gnt_model *model, const gnt_dataset *data, bool need_labels);

typedef struct gnti_prepared {
    gnti_model_features features;
    const gnti_split *split; /* lent by the dataset */
    float *weight;           /* (N) loss weights: class weight of a labelled training node, else 0 */
    int64_t num_train;       /* labelled training nodes */
    int64_t num_valid;       /* validation nodes */
    char split_sha256[65];
} gnti_prepared;

bool gnti_is_labelled(const gnti_labels *y, int64_t row);

/* The split, and settings that do not fit the data (ERR_USAGE). Features and weights follow by prepare_whole where one rank
 * works on the dataset as it lies; ranks over parts prepare their own rows (rank_setup.c). */
gnt_status gnti_prepare(const gnt_dataset *data, const gnt_trainer_config *config, gnti_prepared *out);
/* ERR_FORMAT for a training set without a labelled node. What was made is the caller's to free, whatever comes. */
gnt_status gnti_prepare_whole(const gnt_dataset *data, const gnt_trainer_config *config, gnti_prepared *p);
void gnti_prepared_free(gnti_prepared *p);

/* Rows of one part of a split (GNTI_TRAIN, ...) to be scored. */
gnti_scored gnti_prepared_rows(const gnt_dataset *data, const gnti_split *split, int part,
                               const float *logits);

#endif
