/* SPDX-License-Identifier: Apache-2.0 */
/* A small dataset that can be learned (three communities, noisy features), a model and a trainer for tests of train/.
 * Everything is made again from a seed, so that two cases with one seed are equal.
 */
#ifndef GNT_TRAIN_CASE_H
#define GNT_TRAIN_CASE_H

#include "gnt_test.h"

#include <gnntrain/gnntrain.h>

enum { TRAIN_CASE_NODES = 90, TRAIN_CASE_FEATURES = 6, TRAIN_CASE_CLASSES = 3 };

/* Arrays that the dataset borrows: change them between train_case_arrays and train_case_dataset. */
typedef struct train_case {
    gnt_dataset_arrays arrays;
    int64_t *indptr, *y_class, *train, *valid, *test;
    int32_t *indices;
    float *x, *y_row;
    gnt_context *ctx;
    gnt_dataset *data;
    gnt_model *model;
    gnt_trainer_config config;
    gnt_model_config model_config;
    const char *text; /* of the model */
} train_case;

/* Fills arrays and configs: 8 training nodes a class, 7 for validation, the rest for testing; node 0 has no label. */
void train_case_arrays(train_case *c, gnt_label_kind kind, uint64_t seed);
/* Makes context (settings NULL: the defaults), dataset and model from what is there now. */
void train_case_dataset(train_case *c, const char *settings);
/* Both with class labels. */
void train_case_make(train_case *c, uint64_t seed);
void train_case_free(train_case *c);

/* The same dataset as a file, opened again: what prediction needs. Its path in out. */
char *train_case_save(train_case *c, const char *name, char out[GNT_TEST_PATH_BYTES]);

gnt_trainer *train_case_trainer(train_case *c);
/* Epochs until the end or `epochs` more; the training losses of member `member` go to losses (may be NULL). Answers how
 * many. */
int64_t train_case_run(gnt_trainer *tr, int64_t epochs, int32_t member, double *losses);

#endif
