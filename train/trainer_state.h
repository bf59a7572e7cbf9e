/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a trainer, shared by trainer.c (life), step.c (program), loop.c (epochs), evaluation.c,
 * checkpoint.c and run_*.c. Nobody else includes this.
 */
#ifndef GNTI_TRAIN_TRAINER_STATE_H
#define GNTI_TRAIN_TRAINER_STATE_H

#include <stdatomic.h>

#include "sampler/source.h"
#include "train/evaluator.h"
#include "train/prepare.h"
#include "train/schedule.h"
#include "train/sync.h"

typedef struct gnti_run gnti_run; /* the run folder */

/* Confusion matrices up to so many classes. */
enum { GNTI_TRAIN_CONFUSION_CLASSES = 100 };

/* Newest epochs whose seconds make the median of summary.json. */
enum { GNTI_TRAIN_SECONDS_KEPT = 4096 };

/* Sums of an epoch so far, of one member; saved when a stop cuts the epoch. */
typedef struct gnti_epoch_sums {
    double loss, weight;
} gnti_epoch_sums;

struct gnt_trainer {
    gnt_context *ctx;
    gnt_model *model;        /* lent */
    const gnt_dataset *data; /* lent */
    gnt_trainer_config config;
    gnti_prepared prepared;
    gnti_metric metric;
    gnt_loss_kind loss_kind;
    int32_t num_members;
    uint32_t disabled_passes;

    gnti_comm *comm;
    gnti_sync *sync;
    gnti_source *source;
    gnti_params *params;
    gnti_program *program;
    gnti_evaluator *evaluator; /* NULL: nothing to evaluate and no test rows */
    char *choices;             /* of the checkpoint or of this run's planning */
    gnt_hyper lr, corr1, corr2, clip, loss_norm;

    uint64_t *seeds;       /* (M) */
    uint8_t *live;         /* (M) as the step block wants it */
    gnti_member *members;  /* (M) */
    gnti_epoch_sums *sums; /* (M) */
    double *stats;         /* (M, 4) of one step */
    int32_t *bad;          /* (M) */
    double *out_values;    /* (4, M): what gnt_epoch_stats lends */
    float *logits;         /* (N, classes) of one member */
    gnti_metric_scratch *scratch;

    int64_t epoch;    /* complete ones */
    int64_t step;     /* optimiser steps done */
    int64_t position; /* batches of the next epoch that are done already */
    int64_t saved_epoch, saved_step;
    bool
        newest_is_damaged; /* checkpoint.h5: the next save must not put it in the place of the sound previous one */
    bool bound;            /* the training program has its first batch */
    bool finished, was_complete;
    double *test_metric, *test_loss; /* (M) after finish */
    int64_t *confusion; /* (M, C, C) of the test nodes after finish; NULL: no or too many classes */
    double *seconds;    /* ring of GNTI_TRAIN_SECONDS_KEPT */
    int64_t num_seconds;
    double started;
    double epoch_seconds; /* of an epoch that a stop has cut, so far */

    gnti_run *run; /* NULL: no folder */
    gnt_status status;
    atomic_int stop; /* set from signal handlers too */
};

/* step.c */
gnt_status gnti_trainer_compile(gnt_trainer *tr);
gnt_status gnti_trainer_step(gnt_trainer *tr, const gnti_source_batch *batch);

/* evaluation.c: validation values of the epoch just done; best weights, early stop. Then, once, test values.
 */
gnt_status gnti_trainer_evaluate(gnt_trainer *tr, gnt_epoch_stats *stats);
gnt_status gnti_trainer_test(gnt_trainer *tr);

/* loop.c */
bool gnti_trainer_stopping(gnt_trainer *tr);
int32_t gnti_trainer_num_live(const gnt_trainer *tr);
bool gnti_trainer_is_complete(const gnt_trainer *tr);

/* checkpoint.c */
gnt_status gnti_checkpoint_save(gnt_trainer *tr);

#endif
