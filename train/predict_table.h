/* SPDX-License-Identifier: Apache-2.0 */
/* What predict writes: a row per node under the user's id, in one of three file formats. A view that owns nothing. */
#ifndef GNTI_TRAIN_PREDICT_TABLE_H
#define GNTI_TRAIN_PREDICT_TABLE_H

#include "train/trained.h"

typedef struct gnti_predict_table {
    const gnt_dataset *data; /* ids */
    const int64_t *order;    /* (N) node of each output row, NULL: as they are */
    int64_t num_rows, width;
    const int32_t *classes;   /* (N) one class a node, or NULL */
    const float *values;      /* (N, width) else */
    char *const *class_names; /* of classes, or of the columns; NULL: numbers */
    const char *column;       /* "prediction", "probability", "embedding": name of the columns */
} gnti_predict_table;

/* Each appears complete or not at all. */
gnt_status gnti_predict_write_csv(const gnti_predict_table *t, const char *path);
gnt_status gnti_predict_write_npy(const gnti_predict_table *t,
                                  const char *path); /* ids beside it, PATH.ids.txt */
gnt_status gnti_predict_write_h5(const gnti_predict_table *t, const char *path);

/* The one of them that the path's suffix asks for; ERR_USAGE when it asks for none. check_name says so before anything is computed. */
gnt_status gnti_predict_write(const gnti_predict_table *t, const char *path);
gnt_status gnti_predict_check_name(const char *path);

#endif
