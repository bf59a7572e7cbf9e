/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions in the caller's memory: the part of experimental.h for programs that go on with them. No promise: it changes with every
 * version. What gntx_predict would write is what comes, row by row.
 */
#ifndef GNNTRAIN_EXPERIMENTAL_PREDICT_H
#define GNNTRAIN_EXPERIMENTAL_PREDICT_H

#include <gnntrain/experimental.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All of it is the caller's, before and after; nothing is kept. Rows are counted as gntx_predict lists them: the order of the file that was
 * imported, which is that of a dataset from arrays. */
typedef struct gntx_rows {
    const int64_t *row; /* (num_rows) any order, also repeated; NULL: 0, 1, ..., num_rows - 1 */
    int64_t num_rows;
    int64_t num_columns; /* of values, as said below: ERR_ARG names both numbers when it is another */
    float *values;       /* (num_rows, num_columns) row by row; written on success only */
} gntx_rows;

/* From a run, a checkpoint or an ensemble, as gntx_predict. Columns by options->what: classes, one (the class as a number), or one a
 * label or target; probabilities, one a class; embeddings, the width of the last layer's input. Every process calls it (several: of an
 * ensemble only), values are written in the first one; out may be NULL elsewhere. ERR_ARG names a row that there is not. report may be
 * NULL. */
GNT_API gnt_status gntx_predict_rows(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                                     const gntx_rows *out, gntx_json **report);

/* From a trainer between two epochs or after the last one, by the best weights of a member (the present ones when nothing was evaluated):
 * logits, or their probabilities; of a regression the outputs either way. Columns: gnt_dataset_num_classes. Every rank calls it with the
 * same member, values are written in the first process; out may be NULL elsewhere. ERR_STATE when the run has failed or was stopped within
 * an epoch. */
GNT_API gnt_status gntx_trainer_predict(gnt_trainer *tr, int32_t member, bool probabilities,
                                        const gntx_rows *out);

#ifdef __cplusplus
}
#endif
#endif
