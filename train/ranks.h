/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks of this process: P threads with a device, a communicator, a part and programs each, or the one rank of an MPI
 * process. The trainer tells all of them what to do and goes on when all have done it; what is not by rank (members, schedule,
 * epoch, checkpoint, run folder) the trainer keeps once.
 */
#ifndef GNTI_TRAIN_RANKS_H
#define GNTI_TRAIN_RANKS_H

#include "partition/chunk_map.h"
#include "sampler/source.h"
#include "train/evaluator.h"

typedef struct gnti_rank {
    int32_t rank; /* in the whole job */
    gnt_device *device;
    gnti_comm *comm;
    gnti_virtual *clock;
    gnti_part *part,
        *train_part; /* of the whole graph; of the induced training graph (the same one when transductive) */
    gnti_source *source;
    gnti_params *params;
    gnti_program *program;
    gnti_evaluator *evaluator;
    double seconds; /* of compute in the newest epoch: what balancing sees */
} gnti_rank;

typedef struct gnti_ranks gnti_ranks;

/* Runs fn for every local rank, each on its thread (the caller's for a single one), and waits for all. The first failure (by
 * rank) is the caller's; a rank that fails aborts its communicator, so nobody waits for it. */
typedef gnt_status (*gnti_rank_fn)(gnti_rank *rank, void *user);
gnt_status gnti_ranks_each(gnti_ranks *ranks, gnti_rank_fn fn, void *user);

int32_t gnti_ranks_local(const gnti_ranks *ranks); /* ranks of this process */
int32_t gnti_ranks_size(const gnti_ranks *ranks);  /* of the job */
gnti_rank *gnti_ranks_at(gnti_ranks *ranks,
                         int32_t local); /* local 0 is rank 0 of the job, or an MPI process' own */

#endif
