/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank will take before it runs: seconds and bytes of a step for so many rows and arcs. Nothing is executed: the step and the
 * evaluation are recorded and planned as the trainer does (the planner run dry), and each op of the program is charged.
 *
 *   compute   sum over the step's ops of max(flops / rate, bytes / rate), rates by kind of op (kernels/profile.h), flops and
 *             bytes by kernels/cost.h for the rank's rows, halo rows and arcs
 *   messages  per exchange: latencies + halo rows * bytes a row / bandwidth, less the interior rows computed meanwhile where the link works
 *             apart; per sum over ranks: a tree up and down (dist/link_cost.h)
 *   bytes     weights, workspace and values computed once by the program's own layout for these rows; graph, features and the
 *             rest by counting the arrays that a rank keeps
 *
 * A forecast knows model and data but no device: rates, links and loads are arguments, so placement (job_place.c), estimate and
 * tests ask it about devices that do not exist. Within 10 % of the virtual clock on what was never profiled (test_train_forecast),
 * within 15 % and 16 MiB of measured memory (tests/cli/test_estimate_ranks.sh).
 */
#ifndef GNTI_TRAIN_FORECAST_H
#define GNTI_TRAIN_FORECAST_H

#include "kernels/profile.h"
#include "partition/chunk_map.h"
#include "train/config.h"

/* What a rank owns. */
typedef struct gnti_load {
    double rows, halo_rows;
    double arcs_in, arcs_out;    /* that end in its rows (read forward), that start in them (read backward) */
    double most_halo, most_rows; /* of all ranks: how rows travel, buffers of broadcast; 0: this one's */
    int32_t num_peers, num_ranks;
} gnti_load;

typedef struct gnti_forecast_bytes {
    int64_t
        device; /* what the device's allocator hands out, and `mem` limits: weights, workspace, values computed once */
    int64_t graph, features, rest; /* of the rank in host memory */
    int64_t workspace;             /* of `device`: what holds nothing between steps */
} gnti_forecast_bytes;

typedef struct gnti_forecast gnti_forecast;

/* From the dataset's header, which is lent for the call alone; the model must outlive the forecast. */
gnt_status gnti_forecast_create(const gnt_model *model, const gnt_dataset *data,
                                const gnt_trainer_config *config, gnti_forecast **out);
void gnti_forecast_free(gnti_forecast **f);

/* Bits 1 << gnti_op_kind of the ops in a step: what is worth profiling. */
uint32_t gnti_forecast_kinds(const gnti_forecast *f);
/* The load of the whole graph on one rank. */
gnti_load gnti_forecast_whole(const gnti_forecast *f, int32_t num_ranks);

double gnti_forecast_compute(const gnti_forecast *f, const gnti_load *load, const gnti_rates *rates);
/* An evaluation of the whole graph. */
double gnti_forecast_evaluate(const gnti_forecast *f, const gnti_load *load, const gnti_rates *rates);
/* A step of num ranks, from meeting to meeting: the slowest's compute and the longest message. A bandwidth of 0: messages cost
 * their latency alone. apart: links work while ranks compute. */
double gnti_forecast_step(const gnti_forecast *f, const gnti_load *loads, const gnti_rates *rates,
                          int32_t num, const gnti_link *link, bool apart);
gnt_status gnti_forecast_memory(gnti_forecast *f, const gnti_load *load, gnti_forecast_bytes *out);

/* The same as slopes at a load, which is what chunks are weighed with: seconds and device bytes a row and an arc; seconds and bytes a
 * halo row; bytes that a rank without rows has. */
typedef struct gnti_forecast_slopes {
    gnti_chunk_rates chunk;
    double halo_seconds, halo_bytes, fixed_bytes;
} gnti_forecast_slopes;
gnt_status gnti_forecast_get_slopes(gnti_forecast *f, const gnti_load *at, const gnti_rates *rates,
                                    const gnti_link *link, bool apart, gnti_forecast_slopes *out);

/* A program planned dry. */
gnt_status gnti_plan_dry(const gnt_model *model, const gnt_trainer_config *config, gnt_label_kind labels,
                         bool sparse_x, bool training, const gnti_plan_config *plan, gnti_program **out);

#endif
