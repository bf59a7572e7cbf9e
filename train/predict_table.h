/* SPDX-License-Identifier: Apache-2.0 */
/* What predict writes: a row per node under the user's id, in one of three file formats or a caller's memory. A view that owns nothing. */
#ifndef GNTI_TRAIN_PREDICT_TABLE_H
#define GNTI_TRAIN_PREDICT_TABLE_H

#include <gnntrain/experimental_predict.h>

#include "train/trained.h"

/* The words of --what. */
enum { GNTI_PREDICT_CLASSES, GNTI_PREDICT_PROBABILITIES, GNTI_PREDICT_EMBEDDINGS };

typedef struct gnti_predict_table {
    const gnt_dataset *data; /* ids */
    const int64_t *order;    /* (N) node of each output row, NULL: as they are */
    int64_t num_rows, width;
    const int32_t *classes;              /* (N) one class a node, or NULL */
    const float *values;                 /* (N, width) else */
    char *const *class_names;            /* of classes, or of the columns; NULL: numbers */
    const char *column;                  /* "prediction", "probability", "embedding": name of the columns */
    const float *entropy, *disagreement; /* (N) columns of an ensemble, NULL: none */
} gnti_predict_table;

/* Scores of every node, of whatever made them. */
typedef struct gnti_predict_scores {
    const gnt_dataset *data;
    gnt_label_kind kind;
    int64_t num_classes;
    char *const *class_names;            /* (num_classes) or NULL */
    int32_t num_members;                 /* that are in them */
    const double *scores;                /* (N, num_classes) probabilities, or outputs of a regression */
    const float *entropy, *disagreement; /* (N) or NULL */
} gnti_predict_scores;

/* Where predictions go: one of the two. */
typedef struct gnti_predict_output {
    const char *path;
    const gntx_rows *rows;
} gnti_predict_output;

/* ERR_USAGE when the suffix of the file names no format. */
gnt_status gnti_predict_check(const gntx_predict_options *options, const gnti_predict_output *to);
/* The node of each output row when /nodes/origin says that rows were moved; NULL else. To be freed. */
gnt_status gnti_predict_order(const gnt_dataset *data, int64_t **out);
/* Writes the likeliest classes, or the scores; adds to report what was written. */
gnt_status gnti_predict_save_scores(const gnti_predict_scores *s, bool probabilities,
                                    const gnti_predict_output *to, gnti_json *report);
/* gnntrain predict of a run or a checkpoint (options not NULL and checked). */
gnt_status gnti_predict_run(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                            const gnti_predict_output *to, gnti_json **report);
/* predict_rows.c: the rows that are asked for. ERR_ARG when there is no such row, or values have other columns. */
gnt_status gnti_predict_copy(const gnti_predict_table *t, const gntx_rows *out);

/* Each appears complete or not at all. */
gnt_status gnti_predict_write_csv(const gnti_predict_table *t, const char *path);
gnt_status gnti_predict_write_npy(const gnti_predict_table *t,
                                  const char *path); /* ids beside it, PATH.ids.txt */
gnt_status gnti_predict_write_h5(const gnti_predict_table *t, const char *path);

/* The one of them that the path's suffix asks for; ERR_USAGE when it asks for none. check_name says so before anything is computed. */
gnt_status gnti_predict_write(const gnti_predict_table *t, const char *path);
gnt_status gnti_predict_check_name(const char *path);

#endif
