/* SPDX-License-Identifier: Apache-2.0 */
/* Whole training runs of a train_case on chosen devices, and how two of them compare. */
#ifndef GNT_WHOLE_RUN_H
#define GNT_WHOLE_RUN_H

#include "train_case.h"

enum { WHOLE_RUN_EPOCHS = 12 };

typedef struct whole_run_outcome {
    double losses[WHOLE_RUN_EPOCHS], valid[WHOLE_RUN_EPOCHS];
    float *weights;
    int64_t num_weights;
    double test;
} whole_run_outcome;

/* A whole run; sizes[e] names the devices from epoch e on, NULL: those before. out->weights is to be freed. */
void whole_run(train_case *c, const char *devices, int64_t chunks, const char *const *sizes,
               whole_run_outcome *out);
/* Losses and weights agree to 1e-5 of the largest; or to the bit, test metric included. */
void whole_run_assert_near(const whole_run_outcome *a, const whole_run_outcome *b);
void whole_run_assert_same(const whole_run_outcome *a, const whole_run_outcome *b);
void whole_run_take_weights(gnt_trainer *tr, whole_run_outcome *out);

#endif
