/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run runs: the processes, the devices, the partition and which rank owns which chunk.
 *
 * One process with P devices has P ranks as threads; under an MPI launcher each process is one rank. A run with more than one
 * rank, with a partition file, or whose run folder has one, trains over parts; any other trains on the whole graph.
 */
#ifndef GNTI_TRAIN_JOB_H
#define GNTI_TRAIN_JOB_H

#include "train/forecast.h"

#define GNTI_RUN_PARTITION "partition.part.h5" /* in the run folder */

/* Devices and what they own. */
typedef struct gnti_placement {
    gnti_device_spec *specs; /* (size) one a rank of the job */
    int32_t size, first,
        num_local;  /* ranks of the job; those of this process are first .. first + num_local - 1 */
    int32_t *owner; /* (K) rank of each chunk; NULL without a partition */
} gnti_placement;

typedef struct gnti_job {
    gnt_context *ctx;     /* lent */
    gnti_comm *processes; /* self, or all MPI processes */
    gnti_placement place;
    gnti_partition *partition; /* NULL: the whole graph */
    gnti_forecast *forecast;   /* of a rank; NULL without a partition */
    gnti_rates *rates;         /* (size) of the devices; NULL until chunks are placed */
    gnti_chunk_facts *facts;   /* of the root alone */
    double *cost;              /* (K) of each chunk, on every process; NULL without a partition */
} gnti_job;

/* Zeroed before use. Devices and processes: ERR_USAGE when they do not fit each other, with both numbers. */
gnt_status gnti_job_open(gnt_context *ctx, const gnt_trainer_config *config, gnti_job *job);
void gnti_job_close(gnti_job *job);
/* Before the first exchange: all processes run the same. ERR_PEER_LOST names what differs. more: further facts, as
 * gnti_comm_check_launch has them, or NULL. */
gnt_status gnti_job_check(const gnti_job *job, const gnt_model *model, const gnt_dataset *data,
                          const gnt_trainer_config *config, const char *more);

/* The partition: config->partition, else RUN/partition.part.h5 when it is there, else the order that the dataset is stored in,
 * else one that is made now (and kept in the folder) when the job has more than one rank or chunks are asked for. Every process
 * calls it. */
gnt_status gnti_job_find_partition(gnti_job *job, const gnt_dataset *data, const gnt_trainer_config *config);

/* What a rank would take of this model and data: what chunks are placed by. After the partition is found. */
gnt_status gnti_job_foresee(gnti_job *job, const gnt_model *model, const gnt_dataset *data,
                            const gnt_trainer_config *config);
/* Rates of the devices: measured where they differ (kernels/profile.h), those of an ordinary machine where not, so that such runs are
 * placed alike every time. Every process calls it. (size), to be freed. */
gnt_status gnti_job_rates(const gnti_job *job, gnti_rates **out);
/* The link between ranks by what it is, and whether it works while ranks compute. */
gnti_link gnti_job_link(const gnti_job *job, bool *apart);

/* Which rank owns which chunk (train/placement.h), by measured speeds (NULL: by rates): the first map, or from an older placement
 * with few bytes moved (device d of it is d now, or leaves). moved may be NULL. */
gnt_status gnti_job_place(gnti_job *job, const gnt_dataset *data, const double *speeds,
                          const gnti_placement *from, gnti_moves *moved);
void gnti_placement_free(gnti_placement *place);

/* Opens a rank's device. One plain device is the context's own, which is then not closed by the rank. */
gnt_status gnti_job_open_device(const gnti_job *job, int32_t rank, gnt_device **out, bool *owns);
/* Threads and memory of it. */
gnt_status gnti_job_device_config(const gnti_job *job, int32_t rank, gnti_device_config *out);

#endif
