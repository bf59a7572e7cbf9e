/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a forecast: facts of model and data, and the programs planned dry. */
#ifndef GNTI_TRAIN_FORECAST_STATE_H
#define GNTI_TRAIN_FORECAST_STATE_H

#include "train/forecast.h"

struct gnti_forecast {
    gnti_program *step, *eval;
    gnti_dataset_header facts;
    int64_t num_nodes, width, classes, members, num_moments;
    int64_t scored;     /* nodes of the largest part of the split */
    double train_share; /* of the nodes */
    bool inductive, directed, by_class, normalized, wire_bf16;
    bool may_broadcast, must_broadcast; /* rows of all ranks in place of halo rows */
    uint32_t disabled;                  /* passes */
};

bool gnti_forecast_broadcasts(const gnti_forecast *f, const gnti_load *load);

#endif
