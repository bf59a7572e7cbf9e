/* SPDX-License-Identifier: Apache-2.0 */
/* Training: one loop for full-batch and streaming sources, M members inside the program.
 *
 *   gnt_trainer_create(model, data, config, &tr);
 *   while (gnt_trainer_next(tr, &stats)) ...;      one call, one epoch
 *   status = gnt_trainer_status(tr);               OK, STOPPED or the first error
 */
#ifndef GNNTRAIN_TRAINER_H
#define GNNTRAIN_TRAINER_H

#include <gnntrain/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gnt_trainer gnt_trainer;

/* Every field is an option of the same name with '-': `gnntrain train --help` tells what each does and its default. A word is its index
 * in the list behind the field, from 0. Texts are borrowed until gnt_trainer_create returns. */
typedef struct gnt_trainer_config {
    size_t struct_size;
    int64_t epochs, seed, seeds; /* seeds: M members, member i trains with seed + i */
    int32_t optimizer;           /* adam|adamw|sgd */
    double lr, momentum, beta1, beta2, eps;
    bool nesterov;
    const char
        *weight_decay; /* rules "[layer[:kind]:]value", comma separated; NULL: 0.01 for adamw, else none */
    int32_t schedule;  /* constant|step|cosine|warmup-cosine|plateau|cycles */
    int64_t
        schedule_epochs; /* step: between drops; cosine: its length, 0: epochs; plateau: patience; cycles: of one */
    int64_t warmup_epochs;
    double schedule_factor;     /* step, plateau: the learning rate is multiplied by it */
    double clip;                /* largest norm of a member's gradient, 0: none */
    int32_t loss;               /* auto|softmax|bce|mse */
    const char *class_weights;  /* none|balanced|list of numbers */
    int32_t metric;             /* auto|accuracy|micro-f1|macro-f1|roc-auc|ap|mae|mse */
    const char *split;          /* name, NULL: public or the only one */
    int32_t normalize_features; /* none|row */
    int64_t patience;           /* epochs without a better validation value, 0: off */
    int32_t monitor;            /* metric|loss, of the validation rows: early stop, best weights, plateau */
    int64_t eval_every;
    const char *run;          /* run folder, NULL: none */
    int64_t checkpoint_every; /* epochs, 0: only at the end and when stopped */
    const char *
        resume; /* auto, never, or a checkpoint or run folder to start from where the run's own folder has none */
    int32_t source; /* full|clusters */
    int64_t clusters, clusters_per_batch;
    int32_t deterministic; /* auto|off|run|bitwise; auto: the context's, others must agree with it */
    const char *no_pass;   /* planner passes switched off, comma separated */
    double time_limit;     /* seconds, 0: none; stops like a signal */
    /* Parts and ranks (docs/distributed.md). */
    const char *devices; /* "4", or "cpu:speed=1;cpu:speed=0.25,mem=512M"; NULL: the context's one device */
    const char *
        partition; /* file made by gnntrain partition; NULL: one is made in the run folder when devices need it */
    int64_t chunks;   /* of a partition that is made here, 0: by the number of nodes */
    int32_t strategy; /* auto|halo|broadcast */
    int32_t wire;     /* fp32|bf16: halo rows on the wire */
    int32_t balance;  /* auto|off: chunks move between epochs when measured rates drift */
    double
        wait_limit; /* seconds that a rank waits for others, then all end with ERR_TIMEOUT or ERR_PEER_LOST */
    const char *trace;  /* Chrome trace file of the first epochs, one row a rank; NULL: none */
    int64_t order_seed; /* source clusters: of which chunks make a batch; 0: the same for all seeds */
} gnt_trainer_config;

GNT_API void gnt_trainer_config_init(gnt_trainer_config *config);

/* Filled by gnt_trainer_next. */
typedef struct gnt_epoch_stats {
    size_t struct_size; /* sizeof(gnt_epoch_stats), set before the first call: no more is written */
    int64_t epoch;      /* from 1 */
    bool complete, evaluated;
    const char *metric; /* name */
    double train_loss, valid_loss, train_metric,
        valid_metric; /* means over live members; NaN: not evaluated */
    double best_valid_metric;
    int64_t best_epoch;           /* of member 0 */
    double seconds, eval_seconds; /* the training step alone; evaluation */
    int32_t num_members, num_live;
    const double *member_train_loss, *member_valid_loss, *member_valid_metric,
        *member_train_metric; /* (M), lent until the next call; NaN: not evaluated, or stopped */
    double virtual_seconds;   /* of the training step on the devices' virtual clock; NaN: wall time */
} gnt_epoch_stats;

/* Every rank calls this. NULL config: the defaults. The trainer keeps model and data alive: both may be freed before it. A run folder
 * with a checkpoint is resumed. ERR_USAGE and ERR_ARG name the option, ERR_FORMAT what does not fit model, data or checkpoint,
 * ERR_NOMEM and ERR_DEVICE_NOMEM the bytes, ERR_OUTPUT the folder. One thread at a time uses a trainer. */
GNT_API gnt_status gnt_trainer_create(gnt_model *model, const gnt_dataset *data,
                                      const gnt_trainer_config *config, gnt_trainer **out);
/* Every rank calls this. One epoch; false at the end, after a stop and on the first error. stats may be NULL. */
GNT_API bool gnt_trainer_next(gnt_trainer *tr, gnt_epoch_stats *stats);
/* Why next answered false: OK (the end), STOPPED, ERR_NUMERIC (a loss or gradient is not finite: its text names member, tensor and
 * rate), ERR_DEVICE_LOST, ERR_PEER_LOST, ERR_TIMEOUT, or a file's failure. */
GNT_API gnt_status gnt_trainer_status(const gnt_trainer *tr);
/* Sets a flag; may be called from a signal handler. The run saves a checkpoint and ends with STOPPED. */
GNT_API void gnt_trainer_request_stop(gnt_trainer *tr);
/* Every rank calls this, once, when next has answered false with OK: test values of the best weights; with a run folder best.h5 and
 * summary.json too. ERR_STATE before that, or a second time. */
GNT_API gnt_status gnt_trainer_finish(gnt_trainer *tr);
GNT_API int32_t gnt_trainer_num_members(const gnt_trainer *tr);
/* Between epochs, ranks as threads only: the same run on other devices (text as config.devices). Chunks move, the loss curve
 * stays. ERR_USAGE for a text that does not fit, ERR_UNSUPPORTED with MPI; on failure the trainer is as before. */
GNT_API gnt_status gnt_trainer_resize(gnt_trainer *tr, const char *devices);
/* After finish: the member's test metric with its best weights, the last ones when nothing was evaluated. NaN before, without test
 * rows, or for a member that there is none of. */
GNT_API double gnt_trainer_test_metric(const gnt_trainer *tr, int32_t member);
GNT_API void gnt_trainer_free(gnt_trainer **tr);

#ifdef __cplusplus
}
#endif
#endif
