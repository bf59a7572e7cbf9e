/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a run folder, shared by run_folder.c, run_metrics.c and run_summary.c. */
#ifndef GNTI_TRAIN_RUN_INTERNAL_H
#define GNTI_TRAIN_RUN_INTERNAL_H

#include "train/run_folder.h"

/* RUN/ or RUN/seed-S/ */
typedef struct gnti_run_place {
    char *folder, *jsonl, *csv, *summary, *best;
} gnti_run_place;

struct gnti_run {
    gnti_run_place top;
    gnti_run_place *seeds; /* (num_members), NULL for one member */
    int32_t num_members;
    char *checkpoint, *previous, *partition, *log, *config;
    int lock;        /* descriptor of log.txt with an exclusive lock, -1: none */
    int folder_lock; /* the same of the folder */
};

/* Opens for appending, writes, closes. Nothing is allocated. */
gnt_status gnti_run_append(const char *path, const char *bytes, size_t count);

#endif
