/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of this process: P threads with a device, a communicator, a part of the data and programs each, or the one rank of an MPI
 * process. The trainer tells all of them what to do and goes on when all have done it. What is not by rank (members, schedule,
 * epoch, checkpoint, run folder) the trainer keeps once; ranks read it while they work and never write it.
 */
#ifndef GNTI_TRAIN_RANKS_H
#define GNTI_TRAIN_RANKS_H

#include "nn/trace.h"
#include "sampler/source.h"
#include "train/evaluator.h"
#include "train/prepare.h"
#include "train/scorer.h"
#include "train/sync.h"

typedef struct gnti_rank {
    int32_t rank, local; /* in the job; in this process */
    gnt_device *device;
    bool owns_device;
    gnti_comm *comm;
    gnti_comm
        *group_comm; /* of the ranks whose devices exchange among themselves; NULL: none do with this one */
    gnti_group *group;
    int32_t *group_rank; /* (comm size), -1: not in the group; NULL with one rank */
    gnti_sync *sync;
    gnti_virtual *clock;          /* NULL: wall time */
    bool took_clock;              /* from a rank on the same device, which has a fresh one meanwhile */
    gnti_local_data *rows;        /* own rows and the part of the graph; NULL: the whole graph */
    gnti_model_features features; /* own rows as the model sees them; with rows */
    float *weight;                /* (own rows) loss weights; with rows */
    float *apart;                 /* (own rows, C) of the trainer's; NULL: none */
    float *member_weight;         /* (M, own rows) the members'; NULL: weight is all members' */
    gnti_dist_config dist;        /* with rows */
    gnti_trace *trace;            /* of its program, NULL: none */
    gnti_source *source;
    gnti_params *params;
    gnti_program *program;
    gnti_evaluator *evaluator;
    gnt_hyper lr, corr1, corr2, clip, loss_norm, apart_gain, norm_momentum; /* apart_gain: id 0 without */
    double span;        /* of the newest epoch on the virtual clock, waits included; NaN: wall time */
    bool bound;         /* the program has its first batch */
    double *stats;      /* (M, 4) of one step, of the whole job */
    int32_t *bad;       /* (M) */
    uint8_t *live;      /* (M) as the step block wants it */
    uint8_t *failed;    /* (M) diverged in an earlier step of this epoch */
    gnt_hyper *dropout; /* (layers + 1) of the input and behind each layer; id 0: none that members may set */
    gnt_hyper *decay;   /* (rules) */
    gnti_scorer *scorer;
    float *logits;  /* (rows, classes) of one member */
    double seconds; /* of compute in the newest epoch: what balancing sees */
} gnti_rank;

typedef struct gnti_ranks gnti_ranks;

/* num_local threads, the caller's being the first; first: rank in the job of local 0. Ranks are zeroed but for their numbers. */
gnt_status gnti_ranks_create(int32_t num_local, int32_t first, int32_t size, gnti_ranks **out);
/* Ends the threads and frees what the ranks own. */
void gnti_ranks_free(gnti_ranks **ranks);

int32_t gnti_ranks_local(const gnti_ranks *ranks); /* ranks of this process */
int32_t gnti_ranks_size(const gnti_ranks *ranks);  /* of the job */
gnti_rank *gnti_ranks_at(gnti_ranks *ranks,
                         int32_t local); /* local 0: rank 0 of the job, or an MPI process' own */

/* Runs fn for every local rank, each on its thread, and waits for all. A rank that fails aborts its communicator, so nobody
 * waits for it for long; the failure that the others suffer from becomes the caller's. */
typedef gnt_status (*gnti_rank_fn)(gnti_rank *rank, void *user);
gnt_status gnti_ranks_each(gnti_ranks *ranks, gnti_rank_fn fn, void *user);

/* rank_group.c: every rank of the job calls it, on its thread; ranks leave together. */
gnt_status gnti_rank_join_group(gnti_rank *rank);
void gnti_rank_leave_group(gnti_rank *rank);

#endif
