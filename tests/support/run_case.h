/* SPDX-License-Identifier: Apache-2.0 */
/* Whole training runs of a train_case on chosen devices, and how two of them compare. */
#ifndef GNT_RUN_CASE_H
#define GNT_RUN_CASE_H

#include "train_case.h"

enum { RUN_CASE_EPOCHS = 12 };

typedef struct run_outcome {
    double losses[RUN_CASE_EPOCHS], valid[RUN_CASE_EPOCHS];
    float *weights;
    int64_t num_weights;
    double test;
} run_outcome;

/* A whole run; sizes[e] names the devices from epoch e on, NULL: those before. out->weights is to be freed. */
void run_case(train_case *c, const char *devices, int64_t chunks, const char *const *sizes, run_outcome *out);
/* Losses and weights agree to 1e-5 of the largest; or to the bit, test metric included. */
void run_assert_near(const run_outcome *a, const run_outcome *b);
void run_assert_same(const run_outcome *a, const run_outcome *b);
void run_take_weights(gnt_trainer *tr, run_outcome *out);

#endif
